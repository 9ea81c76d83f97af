//! Where values end, in text that is known to be JSON.
//!
//! Nothing is kept for a value that is short: it ends where a look at its bytes says so, and that costs no more than
//! a look at what would have been kept. Long values are few, and of those the ends are kept.

use super::scan::{quote_or_backslash, special};

/// Values of so many bytes are long.
const LONG: usize = 128;

/// No ends are kept of arrays and objects that stand deeper than this in others: then those that are kept take no
/// more than the text does, and nobody writes deeper.
pub(super) const DEEP: usize = 16;

/// So many bytes of the text share a place in the index.
const BLOCK: usize = 256;

/// Where the long values of a text begin and end.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// In the order of the text.
    long: Vec<(u32, u32)>,
    /// For each block of the text, the place of the first that begins there or behind it.
    first: Vec<u32>,
}

impl Ends {
    /// Keeps the end of a value, if it is long. The casts lose nothing: no longer text is parsed.
    #[inline]
    pub(super) fn keep(&mut self, start: usize, end: usize) {
        if end - start >= LONG {
            self.long.push((start as u32, end as u32));
        }
    }

    /// Puts them in order, once all are there.
    pub(super) fn settle(&mut self) {
        self.long.sort_unstable();
        self.long.shrink_to_fit();
        let last = self.long.last().map_or(0, |(start, _)| *start as usize / BLOCK + 1);
        self.first = Vec::with_capacity(last);
        for (place, (start, _)) in (0..).zip(&self.long) {
            self.first.resize(self.first.len().max(*start as usize / BLOCK + 1), place);
        }
    }

    /// Where the value that begins at `start` ends, if it is a long one.
    #[inline]
    fn of(&self, start: usize) -> Option<usize> {
        let first = *self.first.get(start / BLOCK)?;
        let near = self.long.get(first as usize..)?.iter();
        let found = near.take_while(|(at, _)| *at as usize <= start).last()?;
        (found.0 as usize == start).then_some(found.1 as usize)
    }

    /// Where the value that begins at `start` ends.
    #[inline]
    pub(super) fn value(&self, bytes: &[u8], start: usize) -> usize {
        match bytes.get(start) {
            Some(b'"') => self.string(bytes, start),
            Some(b'{' | b'[') => match self.of(start) {
                Some(end) => end,
                None => self.container(bytes, start),
            },
            _ => scalar(bytes, start),
        }
    }

    /// Where the string whose opening quote stands at `start` ends, its closing quote included.
    #[inline]
    pub(super) fn string(&self, bytes: &[u8], start: usize) -> usize {
        // Most are keys and names of a word or two, whose ends are found sooner than they are looked up.
        match short_string(bytes, start + 1) {
            Some(end) => end,
            None => self.of(start).unwrap_or_else(|| long_string(bytes, start + 1)),
        }
    }

    fn container(&self, bytes: &[u8], start: usize) -> usize {
        let (mut at, mut depth) = (start, 0_usize);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'"' => {
                    at = self.string(bytes, at);
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            at += 1;
            if depth == 0 {
                return at;
            }
        }
        bytes.len()
    }
}

/// Where a string whose text begins at `start` ends, if that is near and no escape stands before it.
#[inline]
fn short_string(bytes: &[u8], start: usize) -> Option<usize> {
    const WORDS: usize = 4;
    let near = bytes.get(start..)?.first_chunk::<{ 8 * WORDS }>()?;
    let (words, _) = near.as_chunks::<8>();
    let mut at = start;
    for word in words {
        if let Some(place) = quote_or_backslash(*word) {
            let end = at + place;
            return (bytes[end] == b'"').then_some(end + 1);
        }
        at += 8;
    }
    None
}

/// Where a string ends, looked for from `at` in it on.
fn long_string(bytes: &[u8], mut at: usize) -> usize {
    while at < bytes.len() {
        at = special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => break,
        }
    }
    bytes.len()
}

/// Where a number or a word ends.
pub(super) fn scalar(bytes: &[u8], start: usize) -> usize {
    let is_of_it = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().position(|byte| !is_of_it(byte)).unwrap_or(rest.len())
}

/// Where, from `at` on, something else than white space stands.
#[inline]
pub(super) fn behind_white_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}
