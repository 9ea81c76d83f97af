//! Text of others on a terminal.

use std::fmt::Display;

/// Whether a character is not printed as itself, but moves, colors or turns around what stands beside it.
pub fn is_odd(char: char) -> bool {
    let turns = matches!(
        char,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    char.is_control() || turns || matches!(char, '\u{2028}' | '\u{2029}')
}

/// A name or text of others on one line that a terminal shows as it is: each [odd](is_odd) character is
/// written out.
///
/// ```
/// use brute_host::shown::shown;
///
/// assert_eq!(shown("a\nb\u{1b}[31m\u{202e}"), r"a\nb\u{1b}[31m\u{202e}");
/// assert_eq!(shown("naïve 文.so"), "naïve 文.so");
/// ```
pub fn shown(text: impl Display) -> String {
    let text = text.to_string();
    if !text.contains(is_odd) {
        return text;
    }
    let mut safe = String::with_capacity(2 * text.len());
    for char in text.chars() {
        match is_odd(char) {
            true => safe.extend(char.escape_default()),
            false => safe.push(char),
        }
    }
    safe
}

/// As [`shown`], in lines as the text is.
pub fn shown_lines(text: &str) -> String {
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}
