//! From the command line and `brute.toml` to a compactor.

use std::path::Path;
use std::sync::Arc;

use brute_core::TokenCounter;
use brute_host::config::{self, Config, Diagnostic, Places, Room, RoomError, Severity, Sources};
use brute_host::formats::Document;
use brute_host::ladder::{Budget, BudgetError, Compaction, Compactor};
use brute_host::layers::Layers;
use brute_host::tokens::{self, Tiktoken};

use crate::args::{self, Global};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Progress;

/// What a conversation is counted by.
pub(crate) struct Counting {
    /// The model, as it was named.
    pub(crate) model: Option<String>,
    /// The size of its window, if it is known.
    pub(crate) window: Option<u64>,
    /// What counts.
    pub(crate) counter: Arc<dyn TokenCounter>,
    /// What of each request is no messages, in tokens.
    pub(crate) overhead: u64,
}

/// What a conversation is compacted by.
pub(crate) struct Sizing {
    /// The model, as it was named.
    pub(crate) model: Option<String>,
    /// The ladder and the room.
    pub(crate) compactor: Compactor,
    /// Whether the trigger has no say.
    now: bool,
}

/// What the files and `--set` say, and all that is wrong with it.
pub(crate) fn read(global: &Global) -> Result<(Sources, config::Loaded), Failure> {
    let cwd = std::env::current_dir()
        .map_err(|error| Failure::configuration(format!("no current folder: {error}")))?;
    let mut sources = match global.no_config {
        true => Sources::default(),
        false => places(global, &cwd).read(&cwd).map_err(unreadable)?,
    };
    sources.set.clone_from(&global.set);
    for folder in &global.trust_plugins {
        sources.trust.add_folder(folder).map_err(|error| {
            let folder = folder.display();
            Failure::configuration(format!("cannot trust the plugins in `{folder}`: {error}"))
        })?;
    }
    let loaded = config::load(&sources, &Layers::built_in());
    Ok((sources, loaded))
}

/// Where the files are that say what is configured.
pub(crate) fn places(global: &Global, cwd: &Path) -> Places {
    Places::find(cwd, global.config.as_deref())
}

/// The layers that there are: those that ship, and those of plugins that are loaded.
pub(crate) fn layers(global: &Global) -> Result<Layers, Failure> {
    let (_, loaded) = read(global)?;
    if !global.quiet {
        show(&loaded.diagnostics);
    }
    Ok(loaded.layers)
}

fn unreadable(errors: Vec<config::ReadError>) -> Failure {
    let each: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Failure::configuration(each.join("\n"))
}

/// The configuration in force.
///
/// Warnings are shown unless standard error is for a report that a program reads.
pub(crate) fn load(global: &Global, words: bool) -> Result<Config, Failure> {
    load_with_layers(global, words).map(|(config, _)| config)
}

/// The configuration in force, and the layers that it could be made of.
pub(crate) fn load_with_layers(global: &Global, words: bool) -> Result<(Config, Layers), Failure> {
    let (_, loaded) = read(global)?;
    let Some(config) = loaded.config else {
        show(&loaded.diagnostics);
        return Err(Failure { exit: Exit::Configuration, message: String::new() });
    };
    if words && !global.quiet {
        show(&loaded.diagnostics);
    }
    Ok((config, loaded.layers))
}

/// Shows what is wrong with the configuration on standard error.
pub(crate) fn show(diagnostics: &[Diagnostic]) {
    if !diagnostics.is_empty() {
        output::say(&config::render(diagnostics, true));
    }
}

/// Whether any of them is an error.
pub(crate) fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}

