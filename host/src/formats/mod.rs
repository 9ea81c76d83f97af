//! Reading and writing the JSON of providers. Nothing else in the tree knows a provider's field name.
//!
//! What is not touched leaves byte for byte as it came, because the prompt caches of providers live
//! on that: a [`Document`] keeps the text it was read from, knows where each message stands in it,
//! and writes a changed conversation as the same text with the changes spliced in.
//!
//! One message on the wire may hold several messages of the model: an Anthropic user message with two
//! tool results and a sentence is two tool messages and a user message. They are its *pieces*. And one
//! message of the model may stand in several on the wire: a reply in OpenAI's Responses format is an item
//! for each thought, text and call. Each part knows its place, so both are one rule.
//!
//! Where a provider has compacted the conversation itself and left a block that stands for all before it,
//! what is before it is kept on the wire and is no part of the conversation: the model sees none of it.
//!
//! ```
//! use brute_host::formats::{Document, Format, ReadOptions, WriteOptions};
//!
//! let json = r#"{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}"#;
//! let document = Document::read(json, &ReadOptions::default())?;
//! assert_eq!(document.format(), Format::OpenaiChat);
//! assert_eq!(document.model().as_deref(), Some("gpt-4o"));
//! assert_eq!(&*document.write(document.conversation(), &WriteOptions::default()), json.as_bytes());
//! # Ok::<(), brute_host::formats::ReadError>(())
//! ```

mod align;
mod anthropic;
mod body;
mod carrier;
mod detect;
mod error;
mod gemini;
pub(crate) mod json;
mod media;
mod opaque;
mod openai_chat;
mod patch;
mod pieces;
mod render;
mod repair;
mod responses;
mod slots;
mod turns;
mod usage;
mod wire;
mod write;

pub use error::{Problem, ReadError, Repair};
pub(crate) use gemini::is_part as is_gemini_part;
pub use render::{Note, Rendered, render};
pub(crate) use responses::{Fields as ItemFields, Kind as ItemKind};
pub(crate) use usage::LARGEST_COUNT;
pub use usage::Usage;
pub use wire::{WireMessages, messages_of};

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use brute_core::{Conversation, MessageId, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::body::Body;
use self::carrier::Carrier;
use self::json::{Source, Texts, View};
use self::pieces::Pieces;
use crate::ladder::Wire;
use crate::models::Provider;
use crate::tokens::media::ImageRule;

/// A provider's way to write a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// OpenAI Chat Completions, and what speaks like it.
    OpenaiChat,
    /// OpenAI Responses: a list of items.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini: contents of parts.
    Gemini,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] =
        [Self::OpenaiChat, Self::OpenaiResponses, Self::Anthropic, Self::Gemini];

    /// The name, in kebab-case.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// Whose rules hold where the input names no model.
    pub fn provider(self) -> Provider {
        match self {
            Self::OpenaiChat | Self::OpenaiResponses => Provider::Openai,
            Self::Anthropic => Provider::Anthropic,
            Self::Gemini => Provider::Google,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no format's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no format; known are {}", known_formats())]
pub struct UnknownFormat {
    /// The name.
    pub name: String,
}

fn known_formats() -> String {
    let mut names = Format::ALL.map(|format| format!("`{format}`")).to_vec();
    let last = names.pop().unwrap_or_default();
    format!("{} and {last}", names.join(", "))
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let known = Self::ALL.into_iter().find(|format| format.name() == name);
        known.ok_or_else(|| UnknownFormat { name: name.to_owned() })
    }
}

/// How to read an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadOptions {
    /// Which conversation, counted from 0, where an input holds several.
    pub pick: Option<usize>,
    /// The format; told by the content if not given.
    pub format: Option<Format>,
    /// Whether to mend what a provider would refuse, by the least change that does it.
    pub repair: bool,
    /// How images count; by the usual rule of the format's provider if not given.
    pub image_rule: Option<ImageRule>,
}

/// How to write a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteOptions {
    /// Merges user messages that a compaction made neighbors, for back ends that insist on user and
    /// assistant taking turns. Anthropic's format and Gemini's always do, that of OpenAI Responses never
    /// needs it. Texts are joined by a blank line; one with a mark of ours stays a part of its own, so that
    /// the mark is still recognized.
    pub alternate_roles: bool,
}

/// An input that holds a conversation: its text, and the conversation read from it.
#[derive(Debug)]
pub struct Document {
    source: Source,
    format: Format,
    carrier: Carrier,
    pieces: Pieces,
    conversation: Conversation,
    repairs: Vec<Repair>,
    /// The messages on the wire that a repair made parts of the one before.
    joined: HashSet<usize>,
    /// Whether a repair puts what results show behind all of them.
    shows_last: bool,
}

