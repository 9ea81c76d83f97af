//! One message: a role, its parts, and the token counts that stay with it.

use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::{Mark, TokenCounter};

/// Names a message for as long as its conversation lives, whatever is dropped around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// Who a message speaks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Instructions to the model: `system` and `developer` messages, an Anthropic `system` field.
    System,
    /// A person, or a program that speaks in a person's place.
    User,
    /// The model.
    Assistant,
    /// The result of one tool call.
    Tool,
    /// A record that a log keeps beside the dialogue. It is carried along and never answered.
    Other,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Other => "other",
        })
    }
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Words.
    Text(Box<str>),
    /// What the model thought before it spoke.
    Reasoning(Reasoning),
    /// An image, a document, a sound.
    Media(Media),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// What the tool answered. A message holds at most one, alone.
    ToolResult(ToolResult),
    /// Something that only the provider can read. It moves as a whole or not at all.
    Opaque(Opaque),
}

/// What the model thought before it spoke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reasoning {
    /// The readable part; empty when the provider keeps it to itself.
    pub text: Box<str>,
    /// Whether the provider checks it against a signature, so that it must not be altered.
    pub signed: bool,
}

/// An image, a document, a sound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Media {
    /// What it is, for a reader: `image/png`, `application/pdf`.
    pub kind: Box<str>,
    /// Its size in tokens by the provider's published rule, never by the length of its base64.
    pub tokens: u32,
    /// Its bytes on the wire: the length of its base64, or of its data URL; 0 where no more than a link is sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// The model asks for a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToolCall {
    /// The id that the result repeats. Unique among the calls that are open, no further.
    pub id: Box<str>,
    /// The tool.
    pub name: Box<str>,
    /// The arguments, as JSON text.
    pub arguments: Box<str>,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToolResult {
    /// The id of the call that this answers.
    pub call: Box<str>,
    /// The readable text of the result.
    pub text: Box<str>,
    /// Images and the like beside the text.
    pub media: Box<[Media]>,
    /// Whether the tool reported a failure.
    pub is_error: bool,
}

/// Something that only the provider can read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Opaque {
    /// The provider's name for it.
    pub kind: Box<str>,
    /// What of it occupies the window, as text to be counted; empty if nothing does.
    pub text: Box<str>,
}

/// The most tokens that a medium counts.
const LARGEST_MEDIUM: u32 = 1 << 24;

impl Part {
    /// Words.
    pub fn text(words: impl Into<Box<str>>) -> Self {
        Self::Text(words.into())
    }

    /// The texts of this part that occupy the window, in order. Every counter counts these and
    /// nothing else, plus [`Part::media_tokens`].
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (first, second) = match self {
            Self::Text(text) => (&**text, ""),
            Self::Reasoning(reasoning) => (&*reasoning.text, ""),
            Self::Media(_) => ("", ""),
            Self::ToolCall(call) => (&*call.name, &*call.arguments),
            Self::ToolResult(result) => (&*result.text, ""),
            Self::Opaque(opaque) => (&*opaque.text, ""),
        };
        [first, second].into_iter().filter(|text| !text.is_empty())
    }

    /// The tokens of the media in this part. One counts 2²⁴ at most, more than any window has, so that sums say what
    /// they should whatever a file says of one.
    pub fn media_tokens(&self) -> u32 {
        let tokens = |media: &Media| media.tokens.min(LARGEST_MEDIUM);
        match self {
            Self::Media(media) => tokens(media),
            Self::ToolResult(result) => {
                result.media.iter().fold(0, |sum, media| sum.saturating_add(tokens(media)))
            }
            _ => 0,
        }
    }

    fn count(&self, counter: &dyn TokenCounter) -> u32 {
        self.texts().fold(self.media_tokens(), |sum, text| sum.saturating_add(counter.count(text)))
    }
}

/// One message of a conversation. It never changes; an edit makes another one.
#[derive(Clone)]
pub struct Message {
    id: MessageId,
    role: Role,
    parts: Arc<[Part]>,
    /// Whether an earlier compaction made it. What its mark says is read again when it is asked for, which is seldom.
    is_marked: bool,
    counts: OnceLock<Counts>,
}

/// Token counts of one message under one counter. A conversation has as many as messages: each byte counts.
#[derive(Debug, Clone)]
struct Counts {
    counter: &'static str,
    framing: u32,
    /// Of all parts together.
    parts: u32,
    /// Of each part, where there is more than one.
    each: Option<Box<Box<[u32]>>>,
}

impl Counts {
    fn total(&self) -> u32 {
        self.framing.saturating_add(self.parts)
    }

    fn of_part(&self, index: usize) -> u32 {
        match &self.each {
            Some(each) => each.get(index).copied().unwrap_or(0),
            None if index == 0 => self.parts,
            None => 0,
        }
    }
}

impl Message {
    /// A message. Whether it fits into a conversation is for [`Conversation::new`] to say.
    ///
    /// [`Conversation::new`]: crate::Conversation::new
    pub fn new(id: MessageId, role: Role, parts: impl Into<Arc<[Part]>>) -> Self {
        let parts = parts.into();
        let is_marked = mark_of(&parts).is_some();
        Self { id, role, parts, is_marked, counts: OnceLock::new() }
    }

