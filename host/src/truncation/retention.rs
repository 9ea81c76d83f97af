//! How long full texts stay.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use brute_core::truncation::Notice;

use super::Truncator;
use super::spill::{file_name_of, is_own_name, is_unfinished_name};
use crate::system::words_of;

/// A file that was begun so long ago was left behind by a process that is gone.
const UNFINISHED_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// So long, at least, lies between two sweeps that [`Truncator::sweep_if_due`] makes.
pub const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// What a sweep did.
#[derive(Debug, Default)]
pub struct Swept {
    /// Full texts that were removed.
    pub removed: usize,
    /// The bytes that they took.
    pub removed_bytes: u64,
    /// Full texts that are still there.
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

impl Truncator {
    /// Sweeps, if the folder was not swept for [`SWEEP_EVERY`], by whichever program: the time stands in
    /// a file in the folder. `None` if it is too early or nothing was ever saved.
    ///
    /// What protects the texts of a live conversation are the notices in it: collect [`named_in`] over
    /// all its results in `live`. Whoever knows of no conversation, as a filter does, still leaves what
    /// was saved, or saved again, within `max-age`, the newest up to `max-total`. So where conversations
    /// live for longer than `max-age`, either have their program sweep, or raise it.
    ///
    /// ```
    /// use std::collections::HashSet;
    /// use std::time::SystemTime;
    ///
    /// use brute_host::truncation::{TruncateOptions, Truncator, named_in};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let spill = Some(folder.path().display().to_string());
    /// let truncator = Truncator::new(TruncateOptions { spill, ..Default::default() })?;
    /// let rows = "row\n".repeat(5000);
    /// let result = truncator.truncate(None, rows.as_bytes());
    /// let conversation = [result.text.as_ref()];
    /// let live = || conversation.into_iter().filter_map(named_in).collect();
    /// let swept = truncator.sweep_if_due(SystemTime::now(), live);
    /// assert_eq!(swept.map(|swept| swept.kept), Some(1));
    /// // Again in an hour.
    /// assert!(truncator.sweep_if_due(SystemTime::now(), live).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sweep_if_due(
        &self,
        now: SystemTime,
        live: impl FnOnce() -> HashSet<String>,
    ) -> Option<Swept> {
        let folder = self.spill().path().filter(|folder| folder.is_dir())?;
        // A stamp from the future is a clock that was put right meanwhile.
        let is_early = |at: SystemTime| now.duration_since(at).is_ok_and(|age| age < SWEEP_EVERY);
        if self.spill().swept_at().is_some_and(is_early) {
            return None;
        }
        // The stamp comes first, so that of many at once few sweep. Without it each of them would.
        if let Err(source) = self.spill().stamp(now) {
            let errors = vec![SweepError { path: folder.into(), source }];
            return Some(Swept { errors, ..Swept::default() });
        }
        Some(self.sweep(now, &live()))
    }

    /// Removes full texts that were not used for longer than `max-age`, and then the least recently
    /// used until the rest takes no more than `max-total`. What `live` names stays, whatever its age
    /// and size: see [`named_in`]. So do files whose names are not of the kind that truncation gives.
    ///
    /// It does not follow links, and what it cannot do it reports and leaves.
    pub fn sweep(&self, now: SystemTime, live: &HashSet<String>) -> Swept {
        let mut swept = Swept::default();
        let Some(folder) = self.spill().path() else { return swept };
        let mut files = match own_files(folder, now, &mut swept) {
            Ok(files) => files,
            // Nothing was ever saved.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return swept,
            Err(source) => {
                swept.errors.push(SweepError { path: folder.into(), source });
                return swept;
            }
        };
        files.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.name.cmp(&b.name)));
        // What is live takes its room first.
        let (live, others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| live.contains(&file.name));
        for file in live {
            swept.kept += 1;
            swept.kept_bytes += file.bytes;
        }
        let max_age = self.options().max_age.into();
        let max_total = self.options().max_total.0;
        let mut is_full = false;
        for file in others {
            // A time in the future is no age.
            let age = now.duration_since(file.used).unwrap_or_default();
            is_full |= swept.kept_bytes.saturating_add(file.bytes) > max_total;
            if is_full || age > max_age {
                remove(&folder.join(&file.name), file.bytes, &mut swept);
            } else {
                swept.kept += 1;
                swept.kept_bytes += file.bytes;
            }
        }
        swept
    }
}

/// The name of the full text that `text`, a result in a live conversation, points to.
///
/// Collect them over all results of all live conversations for [`Truncator::sweep`].
pub fn named_in(text: &str) -> Option<String> {
    file_name_of(&Notice::verify(text)?.full)
}

struct Stored {
    name: String,
    bytes: u64,
    used: SystemTime,
}

