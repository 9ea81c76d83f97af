//! `brute replay`: what ladders would have done to recorded sessions, call by call.

use std::path::PathBuf;

use brute_host::config::Config;
use brute_host::ladder::Budget;
use brute_host::replay::{Measured, Reproduced, Run, unbeaten};
use brute_host::shown::shown;
use brute_host::transcripts::Compaction;
use clap::Args;

use crate::args::Global;
use crate::exit::{Done, Exit};
use crate::grid::Grid;
use crate::output;
use crate::page::{Page, Point, Walks, Went};
use crate::replays::{self, Loaded, Replayed, Replaying};
use crate::style::{self, BAD, DIM, HEAD, counted, number, styled};

/// What to know of the tables.
const NOTES: &str = "cached: what the request before began with as well. recall: of what the session goes on to use, \
                     what is still there after a compaction. docs/recall.md says what it does not see.";

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) replaying: Replaying,

    /// A ladder to try, a brute.toml (may be repeated); otherwise the configuration in force
    #[arg(long, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) ladder: Vec<PathBuf>,

    /// The model's window, e.g. 128k; overrides brute.toml and the model named in the session
    #[arg(long, value_name = "TOKENS", value_parser = crate::args::tokens)]
    pub(crate) window: Option<u64>,
}

/// The columns that are no ladder's.
const UNCOMPACTED: &str = "no compaction";
const OWN: &str = "its own agent";

/// What a session is walked through with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walked {
    /// Nothing.
    Uncompacted,
    /// What its own agent did, by its log.
    Own,
    /// A ladder.
    Ladder,
}

pub(crate) fn run(global: &Global, args: &Replay) -> Done {
    let files: Vec<Option<PathBuf>> = match args.ladder.is_empty() {
        true => vec![global.config.clone()],
        false => args.ladder.iter().cloned().map(Some).collect(),
    };
    let mut ladders: Vec<(String, Config, String)> = Vec::new();
    for file in files {
        let name = file.as_ref().map_or("the configuration".into(), |file| shown(file.display()));
        let global = Global { config: file.clone().or(global.config.clone()), ..global.clone() };
        let (config, toml) = replays::config(&global, &args.replaying, file.as_deref())?;
        ladders.push((name, config, toml));
    }
    let sessions = replays::sessions(global, &ladders[0].1, &args.replaying)?;
    let mut jobs: Vec<(usize, usize, Walked)> = Vec::new();
    for (at, session) in sessions.iter().enumerate() {
        jobs.push((at, 0, Walked::Uncompacted));
        if !session.recorded.own().compactions.is_empty() {
            jobs.push((at, 0, Walked::Own));
        }
        jobs.extend((0..ladders.len()).map(|ladder| (at, ladder, Walked::Ladder)));
    }
    let runs = replays::in_parallel(global.quiet, "replaying", &jobs, |runtime, job| {
        let (session, (name, config, _)) = (&sessions[job.0], &ladders[job.1]);
        let replay = replays::replay(config, &args.replaying, session, args.window)?.checked();
        let budget = *replay.ladder().budget();
        let price = replays::price(config, session);
        let of =
            |ladder: String, run: Run| Replayed::of(session, ladder, budget.window(), run, price);
        let replayed = match job.2 {
            Walked::Uncompacted => {
                of(UNCOMPACTED.to_owned(), runtime.block_on(replay.uncompacted(&session.recorded)))
            }
            Walked::Own => {
                let (run, reproduced) = replay.own(&session.recorded);
                let own_compactions = session.own_compactions.clone();
                Replayed { own_compactions, reproduced, ..of(OWN.to_owned(), run) }
            }
            Walked::Ladder => {
                let given = (0..config.ladder.len()).collect();
                let run = runtime.block_on(replay.run(&session.recorded, vec![given])).pop();
                of(name.clone(), run.unwrap_or_default())
            }
        };
        Ok((replayed, budget))
    })?;
    if let Some(file) = &args.replaying.html {
        page(&ladders, &sessions, &runs).write(file)?;
    }
    let runs: Vec<Replayed> = runs.into_iter().map(|(replayed, _)| replayed).collect();
    match args.replaying.json {
        true => output::json(&runs)?,
        false => output::text(&text(&runs))?,
    }
    let mut fits = true;
    for replayed in &runs {
        let compactions = replayed.run.compactions.iter();
        for violation in compactions.flat_map(|one| &one.violations) {
            let place = format!("{} under {}", replayed.session, replayed.ladder);
            let words = styled(BAD, "a law is broken");
            output::say(&format!("{words}: {}: {}", shown(violation), shown(place)));
            fits = false;
        }
        let is_ladder = !replayed.run.order.is_empty();
        fits &= !is_ladder || replayed.totals.over_window == 0;
    }
    Ok(if fits { Exit::Fitted } else { Exit::NotFitted })
}

