//! Cutting a text down to a number of tokens, head and tail kept.
//!
//! Level one cuts to bytes and lines, under a notice that takes some 200 bytes: where there is room for that, the results
//! of tools are cut by its rules, so that lines stay whole and an earlier notice keeps its figures and the place of the
//! full text. Shorter pieces, and texts that are no results, are cut here.

use brute_core::truncation::{FullText, Keep, Limits, MIN_BYTES, Outcome, Spill, truncate};

/// What level one is told of the rest: the record is all that the summarizer sees.
struct LeftOut;

impl Spill for LeftOut {
    fn save(&self, _: &[u8]) -> FullText {
        FullText::NotSaved("left out of this record".to_owned())
    }

    /// A place that is named stays named: whether something is there is not for the summarizer to find out.
    fn holds(&self, _: &str) -> bool {
        true
    }
}

/// The result of a tool in at most `budget` tokens: whole if it fits, else its head and its tail, as level one cuts
/// them where that has room.
pub(crate) fn clip_result(text: &str, budget: u64, count: &dyn Fn(&str) -> u64) -> String {
    let tokens = count(text);
    if tokens <= budget {
        return text.to_owned();
    }
    let mut max_bytes = share(text.len(), budget, tokens);
    while max_bytes >= MIN_BYTES {
        let limits =
            Limits { max_lines: usize::MAX, max_bytes, keep: Keep::Ends, ..Limits::default() };
        if let Outcome::Cut(cut) = truncate(text.as_bytes(), &limits, &LeftOut)
            && count(&cut.text) <= budget
        {
            return cut.text;
        }
        max_bytes = max_bytes / 8 * 7;
    }
    clip(text, budget, count)
}

/// `text` in at most `budget` tokens: whole if it fits, else its head and its tail, with a line between
/// them that says how much is left out. Nothing but that line if the budget has room for no more.
pub(crate) fn clip(text: &str, budget: u64, count: &dyn Fn(&str) -> u64) -> String {
    let tokens = count(text);
    if tokens <= budget {
        return text.to_owned();
    }
    let mut keep = share(text.len(), budget, tokens);
    loop {
        let (head, tail) = ends(text, keep);
        let left_out = text[head..tail].chars().count();
        let clipped = format!(
            "{}\n(… {left_out} characters are left out here …)\n{}",
            &text[..head],
            &text[tail..]
        );
        if keep == 0 || count(&clipped) <= budget {
            return clipped;
        }
        keep = keep * 3 / 4;
    }
}

/// As many of `bytes` as `budget` is of `tokens`.
fn share(bytes: usize, budget: u64, tokens: u64) -> usize {
    let bytes = bytes as u128 * u128::from(budget) / u128::from(tokens.max(1));
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Where the head ends and the tail begins when both together have about `keep` bytes.
fn ends(text: &str, keep: usize) -> (usize, usize) {
    // What a text is about stands at its head, what came of it at its tail: both count alike.
    let half = (keep / 2).min(text.len() / 2);
    let mut head = half;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - half;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    (head, tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chars(text: &str) -> u64 {
        text.chars().count() as u64
    }

    #[test]
    fn head_and_tail_stay() {
        let text = format!("HEAD{}TAIL", "·".repeat(900));
        let clipped = clip(&text, 100, &chars);
        assert!(clipped.starts_with("HEAD") && clipped.ends_with("TAIL"), "{clipped}");
        assert!(clipped.contains("characters are left out here"));
        assert_eq!(clip("short", 5, &chars), "short");
    }

    fn words(text: &str) -> u64 {
        (text.len() as u64).div_ceil(4)
    }

    #[test]
    fn a_result_is_cut_as_level_one_cuts() {
        let log: String = (1..2_000).map(|line| format!("line {line} of the build\n")).collect();
        let clipped = clip_result(&log, 600, &words);
        assert!(clipped.starts_with("line 1 of the build\n"), "{clipped}");
        assert!(clipped.ends_with("line 1999 of the build\n"), "{clipped}");
        let notice = clipped.lines().filter(|line| !line.starts_with("line ")).collect::<Vec<_>>();
        assert!(
            matches!(notice[..], [notice] if notice.contains("of 1999 are shown")),
            "{notice:?}"
        );
        assert!((500..=600).contains(&words(&clipped)), "{}", words(&clipped));

        // What level one said of where all of it is stays.
        struct Saved;
        impl Spill for Saved {
            fn save(&self, _: &[u8]) -> FullText {
                FullText::Saved("/srv/spill/0a1b2c.txt".into())
            }
            fn holds(&self, _: &str) -> bool {
                true
            }
        }
        let limits = Limits { max_bytes: 20_000, ..Limits::default() };
        let Outcome::Cut(capped) = truncate(log.as_bytes(), &limits, &Saved) else {
            unreachable!()
        };
        let clipped = clip_result(&capped.text, 600, &words);
        assert!(
            clipped.contains("/srv/spill/0a1b2c.txt") && clipped.contains("of 1999 are shown"),
            "{clipped}"
        );

        // Where a notice has no room, a little of both ends says more.
        let short = clip_result(&log, 30, &words);
        assert!(
            short.starts_with("line 1") && short.contains("characters are left out"),
            "{short}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_result_is_never_over_budget(
            lines in prop::collection::vec("\\PC{0,60}|(x{3000})", 0..60),
            budget in 30u64..2_000,
        ) {
            let text = lines.join("\n");
            let clipped = clip_result(&text, budget, &words);
            prop_assert!(words(&clipped) <= budget, "{}: {clipped}", words(&clipped));
            prop_assert!(words(&text) > budget || clipped == text);
        }

        #[test]
        fn never_over_budget(text in "(?s).{0,400}", budget in 60u64..300) {
            let clipped = clip(&text, budget, &chars);
            prop_assert!(chars(&clipped) <= budget);
            prop_assert!(chars(&text) > budget || clipped == text);
        }
    }
}
