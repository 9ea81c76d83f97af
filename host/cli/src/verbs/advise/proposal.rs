//! What a search proposes: a `brute.toml` with the measured reason for each line, JSON, and a page.

use brute_host::config::{Amount, Config};
use brute_host::replay::{Advice, Measured, Sureness, mean};
use brute_host::shown::shown;

use super::grid::{Place, Variant};
use super::{Advise, Search};
use crate::grid::Grid;
use crate::page::{Page, Point};
use crate::replays;
use crate::style::{self, counted, number};

/// Columns of a comment.
const COLUMNS: usize = 100;

/// The layer that asks for summaries.
const SUMMARIZE: &str = "summarize";

/// What is proposed, and what it was found by.
pub(super) struct Proposal<'s> {
    pub(super) search: &'s Search<'s>,
    config: &'s Config,
    pub(super) args: &'s Advise,
    pub(super) advice: Advice,
}

impl<'s> Proposal<'s> {
    pub(super) fn of(search: &'s Search<'s>, config: &'s Config, args: &'s Advise) -> Self {
        Self { search, config, args, advice: search.advice() }
    }

    fn chosen(&self) -> Measured {
        self.search.measured.all(self.advice.chosen)
    }

    fn in_force(&self) -> Measured {
        self.search.measured.all(0)
    }

    /// How sure it is, in a line.
    pub(super) fn gist(&self) -> String {
        format!("how sure: {}", self.advice.sureness.words())
    }

    /// The proposal, as a file.
    pub(super) fn toml(&self) -> String {
        let mut text = String::from("#:schema ./brute.schema.json\n");
        for paragraph in self.head() {
            text.push_str(&comment(&paragraph));
            text.push_str("#\n");
        }
        text.push_str(&comment("Over all sessions and rooms:"));
        for line in self.figures().text_in(COLUMNS).lines() {
            text.push_str(format!("#   {line}").trim_end());
            text.push('\n');
        }
        text.push_str("\nversion = 1\n\n[trigger]\n");
        let (variant, order) = self.search.parts(self.advice.chosen);
        for (axis, known) in self.search.axes().iter().enumerate() {
            if let Place::Trigger(key) = known.place {
                text.push_str(&self.line(axis, key, self.search.axes.value(axis, variant)));
            }
        }
        let plugins = order.iter().any(|rung| self.config.ladder[*rung].plugin.is_some());
        if plugins && !self.config.plugins.path.is_empty() {
            let paths = self.config.plugins.path.iter();
            let paths: Vec<String> =
                paths.map(|path| toml::Value::from(path.as_str()).to_string()).collect();
            text.push_str("\n[plugins]\n# Where the layers come from.\n");
            text.push_str(&format!("path = [{}]\n", paths.join(", ")));
        }
        if order.iter().any(|rung| self.config.ladder[*rung].layer == SUMMARIZE) {
            text.push_str("\n[summarizer]\n");
            text.push_str(&comment(match self.args.replaying.with_summarizer {
                true => {
                    "The replays asked the summarizer that was configured: put its section here. This one \
                     picks lines from the text."
                }
                false => {
                    "As in the replays: it picks lines from the text and costs nothing. A model writes other \
                     summaries, which cost and recall otherwise."
                }
            }));
            text.push_str("backend = \"extract\"\n");
        }
        for place in 0..order.len() {
            text.push_str(&self.rung(place, variant, order));
        }
        text
    }

    /// What it is, what was tried, how it was weighed, and how sure it is.
    fn head(&self) -> Vec<String> {
        let search = self.search;
        let sessions = counted(search.sessions.len() as u64, "recorded session");
        let calls: u64 = (search.sessions.iter().enumerate())
            .map(|(at, _)| search.measured.one(0, at).totals.calls)
            .sum();
        let rooms: Vec<String> = self.args.room.iter().map(room_words).collect();
        let axes: Vec<String> = (search.axes().iter())
            .map(|axis| format!("{} {}", axis.name(), axis.values.join(", ")))
            .collect();
        let unit = if search.is_priced() { "dollars" } else { "tokens" };
        vec![
            format!(
                "Proposed by `brute advise` from replays of {sessions} in a room of {}, {} of the model in \
                 all. Keys that are not here had the values of the configuration in force, and had better keep \
                 them.",
                rooms.join(" and "),
                counted(calls, "call"),
            ),
            format!(
                "The grid: {} of {} × {}, each beginning with what is in force. {}: {} in each session and room.",
                counted(search.orders.len() as u64, "order"),
                search.names.iter().map(shown).collect::<Vec<_>>().join(", "),
                axes.join(" × "),
                match self.args.exhaustive {
                    true => "All of it was replayed",
                    false => {
                        "All orders and thresholds were replayed, then what differs from the best in one setting, \
                         until nothing around it was better"
                    }
                },
                counted(search.measured.ladders() as u64, "ladder"),
            ),
            format!(
                "The choice: fewest requests over the window, then the largest gain. That is the points of recall \
                 less what they cost, where {} % more {unit} weigh as much as a point; in the mean of the sessions.",
                self.args.point,
            ),
            self.sureness(),
        ]
    }

