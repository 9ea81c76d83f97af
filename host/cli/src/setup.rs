//! From the command line and `brute.toml` to a compactor.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use brute_core::TokenCounter;
use brute_host::archive::{Archive, way_back};
use brute_host::config::{
    self, Amount, Config, Diagnostic, Places, Room, RoomError, Severity, Sources,
};
use brute_host::formats::Document;
use brute_host::ladder::{Compaction, Compactor};
use brute_host::layers::{Layers, nearest};
use brute_host::plugins::{Plugins, TRUST_VARIABLE};
use brute_host::shown::shown;
use brute_host::system::words_of;
use brute_host::tokens::CounterKind;

use crate::args::{self, Global};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::{Progress, Warning};
use crate::style::{WARN, number, styled};
use crate::warnings;

/// How long an interrupted command waits for what it began to stop.
const LAST_MOMENT: Duration = Duration::from_millis(500);

/// The layer that asks for summaries.
const SUMMARIZE: &str = "summarize";

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
    /// The most bytes of a request on the wire, if there is a limit.
    pub(crate) max_bytes: Option<u64>,
}

/// What a conversation is compacted by.
pub(crate) struct Sizing {
    /// The model, as it was named.
    pub(crate) model: Option<String>,
    /// The ladder and the room.
    pub(crate) compactor: Compactor,
    /// What counts, before it is scaled to the model.
    pub(crate) kind: CounterKind,
    /// Tokens of the model's provider for each of those, as far as is known of the model.
    pub(crate) ratio: f64,
    /// Whether the trigger has no say.
    now: bool,
}

impl Sizing {
    /// The same, with summaries that dwell on `focus`.
    pub(crate) fn focusing(mut self, focus: Option<&str>) -> Self {
        if let Some(focus) = focus {
            self.compactor = self.compactor.focusing(focus);
        }
        self
    }
}

/// A compaction, and what it went by.
pub(crate) struct Ran {
    /// The model, as it was named.
    pub(crate) model: Option<String>,
    /// What counts.
    pub(crate) counter: Arc<dyn TokenCounter>,
    /// What came of it.
    pub(crate) done: Compaction,
    /// What the rungs warned of.
    pub(crate) warned: Vec<Warning>,
}

/// What a command says that runs where there is no folder any more.
pub(crate) fn no_current_folder(error: std::io::Error) -> Failure {
    Failure::configuration(format!("no current folder: {}", words_of(&error)))
}

/// What the files and `--set` say, and all that is wrong with it.
pub(crate) fn read(global: &Global) -> Result<(Sources, config::Loaded), Failure> {
    read_with(global, false)
}

/// The same, where the command has a summarizer of its own.
fn read_with(global: &Global, own_summarizer: bool) -> Result<(Sources, config::Loaded), Failure> {
    let cwd = std::env::current_dir().map_err(no_current_folder)?;
    let mut places = places(global, &cwd);
    if global.no_config {
        // Whom the user trusts is no configuration.
        places = Places { trust: places.trust, ..Places::default() };
    }
    let mut sources =
        places.read(&cwd).map_err(|errors| Failure::configuration(errors.to_string()))?;
    sources.set.clone_from(&global.set);
    sources.own_summarizer = own_summarizer;
    sources.known_only = global.known_only;
    let variable = std::env::var_os(TRUST_VARIABLE).unwrap_or_default();
    let named: Vec<PathBuf> =
        std::env::split_paths(&variable).filter(|folder| !folder.as_os_str().is_empty()).collect();
    // A relative one would hold in every folder that its user goes to, whoever made it.
    if let Some(folder) = named.iter().find(|folder| folder.is_relative()) {
        let folder = shown(folder.display());
        let message = format!("`{TRUST_VARIABLE}` names `{folder}`, which is no absolute path");
        return Err(Failure::configuration(message));
    }
    // Set long ago, and in a file that nobody looks at: that is no reason to refuse all work.
    let mut stale = Vec::new();
    for folder in &named {
        if let Err(error) = sources.trust.add_folder(folder) {
            let (folder, why) = (folder.display(), words_of(&error));
            stale.push(Diagnostic {
                severity: Severity::Warning,
                message: format!("`{TRUST_VARIABLE}` names `{folder}`: {why}"),
                help: None,
                key: String::new(),
                place: None,
            });
        }
    }
    for folder in &global.trust_plugins {
        sources.trust.add_folder(folder).map_err(|error| {
            let (folder, why) = (shown(folder.display()), words_of(&error));
            Failure::configuration(format!("cannot trust the plugins in `{folder}`: {why}"))
        })?;
    }
    let mut loaded = config::load(&sources, &Layers::built_in());
    loaded.diagnostics.splice(0..0, stale);
    Ok((sources, loaded))
}

