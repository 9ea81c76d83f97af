//! What is cut, what is kept, and what the notice says.

use std::cell::RefCell;
use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::scan::count_lines;
use super::*;

/// Keeps what it is given in memory, under a name made of its number.
#[derive(Default)]
struct Memory(RefCell<HashMap<String, Vec<u8>>>);

impl Memory {
    fn get(&self, place: &str) -> Vec<u8> {
        self.0.borrow()[place].clone()
    }

    fn len(&self) -> usize {
        self.0.borrow().len()
    }
}

impl Spill for Memory {
    fn save(&self, whole: &[u8]) -> FullText {
        let place = format!("/full/{}", self.len());
        self.0.borrow_mut().insert(place.clone(), whole.to_vec());
        FullText::Saved(place)
    }

    fn holds(&self, place: &str) -> bool {
        self.0.borrow().contains_key(place)
    }
}

fn cut(text: &[u8], limits: &Limits, spill: &dyn Spill) -> Truncated {
    match truncate(text, limits, spill) {
        Outcome::Cut(cut) => cut,
        Outcome::Unchanged(_) => panic!("not cut"),
    }
}

fn numbered(count: usize, eol: &str) -> String {
    (1..=count).map(|number| format!("row-{number:04}{eol}")).collect()
}

#[test]
fn ranges_and_counts() {
    // Lines of text, end of line, keep; then the notice's range, if it is cut at all.
    let all = |keep| Limits { keep, ..Limits::default() };
    type Shown = Option<&'static [(u64, u64)]>;
    let table: &[(usize, &str, Keep, Shown)] = &[
        (2000, "\n", Keep::Tail, None),
        (2001, "\n", Keep::Tail, Some(&[(3, 2001)])),
        (3500, "\n", Keep::Tail, Some(&[(1502, 3500)])),
        (3500, "\n", Keep::Head, Some(&[(1, 1999)])),
        (3500, "\n", Keep::Ends, Some(&[(1, 1000), (2502, 3500)])),
        (2000, "\r\n", Keep::Head, None),
        (2001, "\r\n", Keep::Head, Some(&[(1, 1999)])),
        // A bare carriage return ends no line: this is one line of 27,000 characters.
        (3000, "\r", Keep::Head, Some(&[(1, 1)])),
    ];
    for (count, eol, keep, shown) in table {
        let text = numbered(*count, eol);
        let memory = Memory::default();
        let outcome = truncate(text.as_bytes(), &all(*keep), &memory);
        match (outcome, shown) {
            (Outcome::Unchanged(same), None) => assert_eq!(same, text),
            (Outcome::Cut(cut), Some(shown)) => {
                let ranges: Vec<_> =
                    cut.notice.shown.iter().map(|range| (range.first, range.last)).collect();
                assert_eq!(&ranges, shown, "{count} {eol:?} {keep:?}");
                assert_eq!(cut.notice.total_bytes, text.len() as u64);
                let lines = if *eol == "\r" { 1 } else { *count as u64 };
                assert_eq!(cut.notice.total_lines, lines);
                assert!(cut.text.split_inclusive('\n').count() <= 2000);
                assert_eq!(memory.get("/full/0"), text.as_bytes());
            }
            (outcome, _) => panic!("{count} {eol:?} {keep:?}: {outcome:?}"),
        }
    }
}

#[test]
fn tail_keeps_the_true_end_under_the_byte_cap() {
    let text = numbered(10_000, &(" .".repeat(100) + "\n")) + "last words";
    let limits = Limits { keep: Keep::Tail, ..Limits::default() };
    let cut = cut(text.as_bytes(), &limits, &Memory::default());
    assert_eq!(cut.limit, Limit::Bytes);
    assert!(cut.text.ends_with("\nlast words"));
    assert!(text.ends_with(cut.body().1) && cut.text.len() <= limits.max_bytes);
    assert!(cut.text.len() > limits.max_bytes - 600, "{}", cut.text.len());
}

