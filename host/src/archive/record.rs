//! The lines of an archive.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::SystemTime;

use brute_core::{Part, Role};
use serde::{Deserialize, Serialize};

use super::Digest;
use super::change::Change;
use super::exchange::Exchange;
use crate::formats::Format;

/// The version of the lines. A file that says a later one needs a later brute.
const VERSION: u32 = 1;

/// One line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(super) enum Record<'a> {
    /// The first line of each file. What it says of when it was made tells it from one that stood at the
    /// same place before.
    Session { version: u32, made: Option<Digest> },
    /// A message as it stood on the wire.
    Wire { digest: Digest, format: Format, json: Cow<'a, str> },
    /// A message of the model, of a program that has none on the wire.
    Message { digest: Digest, role: Role, parts: Cow<'a, [Part]> },
    /// A compaction, whose messages stand in lines before this.
    Compaction { change: Cow<'a, Change> },
    /// A compaction of a conversation that has no bytes on the wire, behind its messages as well.
    Exchange { exchange: Cow<'a, Exchange> },
}

impl Record<'_> {
    /// The first line of a new file.
    pub(super) fn first() -> Self {
        let now = format!("{:?} {}", SystemTime::now(), std::process::id());
        Self::Session { version: VERSION, made: Some(Digest::of(now.as_bytes())) }
    }

    /// Adds the line to `lines`.
    pub(super) fn write(&self, lines: &mut Vec<u8>) {
        // All keys are strings, and nothing refuses to be written: memory takes it.
        if serde_json::to_writer(&mut *lines, self).is_ok() {
            lines.push(b'\n');
        }
    }
}

/// What the lines of a file say, in order.
#[derive(Debug, Default)]
pub(super) struct Records<'a> {
    pub wires: HashMap<Digest, (Format, Cow<'a, str>)>,
    /// By the digests of all that they say: several may have one name.
    pub messages: HashMap<Digest, Said<'a>>,
    pub changes: Vec<Change>,
    pub exchanges: Vec<Exchange>,
    /// The numbers of lines that cannot be read, from 1.
    pub damaged: Vec<usize>,
    /// Whether the last line was never finished.
    pub is_torn: bool,
    /// The version of a file that this brute is too old for.
    pub newer: Option<u32>,
}

/// A message of the model.
#[derive(Debug)]
pub(super) struct Said<'a> {
    /// What it is named by.
    pub name: Digest,
    pub role: Role,
    pub parts: Cow<'a, [Part]>,
}

impl<'a> Records<'a> {
    /// Reads lines. What cannot be read is noted and passed over.
    pub(super) fn read(bytes: &'a [u8]) -> Self {
        let mut records = Self::default();
        for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            if !line.ends_with(b"\n") {
                records.is_torn = true;
                break;
            }
            match serde_json::from_slice(line) {
                Ok(record) => records.add(record),
                Err(_) => records.damaged.push(number),
            }
        }
        records
    }

    fn add(&mut self, record: Record<'a>) {
        match record {
            Record::Session { version, .. } if version > VERSION => self.newer = Some(version),
            Record::Session { .. } => {}
            Record::Wire { digest, format, json } => {
                self.wires.insert(digest, (format, json));
            }
            Record::Message { digest, role, parts } => {
                let said = Said { name: digest, role, parts };
                self.messages.insert(digest.with_all(&said.parts), said);
            }
            Record::Compaction { change } => self.changes.push(change.into_owned()),
            Record::Exchange { exchange } => self.exchanges.push(exchange.into_owned()),
        }
    }
}