/// Where the files are that say what is configured.
pub(crate) fn places(global: &Global, cwd: &Path) -> Places {
    Places::find(cwd, global.config.as_deref())
}

/// The layers that there are: those that ship, and those of plugins that are loaded.
pub(crate) fn layers(global: &Global) -> Result<Layers, Failure> {
    layers_and_plugins(global).map(|(layers, _)| layers)
}

/// The layers that there are, and the plugins that were looked for.
pub(crate) fn layers_and_plugins(global: &Global) -> Result<(Layers, Plugins), Failure> {
    let (_, loaded) = read(global)?;
    if !global.quiet {
        show(&loaded.diagnostics);
    }
    Ok((loaded.layers, loaded.plugins))
}

/// The configuration in force.
///
/// Warnings are shown unless standard error is for a report that a program reads.
pub(crate) fn load(global: &Global, words: bool) -> Result<Config, Failure> {
    load_with_layers(global, words).map(|(config, _)| config)
}

/// The same for a run that may have a summarizer of its own, the repetition of a recorded one for instance.
pub(crate) fn load_for(
    global: &Global,
    words: bool,
    own_summarizer: bool,
) -> Result<(Config, Layers), Failure> {
    in_force(global, words, read_with(global, own_summarizer)?.1)
}

/// The configuration in force, and the layers that it could be made of.
pub(crate) fn load_with_layers(global: &Global, words: bool) -> Result<(Config, Layers), Failure> {
    in_force(global, words, read(global)?.1)
}

fn in_force(
    global: &Global,
    words: bool,
    loaded: config::Loaded,
) -> Result<(Config, Layers), Failure> {
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

/// `config` as the command line wants the room.
pub(crate) fn over(mut config: Config, args: &args::Room) -> Config {
    if let Some(model) = &args.model {
        // The model decides, unless the window is said as well.
        config.window.model = Some(model.clone());
        config.window.size = None;
    }
    config.window.size = args.window.or(config.window.size);
    config
}

/// The room in a session with the model `named`.
fn room(config: &Config, to: Option<u64>, named: Option<&str>) -> Result<Room, Failure> {
    let configured = config.room(named);
    let Some(to) = to else { return configured.map_err(|error| no_room(&error)) };
    let mut config = config.clone();
    // Who says where to compact to needs no window, and asks for no share of it.
    match config.size(named) {
        Ok(window) if to >= window => {
            let window = number(window);
            let message = format!("`--to {to}` must be below the window ({window} tokens)");
            return Err(Failure::configuration(message));
        }
        Ok(_) => {}
        Err(RoomError::NoWindow) => config.window.size = Some(to.saturating_add(1)),
        Err(error) => return Err(no_room(&error)),
    }
    config.window.reserve = Amount::Tokens(0);
    config.trigger.compact_at = Amount::Tokens(to.saturating_add(1));
    config.trigger.compact_to = Amount::Tokens(to);
    let mut room = config.room(named).map_err(|error| no_room(&error))?;
    if let Ok(configured) = configured {
        // A size that is said in tokens says nothing about bytes.
        room.budget = room.budget.with_bytes_of(&configured.budget);
    }
    Ok(room)
}

fn no_room(error: &RoomError) -> Failure {
    let hint = match error {
        RoomError::NoWindow => " (or say `--window 128k` or `--model NAME`)".to_owned(),
        RoomError::UnknownModel { .. } => " (or say `--window 128k`)".to_owned(),
        RoomError::TooSmall { .. } | RoomError::Budget(_) => format!("; {}", error.advice()),
    };
    Failure::configuration(format!("{error}{hint}"))
}

/// The model of a session that names `named`.
pub(crate) fn model(config: &Config, named: Option<String>) -> Option<String> {
    config.window.model.clone().or(named)
}

/// What `document` is counted by. A window that is not known is no failure here.
pub(crate) fn counting(config: &Config, document: &Document) -> Counting {
    let named = document.model();
    let window = config.size(named.as_deref()).ok();
    let counter = config.token_counter(named.as_deref());
    let overhead = config::overhead(document, &*counter);
    let max_bytes = config.max_bytes(named.as_deref());
    Counting { model: model(config, named), window, counter, overhead, max_bytes }
}

/// What `document` is compacted by; at once, if it is said where `to`. The layers live in it, and nowhere else.
pub(crate) fn sizing(
    config: Config,
    to: Option<u64>,
    document: &Document,
) -> Result<Sizing, Failure> {
    let named = document.model();
    let room = room(&config, to, named.as_deref())?;
    let (kind, ratio) = (room.counter, room.ratio);
    let mut compactor = config.compactor_in(room, document).map_err(Failure::configuration)?;
    if Archive::new(config.archive.clone()).is_some() {
        compactor = compactor.retrieving(|message| Some(way_back(message, "")));
    }
    Ok(Sizing { model: model(&config, named), compactor, kind, ratio, now: to.is_some() })
}

/// What summaries are to dwell on. A ladder that writes none says that it has no use for it, unless it is to be
/// quiet: layers of plugins are not told.
pub(crate) fn focus<'a>(config: &Config, focus: Option<&'a str>, quiet: bool) -> Option<&'a str> {
    let summarizes =
        |rung: &config::ConfiguredRung| rung.layer == SUMMARIZE && rung.plugin.is_none();
    if focus.is_some() && !config.ladder.iter().any(summarizes) && !quiet {
        output::say(&format!(
            "{}: `--focus` has no use: no rung of this ladder is `{SUMMARIZE}`",
            styled(WARN, "note")
        ));
    }
    focus
}

