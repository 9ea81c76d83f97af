//! The part of a result that stays.

use crate::Keep;

/// How often a cut is measured and moved to come close to its budget.
const ROUNDS: usize = 6;

/// A first guess at the length of a token, in bytes. Only where the search begins, never a result.
const BYTES_PER_TOKEN: usize = 4;

/// What stays of a text: its beginning, its end, both, all or nothing of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Excerpt<'a> {
    head: &'a str,
    tail: &'a str,
    is_all: bool,
    /// The size of what stays.
    pub tokens: u32,
}

impl<'a> Excerpt<'a> {
    /// What `keep` leaves of `text` in at most `max_tokens` tokens.
    pub(crate) fn of(
        text: &'a str,
        keep: Keep,
        max_tokens: u32,
        count: &dyn Fn(&str) -> u32,
    ) -> Self {
        let budgets = match keep {
            Keep::Nothing => return Self::default(),
            Keep::Head => (max_tokens, 0),
            Keep::Tail => (0, max_tokens),
            Keep::Ends => (max_tokens - max_tokens / 2, max_tokens / 2),
        };
        let (all, tokens) = longest(text, max_tokens, Side::Head, count);
        if all.len() == text.len() {
            return Self { head: all, tail: "", is_all: !all.is_empty(), tokens };
        }
        let (head, in_head) = match keep {
            Keep::Head => (all, tokens),
            _ => longest(text, budgets.0, Side::Head, count),
        };
        // What stands in the head is not shown twice.
        let (tail, in_tail) = longest(&text[head.len()..], budgets.1, Side::Tail, count);
        Self { head, tail, is_all: false, tokens: in_head.saturating_add(in_tail) }
    }

    /// What stays, in words; nothing if nothing does.
    pub(crate) fn names(&self) -> Option<&'static str> {
        Some(match (self.head, self.tail) {
            ("", "") => return None,
            _ if self.is_all => "its text is",
            (_, "") => "its beginning is",
            ("", _) => "its end is",
            (_, _) => "its beginning and its end are",
        })
    }

    /// Writes what stays on lines of its own.
    pub(crate) fn append_to(&self, out: &mut String) {
        for (text, gap) in [(self.head, ""), (self.tail, "\n[...]")] {
            if !text.is_empty() {
                out.push_str(if self.head.is_empty() { "" } else { gap });
                out.push('\n');
                out.push_str(text);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Head,
    Tail,
}

/// A piece from one side of `text` that comes close to `budget` tokens and is not over it, and its size.
///
/// Costs what the piece costs, not what the text costs.
fn longest<'a>(
    text: &'a str,
    budget: u32,
    side: Side,
    count: &dyn Fn(&str) -> u32,
) -> (&'a str, u32) {
    let mut best = ("", 0);
    if budget == 0 {
        return best;
    }
    let mut bytes = scaled(BYTES_PER_TOKEN, budget, 1);
    for _ in 0..ROUNDS {
        let piece = cut(text, bytes, side);
        let tokens = count(piece);
        if tokens > budget {
            // A little less than in proportion, so that the next one fits.
            bytes = scaled(piece.len(), budget, tokens) / 16 * 15;
            continue;
        }
        if piece.len() <= best.0.len() {
            break;
        }
        best = (piece, tokens);
        if piece.len() == text.len() || tokens > budget / 8 * 7 {
            break;
        }
        bytes = bytes.max(scaled(piece.len(), budget, tokens.max(1)));
    }
    best
}

fn scaled(bytes: usize, by: u32, of: u32) -> usize {
    let scaled = bytes as u128 * u128::from(by) / u128::from(of);
    usize::try_from(scaled).unwrap_or(usize::MAX)
}

/// At most `bytes` bytes from one side of `text`: whole lines, unless that would leave less than half.
fn cut(text: &str, bytes: usize, side: Side) -> &str {
    if bytes >= text.len() {
        return text;
    }
    match side {
        Side::Head => {
            let mut end = bytes;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let piece = &text[..end];
            let is_whole = text[piece.len()..].starts_with('\n');
            match piece.rfind('\n') {
                Some(end) if !is_whole && end >= piece.len() / 2 => &piece[..end],
                _ => piece,
            }
        }
        Side::Tail => {
            let mut start = text.len() - bytes;
            while !text.is_char_boundary(start) {
                start += 1;
            }
            let piece = &text[start..];
            let is_whole = text[..text.len() - piece.len()].ends_with('\n');
            // A line end at the very end begins no line.
            match piece.find('\n').map(|end| &piece[end + 1..]) {
                Some(lines) if !is_whole && lines.len() >= piece.len() / 2 => lines,
                _ => piece,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brute_core::{Approximate, TokenCounter};
    use proptest::prelude::*;

    fn excerpt(text: &str, keep: Keep, max_tokens: u32) -> Excerpt<'_> {
        Excerpt::of(text, keep, max_tokens, &|text| Approximate.count(text))
    }

    #[test]
    fn whole_lines_stay() {
        let text = (0..200).map(|line| format!("line number {line}\n")).collect::<String>();
        let head = excerpt(&text, Keep::Head, 12);
        assert_eq!((head.head, head.tail), ("line number 0\nline number 1\nline number 2", ""));
        let tail = excerpt(&text, Keep::Tail, 12);
        assert_eq!(
            (tail.head, tail.tail),
            ("", "line number 197\nline number 198\nline number 199\n")
        );
        let ends = excerpt(&text, Keep::Ends, 14);
        assert_eq!((ends.head, ends.tail), ("line number 0\nline number 1", "line number 199\n"));
        assert_eq!(ends.names(), Some("its beginning and its end are"));
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters() {
        let text = format!("short\n{}", "é".repeat(900));
        let head = excerpt(&text, Keep::Head, 10).head;
        assert!(head.starts_with("short\né") && head.len() > 30, "{head}");
        let tail = excerpt(&text, Keep::Tail, 10).tail;
        assert!(tail.len() > 30 && tail.chars().all(|char| char == 'é'), "{tail}");
    }

    #[test]
    fn what_fits_stays_whole() {
        for keep in [Keep::Head, Keep::Tail, Keep::Ends] {
            let all = excerpt("all\nof it\n", keep, 10);
            assert_eq!((all.head, all.names()), ("all\nof it\n", Some("its text is")));
        }
        assert_eq!(excerpt("all", Keep::Nothing, 10), Excerpt::default());
        assert_eq!(excerpt("", Keep::Head, 10).names(), None);
    }

    proptest! {
        #[test]
        fn an_excerpt_is_within_its_budget(text in "(?s).{0,300}", budget in 1u32..80) {
            for keep in [Keep::Head, Keep::Tail, Keep::Ends] {
                let excerpt = excerpt(&text, keep, budget);
                prop_assert!(excerpt.tokens <= budget);
                prop_assert!(text.starts_with(excerpt.head) && text.ends_with(excerpt.tail));
                prop_assert!(excerpt.head.len() + excerpt.tail.len() <= text.len());
            }
        }

        #[test]
        fn an_excerpt_uses_its_budget(line in 1usize..30, budget in 20u32..400) {
            let text = "word ".repeat(line).replace(' ', "_") + "\n";
            let text = text.repeat(5_000 / line);
            // A line more would not fit, by about a line and the steps of the search.
            let slack = Approximate.count(&text[..text.find('\n').unwrap_or(0)]) + budget / 4 + 2;
            prop_assert!(excerpt(&text, Keep::Head, budget).tokens + slack >= budget);
        }
    }
}
