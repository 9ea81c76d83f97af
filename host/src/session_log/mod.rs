//! A conversation on disk, so that it goes on after its process is gone.
//!
//! A session log is a file of JSON lines that are only ever added to; it is never rewritten and never renamed. The
//! first line says what the file is. Each message is a line, and so is each compaction, with what went and what came
//! in its place: a line is there or it is not, so that a compaction never is there by half, and a summary never stands
//! beside what it replaced.
//!
//! **What is safe when.** A line that was written outlives the process, however it ends: [`Session::push`] returns after
//! that. What was written since the last time is brought to the disk before the model is asked, by
//! [`Session::before_call`] and [`Session::fit`], so that a model never saw what a power failure takes back; and
//! whenever [`Session::sync`] is called. What could not be written is not in the conversation either.
//!
//! **Who may write.** One at a time: a log is locked as long as it is open, and a second one that opens it is told so.
//! Anybody may [`read`](SessionLog::read) it meanwhile. A file system without locks leaves that to who uses it. What
//! removes or cuts an open log all the same is noticed before the next line is added and before the model is asked:
//! [`LogError::Gone`] and [`LogError::Changed`].
//!
//! **What it takes.** A file descriptor for as long as it is open: who has very many sessions at once raises the limit
//! of the process (`ulimit -n`).
//!
//! **Versions.** Each change of the form has a new number, a new field too, and is refused by an older brute: who passed
//! over what he does not know would go on with another conversation.
//!
//! ```
//! use brute_host::core::{Part, Role};
//! use brute_host::config::Config;
//! use brute_host::guard::{Guard, Policy};
//! use brute_host::session_log::SessionLog;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("demo.jsonl");
//! let guard = Guard::new(Policy::of(&Config::default(), Some("gpt-4o"))?);
//! let session = guard.logged("demo", SessionLog::open(&path)?);
//! session.push(Role::User, [Part::text("Why does the build fail?")])?;
//! drop(session); // However it ends.
//!
//! let opened = SessionLog::open(&path)?;
//! assert_eq!(opened.recorded.conversation.len(), 1);
//! let session = guard.logged("demo", opened);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Session::push`]: crate::guard::Session::push
//! [`Session::before_call`]: crate::guard::Session::before_call
//! [`Session::fit`]: crate::guard::Session::fit
//! [`Session::sync`]: crate::guard::Session::sync

mod change;
mod error;
mod record;
#[cfg(test)]
mod tests;

pub(crate) use change::Change;
pub use error::LogError;
pub(crate) use record::{FORMAT, Record, Said, VERSION};

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use brute_core::{Conversation, Message};

use self::record::header;
use crate::lines::{Harm, Lines, Others, folder_of};
use crate::truncation::own;

/// The log of one conversation, open to be added to. [`Guard::logged`](crate::guard::Guard::logged) makes a session
/// of it.
#[derive(Debug)]
pub struct SessionLog {
    path: PathBuf,
    lines: Lines,
    /// How far the file is on the disk for certain.
    synced: u64,
    /// Why nothing can be added any more.
    failed: Option<LogError>,
}

/// A log that was opened, and what was found in it.
#[derive(Debug)]
pub struct Opened {
    /// The log.
    pub log: SessionLog,
    /// What it said.
    pub recorded: Recorded,
    /// Where the beginning of a last line was moved that a killed process had not finished.
    pub torn: Option<PathBuf>,
}

/// What a log says.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    /// The conversation, as it was left.
    pub conversation: Conversation,
    /// How often it was compacted.
    pub compactions: usize,
    /// Whether a line followed that was not finished.
    pub is_torn: bool,
}

/// How far a log is to be brought to the disk.
#[derive(Debug)]
pub(crate) struct Unsynced {
    file: Arc<File>,
    end: u64,
}

