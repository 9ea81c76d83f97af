//! What the agent remembers: a session under brute's guard, and the request that is made of it.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use brute_host::archive::{Archive, Digest};
use brute_host::config::{Config, Places, load, render};
use brute_host::core::{Conversation, Message, Part, Role};
use brute_host::formats::{Document, ReadOptions, Usage, WriteOptions};
use brute_host::guard::{EventLog, Guard, Policy, Session, Told};
use brute_host::ladder::Event;
use brute_host::layers::Layers;
use brute_host::session_log::SessionLog;
use serde_json::{Value, json};

use super::Options;
use super::tools::ARCHIVED;

const INSTRUCTIONS: &str =
    "You work on the files of a folder, with tools. Look before you answer, and be brief.";

/// What the model is told of a tool that was at work when the agent was stopped.
const STOPPED: &str =
    "The agent was stopped while this ran. It may have had its effect, or a part of it.";

/// How long the end may wait for what is still to be told and written down.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Where an agent keeps its things, in the working folder.
const FOLDER: &str = ".agent";

pub(super) struct Memory {
    guard: Guard,
    session: Session,
    /// The request around the messages: the model, the instructions, the tools.
    frame: Document,
    schemas: Option<String>,
    window: u64,
    archive: Option<Archive>,
}

impl Memory {
    /// From the options, and the `brute.toml` that holds in the working folder, to a session: a new one, or one
    /// that goes on.
    pub(super) fn open(options: &Options) -> Result<Self, Box<dyn Error>> {
        let own = options.folder.join(FOLDER);
        std::fs::create_dir_all(&own)?;
        let config = config(options, &own)?;
        let frame = json!({
            "model": options.model,
            "max_tokens": options.max_tokens,
            "messages": [{ "role": "system", "content": INSTRUCTIONS }],
            "tools": serde_json::from_str::<Value>(include_str!("tools.json"))?,
        });
        let frame = Document::read(frame.to_string(), &ReadOptions::default())?;

        // `Policy::of` alone would do, and have placeholders name the command `brute restore`. This agent's own tools
        // open the archive; so its ladder says how.
        let room = config.room(Some(&options.model))?;
        let ladder = config.compactor_in(room, &frame)?.retrieving(way_back);
        let policy = Policy::of(&config, Some(&options.model))?.with_compactor(ladder);

        let window = policy.budget().window();
        let guard = Guard::new(policy);
        guard.subscribe(EventLog::append(&own.join("events.jsonl"))?)?;
        guard.subscribe(tell)?;
        let session = session(&guard, options, &own)?;
        let archive = Archive::new(config.archive);
        Ok(Self { guard, session, schemas: frame.tools_text(), frame, window, archive })
    }

    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// The tool schemas as they are sent, which fill the window too.
    pub(super) fn schemas(&self) -> Option<&str> {
        self.schemas.as_deref()
    }

    pub(super) fn archive(&self) -> Option<&Archive> {
        self.archive.as_ref()
    }

    /// The request to send now. A message is written the same each time: a provider's prompt cache lives on that.
    pub(super) fn request(&self) -> Vec<u8> {
        self.session.read(|now| self.frame.write(now, &WriteOptions::default()).into_owned())
    }

    /// Answers the calls that were open when the agent was stopped, since no provider takes a conversation with an
    /// open one. Says whether it is for the model to speak next.
    pub(super) async fn settle(&self) -> Result<bool, Box<dyn Error>> {
        let open: Vec<_> = self.session.read(|now| {
            let places = now.outline().pending.into_iter();
            places.map(|at| now.messages()[at.message].parts()[at.part].clone()).collect()
        });
        for part in open {
            if let Part::ToolCall(call) = part {
                self.session.tool_result(&call.id, &call.name, STOPPED.into(), true).await?;
            }
        }
        let last = self.session.read(|now| now.messages().last().map(|message| message.role()));
        Ok(matches!(last, Some(Role::User | Role::Tool)))
    }