    /// How sure it is, with the figures that say so.
    fn sureness(&self) -> String {
        let (advice, sessions) = (&self.advice, self.search.sessions.len());
        let mut words = format!("How sure: {}.", advice.sureness.words());
        if advice.sureness == Sureness::NoBetter {
            return words;
        }
        let [better, same, worse] = advice.tally();
        let mut sorted = advice.gains.clone();
        sorted.sort_by(f64::total_cmp);
        let (least, most) = (sorted.first().copied(), sorted.last().copied());
        words.push_str(&format!(
            " Of {}, {better} gain, {same} come out the same, {worse} lose: by {} points in the mean, {} at the \
             median, from {} to {}.",
            counted(sessions as u64, "session"),
            signed(mean(sorted.iter().copied())),
            signed(median(&sorted)),
            signed(least.unwrap_or_default()),
            signed(most.unwrap_or_default()),
        ));
        if !advice.held_out.is_empty() {
            let [better, same, worse] = advice.held_out_tally();
            words.push_str(&format!(
                " Chosen without each of them in turn, it is the same ladder {} of {sessions} times, and on the one \
                 that had no say it is {} points in the mean: {better} gain, {same} come out the same, {worse} lose.",
                advice.agreeing(),
                signed(mean(advice.held_out.iter().map(|one| one.gain))),
            ));
        }
        words
    }

    /// What is in force and what is proposed, side by side.
    fn figures(&self) -> Grid {
        let (in_force, proposed) = (self.in_force(), self.chosen());
        let mut grid = Grid::new(["", "in force", "proposed"], 0);
        let mut row = |name: &str, figure: &dyn Fn(&Measured) -> String| {
            grid.rows.push(vec![name.to_owned(), figure(&in_force), figure(&proposed)]);
        };
        let share = |share: f64| format!("{:.1} %", share * 100.0);
        row("recall", &|one| share(one.totals.recall()));
        row("  by use", &|one| share(one.totals.recall.by_use.kept_share().unwrap_or(1.0)));
        let cost =
            if self.search.is_priced() { "cost, in US$" } else { "cost, in tokens of input" };
        row(cost, &|one| self.cost(one));
        row("tokens sent", &|one| number(one.totals.sent));
        row("of these cached", &|one| style::share(one.totals.cached, one.totals.sent));
        row("requests over the window", &|one| number(one.totals.over_window));
        row("compactions", &|one| number(one.totals.compactions));
        row("of these above target", &|one| number(one.totals.misses));
        row("summaries", &|one| number(one.totals.summarizer_calls));
        grid
    }

    fn cost(&self, measured: &Measured) -> String {
        replays::cost_words(self.search.is_priced().then_some(measured.cost), measured.cost)
    }

    /// A setting, below what other values of it would have made.
    fn line(&self, axis: usize, key: &str, value: &str) -> String {
        let (variant, order) = self.search.parts(self.advice.chosen);
        let others = (0..self.search.axes()[axis].values.len()).filter(|at| *at != variant[axis]);
        let effects: Vec<String> = others
            .filter_map(|other| {
                let mut with = variant.clone();
                with[axis] = other;
                let ladder = self.search.find(&with, order)?;
                let other = &self.search.axes()[axis].values[other];
                Some(format!("`{other}` instead: {}", self.effect(ladder)))
            })
            .collect();
        let reason = match effects.is_empty() {
            true => "No other value goes with the rest.".to_owned(),
            false => format!("{}.", effects.join("; ")),
        };
        format!("{}{key} = {value}\n", comment(&reason))
    }

