//! Adding to the archive of one session.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brute_core::{Conversation, Message};

use super::change::Change;
use super::exchange::Exchange;
use super::record::{Record, Records};
use super::{Archive, ArchiveError, Digest, name_of};
use crate::formats::{Document, Format, WireMessages};
use crate::lines::{Lines, Others, folder_of};
use crate::truncation::own;

/// The archive of one session, to add to. Several values, also of several programs, may add to the same
/// session: they wait for each other.
#[derive(Debug)]
pub struct Session {
    path: PathBuf,
    seen: Seen,
    /// How many files stood at this place while this value added to it.
    files: u64,
}

/// What is known to be in the file.
#[derive(Debug, Default)]
struct Seen {
    /// Its first line.
    first: Vec<u8>,
    end: u64,
    messages: HashSet<Digest>,
    changes: Vec<Change>,
}

/// A compaction, as the bytes that it began and ended with.
#[derive(Debug)]
pub struct Compacted {
    format: Format,
    before: WireMessages,
    after: WireMessages,
    /// The handle of each message of the model that went or was changed, and its place on the wire: one after the other,
    /// if it stands in several.
    handles: Vec<(Digest, usize)>,
}

/// What was archived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The file.
    pub path: PathBuf,
    /// Messages that were added; the others were there.
    pub messages: usize,
    /// Bytes that were added.
    pub bytes: usize,
    /// Where the beginning of a line was moved that a killed process left in the file.
    pub torn: Option<PathBuf>,
}

impl Compacted {
    /// What became of the conversation `before`; of conversation `pick`, counted from 0, where the input
    /// holds several.
    ///
    /// # Errors
    /// If either side is no conversation.
    pub fn read(
        format: Format,
        before: &[u8],
        after: &[u8],
        pick: Option<usize>,
    ) -> Result<Self, ArchiveError> {
        let (before, after) = (WireMessages::read(before, pick)?, WireMessages::read(after, pick)?);
        Ok(Self { format, before, after, handles: Vec::new() })
    }

    /// The messages of `document` that went or were changed: each can then be found by its handle.
    #[must_use]
    pub fn removed(self, document: &Document, removed: &[Arc<Message>]) -> Self {
        let places = |message: &Arc<Message>| {
            let handle = Digest::of_message(message);
            document.wire_indices(message.id()).into_iter().map(move |wire| (handle, wire))
        };
        Self { handles: removed.iter().flat_map(places).collect(), ..self }
    }
}

impl Archive {
    /// What to call the session of a conversation that has no name of its own: what it was called when
    /// it was compacted before, else a name made of its first messages.
    ///
    /// # Errors
    /// If the archive cannot be read.
    pub fn name_for(&self, compacted: &Compacted) -> Result<String, ArchiveError> {
        let wires = &compacted.before;
        let name = name_of(wires);
        // Only what was compacted may have lost its beginning.
        if self.path_of(&name)?.exists() || wires.marks() == 0 {
            return Ok(name);
        }
        Ok(self.session_of(wires)?.unwrap_or(name))
    }
}

