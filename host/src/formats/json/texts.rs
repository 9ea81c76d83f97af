//! Texts that were decoded as they were checked.

use super::View;
use super::string::{Decoder, plain, unescape};

/// The texts of the long strings that hold escapes. Checking such a string is most of the way to decoding it, so the
/// parser does both, and who wants to own the text takes it from here.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    /// Each with where its string begins, in the order of the text.
    texts: Vec<(u32, Box<str>)>,
}

impl Texts {
    /// Texts of so many bytes are worth a place here; shorter ones are decoded twice.
    const LONG: usize = 64;

    /// Adds the text of the string that stands between two places, behind all others, if it is long. The cast loses
    /// nothing: no longer text is parsed.
    pub(super) fn keep(&mut self, start: usize, end: usize, decoder: &mut Decoder) {
        if end - start >= Self::LONG {
            self.texts.push((start as u32, decoder.text()));
        }
    }

    /// The text of a string, decoded anew if it is short or was taken before; none of anything else.
    pub(crate) fn take(&mut self, string: View<'_>) -> Option<Box<str>> {
        let raw = string.raw_string()?;
        if let Some(plain) = plain(raw) {
            return Some(plain.into());
        }
        let place = self.texts.binary_search_by_key(&string.index(), |(start, _)| *start).ok();
        let kept = place.map(|place| std::mem::take(&mut self.texts[place].1));
        // What an escape is in is not empty, unless it was taken.
        Some(kept.filter(|text| !text.is_empty()).unwrap_or_else(|| unescape(raw).into()))
    }
}