#[test]
fn a_long_line_is_marked_and_the_rest_is_shown() {
    let text = format!("{}\nend\n", "c".repeat(3000));
    let cut = cut(text.as_bytes(), &Limits::default(), &Memory::default());
    assert_eq!(cut.limit, Limit::LineChars);
    let expected = format!("{}[...1000 characters cut...]\nend\n", "c".repeat(2000));
    assert_eq!(cut.body(), (expected.as_str(), ""));
    assert_eq!((cut.notice.cut_lines, cut.notice.cut_at), (1, 2000));
    assert_eq!(cut.kept_bytes, 2005);
}

#[test]
fn a_line_larger_than_the_cap_is_shown_in_part() {
    let text = format!("a\n{}\nz\n", "j".repeat(60_000));
    for (keep, body) in [(Keep::Head, "a\njjj"), (Keep::Tail, "jjj\nz\n"), (Keep::Ends, "a\njjj")] {
        let limits =
            Limits { max_bytes: 2048, max_line_chars: usize::MAX, keep, ..Limits::default() };
        let cut = cut(text.as_bytes(), &limits, &Memory::default());
        assert_eq!(cut.notice.partial, [2], "{keep:?}");
        assert_eq!(cut.notice.cut_lines, 0);
        assert_eq!(cut.limit, Limit::Bytes);
        assert!(cut.text.contains("; line 2 in part"), "{}", cut.text);
        assert!(cut.text.contains(body), "{}", cut.text);
        assert!(cut.text.len() <= 2048 && cut.text.len() > 1500, "{}", cut.text.len());
    }
}

#[test]
fn whole_lines_are_preferred() {
    let line = "w".repeat(300);
    let text = format!("{line}\n").repeat(10);
    let limits = Limits { max_bytes: 1024, ..Limits::default() };
    let cut = cut(text.as_bytes(), &limits, &Memory::default());
    assert!(cut.notice.partial.is_empty());
    assert!(cut.body().0.lines().all(|shown| shown == line));
}

#[test]
fn bytes_that_are_no_text_are_replaced_and_saved() {
    let nul = [b"head\n".as_slice(), &[0; 100], b"PK\x03\x04", &[0; 1000], b"\ntail\n"].concat();
    let memory = Memory::default();
    let result = cut(&nul, &Limits::default(), &memory);
    assert_eq!(result.limit, Limit::Replaced);
    assert_eq!(result.body().0, "head\n[NUL x 100]PK\x03\x04[NUL x 1000]\ntail\n");
    assert_eq!(result.notice.replaced_lines, 1);
    assert_eq!(memory.get("/full/0"), nul);

    let zip = b"PK\x03\x04\xff\x00\xfe".repeat(9000);
    let result = cut(&zip, &Limits::default(), &memory);
    assert!(result.text.len() <= 51_200 && result.text.contains('\u{fffd}'));

    let bom = "\u{feff}hi\n";
    assert!(matches!(
        truncate(bom.as_bytes(), &Limits::default(), &memory),
        Outcome::Unchanged(text) if text == bom
    ));
}

#[test]
fn a_second_smaller_limit_keeps_the_first_notice_whole() {
    let text =
        "row ................................................................\n".repeat(5000);
    for keep in [Keep::Head, Keep::Tail, Keep::Ends] {
        let memory = Memory::default();
        let first = Limits { keep, ..Limits::default() };
        let mut result = cut(text.as_bytes(), &first, &memory);
        for limits in [
            Limits { max_bytes: 20_000, ..first.clone() },
            Limits { max_lines: 50, ..first.clone() },
        ] {
            result = cut(result.text.as_bytes(), &limits, &memory);
            assert_eq!(result.notice.full, FullText::Saved("/full/0".into()));
            assert_eq!(result.notice.total_lines, 5000);
            assert_eq!(result.notice.total_bytes, text.len() as u64);
            assert_eq!(result.text.matches("[brute:truncated").count(), 1);
            assert!(result.text.len() <= limits.max_bytes);
            assert!(count_lines(result.text.as_bytes()) <= limits.max_lines as u64);
        }
        let shown: u64 = result.notice.shown.iter().map(|range| range.last + 1 - range.first).sum();
        assert_eq!(shown, 49, "{keep:?}");
        assert_eq!(memory.len(), 1);
    }
}

