//! `brute orderings`: what each order of a ladder does to recorded sessions.

use std::path::{Path, PathBuf};

use brute_core::Conversation;
use brute_host::config::{Amount, Config};
use brute_host::models::Price;
use brute_host::replay::{
    Broken, Commute, Law, MOST_ORDERS, Measured, OrderLaws, Totals, Trial, Trials, Violation,
    orders, unbeaten,
};
use brute_host::shown::shown;
use clap::Args;
use serde::Serialize;

use crate::args::Global;
use crate::exit::{Done, Exit, Failure};
use crate::grid::Grid;
use crate::page::{Page, Point, Walks, Went};
use crate::replays::{self, Loaded, Replayed, Replaying};
use crate::style::{self, BAD, DIM, HEAD, counted, number, styled};
use crate::{output, session};

/// Messages of a conversation that shows a fault, of which so much is shown.
const MOST_MESSAGES: usize = 12;
const EXCERPT: usize = 100;

/// So many orders that no other beats are shown message by message.
const MOST_SHOWN: usize = 6;

/// What to know of the table.
const NOTES: &str = "* no other order beats it in both recall and cost. (+N): as many other orders did the same. recall: \
                     of what the session goes on to use, what is still there after a compaction. calls: summaries that were \
                     asked for. missed: compactions above target. over: requests over the window.";

#[derive(Debug, Args)]
pub(crate) struct Orderings {
    #[command(flatten)]
    pub(crate) replaying: Replaying,

    /// The ladder, a brute.toml; otherwise the configuration in force
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) ladder: Option<PathBuf>,

    /// Leave out rungs whose layers are not known here, such as those of plugins that were not built;
    /// otherwise they are an error
    #[arg(long)]
    pub(crate) known_only: bool,

    /// Room for requests to try, the reserve not counted: shares of each session's size, or tokens
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', default_values = ["25%", "50%", "75%"], value_parser = amount)]
    pub(crate) room: Vec<Amount>,

    /// Order laws to hold: a TOML file with tables `commute` and `above`
    #[arg(long, value_name = "FILE")]
    pub(crate) check: Option<PathBuf>,

    /// What decides the sample where a ladder has more orders than 720
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// A share of a session, `25%`, or a number of tokens, `32k`.
pub(super) fn amount(text: &str) -> Result<Amount, String> {
    let Some(percent) = text.trim().strip_suffix('%') else {
        return crate::args::tokens(text).map(Amount::Tokens);
    };
    match percent.trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(Amount::Share(percent / 100.0)),
        _ => Err(format!("expected a share up to 100% or a number of tokens, not `{text}`")),
    }
}

pub(crate) fn run(global: &Global, args: &Orderings) -> Done {
    let global = Global {
        config: args.ladder.clone().or(global.config.clone()),
        known_only: args.known_only,
        ..global.clone()
    };
    let (config, toml) = replays::config(&global, &args.replaying, global.config.as_deref())?;
    let laws = args.check.as_deref().map(order_laws).transpose()?;
    let sessions = replays::sessions(&global, &config, &args.replaying)?;
    let orders = orders(config.ladder.len(), args.seed);
    let (trials, prices) = trials(&global, args, &config, &sessions, &orders)?;
    if let Some(name) = laws.as_ref().and_then(|laws| trials.unknown(laws).into_iter().next()) {
        let name = shown(name);
        return Err(Failure::configuration(format!(
            "`--check` names `{name}`, which is no rung of this ladder"
        )));
    }
    let broken = laws.map(|laws| trials.check(&laws)).unwrap_or_default();
    let costs = Costs::of(&trials, &sessions, &prices);
    let found = Found::of(&trials, costs, broken, args.seed, orders.len());
    if let Some(file) = &args.replaying.html {
        found.page(args, (&config, toml), &sessions, &prices)?.write(file)?;
    }
    match args.replaying.json {
        true => output::json(&found)?,
        false => output::text(&found.text(&sessions))?,
    }
    let fault = fault(&config, args, &sessions, &trials, &orders)?;
    if let Some(fault) = &fault {
        output::say(fault);
    }
    Ok(match fault.is_none() && found.broken.is_empty() {
        true => Exit::Fitted,
        false => Exit::NotFitted,
    })
}

fn order_laws(file: &Path) -> Result<OrderLaws, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| session::cannot_read(file, &error))?;
    toml::from_str(&text)
        .map_err(|error| Failure::configuration(format!("`{}`: {error}", shown(file.display()))))
}

