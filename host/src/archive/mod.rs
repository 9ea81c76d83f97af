//! What compactions gave up, kept so that it can be given back: byte for byte as a conversation, or as
//! the text of one message.
//!
//! An archive is a folder with a file of JSON lines for each session. Lines are only ever added, and are
//! on the disk before a compaction counts as archived. Messages are named by their content, so that
//! each is there once, and a compaction says which of them stood where: restoring goes back
//! one compaction after the other, whatever was said since.
//!
//! ```
//! use brute_host::archive::{Archive, ArchiveOptions, Compacted};
//! use brute_host::formats::Format;
//!
//! let folder = tempfile::tempdir()?;
//! let archive = Archive::at(folder.path(), ArchiveOptions::default());
//! let before = r#"[{"role":"user","content":"a long story"},{"role":"user","content":"go on"}]"#;
//! let after = r#"[{"role":"user","content":"a story"},{"role":"user","content":"go on"}]"#;
//! let (before_it, after_it) = (before.as_bytes(), after.as_bytes());
//! let compacted = Compacted::read(Format::OpenaiChat, before_it, after_it, None)?;
//! archive.session(&archive.name_for(&compacted)?)?.compacted(&compacted)?;
//!
//! // The conversation went on, and is given back with what is new.
//! let later = after.replace("]", r#",{"role":"assistant","content":"gladly"}]"#);
//! let restored = archive.restore(later.as_bytes(), None, None)?;
//! assert_eq!(restored.text, before.replace("]", r#",{"role":"assistant","content":"gladly"}]"#));
//! assert!(restored.is_exact());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod change;
mod digest;
mod error;
mod exchange;
mod find;
mod options;
mod original;
mod record;
mod restore;
mod session;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use digest::{Digest, is_handle};
pub use error::ArchiveError;
pub use find::Found;
pub use options::ArchiveOptions;
pub use original::Original;
pub use restore::{Damage, Flaw, Restored};
pub use session::{Compacted, Kept, Session};

use brute_core::Message;

use crate::formats::WireMessages;
use crate::lines;
use crate::truncation::{Lease, Swept, located, own};

const EXTENSION: &str = ".jsonl";

/// The longest name of a session, well below what file systems take.
const LONGEST_NAME: usize = 100;

/// A folder of sessions. The folder and its files are for their owner alone; a folder that is there
/// already keeps its permissions. Nothing is written before something is archived.
#[derive(Debug, Clone)]
pub struct Archive {
    folder: PathBuf,
    options: ArchiveOptions,
}

impl Archive {
    /// The archive that the configuration names, if it names one. A leading `~` is the home folder.
    pub fn new(options: ArchiveOptions) -> Option<Self> {
        let folder = options.folder.as_deref().filter(|folder| !folder.is_empty())?;
        Some(Self { folder: located(folder)?, options })
    }

