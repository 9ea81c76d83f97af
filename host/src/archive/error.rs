//! What can go wrong with an archive, in words that say where and what to do.

use std::io;
use std::path::{Path, PathBuf};

use super::Digest;
use crate::formats::ReadError;
use crate::system::words_of;

/// Why something could not be archived or found again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The file system refuses to write.
    #[error("cannot write to the archive at `{}`: {reason}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file system refuses to read.
    #[error("cannot read the archive at `{}`: {reason}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A name that no file gets.
    #[error(
        "`{name}` cannot name a session: take 1 to 100 letters, digits, `-`, `_` and `.`, and no `.` first"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// There is no session of this name.
    #[error("there is no session `{name}` in the archive at `{}`", folder.display())]
    NoSession {
        /// The name.
        name: String,
        /// The archive.
        folder: PathBuf,
    },
    /// A file that a later brute wrote.
    #[error("`{}` is of version {version}, which needs a later brute", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// What is no conversation.
    #[error(transparent)]
    Conversation(#[from] ReadError),
    /// What was left would not lead back to what was there.
    #[error("the compacted conversation does not lead back to its original; please report this")]
    NoWayBack,
    /// Compactions left texts in the conversation, and none of them is known.
    #[error(
        "the archive at `{}` knows none of the compactions that left texts in the conversation ({marks}): \
         was it another archive, or was the session removed for its age?", folder.display()
    )]
    Unknown {
        /// How many texts.
        marks: usize,
        /// The archive.
        folder: PathBuf,
    },
    /// A message that should be there is not.
    #[error("the archive at `{}` is damaged: it lacks the message {digest}", path.display())]
    Lacks {
        /// The file.
        path: PathBuf,
        /// The message.
        digest: Digest,
    },
    /// A text that is no handle.
    #[error(
        "`{handle}` is no handle: those have 12 digits, of which 6 will do, from 0 to 9 and a to f"
    )]
    NoHandle {
        /// The text.
        handle: String,
    },
    /// A handle that names nothing.
    #[error("no message of the archive at `{}` has the handle `{handle}`", folder.display())]
    NoMessage {
        /// The handle.
        handle: String,
        /// The archive.
        folder: PathBuf,
    },
    /// A handle that names several messages.
    #[error("`{handle}` names several messages; say which: {}", list(.candidates))]
    Ambiguous {
        /// The handle.
        handle: String,
        /// What it may mean.
        candidates: Vec<Digest>,
    },
}

/// The first few of them.
fn list(candidates: &[Digest]) -> String {
    const MOST: usize = 5;
    let mut shown: Vec<String> =
        candidates.iter().take(MOST).map(|digest| format!("`{digest}`")).collect();
    if candidates.len() > MOST {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

impl ArchiveError {
    pub(super) fn write(path: &Path, error: &io::Error) -> Self {
        Self::Write { path: path.into(), reason: words_of(error) }
    }

    pub(super) fn read(path: &Path, error: &io::Error) -> Self {
        Self::Read { path: path.into(), reason: words_of(error) }
    }
}
