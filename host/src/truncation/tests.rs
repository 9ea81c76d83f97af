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
        other => panic!("not saved in the open: {other:?}"),
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
    assert!(truncator.truncate(Some("shell"), text.as_bytes()).text.ends_with("]\n3000\n"));
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
            assert!(!reason.contains("os error") && !reason.contains("entity"), "{reason}");
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

fn stripping(folder: &Path) -> Truncator {
    Truncator::new(TruncateOptions { strip_ansi: true, ..options(folder) }).unwrap()
}

#[test]
fn sequences_go_only_if_they_are_to() {
    let root = TempDir::new().unwrap();
    let text = "\x1b[31mred\x1b[0m \x1b[3~kept \x1b[?25l\x1b[38;5;12mx\x1b[m \x1b(Bplain\x1b";
    let as_it_is = truncator(root.path()).truncate(None, text.as_bytes());
    assert_eq!((as_it_is.text.as_ref(), as_it_is.stripped), (text, false));
    for result in [
        stripping(root.path()).truncate(None, text.as_bytes()),
        stripping(root.path()).truncate_reader(None, text.as_bytes()).unwrap(),
    ] {
        assert_eq!((result.text.as_ref(), result.stripped), ("red kept x plain", true));
        assert_eq!(result.cut, None);
    }
    let mut options = TruncateOptions { strip_ansi: true, ..options(root.path()) };
    let tui = ToolOptions { strip_ansi: Some(false), ..Default::default() };
    options.tools.insert("tui".into(), tui);
    options.tools.insert("read".into(), ToolOptions { skip: true, ..Default::default() });
    let truncator = Truncator::new(options).unwrap();
    for tool in ["tui", "read"] {
        assert_eq!(truncator.truncate(Some(tool), text.as_bytes()).text, text);
        assert_eq!(truncator.truncate_reader(Some(tool), text.as_bytes()).unwrap().text, text);
    }
    let plain = "no sequence".to_owned();
    let result = truncator.truncate(None, plain.as_bytes());
    assert!(!result.stripped && matches!(result.text, Cow::Borrowed(_)));
    // Nothing was cut, so there is nothing to have back.
    assert!(files(root.path()).is_empty());
}

#[test]
fn limits_are_measured_without_sequences_and_the_file_has_them() {
    let root = TempDir::new().unwrap();
    let truncator = stripping(root.path());
    // Far over every limit, but not without its colors.
    let colors = "\x1b[38;5;12m\x1b[0m".repeat(200_000) + "end\n";
    for text in [&colors[..], &colors[colors.len() - 1500..]] {
        for result in [
            truncator.truncate(None, text.as_bytes()),
            truncator.truncate_reader(None, text.as_bytes()).unwrap(),
        ] {
            assert!(result.text.ends_with("end\n") && result.text.len() < 20 && result.stripped);
            assert_eq!(result.cut, None);
        }
    }
    assert!(files(root.path()).is_empty());
    for lines in [3000, 300_000] {
        let text = "\x1b[32mok\x1b[0m \x1b]8;;http://e.x\x1b\\row\x1b]8;;\x1b\\\n".repeat(lines);
        let result = truncator.truncate(None, text.as_bytes());
        assert_eq!(truncator.truncate_reader(None, text.as_bytes()).unwrap(), result);
        assert!(result.text.starts_with("ok row\nok row\n") && !result.text.contains('\x1b'));
        assert_eq!(fs::read_to_string(place(&result)).unwrap(), text);
        let notice = &result.cut.as_ref().unwrap().notice;
        assert_eq!((notice.total_lines, notice.total_bytes), (lines as u64, text.len() as u64));
        assert!(result.text.contains(&format!("({} bytes in all)", text.len())));
        assert_eq!(truncator.truncate(None, result.text.as_bytes()).cut, None);
    }
}

#[test]
fn a_result_from_before_sequences_went_is_not_cut_again() {
    let root = TempDir::new().unwrap();
    let text = "\x1b[32mrow\x1b[0m\n".repeat(3000);
    let once = truncator(root.path()).truncate(None, text.as_bytes());
    let again = stripping(root.path()).truncate(None, once.text.as_bytes());
    assert_eq!((&again.text, again.stripped), (&once.text, false));
    // Without its file it is any text.
    fs::remove_file(place(&once)).unwrap();
    assert!(stripping(root.path()).truncate(None, once.text.as_bytes()).stripped);
    // One that was never saved has no file to lose.
    let nowhere = |strip_ansi| {
        let options = TruncateOptions { strip_ansi, ..options(Path::new("")) };
        Truncator::new(options).unwrap()
    };
    let once = nowhere(false).truncate(None, text.as_bytes());
    let again = nowhere(true).truncate(None, once.text.as_bytes());
    assert_eq!((&again.text, again.stripped), (&once.text, false));
}