impl Session {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, seen: Seen::default(), files: 0 }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.path.file_stem().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// How many files stood at this place, one after the other, while this value added to it: a sweep, or a person, may
    /// have removed one with all that was in it.
    pub(crate) fn files(&self) -> u64 {
        self.files
    }

    /// Archives what a compaction gave up, and the way back. When this returns, it is on the disk. Where
    /// nothing changed, nothing is written.
    ///
    /// # Errors
    /// If the file system refuses. Then the compaction is not archived, and should not be used by who wants
    /// every one to be.
    pub fn compacted(&mut self, compacted: &Compacted) -> Result<Kept, ArchiveError> {
        let Compacted { format, before, after, handles } = compacted;
        let Some((mut change, mut gone)) = Change::between(*format, before, after) else {
            return Ok(self.nothing());
        };
        let digest = |index: usize| Digest::of(before.raw(index).as_bytes());
        let wires: HashMap<Digest, &str> =
            gone.iter().map(|index| (digest(*index), before.raw(*index))).collect();
        let undone = change.undo(after, |digest| wires.get(&digest).copied());
        if undone.as_deref() != Ok(before.text()) {
            return Err(ArchiveError::NoWayBack);
        }
        // A message of the model may have changed where its message on the wire looks the same.
        gone.extend(handles.iter().map(|(_, wire)| *wire).filter(|wire| *wire < before.len()));
        gone.sort_unstable();
        gone.dedup();
        change.handles = handles.iter().map(|(handle, wire)| (*handle, digest(*wire))).collect();
        self.add(|seen, lines| {
            if seen.changes.iter().any(|known| known.is_same(&change)) {
                return 0;
            }
            let mut messages = 0;
            for index in gone {
                if seen.messages.insert(digest(index)) {
                    messages += 1;
                    let json = Cow::Borrowed(before.raw(index));
                    Record::Wire { digest: digest(index), format: *format, json }.write(lines);
                }
            }
            Record::Compaction { change: Cow::Borrowed(&change) }.write(lines);
            seen.changes.push(change);
            messages
        })
    }

    /// Archives messages of the model, each to be found by its handle: for programs that have no bytes of
    /// a provider, and take what [`Event::Compacted`] says was `removed`. Where they stood is not said by that: see
    /// [`exchanged`](Self::exchanged).
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use brute_host::core::Approximate;
    /// use brute_host::archive::{Archive, ArchiveOptions};
    /// use brute_host::ladder::{Budget, Compactor, Event};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let archive = Archive::at(folder.path(), ArchiveOptions::default());
    /// let session = Arc::new(Mutex::new(archive.session("my-session")?));
    /// let compactor = Compactor::new(Arc::new(Approximate), Budget::new(128_000, 8_192, 90_000, 50_000)?)
    ///     .on(move |event| {
    ///         if let (Event::Compacted { removed, .. }, Ok(mut session)) = (event, session.lock())
    ///             && let Err(error) = session.keep(removed)
    ///         {
    ///             eprintln!("not archived: {error}");
    ///         }
    ///     });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Event::Compacted`]: crate::ladder::Event::Compacted
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn keep(&mut self, removed: &[Arc<Message>]) -> Result<Kept, ArchiveError> {
        if removed.is_empty() {
            return Ok(self.nothing());
        }
        self.add(|seen, lines| seen.keep(removed, lines))
    }

    /// Archives what became of a conversation that has no bytes of a provider: the messages that went, and where they
    /// stood, so that [`Archive::original`] gives all of it back. When this returns, it is on the disk. Where nothing
    /// changed, nothing is written.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn exchanged(
        &mut self,
        before: &Conversation,
        after: &Conversation,
    ) -> Result<Kept, ArchiveError> {
        let Some(exchange) = Exchange::between(before, after) else {
            return Ok(self.nothing());
        };
        let went = exchange.places().filter_map(|place| before.messages().get(place));
        self.add(|seen, lines| {
            let messages = seen.keep(went, lines);
            Record::Exchange { exchange: Cow::Borrowed(&exchange) }.write(lines);
            messages
        })
    }

    fn nothing(&self) -> Kept {
        Kept { path: self.path.clone(), ..Kept::default() }
    }

    /// Adds the lines that `write` makes, which knows what is there and says how many messages it adds.
    fn add(
        &mut self,
        write: impl FnOnce(&mut Seen, &mut Vec<u8>) -> usize,
    ) -> Result<Kept, ArchiveError> {
        let failed = |error: io::Error| ArchiveError::write(&self.path, &error);
        let folder = folder_of(&self.path);
        own::make_folder(folder).map_err(|error| ArchiveError::write(folder, &error))?;
        let mut file = Lines::open(&self.path, Others::Wait).map_err(failed)?;
        let torn = file.settle().map_err(failed)?;
        // If this fails half-way, the file is read anew the next time.
        let mut seen = std::mem::take(&mut self.seen);
        let first = std::mem::take(&mut seen.first);
        seen.catch_up(&file, &self.path, &first)?;
        self.files += u64::from(seen.first != first);
        let mut lines = Vec::new();
        if file.end() == 0 {
            Record::first().write(&mut lines);
            seen.first = lines[..lines.len().saturating_sub(1)].to_vec();
        }
        let messages = write(&mut seen, &mut lines);
        if !lines.is_empty() {
            file.append_to_disk(&lines).map_err(failed)?;
        }
        let path = self.path.clone();
        self.seen = Seen { end: file.end(), ..seen };
        Ok(Kept { path, messages, bytes: lines.len(), torn })
    }
}

impl Seen {
    /// Writes those of `messages` that are not there yet, and says how many.
    fn keep<'a>(
        &mut self,
        messages: impl IntoIterator<Item = &'a Arc<Message>>,
        lines: &mut Vec<u8>,
    ) -> usize {
        let mut added = 0;
        for message in messages {
            let digest = Digest::of_message(message);
            if self.messages.insert(digest.with_all(message.parts())) {
                added += 1;
                let (role, parts) = (message.role(), Cow::Borrowed(message.parts()));
                Record::Message { digest, role, parts }.write(lines);
            }
        }
        added
    }

    /// Reads what was added since by others, to the file whose first line was `before`.
    fn catch_up(&mut self, file: &Lines, path: &Path, before: &[u8]) -> Result<(), ArchiveError> {
        let failed = |error: io::Error| ArchiveError::read(path, &error);
        self.first = file.first_line().map_err(failed)?;
        if self.first.is_empty() || self.first != before || file.end() < self.end {
            *self = Self { first: std::mem::take(&mut self.first), ..Self::default() };
        }
        let bytes = file.read_from(self.end).map_err(failed)?;
        let records = Records::read(&bytes);
        if let Some(version) = records.newer {
            return Err(ArchiveError::Newer { path: path.into(), version });
        }
        self.messages.extend(records.wires.keys().chain(records.messages.keys()));
        self.changes.extend(records.changes);
        self.end = file.end();
        Ok(())
    }
}
