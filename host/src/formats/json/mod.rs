//! JSON as it lies in the file: where each value stands, nothing copied.
//!
//! A value tree would lose what law 7 is about: spelling, order, white space; and it takes several times the memory of
//! the text, for each bracket as much as for a page. So the text stays, checked once, and a value is a place in it:
//! what is in the value is read off the text when it is asked for.

mod ends;
mod fault;
mod list;
mod parse;
mod pointers;
mod scan;
mod string;
mod style;
mod texts;
mod walk;

pub(crate) use fault::{Fault, Position};
pub(crate) use list::{Item, List};
pub(crate) use pointers::Pointers;
pub(crate) use string::quote;
pub(crate) use style::{Style, compact, compact_with};
pub(crate) use texts::Texts;
pub(crate) use walk::{Token, Tokens};

use std::borrow::Cow;
use std::ops::Range;

use self::ends::{Ends, behind_white_space};
use self::parse::Keep;
use self::string::{plain, unescape};

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Null,
    True,
    False,
    Number,
    String,
    Array,
    Object,
}

/// The longest text that can be parsed: places in it are 32 bits wide, since there are so many of them.
pub(crate) const MOST_BYTES: usize = u32::MAX as usize;

/// Text that is JSON.
#[derive(Debug)]
pub(crate) struct Source {
    text: String,
    /// Where the first value is looked for: behind a byte order mark.
    start: usize,
    /// How many values there are that are in no other.
    roots: usize,
    ends: Ends,
    lone_surrogates: Vec<usize>,
    texts: Texts,
}

impl Source {
    /// Reads any number of JSON values, one after the other, from a text of at most [`MOST_BYTES`].
    pub(crate) fn parse(text: String) -> Result<Self, Fault> {
        Self::parse_or_back(text).map_err(|(_, fault)| fault)
    }

    /// The same, which gives a text back that is no JSON.
    pub(crate) fn parse_or_back(text: String) -> Result<Self, (String, Fault)> {
        parse::parse(text, Keep::Ends)
    }

    /// The same, for who will own most of the texts: they are kept as they are decoded, to be taken.
    pub(crate) fn parse_with_texts(text: String) -> Result<Self, Fault> {
        parse::parse(text, Keep::EndsAndTexts).map_err(|(_, fault)| fault)
    }

    /// The same values with U+FFFD in the place of every half of a surrogate pair. The escapes are as long as each
    /// other, and the half was decoded as that before: all that is kept of the text stays true.
    pub(crate) fn without_lone_surrogates(mut self) -> Self {
        for offset in std::mem::take(&mut self.lone_surrogates) {
            self.text.replace_range(offset..offset + 6, "\\ufffd");
        }
        self
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

    /// The values that are in no other.
    pub(crate) fn roots(&self) -> Roots<'_> {
        Roots { source: self, at: self.start, left: self.roots }
    }

    /// The value that begins at `node`.
    #[inline]
    pub(crate) fn at(&self, node: u32) -> View<'_> {
        View { source: self, start: node, end: 0 }
    }

    /// All that is in it, in order.
    pub(crate) fn tokens(&self) -> Tokens<'_> {
        Tokens::between(self, self.start, self.text.len())
    }

    /// Where escapes of half a surrogate pair stand: each six bytes, `\ud83d`.
    pub(crate) fn lone_surrogates(&self) -> &[usize] {
        &self.lone_surrogates
    }

    /// The JSON pointer to the value that begins at `node`. Where there are several roots, they are pointed at like
    /// the elements of an array.
    pub(crate) fn pointer(&self, node: u32) -> String {
        let (root, way) = pointers::way(self.tokens(), Some(node));
        pointers::root_pointer(root, self.roots) + &way
    }

    /// Line and column of the byte at `offset`, both from 1.
    pub(crate) fn position(&self, offset: usize) -> Position {
        Position::of(&self.text, offset)
    }
}

/// The values of a source that are in no other.
#[derive(Debug, Clone)]
pub(crate) struct Roots<'a> {
    source: &'a Source,
    at: usize,
    left: usize,
}

impl<'a> Iterator for Roots<'a> {
    type Item = View<'a>;