#[test]
fn a_sequence_does_not_hide_a_secret() {
    let root = TempDir::new().unwrap();
    let truncator = stripping(root.path())
        .with_redaction(Arc::new(|text| text.replace("sk-secret", "[redacted]").into()));
    let text = format!("sk-\x1b[1msecret\x1b[0m sk-secret\n{}", "row\n".repeat(3000));
    let result = truncator.truncate(None, text.as_bytes());
    assert!(result.stripped && result.text.starts_with("[redacted] [redacted]\n"));
    let saved = fs::read_to_string(place(&result)).unwrap();
    assert!(saved.starts_with("[redacted] [redacted]\n") && saved.ends_with("row\n"));
}

#[test]
fn a_path_that_cannot_be_read_is_not_named() {
    let root = TempDir::new().unwrap();
    let readable = vec![root.path().join("work").display().to_string()];
    let text = "row\n".repeat(5000);
    let inside = root.path().join("work/out");
    let options = |folder: &Path| TruncateOptions { readable: readable.clone(), ..options(folder) };
    let result = Truncator::new(options(&inside)).unwrap().truncate(None, text.as_bytes());
    assert!(result.text.contains(&format!("full text: {}/", inside.display())));

    let outside = root.path().join("out");
    let truncator = Truncator::new(options(&outside)).unwrap();
    let result = truncator.truncate(None, text.as_bytes());
    let full = &result.cut.as_ref().unwrap().notice.full;
    let file = truncator.spill().file(full).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let digits = file.file_stem().unwrap().to_str().unwrap();
    assert!(result.text.contains(&format!(
        "; full text kept for the operator, where you cannot read it, as {digits}; ask for less at a time; "
    )));
    assert!(!result.text.contains("out/") && !result.text.contains(".txt"));
    let large = text.repeat(100);
    let read = truncator.truncate_reader(None, large.as_bytes()).unwrap();
    assert_eq!(read, truncator.truncate(None, large.as_bytes()));
    assert_eq!(files(&outside).len(), 2);

    // It is known again and swept like any other.
    assert_eq!(truncator.truncate(None, result.text.as_bytes()).cut, None);
    let live = HashSet::from_iter(named_in(&result.text));
    assert_eq!(live, HashSet::from([format!("{digits}.txt")]));
    fs::remove_file(&file).unwrap();
    let tight = TruncateOptions { max_lines: 10, ..options(&outside) };
    assert!(Truncator::new(tight).unwrap().truncate(None, result.text.as_bytes()).cut.is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn both_ways_agree_and_lose_nothing(
        lines in vec(
            ("[a-zé中😀\r]{0,12}|\u{1b}\\[[0-9;]{0,3}[m~]?[a-z\u{7}]{0,3}|\u{1b}\\]0;[a-z\u{7}]{0,4}", 1usize..9000),
            1..12,
        ),
        strip_ansi in any::<bool>(),
        keep in prop::sample::select(&[Keep::Head, Keep::Tail, Keep::Ends][..]),
        max_lines in 1usize..60,
        max_bytes in 1024u64..4096,
    ) {
        let text: String = lines.iter().map(|(line, times)| line.repeat(*times) + "\n").collect();
        // Beyond what is held in memory, so that the file is written while it is read.
        let text = text.repeat(RECOGNIZED_BYTES / text.len() + 1);
        let root = TempDir::new().unwrap();
        let options =
            TruncateOptions { keep, max_lines, max_bytes: ByteSize(max_bytes), strip_ansi, ..options(root.path()) };
        let truncator = Truncator::new(options).unwrap();
        let result = truncator.truncate(None, text.as_bytes());
        prop_assert_eq!(&truncator.truncate_reader(None, text.as_bytes()).unwrap(), &result);
        prop_assert!(result.text.len() as u64 <= max_bytes);
        prop_assert!(result.text.split_inclusive('\n').count() <= max_lines);
        prop_assert!(!(result.stripped && result.text.contains(char::from(27))));
        if result.cut.is_none() {
            // Only its sequences were too much.
            prop_assert!(result.stripped && files(root.path()).is_empty());
            return Ok(());
        }
        prop_assert!(fs::read_to_string(place(&result)).unwrap() == text);
        prop_assert_eq!(files(root.path()).len(), 1);
        prop_assert_eq!(truncator.truncate(None, result.text.as_bytes()).cut, None);
    }
}
