//! Files of a swept folder that somebody who lives still needs.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tempfile::NamedTempFile;

use super::own::UNFINISHED_AGE;
use crate::lines::usual;

/// Begins the name of a file that says which others are needed.
const PREFIX: &str = ".live-";

/// Stands before a name that is not needed any more. No file's name has it.
const GONE: char = '/';

/// So many lines of a file may be of names that are gone, beside one for each that is not, before it is written anew.
const SPARE_LINES: usize = 256;

/// What all leases of this process say, by folder: one file is open for each, however many sessions there are.
static TOGETHER: LazyLock<Mutex<HashMap<PathBuf, Together>>> = LazyLock::new(Mutex::default);

/// Keeps files of a folder from every sweep, of other programs too, for as long as it lives: their names stand in a
/// file beside them, which is locked, and which all leases of a process on one folder have in common. A killed program
/// lets go of it. Where the file system has no locks, it keeps nothing.
#[derive(Debug)]
pub(crate) struct Lease {
    folder: PathBuf,
    names: BTreeSet<String>,
}

impl Lease {
    pub(crate) fn take<'a>(
        folder: &Path,
        names: impl IntoIterator<Item = &'a String>,
    ) -> io::Result<Self> {
        let names: BTreeSet<String> = names.into_iter().cloned().collect();
        let all = &mut *together();
        match all.get_mut(folder) {
            Some(known) => known.add(folder, &names)?,
            None => {
                all.insert(folder.to_owned(), Together::new(folder, &names)?);
            }
        }
        Ok(Self { folder: folder.to_owned(), names })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let all = &mut *together();
        let Some(known) = all.get_mut(&self.folder) else { return };
        known.remove(&self.folder, &self.names);
        if known.holders.is_empty() {
            all.remove(&self.folder);
        }
    }
}

fn together() -> MutexGuard<'static, HashMap<PathBuf, Together>> {
    TOGETHER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The leases of this process on one folder.
#[derive(Debug)]
struct Together {
    /// Removed with it.
    file: NamedTempFile,
    /// How many leases are on each name.
    holders: HashMap<String, usize>,
    /// How many lines the file has.
    lines: usize,
    /// Whether the file may say something else than what holds.
    is_stale: bool,
}

impl Together {
    fn new(folder: &Path, names: &BTreeSet<String>) -> io::Result<Self> {
        let file = locked_file(folder, &lines_of("", names))?;
        let holders = names.iter().map(|name| (name.clone(), 1)).collect();
        Ok(Self { file, holders, lines: names.len(), is_stale: false })
    }

    fn add(&mut self, folder: &Path, names: &BTreeSet<String>) -> io::Result<()> {
        let new: Vec<&String> =
            names.iter().filter(|name| !self.holders.contains_key(*name)).collect();
        self.write(folder, &lines_of("", new.iter().copied()), new.len())?;
        for name in names {
            *self.holders.entry(name.clone()).or_default() += 1;
        }
        Ok(())
    }

    fn remove(&mut self, folder: &Path, names: &BTreeSet<String>) {
        let mut gone = Vec::new();
        for name in names {
            let left = self.holders.get_mut(name).map_or(0, |count| {
                *count = count.saturating_sub(1);
                *count
            });
            if left == 0 && self.holders.remove(name).is_some() {
                gone.push(name);
            }
        }
        // The file goes with the last of them. Else what cannot be taken back is kept until the next change.
        if !self.holders.is_empty() {
            let prefix = GONE.to_string();
            let _ = self.write(folder, &lines_of(&prefix, gone.iter().copied()), gone.len());
        }
    }

    /// Writes lines behind the others, or the whole file anew where that has to be: some systems let nobody write to what
    /// is locked, and a file that was removed keeps nothing.
    fn write(&mut self, folder: &Path, lines: &str, count: usize) -> io::Result<()> {
        let is_there = self.file.path().exists();
        if count == 0 && is_there && !self.is_stale {
            return Ok(());
        }
        let most = 2 * self.holders.len() + SPARE_LINES;
        let may_add = is_there && !self.is_stale && self.lines + count <= most;
        if may_add && self.file.write_all(lines.as_bytes()).is_ok() {
            self.lines += count;
            return Ok(());
        }
        self.is_stale = true;
        // What was kept is let go of when the next file is there.
        self.file = locked_file(folder, &(lines_of("", self.holders.keys()) + lines))?;
        (self.lines, self.is_stale) = (self.holders.len() + count, false);
        Ok(())
    }
}

