//! The text of strings, out of JSON and into it.

use super::scan::{BLOCK, specials};

/// The text of a JSON string without escapes, from its quotes on.
#[inline]
pub(super) fn plain(raw: &str) -> Option<&str> {
    let inner = raw.get(1..raw.len() - 1)?;
    memchr::memchr(b'\\', inner.as_bytes()).is_none().then_some(inner)
}

/// The text of a JSON string that was read before, from its quotes on. Half a surrogate pair, which
/// no text can hold, becomes U+FFFD.
pub(super) fn unescape(raw: &str) -> String {
    // No text is longer than its string, so all the room that it needs can be had at once.
    let mut decoder =
        Decoder { buffer: vec![0; raw.len() + 2 * BLOCK + RUN], ..Decoder::default() };
    // What was read without a mistake once has none.
    let _ = decoder.decode(raw.as_bytes(), 1, 1);
    decoder.take_text()
}

/// What is wrong with a string, and where it was noticed.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) at: usize,
    pub(super) expected: &'static str,
}

/// Reads strings that hold escapes, block by block: checks them, or decodes them as well, which is hardly more.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The text, or of a string that is checked, of its newest block; behind that, room.
    buffer: Vec<u8>,
    length: usize,
    /// Where escapes of half a surrogate pair stand, in all strings so far.
    pub(super) lone_surrogates: Vec<usize>,
}

impl Decoder {
    /// Checks a string from `at` in its text on. Where its closing quote stands.
    pub(super) fn check(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        self.read(bytes, at, false)
    }

    /// Decodes a string whose text begins at `start`, with nothing special before `special`. Where its closing quote
    /// stands.
    pub(super) fn decode(
        &mut self,
        bytes: &[u8],
        start: usize,
        special: usize,
    ) -> Result<usize, Wrong> {
        self.length = 0;
        self.make_room(special - start);
        self.copy(&bytes[start..special]);
        self.read(bytes, special, true)
    }

    /// Reads a string from `at` in its text on, and keeps what it says if it `is_kept`. Where its closing quote stands.
    #[inline]
    fn read(&mut self, bytes: &[u8], mut at: usize, is_kept: bool) -> Result<usize, Wrong> {
        loop {
            if !is_kept {
                self.length = 0;
            }
            match self.next(bytes, at)? {
                Next::Block(next) => at = next,
                Next::Quote(end) => return Ok(end),
            }
        }
    }

    /// The text that was decoded last; the room for it serves for the next one, too, unless it is large.
    pub(super) fn text(&mut self) -> Box<str> {
        if self.length >= LARGE {
            return self.take_text().into();
        }
        let text = &self.buffer[..self.length];
        match str::from_utf8(text) {
            Ok(text) => text.into(),
            Err(_) => String::from_utf8_lossy(text).into(),
        }
    }

