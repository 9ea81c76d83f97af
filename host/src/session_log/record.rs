//! The lines of a session log.

use std::borrow::Cow;
use std::path::Path;

use brute_core::{Conversation, Message, MessageId, Part, Role};
use serde::{Deserialize, Serialize};

use super::change::Change;
use super::{LogError, Recorded};

/// What the first line calls the file.
pub(crate) const FORMAT: &str = "brute session log";

/// The version of the lines.
pub(crate) const VERSION: u64 = 1;

/// The first line. What else a later version says in it does not matter here.
#[derive(Serialize, Deserialize)]
struct Header<'a> {
    format: Cow<'a, str>,
    version: u64,
}

/// Any other line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(crate) enum Record<'a> {
    /// A message was appended.
    Message(Said<'a>),
    /// The conversation was compacted.
    Compaction(Change<'a>),
    /// The agent put another conversation in its place.
    Replacement(Change<'a>),
}

/// A message.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Said<'a> {
    pub id: u64,
    pub role: Role,
    pub parts: Cow<'a, [Part]>,
}

/// A message, and the line that says it.
#[derive(Debug)]
pub(super) struct Held {
    pub message: Message,
    pub line: usize,
}

/// The first line of each file.
pub(super) fn header() -> Vec<u8> {
    let mut line = Vec::new();
    put(&Header { format: FORMAT.into(), version: VERSION }, &mut line);
    line
}

fn put(line: &impl Serialize, lines: &mut Vec<u8>) {
    // All keys are strings, and nothing refuses to be written: memory takes it.
    if serde_json::to_writer(&mut *lines, line).is_ok() {
        lines.push(b'\n');
    }
}

impl Record<'_> {
    /// Adds the line to `lines`.
    pub(super) fn write(&self, lines: &mut Vec<u8>) {
        put(self, lines);
    }
}

impl<'a> Said<'a> {
    pub(super) fn of(message: &'a Message) -> Self {
        let parts = Cow::Borrowed(message.parts());
        Self { id: message.id().0, role: message.role(), parts }
    }

    pub(super) fn into_message(self) -> Message {
        Message::new(MessageId(self.id), self.role, self.parts.into_owned())
    }
}

/// What the lines of the file at `path` say together.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Recorded, LogError> {
    let whole = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    let (whole, torn) = bytes.split_at(whole);
    let is_torn = !torn.is_empty();
    let mut lines = (1..).zip(whole.split_inclusive(|byte| *byte == b'\n'));
    let Some((_, first)) = lines.next() else {
        // Whoever began the file was killed before its first line was whole, or it is somebody else's.
        return match header().starts_with(torn) {
            true => Ok(Recorded { is_torn, ..Recorded::default() }),
            false => Err(LogError::Foreign { path: path.into() }),
        };
    };
    check_header(path, first)?;
    let mut history = History::default();
    for (line, bytes) in lines {
        let taken = serde_json::from_slice(bytes).map_err(|error| without_place(&error));
        let taken = taken.and_then(|record| history.take(record, line));
        taken.map_err(|reason| LogError::Line { path: path.into(), line, reason })?;
    }
    let History { messages, next_id, compactions } = history;
    let lines: Vec<_> = messages.iter().map(|held| held.line).collect();
    let messages = messages.into_iter().map(|held| held.message);
    let conversation = Conversation::new(messages).map_err(|invalid| {
        let of = |index: usize| lines.get(index).copied().unwrap_or(1);
        let found = invalid.violations.iter().min_by_key(|found| of(found.message()));
        let line = found.map_or(1, |found| of(found.message()));
        let reason = found.map_or_else(|| invalid.to_string(), ToString::to_string);
        LogError::Line { path: path.into(), line, reason }
    })?;
    let conversation = conversation.with_next_id(MessageId(next_id));
    Ok(Recorded { conversation, compactions, is_torn })
}

fn check_header(path: &Path, line: &[u8]) -> Result<(), LogError> {
    match serde_json::from_slice(line) {
        Ok(Header { format, version }) if format == FORMAT => match version {
            VERSION => Ok(()),
            version => Err(LogError::Version { path: path.into(), version }),
        },
        _ => Err(LogError::Foreign { path: path.into() }),
    }
}

/// What is wrong with a line. Its number is not one: each is read by itself.
fn without_place(error: &serde_json::Error) -> String {
    let words = error.to_string();
    let words = words.rsplit_once(" at line ").map_or(&*words, |(words, _)| words);
    match error.column() {
        0 => words.to_owned(),
        column => format!("{words} (column {column})"),
    }
}

/// What the lines so far came to.
#[derive(Default)]
struct History {
    messages: Vec<Held>,
    next_id: u64,
    compactions: usize,
}

impl History {
    fn take(&mut self, record: Record<'_>, line: usize) -> Result<(), String> {
        match record {
            Record::Message(said) if said.id < self.next_id => {
                return Err(format!("the id {} is taken", said.id));
            }
            Record::Message(said) => {
                self.next_id = said.id.saturating_add(1);
                self.messages.push(Held { message: said.into_message(), line });
            }
            Record::Compaction(change) => {
                self.next_id = change.make(&mut self.messages, line)?;
                self.compactions += 1;
            }
            Record::Replacement(change) => self.next_id = change.make(&mut self.messages, line)?,
        }
        Ok(())
    }
}
