//! The text of strings, out of JSON and into it.

use super::parse::{backslashes, code_unit};

/// The text that stands between the quotes of a valid JSON string. Half a surrogate pair, which no
/// text can hold, becomes U+FFFD.
///
/// Words of eight bytes are copied before it is known how much of them is text: what an escape makes
/// superfluous is cut off again. Escapes are close in tool output, and a copy of fixed length costs
/// less than one that first finds out its length.
pub(crate) fn unescape(raw: &str) -> String {
    const WORD: usize = size_of::<u64>();
    let bytes = raw.as_bytes();
    let mut text = Vec::with_capacity(raw.len() + WORD);
    let mut at = 0;
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<WORD>()) {
        text.extend_from_slice(word);
        let found = backslashes(u64::from_le_bytes(*word));
        if found == 0 {
            at += WORD;
            continue;
        }
        let plain = found.trailing_zeros() as usize / 8;
        text.truncate(text.len() - (WORD - plain));
        at += plain;
        at += escape(bytes, at, &mut text);
    }
    while let Some(byte) = bytes.get(at) {
        if *byte == b'\\' {
            at += escape(bytes, at, &mut text);
        } else {
            text.push(*byte);
            at += 1;
        }
    }
    // Cuts are only where a backslash stands, so that no character is torn.
    String::from_utf8(text)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Adds what the escape at `at` stands for; how long the escape is.
fn escape(bytes: &[u8], at: usize, text: &mut Vec<u8>) -> usize {
    let simple = match bytes.get(at + 1) {
        Some(b'n') => b'\n',
        Some(b't') => b'\t',
        Some(b'r') => b'\r',
        Some(b'b') => 0x08,
        Some(b'f') => 0x0c,
        Some(other) if *other != b'u' && other.is_ascii() => *other,
        _ => {
            let (character, length) = unicode(bytes, at);
            text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return length;
        }
    };
    text.push(simple);
    2
}

fn unicode(bytes: &[u8], at: usize) -> (char, usize) {
    let Some(unit) = code_unit(bytes, at) else {
        return (char::REPLACEMENT_CHARACTER, 2);
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