/// A table for each session.
fn text(runs: &[Replayed]) -> String {
    let mut text = String::new();
    for runs in runs.chunk_by(|one, other| one.session == other.session) {
        let Some(first) = runs.first() else { continue };
        let head = format!(
            "{}: {} of the model, {} in all",
            shown(&first.session),
            counted(first.totals.calls, "call"),
            counted(first.run.calls.last().map_or(0, |last| last.size), "token"),
        );
        text.push_str(&format!("{}\n\n{}\n", styled(HEAD, &head), table(runs)));
        for replayed in runs {
            if let Some(words) = own_compactions(&replayed.own_compactions) {
                text.push_str(&format!("{}\n", style::wrapped(&words, 0)));
            }
            if !replayed.reproduced.is_empty() {
                text.push_str(&format!("\n{}\n", reproduced(&replayed.reproduced).text()));
            }
        }
        for replayed in runs {
            for skipped in &replayed.run.skipped {
                text.push_str(&format!("passed over: {}\n", shown(skipped)));
            }
        }
        text.push('\n');
    }
    text.push_str(&format!("{}\n", styled(DIM, &style::wrapped(NOTES, 0))));
    text
}

/// What the log tells of the compactions of its own agent.
fn own_compactions(compactions: &[Compaction]) -> Option<String> {
    let before = |one: &Compaction| {
        let tokens = one.tokens_before.map_or("a size that it does not tell".to_owned(), number);
        match one.at {
            Some(message) => format!("{tokens} (before message {message})"),
            None => tokens,
        }
    };
    let sizes: Vec<String> = compactions.iter().map(before).collect();
    let times = counted(compactions.len() as u64, "time");
    (!sizes.is_empty())
        .then(|| format!("its own agent compacted it {times}, at tokens: {}", sizes.join(", ")))
}

/// What the log says of the size before each compaction, and what is found here.
fn reproduced(all: &[Reproduced]) -> Grid {
    let header = ["before message", "by the log", "counted", "off by", "by its reports", "off by"];
    let mut grid = Grid::new(header, 0);
    for one in all {
        let off =
            |size: u64| format!("{:+.1} %", 100.0 * (size as f64 / one.log.max(1) as f64 - 1.0));
        let or_none = |words: Option<String>| words.unwrap_or_else(|| "-".to_owned());
        grid.rows.push(vec![
            one.message.to_string(),
            number(one.log),
            number(one.counted),
            off(one.counted),
            or_none(one.anchored.map(number)),
            or_none(one.anchored.map(off)),
        ]);
    }
    grid
}

/// A column for each ladder.
fn table(runs: &[Replayed]) -> String {
    let mut grid = replays::figures(&runs.iter().collect::<Vec<_>>());
    // It is no figure of the ladder.
    let times = runs.iter().map(|replayed| format!("{:.0}", replayed.run.milliseconds));
    grid.rows.push(std::iter::once("milliseconds".to_owned()).chain(times).collect());
    grid.text()
}

