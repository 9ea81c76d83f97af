//! The parser: one pass, no recursion, so that no depth of nesting can exhaust the stack.

use std::fmt::Write as _;

use super::fault::{Fault, Position, excerpt};
use super::{Kind, Node, Source};

/// Reads any number of values, separated by white space or nothing. A byte order mark is skipped.
pub(super) fn parse(text: String) -> Result<Source, Fault> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut parser = Parser {
        bytes: text.as_bytes(),
        at: start,
        nodes: Vec::with_capacity(text.len() / 256 + 8),
        roots: Vec::new(),
        open: Vec::new(),
        lone_surrogates: Vec::new(),
    };
    if let Err(expected) = parser.run() {
        let at = parser.at.min(text.len());
        return Err(Fault {
            position: Position::of(&text, at),
            pointer: parser.pointer(&text),
            expected,
            excerpt: excerpt(text.get(at..).unwrap_or_default()),
        });
    }
    let Parser { nodes, roots, lone_surrogates, .. } = parser;
    Ok(Source { text, nodes, roots, lone_surrogates })
}

struct Parser<'t> {
    bytes: &'t [u8],
    at: usize,
    nodes: Vec<Node>,
    roots: Vec<usize>,
    /// The containers that are not closed yet.
    open: Vec<usize>,
    lone_surrogates: Vec<usize>,
}

/// What would have been right.
type Expected = &'static str;

impl Parser<'_> {
    fn run(&mut self) -> Result<(), Expected> {
        loop {
            self.skip_white_space();
            if self.open.is_empty() {
                if self.at == self.bytes.len() {
                    return Ok(());
                }
                self.roots.push(self.nodes.len());
            }
            self.value()?;
            self.after_value()?;
        }
    }

    /// Reads a value, or opens a container and reads up to its first value.
    fn value(&mut self) -> Result<(), Expected> {
        loop {
            let (kind, closing, expected) = match self.bytes.get(self.at) {
                Some(b'{') => (Kind::Object, b'}', "a key or `}`"),
                Some(b'[') => (Kind::Array, b']', "a value or `]`"),
                _ => return self.scalar(),
            };
            let node = self.nodes.len();
            self.nodes.push(Node { kind, start: self.at, end: 0, next: 0 });
            self.open.push(node);
            self.at += 1;
            self.skip_white_space();
            if self.bytes.get(self.at) == Some(&closing) {
                self.close();
                return Ok(());
            }
            if kind == Kind::Object {
                self.key(expected)?;
            } else if self.at == self.bytes.len() {
                return Err(expected);
            }
        }
    }

    /// Reads separators and closing brackets up to where the next value begins.
    fn after_value(&mut self) -> Result<(), Expected> {
        while let Some(&container) = self.open.last() {
            self.skip_white_space();
            let is_object = self.nodes[container].kind == Kind::Object;
            match (self.bytes.get(self.at), is_object) {
                (Some(b','), true) => {
                    self.at += 1;
                    self.skip_white_space();
                    return self.key("a key");
                }
                (Some(b','), false) => {
                    self.at += 1;
                    return Ok(());
                }
                (Some(b'}'), true) | (Some(b']'), false) => self.close(),
                (_, true) => return Err("`,` or `}`"),
                (_, false) => return Err("`,` or `]`"),
            }
        }
        Ok(())
    }

    fn close(&mut self) {
        self.at += 1;
        let next = self.nodes.len();
        if let Some(node) = self.open.pop().and_then(|node| self.nodes.get_mut(node)) {
            node.end = self.at;
            node.next = next;
        }
    }

    fn key(&mut self, expected: Expected) -> Result<(), Expected> {
        if self.bytes.get(self.at) != Some(&b'"') {
            return Err(expected);
        }
        self.string()?;
        self.skip_white_space();
        if self.bytes.get(self.at) != Some(&b':') {
            return Err("`:`");
        }
        self.at += 1;
        self.skip_white_space();
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), Expected> {
        match self.bytes.get(self.at) {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true", Kind::True),
            Some(b'f') => self.word(b"false", Kind::False),
            Some(b'n') => self.word(b"null", Kind::Null),
            _ => Err("a value"),
        }
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Result<(), Expected> {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word) {
            self.push(kind, self.at + word.len());
            return Ok(());
        }
        if word.starts_with(rest) {
            self.at = self.bytes.len();
        }
        Err("a value")
    }

    fn push(&mut self, kind: Kind, end: usize) {
        let next = self.nodes.len() + 1;
        self.nodes.push(Node { kind, start: self.at, end, next });
        self.at = end;
    }

    fn number(&mut self) -> Result<(), Expected> {
        let mut end = self.at;
        let digits = |end: &mut usize| {
            let from = *end;
            while self.bytes.get(*end).is_some_and(u8::is_ascii_digit) {
                *end += 1;
            }
            if *end > from { Ok(()) } else { Err(*end) }
        };
        let mut read = || {
            if self.bytes.get(end) == Some(&b'-') {
                end += 1;
            }
            if self.bytes.get(end) == Some(&b'0') {
                end += 1;
            } else {
                digits(&mut end)?;
            }
            if self.bytes.get(end) == Some(&b'.') {
                end += 1;
                digits(&mut end)?;
            }
            if matches!(self.bytes.get(end), Some(b'e' | b'E')) {
                end += 1;
                if matches!(self.bytes.get(end), Some(b'+' | b'-')) {
                    end += 1;
                }
                digits(&mut end)?;
            }
            Ok(())
        };
        let found: Result<(), usize> = read();
        match found {
            Ok(()) => {
                self.push(Kind::Number, end);
                Ok(())
            }
            Err(at) => {
                self.at = at;
                Err("a digit")
            }
        }
    }

    fn string(&mut self) -> Result<(), Expected> {
        let mut end = self.at + 1;
        let mut kind = Kind::PlainString;
        loop {
            end = special(self.bytes, end);
            match self.bytes.get(end) {
                None => return self.unclosed(end),
                Some(0..0x20) => return self.unescaped_control(end),
                Some(_) => {}
            }
            if self.bytes[end] == b'"' {
                self.push(kind, end + 1);
                return Ok(());
            }
            kind = Kind::EscapedString;
            end = self.escape(end)?;
        }
    }

    /// Where the escape that begins at `at` ends.
    fn escape(&mut self, at: usize) -> Result<usize, Expected> {
        match self.bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => return Ok(at + 2),
            Some(b'u') => {}
            found => {
                self.at = if found.is_none() { self.bytes.len() } else { at };
                return Err("an escape that JSON knows");
            }
        }
        let Some(unit) = code_unit(self.bytes, at) else {
            let is_end =
                self.bytes.len() < at + 6 && self.bytes[at + 2..].iter().all(u8::is_ascii_hexdigit);
            self.at = if is_end { self.bytes.len() } else { at };
            return Err("four hexadecimal digits after `\\u`");
        };
        match unit {
            0xd800..=0xdbff => match code_unit(self.bytes, at + 6) {
                Some(0xdc00..=0xdfff) => Ok(at + 12),
                _ => {
                    self.lone_surrogates.push(at);
                    Ok(at + 6)
                }
            },
            0xdc00..=0xdfff => {
                self.lone_surrogates.push(at);
                Ok(at + 6)
            }
            _ => Ok(at + 6),
        }
    }

    fn unclosed(&mut self, end: usize) -> Result<(), Expected> {
        self.at = end;
        Err("the end of a string")
    }

    fn unescaped_control(&mut self, from: usize) -> Result<(), Expected> {
        let rest = &self.bytes[from..];
        self.at = from + rest.iter().position(|byte| *byte < 0x20).unwrap_or(rest.len());
        // At the end of the file, the string was cut short behind a final line break.
        if rest[self.at - from..].iter().all(u8::is_ascii_whitespace) {
            self.at = self.bytes.len();
            return Err("the end of a string");
        }
        Err("an escape: a control character cannot stand in a string")
    }

    fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// The value that is being read.
    fn pointer(&self, text: &str) -> String {
        let mut pointer = String::new();
        // Writing to a string cannot fail.
        if self.roots.len() > 1 {
            let _ = write!(pointer, "/{}", self.roots.len() - 1);
        }
        for &container in &self.open {
            let mut last = None;
            let (mut child, mut count) = (container + 1, 0_usize);
            while let Some(node) = self.nodes.get(child) {
                if self.nodes[container].kind == Kind::Array || count.is_multiple_of(2) {
                    last = Some(*node);
                }
                count += 1;
                // A container that is still open has no `next` yet.
                child = if node.next == 0 { self.nodes.len() } else { node.next };
            }
            let is_array = self.nodes[container].kind == Kind::Array;
            let _ = match last {
                Some(key) if !is_array => {
                    write!(pointer, "/{}", text.get(key.start + 1..key.end - 1).unwrap_or_default())
                }
                Some(_) => write!(pointer, "/{}", count - 1),
                None => Ok(()),
            };
        }
        pointer
    }
}

