//! What can go wrong with a session log, in words that say where and what to do.

use std::io;
use std::path::{Path, PathBuf};

use super::record::VERSION;
use crate::shown::shown;
use crate::system::words_of;

/// Why a session log could not be opened, read or added to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be opened, or not be made ready for what is to be added.
    #[error("cannot open the session log `{}`: {reason}; nothing was changed", shown(path.display()))]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file system refuses to write.
    #[error(
        "cannot write to the session log `{}`: {reason}; nothing of it was written, so it can be tried again",
        shown(path.display())
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file system refuses to read.
    #[error("cannot read the session log `{}`: {reason}", shown(path.display()))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file system took lines, and could not bring them to the disk.
    #[error(
        "the session log `{}` could not be brought to the disk: {reason}; its last lines may be lost, and no more is \
         added: open it again to go on with what is there", shown(path.display())
    )]
    Sync {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A log that is open was removed, or another file stands at its path now.
    #[error(
        "the session log `{}` is gone: it was moved or removed while it was open, and no more is added; put it back, \
         or have the conversation logged to a new file", shown(path.display())
    )]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// A log that is open was cut, or something else was written to it.
    #[error(
        "the session log `{}` was changed while it was open: it has {length} bytes, and {written} were written; no more \
         is added: have the conversation logged to a new file", shown(path.display())
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// How long it is, in bytes.
        length: u64,
        /// How long it should be, in bytes.
        written: u64,
    },
    /// Another one has it open.
    #[error(
        "the session log `{}` is open already, in this process or another: close that first, or take another file",
        shown(path.display())
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// A file that is something else.
    #[error("`{}` is no session log, and stays as it is: take another file", shown(path.display()))]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A file of a version that this brute does not know.
    #[error(
        "the session log `{}` is of version {version}, and this brute knows version {VERSION}: take the brute that wrote it",
        shown(path.display())
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// A whole line that says nothing that can be.
    #[error(
        "line {line} of the session log `{}` is broken: {reason}; to go on with what stands before it, keep a copy \
         and cut the file before that line", shown(path.display())
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl LogError {
    pub(super) fn open(path: &Path, error: &io::Error) -> Self {
        use io::ErrorKind::{InvalidFilename, InvalidInput};
        let is_name =
            path.file_name().is_some() && !matches!(error.kind(), InvalidInput | InvalidFilename);
        let reason =
            if is_name { words_of(error) } else { "no file can have this name".to_owned() };
        Self::Open { path: path.into(), reason }
    }

    pub(super) fn folder(path: &Path, folder: &Path, error: &io::Error) -> Self {
        let (folder, why) = (shown(folder.display()), words_of(error));
        let reason = format!("its folder `{folder}` cannot be made: {why}");
        Self::Open { path: path.into(), reason }
    }

    pub(super) fn write(path: &Path, error: &io::Error) -> Self {
        Self::Write { path: path.into(), reason: words_of(error) }
    }

    pub(super) fn read(path: &Path, error: &io::Error) -> Self {
        Self::Read { path: path.into(), reason: words_of(error) }
    }

    pub(super) fn sync(path: &Path, error: &io::Error) -> Self {
        Self::Sync { path: path.into(), reason: words_of(error) }
    }
}
