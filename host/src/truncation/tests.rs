//! Truncation with a disk behind it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::quantity::ByteSize;
use brute_core::truncation::Keep;

fn options(folder: &Path) -> TruncateOptions {
    TruncateOptions { spill: folder.to_str().map(Into::into), ..Default::default() }
}

fn truncator(folder: &Path) -> Truncator {
    Truncator::new(options(folder)).unwrap()
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    fs::read_dir(folder)
        .map_or_else(|_| Vec::new(), |entries| entries.map(|entry| entry.unwrap().path()).collect())
}

fn place(truncated: &Truncated<'_>) -> String {
    match &truncated.cut.as_ref().expect("cut").notice.full {
        FullText::Saved(place) => place.clone(),
        FullText::NotSaved(reason) => panic!("not saved: {reason}"),
    }
}

#[test]
fn what_fits_is_lent_and_leaves_nothing_behind() {
    let root = TempDir::new().unwrap();
    let truncator = truncator(&root.path().join("spill"));
    let text = "short\n".to_owned();
    let result = truncator.truncate(None, text.as_bytes());
    assert!(matches!(result.text, Cow::Borrowed(same) if same.as_ptr() == text.as_ptr()));
    assert_eq!(result.cut, None);
    let read = truncator.truncate_reader(None, text.as_bytes()).unwrap();
    assert_eq!((read.text.as_ref(), read.cut), (text.as_str(), None));
    assert!(!root.path().join("spill").exists());
}

#[test]
fn the_original_bytes_are_saved_and_named() {
    let root = TempDir::new().unwrap();
    let truncator = truncator(root.path());
    for text in [
        "row\n".repeat(5000).into_bytes(),
        format!("{}\nend\n", "c".repeat(3000)).into_bytes(),
        b"a\0\xff\r\nb".to_vec(),
        b"\xf0\x9f\x98".repeat(700_000),
        "long line ".repeat(300_000).into_bytes(),
    ] {
        let result = truncator.truncate(Some("shell"), &text);
        assert_eq!(fs::read(place(&result)).unwrap(), text);
        assert!(result.text.contains(&place(&result)));
        let read = truncator.truncate_reader(Some("shell"), text.as_slice()).unwrap();
        assert_eq!(read, result);
    }
    assert_eq!(files(root.path()).len(), 5);
}

#[test]
fn a_tool_has_its_own_limits() {
    let root = TempDir::new().unwrap();
    let mut options = options(root.path());
    options.tools.insert("read".into(), ToolOptions { skip: true, ..Default::default() });
    let tail = ToolOptions { keep: Some(Keep::Tail), max_lines: Some(2), ..Default::default() };
    options.tools.insert("shell".into(), tail);
    let truncator = Truncator::new(options).unwrap();
    let text = (1..=3000).map(|line| format!("{line}\n")).collect::<String>();
    assert_eq!(truncator.truncate(Some("read"), text.as_bytes()).cut, None);
    assert_eq!(truncator.truncate_reader(Some("read"), text.as_bytes()).unwrap().text, text);
    assert!(truncator.truncate(Some("shell"), text.as_bytes()).text.ends_with("] 2999\n3000\n"));
    assert!(truncator.truncate(Some("other"), text.as_bytes()).text.starts_with("1\n2\n"));
}

#[test]
fn a_disk_that_refuses_is_named_in_the_notice() {
    let root = TempDir::new().unwrap();
    fs::write(root.path().join("file"), b"").unwrap();
    let small = "row\n".repeat(5000);
    let large = "row\n".repeat(500_000);
    // `/proc` takes no folder, whoever asks.
    for folder in
        [root.path().join("file/x"), root.path().join("file"), "/proc/nope".into(), "".into()]
    {
        let truncator = truncator(&folder);
        for text in [&small, &large] {
            let result = truncator.truncate(None, text.as_bytes());
            let cut = result.cut.as_ref().unwrap();
            let FullText::NotSaved(reason) = &cut.notice.full else { panic!("saved") };
            assert!(!reason.is_empty() && !reason.contains('/'), "{reason}");
            assert!(result.text.contains(&format!("full text not saved: {reason}")));
            assert!(result.text.starts_with("row\nrow\n") && result.text.len() <= 51_200);
            assert_eq!(truncator.truncate_reader(None, text.as_bytes()).unwrap(), result);
            // Once cut, it is not cut again.
            assert_eq!(truncator.truncate(None, result.text.as_bytes()).cut, None);
        }
    }
    #[cfg(unix)]
    {
        let link = root.path().join("link");
        std::os::unix::fs::symlink(root.path().join("gone/away"), &link).unwrap();
        let result = truncator(&link).truncate(None, small.as_bytes());
        assert!(matches!(result.cut.unwrap().notice.full, FullText::NotSaved(_)));
    }
}