fn lines_of<'a>(prefix: &str, names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().fold(String::new(), |mut lines, name| {
        let _ = writeln!(lines, "{prefix}{name}");
        lines
    })
}

fn locked_file(folder: &Path, lines: &str) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(folder)?;
    // A lock that others share, since some systems let nobody write or read what is locked otherwise.
    file.write_all(lines.as_bytes())?;
    usual(file.as_file().lock_shared())?;
    Ok(file)
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
            leased.extend(named_in(&fs::read_to_string(&path).unwrap_or_default()));
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

/// The names that the lines of a file come to.
fn named_in(lines: &str) -> HashSet<String> {
    let mut named = HashSet::new();
    for line in lines.lines() {
        match line.strip_prefix(GONE) {
            Some(gone) => named.remove(gone),
            None => named.insert(line.to_owned()),
        };
    }
    named
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn leased_in(folder: &Path) -> BTreeSet<String> {
        leased(folder, SystemTime::now()).into_iter().collect()
    }

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    proptest! {
        /// What is leased is what any of the leases that are alive says, whoever came and went.
        #[test]
        fn names_are_kept_as_long_as_a_lease_on_them_lives(
            steps in prop::collection::vec((prop::collection::btree_set("-?[a-e]", 0..4), any::<prop::sample::Index>(), any::<bool>()), 1..60),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut alive: Vec<(BTreeSet<String>, Lease)> = Vec::new();
            for (names, index, is_end) in steps {
                if is_end && !alive.is_empty() {
                    drop(alive.swap_remove(index.index(alive.len())));
                } else {
                    let lease = Lease::take(folder.path(), &names).unwrap();
                    alive.push((names, lease));
                }
                let expected: BTreeSet<String> = alive.iter().flat_map(|(names, _)| names.clone()).collect();
                prop_assert_eq!(leased_in(folder.path()), expected);
            }
            drop(alive);
            prop_assert_eq!(files(folder.path()), 0);
        }
    }

    #[test]
    fn a_thousand_leases_are_one_file_that_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let take = |at: usize| Lease::take(folder.path(), &[format!("{at}.txt")]).unwrap();
        let mut leases: Vec<Lease> = (0..2_000).map(take).collect();
        let open_files = || {
            let links = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
            let links = links.filter_map(|link| fs::read_link(link.path()).ok());
            links.filter(|path| path.starts_with(folder.path())).count()
        };
        assert_eq!(files(folder.path()), 1);
        if cfg!(target_os = "linux") {
            assert_eq!(open_files(), 1);
        }
        assert_eq!(leased_in(folder.path()).len(), 2_000);
        leases.truncate(10);
        // Sessions come and go for as long as a program runs.
        (0..5_000).for_each(|at| drop(take(at)));
        assert_eq!(leased_in(folder.path()).len(), 10);
        let length = |entry: fs::DirEntry| entry.metadata().unwrap().len();
        let lengths = fs::read_dir(folder.path()).unwrap().map(|entry| length(entry.unwrap()));
        assert!(lengths.sum::<u64>() < 8_192);
    }

    #[test]
    fn what_was_removed_is_written_anew() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("texts");
        fs::create_dir(&folder).unwrap();
        let one = Lease::take(&folder, &["one".to_owned()]).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(Lease::take(&folder, &["two".to_owned()]).is_err());
        fs::create_dir(&folder).unwrap();
        let two = Lease::take(&folder, &["two".to_owned()]).unwrap();
        assert_eq!(leased_in(&folder), ["one", "two"].map(str::to_owned).into());
        drop(one);
        assert_eq!(leased_in(&folder), ["two".to_owned()].into());
        drop(two);
        assert_eq!(files(&folder), 0);
    }
}
