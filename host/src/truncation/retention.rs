//! How long full texts stay.

use std::collections::HashSet;
use std::fs;
use std::time::SystemTime;

use brute_core::truncation::Notice;

use super::spill::{file_name_of, is_own_name, is_unfinished_name};
use super::{Swept, Truncator, own};

impl Truncator {
    /// Sweeps, if the folder was not swept for [`SWEEP_EVERY`], by whichever program: the time stands in
    /// a file in the folder. `None` if it is too early or nothing was ever saved.
    ///
    /// [`SWEEP_EVERY`]: super::SWEEP_EVERY
    ///
    /// What conversations of a [`Guard`](crate::guard::Guard) name stays as long as they live, in whichever
    /// program. What protects the texts of another conversation are the notices in it: collect [`named_in`]
    /// over all its results in `live`. Whoever knows of no conversation, as a filter does, still leaves what
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
        own::sweep_if_due(self.spill().path()?, &self.rules(), now, live)
    }

    /// Removes full texts that were not used for longer than `max-age`, and then the least recently
    /// used until the rest takes no more than `max-total`. What `live` names stays, whatever its age
    /// and size: see [`named_in`]. So do files whose names are not of the kind that truncation gives.
    ///
    /// It does not follow links, and what it cannot do it reports and leaves.
    pub fn sweep(&self, now: SystemTime, live: &HashSet<String>) -> Swept {
        let Some(folder) = self.spill().path() else { return Swept::default() };
        own::sweep(folder, &self.rules(), now, live)
    }

    fn rules(&self) -> own::Rules {
        own::Rules {
            max_age: self.options().max_age.into(),
            max_total: self.options().max_total.0,
            is_own: is_own_name,
            is_unfinished: is_unfinished_name,
            remove: |path| fs::remove_file(path).map(|()| true),
        }
    }
}

/// The name of the full text that `text`, a result in a live conversation, points to.
///
/// Collect them over all results of all live conversations for [`Truncator::sweep`].
pub fn named_in(text: &str) -> Option<String> {
    file_name_of(&Notice::verify(text)?.full)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

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