impl SessionLog {
    /// Opens the log at `path` to go on with it, or makes it, for its owner alone. Reads all of it: a thread that may
    /// wait for a disk is the place for that.
    ///
    /// # Errors
    /// If another one has it open, if the file is something else or of another version, if a line in it cannot be read,
    /// or if the file system refuses. The file is then as it was.
    pub fn open(path: &Path) -> Result<Opened, LogError> {
        let failed = |error: io::Error| LogError::open(path, &error);
        let folder = folder_of(path);
        own::make_folder(folder).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => failed(error),
            _ => LogError::folder(path, folder, &error),
        })?;
        let mut lines = Lines::open(path, Others::Refuse).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => LogError::InUse { path: path.into() },
            _ => failed(error),
        })?;
        let bytes = lines.read_from(0).map_err(|error| LogError::read(path, &error))?;
        let recorded = record::read(path, &bytes)?;
        let torn = lines.settle().map_err(failed)?;
        if lines.end() == 0 {
            lines.append(&header()).map_err(failed)?;
        }
        // Nobody knows what those before brought to the disk.
        let log = Self { path: path.into(), lines, synced: 0, failed: None };
        Ok(Opened { log, recorded, torn })
    }

    /// What the log at `path` says now, whether or not another one has it open.
    ///
    /// # Errors
    /// If it is no log, of another version, or cannot be read.
    pub fn read(path: &Path) -> Result<Recorded, LogError> {
        let bytes = std::fs::read(path).map_err(|error| LogError::read(path, &error))?;
        record::read(path, &bytes)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A message was appended.
    pub(crate) fn pushed(&mut self, message: &Message) -> Result<(), LogError> {
        self.add(&[Record::Message(Said::of(message))])
    }

    /// A compaction made `after` of `before`. One that gave nothing is none: ids that it left out are free still.
    pub(crate) fn compacted(
        &mut self,
        before: &Conversation,
        after: &Conversation,
    ) -> Result<(), LogError> {
        let change = Change::between(before, after);
        if change.is_empty() {
            return Ok(());
        }
        self.add(&[Record::Compaction(change)])
    }

    /// Something else made `after` of `before`: it was only appended to, or replaced.
    pub(crate) fn turned(
        &mut self,
        before: &Conversation,
        after: &Conversation,
    ) -> Result<(), LogError> {
        if let Some(new) = change::appended(before, after) {
            let new: Vec<_> =
                new.iter().map(|message| Record::Message(Said::of(message))).collect();
            return self.add(&new);
        }
        self.add(&[Record::Replacement(Change::between(before, after))])
    }

    fn add(&mut self, records: &[Record<'_>]) -> Result<(), LogError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.check()?;
        let mut lines = Vec::new();
        for record in records {
            record.write(&mut lines);
        }
        self.lines.append(&lines).map_err(|error| LogError::write(&self.path, &error))
    }

    /// Whether what was written is still there, as far as a look at the file's name and length tells.
    fn check(&self) -> Result<(), LogError> {
        let path = || self.path.clone();
        match self.lines.harm().map_err(|error| LogError::read(&self.path, &error))? {
            None => Ok(()),
            Some(Harm::Gone) => Err(LogError::Gone { path: path() }),
            Some(Harm::Changed { length }) => {
                Err(LogError::Changed { path: path(), length, written: self.lines.end() })
            }
        }
    }

    /// What is not on the disk yet, if something is not.
    pub(crate) fn unsynced(&self) -> Result<Option<Unsynced>, LogError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.check()?;
        let end = self.lines.end();
        Ok((end > self.synced).then(|| Unsynced { file: Arc::clone(self.lines.file()), end }))
    }

    /// Takes note of how bringing `what` to the disk ended. After a failure nobody knows what is on it, and the system
    /// says it only once: so the log is not added to any more.
    pub(crate) fn note_synced(
        &mut self,
        what: &Unsynced,
        ended: io::Result<()>,
    ) -> Result<(), LogError> {
        match ended {
            Ok(()) => self.synced = self.synced.max(what.end),
            Err(error) => self.failed = Some(LogError::sync(&self.path, &error)),
        }
        self.failed.clone().map_or(Ok(()), Err)
    }
}

impl Unsynced {
    /// Brings it to the disk, and waits until it is there.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