/// The room in a session with the model `named`, as the command line wants it.
fn room(config: &Config, args: &args::Room, named: Option<&str>) -> Result<Room, Failure> {
    let mut config = config.clone();
    if let Some(model) = &args.model {
        // The model decides, unless the window is said as well.
        config.window.model = Some(model.clone());
        config.window.size = None;
    }
    config.window.size = args.window.or(config.window.size);
    let room = match (config.room(named), args.to) {
        // Who says where to compact to needs no window.
        (Err(RoomError::NoWindow), Some(to)) => {
            config.window.size = Some(to.saturating_add(1));
            config.room(None)
        }
        (room, _) => room,
    };
    room.map_err(|error| {
        let hint = match error {
            RoomError::NoWindow => " (or say `--window 128k` or `--model NAME`)",
            RoomError::UnknownModel { .. } => " (or say `--window 128k`)",
            RoomError::Budget(BudgetError::NoRoom { .. }) => {
                " (it is what stays free for the reply: give less, such as `--set window.reserve=0.1`)"
            }
            RoomError::Budget(_) => "",
        };
        Failure::configuration(format!("{error}{hint}"))
    })
}

/// The model of a session that names `named`.
fn model(config: &Config, args: &args::Room, named: Option<String>) -> Option<String> {
    args.model.clone().or_else(|| config.window.model.clone()).or(named)
}

/// What `document` is counted by. A window that is not known is no failure here.
pub(crate) fn counting(config: &Config, args: &args::Room, document: &Document) -> Counting {
    let named = document.model();
    let (window, kind) = match room(config, args, named.as_deref()) {
        Ok(room) => (Some(room.size), room.counter),
        Err(_) => (args.window, config.window.counter.unwrap_or_default()),
    };
    let counter = tokens::counter(kind);
    let overhead = overhead(document, &*counter);
    Counting { model: model(config, args, named), window, counter, overhead }
}

/// What `document` is compacted by.
pub(crate) fn sizing(
    config: &Config,
    args: &args::Room,
    document: &Document,
) -> Result<Sizing, Failure> {
    let named = document.model();
    let room = room(config, args, named.as_deref())?;
    let counter = tokens::counter(room.counter);
    let overhead = overhead(document, &*counter);
    let budget = match args.to {
        None => room.budget,
        Some(to) => Budget::new(room.size, 0, to.saturating_add(1), to).map_err(|_| {
            let window = room.size;
            let message = format!("`--to {to}` must be below the window ({window} tokens)");
            Failure::configuration(message)
        })?,
    };
    let mut compactor = Compactor::new(Arc::clone(&counter), budget.with_overhead(overhead))
        .keeping(config.keep.tools.iter().cloned());
    if let Some(options) = &config.summarizer {
        compactor = compactor.summarizer(options.build(counter).map_err(Failure::configuration)?);
    }
    let compactor = room.rungs.into_iter().fold(compactor, Compactor::rung);
    Ok(Sizing { model: model(config, args, named), compactor, now: args.to.is_some() })
}

/// What of each request is no messages: tool schemas, and what primes the reply.
fn overhead(document: &Document, counter: &dyn TokenCounter) -> u64 {
    let schemas = document.tools_text().map_or(0, |text| counter.count(&text));
    u64::from(schemas) + u64::from(Tiktoken::REPLY_PRIMING)
}

/// Compacts `document`, showing progress to whoever watches.
pub(crate) fn run(
    global: &Global,
    sizing: &Sizing,
    document: &Document,
) -> Result<Compaction, Failure> {
    let progress = Progress::new(global.quiet);
    progress.say("counting");
    let shown = progress.clone();
    let compactor = sizing.compactor.clone().on(move |event| shown.follow(event));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure { exit: Exit::Bug, message: format!("no runtime: {error}") })?;
    let conversation = document.conversation().clone();
    let done = runtime.block_on(async {
        match sizing.now {
            true => compactor.compact_now(conversation).await,
            false => compactor.compact(conversation).await,
        }
    });
    // A layer that overran its time may still be at work: nobody waits for it.
    runtime.shutdown_background();
    progress.finish();
    Ok(done)
}

/// Where a new configuration goes.
pub(crate) fn project_file() -> &'static Path {
    Path::new(config::FILE_NAME)
}
