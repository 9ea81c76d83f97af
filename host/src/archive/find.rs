//! Finding one message by its handle.

use std::collections::BTreeMap;
use std::path::PathBuf;

use brute_core::{Message, MessageId, Part};

use super::change::Change;
use super::record::Records;
use super::restore::Opened;
use super::{Archive, ArchiveError, Digest, is_handle};
use crate::formats::messages_of;

/// A message that a compaction gave up or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub digest: Digest,
    /// What it says: the very text, if it is one text or one result. A message of several parts has them
    /// one after the other; one without words is given as its JSON.
    pub text: String,
    /// The message that the same compaction gave up or changed next.
    pub next: Option<Digest>,
    /// The file that it is in.
    pub path: PathBuf,
}

impl Archive {
    /// The message that a handle, or its beginning, names; only in `session`, if one is named.
    ///
    /// # Errors
    /// If it names none or several, or the archive cannot be read.
    pub fn find(&self, handle: &str, session: Option<&str>) -> Result<Found, ArchiveError> {
        if !is_handle(handle) {
            return Err(ArchiveError::NoHandle { handle: handle.into() });
        }
        let mut found: BTreeMap<Digest, Found> = BTreeMap::new();
        for path in self.paths_of(session)? {
            let opened = Opened::read(&path)?;
            let records = opened.records()?;
            for (digest, next) in named(&records, handle) {
                let text = || text_of(&records, digest);
                if !found.contains_key(&digest)
                    && let Some(text) = text()
                {
                    found.insert(digest, Found { digest, text, next, path: path.clone() });
                }
            }
        }
        match (found.len(), found.pop_first()) {
            (1, Some((_, found))) => Ok(found),
            (_, None) => {
                Err(ArchiveError::NoMessage { handle: handle.into(), folder: self.folder.clone() })
            }
            (_, Some((first, _))) => Err(ArchiveError::Ambiguous {
                handle: handle.into(),
                candidates: std::iter::once(first).chain(found.into_keys()).collect(),
            }),
        }
    }
}

/// The messages that a handle may mean, each with the one that went next.
fn named(records: &Records<'_>, handle: &str) -> Vec<(Digest, Option<Digest>)> {
    let is_meant = |digest: &Digest| digest.to_string().starts_with(handle);
    let of_changes = records.changes.iter().flat_map(|change| {
        let messages = change.handles.chunk_by(|(one, _), (other, _)| one == other);
        let mut handles = messages.filter_map(|message| Some(message.first()?.0)).peekable();
        std::iter::from_fn(move || Some((handles.next()?, handles.peek().copied())))
    });
    let alone = records.messages.values().map(|said| (said.name, None));
    of_changes.chain(alone).filter(|(digest, _)| is_meant(digest)).collect()
}

fn text_of(records: &Records<'_>, digest: Digest) -> Option<String> {
    if let Some(said) = records.messages.values().find(|said| said.name == digest) {
        let message = Message::new(MessageId(0), said.role, said.parts.to_vec());
        return Some(words(&message).unwrap_or_else(|| json_of(&said.parts)));
    }
    let stood = |change: &Change| {
        let of_it = |(handle, wire): &(Digest, Digest)| (*handle == digest).then_some(*wire);
        // Where it stood twice, it said the same.
        let first = change.handles.iter().position(|(handle, _)| *handle == digest)?;
        let wires: Vec<Digest> = change.handles[first..].iter().map_while(of_it).collect();
        let found = wires.iter().filter_map(|wire| records.wires.get(wire));
        let (formats, texts): (Vec<_>, Vec<&str>) =
            found.map(|(format, json)| (*format, &**json)).unzip();
        Some((*formats.first()?, texts.join("\n")))
    };
    let (format, json) = records.changes.iter().find_map(stood)?;
    let messages = messages_of(format, &json).unwrap_or_default();
    let message = messages.iter().find(|message| Digest::of_message(message) == digest);
    Some(message.and_then(words).unwrap_or(json))
}

/// What a message says; nothing, if it has no words.
fn words(message: &Message) -> Option<String> {
    let texts = message.parts().iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(format!("{} {}", call.name, call.arguments)),
        part => part.texts().next().map(str::to_owned),
    });
    let words = texts.collect::<Vec<_>>().join("\n\n");
    (!words.is_empty()).then_some(words)
}

/// For people: it is nowhere read again.
fn json_of(parts: &[Part]) -> String {
    serde_json::to_string(parts).unwrap_or_default()
}
