//! `brute advise`: a ladder and thresholds for recorded sessions, from replays of them over a grid.

mod grid;
mod proposal;

use std::path::PathBuf;

use brute_host::config::{Amount, Config};
use brute_host::replay::{Measured, Measurements, Totals, orders};
use clap::Args;

use self::grid::{Axes, Axis, Variant};
use self::proposal::Proposal;
use super::orderings::amount;
use crate::args::Global;
use crate::exit::{Done, Exit, Failure};
use crate::output;
use crate::replays::{self, Loaded, Replaying};
use crate::style::{BAD, styled};

/// What a search comes to.
const AFTER: &str = "\
The grid: every order of the ladder's rungs, times --compact-at, times --compact-to, times, where one
rung is `tool-results`, its `keep-steps` 1 and 3 and its `keep` \"nothing\" and \"ends\"; what the
configuration in force says is always among them. Each is replayed in each session and room, without
a model unless --with-summarizer is said. docs/advice.md says how they are weighed, and how sure the
answer is. Standard output is a brute.toml.";

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

    /// By so many percent a session may cost more for one point of recall
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, value_parser = percent)]
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
    axes: Axes,
    variants: Vec<Variant>,
    orders: Vec<Vec<usize>>,
    /// The names of the rungs, as they were given.
    names: Vec<String>,
    /// For each ladder, what its rungs did in all replays.
    worked: Vec<Vec<Worked>>,
    measured: Measurements,
    /// How many replays there were.
    replays: usize,
    /// Whether costs are in dollars.
    is_priced: bool,
}

pub(crate) fn run(global: &Global, args: &Advise) -> Done {
    if let Some(file) = args.out.as_deref().filter(|file| file.exists() && !args.force) {
        let message = format!("`{}` is there already; `--force` overwrites it", file.display());
        return Err(Failure::configuration(message));
    }
    let global = Global { config: args.ladder.clone().or(global.config.clone()), ..global.clone() };
    let (config, _) = replays::config(&global, &args.replaying, global.config.as_deref())?;
    let sessions = replays::sessions(&global, &config, &args.replaying.sessions)?;
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

/// Replays all of the grid.
fn search<'s>(
    global: &Global,
    args: &Advise,
    config: &Config,
    sessions: &'s [Loaded],
) -> Result<Search<'s>, Failure> {
    let axes = Axes::of(config, &args.compact_at, &args.compact_to);
    let variants = axes.variants();
    let orders = orders(config.ladder.len(), args.seed);
    let names: Vec<String> = config.ladder.iter().map(|rung| rung.name.clone()).collect();
    let mut configs = Vec::with_capacity(variants.len());
    for variant in &variants {
        let mut global = Global { quiet: true, ..global.clone() };
        global.set.extend(axes.settings(variant));
        configs.push(replays::config(&global, &args.replaying, global.config.as_deref())?.0);
    }
    let mut jobs: Vec<(usize, u64, usize)> = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        let size = replays::size(config, session);
        let mut windows: Vec<u64> = (args.room.iter())
            .map(|room| replays::window(config, session, room.tokens(size).max(2)))
            .collect();
        windows.dedup();
        let jobs_of = |window: u64| (0..variants.len()).map(move |variant| (at, window, variant));
        jobs.extend(windows.into_iter().flat_map(jobs_of));
    }
    let tried = replays::in_parallel(global.quiet, "replaying the grid", &jobs, |runtime, job| {
        let (session, window, variant) = *job;
        let session = &sessions[session];
        let replay = replays::replay(&configs[variant], &args.replaying, session, Some(window))?;
        let runs = runtime.block_on(replay.run(&session.recorded, orders.clone()));
        Ok(runs.iter().map(|run| tried(run, &names)).collect::<Vec<Tried>>())
    })?;
    let prices: Option<Vec<_>> =
        sessions.iter().map(|session| replays::price(config, session)).collect();
    let ladders = variants.len() * orders.len();
    let mut measured = vec![vec![Measured::default(); sessions.len()]; ladders];
    let mut worked = vec![vec![Worked::default(); names.len()]; ladders];
    for ((session, _, variant), tried) in jobs.iter().zip(tried) {
        for (order, tried) in tried.into_iter().enumerate() {
            let ladder = variant * orders.len() + order;
            let cost = match &prices {
                Some(prices) => tried.totals.dollars(&prices[*session]),
                None => tried.totals.cost(),
            };
            let sum = &mut measured[ladder][*session];
            *sum = sum.and(Measured { totals: tried.totals, cost });
            for (sum, rung) in worked[ladder].iter_mut().zip(&tried.rungs) {
                sum.asked += rung.asked;
                sum.took += rung.took;
            }
        }
    }
    let measured = Measurements::new(measured, args.point);
    let (is_priced, replays) = (prices.is_some(), jobs.len() * orders.len());
    Ok(Search { sessions, axes, variants, orders, names, worked, measured, replays, is_priced })
}

fn tried(run: &brute_host::replay::Run, names: &[String]) -> Tried {
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
    /// The variant of the settings that a ladder has, and its order.
    fn parts(&self, ladder: usize) -> (&Variant, &[usize]) {
        let orders = self.orders.len();
        (&self.variants[ladder / orders], &self.orders[ladder % orders])
    }

    /// The ladder with this variant and this order, if it was tried.
    fn find(&self, variant: &Variant, order: &[usize]) -> Option<usize> {
        let variant = self.variants.iter().position(|known| known == variant)?;
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
