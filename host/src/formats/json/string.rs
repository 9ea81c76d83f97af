//! The text of strings, out of JSON and into it.

use super::parse::code_unit;
use super::scan::{BLOCK, backslashes};

/// The text that stands between the quotes of a valid JSON string. Half a surrogate pair, which no
/// text can hold, becomes U+FFFD.
pub(crate) fn unescape(raw: &str) -> String {
    let bytes = raw.as_bytes();
    // No escape is shorter than what it stands for, so that this is room enough.
    let mut text = vec![0; bytes.len() + RUN];
    let (mut at, mut length) = (0, 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let marks = match rest.first_chunk() {
            Some(block) => backslashes(block),
            None => {
                let mut padded = [0; BLOCK];
                padded[..rest.len()].copy_from_slice(rest);
                backslashes(&padded)
            }
        };
        (at, length) = unescape_block(bytes, at, marks, &mut text, length);
    }
    text.truncate(length);
    // Cuts are only where a backslash stands, so that no character is torn.
    String::from_utf8(text)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Puts the text of the block at `at`, whose backslashes are `marks`, into `text` behind its first
/// `length` bytes. Where the next block begins, and the new length.
#[inline]
fn unescape_block(
    bytes: &[u8],
    at: usize,
    mut marks: u64,
    text: &mut [u8],
    mut length: usize,
) -> (usize, usize) {
    let end = (at + BLOCK).min(bytes.len());
    let mut from = at;
    while marks != 0 {
        let found = at + marks.trailing_zeros() as usize;
        length += copy(&bytes[from..], found - from, &mut text[length..]);
        let simple = bytes.get(found + 1).map_or(0, |letter| SIMPLE[usize::from(*letter)]);
        if simple == 0 {
            let (character, escape) = unicode(bytes, found);
            length += character.encode_utf8(&mut text[length..]).len();
            from = found + escape;
        } else {
            text[length] = simple;
            length += 1;
            from = found + 2;
        }
        if from >= end {
            return (from, length);
        }
        marks &= u64::MAX << (from - at);
    }
    length += copy(&bytes[from..], end - from, &mut text[length..]);
    (end, length)
}

/// How many bytes are copied at once between escapes; few runs are longer in tool output.
const RUN: usize = 32;

/// Copies the first `length` bytes, and says how many these are. A copy of fixed length, whose
/// surplus the next one writes over, costs less than one that goes by its length.
#[inline]
fn copy(from: &[u8], length: usize, to: &mut [u8]) -> usize {
    match (from.first_chunk::<RUN>(), to.first_chunk_mut::<RUN>()) {
        (Some(from), Some(to)) if length <= RUN => *to = *from,
        _ => to[..length].copy_from_slice(&from[..length]),
    }
    length
}

/// What the letter behind a backslash stands for; 0 if that is not told by the letter alone. A table,
/// because which letter comes next is hard to predict.
const SIMPLE: [u8; 256] = {
    let mut table = [0; 256];
    let letters = *b"\"\\/bfnrt";
    let meant = *b"\"\\/\x08\x0c\n\r\t";
    let mut at = 0;
    while at < letters.len() {
        table[letters[at] as usize] = meant[at];
        at += 1;
    }
    table
};

fn unicode(bytes: &[u8], at: usize) -> (char, usize) {
    let Some(unit) = code_unit(bytes, at) else {
        // In valid JSON there is no other escape; the letter is no longer than what it stands for.
        return ('u', 2);
    };
    if let (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) = (unit, code_unit(bytes, at + 6)) {
        let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

/// `text` as a JSON string, quotes included.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + text.len() / 16 + 2);
    quoted.push('"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0..0x20 => "",
            _ => continue,
        };
        quoted.push_str(&text[plain..at]);
        plain = at + 1;
        if escape.is_empty() {
            quoted.push_str(&format!("\\u{byte:04x}"));
        } else {
            quoted.push_str(escape);
        }
    }
    quoted.push_str(&text[plain..]);
    quoted.push('"');
    quoted
}
