//! The parser: one pass, no recursion, so that no depth of nesting can exhaust the stack.

use super::ends::{DEEP, Ends, behind_white_space};
use super::fault::{Fault, Position, excerpt};
use super::scan::special;
use super::string::{Decoder, Wrong, unfinished};
use super::{Source, Texts, Token, Tokens, pointers};

/// What may stand between tokens.
const WHITE_SPACE: [char; 4] = [' ', '\n', '\r', '\t'];

/// Reads any number of values, separated by white space or nothing. A byte order mark is skipped. Text that is no
/// JSON comes back with what is wrong.
pub(super) fn parse(text: String, keep: Keep) -> Result<Source, (String, Fault)> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut parser = Parser {
        bytes: text.as_bytes(),
        at: start,
        begun: usize::MAX,
        roots: 0,
        open: Vec::new(),
        starts: [0; DEEP],
        ends: Ends::default(),
        decoder: Decoder::default(),
        texts: Texts::default(),
        keep,
    };
    let expected = parser.run().err();
    let is_element = parser.open.last() == Some(&false);
    let Parser { at: failed, begun, roots, mut ends, decoder, texts, .. } = parser;
    ends.settle();
    let lone_surrogates = decoder.lone_surrogates;
    let source = Source { text, start, roots, ends, lone_surrogates, texts };
    let Some(expected) = expected else { return Ok(source) };
    let before = Tokens::between(&source, start, begun.min(failed));
    // What was begun is the newest element, whatever would have become of it.
    let element = (is_element && begun <= failed).then(|| Token::Scalar(source.at(begun as u32)));
    let (_, way) = pointers::way(before.chain(element), None);
    let pointer = pointers::root_pointer(roots.saturating_sub(1), roots) + &way;
    let text = source.into_text();
    let is_end = failed >= text.len();
    // What is missing at the end of a file is missing in the line that was begun last.
    let at = if is_end { text.trim_end_matches(WHITE_SPACE).len() } else { failed };
    let fault = Fault {
        position: Position::of(&text, at),
        pointer,
        expected,
        excerpt: excerpt(text.get(failed..).unwrap_or_default()),
    };
    Err((text, fault))
}

struct Parser<'t> {
    bytes: &'t [u8],
    at: usize,
    /// Where the string, number or word begins that is being read; beyond all, once it is.
    begun: usize,
    /// How many values were begun that are in no other.
    roots: usize,
    /// The containers that are not closed yet: whether each is an object.
    open: Vec<bool>,
    /// Where the outermost of these begin.
    starts: [usize; DEEP],
    ends: Ends,
    decoder: Decoder,
    texts: Texts,
    keep: Keep,
}

/// What is kept of a text beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Where long values end.
    Ends,
    /// That, and the [`Texts`].
    EndsAndTexts,
}

/// What would have been right.
type Expected = &'static str;

impl Parser<'_> {
    fn run(&mut self) -> Result<(), Expected> {
        loop {
            let behind = self.at;
            self.skip_white_space();
            if self.open.is_empty() {
                if self.at == self.bytes.len() {
                    return Ok(());
                }
                // Two numbers or words with nothing between them would be another one.
                let is_glued = self.roots > 0 && self.at == behind;
                let is_of_word = |at: usize| !b"\"[]{}".contains(&self.bytes[at]);
                self.roots += 1;
                if is_glued && is_of_word(behind - 1) && is_of_word(behind) {
                    return Err("white space");
                }
            }
            self.value()?;
            self.after_value()?;
        }
    }

    /// Reads a value, or opens a container and reads up to its first value.
    fn value(&mut self) -> Result<(), Expected> {
        loop {
            let (is_object, closing, expected) = match self.bytes.get(self.at) {
                Some(b'{') => (true, b'}', "a key or `}`"),
                Some(b'[') => (false, b']', "a value or `]`"),
                _ => return self.scalar(),
            };
            if let Some(start) = self.starts.get_mut(self.open.len()) {
                *start = self.at;
            }
            self.open.push(is_object);
            self.at += 1;
            self.skip_white_space();
            if self.bytes.get(self.at) == Some(&closing) {
                self.close();
                return Ok(());
            }
            if is_object {
                self.key(expected)?;
            } else if self.at == self.bytes.len() {
                return Err(expected);
            }
        }
    }

    /// Reads separators and closing brackets up to where the next value begins.
    fn after_value(&mut self) -> Result<(), Expected> {
        while let Some(&is_object) = self.open.last() {
            self.skip_white_space();
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
        self.open.pop();
        if let Some(start) = self.starts.get(self.open.len()) {
            self.ends.keep(*start, self.at);
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
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => Err("a value"),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Expected> {
        self.begun = self.at;
        let rest = &self.bytes[self.at..];
        if rest.starts_with(word) {
            self.over(self.at + word.len());
            return Ok(());
        }
        if word.starts_with(rest) {
            self.at = self.bytes.len();
        }
        Err("a value")
    }

    /// Notes that the string, number or word that was begun ends there.
    fn over(&mut self, end: usize) {
        (self.at, self.begun) = (end, usize::MAX);
    }

    fn number(&mut self) -> Result<(), Expected> {
        self.begun = self.at;
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
                self.over(end);
                Ok(())
            }
            Err(at) => {
                self.at = at;
                Err("a digit")
            }
        }
    }

    fn string(&mut self) -> Result<(), Expected> {
        self.begun = self.at;
        let start = self.at + 1;
        let special = special(self.bytes, start);
        let found = match (self.bytes.get(special), self.keep) {
            (Some(b'"'), _) => Ok(special),
            (Some(b'\\'), Keep::Ends) => self.decoder.check(self.bytes, special),
            (Some(b'\\'), Keep::EndsAndTexts) => self.decode(start, special),
            _ => Err(unfinished(self.bytes, special)),
        };
        match found {
            Ok(quote) => {
                self.ends.keep(self.at, quote + 1);
                self.over(quote + 1);
                Ok(())
            }
            Err(Wrong { at, expected }) => {
                self.at = at;
                Err(expected)
            }
        }
    }

    fn decode(&mut self, start: usize, special: usize) -> Result<usize, Wrong> {
        let quote = self.decoder.decode(self.bytes, start, special)?;
        self.texts.keep(self.at, quote, &mut self.decoder);
        Ok(quote)
    }

    fn skip_white_space(&mut self) {
        self.at = behind_white_space(self.bytes, self.at);
    }
}