#[test]
fn foreign_text_gets_no_free_pass() {
    let limits = Limits::default();
    let memory = Memory::default();
    let text = "word ".repeat(4000);
    let honest = cut(text.as_bytes(), &limits, &memory).text;
    assert!(matches!(truncate(honest.as_bytes(), &limits, &memory), Outcome::Unchanged(_)));

    // The notice of one text on another.
    let copied = format!("{}{honest}", "x".repeat(9000));
    assert_eq!(cut(copied.as_bytes(), &limits, &memory).notice.total_lines, 2);
    // A notice that fits its text, but names a file that was never ours.
    assert_eq!(cut(honest.as_bytes(), &limits, &Memory::default()).notice.cut_lines, 1);
    // Even one that is recognized does not lift the cap.
    let small = Limits { max_bytes: 1024, ..limits };
    assert!(cut(honest.as_bytes(), &small, &memory).text.len() <= 1024);
}

#[test]
fn the_notice_has_a_line_of_its_own() {
    use Keep::{Ends, Head, Tail};
    // Lines of text, end of the last one, most lines, what is kept; then what stands around the notice.
    let table: &[(usize, &str, usize, Keep, &str, &str)] = &[
        (10, "\n", 4, Head, "1\n2\n3\n", "\n"),
        (10, "", 4, Head, "1\n2\n3\n", ""),
        (10, "\n", 4, Tail, "", "\n8\n9\n10\n"),
        (10, "", 4, Tail, "", "\n8\n9\n10"),
        (10, "\n", 4, Ends, "1\n2\n", "\n10\n"),
        (10, "", 5, Ends, "1\n2\n", "\n9\n10"),
        (10, "\n", 2, Head, "1\n", "\n"),
        (10, "\n", 2, Tail, "", "\n10\n"),
        (10, "\n", 2, Ends, "1\n", "\n"),
        (10, "\n", 1, Head, "", "\n"),
        (10, "", 1, Tail, "", ""),
        (10, "\n", 1, Ends, "", "\n"),
    ];
    for (count, end, max_lines, keep, above, below) in table {
        let lines: Vec<_> = (1..=*count).map(|line| line.to_string()).collect();
        let text = lines.join("\n") + end;
        let limits = Limits { max_lines: *max_lines, keep: *keep, ..Limits::default() };
        let memory = Memory::default();
        let cut = cut(text.as_bytes(), &limits, &memory);
        assert_eq!(&cut.text[..cut.notice_at.start], *above, "{text:?} {limits:?}");
        assert_eq!(&cut.text[cut.notice_at.end..], *below, "{text:?} {limits:?}");
        assert_eq!(count_lines(cut.text.as_bytes()), *max_lines as u64);
        assert!(Notice::verify(&cut.text).is_some_and(|notice| notice == cut.notice));
        // A smaller limit takes lines away, and nothing else.
        let less = Limits { max_lines: max_lines - 1, ..limits };
        if less.max_lines > 0 {
            let again = super::tests::cut(cut.text.as_bytes(), &less, &memory);
            assert_eq!(again.text.ends_with('\n'), text.ends_with('\n'), "{:?}", again.text);
            assert_eq!(again.notice.total_lines, *count as u64);
            assert_eq!(count_lines(again.text.as_bytes()), less.max_lines as u64);
        }
    }
}

