//! The text of strings, out of JSON and into it.

use super::parse::{backslash, code_unit};

/// The text that stands between the quotes of a valid JSON string. Half a surrogate pair, which no
/// text can hold, becomes U+FFFD.
pub(crate) fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let bytes = raw.as_bytes();
    let mut at = 0;
    loop {
        let found = backslash(bytes, at);
        text.push_str(&raw[at..found]);
        if found == bytes.len() {
            return text;
        }
        let (character, length) = escaped(bytes, found);
        text.push(character);
        at = found + length;
    }
}

/// The character that the escape at `at` stands for, and how long the escape is.
fn escaped(bytes: &[u8], at: usize) -> (char, usize) {
    let simple = match bytes.get(at + 1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(bytes, at),
        Some(other) => char::from(*other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (simple, 2.min(bytes.len() - at))
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
