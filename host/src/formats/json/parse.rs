//! The parser: one pass, no recursion, so that no depth of nesting can exhaust the stack.

use std::fmt::Write as _;

use super::fault::{Fault, Position, excerpt};
use super::scan::{BLOCK, block, special, specials};
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
            end = self.escapes(end)?;
        }
    }

    /// From the backslash at `at`, passes escapes and what is between them, block by block: where one
    /// is, more are near. Returns a place in the string at or before its end.
    fn escapes(&mut self, at: usize) -> Result<usize, Expected> {
        let mut at = self.escape(at)?;
        while let Some(bytes) = block(self.bytes, at) {
            let mut marks = specials(bytes);
            let mut passed = 0;
            while marks != 0 {
                let place = marks.trailing_zeros() as usize;
                if bytes[place] != b'\\' {
                    return Ok(at + place);
                }
                passed = self.escape(at + place)? - at;
                if passed >= BLOCK {
                    break;
                }
                marks &= u64::MAX << passed;
            }
            at += passed.max(BLOCK);
        }
        Ok(at)
    }

    /// Where the escape that begins at `at` ends.
    #[inline]
    fn escape(&mut self, at: usize) -> Result<usize, Expected> {
        match self.bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            _ => self.code_escape(at),
        }
    }

    /// Where the escape that begins at `at` ends, one of a code unit, or none that JSON knows.
    #[inline(never)]
    fn code_escape(&mut self, at: usize) -> Result<usize, Expected> {
        match self.bytes.get(at + 1) {
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