#[test]
fn a_broken_reader_leaves_nothing_behind() {
    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 300 {
                return Err(io::Error::other("unplugged"));
            }
            let read = piece.len().min(10_000);
            piece[..read].fill(b'x');
            Ok(read)
        }
    }
    let root = TempDir::new().unwrap();
    let error = truncator(root.path()).truncate_reader(None, Broken(0)).unwrap_err();
    assert_eq!(error.to_string(), "unplugged");
    assert_eq!(files(root.path()).len(), 0);
}

#[test]
fn many_at_once_do_not_meet() {
    let root = TempDir::new().unwrap();
    let truncator = truncator(root.path());
    std::thread::scope(|scope| {
        for call in 0..16 {
            let truncator = &truncator;
            scope.spawn(move || {
                for round in 0..6 {
                    let text = format!("P{call} {round}\n").repeat(3000);
                    let result = truncator.truncate(None, text.as_bytes());
                    assert_eq!(fs::read_to_string(place(&result)).unwrap(), text);
                    let same = "the same\n".repeat(3000);
                    let result = truncator.truncate_reader(None, same.as_bytes()).unwrap();
                    assert_eq!(fs::read_to_string(place(&result)).unwrap(), same);
                }
            });
        }
    });
    assert_eq!(files(root.path()).len(), 16 * 6 + 1);
}

#[test]
fn a_notice_needs_its_file() {
    let root = TempDir::new().unwrap();
    let truncator = truncator(root.path());
    let text = "word ".repeat(4000);
    let once = truncator.truncate(None, text.as_bytes());
    assert_eq!(truncator.truncate(None, once.text.as_bytes()).cut, None);
    assert_eq!(truncator.truncate_reader(None, once.text.as_bytes()).unwrap().cut, None);
    fs::remove_file(place(&once)).unwrap();
    assert!(truncator.truncate(None, once.text.as_bytes()).cut.is_some());
}

#[test]
fn a_redaction_comes_before_the_cut() {
    let root = TempDir::new().unwrap();
    let secret = format!("sk-test-{}", "A".repeat(40));
    let hidden = secret.clone();
    let truncator = truncator(root.path())
        .with_redaction(Arc::new(move |text| text.replace(&hidden, "[redacted]").into()));
    for before in [1950, 1960, 1970, 1980, 1990] {
        let text = format!("{} {secret} {}\n", "p".repeat(before), "q".repeat(4000));
        for result in [
            truncator.truncate(None, text.as_bytes()),
            truncator.truncate_reader(None, text.as_bytes()).unwrap(),
        ] {
            assert!(!result.text.contains("sk-test-A"), "{before}");
            assert!(!fs::read_to_string(place(&result)).unwrap().contains("sk-test-A"));
        }
    }
}

#[test]
fn what_was_cut_survives_the_sweep_while_it_is_named() {
    let root = TempDir::new().unwrap();
    let options = TruncateOptions { max_total: ByteSize(0), ..options(root.path()) };
    let truncator = Truncator::new(options).unwrap();
    let text = "row\n".repeat(5000);
    let result = truncator.truncate(None, text.as_bytes());
    let live = HashSet::from_iter(named_in(&result.text));
    let now = std::time::SystemTime::now();
    assert_eq!(truncator.sweep(now, &live).kept, 1);
    assert_eq!(truncator.sweep(now, &HashSet::new()).removed, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn both_ways_agree_and_lose_nothing(
        lines in vec(("[a-zé中😀\r]{0,12}", 1usize..9000), 1..12),
        keep in prop::sample::select(&[Keep::Head, Keep::Tail, Keep::Ends][..]),
        max_lines in 1usize..60,
        max_bytes in 1024u64..4096,
    ) {
        let text: String = lines.iter().map(|(line, times)| line.repeat(*times) + "\n").collect();
        // Beyond what is held in memory, so that the file is written while it is read.
        let text = text.repeat(RECOGNIZED_BYTES / text.len() + 1);
        let root = TempDir::new().unwrap();
        let options = TruncateOptions { keep, max_lines, max_bytes: ByteSize(max_bytes), ..options(root.path()) };
        let truncator = Truncator::new(options).unwrap();
        let result = truncator.truncate(None, text.as_bytes());
        prop_assert_eq!(&truncator.truncate_reader(None, text.as_bytes()).unwrap(), &result);
        prop_assert!(result.text.len() as u64 <= max_bytes);
        prop_assert!(result.text.split_inclusive('\n').count() <= max_lines);
        prop_assert!(fs::read_to_string(place(&result)).unwrap() == text);
        prop_assert_eq!(files(root.path()).len(), 1);
        prop_assert_eq!(truncator.truncate(None, result.text.as_bytes()).cut, None);
    }
}
