//! `brute advise`: a ladder and thresholds for recorded sessions, from replays of them over a grid.

mod found;
mod grid;
mod proposal;

use std::path::PathBuf;

use brute_host::config::{Amount, Config};
use brute_host::models::Price;
use brute_host::replay::{Advice, Measured, Measurements, Run, Totals, orders};
use clap::Args;

use self::grid::{Axes, Axis, Variant};
use self::proposal::Proposal;
use super::orderings::amount;
use crate::args::Global;
use crate::exit::{Done, Exit, Failure};
use crate::output;
use crate::replays::{self, Loaded, Replaying};
use crate::setup;
use crate::style::{BAD, styled};

/// What the grid is, and what becomes of it.
const AFTER: &str = r#"The grid: every order of the ladder's rungs, times --compact-at, times --compact-to, times, where
one rung is `tool-results`, its `keep-steps` 1 and 3 and its `keep` "nothing" and "ends"; what the
configuration in force says is always among them. All orders and thresholds are replayed in each
session and room, then what differs from the best in one setting, until nothing around it is
better; the same again without each session, to say how sure that is. No model is asked, unless
--with-summarizer is said. docs/advice.md says how ladders are weighed, and how sure the answer is."#;

#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct Advise {
    #[command(flatten)]
    pub(crate) replaying: Replaying,

    /// The ladder whose rungs are put in order, a brute.toml; otherwise the configuration in force
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) ladder: Option<PathBuf>,

    /// Room for requests to try, the reserve not counted: shares of each session's size, or tokens
    #[arg(long, value_name = "SIZE,…", value_delimiter = ',', default_values = ["25%", "50%"], value_parser = amount)]
    pub(crate) room: Vec<Amount>,

    /// Where compactions start, to try: shares of the window
    #[arg(long, value_name = "SHARE,…", value_delimiter = ',', default_values = ["0.6", "0.7", "0.8"], value_parser = share)]
    pub(crate) compact_at: Vec<f64>,

    /// What compactions aim for, to try: shares of the window
    #[arg(long, value_name = "SHARE,…", value_delimiter = ',', default_values = ["0.3", "0.4", "0.5"], value_parser = share)]
    pub(crate) compact_to: Vec<f64>,

    /// Replay all of the grid, and not only thresholds and then what is around the best
    #[arg(long)]
    pub(crate) exhaustive: bool,

    /// By so many percent a session may cost more for one point of recall
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = percent)]
    pub(crate) point: f64,

    /// What decides the sample where a ladder has more orders than 720
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Where to write the brute.toml, instead of standard output
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    pub(crate) out: Option<PathBuf>,

    /// Overwrite the file of --out if it is there
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

/// A share of the window: `0.7`, `70%`.
fn share(text: &str) -> Result<f64, String> {
    let (digits, unit) = match text.trim().strip_suffix('%') {
        Some(digits) => (digits.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    let share = digits.parse::<f64>().map(|share| share / unit);
    let share = share.ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| format!("expected a share of the window like 0.7 or 70%, not `{text}`"))
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
    let percent = percent.ok().filter(|percent| *percent > 0.0 && percent.is_finite());
    percent.ok_or_else(|| format!("expected a percentage above 0 like 1 or 0.5, not `{text}`"))
}

/// What a rung did in all replays of a ladder.
#[derive(Debug, Clone, Copy, Default)]
struct Worked {
    /// Compactions in which it was asked.
    asked: u64,
    /// Tokens that it took.
    took: u64,
}

/// What one order under one variant of the settings did to one session in one room.
#[derive(Debug, Clone)]
struct Tried {
    totals: Totals,
    /// By the rung's place in the ladder as it was given.
    rungs: Vec<Worked>,
}

/// The replays of a search.
struct Search<'s> {
    sessions: &'s [Loaded],
    /// What the model of each session costs.
    prices: Vec<Option<Price>>,
    /// Each session in each window.
    places: Vec<(usize, u64)>,
    axes: Axes,
    /// What was tried of the grid, first what is in force.
    variants: Vec<Variant>,
    orders: Vec<Vec<usize>>,
    /// The names of the rungs, as they were given.
    names: Vec<String>,
    /// For each ladder, what its rungs did in all replays.
    worked: Vec<Vec<Worked>>,
    measured: Measurements,
    /// For each session the variants that a search without it comes by, as it comes by them.
    without: Vec<Vec<usize>>,
}

