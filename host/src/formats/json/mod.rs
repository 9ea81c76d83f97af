//! JSON as it lies in the file: where each value stands, nothing copied.
//!
//! A value tree would lose what law 7 is about: spelling, order, white space. So the text stays, and
//! a flat tape of nodes says where in it each value begins and ends.

mod fault;
mod list;
mod parse;
mod pointers;
mod scan;
mod string;
mod style;

pub(crate) use fault::{Fault, Position};
pub(crate) use list::{Item, List};
pub(crate) use pointers::Pointers;
pub(crate) use string::quote;
pub(crate) use style::{Style, compact, compact_with};

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use self::string::unescape;

/// What a value is. Strings are told apart by whether they need decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    True,
    False,
    Number,
    PlainString,
    EscapedString,
    Array,
    Object,
}

/// One value, in document order. The children of a container follow it on the tape; the members of
/// an object alternate between key and value.
///
/// Sixteen bytes, since a long conversation has hundreds of thousands of them.
#[derive(Debug, Clone, Copy)]
struct Node {
    kind: Kind,
    start: u32,
    end: u32,
    /// Of a container, the node after all that is in it; of an escaped string, its place among the
    /// [`Texts`]; of others, nothing.
    link: u32,
}

impl Node {
    /// The casts lose nothing: no longer text is parsed, and it has more bytes than nodes.
    #[inline]
    fn new(kind: Kind, start: usize, end: usize, link: usize) -> Self {
        Self { kind, start: start as u32, end: end as u32, link: link as u32 }
    }

    #[inline]
    fn start(self) -> usize {
        self.start as usize
    }

    #[inline]
    fn end(self) -> usize {
        self.end as usize
    }

    /// The node after this one, which stands at `at`, and all that is in it.
    #[inline]
    fn next(self, at: u32) -> u32 {
        match self.kind {
            Kind::Array | Kind::Object => self.link,
            _ => at + 1,
        }
    }
}

/// The longest text that can be parsed: nodes have no larger numbers.
pub(crate) const MOST_BYTES: usize = u32::MAX as usize;

/// JSON text, and where its values stand in it.
#[derive(Debug)]
pub(crate) struct Source {
    text: String,
    nodes: Vec<Node>,
    roots: Vec<u32>,
    lone_surrogates: Vec<usize>,
    texts: Texts,
}

/// The texts of the strings that hold escapes. Checking such a string is most of the way to decoding
/// it, so the parser does both, and who wants to own the text takes it from here.
#[derive(Debug, Default)]
pub(crate) struct Texts(Vec<Option<String>>);

impl Texts {
    /// Adds a text. Its place, for the node of its string.
    fn push(&mut self, text: String) -> usize {
        self.0.push(Some(text));
        self.0.len() - 1
    }

    /// The text of a string, decoded anew if it was taken before.
    pub(crate) fn take(&mut self, string: View<'_>) -> Option<Box<str>> {
        let node = string.node();
        let decoded = match node.kind {
            Kind::EscapedString => self.0.get_mut(node.link as usize).and_then(Option::take),
            _ => None,
        };
        decoded.or_else(|| string.string()).map(Box::from)
    }
}

impl Source {
    /// Reads any number of JSON values, one after the other, from a text of at most [`MOST_BYTES`].
    pub(crate) fn parse(text: String) -> Result<Self, Fault> {
        parse::parse(text, true).map_err(|(_, fault)| fault)
    }

    /// The same without the decoded texts, for who copies most strings as they are spelled.
    pub(crate) fn parse_as_spelled(text: String) -> Result<Self, Fault> {
        parse::parse(text, false).map_err(|(_, fault)| fault)
    }

    /// The same, which gives a text back that is no JSON.
    pub(crate) fn parse_or_back(text: String) -> Result<Self, (String, Fault)> {
        parse::parse(text, false)
    }