#[test]
fn a_notice_is_believed_with_its_file_or_where_there_is_none() {
    let memory = Memory::default();
    let FullText::Saved(place) = memory.save(b"text") else { unreachable!() };
    for (full, expected) in [
        (FullText::Saved(place.clone()), true),
        (FullText::Saved("/full/gone".into()), false),
        (FullText::Kept(place), true),
        (FullText::Kept("gone".into()), false),
        (FullText::NotSaved("no space".into()), true),
    ] {
        let limits = Limits { max_line_chars: 30, ..Limits::default() };
        let Verdict::Over(excerpt) = examine(&[b'x'; 100], &limits) else { unreachable!() };
        let cut = excerpt.compose(full);
        assert_eq!(cut.notice.is_believed(&memory), expected, "{:?}", cut.notice.full);
        let again = truncate(cut.text.as_bytes(), &limits, &memory);
        assert_eq!(matches!(again, Outcome::Unchanged(_)), expected, "{again:?}");
    }
}

fn keep() -> impl Strategy<Value = Keep> {
    prop::sample::select(&[Keep::Head, Keep::Tail, Keep::Ends][..])
}

fn limits() -> impl Strategy<Value = Limits> {
    let bytes = prop_oneof![0usize..400, 200usize..2000];
    (0usize..12, bytes, 0usize..40, keep()).prop_map(
        |(max_lines, max_bytes, max_line_chars, keep)| Limits {
            max_lines,
            max_bytes,
            max_line_chars,
            keep,
        },
    )
}

/// Text with everything in it that can be torn.
fn clean() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(
        &[
            "a",
            "word ",
            "\n",
            "\n",
            "\r\n",
            "\r",
            "é中",
            "😀",
            "e\u{301}",
            "👨‍👩‍👧‍👦",
            "🇩🇪🇫🇷",
            "\x1b[31m",
            "\x1b[3~",
            "\x1b]8;;http://e.x\x1b\\",
            "\x1b(B",
            "\u{9b}1m",
            "a long stretch of text, ",
            "[brute:truncated: ",
            "; check 00000000@0]",
            "[...3 characters cut...]",
        ][..],
    );
    vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    const DIRT: &[&[u8]] = &[b"\xff", b"\0", b"\0\0\0\0\0", b"\xe4\xb8", b"\xf0\x9f", b"\x80"];
    let dirt = prop::sample::select(DIRT);
    (clean(), vec((any::<prop::sample::Index>(), dirt), 0..4)).prop_map(|(text, dirt)| {
        let mut bytes = text.into_bytes();
        for (at, dirt) in dirt {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, dirt.iter().copied());
        }
        bytes
    })
}