/// The full texts in the folder. Removes what was never finished on the way.
fn own_files(folder: &Path, now: SystemTime, swept: &mut Swept) -> io::Result<Vec<Stored>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !is_own_name(&name) && !is_unfinished_name(&name) {
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
        if is_own_name(&name) {
            files.push(Stored { name, bytes: found.len(), used });
        } else if now.duration_since(used).is_ok_and(|age| age > UNFINISHED_AGE) {
            remove(&entry.path(), found.len(), swept);
        }
    }
    Ok(files)
}

fn remove(path: &Path, bytes: u64, swept: &mut Swept) {
    match fs::remove_file(path) {
        Ok(()) => {
            swept.removed += 1;
            swept.removed_bytes += bytes;
        }
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => swept.errors.push(SweepError { path: path.into(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::{ByteSize, Span};
    use crate::truncation::TruncateOptions;

    const DAY: Duration = Duration::from_secs(86_400);

    #[test]
    fn age_and_size_decide_but_not_over_what_lives() {
        let root = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let options = TruncateOptions {
            spill: root.path().to_str().map(Into::into),
            max_age: Span::from_secs(10 * 86_400),
            max_total: ByteSize(350),
            ..Default::default()
        };
        let truncator = Truncator::new(options).unwrap();
        // Days since the last use; the byte that fills the file.
        let files = [(20, b'a'), (12, b'b'), (5, b'c'), (4, b'd'), (3, b'e'), (0, b'f')];
        let names: Vec<String> = files
            .iter()
            .map(|(days, byte)| {
                let path = truncator.spill().save_bytes(&[*byte; 100]).unwrap();
                let file = fs::File::options().append(true).open(&path).unwrap();
                file.set_modified(now - DAY * *days).unwrap();
                path.file_name().unwrap().to_str().unwrap().to_owned()
            })
            .collect();
        fs::write(root.path().join("notes.txt"), b"mine").unwrap();
        let left = root.path().join(".spill-left");
        fs::write(&left, b"half").unwrap();
        fs::File::options().append(true).open(&left).unwrap().set_modified(now - DAY * 3).unwrap();

        let live = HashSet::from([names[0].clone()]);
        let swept = truncator.sweep(now, &live);
        assert_eq!((swept.removed, swept.removed_bytes), (4, 304));
        assert_eq!((swept.kept, swept.kept_bytes), (3, 300));
        assert!(swept.errors.is_empty());
        let mut there: Vec<_> = fs::read_dir(root.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let mut expected =
            vec![names[0].clone(), names[4].clone(), names[5].clone(), "notes.txt".into()];
        there.sort();
        expected.sort();
        assert_eq!(there, expected);
        assert_eq!(truncator.sweep(now, &live).removed, 0);
    }

    #[test]
    fn it_is_swept_once_an_hour() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("spill");
        let spill = folder.to_str().map(Into::into);
        let truncator = Truncator::new(TruncateOptions { spill, ..Default::default() }).unwrap();
        let now = SystemTime::now();
        assert!(truncator.sweep_if_due(now, HashSet::new).is_none());
        assert!(!folder.exists());
        let save = |text: &[u8]| {
            let path = truncator.spill().save_bytes(text).unwrap();
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(now - DAY * 8).unwrap();
            path
        };
        let minute = Duration::from_secs(60);
        // When it is asked for, and whether it is due.
        for (at, due) in [
            (now, true),
            (now + minute, false),
            (now + 59 * minute, false),
            (now + 60 * minute, true),
            (now + 61 * minute, false),
            // The clock was put back.
            (now, true),
            (now + 59 * minute, false),
        ] {
            let path = save(b"old");
            let swept = truncator.sweep_if_due(at, HashSet::new);
            assert_eq!(
                swept.map(|swept| (swept.removed, swept.errors.len())),
                due.then_some((1, 0))
            );
            assert_eq!(path.exists(), !due);
        }
        // The stamp is nobody's text.
        assert_eq!(truncator.sweep(now + DAY * 100, &HashSet::new()).removed, 1);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn trouble_is_reported() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, b"").unwrap();
        let sweep = |path: &Path| {
            let spill = path.to_str().map(Into::into);
            let options = TruncateOptions { spill, ..Default::default() };
            Truncator::new(options).unwrap().sweep(SystemTime::now(), &HashSet::new())
        };
        assert_eq!(sweep(&file.join("x")).errors.len(), 1);
        assert!(sweep(&root.path().join("missing")).errors.is_empty());
    }

    #[test]
    fn a_live_result_names_its_file() {
        let root = tempfile::tempdir().unwrap();
        let spill = root.path().to_str().map(Into::into);
        let truncator = Truncator::new(TruncateOptions { spill, ..Default::default() }).unwrap();
        let text = "line\n".repeat(3000);
        let cut = truncator.truncate(None, text.as_bytes());
        let name = named_in(&cut.text).unwrap();
        assert!(root.path().join(name).is_file());
        assert_eq!(named_in(&cut.text.replace("3000", "3001")), None);
        assert_eq!(named_in("plain"), None);
    }
}
