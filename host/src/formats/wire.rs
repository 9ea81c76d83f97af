//! The messages of an input as they stand on the wire, without a look at what they say.

use std::ops::Range;

use brute_core::{Mark, Message};

use super::carrier::Carrier;
use super::json::{MOST_BYTES, Pointers, Source, Token, Tokens, View};
use super::{Format, ReadError, ReadOptions, decode, read_messages};

/// Where the messages of an input stand in it. Reading it costs less than reading a [`Document`], and
/// nothing in it is refused for what it says.
///
/// [`Document`]: super::Document
#[derive(Debug)]
pub struct WireMessages {
    source: Source,
    nodes: Vec<u32>,
    is_list: bool,
}

impl WireMessages {
    /// Finds the messages; those of conversation `pick`, counted from 0, where an input holds several.
    ///
    /// # Errors
    /// If the input is no JSON, or holds no conversation in a carrier that is known.
    pub fn read(input: impl Into<Vec<u8>>, pick: Option<usize>) -> Result<Self, ReadError> {
        let input = input.into();
        if input.len() > MOST_BYTES {
            return Err(ReadError::TooLarge { bytes: input.len(), most: MOST_BYTES });
        }
        let source = Source::parse(decode(input)?)?;
        let carrier = Carrier::find(&source, &ReadOptions { pick, ..ReadOptions::default() })?;
        let nodes = carrier.messages(&source).into_iter().map(View::index).collect();
        let is_list = carrier.list.is_some();
        Ok(Self { source, nodes, is_list })
    }

    /// The whole input.
    pub fn text(&self) -> &str {
        self.source.text()
    }

    /// The whole input, taken back.
    pub fn into_text(self) -> String {
        self.source.into_text()
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Where the message at `index` stands in the input, in bytes; nowhere, if there is none.
    pub fn span(&self, index: usize) -> Range<usize> {
        self.nodes.get(index).map_or(0..0, |node| self.source.at(*node).span())
    }

    /// The bytes of the message at `index`, as they came.
    pub fn raw(&self, index: usize) -> &str {
        &self.text()[self.span(index)]
    }

    /// Whether they are the elements of a list, with commas between them, and not the lines of a file.
    pub fn is_list(&self) -> bool {
        self.is_list
    }

    /// Whether the message at `index` is said by a user.
    pub fn is_user(&self, index: usize) -> bool {
        let role = self.nodes.get(index).and_then(|node| self.source.at(*node).get("role"));
        role.is_some_and(|role| role.is_text("user"))
    }

    /// The index of the message that a JSON pointer leads to, or into.
    pub fn at_pointer(&self, pointer: &str) -> Option<usize> {
        let pointers = Pointers::of(&self.source);
        let leads = |node: &u32| {
            let whole = pointers.pointer(*node);
            pointer
                .strip_prefix(&whole)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.nodes.iter().position(leads)
    }

    /// Names what the message at `index` holds, the same however it is spelled: white space, escapes and
    /// digits of numbers take no part in it, nor does `cache_control`, which agents move about.
    pub fn fingerprint(&self, index: usize) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        if let Some(node) = self.nodes.get(index) {
            put(self.source.at(*node), &mut hasher);
        }
        hasher.finalize()
    }

    /// How many texts of compactions there are in the messages.
    pub fn marks(&self) -> usize {
        let views = self.nodes.iter().map(|node| self.source.at(*node));
        let strings = views.flat_map(View::tokens).filter_map(|token| match token {
            Token::Key(string) | Token::Scalar(string) => string.text(),
            Token::Open(_) | Token::Close => None,
        });
        strings.filter(|text| Mark::read(text).is_some()).count()
    }
}

/// Gives the hasher what `whole` holds. In one walk without recursion, since JSON may nest to any depth.
fn put(whole: View<'_>, hasher: &mut blake3::Hasher) {
    let mut tokens = whole.tokens();
    while let Some(token) = tokens.next() {
        match token {
            Token::Key(key) if key.is_text("cache_control") => pass_over(&mut tokens),
            Token::Open(value) => {
                hasher.update(if value.is_object() { b"{" } else { b"[" });
            }
            Token::Close => {
                hasher.update(b"]");
            }
            Token::Key(value) | Token::Scalar(value) => scalar(value, hasher),
        }
    }
}

/// Passes over the value that is next.
fn pass_over(tokens: &mut Tokens<'_>) {
    let mut depth = 0_usize;
    for token in tokens {
        match token {
            Token::Open(_) => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            Token::Key(_) | Token::Scalar(_) => {}
        }
        if depth == 0 {
            return;
        }
    }
}

fn scalar(value: View<'_>, hasher: &mut blake3::Hasher) {
    if let Some(text) = value.text() {
        hasher.update(b"\"");
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    } else if let Ok(number) = value.raw().parse::<f64>() {
        hasher.update(b"#");
        hasher.update(&number.to_bits().to_le_bytes());
    } else {
        hasher.update(value.raw().as_bytes());
    }
}

/// What one message on the wire says, read by itself: no call needs a result, and no result a call.
///
/// # Errors
/// If it is no message of the format.
pub fn messages_of(format: Format, json: &str) -> Result<Vec<Message>, ReadError> {
    let mut source = Source::parse_with_texts(json.to_owned())?;
    let mut texts = source.take_texts();
    let message: Vec<View<'_>> = source.roots().collect();
    let rule = format.provider().into();
    let pieces = read_messages(format, None, &message, rule, &mut texts)?;
    Ok(pieces.messages().map(|(_, message)| message).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_the_same_however_it_is_spelled() {
        let same = [
            r#"{"role":"user","content":"é/","n":[1,2]}"#,
            r#"{"role":"user","content":"é/","n":[1e0,20.0e-1]}"#,
            r#"{ "role" : "user", "content": "\u00e9\/", "n":[1, 2] }"#,
            r#"{"role":"user","content":"é/","cache_control":{"type":"ephemeral"},"n":[1,2]}"#,
        ];
        let other = [
            r#"{"role":"user","content":"é/","n":[12]}"#,
            r#"{"role":"user","content":"é/","n":["1",2]}"#,
            r#"{"role":"user","content":"é","/n":[1,2]}"#,
            r#"{"role":"user","content":{"é/":"n"},"":[1,2]}"#,
        ];
        let print =
            |json: &str| WireMessages::read(format!("[{json}]"), None).expect(json).fingerprint(0);
        for json in same {
            assert_eq!(print(json), print(same[0]), "{json}");
        }
        for json in other {
            assert_ne!(print(json), print(same[0]), "{json}");
        }
    }

    #[test]
    fn a_pointer_leads_to_its_message() {
        let body = r#"{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}"#;
        let lines = "{\"role\":\"user\"}\n{\"role\":\"assistant\"}";
        for (input, pointer, expected) in [
            (body, "/messages/1", Some(1)),
            (body, "/messages/1/content", Some(1)),
            (body, "/messages/12", None),
            (lines, "/1", Some(1)),
            (lines, "/2", None),
        ] {
            let wires = WireMessages::read(input, None).expect(input);
            assert_eq!(wires.at_pointer(pointer), expected, "{pointer}");
        }
    }
}
