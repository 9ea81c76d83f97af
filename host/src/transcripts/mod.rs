//! Reading the session files of agents.
//!
//! A log is read as **the request that its agent would have sent next**, in the format of a provider that
//! has a place for all that is in it, so that [`Document`](crate::formats::Document) and all that follows
//! need know nothing of agents. That is what stood behind the log's own last compaction;
//! [`Options::whole`] gives all that the agent ever had in its context instead. What else the log tells
//! are facts beside the request: compactions, what the provider counted, and every record that is no
//! part of the conversation, with the reason.
//!
//! What an input is, its content says, never its name. Records are read one after the other and forgotten:
//! memory goes to the largest record and to the conversation.
//!
//! ```
//! use brute_host::formats::{Document, ReadOptions};
//! use brute_host::transcripts::{self, Input, Kind, Options};
//!
//! let log = r#"{"type":"session","id":"1","cwd":"/tmp"}
//! {"type":"message","message":{"role":"user","content":"hello"}}"#;
//! let Input::Transcript(transcript) = transcripts::read(log.as_bytes(), &Options::default())? else {
//!     panic!("an agent's log");
//! };
//! assert_eq!(transcript.kind(), Kind::Pi);
//! let document = Document::read(transcript.request(), &ReadOptions::default())?;
//! assert_eq!(document.wire_len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assemble;
mod bookkeeping;
mod entry;
mod error;
mod facts;
mod input;
mod log;
mod readers;
mod render;
mod sniff;

pub use error::TranscriptError;
pub use facts::{Compaction, Left, Problem, Report, Skipped, Took, Trigger};
pub use input::{read, read_named};

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::log::{Log, Wanted};
use self::render::Beside;
use crate::formats::Format;

/// Whose log it is, and in which of its forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A session log of this program, as [`SessionLog`](crate::session_log::SessionLog) writes it.
    BruteSession,
    /// A session of Claude Code, JSON lines.
    ClaudeCode,
    /// What Claude Code or its SDK prints with `stream-json`.
    ClaudeStreamJson,
    /// A rollout of Codex, JSON lines.
    CodexRollout,
    /// Notifications of Codex's app server, JSON lines.
    CodexAppServer,
    /// An export of opencode.
    Opencode,
    /// A session of pi, JSON lines.
    Pi,
    /// Events of OpenHands, or the output of its evaluation.
    Openhands,
    /// Events of OpenHands' agent SDK.
    OpenhandsSdk,
    /// A session of Gemini CLI.
    GeminiCli,
    /// The API history of a task of Cline.
    Cline,
    /// A log of Inspect.
    InspectEval,
    /// A trajectory in the Agent Trajectory Interchange Format.
    Atif,
    /// Messages as LangChain dumps them.
    Langchain,
    /// The chat history of aider, Markdown.
    Aider,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 15] = [
        Self::BruteSession,
        Self::ClaudeCode,
        Self::ClaudeStreamJson,
        Self::CodexRollout,
        Self::CodexAppServer,
        Self::Opencode,
        Self::Pi,
        Self::Openhands,
        Self::OpenhandsSdk,
        Self::GeminiCli,
        Self::Cline,
        Self::InspectEval,
        Self::Atif,
        Self::Langchain,
        Self::Aider,
    ];

    /// The name, in kebab-case.
    pub fn name(self) -> &'static str {
        match self {
            Self::BruteSession => "brute-session",
            Self::ClaudeCode => "claude-code",
            Self::ClaudeStreamJson => "claude-stream-json",
            Self::CodexRollout => "codex-rollout",
            Self::CodexAppServer => "codex-app-server",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
            Self::Openhands => "openhands",
            Self::OpenhandsSdk => "openhands-sdk",
            Self::GeminiCli => "gemini-cli",
            Self::Cline => "cline",
            Self::InspectEval => "inspect-eval",
            Self::Atif => "atif",
            Self::Langchain => "langchain",
            Self::Aider => "aider",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no kind's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no agent's log; known are {}", Kind::ALL.map(|kind| format!("`{kind}`")).join(", "))]
pub struct UnknownKind {
    /// The name.
    pub name: String,
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| UnknownKind { name: name.to_owned() })
    }
}

/// How to read an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Whether all that ever was in the agent's context is wanted, and not only what still is.
    pub whole: bool,
    /// What the input is; told by its content if not given.
    pub kind: Option<Kind>,
    /// Which conversation, counted from 0, where a log holds several.
    pub pick: Option<usize>,
}

/// What is asked of a log.
#[derive(Debug, Clone, Copy)]
struct Ask<'a> {
    whole: bool,
    kind: Option<Kind>,
    wanted: Wanted<'a>,
}