pub(crate) fn run(global: &Global, args: &Advise) -> Done {
    if let Some(file) = args.out.as_deref().filter(|file| file.exists() && !args.force) {
        let message = format!("`{}` is there already; `--force` overwrites it", file.display());
        return Err(Failure::configuration(message));
    }
    let global = Global { config: args.ladder.clone().or(global.config.clone()), ..global.clone() };
    let (config, _) = replays::config(&global, &args.replaying, global.config.as_deref())?;
    let sessions = replays::sessions(&global, &config, &args.replaying)?;
    let search = search(&global, args, &config, &sessions)?;
    let proposal = Proposal::of(&search, &config, args);
    if let Some(file) = &args.replaying.html {
        proposal.page().write(file)?;
    }
    match (args.replaying.json, &args.out) {
        (true, _) => output::json(&proposal.found())?,
        (false, Some(file)) => {
            output::file(file, proposal.toml().as_bytes())?;
            if !global.quiet {
                output::say(&format!("wrote {}; {}", file.display(), proposal.gist()));
            }
        }
        (false, None) => {
            output::data(proposal.toml().as_bytes())?;
            if !global.quiet {
                output::say(&proposal.gist());
            }
        }
    }
    let all = (0..search.measured.ladders()).map(|ladder| search.measured.all(ladder).totals);
    let broken: u64 = all.map(|totals| totals.violations).sum();
    if broken > 0 {
        let words = styled(BAD, "a law is broken");
        output::say(&format!("{words}, {broken} times in all; `brute orderings` shows where"));
        return Ok(Exit::NotFitted);
    }
    Ok(Exit::Fitted)
}

/// Replays the grid: all thresholds, then what is around the best, until nothing around it is better. So does a search
/// without each of the sessions, which must not have a say in what is tried where it is left out; most of what that
/// comes by is measured already.
fn search<'s>(
    global: &Global,
    args: &Advise,
    config: &Config,
    sessions: &'s [Loaded],
) -> Result<Search<'s>, Failure> {
    let layers = setup::layers(&Global { quiet: true, ..global.clone() })?;
    let axes = Axes::of(config, &layers, &args.compact_at, &args.compact_to);
    let prices = sessions.iter().map(|session| replays::price(config, session)).collect();
    let mut places: Vec<(usize, u64)> = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let size = replays::size(config, session);
        let rooms = args.room.iter().map(|room| room.tokens(size).max(2));
        let mut windows: Vec<u64> =
            rooms.map(|room| replays::window(config, session, room)).collect();
        windows.dedup();
        places.extend(windows.into_iter().map(|window| (at, window)));
    }
    let begin = if args.exhaustive { axes.variants() } else { axes.first() };
    let mut search = Search {
        sessions,
        prices,
        places,
        axes,
        variants: Vec::new(),
        orders: orders(config.ladder.len(), args.seed),
        names: config.ladder.iter().map(|rung| rung.name.clone()).collect(),
        worked: Vec::new(),
        measured: Measurements::new(Vec::new(), args.point),
        without: Vec::new(),
    };
    search.without = vec![(0..begin.len()).collect(); sessions.len()];
    search.replay(global, args, begin)?;
    loop {
        let all: Vec<usize> = (0..search.variants.len()).collect();
        let mut open: Vec<Variant> = search.ahead(None, &all);
        let ahead: Vec<Vec<Variant>> = (search.without.iter().enumerate())
            .filter(|_| sessions.len() > 1)
            .map(|(session, known)| search.ahead(Some(session), known))
            .collect();
        if open.is_empty() && ahead.iter().all(Vec::is_empty) {
            return Ok(search);
        }
        open.extend(ahead.iter().flatten().cloned());
        let mut new: Vec<Variant> = Vec::new();
        for variant in open {
            if !search.variants.contains(&variant) && !new.contains(&variant) {
                new.push(variant);
            }
        }
        if !new.is_empty() {
            search.replay(global, args, new)?;
        }
        for (session, ahead) in ahead.iter().enumerate() {
            let known = ahead.iter().filter_map(|variant| search.place(variant));
            let known: Vec<usize> = known.collect();
            search.without[session].extend(known);
        }
    }
}

fn tried(run: &Run, names: &[String]) -> Tried {
    let mut rungs = vec![Worked::default(); names.len()];
    for report in run.compactions.iter().flat_map(|one| &one.rungs) {
        if let Some(at) = names.iter().position(|name| *name == report.rung) {
            rungs[at].asked += 1;
            rungs[at].took += report.before.saturating_sub(report.after);
        }
    }
    Tried { totals: run.totals(), rungs }
}