/// The UTF-16 code unit that the `\uXXXX` at `at` stands for.
pub(super) fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = bytes.get(at..at + 6)? else {
        return None;
    };
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Where, from `at` on, the first quote, backslash or control character stands; the length if none
/// does. Eight bytes at a time, which beats a search by vectors where escapes are as close as they
/// are in tool output.
fn special(bytes: &[u8], at: usize) -> usize {
    first(bytes, at, |word| {
        let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
        let quote = is_zero(word ^ (ONES * 0x22));
        let backslash = is_zero(word ^ (ONES * 0x5c));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        (quote | backslash | control) & HIGH
    })
}

/// Marks of the backslashes in a word, in the high bits. The lowest mark is right; higher ones need
/// not be.
pub(super) fn backslashes(word: u64) -> u64 {
    let word = word ^ (ONES * 0x5c);
    word.wrapping_sub(ONES) & !word & HIGH
}

/// The first byte that `mark` marks with its high bit, in words of eight bytes. The lowest mark of
/// a word is right; higher ones need not be. Source: "Bit Twiddling Hacks", Sean Eron Anderson,
/// "Determine if a word has a zero byte".
fn first(bytes: &[u8], mut at: usize, mark: impl Fn(u64) -> u64) -> usize {
    while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let marks = mark(u64::from_le_bytes(*word));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    // What is left is padded by bytes that no mark is for.
    let mut word = [b' '; 8];
    let rest = bytes.get(at..).unwrap_or_default();
    word[..rest.len()].copy_from_slice(rest);
    let marks = mark(u64::from_le_bytes(word));
    if marks == 0 { bytes.len() } else { at + marks.trailing_zeros() as usize / 8 }
}
