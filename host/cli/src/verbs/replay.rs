//! `brute replay`: what ladders would have done to recorded sessions, call by call.

use std::path::PathBuf;

use brute_host::config::Config;
use brute_host::models::Price;
use brute_host::replay::{Run, Share, Totals};
use brute_host::shown::shown;
use clap::Args;
use serde::Serialize;

use crate::args::Global;
use crate::exit::{Done, Exit};
use crate::replays::{self, Loaded, Replaying};
use crate::style::{self, BAD, DIM, HEAD, counted, number, styled};
use crate::{output, setup};

#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) replaying: Replaying,

    /// A ladder to try, a brute.toml (may be repeated); otherwise the configuration in force
    #[arg(long, value_name = "FILE")]
    pub(crate) ladder: Vec<PathBuf>,

    /// The model's window, e.g. 128k; overrides brute.toml and the model named in the session
    #[arg(long, value_name = "TOKENS", value_parser = crate::args::tokens)]
    pub(crate) window: Option<u64>,
}

pub(crate) fn run(global: &Global, args: &Replay) -> Done {
    let files: Vec<Option<PathBuf>> = match args.ladder.is_empty() {
        true => vec![global.config.clone()],
        false => args.ladder.iter().cloned().map(Some).collect(),
    };
    let mut ladders: Vec<(String, Config)> = Vec::new();
    for file in files {
        let name = file.as_ref().map_or("the configuration".into(), |file| shown(file.display()));
        let global = Global { config: file.or(global.config.clone()), ..global.clone() };
        let config = setup::load(&global, !args.replaying.json)?;
        ladders.push((name, replays::over(config, &args.replaying)));
    }
    let sessions = replays::sessions(global, &ladders[0].1, &args.replaying.sessions)?;
    let mut jobs: Vec<(usize, usize, bool)> = Vec::new();
    for session in 0..sessions.len() {
        jobs.push((session, 0, false));
        jobs.extend((0..ladders.len()).map(|ladder| (session, ladder, true)));
    }
    let runs = replays::in_parallel(global.quiet, "replaying", &jobs, |runtime, job| {
        let (session, (name, config)) = (&sessions[job.0], &ladders[job.1]);
        let replay = replays::replay(config, &args.replaying, session, args.window)?.checked();
        let given = (0..config.ladder.len()).collect();
        let run = match job.2 {
            false => Some(runtime.block_on(replay.uncompacted(&session.recorded))),
            true => runtime.block_on(replay.run(&session.recorded, vec![given])).pop(),
        };
        let model = config.window.model.clone().or(session.document.model());
        let price = model.and_then(|model| config.models.price(&model));
        let run = run.unwrap_or_default();
        let ladder = if job.2 { name.clone() } else { "no compaction".to_owned() };
        Ok(Replayed::of(session, ladder, replay.ladder().budget().window(), run, price))
    })?;
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

/// One session under one ladder, as JSON gives it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Replayed {
    session: String,
    ladder: String,
    window: u64,
    recall: f64,
    cost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dollars: Option<f64>,
    totals: Totals,
    run: Run,
}

impl Replayed {
    fn of(session: &Loaded, ladder: String, window: u64, run: Run, price: Option<Price>) -> Self {
        let totals = run.totals();
        Self {
            session: session.name.clone(),
            ladder,
            window,
            recall: totals.recall(),
            cost: totals.cost(),
            dollars: price.map(|price| totals.dollars(&price)),
            totals,
            run,
        }
    }
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
        text.push_str(&format!("{}\n\n{}\n", styled(HEAD, &head), style::lines(&table(runs))));
        for replayed in runs {
            for skipped in &replayed.run.skipped {
                text.push_str(&format!("passed over: {}\n", shown(skipped)));
            }
        }
        text.push('\n');
    }
    let notes = "cached: what the request before began with as well. recall: of what the session goes on to use, what \
                 is still there after a compaction. docs/recall.md says what it does not see.";
    text.push_str(&format!("{}\n", styled(DIM, &style::wrapped(notes, 0))));
    text
}

/// A column for each ladder: there are more figures than ladders.
fn table(runs: &[Replayed]) -> comfy_table::Table {
    let name = |replayed: &Replayed| {
        let path = std::path::Path::new(&replayed.ladder);
        shown(path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy())
    };
    let names: Vec<String> = runs.iter().map(name).collect();
    let header: Vec<&str> = std::iter::once("").chain(names.iter().map(String::as_str)).collect();
    let numeric: Vec<usize> = (1..header.len()).collect();
    let mut table = style::table(&header, &numeric);
    let mut row = |name: &str, figure: &dyn Fn(&Replayed) -> String| {
        let row: Vec<String> =
            std::iter::once(name.to_owned()).chain(runs.iter().map(figure)).collect();
        table.add_row(row);
    };
    let share = |share: &Share| match share.kept_share() {
        Some(kept) => format!("{:.1} %", kept * 100.0),
        None => "-".to_owned(),
    };
    row("window", &|replayed| number(replayed.window));
    row("tokens sent", &|replayed| number(replayed.totals.sent));
    row("of these cached", &|replayed| style::share(replayed.totals.cached, replayed.totals.sent));
    match runs.iter().any(|replayed| replayed.dollars.is_some()) {
        true => row("US$", &|replayed| format!("{:.2}", replayed.dollars.unwrap_or_default())),
        false => row("cost, in tokens of input", &|replayed| number(replayed.cost as u64)),
    }
    row("largest request", &|replayed| number(replayed.totals.peak));
    row("requests over the window", &|replayed| number(replayed.totals.over_window));
    row("compactions", &|replayed| number(replayed.totals.compactions));
    row("of these above target", &|replayed| number(replayed.totals.misses));
    row("summaries", &|replayed| number(replayed.totals.summarizer_calls));
    row("tokens sent for them", &|replayed| number(replayed.totals.summarizer_input));
    row("recall", &|replayed| share(&replayed.totals.recall.all));
    row("  by use", &|replayed| share(&replayed.totals.recall.by_use));
    row("  said by people", &|replayed| share(&replayed.totals.recall.said_by_people));
    row("  in results", &|replayed| share(&replayed.totals.recall.in_results));
    if runs.iter().any(|replayed| replayed.totals.recall.all.reachable > 0) {
        row("  with the archive", &|replayed| match replayed.totals.recall.all.reachable_share() {
            Some(share) => format!("{:.1} %", share * 100.0),
            None => "-".to_owned(),
        });
    }
    row("milliseconds", &|replayed| format!("{:.0}", replayed.run.milliseconds));
    table
}