impl Document {
    /// Reads a conversation. The format and what carries it are told by the content.
    ///
    /// # Errors
    /// If the input is no conversation in a known format, or one that a provider would refuse and
    /// [`ReadOptions::repair`] is off.
    pub fn read(input: impl Into<Vec<u8>>, options: &ReadOptions) -> Result<Self, ReadError> {
        Self::read_within(input.into(), options, json::MOST_BYTES)
    }

    fn read_within(input: Vec<u8>, options: &ReadOptions, most: usize) -> Result<Self, ReadError> {
        if input.len() > most {
            return Err(ReadError::TooLarge { bytes: input.len(), most });
        }
        let mut repairs = Vec::new();
        let mut source = Source::parse_with_texts(decode(input)?)?;
        if !source.lone_surrogates().is_empty() {
            let problems = repair::lone_surrogates(&source, options)?;
            if !options.repair {
                return Err(ReadError::Invalid { problems });
            }
            (source, repairs) = repair::surrogates(source, problems);
        }
        let mut texts = source.take_texts();
        let carrier = Carrier::find(&source, options)?;
        let body = carrier.body.map(|body| source.at(body));
        Body(body).check()?;
        let messages = carrier.messages(&source);
        let format = options.format.unwrap_or_else(|| detect::format(body, &messages));
        let rule = options.image_rule.unwrap_or_else(|| format.provider().into());
        let pieces = read_messages(format, body, &messages, rule, &mut texts)?;
        // Of a million short messages, these are as large as the text.
        drop((messages, texts));
        let mended = repair::conversation(format, &source, &pieces, options.repair, &mut repairs)?;
        let repair::Mended { conversation, joined, shows_last } = mended;
        Ok(Self { source, format, carrier, pieces, conversation, repairs, joined, shows_last })
    }

    /// The input, byte for byte unless a repair changed it before it was read.
    pub(crate) fn into_input(self) -> Vec<u8> {
        self.source.into_text().into_bytes()
    }

    /// The format that the input was read as.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What the messages came in, for people: `request body`, `JSON lines`.
    pub fn carrier(&self) -> &'static str {
        self.carrier.name
    }

    /// The conversation. The ids of its messages are this document's: what is written back must
    /// come from it by edits.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// What was mended, in order; empty unless [`ReadOptions::repair`] was on.
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// How many messages there are on the wire, items in OpenAI Responses. One that only shows what a tool saw, an image behind
    /// the tool's result, belongs to that result and is no message of the conversation.
    pub fn wire_len(&self) -> usize {
        self.pieces.wires.len()
    }

    /// The message on the wire, from 0, that a message of the conversation stands in, or begins in; none for
    /// instructions that stand in a field of the body, and for messages that are not of this input.
    pub fn wire_index(&self, id: MessageId) -> Option<usize> {
        self.pieces.get(id)?.wire_index()
    }

    /// All messages on the wire, from 0, that a message of the conversation stands in, in order: the items of a reply in
    /// OpenAI Responses, and what stands behind a tool result and shows what the tool saw.
    pub fn wire_indices(&self, id: MessageId) -> Vec<usize> {
        let Some(piece) = self.pieces.get(id) else { return Vec::new() };
        let Some(first) = piece.wire_index() else { return Vec::new() };
        let within = self.pieces.wires_of(first, &piece.slots).map(|(wire, _)| wire);
        let companions = self.pieces.companions_of(id).iter();
        let beside = companions.filter_map(|companion| companion.piece.wire_index());
        let mut wires: Vec<usize> = std::iter::once(first).chain(within).chain(beside).collect();
        wires.dedup();
        wires
    }

    /// Where a message of the conversation stands in the input, as a JSON pointer. The lines of a file
    /// are pointed at like the elements of an array. Walks over all that stands before it.
    pub fn pointer(&self, id: MessageId) -> Option<String> {
        Some(self.source.pointer(self.pieces.get(id)?.node))
    }

    /// The bytes of a message on the wire, as they came.
    pub fn wire_json(&self, index: usize) -> Option<&str> {
        self.pieces.wires.get(index).map(|node| self.source.at(*node).raw())
    }

    /// The model that the input names.
    pub fn model(&self) -> Option<String> {
        self.body().model()
    }

    /// The tool schemas as they occupy the window: the JSON of `tools`, or of the older `functions`,
    /// without the white space between its tokens. Providers render schemas their own way; this is
    /// the nearest that can be counted.
    pub fn tools_text(&self) -> Option<String> {
        self.body().tools()
    }

    /// The most tokens that the reply may have, by `max_completion_tokens`, `max_tokens`, `max_output_tokens` or
    /// `generationConfig.maxOutputTokens`.
    pub fn reply_limit(&self) -> Option<u64> {
        self.body().reply_limit()
    }

    /// What the provider counted, where the input keeps that with each reply or beside the messages as `usage`: with
    /// how many messages of the conversation each is about, its reply included. Of those that a compaction left, the
    /// count is of what was there before.
    pub fn reports(&self) -> Vec<(usize, Usage)> {
        let messages = self.conversation.messages();
        let read = |holder: View<'_>| {
            let usage = ["usage", "usageMetadata"].into_iter().find_map(|key| holder.get(key))?;
            Usage::read(self.format, &serde_json::from_str(usage.raw()).ok()?)
        };
        let is_reply = |node: View<'_>| {
            let role = node.get("role");
            role.is_some_and(|role| role.is_text("assistant") || role.is_text("model"))
        };
        let wires = self.pieces.wires.iter().enumerate();
        let replies = wires.filter_map(|(wire, node)| {
            let mut pieces = self.pieces.of_wire(wire);
            let end = pieces.end as u64;
            if pieces.all(|at| self.pieces.is_gone(at)) {
                return None;
            }
            let usage = read(Some(self.source.at(*node)).filter(|node| is_reply(*node))?)?;
            Some((messages.partition_point(|message| message.id().0 < end), usage))
        });
        let mut reports: Vec<_> = replies.collect();
        let reply = messages.iter().rposition(|message| message.role() == Role::Assistant);
        let body = self.carrier.body.and_then(|body| read(self.source.at(body)));
        reports.extend(body.zip(reply).map(|(usage, reply)| (reply + 1, usage)));
        reports
    }

    /// The bytes of what the messages came in: of the whole request, if that is what was read.
    pub fn wire_bytes(&self) -> u64 {
        let holder = self.carrier.body.or(self.carrier.list).map(|node| self.source.at(node).raw());
        holder.unwrap_or_else(|| self.source.text()).len() as u64
    }

    /// How the bytes of what the messages came in follow from what the core estimates for them.
    pub fn on_wire(&self) -> Wire {
        let wires = self.pieces.wires.iter();
        let messages: usize = wires.map(|node| self.source.at(*node).raw().len()).sum();
        let messages = messages as u64;
        let estimated = self.conversation.clone().wire_bytes();
        Wire::measured(self.wire_bytes().saturating_sub(messages), messages, estimated)
    }

    /// The conversation in the format and carrier of the input. If nothing was changed, these are the
    /// bytes of the input; if something was, all bytes but those that the changes are about.
    ///
    /// **What marks the end of what is to be cached** (`cache_control`) stays with its block for as long as there is
    /// one, whatever becomes of its text, also if it moves to another message with that, or if it was an image
    /// and is words now. It goes with a block that goes. None is added, and none wanders to another block: where
    /// the cache ends is for whoever pays for it to say.
    ///
    /// `conversation` must come from [`Document::conversation`] by edits.
    pub fn write(&self, conversation: &Conversation, options: &WriteOptions) -> Cow<'_, [u8]> {
        match write::write(self, conversation, *options) {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }
    }

    fn body(&self) -> Body<'_> {
        Body(self.carrier.body.map(|body| self.source.at(body)))
    }
}