    /// The name of this message.
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The pieces, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The mark at its head, if an earlier compaction made this message.
    pub fn mark(&self) -> Option<Mark> {
        self.is_marked.then(|| mark_of(&self.parts)).flatten()
    }

    /// Whether a person wrote this, as opposed to a compaction.
    pub fn is_real_user(&self) -> bool {
        self.role == Role::User && !self.is_marked
    }

    /// The calls that this message makes, with the index of their part.
    pub fn calls(&self) -> impl Iterator<Item = (usize, &ToolCall)> {
        self.parts.iter().enumerate().filter_map(|(index, part)| match part {
            Part::ToolCall(call) => Some((index, call)),
            _ => None,
        })
    }

    /// The result that this message carries, with the index of its part.
    pub fn result(&self) -> Option<(usize, &ToolResult)> {
        self.parts.iter().enumerate().find_map(|(index, part)| match part {
            Part::ToolResult(result) => Some((index, result)),
            _ => None,
        })
    }

    /// Bytes of text that occupy the window; media are not among them.
    pub fn text_bytes(&self) -> usize {
        self.parts.iter().flat_map(Part::texts).map(str::len).sum()
    }

    /// The size in tokens, framing included. Counted once and kept, as long as the same counter asks.
    pub fn tokens(&self, counter: &dyn TokenCounter) -> u32 {
        match self.counts_by(counter) {
            Some(counts) => counts.total(),
            None => self.count(counter).total(),
        }
    }

    /// The size in tokens of each part, by the same count.
    pub fn part_tokens(&self, index: usize, counter: &dyn TokenCounter) -> u32 {
        match self.counts_by(counter) {
            Some(counts) => counts.of_part(index),
            None => self.count(counter).of_part(index),
        }
    }

    /// Whether this counter's count is kept already, so that asking for it costs nothing.
    pub fn is_counted(&self, counter: &dyn TokenCounter) -> bool {
        self.counts.get().is_some_and(|counts| counts.counter == counter.id())
    }

    /// Whether another counter's count takes the place of this one's.
    pub(crate) fn is_counted_otherwise(&self, counter: &dyn TokenCounter) -> bool {
        self.counts.get().is_some_and(|counts| counts.counter != counter.id())
    }

    /// Whether both say the same, whatever they are called.
    pub(crate) fn says_what(&self, other: &Self) -> bool {
        self.role == other.role && self.parts == other.parts
    }

    /// The same message by another name. Parts and counts are shared, not made again.
    pub(crate) fn named(&self, id: MessageId) -> Self {
        Self { id, ..self.clone() }
    }

    /// The same message without its counts. The parts are shared, not copied.
    pub(crate) fn uncounted(&self) -> Self {
        Self { counts: OnceLock::new(), ..self.clone() }
    }

    fn counts_by(&self, counter: &dyn TokenCounter) -> Option<&Counts> {
        let counts = self.counts.get_or_init(|| self.count(counter));
        (counts.counter == counter.id()).then_some(counts)
    }

    fn count(&self, counter: &dyn TokenCounter) -> Counts {
        let count = |part: &Part| part.count(counter);
        let (parts, each) = match &*self.parts {
            [part] => (count(part), None),
            parts => {
                let each: Box<[u32]> = parts.iter().map(count).collect();
                let all = each.iter().fold(0, |sum: u32, part| sum.saturating_add(*part));
                (all, Some(Box::new(each)))
            }
        };
        Counts { counter: counter.id(), framing: counter.per_message(), parts, each }
    }
}

/// The mark at the head of parts that are one text.
fn mark_of(parts: &[Part]) -> Option<Mark> {
    match parts {
        [Part::Text(text)] => Mark::read(text),
        _ => None,
    }
}

/// Two messages are equal when they say the same, whoever counted them.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.says_what(other)
    }
}

impl Eq for Message {}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{} {} {:?}", self.id.0, self.role, self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Approximate;

    #[test]
    fn media_count_by_rule_and_text_by_counter() {
        let result = Part::ToolResult(ToolResult {
            call: "c1".into(),
            text: "8 chars.".into(),
            media: vec![Media { kind: "image/png".into(), tokens: 85, bytes: 0 }].into(),
            is_error: false,
        });
        let message = Message::new(MessageId(0), Role::Tool, [result]);
        assert_eq!(message.part_tokens(0, &Approximate), 2 + 85);
        assert_eq!(message.tokens(&Approximate), 4 + 2 + 85);
    }

    #[test]
    fn another_counter_gets_its_own_count() {
        struct Bytes;
        impl TokenCounter for Bytes {
            fn id(&self) -> &'static str {
                "bytes"
            }
            fn count(&self, text: &str) -> u32 {
                text.len() as u32
            }
            fn bounds(&self, bytes: usize) -> (u32, u32) {
                (bytes as u32, bytes as u32)
            }
        }
        let message = Message::new(MessageId(0), Role::User, [Part::text("12345678")]);
        assert_eq!(message.tokens(&Approximate), 6);
        assert_eq!(message.tokens(&Bytes), 12);
        assert_eq!(message.part_tokens(0, &Bytes), 8);
        assert!(message.is_counted_otherwise(&Bytes));
        assert_eq!(message.uncounted().tokens(&Bytes), 12);
    }
}