/// All of it as a page: a table for each session, and what the ladders come to over all of them.
fn page(
    ladders: &[(String, Config, String)],
    sessions: &[Loaded],
    runs: &[(Replayed, Budget)],
) -> Page {
    let mut page = Page {
        title: "What ladders do to recorded sessions".to_owned(),
        notes: vec![NOTES.to_owned()],
        is_priced: runs.iter().all(|(replayed, _)| replayed.dollars.is_some()),
        walks: Walks::new(&["Session", "Ladder"]),
        ..Page::default()
    };
    let (lead, replays) = (counted(sessions.len() as u64, "session"), runs.len() as u64);
    page.lead.push(format!("{lead}, {}.", counted(replays, "replay")));
    let mut names: Vec<&str> = Vec::new();
    for (replayed, _) in runs {
        // What not every session has cannot be held against what all have.
        let of_it = runs.iter().filter(|(other, _)| other.ladder == replayed.ladder).count();
        if of_it == sessions.len() && !names.contains(&replayed.ladder.as_str()) {
            names.push(&replayed.ladder);
        }
    }
    // Dollars can be weighed where each session has a price.
    let is_priced = page.is_priced;
    let measured = |replayed: &Replayed| Measured {
        totals: replayed.totals,
        cost: replayed.dollars.filter(|_| is_priced).unwrap_or(replayed.cost),
    };
    let all: Vec<Measured> = (names.iter())
        .map(|name| {
            let of_it = runs.iter().filter(|(replayed, _)| replayed.ladder == *name);
            of_it.map(|(replayed, _)| measured(replayed)).fold(Measured::default(), Measured::and)
        })
        .collect();
    // Without compaction, nothing is forgotten and nothing need fit, and what an agent did was one session's: that is no
    // choice between ladders.
    let is_baseline = |at: usize| [UNCOMPACTED, OWN].contains(&names[at]);
    let chosen: Vec<usize> = (0..names.len()).filter(|at| !is_baseline(*at)).collect();
    let best = unbeaten(&chosen.iter().map(|at| all[*at]).collect::<Vec<_>>());
    let best: Vec<usize> = best.into_iter().map(|at| chosen[at]).collect();
    page.trade = (names.iter().zip(&all).enumerate())
        .map(|(at, (name, one))| Point {
            name: replays::stem(name),
            cost: one.cost,
            recall: one.totals.recall(),
            words: replays::cost_words(is_priced.then_some(one.cost), one.cost),
            unbeaten: best.contains(&at),
            baseline: is_baseline(at),
        })
        .collect();
    if all.first().is_some_and(|baseline| baseline.totals.over_window > 0) {
        let over = counted(all[0].totals.over_window, "request");
        page.lead.push(format!("Without compaction, {over} would not fit into the window."));
    }
    for (at, runs) in runs.chunk_by(|one, other| one.0.session == other.0.session).enumerate() {
        let columns: Vec<&Replayed> = runs.iter().map(|(replayed, _)| replayed).collect();
        let Some(first) = columns.first() else { continue };
        page.tables.push((first.session.clone(), replays::figures(&columns)));
        for replayed in &columns {
            if !replayed.reproduced.is_empty() {
                let caption = format!("Size before its own agent's compactions: {}", first.session);
                page.tables.push((caption, reproduced(&replayed.reproduced)));
            }
        }
        for (replayed, budget) in runs {
            let recorded = sessions[at].recorded.conversation();
            let config = &ladders[0].1;
            let counter = config.token_counter(sessions[at].document.model().as_deref());
            let keys = vec![replayed.session.clone(), replays::stem(&replayed.ladder)];
            let figures = replayed.figures();
            let is_own = replayed.ladder == OWN;
            let went = Went { run: &replayed.run, budget, is_own };
            page.walks.add(keys, recorded, &*counter, went, figures);
        }
    }
    page.walks.cut();
    page.ladders = ladders.iter().map(|(name, _, text)| (name.clone(), text.clone())).collect();
    page
}