/// What the conversations of an input are called there, in order; an empty name is none. The place of one is what
/// [`ReadOptions::pick`] takes.
///
/// # Errors
/// If the input holds no conversation.
pub fn names_in(input: impl Into<Vec<u8>>) -> Result<Vec<String>, ReadError> {
    let input = input.into();
    if input.len() > json::MOST_BYTES {
        return Err(ReadError::TooLarge { bytes: input.len(), most: json::MOST_BYTES });
    }
    Carrier::names(&Source::parse(decode(input)?)?)
}

/// What `messages`, which stand in `body`, hold in `format`.
fn read_messages(
    format: Format,
    body: Option<View<'_>>,
    messages: &[View<'_>],
    rule: ImageRule,
    texts: &mut Texts,
) -> Result<Pieces, ReadError> {
    let mut pieces = match format {
        Format::OpenaiChat => openai_chat::read(messages, rule, texts),
        Format::OpenaiResponses => responses::read(body, messages, rule, texts),
        Format::Anthropic => anthropic::read(body, messages, rule, texts),
        Format::Gemini => gemini::read(body, messages, rule, texts),
    }?;
    pieces.settle();
    Ok(pieces)
}

/// Whether an item of OpenAI Responses can be read, by itself.
pub(crate) fn is_item(item: View<'_>) -> bool {
    let rule = Provider::Openai.into();
    read_messages(Format::OpenaiResponses, None, &[item], rule, &mut Texts::default()).is_ok()
}

fn decode(input: Vec<u8>) -> Result<String, ReadError> {
    if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = input.as_slice() {
        return Err(ReadError::Encoding { line: 1, column: 1, found: "it looks like UTF-16" });
    }
    String::from_utf8(input).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let position =
            json::Position::of(&String::from_utf8_lossy(&error.as_bytes()[..valid]), valid);
        let (line, column) = (position.line, position.column);
        ReadError::Encoding { line, column, found: "it has bytes that no character has" }
    })
}

#[cfg(test)]
mod tests;