    /// The archive in this folder, whatever the options say of one.
    pub fn at(folder: impl Into<PathBuf>, options: ArchiveOptions) -> Self {
        Self { folder: folder.into(), options }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps the file of the session of this name, if there is one, from every sweep.
    pub(crate) fn lease(&self, name: &str) -> io::Result<Option<Lease>> {
        let file = format!("{name}{EXTENSION}");
        let is_there = self.folder.join(&file).is_file();
        is_there.then(|| Lease::take(&self.folder, [&file])).transpose()
    }

    /// The session of this name, to add to.
    ///
    /// # Errors
    /// If no file can have the name.
    pub fn session(&self, name: &str) -> Result<Session, ArchiveError> {
        Ok(Session::new(self.path_of(name)?))
    }

    /// Removes sessions that were not added to for longer than `max-age`, and then those that were added
    /// to the longest time ago until the rest takes no more than `max-total`. The sessions that `live`
    /// names stay, whatever their age and size, and so do those of every [`Guard`](crate::guard::Guard) that lives, of
    /// other programs too, and one that somebody writes to at the moment.
    pub fn sweep(&self, now: SystemTime, live: &HashSet<String>) -> Swept {
        own::sweep(&self.folder, &self.rules(), now, &files(live))
    }

    /// Sweeps, if the folder was not swept for [`SWEEP_EVERY`](crate::truncation::SWEEP_EVERY).
    pub fn sweep_if_due(
        &self,
        now: SystemTime,
        live: impl FnOnce() -> HashSet<String>,
    ) -> Option<Swept> {
        own::sweep_if_due(&self.folder, &self.rules(), now, || files(&live()))
    }

    fn rules(&self) -> own::Rules {
        own::Rules {
            max_age: self.options.max_age.into(),
            max_total: self.options.max_total.0,
            is_own: |name| name_in(name).is_some() || name.ends_with(lines::TORN),
            is_unfinished: |name| name.starts_with(own::UNFINISHED),
            remove: |path| {
                let file = File::open(path)?;
                match file.try_lock() {
                    Err(TryLockError::WouldBlock) => return Ok(false),
                    Err(TryLockError::Error(error))
                        if error.kind() != io::ErrorKind::Unsupported =>
                    {
                        return Err(error);
                    }
                    _ => fs::remove_file(path)?,
                }
                Ok(true)
            },
        }
    }

    /// What the session of a guard's session of this name is called: what no file can be called is called by its hash.
    pub(crate) fn file_name(&self, name: &str) -> String {
        match self.path_of(name) {
            Ok(_) => name.to_owned(),
            Err(_) => Digest::of(name.as_bytes()).handle(),
        }
    }

    fn path_of(&self, name: &str) -> Result<PathBuf, ArchiveError> {
        let file = format!("{name}{EXTENSION}");
        match name_in(&file) {
            Some(_) => Ok(self.folder.join(file)),
            None => Err(ArchiveError::Name { name: name.into() }),
        }
    }

    /// The files of all sessions, those that were added to last first.
    fn paths(&self) -> Result<Vec<PathBuf>, ArchiveError> {
        let failed = |error: io::Error| ArchiveError::read(&self.folder, &error);
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            // Nothing was ever archived.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let is_session = entry.file_name().to_str().is_some_and(|name| name_in(name).is_some());
            let found = entry.metadata().ok().filter(|found| is_session && found.is_file());
            if let Some(found) = found {
                paths.push((found.modified().unwrap_or(SystemTime::UNIX_EPOCH), entry.path()));
            }
        }
        paths.sort_by(|a, b| b.cmp(a));
        Ok(paths.into_iter().map(|(_, path)| path).collect())
    }
}

/// What a model that has a shell is told, so that it gets `message` back: for
/// [`Compactor::retrieving`](crate::ladder::Compactor::retrieving). `options` are those that `brute` needs
/// to find the archive, if its configuration does not name it.
pub fn way_back(message: &Message, options: &str) -> String {
    format!("`brute restore {}{options}`", Digest::of_message(message).handle())
}

/// The session that a file of this name holds.
fn name_in(file: &str) -> Option<&str> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let name = file.strip_suffix(EXTENSION)?;
    let fits = (1..=LONGEST_NAME).contains(&name.len()) && !name.starts_with('.');
    (fits && name.bytes().all(allowed)).then_some(name)
}

fn files(sessions: &HashSet<String>) -> HashSet<String> {
    sessions.iter().map(|name| format!("{name}{EXTENSION}")).collect()
}

/// A name made of the messages up to the first that a user said.
fn name_of(wires: &WireMessages) -> String {
    let first = (0..wires.len()).find(|index| wires.is_user(*index)).unwrap_or(0);
    let mut hasher = blake3::Hasher::new();
    for index in 0..=first {
        hasher.update(wires.fingerprint(index).as_bytes());
    }
    Digest::from(hasher.finalize()).handle()
}

/// The fingerprints of all messages.
fn prints(wires: &WireMessages) -> Vec<Digest> {
    (0..wires.len()).map(|index| wires.fingerprint(index).into()).collect()
}
