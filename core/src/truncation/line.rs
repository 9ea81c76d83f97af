//! One line of the text as it will be shown.

use std::borrow::Cow;

use super::boundary::{CONTEXT, ceil, floor};
use super::{Keep, Limits};

/// What stands where the middle or an end of a line was.
const MARK: (&str, &str) = ("[...", " characters cut...]");
/// The longest mark, in bytes: the two halves around the longest `u64`.
const MARK_BYTES: usize = 4 + 20 + 19;

/// How much of a long line is kept, by the limits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Lines of more characters than this count as cut.
    longest: usize,
    /// Characters kept from the beginning and from the end of a longer line.
    start: usize,
    end: usize,
}

impl Shape {
    pub(super) fn new(limits: &Limits) -> Self {
        // No more characters than bytes are ever shown, so no more need be held.
        let most = limits.max_line_chars.min(limits.max_bytes);
        let (start, end) = match limits.keep {
            Keep::Head => (most, 0),
            Keep::Tail => (0, most),
            Keep::Ends => (most.div_ceil(2), most / 2),
        };
        Self { longest: limits.max_line_chars, start, end }
    }

    /// Lines of no more bytes than this are shown whole.
    pub(super) fn most(self) -> usize {
        self.start + self.end
    }

    /// A line of more bytes than this is too long whatever is in it: a decoded character takes four
    /// bytes at most. So many bytes also hold the kept beginning and the cluster behind it.
    pub(super) fn start_bytes(self) -> usize {
        self.most().saturating_mul(4).saturating_add(CONTEXT)
    }

    /// So many bytes hold the kept end and what it may not be torn from.
    pub(super) fn end_bytes(self) -> usize {
        if self.end == 0 { 0 } else { self.end.saturating_mul(4).saturating_add(CONTEXT) }
    }
}

/// One line as it will be shown: whole, or a beginning and an end around a mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// 1 is the first line of the text.
    pub(super) number: u64,
    start: String,
    end: String,
    /// Characters of the line that are in neither.
    missing: u64,
    /// `""`, `"\n"` or `"\r\n"`.
    eol: &'static str,
    /// The line is longer than `max_line_chars`.
    pub(super) is_cut: bool,
    /// It is shown in part because it does not fit in `max_bytes`.
    pub(super) is_partial: bool,
    /// It holds NUL or invalid UTF-8 bytes, which are shown as something else.
    pub(super) is_replaced: bool,
}

impl Line {
    /// A line that lies in memory, without its end of line.
    pub(super) fn of(number: u64, bytes: &[u8], eol: &'static str, shape: Shape) -> Self {
        if bytes.len() <= shape.most() {
            return Self::whole(number, bytes, eol);
        }
        let chars = CharCount::of(bytes);
        if chars <= shape.most() as u64 {
            return Self::whole(number, bytes, eol);
        }
        let start = bytes.get(..shape.start_bytes()).unwrap_or(bytes);
        let end = bytes.len().checked_sub(shape.end_bytes()).map_or(bytes, |at| &bytes[at..]);
        Self::cut(number, start, end, chars, eol, shape)
    }

    /// A line that was shown before, in a text that carries our notice.
    pub(super) fn shown(number: u64, text: &str, eol: &'static str, shape: Shape) -> Self {
        // Its own mark does not make it longer than it may be.
        let is_cut = text.split_once(MARK.0).is_some_and(|(_, rest)| rest.contains(MARK.1));
        let line = if is_cut && text.chars().count() <= shape.longest.saturating_add(MARK_BYTES) {
            Self::whole(number, text.as_bytes(), eol)
        } else {
            Self::of(number, text.as_bytes(), eol, shape)
        };
        Self {
            is_replaced: text.contains(['\u{fffd}', NUL_SIGN]) || text.contains(NUL_RUN),
            is_cut: is_cut || line.is_cut,
            ..line
        }
    }

    fn whole(number: u64, bytes: &[u8], eol: &'static str) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let is_replaced = matches!(text, Cow::Owned(_)) || has_nul(bytes);
        Self {
            number,
            start: without_nul(text.into_owned()),
            end: String::new(),
            missing: 0,
            eol,
            is_cut: false,
            is_partial: false,
            is_replaced,
        }
    }

    /// A line of `chars` characters, too many, of which the first and last bytes are at hand.
    pub(super) fn cut(
        number: u64,
        start: &[u8],
        end: &[u8],
        chars: u64,
        eol: &'static str,
        shape: Shape,
    ) -> Self {
        let start = String::from_utf8_lossy(start);
        let at = start.char_indices().nth(shape.start).map_or(start.len(), |(at, _)| at);
        let start = &start[..floor(&start, at)];

        // The cut through the raw bytes may have left the last bytes of a character in front.
        let torn = end.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let end = String::from_utf8_lossy(&end[torn..]);
        let at = match shape.end.checked_sub(1) {
            Some(last) => end.char_indices().rev().nth(last).map_or(0, |(at, _)| at),
            None => end.len(),
        };
        let end = &end[ceil(&end, at)..];

        let kept = start.chars().count() + end.chars().count();
        Self {
            number,
            is_replaced: [start, end].iter().any(|text| text.contains(['\u{fffd}', '\0'])),
            start: without_nul(start.to_owned()),
            end: without_nul(end.to_owned()),
            missing: chars.saturating_sub(kept as u64),
            eol,
            is_cut: chars > shape.longest as u64,
            is_partial: chars <= shape.longest as u64,
        }
    }

    /// The bytes that it takes, end of line included.
    pub(super) fn size(&self) -> usize {
        let mark = if self.missing == 0 { 0 } else { self.mark().len() };
        self.start.len() + mark + self.end.len() + self.eol.len()
    }

