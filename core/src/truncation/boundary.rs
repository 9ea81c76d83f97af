//! Where a text may be cut: never inside a grapheme cluster or a terminal escape sequence.

use memchr::memchr2_iter;
use unicode_segmentation::GraphemeCursor;

/// How many bytes before a cut are looked at to find what the cut would split.
///
/// A grapheme cluster or an escape sequence that is longer than this (a run of more than 128 flags,
/// a hyperlink with a longer address) may be split. The bound is what keeps streaming in memory.
pub(super) const CONTEXT: usize = 1024;

/// The last place at or before byte `at` where `text` may be cut.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    if at == text.len() {
        return at;
    }
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    if !between_clusters(text, at) {
        at = GraphemeCursor::new(at, text.len(), true)
            .prev_boundary(text, 0)
            .ok()
            .flatten()
            .unwrap_or(0);
    }
    match sequence_around(text, at) {
        // An escape character always begins a cluster.
        Some((start, _)) => start,
        None => at,
    }
}

/// The first place at or behind byte `at` where `text` may be cut.
pub(super) fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    loop {
        if at == text.len() {
            return at;
        }
        if !between_clusters(text, at) {
            at = GraphemeCursor::new(at, text.len(), true)
                .next_boundary(text, 0)
                .ok()
                .flatten()
                .unwrap_or(text.len());
        }
        match sequence_around(text, at) {
            // A combining character may follow the sequence: look again.
            Some((_, end)) => at = end,
            None => return at,
        }
    }
}

/// Whether the character boundary `at` lies between two grapheme clusters.
fn between_clusters(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let (Some(before), Some(after)) =
        (at.checked_sub(1).and_then(|index| bytes.get(index)), bytes.get(at))
    else {
        return true;
    };
    if before.is_ascii() && after.is_ascii() {
        return !(*before == b'\r' && *after == b'\n');
    }
    GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(true)
}

/// The escape sequence that a cut at `at` would split.
fn sequence_around(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let from = at.saturating_sub(CONTEXT);
    let mut behind = from;
    // ESC, and the first byte of U+009B, the one-character form of `ESC [`.
    for start in memchr2_iter(0x1b, 0xc2, bytes.get(from..at)?).map(|found| found + from) {
        if start < behind {
            continue;
        }
        let Some(end) = sequence_end(bytes, start) else { continue };
        if end > at {
            return Some((start, end));
        }
        behind = end;
    }
    None
}

/// Where the escape sequence that begins at `start` ends, by ECMA-48 (5.4 and 5.6) and ECMA-35 (13.2).
/// One that is not finished reaches to the end of the text.
fn sequence_end(bytes: &[u8], start: usize) -> Option<usize> {
    let second = *bytes.get(start + 1).unwrap_or(&0);
    let end = match (*bytes.get(start)?, second) {
        (0x1b, b'[') | (0xc2, 0x9b) => control_end(bytes, start + 2),
        (0xc2, _) => return None,
        // Operating system command and the other control strings.
        (_, b']' | b'P' | b'X' | b'^' | b'_') => string_end(bytes, start + 2),
        // Escape with intermediates: `ESC ( B`.
        (_, 0x20..=0x2f) => {
            let last = skip(bytes, start + 2, |byte| matches!(byte, 0x20..=0x2f));
            if matches!(bytes.get(last), Some(0x30..=0x7e)) { last + 1 } else { last }
        }
        (_, 0x30..=0x7e) => start + 2,
        _ => start + 1,
    };
    // What is longer than the context is not found from its other end, so it counts as text.
    if end - start > CONTEXT { Some((start + 2).min(bytes.len())) } else { Some(end) }
}

/// The end of a control sequence: parameters, intermediates, one final byte from 0x40 to 0x7E.
fn control_end(bytes: &[u8], from: usize) -> usize {
    let parameters = skip(bytes, from, |byte| matches!(byte, 0x30..=0x3f));
    let last = skip(bytes, parameters, |byte| matches!(byte, 0x20..=0x2f));
    match bytes.get(last) {
        Some(0x40..=0x7e) => last + 1,
        // Broken off by something else, which is not part of it.
        _ => last,
    }
}

/// The end of a control string: BEL, `ESC \`, or what cancels it.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let last = skip(bytes, from, |byte| !matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b | b'\n'));
    match (bytes.get(last), bytes.get(last + 1)) {
        (Some(0x07 | 0x18 | 0x1a), _) => last + 1,
        (Some(0x1b), Some(b'\\')) => last + 2,
        (Some(0x1b), None) => last + 1,
        _ => last,
    }
}

fn skip(bytes: &[u8], from: usize, inside: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    // One byte past the context is enough to know that the sequence is too long.
    let rest = rest.get(..CONTEXT + 1).unwrap_or(rest);
    from + rest.iter().position(|byte| !inside(*byte)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_stays_out_of_clusters_and_sequences() {
        // Text, where a cut is asked for, where it goes downward, and upward.
        let table: &[(&str, usize, usize, usize)] = &[
            ("plain", 3, 3, 3),
            ("a\r\nb", 2, 1, 3),
            ("a😀b", 2, 1, 5),
            ("ae\u{301}x", 2, 1, 4),
            // A family of four is one cluster.
            ("x👨‍👩‍👧‍👦y", 8, 1, 26),
            ("x🇩🇪🇫🇷y", 5, 1, 9),
            ("x🇩🇪🇫🇷y", 13, 9, 17),
            ("ab\x1b[38;5;12mred", 4, 2, 12),
            ("ab\x1b[3~c", 5, 2, 6),
            ("ab\x1b[?25lc", 6, 2, 8),
            ("ab\u{9b}31mc", 4, 2, 7),
            ("ab\x1b(Bc", 4, 2, 5),
            ("ab\x1b]0;title\x07c", 6, 2, 12),
            ("ab\x1b]8;;http://e.x\x1b\\link", 16, 2, 19),
            ("ab\x1b]8;;http://e.x\x1b\\link", 18, 2, 19),
            ("ab\x1b[31", 4, 2, 6),
            // The final byte takes a combining character: the cut goes behind both.
            ("a\x1b[1m\u{301}z", 3, 1, 7),
        ];
        for (text, at, down, up) in table {
            assert_eq!(floor(text, *at), *down, "floor of {text:?} at {at}");
            assert_eq!(ceil(text, *at), *up, "ceil of {text:?} at {at}");
        }
    }

    #[test]
    fn an_endless_sequence_is_text() {
        let text = format!("\x1b]0;{}", "t".repeat(3 * CONTEXT));
        assert_eq!(floor(&text, 2000), 2000);
        assert_eq!(ceil(&text, 2000), 2000);
    }
}
