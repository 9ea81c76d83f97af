//! What others wrote, so that a browser takes it for nothing but text.

use brute_core::{Message, Part};
use serde::Serialize;

/// `text` as the content of an element or of an attribute in double quotes.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            character => escaped.push(character),
        }
    }
    escaped
}

/// `value` as JSON that may stand in a `script` element: none of its texts ends that, or begins a comment in it.
pub(super) fn in_script(value: &impl Serialize) -> String {
    // Our own data have string keys only, so that they always serialize; outside of strings JSON has none of these.
    let json = serde_json::to_string(value).unwrap_or_default();
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// All that a message says, for a reader.
pub(super) fn said(message: &Message) -> String {
    let mut said: Vec<String> = Vec::new();
    for part in message.parts() {
        match part {
            Part::Text(text) => said.push(text.to_string()),
            Part::Reasoning(reasoning) => said.push(format!("(reasoning) {}", reasoning.text)),
            Part::Media(media) => said.push(format!("({})", media.kind)),
            Part::ToolCall(call) => said.push(format!("{}({})", call.name, call.arguments)),
            Part::ToolResult(result) => {
                said.push(result.text.to_string());
                said.extend(result.media.iter().map(|media| format!("({})", media.kind)));
            }
            Part::Opaque(opaque) => said.push(format!("({}) {}", opaque.kind, opaque.text)),
        }
    }
    said.join("\n\n")
}

/// `text` with no more than `most` bytes of it: its beginning, and a third of that from its end. What is left out is
/// counted where it stood.
pub(super) fn capped(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let is_whole = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=most - most / 4).rev().find(is_whole).unwrap_or(0);
    let tail = (text.len() - most / 4..=text.len()).find(is_whole).unwrap_or(text.len());
    let left_out = text[head..tail].chars().count() as u64;
    let left_out = crate::style::number(left_out);
    format!("{}\n⋯ {left_out} characters are not on this page ⋯\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_characters_and_says_so() {
        assert_eq!(capped("short", 5), "short");
        let text = "é".repeat(100);
        let cut = capped(&text, 41);
        let (head, rest) = cut.split_once('\n').unwrap();
        let (words, tail) = rest.split_once('\n').unwrap();
        assert_eq!((head.chars().count(), tail.chars().count()), (15, 5));
        assert_eq!(words, "⋯ 80 characters are not on this page ⋯");
    }

    #[test]
    fn no_text_ends_the_script_that_carries_it() {
        let json = in_script(&["</script>", "<!--", "]]>"]);
        assert!(!json.contains(['<', '>', '&']), "{json}");
        let read: Vec<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(read, ["</script>", "<!--", "]]>"]);
    }
}
