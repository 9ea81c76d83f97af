//! Replays of sessions that the command line names: loading them, and running many at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use brute_core::TokenCounter;
use brute_host::archive::Archive;
use brute_host::config::{Amount, Config, RoomError};
use brute_host::formats::Document;
use brute_host::replay::{Recorded, Replay};
use brute_host::summarizers::Extract;
use brute_host::system::words_of;
use brute_host::truncation::{TruncateOptions, Truncator};

use crate::args::{self, Global};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Progress;
use crate::session;

/// Sessions, and how they are gone through.
#[derive(Debug, clap::Args)]
pub(crate) struct Replaying {
    /// Recorded sessions: conversations or logs of agents, or folders of them
    #[arg(value_name = "SESSION")]
    pub(crate) sessions: Vec<PathBuf>,

    /// The model, which chooses the counter and prices; overrides brute.toml and the sessions
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Let the configured summarizer write the summaries, which may cost money; otherwise they are
    /// picked from the text by `extract`
    #[arg(long)]
    pub(crate) with_summarizer: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A session that was read.
pub(crate) struct Loaded {
    pub(crate) name: String,
    pub(crate) document: Document,
    pub(crate) recorded: Recorded,
}

/// Reads the sessions that `paths` name, folders file by file. A file in a folder that is no session is told of and
/// passed over; one that was named is a failure.
pub(crate) fn sessions(
    global: &Global,
    config: &Config,
    paths: &[PathBuf],
) -> Result<Vec<Loaded>, Failure> {
    let mut loaded = Vec::new();
    for path in paths {
        if !path.is_dir() {
            loaded.push(load(global, config, path.clone())?);
            continue;
        }
        let entries =
            std::fs::read_dir(path).map_err(|error| session::cannot_read(path, &error))?;
        let mut files: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|file| file.extension().is_some_and(|kind| kind == "json" || kind == "jsonl"));
        files.sort();
        for file in files {
            match load(global, config, file) {
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

fn load(global: &Global, config: &Config, file: PathBuf) -> Result<Loaded, Failure> {
    let name = session::name(&file);
    let args =
        args::Session { file: file.clone(), format: None, whole: true, pick: None, repair: true };
    let session = session::read(global, config, &args)?;
    let recorded = Recorded::new(session.document.conversation().clone());
    Ok(Loaded { name, document: session.document, recorded })
}

/// The configuration as the command line wants it for replays.
pub(crate) fn over(mut config: Config, args: &Replaying) -> Config {
    if let Some(model) = &args.model {
        config.window.model = Some(model.clone());
    }
    if !args.with_summarizer {
        config.summarizer = None;
        config.fallback = Vec::new();
    }
    config
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
    Ok(Replay::new(compactor, level_one).archived(Archive::new(config.archive).is_some()))
}

/// The size of a session as its requests have it, by the counter that its replay goes by.
pub(crate) fn size(config: &Config, session: &Loaded) -> u64 {
    let counter = config.token_counter(session.document.model().as_deref());
    session.recorded.conversation().clone().measure(&*counter as &dyn TokenCounter)
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
