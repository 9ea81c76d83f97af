//! Replays of sessions that the command line names: loading them, and running many at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use brute_host::archive::Archive;
use brute_host::config::{Amount, Config, RoomError};
use brute_host::formats::Document;
use brute_host::models::Price;
use brute_host::replay::{Recorded, Replay, Reproduced, Run, Totals};
use brute_host::shown::shown;
use brute_host::summarizers::Extract;
use brute_host::system::words_of;
use brute_host::transcripts::Compaction;
use brute_host::truncation::{TruncateOptions, Truncator};

use serde::Serialize;

use crate::args::{self, Global, Pick};
use crate::exit::{Exit, Failure};
use crate::grid::Grid;
use crate::output;
use crate::progress::Progress;
use crate::style::{self, number};
use crate::{page, session, setup};

/// Sessions, and how they are gone through.
#[derive(Debug, clap::Args)]
pub(crate) struct Replaying {
    /// Recorded sessions: conversations or logs of agents, or folders of them
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<PathBuf>,

    /// Which conversation, if the one file that is named holds several: its place (from 0), or the
    /// name that the file has for it
    #[arg(long, value_name = "N|NAME")]
    pub(crate) pick: Option<Pick>,

    /// The model, which chooses the counter and prices; overrides brute.toml and the sessions
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Let the configured summarizer write the summaries, which may cost money; otherwise they are
    /// picked from the text by `extract`
    #[arg(long)]
    pub(crate) with_summarizer: bool,

    /// Measure requests by what the session's provider reported, as far as its log has that
    #[arg(long)]
    pub(crate) anchored: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a page with charts, which shows what became of each message, to this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// A session that was read.
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) document: Document,
    pub(crate) recorded: Recorded,
    /// The compactions that its own agent made, by its log.
    pub(crate) own_compactions: Vec<Compaction>,
}

/// Reads the sessions that are named, folders file by file. A file in a folder that is no session is told of and
/// passed over; one that was named is a failure.
pub(crate) fn sessions(
    global: &Global,
    config: &Config,
    args: &Replaying,
) -> Result<Vec<Loaded>, Failure> {
    let paths = &args.sessions;
    if args.pick.is_some() && !matches!(paths.as_slice(), [file] if !file.is_dir()) {
        return Err(Failure::configuration(
            "`--pick` chooses in one file: name that file, and no other",
        ));
    }
    let mut loaded = Vec::new();
    for path in paths {
        if !path.is_dir() {
            loaded.push(load(global, config, path.clone(), args.pick.clone())?);
            continue;
        }
        let entries =
            std::fs::read_dir(path).map_err(|error| session::cannot_read(path, &error))?;
        let mut files: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|kind| kind == "json" || kind == "jsonl"));
        files.sort();
        for file in files {
            match load(global, config, file, None) {
                Ok(session) => loaded.push(session),
                Err(failure) if !global.quiet => {
                    output::say(&format!("passed over: {}", failure.message));
                }
                Err(_) => {}
            }
        }
    }
    match loaded.is_empty() {
        true => {
            Err(Failure::input("there is no session to replay: name files, or folders of them"))
        }
        false => Ok(loaded),
    }
}

fn load(
    global: &Global,
    config: &Config,
    file: PathBuf,
    pick: Option<Pick>,
) -> Result<Loaded, Failure> {
    let name = session::name(&file);
    let args = args::Session { file, format: None, whole: true, pick, repair: true };
    let session = session::read(global, config, &args)?;
    let own = session.own();
    let compactions = session.transcript.as_ref().map_or(&[][..], |log| log.compactions());
    // By messages of the conversation, as everything else that a replay tells.
    let own_compactions = (compactions.iter().zip(&own.compactions))
        .map(|(told, own)| Compaction { at: told.at.map(|_| own.at), ..told.clone() })
        .collect();
    let recorded = Recorded::new(session.document.conversation().clone()).with_own(own);
    Ok(Loaded { name, document: session.document, recorded, own_compactions })
}

/// One session under one ladder, as JSON gives it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Replayed {
    pub(crate) session: String,
    pub(crate) ladder: String,
    pub(crate) window: u64,
    pub(crate) recall: f64,
    pub(crate) cost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dollars: Option<f64>,
    pub(crate) totals: Totals,
    pub(crate) run: Run,
    /// The compactions that the session's own agent made, by its log: in the column that shows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) own_compactions: Vec<Compaction>,
    /// What the log says of the size before them, and what is found here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reproduced: Vec<Reproduced>,
}

impl Replayed {
    pub(crate) fn of(
        session: &Loaded,
        ladder: String,
        window: u64,
        run: Run,
        price: Option<Price>,
    ) -> Self {
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
            own_compactions: Vec::new(),
            reproduced: Vec::new(),
        }
    }

    /// Its figures, each with its name, but for how long it took: the same for each replay of the same.
    pub(crate) fn figures(&self) -> Vec<(String, String)> {
        let rows = figures(&[self]).rows.into_iter();
        rows.filter_map(|row| <[String; 2]>::try_from(row).ok())
            .map(|[name, figure]| (name.trim().to_owned(), figure))
            .collect()
    }
}

/// A ladder in few letters: the name of its file.
pub(crate) fn stem(ladder: &str) -> String {
    let path = std::path::Path::new(ladder);
    shown(path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy())
}

/// Dollars where there is a price, else tokens of input.
pub(crate) fn cost_words(dollars: Option<f64>, cost: f64) -> String {
    dollars.map_or_else(|| number(cost as u64), |dollars| format!("{dollars:.2}"))
}