    /// The bytes of the text itself, without the mark.
    pub(super) fn text_size(&self) -> usize {
        self.start.len() + self.end.len() + self.eol.len()
    }

    pub(super) fn write(&self, out: &mut String) {
        out.push_str(&self.start);
        if self.missing > 0 {
            out.push_str(&self.mark());
        }
        out.push_str(&self.end);
        out.push_str(self.eol);
    }

    fn mark(&self) -> String {
        format!("{}{}{}", MARK.0, self.missing, MARK.1)
    }

    /// As much of the line as fits in `room` bytes, or nothing if that is not worth showing.
    pub(super) fn within(&self, room: usize, keep: Keep) -> Option<Self> {
        let room = room.checked_sub(MARK_BYTES + self.eol.len()).filter(|room| *room > 0)?;
        // An uncut line lies in `start` alone.
        let last = if self.missing == 0 { &self.start } else { &self.end };
        let (first_room, last_room) = match keep {
            Keep::Head => (room, 0),
            Keep::Tail => (0, room),
            Keep::Ends => (room.div_ceil(2), room / 2),
        };
        let start = &self.start[..floor(&self.start, first_room)];
        let end = &last[ceil(last, last.len().saturating_sub(last_room))..];
        let held = self.start.chars().count() + self.end.chars().count();
        let kept = start.chars().count() + end.chars().count();
        (kept > 0 && kept < held).then(|| Self {
            start: start.to_owned(),
            end: end.to_owned(),
            missing: self.missing + (held - kept) as u64,
            is_partial: true,
            ..self.clone()
        })
    }
}

/// Takes the carriage return of a CRLF from the end of a line.
pub(super) fn split_cr(line: &[u8]) -> (&[u8], &'static str) {
    match line.strip_suffix(b"\r") {
        Some(line) => (line, "\r\n"),
        None => (line, "\n"),
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

pub(super) fn has_nul(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_some()
}

/// Shown for a NUL: some receivers take one for the end of a text.
const NUL_SIGN: char = '␀';
const NUL_RUN: &str = "[NUL x ";
/// A run of this many NULs is shown as its length.
const LONG_NUL_RUN: usize = 4;

fn without_nul(text: String) -> String {
    if !has_nul(text.as_bytes()) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('\0') {
        out.push_str(&rest[..at]);
        let behind = rest[at..].trim_start_matches('\0');
        let run = rest.len() - at - behind.len();
        if run < LONG_NUL_RUN {
            out.extend(std::iter::repeat_n(NUL_SIGN, run));
        } else {
            out.push_str(&format!("{NUL_RUN}{run}]"));
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Counts the characters of a text that comes in pieces, each invalid sequence as one, just as
/// `String::from_utf8_lossy` would show it.
#[derive(Debug, Clone, Default)]
pub(super) struct CharCount {
    count: u64,
    /// The first bytes of a character whose other bytes are yet to come.
    open: Vec<u8>,
}

impl CharCount {
    fn of(bytes: &[u8]) -> u64 {
        let mut count = Self::default();
        count.push(bytes);
        count.finish()
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        while let (false, Some((first, rest))) = (self.open.is_empty(), bytes.split_first()) {
            self.open.push(*first);
            match std::str::from_utf8(&self.open) {
                Ok(_) => bytes = rest,
                Err(error) if error.error_len().is_none() => {
                    bytes = rest;
                    continue;
                }
                // The byte does not belong to it: the open one is invalid, the byte starts anew.
                Err(_) => {}
            }
            self.count += 1;
            self.open.clear();
        }
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.count += chunk.valid().chars().count() as u64;
            let invalid = chunk.invalid();
            match std::str::from_utf8(invalid) {
                Ok(_) => {}
                // At the end of the piece, it may be a character that goes on in the next one.
                Err(error) if error.error_len().is_none() && chunks.peek().is_none() => {
                    self.open.extend_from_slice(invalid);
                }
                Err(_) => self.count += 1,
            }
        }
    }

    pub(super) fn finish(&self) -> u64 {
        self.count + u64::from(!self.open.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(line: &Line) -> String {
        let mut out = String::new();
        line.write(&mut out);
        out
    }

    #[test]
    fn nul_is_shown_and_counted() {
        for (text, expected) in
            [("a\0b", "a␀b"), ("\0\0\0", "␀␀␀"), ("x\0\0\0\0y\0", "x[NUL x 4]y␀")]
        {
            assert_eq!(without_nul(text.into()), expected);
        }
    }

    #[test]
    fn a_long_line_keeps_what_the_mode_says() {
        let limits = |keep| Limits { max_line_chars: 4, keep, ..Limits::default() };
        for (keep, expected) in [
            (Keep::Head, "0123[...6 characters cut...]\r\n"),
            (Keep::Tail, "[...6 characters cut...]6789\r\n"),
            (Keep::Ends, "01[...6 characters cut...]89\r\n"),
        ] {
            let line = Line::of(1, b"0123456789", "\r\n", Shape::new(&limits(keep)));
            assert_eq!(shown(&line), expected);
            assert_eq!(line.size(), expected.len());
            assert!(line.is_cut && !line.is_partial);
        }
    }

    proptest! {
        #[test]
        fn characters_are_counted_as_they_are_shown(
            bytes in prop::collection::vec(prop::sample::select(&b"a\xe4\xb8\xad\xf0\x9f\x98\x80\xff\xc3"[..]), 0..40),
            at in 0usize..40,
        ) {
            let at = at.min(bytes.len());
            let mut count = CharCount::default();
            count.push(&bytes[..at]);
            count.push(&bytes[at..]);
            let whole = String::from_utf8_lossy(&bytes).chars().count() as u64;
            prop_assert_eq!(count.finish(), whole);
        }
    }
}