    /// The text that was decoded last, in the room that it was decoded into.
    fn take_text(&mut self) -> String {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.truncate(self.length);
        // Cuts are only where a backslash stands, so that no character is torn.
        String::from_utf8(buffer)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Makes room for the block at `at`, and reads it.
    #[inline]
    fn next(&mut self, bytes: &[u8], at: usize) -> Result<Next, Wrong> {
        // No escape is shorter than what it stands for, and none reaches far beyond its block.
        self.make_room(2 * BLOCK);
        self.block(bytes, at)
    }

    /// Sees to it that so many bytes, and a [`RUN`], can be added.
    #[inline]
    fn make_room(&mut self, bytes: usize) {
        let needed = self.length + bytes + RUN;
        if self.buffer.len() < needed {
            self.buffer.resize(needed, 0);
        }
    }

    /// Reads the block at `at`.
    #[inline]
    fn block(&mut self, bytes: &[u8], at: usize) -> Result<Next, Wrong> {
        let rest = &bytes[at..];
        let mut marks = match rest.first_chunk() {
            Some(block) => specials(block),
            None => {
                // A quote behind the end, for the search to stop at.
                let mut padded = [b'"'; BLOCK];
                padded[..rest.len()].copy_from_slice(rest);
                specials(&padded)
            }
        };
        let mut from = at;
        while marks != 0 {
            let found = at + marks.trailing_zeros() as usize;
            self.copy_run(bytes, from, found);
            match bytes.get(found) {
                Some(b'\\') => from = self.escape(bytes, found)?,
                Some(b'"') => return Ok(Next::Quote(found)),
                _ => return Err(unfinished(bytes, found)),
            }
            if from >= at + BLOCK {
                return Ok(Next::Block(from));
            }
            marks &= u64::MAX << (from - at);
        }
        self.copy_run(bytes, from, at + BLOCK);
        Ok(Next::Block(at + BLOCK))
    }

    /// Reads the escape at `at`. Where it ends.
    #[inline]
    fn escape(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        let simple = bytes.get(at + 1).map_or(0, |letter| SIMPLE[usize::from(*letter)]);
        if simple == 0 {
            return self.code_escape(bytes, at);
        }
        self.buffer[self.length] = simple;
        self.length += 1;
        Ok(at + 2)
    }

    /// Reads the escape at `at`, one of a code unit, or none that JSON knows.
    #[inline(never)]
    fn code_escape(&mut self, bytes: &[u8], at: usize) -> Result<usize, Wrong> {
        match bytes.get(at + 1) {
            Some(b'u') => {}
            found => {
                let at = if found.is_none() { bytes.len() } else { at };
                return Err(Wrong { at, expected: "an escape that JSON knows" });
            }
        }
        let Some(unit) = code_unit(bytes, at) else {
            let is_end = bytes.len() < at + 6 && bytes[at + 2..].iter().all(u8::is_ascii_hexdigit);
            let at = if is_end { bytes.len() } else { at };
            return Err(Wrong { at, expected: "four hexadecimal digits after `\\u`" });
        };
        let (code, end) = match (unit, code_unit(bytes, at + 6)) {
            (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
                (0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), at + 12)
            }
            _ => (unit, at + 6),
        };
        let character = char::from_u32(code).unwrap_or_else(|| {
            self.lone_surrogates.push(at);
            char::REPLACEMENT_CHARACTER
        });
        self.length += character.encode_utf8(&mut self.buffer[self.length..]).len();
        Ok(end)
    }

    #[inline]
    fn copy(&mut self, run: &[u8]) {
        self.buffer[self.length..self.length + run.len()].copy_from_slice(run);
        self.length += run.len();
    }

    /// Adds the bytes between two places. Few runs are longer than a [`RUN`] in tool output, and a copy
    /// of fixed length, whose surplus the next one writes over, costs less than one that goes by its
    /// length.
    #[inline]
    fn copy_run(&mut self, bytes: &[u8], from: usize, to: usize) {
        let (run, room) = (&bytes[from..], &mut self.buffer[self.length..]);
        match (run.first_chunk::<RUN>(), room.first_chunk_mut::<RUN>()) {
            (Some(run), Some(room)) if to - from <= RUN => {
                *room = *run;
                self.length += to - from;
            }
            _ => self.copy(&bytes[from..to]),
        }
    }
}

/// Texts of so many bytes are not copied to where they stay: the memory for twice as much would be had for a while.
const LARGE: usize = 1 << 20;

/// How many bytes are copied at once.
const RUN: usize = 32;

/// What follows a block.
enum Next {
    /// The block that begins there.
    Block(usize),
    /// Nothing: the closing quote stands there.
    Quote(usize),
}

/// A string that goes on where it must not: into a control character, or to the end of the text.
pub(super) fn unfinished(bytes: &[u8], at: usize) -> Wrong {
    // At the end of the file, the string was cut short behind a final line break.
    if bytes[at..].iter().all(u8::is_ascii_whitespace) {
        return Wrong { at: bytes.len(), expected: "the end of a string" };
    }
    Wrong { at, expected: "an escape: a control character cannot stand in a string" }
}

/// The UTF-16 code unit that the `\uXXXX` at `at` stands for.
fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes.get(at..at + 6)? else {
        return None;
    };
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
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