/// What both scans say, for comparison.
fn composed(verdict: Verdict<String>) -> (String, Option<Notice>) {
    match verdict {
        Verdict::Fits(text) => (text, None),
        Verdict::Over(excerpt) => {
            let cut = excerpt.compose(FullText::Saved("/full/0".into()));
            (cut.text, Some(cut.notice))
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_caps_hold_and_nothing_is_lost(bytes in any_bytes(), limits in limits()) {
        let memory = Memory::default();
        match truncate(&bytes, &limits, &memory) {
            Outcome::Unchanged(text) => prop_assert_eq!(text.as_bytes(), &bytes),
            Outcome::Cut(cut) => {
                prop_assert!(cut.text.len() <= limits.max_bytes);
                prop_assert!(count_lines(cut.text.as_bytes()) <= limits.max_lines as u64, "{:?}", cut);
                prop_assert!(!cut.text.contains('\0'));
                prop_assert_eq!(&memory.get("/full/0"), &bytes);
                prop_assert_eq!(cut.notice.total_bytes, bytes.len() as u64);
                prop_assert_eq!(cut.notice.total_lines, count_lines(&bytes));
                let shown: u64 = cut.notice.shown.iter().map(|range| range.last + 1 - range.first).sum();
                let (before, after) = cut.body();
                let lines = count_lines(before.as_bytes()) + count_lines(after.as_bytes());
                prop_assert_eq!(lines, shown, "{:?}", cut);
                let (above, below) =
                    (&cut.text[..cut.notice_at.start], &cut.text[cut.notice_at.end..]);
                prop_assert!(above.is_empty() || above.ends_with('\n'), "{:?}", cut);
                prop_assert!(below.is_empty() || below.starts_with('\n'), "{:?}", cut);
                if limits.max_bytes > cut.text.len() && !cut.text.is_empty() {
                    prop_assert_eq!(cut.text.ends_with('\n'), bytes.ends_with(b"\n"), "{:?}", cut);
                }
            }
        }
    }

    #[test]
    fn a_second_pass_changes_nothing(bytes in any_bytes(), limits in limits()) {
        let memory = Memory::default();
        let once = truncate(&bytes, &limits, &memory).into_text().into_owned();
        let files = memory.len();
        let twice = truncate(once.as_bytes(), &limits, &memory).into_text().into_owned();
        prop_assert_eq!(&twice, &once);
        if limits.max_bytes > 400 && limits.max_lines > 0 {
            prop_assert_eq!(memory.len(), files);
        }
    }

    #[test]
    fn kept_text_is_the_text(text in clean(), mut limits in limits()) {
        limits.max_line_chars = usize::MAX;
        if let Outcome::Cut(cut) = truncate(text.as_bytes(), &limits, &Memory::default()) {
            let (before, after) = cut.body();
            if cut.notice.partial.is_empty() {
                prop_assert!(text.starts_with(before));
                prop_assert!(text.ends_with(after));
                prop_assert_eq!(before.len() + after.len(), cut.kept_bytes);
                // Whole lines.
                let rest = &text[before.len()..];
                prop_assert!(before.is_empty() || before.ends_with('\n') || rest.is_empty());
                let rest = &text[..text.len() - after.len()];
                prop_assert!(rest.is_empty() || after.is_empty() || rest.ends_with('\n'));
            }
            match limits.keep {
                Keep::Head => prop_assert!(after.is_empty()),
                Keep::Tail => prop_assert!(before.is_empty()),
                Keep::Ends => {}
            }
        }
    }

    #[test]
    fn pieces_make_no_difference(bytes in any_bytes(), limits in limits(), sizes in vec(1usize..40, 1..20)) {
        let mut scan = Scan::new(limits.clone());
        let mut rest = bytes.as_slice();
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, behind) = rest.split_at((*size).min(rest.len()));
            scan.push(piece);
            rest = behind;
        }
        let whole = match examine(&bytes, &limits) {
            Verdict::Fits(text) => Verdict::Fits(text.to_owned()),
            Verdict::Over(excerpt) => Verdict::Over(excerpt),
        };
        prop_assert_eq!(composed(scan.finish()), composed(whole));
    }

    #[test]
    fn a_cut_line_is_cut_between_clusters(text in clean(), max_line_chars in 0usize..60, keep in keep()) {
        let line = text.replace(['\n', '\r'], "");
        let limits = Limits { max_line_chars, keep, ..Limits::default() };
        if let Outcome::Cut(cut) = truncate(line.as_bytes(), &limits, &Memory::default()) {
            let (before, after) = cut.body();
            let shown = format!("{before}{after}");
            let is_boundary = |at: usize| {
                at == line.len() || line.grapheme_indices(true).any(|(start, _)| start == at)
            };
            // The text itself may hold a mark: one of those in it must be the real one.
            let is_real = |(at, mark): (usize, &str)| {
                let rest = &shown[at + mark.len()..];
                let Some((missing, end)) = rest.split_once(" characters cut...]") else { return false };
                let Ok(missing) = missing.parse::<usize>() else { return false };
                let kept = shown[..at].chars().count() + end.chars().count();
                line.starts_with(&shown[..at]) && line.ends_with(end)
                    && is_boundary(at) && is_boundary(line.len() - end.len())
                    && kept + missing == line.chars().count()
                    && kept <= max_line_chars
            };
            prop_assert!(shown.match_indices("[...").any(is_real), "{line:?} gave {shown:?}");
        }
    }
}
