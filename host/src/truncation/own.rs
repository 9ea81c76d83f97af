//! Folders for their owner alone, and how long the files in them stay.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::lease::leased;
use crate::system::words_of;

/// A file that was begun so long ago was left behind by a process that is gone.
pub(super) const UNFINISHED_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// So long, at least, lies between two sweeps that [`Truncator::sweep_if_due`] or
/// [`Archive::sweep_if_due`] makes.
///
/// [`Truncator::sweep_if_due`]: super::Truncator::sweep_if_due
/// [`Archive::sweep_if_due`]: crate::archive::Archive::sweep_if_due
pub const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// Begins the name of a file that is being written.
pub(crate) const UNFINISHED: &str = ".spill-";
/// The name of the empty file that tells by its time when the folder was last swept.
const STAMP: &str = ".swept";

/// What a sweep did.
#[derive(Debug, Default)]
pub struct Swept {
    /// Files that were removed.
    pub removed: usize,
    /// The bytes that they took.
    pub removed_bytes: u64,
    /// Files that are still there.
    pub kept: usize,
    /// The bytes that they take.
    pub kept_bytes: u64,
    /// What could not be looked at or removed.
    pub errors: Vec<SweepError>,
}

/// A file or folder that a sweep could not deal with. The sweep went on.
#[derive(Debug, thiserror::Error)]
#[error("could not sweep `{}`: {}", path.display(), words_of(source))]
pub struct SweepError {
    /// Which one.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Which files of a folder may go, and how.
pub(crate) struct Rules {
    /// What was not used for longer goes.
    pub(crate) max_age: Duration,
    /// The least recently used go until the others take no more bytes.
    pub(crate) max_total: u64,
    /// Whether a file of this name is one that the rules are for.
    pub(crate) is_own: fn(&str) -> bool,
    /// Whether a file of this name is one that is being written, or was never finished.
    pub(crate) is_unfinished: fn(&str) -> bool,
    /// Removes a file; false if somebody uses it, so that it stays.
    pub(crate) remove: fn(&Path) -> io::Result<bool>,
}

/// Makes the folder, for its owner alone; one that is there already keeps its permissions.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Opens the file for adding to it, and says whether it was made. What is no file is not followed.
pub(crate) fn open_to_append(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    let mut making = options.clone();
    making.create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut making, 0o600);
    match making.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match fs::symlink_metadata(path) {
                Ok(there) if !there.is_file() => Err(error),
                _ => Ok((options.open(path)?, false)),
            }
        }
        made => Ok((made?, true)),
    }
}

/// Sweeps, if there is a folder that was not swept within [`SWEEP_EVERY`].
pub(crate) fn sweep_if_due(
    folder: &Path,
    rules: &Rules,
    now: SystemTime,
    live: impl FnOnce() -> HashSet<String>,
) -> Option<Swept> {
    if !folder.is_dir() {
        return None;
    }
    // A stamp from the future is a clock that was put right meanwhile.
    let is_early = |at: SystemTime| now.duration_since(at).is_ok_and(|age| age < SWEEP_EVERY);
    let swept_at = fs::symlink_metadata(folder.join(STAMP)).and_then(|found| found.modified());
    if swept_at.is_ok_and(is_early) {
        return None;
    }
    // The stamp comes first, so that of many at once few sweep. Without it each of them would.
    if let Err(source) = stamp(folder, now) {
        let errors = vec![SweepError { path: folder.into(), source }];
        return Some(Swept { errors, ..Swept::default() });
    }
    Some(sweep(folder, rules, now, &live()))
}

/// What stands at the stamp's name is replaced, not followed.
fn stamp(folder: &Path, now: SystemTime) -> io::Result<()> {
    let file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    file.as_file().set_modified(now)?;
    file.persist(folder.join(STAMP)).map_err(|error| error.error)?;
    Ok(())
}

/// Removes what the rules let go, but nothing that `live` names or anybody has a [`Lease`](super::Lease) of. It does not follow links, and what it
/// cannot do it reports and leaves.
pub(crate) fn sweep(
    folder: &Path,
    rules: &Rules,
    now: SystemTime,
    live: &HashSet<String>,
) -> Swept {
    let mut swept = Swept::default();
    let mut files = match own_files(folder, rules, now, &mut swept) {
        Ok(files) => files,
        // Nothing was ever saved.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return swept,
        Err(source) => {
            swept.errors.push(SweepError { path: folder.into(), source });
            return swept;
        }
    };
    files.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.name.cmp(&b.name)));
    // Read behind the files: what is there by now and needed is named by now.
    let leased = leased(folder, now);
    // What is live takes its room first.
    let is_live = |file: &Stored| live.contains(&file.name) || leased.contains(&file.name);
    let (live, others): (Vec<_>, Vec<_>) = files.into_iter().partition(is_live);
    for file in live {
        swept.keep(file.bytes);
    }
    let mut is_full = false;
    for file in others {
        // A time in the future is no age.
        let age = now.duration_since(file.used).unwrap_or_default();
        is_full |= swept.kept_bytes.saturating_add(file.bytes) > rules.max_total;
        if is_full || age > rules.max_age {
            swept.remove(&folder.join(&file.name), file.bytes, rules);
        } else {
            swept.keep(file.bytes);
        }
    }
    swept
}

struct Stored {
    name: String,
    bytes: u64,
    used: SystemTime,
}

/// The files in the folder that the rules are for. Removes what was never finished on the way.
fn own_files(
    folder: &Path,
    rules: &Rules,
    now: SystemTime,
    swept: &mut Swept,
) -> io::Result<Vec<Stored>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let is_own = (rules.is_own)(&name);
        if !is_own && !(rules.is_unfinished)(&name) {
            continue;
        }
        let described = entry.metadata().and_then(|found| Ok((found.modified()?, found)));
        let (used, found) = match described {
            Ok(described) => described,
            Err(source) => {
                swept.errors.push(SweepError { path: entry.path(), source });
                continue;
            }
        };
        if !found.is_file() {
            continue;
        }
        if is_own {
            files.push(Stored { name, bytes: found.len(), used });
        } else if now.duration_since(used).is_ok_and(|age| age > UNFINISHED_AGE) {
            swept.remove(&entry.path(), found.len(), rules);
        }
    }
    Ok(files)
}

impl Swept {
    fn keep(&mut self, bytes: u64) {
        self.kept += 1;
        self.kept_bytes += bytes;
    }

    fn remove(&mut self, path: &Path, bytes: u64, rules: &Rules) {
        match (rules.remove)(path) {
            Ok(true) => {
                self.removed += 1;
                self.removed_bytes += bytes;
            }
            Ok(false) => self.keep(bytes),
            // Another process was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => self.errors.push(SweepError { path: path.into(), source }),
        }
    }
}