    /// The same values with U+FFFD in the place of every half of a surrogate pair: the escapes are as long
    /// as each other.
    pub(crate) fn without_lone_surrogates(self) -> Option<Self> {
        let offsets = self.lone_surrogates;
        let mut text = self.text;
        for offset in offsets {
            text.replace_range(offset..offset + 6, "\\ufffd");
        }
        Self::parse_as_spelled(text).ok()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The decoded texts, for the reader of the messages; the source keeps none.
    pub(crate) fn take_texts(&mut self) -> Texts {
        std::mem::take(&mut self.texts)
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(crate) fn roots(&self) -> impl ExactSizeIterator<Item = View<'_>> {
        self.roots.iter().map(|at| self.at(*at))
    }

    #[inline]
    pub(crate) fn at(&self, node: u32) -> View<'_> {
        View { source: self, at: node }
    }

    /// Where escapes of half a surrogate pair stand: each six bytes, `\ud83d`.
    pub(crate) fn lone_surrogates(&self) -> &[usize] {
        &self.lone_surrogates
    }

    /// The innermost value that holds the byte at `offset`.
    pub(crate) fn innermost(&self, offset: usize) -> Option<View<'_>> {
        let found = self.nodes.partition_point(|node| node.start() <= offset).checked_sub(1)?;
        Some(self.at(found as u32))
    }

    /// The JSON pointer to `node`. Where there are several roots, they are pointed at like the
    /// elements of an array.
    pub(crate) fn pointer(&self, node: u32) -> String {
        let mut pointer = self.root_pointer(node);
        let root = self.root_of(node);
        let Some(mut at) = self.roots.get(root).map(|root| self.at(*root)) else {
            return pointer;
        };
        while at.at != node {
            let child = match at.kind() {
                Kind::Object => {
                    at.members().find(|(_, value)| value.holds(node)).map(|(key, value)| {
                        key.point(&mut pointer);
                        value
                    })
                }
                _ => at.items().enumerate().find(|(_, item)| item.holds(node)).map(
                    |(index, item)| {
                        let _ = write!(pointer, "/{index}");
                        item
                    },
                ),
            };
            match child {
                Some(child) => at = child,
                None => break,
            }
        }
        pointer
    }

    fn root_of(&self, node: u32) -> usize {
        self.roots.partition_point(|root| *root <= node).saturating_sub(1)
    }

    /// The pointer to the root that holds `node`: nothing, unless there are several.
    fn root_pointer(&self, node: u32) -> String {
        match self.roots.len() {
            0 | 1 => String::new(),
            _ => format!("/{}", self.root_of(node)),
        }
    }

    /// Line and column of the byte at `offset`, both from 1.
    pub(crate) fn position(&self, offset: usize) -> Position {
        Position::of(&self.text, offset)
    }
}

/// One value in its source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    source: &'a Source,
    at: u32,
}

impl<'a> View<'a> {
    #[inline]
    fn node(self) -> Node {
        self.source.nodes[self.at as usize]
    }

