//! What the blocks that only a provider can read occupy in the window.

use brute_core::{Opaque, Part};

use super::json::{View, compact_with};

/// A block as an opaque part. What counts is its JSON, with three exceptions: signatures and base64
/// files count nothing, and encrypted text counts as the text that it hides.
pub(super) fn part(block: View<'_>) -> Part {
    let kind = block.get("type").and_then(View::string).unwrap_or_else(|| "unknown".to_owned());
    let text = compact_with(block, |key, value| match key {
        "signature" | "data" | "file_data" => Some("\"\"".to_owned()),
        "encrypted_content" | "encrypted_index" => {
            Some(format!("\"{}\"", hidden(value.raw().len())))
        }
        _ => None,
    });
    Part::Opaque(Opaque { kind: kind.into(), text: text.into() })
}

/// A text that counts what encrypted text of so many base64 characters hides: three bytes for four
/// characters, and a token for four bytes. The words are one token of four bytes each, for the
/// counters that ship.
pub(super) fn hidden(base64: usize) -> String {
    " the".repeat(base64 / 4 * 3 / 4)
}