/// The trials, and what the model of each session costs.
fn trials(
    global: &Global,
    args: &Orderings,
    config: &Config,
    sessions: &[Loaded],
    orders: &[Vec<usize>],
) -> Result<(Trials, Vec<Option<Price>>), Failure> {
    let mut jobs = Vec::new();
    for session in sessions {
        let size = replays::size(config, session);
        let mut windows: Vec<u64> = (args.room.iter())
            .map(|window| replays::window(config, session, window.tokens(size).max(2)))
            .collect();
        windows.dedup();
        jobs.extend(windows.into_iter().map(|window| (session, window)));
    }
    let what = format!("{} orders", orders.len());
    let trials = replays::in_parallel(global.quiet, &what, &jobs, |runtime, (session, window)| {
        let replay = replays::replay(config, &args.replaying, session, Some(*window))?.checked();
        let runs = runtime.block_on(replay.run(&session.recorded, orders.to_vec()));
        Ok(Trial { session: session.name.clone(), window: *window, runs })
    })?;
    let names =
        |order: &Vec<usize>| order.iter().map(|at| config.ladder[*at].name.clone()).collect();
    let price = |session| replays::price(config, session);
    let trials = Trials { trials, orders: orders.iter().map(names).collect() };
    Ok((trials, sessions.iter().map(price).collect()))
}

/// What the orders did, and what they cost.
struct Costs {
    measured: Vec<Measured>,
    /// Whether costs are in dollars: where the model of each session has a price.
    is_priced: bool,
}

impl Costs {
    fn of(trials: &Trials, sessions: &[Loaded], prices: &[Option<Price>]) -> Self {
        let price = |trial: &Trial| {
            let at = sessions.iter().position(|session| session.name == trial.session)?;
            prices.get(at).copied().flatten()
        };
        let priced: Option<Vec<Price>> = trials.trials.iter().map(price).collect();
        let dollars = |order: usize, prices: &[Price]| -> f64 {
            let runs = trials.trials.iter().zip(prices);
            runs.filter_map(|(trial, price)| Some(trial.runs.get(order)?.totals().dollars(price)))
                .sum()
        };
        let totals = trials.totals().into_iter().enumerate();
        let measured = totals.map(|(order, totals)| {
            let cost = priced.as_ref().map(|prices| dollars(order, prices));
            Measured { totals, cost: cost.unwrap_or_else(|| totals.cost()) }
        });
        Self { measured: measured.collect(), is_priced: priced.is_some() }
    }
}

/// What to say of the first law that a ladder broke: the law, the place, and the smallest conversation that shows it.
fn fault(
    config: &Config,
    args: &Orderings,
    sessions: &[Loaded],
    trials: &Trials,
    orders: &[Vec<usize>],
) -> Result<Option<String>, Failure> {
    let found = trials.trials.iter().find_map(|trial| {
        trial.runs.iter().zip(orders).find_map(|(run, order)| {
            let compacted = run.compactions.iter().find(|one| !one.violations.is_empty())?;
            Some((trial, run, order, compacted.violations.first()?, compacted.failing.as_ref()?))
        })
    });
    let Some((trial, run, order, violation, failing)) = found else { return Ok(None) };
    let Some(session) = sessions.iter().find(|session| session.name == trial.session) else {
        return Ok(None);
    };
    let replay = replays::replay(config, &args.replaying, session, Some(trial.window))?;
    let smallest = shrunk(&replay, failing, order, violation.law)?;
    let mut text = format!(
        "{}: {}\n  {} in {} tokens, under {}\n  the smallest conversation found that shows it:\n",
        styled(BAD, "a law is broken"),
        shown(violation),
        shown(&trial.session),
        number(trial.window),
        run.order.join(" › "),
    );
    for message in smallest.messages().iter().take(MOST_MESSAGES) {
        text.push_str(&format!("    {}\n", style::excerpt(&format!("{message:?}"), EXCERPT)));
    }
    if let Some(more) = smallest.len().checked_sub(MOST_MESSAGES).filter(|more| *more > 0) {
        text.push_str(&format!("    and {}\n", counted(more as u64, "more message")));
    }
    Ok(Some(text.trim_end().to_owned()))
}

fn shrunk(
    replay: &brute_host::replay::Replay,
    failing: &Conversation,
    order: &[usize],
    law: Law,
) -> Result<Conversation, Failure> {
    let mut smallest = replays::in_parallel(true, "", &[()], |runtime, ()| {
        Ok(runtime.block_on(replay.shrunk(failing, order, law)))
    })?;
    Ok(smallest.pop().unwrap_or_else(|| failing.clone()))
}