impl Options {
    fn ask(&self) -> Ask<'static> {
        let wanted = self.pick.map_or(Wanted::Only, Wanted::At);
        Ask { whole: self.whole, kind: self.kind, wanted }
    }
}

/// The first of these names, for people.
fn some(names: &[String]) -> String {
    const MOST: usize = 8;
    let shown = names.iter().take(MOST).map(|name| format!("`{name}`"));
    let more = if names.len() > MOST { ", …" } else { "" };
    shown.collect::<Vec<_>>().join(", ") + more
}

/// What an input turned out to be.
#[derive(Debug)]
pub enum Input {
    /// The log of an agent.
    Transcript(Box<Transcript>),
    /// Nothing that bears an agent's marks, byte for byte as it came.
    Other(Vec<u8>),
}

/// The log of an agent: the request that follows from it, and what else it tells.
#[derive(Debug)]
pub struct Transcript {
    kind: Kind,
    format: Format,
    request: String,
    model: Option<String>,
    records: usize,
    reports: Vec<Report>,
    compactions: Vec<Compaction>,
    problems: Vec<Problem>,
    skipped: Vec<Skipped>,
}

impl Transcript {
    /// What it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The format of the request.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The request, as JSON. It holds no facts, only what a model reads.
    pub fn request(&self) -> &str {
        &self.request
    }

    /// The request, without a copy; nothing is left of it in here.
    pub fn take_request(&mut self) -> String {
        std::mem::take(&mut self.request)
    }

    /// The model that replied last, if the log names it.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// How many records the input has.
    pub fn records(&self) -> usize {
        self.records
    }

    /// What the provider counted, for each reply in the request that the log has a count for.
    pub fn reports(&self) -> &[Report] {
        &self.reports
    }

    /// The agent's own compactions, oldest first.
    pub fn compactions(&self) -> &[Compaction] {
        &self.compactions
    }

    /// What did not fit together, in the order of the log, with what was made of it.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The records that are no part of the conversation, the most frequent kind first.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    fn of(kind: Kind, mut log: Log<'_>, ask: Ask<'_>) -> Result<Self, TranscriptError> {
        let count = log.names().len();
        match ask.wanted {
            Wanted::Only if count > 1 => {
                let names = some(log.names());
                return Err(TranscriptError::Several { kind, count, names });
            }
            Wanted::At(pick) if pick >= count.max(1) => {
                return Err(TranscriptError::NoSuchPick { kind, pick, count: count.max(1) });
            }
            Wanted::Named(name) if !log.is_found() || count == 0 => {
                let (name, names) = (name.to_owned(), some(log.names()));
                return Err(TranscriptError::NoSuchName { kind, name, names });
            }
            _ => {}
        }
        if let Some(why) = log.unreadable.take() {
            return Err(TranscriptError::Unreadable { kind, why });
        }
        let (messages, replaced) = assemble::messages(&mut log, ask.whole);
        let first = messages.iter().find(|message| message.is_of_dialogue());
        let Some(first) = first.map(|message| message.entry) else {
            let (skipped, problems) = (log.take_skipped(), log.problems);
            return Err(TranscriptError::NoMessages { kind, skipped, problems });
        };
        let (system, tools) = (log.system.take(), log.tools.take());
        let (model, format) = (log.model.clone(), log.format);
        let request = render::request(messages, Beside { model, system, tools, format });
        let last = log.cuts.len().saturating_sub(1);
        let compactions = log.cuts.iter().zip(replaced).enumerate();
        let compactions = compactions.map(|(place, (cut, taken))| {
            let is_in = ask.whole || place == last || cut.at >= first;
            // By what it took, so that a log with many compactions is walked once.
            let entries = taken.entries.iter().filter(|_| ask.whole);
            let messages = entries.flat_map(|entry| request.messages_from(*entry)).collect();
            let placeholder = serde_json::from_str(cut.placeholder).unwrap_or_default();
            Compaction {
                at: is_in.then(|| request.message_of(cut.at)),
                line: cut.line,
                tokens_before: cut.tokens_before,
                replaced: taken.messages,
                trigger: cut.trigger,
                left: cut.left(),
                took: Took { messages, results: cut.cleared.clone(), placeholder },
            }
        });
        let compactions = compactions.collect();
        log.problems.sort_by_key(|problem| problem.line);
        Ok(Self {
            kind,
            format: request.format,
            request: request.text,
            reports: request.reports,
            model: log.model.take(),
            records: log.records,
            compactions,
            skipped: log.take_skipped(),
            problems: log.problems,
        })
    }
}

#[cfg(test)]
mod tests;