/// The figures of `runs`, a column for each: there are more figures than ladders.
pub(crate) fn figures(runs: &[&Replayed]) -> Grid {
    let name = |replayed: &&Replayed| stem(&replayed.ladder);
    let mut grid = Grid::new(std::iter::once(String::new()).chain(runs.iter().map(name)), 0);
    let mut row = |name: &str, figure: &dyn Fn(&Replayed) -> String| {
        let figures = runs.iter().map(|replayed| figure(replayed));
        grid.rows.push(std::iter::once(name.to_owned()).chain(figures).collect());
    };
    let share = |share: Option<f64>| match share {
        Some(share) => format!("{:.1} %", share * 100.0),
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
    let recall = |replayed: &Replayed| replayed.totals.recall;
    row("recall", &|replayed| share(recall(replayed).all.kept_share()));
    row("  by use", &|replayed| share(recall(replayed).by_use.kept_share()));
    row("  said by people", &|replayed| share(recall(replayed).said_by_people.kept_share()));
    row("  in results", &|replayed| share(recall(replayed).in_results.kept_share()));
    if runs.iter().any(|replayed| recall(replayed).all.reachable > 0) {
        row("  with the archive", &|replayed| share(recall(replayed).all.reachable_share()));
    }
    grid
}

/// The configuration as the command line wants it for replays, and its text, that of `file` if one was named.
pub(crate) fn config(
    global: &Global,
    args: &Replaying,
    file: Option<&Path>,
) -> Result<(Config, String), Failure> {
    let (mut config, layers) = setup::load_for(global, !args.json, !args.with_summarizer)?;
    let text = page::ladder(global, file, &config, &layers)?;
    if let Some(model) = &args.model {
        config.window.model = Some(model.clone());
    }
    if !args.with_summarizer {
        config.summarizer = None;
        config.fallback = Vec::new();
    }
    Ok((config, text))
}

/// The replay of the ladder in `config` for `session`, in a window of `window` tokens if it is said.
pub(crate) fn replay(
    config: &Config,
    args: &Replaying,
    session: &Loaded,
    window: Option<u64>,
) -> Result<Replay, Failure> {
    let mut config = config.clone();
    config.window.size = window.or(config.window.size);
    let named = session.document.model();
    let room = config.room(named.as_deref()).map_err(|error| {
        Failure::configuration(format!("{}: {error}; {}", session.name, error.advice()))
    })?;
    let compactor = config.compactor_in(room, &session.document).map_err(Failure::configuration)?;
    let budget = compactor.budget().with_max_bytes(None);
    let mut compactor = compactor.with_budget(budget);
    if !args.with_summarizer {
        let counter = Arc::clone(compactor.counter());
        compactor = compactor.summarizer(Arc::new(Extract::new(counter)));
    }
    // What is cut is in the record.
    let options = TruncateOptions { spill: None, ..config.truncate.clone() };
    let level_one = Truncator::new(options).map_err(Failure::configuration)?;
    let replay = Replay::new(compactor, level_one);
    let replay = replay.archived(Archive::new(config.archive).is_some()).anchored(args.anchored);
    // Only a page shows what became of each message.
    Ok(if args.html.is_some() { replay.traced() } else { replay })
}

/// What the model of a session costs, if that is known.
pub(crate) fn price(config: &Config, session: &Loaded) -> Option<Price> {
    config.models.price(&setup::model(config, session.document.model())?)
}

/// The size of a session as its requests have it, by the counter that its replay goes by.
pub(crate) fn size(config: &Config, session: &Loaded) -> u64 {
    let counter = config.token_counter(session.document.model().as_deref());
    session.recorded.conversation().clone().measure(&*counter)
}

/// The window that leaves `room` tokens for requests, what `config` reserves for the reply taken off; a larger one where
/// its amounts leave no room in that.
pub(crate) fn window(config: &Config, session: &Loaded, room: u64) -> u64 {
    let window = match config.window.reserve {
        Amount::Tokens(reserve) => room.saturating_add(reserve),
        // A reserve of all is refused before.
        Amount::Share(share) => (room as f64 / (1.0 - share).max(0.01)).round() as u64,
    };
    let mut config = config.clone();
    config.window.size = Some(window);
    match config.room(session.document.model().as_deref()) {
        Err(RoomError::TooSmall { least, .. }) => least,
        _ => window,
    }
}

/// Does `jobs` on all cores, each with a runtime of its own, and gives back what they came to in their order.
pub(crate) fn in_parallel<J: Sync, T: Send>(
    quiet: bool,
    what: &str,
    jobs: &[J],
    work: impl Fn(&tokio::runtime::Runtime, &J) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let progress = Progress::new(quiet);
    let (next, done, begun) = (AtomicUsize::new(0), AtomicUsize::new(0), Instant::now());
    let results: Mutex<Vec<Option<Result<T, Failure>>>> =
        Mutex::new(jobs.iter().map(|_| None).collect());
    let worker = || -> Result<(), std::io::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        while let Some((at, job)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(at).map(|job| (at, job))
        } {
            let result = work(&runtime, job);
            if let Ok(mut results) = results.lock() {
                results[at] = Some(result);
            }
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            let left = begun.elapsed().mul_f64((jobs.len() - done) as f64 / done as f64);
            let left = left.as_secs_f64().ceil();
            progress.tell(format!("{what}: {done} of {}, about {left} s left", jobs.len()));
        }
        // A layer that overran its time may still be at work: nobody waits for it.
        runtime.shutdown_background();
        Ok(())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
    let ended: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
    });
    progress.finish();
    for worker in ended {
        worker
            .map_err(|_| bug("a replay panicked".to_owned()))?
            .map_err(|error| bug(format!("no runtime: {}", words_of(&error))))?;
    }
    let results = results.into_inner().map_err(|_| bug("a replay panicked".to_owned()))?;
    results.into_iter().flatten().collect()
}

fn bug(message: String) -> Failure {
    Failure { exit: Exit::Bug, message }
}