/// What was found, as JSON gives it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Found<'t> {
    seed: u64,
    /// Whether these are all orders that there are.
    is_complete: bool,
    orders: Vec<Row<'t>>,
    commute: Vec<Commute>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    broken: Vec<Broken>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violations: Vec<&'t Violation>,
    trials: &'t [Trial],
}

/// An order, and those that did the same everywhere.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Row<'t> {
    order: &'t [String],
    same: Vec<&'t [String]>,
    /// Whether no other order beats it.
    unbeaten: bool,
    recall: f64,
    recall_by_use: f64,
    cost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dollars: Option<f64>,
    totals: Totals,
}

impl Row<'_> {
    /// The cost that orders are weighed by.
    fn weighed(&self) -> f64 {
        self.dollars.unwrap_or(self.cost)
    }
}

impl<'t> Found<'t> {
    fn of(trials: &'t Trials, costs: Costs, broken: Vec<Broken>, seed: u64, orders: usize) -> Self {
        let Costs { measured, is_priced } = costs;
        let best = unbeaten(&measured);
        let name = |order: usize| trials.orders[order].as_slice();
        let row = |alike: Vec<usize>| {
            let (first, others) = alike.split_first()?;
            let Measured { totals, cost } = measured[*first];
            Some(Row {
                order: name(*first),
                same: others.iter().map(|order| name(*order)).collect(),
                unbeaten: best.contains(first),
                recall: totals.recall(),
                recall_by_use: totals.recall.by_use.kept_share().unwrap_or(1.0),
                cost: totals.cost(),
                dollars: is_priced.then_some(cost),
                totals,
            })
        };
        let mut rows: Vec<Row<'_>> = trials.alike().into_iter().filter_map(row).collect();
        rows.sort_by(|one, other| {
            (other.unbeaten.cmp(&one.unbeaten))
                .then(other.recall.total_cmp(&one.recall))
                .then(one.weighed().total_cmp(&other.weighed()))
        });
        let runs = trials.trials.iter().flat_map(|trial| &trial.runs);
        let violations = runs.flat_map(|run| &run.compactions).flat_map(|one| &one.violations);
        Self {
            seed,
            is_complete: orders < MOST_ORDERS,
            orders: rows,
            commute: trials.commute(),
            broken,
            violations: violations.collect(),
            trials: &trials.trials,
        }
    }

    fn head(&self, sessions: &[Loaded]) -> String {
        let orders: usize = self.orders.iter().map(|row| 1 + row.same.len()).sum();
        format!(
            "{} of a ladder, {}, {}",
            counted(orders as u64, "order"),
            counted(sessions.len() as u64, "session"),
            counted(self.trials.len() as u64, "replay"),
        )
    }

    fn text(&self, sessions: &[Loaded]) -> String {
        let mut text = format!("{}\n", styled(HEAD, &self.head(sessions)));
        let named = style::wrapped(&self.rungs(), 0);
        text.push_str(&format!("{}\n\n{}", styled(DIM, &named), self.grid().text()));
        text.push_str(&format!("\n\n{}\n", styled(DIM, &style::wrapped(NOTES, 0))));
        for commute in &self.commute {
            if let Some(words) = commuting(commute) {
                text.push_str(&format!("\n{words}"));
            }
        }
        for broken in &self.broken {
            text.push_str(&format!("\n{}: {}", styled(BAD, "does not hold"), shown(broken)));
        }
        text.push('\n');
        text
    }

    /// The rungs with their numbers. Names in each row would leave no room for figures.
    fn rungs(&self) -> String {
        let rungs = self.given().iter().zip(1..);
        let named = rungs.map(|(rung, number)| format!("{number} {}", shown(rung)));
        named.collect::<Vec<_>>().join(", ")
    }

    /// The order that was given.
    fn given(&self) -> &[String] {
        let given = self.trials.first().and_then(|trial| trial.runs.first());
        given.map_or(&[][..], |run| &run.order)
    }

    /// An order in numbers, `1 › 3 › 2`.
    fn numbers(&self, order: &[String]) -> String {
        let rungs = self.given();
        let place = |rung: &String| rungs.iter().position(|known| known == rung).unwrap_or(0) + 1;
        let places: Vec<String> = order.iter().map(|rung| place(rung).to_string()).collect();
        places.join(" › ")
    }

