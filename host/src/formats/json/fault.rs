//! What is wrong with text that is not JSON, and where.

/// A place in a text, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Position {
    /// Line and column of the byte at `offset`, both from 1; columns count characters.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        Self { line, column }
    }
}

/// Why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where it was noticed.
    pub(crate) position: Position,
    /// The value that was being read, as a JSON pointer.
    pub(crate) pointer: String,
    /// What would have been right there.
    pub(crate) expected: &'static str,
    /// The text that stands there instead; empty where the text ends.
    pub(crate) excerpt: String,
}

/// A few characters of a text, on one line.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 32;
    let mut shown: String = text
        .chars()
        .take(LONGEST)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}
