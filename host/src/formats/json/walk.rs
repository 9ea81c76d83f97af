//! All that is in a text, in its order, to any depth without recursion.

use super::ends::{behind_white_space, scalar};
use super::{Source, View};

/// A step on the way through a text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Token<'a> {
    /// An array or object begins.
    Open(View<'a>),
    /// The key of a member; its value is next.
    Key(View<'a>),
    /// A value with nothing in it.
    Scalar(View<'a>),
    /// The array or object that was begun last ends.
    Close,
}

/// What comes next in an array or object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Element,
    Key,
    Value,
}

/// The way through a text, or a part of it.
#[derive(Debug)]
pub(crate) struct Tokens<'a> {
    source: &'a Source,
    at: usize,
    end: usize,
    open: Vec<Next>,
}

impl<'a> Tokens<'a> {
    /// The way through the values between two places.
    pub(super) fn between(source: &'a Source, at: usize, end: usize) -> Self {
        Self { source, at, end, open: Vec::new() }
    }

    /// Notes that a value was begun.
    fn value(&mut self) {
        if let Some(next @ Next::Value) = self.open.last_mut() {
            *next = Next::Key;
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let bytes = self.source.text().as_bytes().get(..self.end)?;
        let mut at = behind_white_space(bytes, self.at);
        while let Some(b',' | b':') = bytes.get(at) {
            at = behind_white_space(bytes, at + 1);
        }
        let byte = *bytes.get(at)?;
        let view = |end| View::new(self.source, at, end);
        match byte {
            b'{' | b'[' => {
                let token = Token::Open(view(0));
                self.value();
                self.open.push(if byte == b'{' { Next::Key } else { Next::Element });
                self.at = at + 1;
                Some(token)
            }
            b'}' | b']' => {
                self.open.pop();
                self.at = at + 1;
                Some(Token::Close)
            }
            b'"' => {
                let end = self.source.ends.string(bytes, at);
                let view = view(end);
                self.at = end;
                if let Some(next @ Next::Key) = self.open.last_mut() {
                    *next = Next::Value;
                    return Some(Token::Key(view));
                }
                self.value();
                Some(Token::Scalar(view))
            }
            _ => {
                let end = scalar(bytes, at).max(at + 1);
                let token = Token::Scalar(view(end));
                self.value();
                self.at = end;
                Some(token)
            }
        }
    }
}
