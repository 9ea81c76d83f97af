//! Files of a swept folder that somebody who lives still needs.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use tempfile::NamedTempFile;

use super::own::UNFINISHED_AGE;
use crate::lines::usual;

/// Begins the name of a file that says which others are needed.
const PREFIX: &str = ".live-";

/// Keeps files of a folder from every sweep, of other programs too, for as long as it lives: their names stand in a
/// file beside them, which is locked. A killed program lets go of it. Where the file system has no locks, it keeps
/// nothing.
#[derive(Debug)]
pub(crate) struct Lease {
    /// Removed with it.
    _file: NamedTempFile,
}

impl Lease {
    pub(crate) fn take<'a>(
        folder: &Path,
        names: impl IntoIterator<Item = &'a String>,
    ) -> io::Result<Self> {
        let mut file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)?;
        let lines: String = names.into_iter().flat_map(|name| [name.as_str(), "\n"]).collect();
        // A lock that others share, since some systems let nobody write or read what is locked otherwise.
        file.write_all(lines.as_bytes())?;
        usual(file.as_file().lock_shared())?;
        Ok(Self { _file: file })
    }
}

/// The names of all files in `folder` that somebody needs. Removes what killed programs left.
pub(super) fn leased(folder: &Path, now: SystemTime) -> HashSet<String> {
    let mut leased = HashSet::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            continue;
        }
        // Some file systems lock for one alone only what can be written.
        let Ok(file) = File::options().read(true).write(true).open(&path) else { continue };
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            let names = fs::read_to_string(&path).unwrap_or_default();
            leased.extend(names.lines().map(str::to_owned));
            continue;
        }
        // One that is being made is not locked yet.
        let made = file.metadata().and_then(|found| found.modified());
        let is_old = |made| now.duration_since(made).is_ok_and(|age| age > UNFINISHED_AGE);
        if made.is_ok_and(is_old) {
            let _ = fs::remove_file(&path);
        }
    }
    leased
}