    /// Tells a person how full the window is, by the server's own count where it says one: how its tokens relate to
    /// those of brute's counter is learned from report to report.
    pub(super) fn report(&self, usage: Option<Usage>) {
        let mut line =
            format!("{} of {} tokens are full", self.session.size(self.schemas()), self.window);
        if let (Some(Usage { input, output }), Some(anchor)) = (usage, self.session.anchor()) {
            let ratio = anchor.ratio();
            line += &format!(" (the server counted {input} and {output}; ratio {ratio:.2})");
        }
        say(&line);
    }

    /// Waits until all that was said and that happened is on the disk.
    pub(super) async fn close(&self) -> Result<(), Box<dyn Error>> {
        let guard = self.guard.clone();
        tokio::task::spawn_blocking(move || guard.flush(LAST_WORDS)).await?;
        Ok(self.session.sync().await?)
    }
}

/// What `brute.toml` says, if there is one, and where the agent's things go that it says nothing about.
fn config(options: &Options, own: &Path) -> Result<Config, Box<dyn Error>> {
    let mut sources = Places::find(&options.folder, None).read(&options.folder)?;
    sources.set.extend(options.window.map(|size| format!("window.size = {size}")));
    let loaded = load(&sources, &Layers::built_in());
    if !loaded.diagnostics.is_empty() {
        say(render(&loaded.diagnostics, false).trim_end());
    }
    let mut config = loaded.config.ok_or("`brute.toml` cannot be gone by")?;
    let place = |name| Some(own.join(name).display().to_string());
    config.truncate.spill = config.truncate.spill.or(place("full"));
    config.archive.folder = config.archive.folder.or(place("archive"));
    if config.truncate.readable.is_empty() {
        // Where `read` can go: a result that is kept elsewhere is not promised to the model.
        config.truncate.readable = vec![options.folder.display().to_string()];
    }
    Ok(config)
}

/// The session that is to be gone on with, or a new one, with its log in the folder `own`.
fn session(guard: &Guard, options: &Options, own: &Path) -> Result<Session, Box<dyn Error>> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let name = options.resume.clone().unwrap_or_else(|| since.as_millis().to_string());
    let path = own.join("sessions").join(format!("{name}.jsonl"));
    if options.resume.is_some() && !path.exists() {
        return Err(format!("there is no session `{name}`: no `{}`", path.display()).into());
    }
    let opened = SessionLog::open(&path)?;
    if let Some(torn) = &opened.torn {
        say(&format!("the last message was not written to its end; `{}` has it", torn.display()));
    }
    say(&format!("session {name}"));
    let session = guard.logged(name, opened);
    if session.read(Conversation::is_empty) {
        session.push(Role::System, [Part::text(INSTRUCTIONS)])?;
    }
    Ok(session)
}

/// How the model gets a message back, which stands where it was.
fn way_back(message: &Message) -> Option<String> {
    Some(format!("`read` the path `{ARCHIVED}{}`", Digest::of_message(message).handle()))
}

/// What a person wants to know of what happens. The log of events has all of it.
fn tell(told: &Told) {
    match &*told.event {
        Event::Truncated { tool, before, after, .. } => {
            say(&format!("cut a result of `{tool}`, {before} bytes, to {after}"));
        }
        Event::LayerFailed { rung, error, .. } => say(&format!("rung `{rung}` failed: {error}")),
        Event::LayerEndFailed { rung, error, .. } => {
            say(&format!("rung `{rung}` did not end well: {error}"));
        }
        Event::NotArchived { error, .. } | Event::NotLogged { error, .. } => {
            say(&format!("not compacted: {error}"));
        }
        Event::NoWayBack { error } => say(&format!("cannot be undone as a whole: {error}")),
        Event::Compacted { before, after, outcome, .. } => {
            say(&format!("compacted, {before} tokens to {after}: {}", outcome.name()));
        }
        Event::CompactFailed { outcome, .. } => say(&format!("not compacted: {}", outcome.name())),
        _ => {}
    }
}

pub(super) fn say(line: &str) {
    eprintln!("agent: {line}");
}