    pub(crate) fn source(self) -> &'a Source {
        self.source
    }

    pub(crate) fn index(self) -> u32 {
        self.at
    }

    /// The node after this value and all that is in it.
    pub(crate) fn end_index(self) -> u32 {
        self.node().next(self.at)
    }

    fn holds(self, node: u32) -> bool {
        (self.at..self.end_index()).contains(&node)
    }

    pub(crate) fn kind(self) -> Kind {
        self.node().kind
    }

    pub(crate) fn span(self) -> Range<usize> {
        self.node().start()..self.node().end()
    }

    pub(crate) fn raw(self) -> &'a str {
        &self.source.text[self.span()]
    }

    pub(crate) fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    pub(crate) fn is_object(self) -> bool {
        self.kind() == Kind::Object
    }

    pub(crate) fn is_array(self) -> bool {
        self.kind() == Kind::Array
    }

    pub(crate) fn is_string(self) -> bool {
        matches!(self.kind(), Kind::PlainString | Kind::EscapedString)
    }

    /// The text of a string. Half a surrogate pair reads as U+FFFD.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let raw = self.raw();
        match self.kind() {
            Kind::PlainString => Some(Cow::Borrowed(&raw[1..raw.len() - 1])),
            Kind::EscapedString => Some(Cow::Owned(unescape(raw))),
            _ => None,
        }
    }

    /// The text of a string, owned.
    pub(crate) fn string(self) -> Option<String> {
        self.text().map(Cow::into_owned)
    }

    #[inline]
    pub(crate) fn is_text(self, expected: &str) -> bool {
        let node = self.node();
        if node.kind == Kind::PlainString {
            // Most names differ in length, which tells without a look at the text.
            let (start, end) = (node.start() + 1, node.end() - 1);
            let text = self.source.text.as_bytes();
            return end - start == expected.len() && text[start..end] == *expected.as_bytes();
        }
        self.text().is_some_and(|text| text == expected)
    }

    pub(crate) fn bool(self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// A whole number, whatever way it is spelled.
    pub(crate) fn u64(self) -> Option<u64> {
        if self.kind() != Kind::Number {
            return None;
        }
        let raw = self.raw();
        raw.parse().ok().or_else(|| {
            let number: f64 = raw.parse().ok()?;
            // The cast saturates.
            (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
        })
    }

    /// The elements of an array; none of anything else.
    pub(crate) fn items(self) -> Children<'a> {
        let node = self.node();
        let end = if node.kind == Kind::Array { node.next(self.at) } else { self.at + 1 };
        Children { source: self.source, at: self.at + 1, end }
    }

    /// The members of an object, key and value; none of anything else.
    #[inline]
    pub(crate) fn members(self) -> impl Iterator<Item = (View<'a>, View<'a>)> {
        let node = self.node();
        let end = if node.kind == Kind::Object { node.next(self.at) } else { self.at + 1 };
        let mut children = Children { source: self.source, at: self.at + 1, end };
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// The member called `key`. Where there are several, the last one counts, as it does for most
    /// parsers.
    ///
    /// Inlined, so that a name known beforehand is compared as a number and not by a call.
    #[inline]
    pub(crate) fn get(self, key: &str) -> Option<View<'a>> {
        self.members().filter(|(name, _)| name.is_text(key)).last().map(|(_, value)| value)
    }

    /// The members called `names`, found in one walk over all members; of several of one name, the last.
    ///
    /// Inlined, so that names known beforehand are compared as numbers and not by calls.
    #[inline]
    pub(crate) fn fields<const N: usize>(self, names: [&str; N]) -> [Option<View<'a>>; N] {
        let mut found = [None; N];
        for (key, value) in self.members() {
            let key = key.text().unwrap_or_default();
            if let Some(place) = names.iter().position(|name| *name == key) {
                found[place] = Some(value);
            }
        }
        found
    }

    /// Adds the step to the member of this key to `pointer`.
    fn point(self, pointer: &mut String) {
        let key = self.text().unwrap_or_default().replace('~', "~0").replace('/', "~1");
        pointer.push('/');
        pointer.push_str(&key);
    }

    /// What it is, for a reader: `a string`, ``an object with the keys `a`, `b` ``.
    pub(crate) fn describe(self) -> String {
        const MOST_KEYS: usize = 6;
        match self.kind() {
            Kind::Null => "null".to_owned(),
            Kind::True | Kind::False => "a boolean".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::PlainString | Kind::EscapedString => "a string".to_owned(),
            Kind::Array => match self.items().next() {
                None => "an empty array".to_owned(),
                Some(first) if first.is_array() => "an array of arrays".to_owned(),
                Some(first) => format!("an array that begins with {}", first.describe()),
            },
            Kind::Object => {
                let keys: Vec<String> = self
                    .members()
                    .map(|(key, _)| {
                        format!("`{}`", fault::excerpt(&key.text().unwrap_or_default()))
                    })
                    .collect();
                let more = if keys.len() > MOST_KEYS { ", …" } else { "" };
                match keys.len() {
                    0 => "an empty object".to_owned(),
                    1 => format!("an object with the key {}", keys[0]),
                    _ => {
                        let shown = keys[..keys.len().min(MOST_KEYS)].join(", ");
                        format!("an object with the keys {shown}{more}")
                    }
                }
            }
        }
    }
}

/// Sibling values.
#[derive(Debug, Clone)]
pub(crate) struct Children<'a> {
    source: &'a Source,
    at: u32,
    end: u32,
}

impl<'a> Iterator for Children<'a> {
    type Item = View<'a>;

    #[inline]
    fn next(&mut self) -> Option<View<'a>> {
        let view = (self.at < self.end).then(|| self.source.at(self.at))?;
        self.at = view.end_index();
        Some(view)
    }
}

#[cfg(test)]
mod tests;