    fn next(&mut self) -> Option<View<'a>> {
        self.left = self.left.checked_sub(1)?;
        let bytes = self.source.text.as_bytes();
        let start = behind_white_space(bytes, self.at);
        self.at = self.source.ends.value(bytes, start);
        Some(View::new(self.source, start, self.at))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Roots<'_> {}

/// One value in its source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    source: &'a Source,
    start: u32,
    /// 0 where it is not known: then it is looked for each time.
    end: u32,
}

impl<'a> View<'a> {
    /// The casts lose nothing: no longer text is parsed.
    #[inline]
    fn new(source: &'a Source, start: usize, end: usize) -> Self {
        Self { source, start: start as u32, end: end as u32 }
    }

    pub(crate) fn source(self) -> &'a Source {
        self.source
    }

    /// Names the value in its source: values that stand behind it have larger numbers.
    pub(crate) fn index(self) -> u32 {
        self.start
    }

    /// What begins there stands behind this value and all that is in it.
    #[inline]
    pub(crate) fn end_index(self) -> u32 {
        match self.end {
            0 => self.source.ends.value(self.source.text.as_bytes(), self.start as usize) as u32,
            end => end,
        }
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        match self.source.text.as_bytes().get(self.start as usize) {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    pub(crate) fn span(self) -> Range<usize> {
        self.start as usize..self.end_index() as usize
    }

    /// All that is in it, itself included, in order.
    pub(crate) fn tokens(self) -> Tokens<'a> {
        let Range { start, end } = self.span();
        Tokens::between(self.source, start, end)
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
        self.kind() == Kind::String
    }

    /// The text of a string. Half a surrogate pair reads as U+FFFD.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        let raw = self.raw_string()?;
        Some(plain(raw).map_or_else(|| Cow::Owned(unescape(raw)), Cow::Borrowed))
    }

    /// A string as it is spelled, quotes included.
    fn raw_string(self) -> Option<&'a str> {
        self.is_string().then(|| self.raw())
    }

    /// The text of a string, owned.
    pub(crate) fn string(self) -> Option<String> {
        self.text().map(Cow::into_owned)
    }

    /// Whether it is the string `expected`, which needs no escapes.
    #[inline]
    pub(crate) fn is_text(self, expected: &str) -> bool {
        /// No escape is longer.
        const LONGEST: usize = "\\u0000".len();
        let bytes = self.source.text.as_bytes();
        let start = self.start as usize;
        let Some(inner) = bytes.get(start + 1..).filter(|_| bytes[start] == b'"') else {
            return false;
        };
        // As a rule, a look at the text tells.
        let (length, most) = (expected.len(), LONGEST * expected.len());
        match inner.get(..=length) {
            Some(found) if found[length] == b'"' && found[..length] == *expected.as_bytes() => true,
            _ => {
                let near = &inner[..inner.len().min(most)];
                let first = memchr::memchr2(b'"', b'\\', near);
                first.is_some_and(|first| near[first] == b'\\')
                    && self.text().is_some_and(|text| text == expected)
            }
        }
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
    #[inline]
    pub(crate) fn items(self) -> Children<'a> {
        Children::of(self, Kind::Array)
    }

    /// The members of an object, key and value; none of anything else.
    #[inline]
    pub(crate) fn members(self) -> impl Iterator<Item = (View<'a>, View<'a>)> {
        let mut children = Children::of(self, Kind::Object);
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
            Kind::String => "a string".to_owned(),
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
    /// Where the next one is looked for; none, once all were there.
    at: Option<usize>,
}

impl<'a> Children<'a> {
    #[inline]
    fn of(view: View<'a>, kind: Kind) -> Self {
        let at = (view.kind() == kind).then_some(view.start as usize + 1);
        Self { source: view.source, at }
    }
}

impl<'a> Iterator for Children<'a> {
    type Item = View<'a>;

    #[inline]
    fn next(&mut self) -> Option<View<'a>> {
        let bytes = self.source.text.as_bytes();
        let start = behind_white_space(bytes, self.at?);
        if matches!(bytes.get(start), None | Some(b'}' | b']')) {
            self.at = None;
            return None;
        }
        let end = self.source.ends.value(bytes, start);
        // Behind it stands what parts it from the next one, or closes the whole.
        let behind = behind_white_space(bytes, end);
        self.at = Some(match bytes.get(behind) {
            Some(b',' | b':') => behind + 1,
            _ => behind,
        });
        Some(View::new(self.source, start, end))
    }
}

#[cfg(test)]
mod tests;
