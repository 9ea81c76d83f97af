//! Texts that are cut to any limits.

use std::cell::RefCell;

use arbitrary::Unstructured;
use brute_core::truncation::{
    FullText, Keep, Limits, Notice, Outcome, Scan, Spill, Verdict, examine, truncate,
};

/// The caps hold whatever they are, a text in pieces gives what it gives in one, what is shown is of the text, and what
/// was cut is not cut again.
pub fn check(bytes: &[u8]) {
    let mut choices = Unstructured::new(bytes);
    let Ok((limits, piece)) = choose(&mut choices) else { return };
    let text = choices.take_rest();
    let memory = Memory::default();
    let in_one = examine(text, &limits);
    let mut scan = Scan::new(limits.clone());
    text.chunks(piece).for_each(|piece| scan.push(piece));
    match (in_one, scan.finish()) {
        (Verdict::Fits(one), Verdict::Fits(other)) => {
            assert_eq!(one, other);
            assert_eq!(one.as_bytes(), text);
            assert!(is_within(one, &limits));
        }
        (Verdict::Over(one), Verdict::Over(other)) => {
            assert_eq!(one.total_bytes(), text.len() as u64);
            assert_eq!(one.total_lines(), other.total_lines());
            let full = || FullText::Saved("/full".to_owned());
            assert_eq!(one.compose(full()).text, other.compose(full()).text);
        }
        (one, other) => panic!("{one:?} in one, {other:?} in pieces"),
    }
    let cut = match truncate(text, &limits, &memory) {
        Outcome::Unchanged(same) => {
            assert_eq!(same.as_bytes(), text);
            assert!(same.len() <= limits.max_bytes && count_lines(same) <= limits.max_lines);
            return;
        }
        Outcome::Cut(cut) => cut,
    };
    assert!(cut.text.len() <= limits.max_bytes, "{} of {limits:?}", cut.text.len());
    assert!(count_lines(&cut.text) <= limits.max_lines, "{limits:?}");
    assert!(!cut.text.contains('\0'));
    if let Some(saved) = memory.0.borrow().as_deref() {
        assert_eq!(saved, text);
        assert_eq!(cut.notice.total_bytes, text.len() as u64);
    }
    if cut.text.is_empty() || !cut.text.contains("[brute:truncated: ") {
        return;
    }
    let found = Notice::verify(&cut.text);
    assert_eq!(found.as_ref(), Some(&cut.notice), "in {:?}", cut.text);
    match truncate(cut.text.as_bytes(), &limits, &memory) {
        Outcome::Unchanged(same) => assert_eq!(same, cut.text),
        Outcome::Cut(twice) => panic!("{:?} became {:?}", cut.text, twice.text),
    }
}

fn choose(choices: &mut Unstructured<'_>) -> arbitrary::Result<(Limits, usize)> {
    let keep = *choices.choose(&[Keep::Head, Keep::Tail, Keep::Ends])?;
    let is_usual: bool = choices.arbitrary()?;
    let limits = Limits {
        max_lines: choices.int_in_range(0..=40)?,
        max_bytes: choices.int_in_range(0..=1500)? + if is_usual { 1024 } else { 0 },
        max_line_chars: choices.int_in_range(0..=300)?,
        keep,
    };
    Ok((limits, choices.int_in_range(1..=64)?))
}

fn is_within(text: &str, limits: &Limits) -> bool {
    text.len() <= limits.max_bytes && count_lines(text) <= limits.max_lines && !text.contains('\0')
}

fn count_lines(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// Keeps one text.
#[derive(Default)]
struct Memory(RefCell<Option<Vec<u8>>>);

impl Spill for Memory {
    fn save(&self, whole: &[u8]) -> FullText {
        self.0.replace(Some(whole.to_vec()));
        FullText::Saved("/full/text".to_owned())
    }

    fn holds(&self, place: &str) -> bool {
        place == "/full/text" && self.0.borrow().is_some()
    }
}
