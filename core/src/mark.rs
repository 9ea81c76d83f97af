//! The head of every text that a compaction produced, so that a later one knows it again.
//!
//! A mark reads `[brute:summary:48:5c1e0a77]`: what the text is, how much it stands for, and a check
//! code over both and over the text that follows. A reloaded session is recognized by it; a person
//! who types the same words is not, because the code would not fit. The code is no secret and keeps
//! accidents out, not forgers: a forged mark costs its own message the standing of a real one.

use std::fmt::{self, Write as _};

use crate::check_code::CheckCode;

const OPEN: &str = "[brute:";

/// Room for the head of any text: the opening, the longest kind, a count of twenty digits, a code of
/// eight, and what stands between them.
const LONGEST_HEAD: usize = OPEN.len() + "summary".len() + 20 + 8 + ":".len() * 2 + "] ".len();

/// What a compaction left in place of what it took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// What the text is.
    pub kind: MarkKind,
    /// How much it stands for: messages for a note or a summary, tokens for a cleared result.
    pub count: u64,
}

/// What a produced text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MarkKind {
    /// Says that messages were removed, and how many.
    Note,
    /// Says what the removed messages said.
    Summary,
    /// Stands in for the text of a tool result, or of another part.
    Cleared,
}

impl MarkKind {
    const ALL: [Self; 3] = [Self::Note, Self::Summary, Self::Cleared];

    fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Summary => "summary",
            Self::Cleared => "cleared",
        }
    }
}

impl fmt::Display for MarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Mark {
    /// Puts the mark at the head of `body`.
    ///
    /// ```
    /// use brute_core::{Mark, MarkKind};
    /// let mark = Mark { kind: MarkKind::Note, count: 12 };
    /// let text = mark.write("12 earlier messages were removed here.");
    /// assert_eq!(Mark::read(&text), Some(mark));
    /// assert_eq!(Mark::read("12 earlier messages were removed here."), None);
    /// ```
    pub fn write(self, body: &str) -> String {
        let mut text = String::with_capacity(LONGEST_HEAD + body.len());
        text.push_str(OPEN);
        text.push_str(self.kind.name());
        // Writing to a string does not fail.
        let _ = write!(text, ":{}:", self.count);
        text.extend(digits(self.code(body)));
        text.push_str("] ");
        text.push_str(body);
        text
    }

    /// The mark at the head of `text`, if there is one and its code fits.
    pub fn read(text: &str) -> Option<Self> {
        Self::split(text).map(|(mark, _)| mark)
    }

    /// The mark at the head of `text`, and the text behind it.
    pub fn split(text: &str) -> Option<(Self, &str)> {
        let (head, body) = text.strip_prefix(OPEN)?.split_once("] ")?;
        let mut fields = head.split(':');
        let (kind, count, code) = (fields.next()?, fields.next()?, fields.next()?);
        let kind = MarkKind::ALL.into_iter().find(|known| known.name() == kind)?;
        let mark = Self { kind, count: count.parse().ok()? };
        let fits = fields.next().is_none() && code.chars().eq(digits(mark.code(body)));
        fits.then_some((mark, body))
    }

    fn code(self, body: &str) -> u32 {
        let mut code = CheckCode::new();
        code.update(self.kind.name().as_bytes());
        code.update(&self.count.to_le_bytes());
        code.update(body.as_bytes());
        code.finish()
    }
}

/// The eight hexadecimal digits of a check code.
fn digits(code: u32) -> [char; 8] {
    let digit = |place: usize| (code >> (28 - 4 * place)) as usize & 0xf;
    std::array::from_fn(|place| char::from(b"0123456789abcdef"[digit(place)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(kind in prop::sample::select(&MarkKind::ALL[..]), count: u64, body: String) {
            let mark = Mark { kind, count };
            let text = mark.write(&body);
            prop_assert_eq!(Mark::split(&text), Some((mark, body.as_str())));
        }

        #[test]
        fn a_changed_body_is_not_recognized(body in ".{1,40}", more in ".{1,4}") {
            let text = Mark { kind: MarkKind::Summary, count: 3 }.write(&body);
            prop_assert_eq!(Mark::read(&format!("{text}{more}")), None);
        }
    }

    #[test]
    fn look_alikes_are_not_marks() {
        for text in [
            "",
            "[brute:",
            "[brute:note:3:00000000] x",
            "[brute:note:3] x",
            "[brute:poem:3:00000000] x",
            "[brute:note:many:00000000] x",
            " [brute:note:3:00000000] x",
        ] {
            assert_eq!(Mark::read(text), None, "{text}");
        }
    }
}
