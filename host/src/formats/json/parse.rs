//! The parser: one pass, no recursion, so that no depth of nesting can exhaust the stack.

use std::fmt::Write as _;

use super::fault::{Fault, Position, excerpt};
use super::scan::special;
use super::string::{Decoder, Wrong, unfinished};
use super::{Kind, Node, Source, Texts};

/// What may stand between tokens.
const WHITE_SPACE: [char; 4] = [' ', '\n', '\r', '\t'];

/// Reads any number of values, separated by white space or nothing. A byte order mark is skipped.
/// Texts are kept as they are decoded only `with_texts`.
pub(super) fn parse(text: String, with_texts: bool) -> Result<Source, (String, Fault)> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut parser = Parser {
        bytes: text.as_bytes(),
        at: start,
        nodes: Vec::with_capacity(text.len() / 256 + 8),
        roots: Vec::new(),
        texts: Texts::default(),
        with_texts,
        open: Vec::new(),
        decoder: Decoder::default(),
    };
    if let Err(expected) = parser.run() {
        let is_end = parser.at >= text.len();
        // What is missing at the end of a file is missing in the line that was begun last.
        let at = if is_end { text.trim_end_matches(WHITE_SPACE).len() } else { parser.at };
        let fault = Fault {
            position: Position::of(&text, at),
            pointer: parser.pointer(&text),
            expected,
            excerpt: excerpt(text.get(parser.at..).unwrap_or_default()),
        };
        return Err((text, fault));
    }
    let Parser { nodes, roots, texts, decoder, .. } = parser;
    let lone_surrogates = decoder.lone_surrogates;
    Ok(Source { text, nodes, roots, lone_surrogates, texts })
}

struct Parser<'t> {
    bytes: &'t [u8],
    at: usize,
    nodes: Vec<Node>,
    roots: Vec<u32>,
    texts: Texts,
    with_texts: bool,
    /// The containers that are not closed yet.
    open: Vec<usize>,
    decoder: Decoder,
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
                self.roots.push(self.nodes.len() as u32);
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
            self.nodes.push(Node::new(kind, self.at, 0, 0));
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
            *node = Node::new(node.kind, node.start(), self.at, next);
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
        self.nodes.push(Node::new(kind, self.at, end, 0));
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
        let start = self.at + 1;
        let special = special(self.bytes, start);
        let found = match self.bytes.get(special) {
            Some(b'"') => {
                self.push(Kind::PlainString, special + 1);
                return Ok(());
            }
            Some(b'\\') => self.decoder.decode(self.bytes, start, special),
            _ => Err(unfinished(self.bytes, special)),
        };
        match found {
            Ok(end) => {
                // There is no such place where no texts are kept.
                let place = match self.with_texts {
                    true => self.texts.push(self.decoder.text()),
                    false => 0,
                };
                self.nodes.push(Node::new(Kind::EscapedString, self.at, end + 1, place));
                self.at = end + 1;
                Ok(())
            }
            Err(Wrong { at, expected }) => {
                self.at = at;
                Err(expected)
            }
        }
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
        for (depth, &container) in self.open.iter().enumerate() {
            let inner = self.open.get(depth + 1);
            let mut last = None;
            let (mut child, mut count) = (container + 1, 0_usize);
            while let Some(node) = self.nodes.get(child) {
                if self.nodes[container].kind == Kind::Array || count.is_multiple_of(2) {
                    last = Some(*node);
                }
                count += 1;
                // What is still open is the last, and its end is not known yet.
                child = match inner == Some(&child) {
                    true => self.nodes.len(),
                    false => node.next(child as u32) as usize,
                };
            }
            let is_array = self.nodes[container].kind == Kind::Array;
            let _ = match last {
                Some(key) if !is_array => {
                    let name = text.get(key.start() + 1..key.end() - 1).unwrap_or_default();
                    write!(pointer, "/{name}")
                }
                Some(_) => write!(pointer, "/{}", count - 1),
                None => Ok(()),
            };
        }
        pointer
    }
}