    /// What another ladder would have made in place of the proposed one.
    fn effect(&self, other: usize) -> String {
        let (chosen, other) = (self.chosen(), self.search.measured.all(other));
        let recall = 100.0 * (other.totals.recall() - chosen.totals.recall());
        let cost = 100.0 * (other.cost / chosen.cost.max(f64::MIN_POSITIVE) - 1.0);
        let (now, then) = (chosen.totals.over_window, other.totals.over_window);
        if recall == 0.0 && cost == 0.0 && now == then {
            return "no difference here".to_owned();
        }
        let mut words = format!("recall {} points, cost {} %", signed(recall), signed(cost));
        if now != then {
            words.push_str(&format!(", {then} requests over the window and not {now}"));
        }
        words
    }

    /// The rung at `place`, below what it did and what it would have made one place further down.
    fn rung(&self, place: usize, variant: &Variant, order: &[usize]) -> String {
        let (search, rung) = (self.search, order[place]);
        let worked = search.worked[self.advice.chosen][rung];
        let compactions = self.chosen().totals.compactions;
        let mut words = format!(
            "Asked in {} of {}, it took {}.",
            number(worked.asked),
            counted(compactions, "compaction"),
            counted(worked.took, "token"),
        );
        if worked.asked == 0 {
            words = format!("Never asked in {}.", counted(compactions, "compaction"));
        }
        if let Some(below) = order.get(place + 1) {
            let mut other = order.to_vec();
            other.swap(place, place + 1);
            if let Some(ladder) = search.find(variant, &other) {
                let name = shown(&search.names[*below]);
                words.push_str(&format!(" Below `{name}` instead: {}.", self.effect(ladder)));
            }
        }
        let mut text = format!("\n{}[[ladder]]\n", comment(&words));
        for (key, value, axis) in search.axes.keys(rung, variant) {
            text.push_str(&match axis {
                Some(axis) => self.line(axis, &key, &value),
                None => format!("{key} = {value}\n"),
            });
        }
        text
    }

    /// All of it as a page.
    pub(super) fn page(&self) -> Page {
        let rows = self.rows();
        let shown = |at: &usize| rows[*at].unbeaten || *at == 0 || *at == self.advice.chosen;
        let name = |at: usize| {
            let settings = rows[at].settings.iter().map(|setting| setting.value.as_str());
            let name = format!(
                "{}; {}",
                rows[at].order.join(" › "),
                settings.collect::<Vec<_>>().join(", ")
            );
            match at {
                0 => format!("in force: {name}"),
                _ if at == self.advice.chosen => format!("proposed: {name}"),
                _ => name,
            }
        };
        let measured = |at: usize| self.search.measured.all(at);
        let trade = (0..rows.len()).filter(shown).map(|at| Point {
            name: name(at),
            cost: rows[at].cost,
            recall: rows[at].recall,
            words: self.cost(&measured(at)),
            unbeaten: rows[at].unbeaten,
            baseline: at == 0,
        });
        let mut gains = Grid::new(["session", "gain in points"], 0);
        for (session, gain) in self.search.sessions.iter().zip(&self.advice.gains) {
            gains.rows.push(vec![session.name.clone(), signed(*gain)]);
        }
        Page {
            title: "A ladder for these sessions".to_owned(),
            lead: self.head(),
            trade: trade.collect(),
            is_priced: self.search.is_priced(),
            tables: vec![
                ("Over all sessions".to_owned(), self.figures()),
                ("What each session gains".to_owned(), gains),
            ],
            ladders: vec![("brute.toml".to_owned(), self.toml())],
            ..Page::default()
        }
    }
}

fn room_words(room: &Amount) -> String {
    match room {
        Amount::Share(share) => format!("{} % of each", share * 100.0),
        Amount::Tokens(tokens) => counted(*tokens, "token"),
    }
}

/// A difference with one digit behind the point, never a zero with a sign.
fn signed(value: f64) -> String {
    let words = format!("{value:+.1}");
    if words == "-0.0" { "+0.0".to_owned() } else { words }
}

/// The middle of what is in order.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        _ if sorted.is_empty() => 0.0,
        0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

/// Words as a comment of TOML, in lines.
fn comment(words: &str) -> String {
    let lines = style::wrapped_to(words, 0, COLUMNS);
    lines.lines().map(|line| format!("# {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_said_as_people_say_them() {
        let said = [-0.04, 0.0, 1.25, -3.0].map(signed);
        assert_eq!(said, ["+0.0", "+0.0", "+1.2", "-3.0"]);
        assert_eq!(
            [&[][..], &[1.0], &[1.0, 2.0], &[1.0, 2.0, 9.0]].map(median),
            [0.0, 1.0, 1.5, 2.0]
        );
        assert_eq!(comment("a\u{a0}b c"), "# a\u{a0}b c\n");
    }
}