impl Search<'_> {
    /// Replays every order under `variants` as well.
    fn replay(
        &mut self,
        global: &Global,
        args: &Advise,
        variants: Vec<Variant>,
    ) -> Result<(), Failure> {
        let mut configs = Vec::with_capacity(variants.len());
        for variant in &variants {
            let mut global = Global { quiet: true, ..global.clone() };
            global.set.extend(self.axes.settings(variant));
            configs.push(replays::config(&global, &args.replaying, global.config.as_deref())?.0);
        }
        let jobs: Vec<(usize, u64, usize)> = (self.places.iter())
            .flat_map(|(session, window)| {
                (0..configs.len()).map(move |variant| (*session, *window, variant))
            })
            .collect();
        let what = format!("{} ladders", configs.len() * self.orders.len());
        let tried = replays::in_parallel(global.quiet, &what, &jobs, |runtime, job| {
            let (session, window, variant) = (&self.sessions[job.0], job.1, &configs[job.2]);
            let replay = replays::replay(variant, &args.replaying, session, Some(window))?;
            let runs = runtime.block_on(replay.run(&session.recorded, self.orders.clone()));
            Ok(runs.iter().map(|run| tried(run, &self.names)).collect::<Vec<Tried>>())
        })?;
        let (known, orders) = (self.variants.len(), self.orders.len());
        self.variants.extend(variants);
        let ladders = self.variants.len() * orders;
        self.measured.add(ladders, self.sessions.len());
        self.worked.resize_with(ladders, || vec![Worked::default(); self.names.len()]);
        let is_priced = self.is_priced();
        for ((session, _, variant), tried) in jobs.iter().zip(tried) {
            for (order, tried) in tried.into_iter().enumerate() {
                let ladder = (known + variant) * orders + order;
                let cost = match self.prices[*session] {
                    Some(price) if is_priced => tried.totals.dollars(&price),
                    _ => tried.totals.cost(),
                };
                let measured = Measured { totals: tried.totals, cost };
                self.measured.count(ladder, *session, measured);
                for (sum, rung) in self.worked[ladder].iter_mut().zip(&tried.rungs) {
                    sum.asked += rung.asked;
                    sum.took += rung.took;
                }
            }
        }
        Ok(())
    }

    /// What is around the best of the variants `known` that none of these is: by all sessions but `without`.
    fn ahead(&self, without: Option<usize>, known: &[usize]) -> Vec<Variant> {
        let best = self.measured.best(without, self.ladders_of(known));
        let mut around = self.axes.around(self.parts(best).0);
        around.retain(|variant| !self.place(variant).is_some_and(|at| known.contains(&at)));
        around
    }

    /// The ladders that have one of these variants.
    fn ladders_of<'v>(&self, variants: &'v [usize]) -> impl Iterator<Item = usize> + use<'v> {
        let orders = self.orders.len();
        variants.iter().flat_map(move |variant| variant * orders..(variant + 1) * orders)
    }

    /// The ladder to propose, and how sure that is.
    fn advice(&self) -> Advice {
        self.measured.advice_where(|session| self.ladders_of(&self.without[session]))
    }

    /// The place of a variant that was tried.
    fn place(&self, variant: &Variant) -> Option<usize> {
        self.variants.iter().position(|known| known == variant)
    }

    /// Whether costs are in dollars: where the model of each session has a price.
    fn is_priced(&self) -> bool {
        self.prices.iter().all(Option::is_some)
    }

    /// How many replays there were.
    fn replays(&self) -> usize {
        self.places.len() * self.measured.ladders()
    }

    /// The variant of the settings that a ladder has, and its order.
    fn parts(&self, ladder: usize) -> (&Variant, &[usize]) {
        let orders = self.orders.len();
        (&self.variants[ladder / orders], &self.orders[ladder % orders])
    }

    /// The ladder with this variant and this order, if it was tried.
    fn find(&self, variant: &Variant, order: &[usize]) -> Option<usize> {
        let variant = self.place(variant)?;
        let order = self.orders.iter().position(|known| known == order)?;
        Some(variant * self.orders.len() + order)
    }

    /// The names of the rungs of a ladder, from the top.
    fn names(&self, ladder: usize) -> Vec<&str> {
        let (_, order) = self.parts(ladder);
        order.iter().map(|rung| self.names[*rung].as_str()).collect()
    }

    fn axes(&self) -> &[Axis] {
        self.axes.all()
    }
}