/// Says on standard error which tools in `[keep]` there is no call of, since a slip there keeps nothing.
pub(crate) fn say_unknown_tools(config: &Config, document: &Document) {
    let messages = document.conversation().messages();
    let called: BTreeSet<&str> = (messages.iter())
        .flat_map(|message| message.calls().map(|(_, call)| &*call.name))
        .collect();
    // A tool that is offered may be called yet.
    let offered = document.tools_text().unwrap_or_default();
    let is_offered = |tool: &str| offered.contains(&format!("\"name\":\"{tool}\""));
    for tool in &config.keep.tools {
        if called.contains(tool.as_str()) || is_offered(tool) {
            continue;
        }
        let meant = nearest(tool, called.iter().copied());
        let meant = meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        let (tool, meant) = (shown(tool), shown(meant));
        output::say(&format!(
            "{}: `[keep]` names the tool `{tool}`, of which this session has no call{meant}",
            styled(WARN, "note")
        ));
    }
}

/// Compacts `document`, showing progress to whoever watches, and ends the layers. What the rungs warned of is also
/// shown, unless standard error is for a report that a program reads.
pub(crate) fn run(
    global: &Global,
    sizing: Sizing,
    document: &Document,
    words: bool,
) -> Result<Ran, Failure> {
    let progress = Progress::new(global.quiet);
    progress.say("counting");
    let shown = progress.clone();
    let Sizing { model, compactor, now, .. } = sizing;
    let compactor = compactor.on(move |event| shown.follow(event));
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
            Failure { exit: Exit::Bug, message: format!("no runtime: {}", words_of(&error)) }
        })?;
    let conversation = document.conversation().clone();
    let compacting = async {
        match now {
            true => compactor.compact_now(conversation).await,
            false => compactor.compact(conversation).await,
        }
    };
    let done = runtime.block_on(async {
        tokio::select! {
            done = compacting => Some(done),
            () = interrupted() => None,
        }
    });
    let counter = Arc::clone(compactor.counter());
    drop(compactor);
    let warned = progress.finish();
    if words && !global.quiet {
        for Warning { rung, message } in &warned {
            warnings::warn(&format!("[{rung}] {message}"));
        }
    }
    match done {
        Some(done) => {
            // A layer that overran its time may still be at work: nobody waits for it.
            runtime.shutdown_background();
            Ok(Ran { model, counter, done, warned })
        }
        None => {
            // Time to stop a summarizer that is at work. Nobody else would.
            runtime.shutdown_timeout(LAST_MOMENT);
            let message = "interrupted; nothing was written".to_owned();
            Err(Failure { exit: Exit::Interrupted, message })
        }
    }
}

/// Waits until somebody wants the command to end.
async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut ends) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = ends.recv() => {}
            }
            return;
        }
    }
    if tokio::signal::ctrl_c().await.is_err() {
        // There is no way to be told.
        std::future::pending::<()>().await;
    }
}

/// Where a new configuration goes.
pub(crate) fn project_file() -> &'static Path {
    Path::new(config::FILE_NAME)
}