    /// The same with how many others did what it did.
    fn name(&self, row: &Row<'_>) -> String {
        let name = self.numbers(row.order);
        match row.same.len() {
            0 => name,
            others => format!("{name} (+{others})"),
        }
    }

    fn grid(&self) -> Grid {
        let cost = match self.orders.iter().any(|row| row.dollars.is_some()) {
            true => "US$",
            false => "cost",
        };
        let header =
            ["", "order", "recall", "by use", "sent", "cached", cost, "calls", "missed", "over"];
        let mut grid = Grid::new(header, 1);
        for row in &self.orders {
            let share = |share: f64| format!("{:.1} %", share * 100.0);
            let totals = &row.totals;
            grid.rows.push(vec![
                if row.unbeaten { "*".to_owned() } else { String::new() },
                self.name(row),
                share(row.recall),
                share(row.recall_by_use),
                number(totals.sent),
                share(totals.cached as f64 / totals.sent.max(1) as f64),
                replays::cost_words(row.dollars, row.cost),
                number(totals.summarizer_calls),
                number(totals.misses),
                number(totals.over_window),
            ]);
        }
        grid
    }

    /// All of it as a page.
    fn page(
        &self,
        args: &Orderings,
        (config, toml): (&Config, String),
        sessions: &[Loaded],
        prices: &[Option<Price>],
    ) -> Result<Page, Failure> {
        let mut page = Page {
            title: "What each order of a ladder does".to_owned(),
            lead: vec![
                format!("{}.", self.head(sessions)),
                format!("The rungs, from the top as they were given: {}.", self.rungs()),
            ],
            tables: vec![("The orders".to_owned(), self.grid())],
            notes: vec![NOTES.to_owned()],
            is_priced: self.orders.iter().any(|row| row.dollars.is_some()),
            walks: Walks::new(&["Session", "Window", "Order"]),
            ladders: vec![(
                args.ladder.as_deref().map_or("brute.toml".into(), session::name),
                toml,
            )],
            ..Page::default()
        };
        page.notes.extend(self.commute.iter().filter_map(commuting));
        page.notes.extend(self.broken.iter().map(|broken| format!("Does not hold: {broken}")));
        page.trade = (self.orders.iter())
            .map(|row| Point {
                name: self.name(row),
                cost: row.weighed(),
                recall: row.recall,
                words: replays::cost_words(row.dollars, row.cost),
                unbeaten: row.unbeaten,
                baseline: false,
            })
            .collect();
        let given = self.given();
        let is_given = |row: &&Row<'_>| row.order == given || row.same.contains(&given);
        let mut rows: Vec<&Row<'_>> =
            self.orders.iter().filter(|row| row.unbeaten).take(MOST_SHOWN).collect();
        match self.orders.iter().find(is_given) {
            Some(row) if !rows.iter().any(is_given) => rows.push(row),
            _ => {}
        }
        if rows.len() < self.orders.len() {
            let orders = counted(rows.len() as u64, "order");
            page.walks.note(format!("Here are {orders}: the given one, and what no other beats."));
        }
        for trial in self.trials {
            let Some(at) = sessions.iter().position(|session| session.name == trial.session) else {
                continue;
            };
            let replay =
                replays::replay(config, &args.replaying, &sessions[at], Some(trial.window))?;
            let (ladder, recorded) = (replay.ladder(), sessions[at].recorded.conversation());
            for row in &rows {
                let Some(run) = trial.runs.iter().find(|run| run.order == row.order) else {
                    continue;
                };
                let keys = vec![trial.session.clone(), number(trial.window), self.name(row)];
                let order = self.numbers(row.order);
                let replayed =
                    Replayed::of(&sessions[at], order, trial.window, run.clone(), prices[at]);
                let walk = Went { run, budget: ladder.budget(), is_own: false };
                page.walks.add(keys, recorded, &**ladder.counter(), walk, replayed.figures());
            }
        }
        page.walks.cut();
        Ok(page)
    }
}

/// Whether two rungs may change places, in words; none where they never stand next to each other.
fn commuting(commute: &Commute) -> Option<String> {
    let [one, other] = commute.rungs.each_ref().map(shown);
    let words = match (commute.pairs, commute.always()) {
        (0, _) => return None,
        (_, true) => "commute here".to_owned(),
        (pairs, false) => format!("do not commute ({} of {pairs} differ)", pairs - commute.same),
    };
    Some(format!("`{one}` and `{other}` {words}"))
}
