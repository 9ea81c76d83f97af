//! Conversations written from scratch, and so converted from one format to another.
//!
//! Nothing is dropped silently: what another provider does not take, or only the one that it came from can
//! read, is told of in a [`Note`]. What is written keeps the strictest rules that providers of the format were
//! seen to insist on: a user speaks first, roles take turns where they must, results follow their calls.

mod media;
mod plan;
mod tools;
mod written;

use std::fmt;
use std::sync::Arc;

use brute_core::{Conversation, Message, MessageId, Part};
use serde_json::{Map, Value};

use self::media::Medium;
use self::plan::Planner;
use super::json::{View, compact};
use super::pieces::Piece;
use super::slots::Slot;
use super::{Document, Format, WriteOptions};

/// A conversation in a format that it did not come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// The body of a request.
    pub json: String,
    /// What is not as it was.
    pub notes: Vec<Note>,
}

/// Something that another format could not carry as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The message as it stands in the input, from 0; none for what stands beside the messages.
    pub message: Option<usize>,
    /// What was done about it.
    pub what: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message {
            Some(message) => write!(f, "message {message}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// A conversation that was built in code, as the body of a request in `format`.
///
/// Of media, the model of a conversation has no bytes: each becomes words that say what it was, and a note.
///
/// ```
/// use brute_host::core::{Conversation, Message, MessageId, Part, Role};
/// use brute_host::formats::{Format, render};
///
/// let hello = Message::new(MessageId(0), Role::User, [Part::text("hello")]);
/// let rendered = render(&Conversation::new([hello])?, Format::Gemini);
/// assert_eq!(rendered.json, r#"{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}"#);
/// assert!(rendered.notes.is_empty());
/// # Ok::<(), brute_host::core::InvalidConversation>(())
/// ```
pub fn render(conversation: &Conversation, format: Format) -> Rendered {
    let target = Target { format };
    let planner = Planner::new(&target, &|_| Vec::new(), &|index, _| Some(index));
    let (blocks, notes) = planner.plan(conversation);
    Rendered { json: Value::Object(written::body(format, blocks)).to_string(), notes }
}

impl Document {
    /// This conversation as the body of a request in `format`, media and the schemas of tools included. In the
    /// format that it came in, it stays what it is. Where the provider has compacted it itself, what was before
    /// that is given instead, for nobody else can read what stands for it.
    pub fn convert(&self, format: Format) -> Rendered {
        if format == self.format {
            // With what a repair changed.
            let written = self.write(&self.conversation, &WriteOptions::default());
            let json = String::from_utf8_lossy(&written).into_owned();
            return Rendered { json, notes: Vec::new() };
        }
        let target = Target { format };
        let media = |id: MessageId| self.media_of(id);
        let place = |_: usize, id: MessageId| self.wire_index(id);
        let (gone, whole) = self.before_compaction();
        let conversation = whole.as_ref().unwrap_or(&self.conversation);
        let (blocks, mut notes) = Planner::new(&target, &media, &place).plan(conversation);
        let what = match whole.is_some() {
            _ if gone == 0 => None,
            true => Some(format!(
                "gave {gone} messages instead of a compaction of the provider's own, which stands for them"
            )),
            false => Some(format!(
                "left out {gone} messages before a compaction of the provider's own, which do not fit together"
            )),
        };
        notes.splice(0..0, what.map(|what| Note { message: None, what }));
        let mut body = Map::new();
        if format.provider() == self.format.provider()
            && let Some(model) = self.model()
        {
            body.insert("model".to_owned(), Value::from(model));
        }
        body.extend(written::body(format, blocks));
        self.beside(format, &mut body, &mut notes);
        Rendered { json: Value::Object(body).to_string(), notes }
    }

    /// How many messages a provider's own compaction stands for, and the conversation with them in its place, if
    /// they are one.
    fn before_compaction(&self) -> (usize, Option<Conversation>) {
        let pieces = &self.pieces;
        let gone = (0..pieces.all.len()).filter(|at| pieces.is_gone(*at)).count();
        if gone == 0 {
            return (0, None);
        }
        let said = pieces.all.iter().zip(0..).filter(|(piece, _)| !piece.is_compaction());
        let message = |(piece, id): (&Piece, u64)| {
            Message::new(MessageId(id), piece.role, Arc::clone(&piece.parts))
        };
        (gone, Conversation::new(said.map(message)).ok())
    }

    /// What stands beside the messages, where it means the same elsewhere.
    fn beside(&self, format: Format, body: &mut Map<String, Value>, notes: &mut Vec<Note>) {
        let Some(given) = self.carrier.body.map(|body| self.source.at(body)) else { return };
        let list = self.carrier.list;
        for (key, value) in given.members() {
            let key = key.text().unwrap_or_default();
            let is_read = Some(value.index()) == list || value.is_null();
            let system = ["system", "instructions", "systemInstruction", "system_instruction"];
            let limits = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
            match &*key {
                _ if is_read || system.contains(&&*key) => {}
                "model" if body.contains_key("model") => {}
                "tools" => {
                    let names = tools::convert(value, format, body);
                    notes.extend(names.into_iter().map(|what| Note { message: None, what }));
                }
                key if limits.contains(&key) && value.u64().is_some() => {}
                key => {
                    let what = format!("left out the field `{key}` of the request");
                    notes.push(Note { message: None, what });
                }
            }
        }
        if let Some(limit) = self.reply_limit() {
            written::limit(format, limit, body);
        }
    }

    /// The media of a message, and of what stands beside it if it is a result.
    fn media_of(&self, id: MessageId) -> Vec<Medium> {
        let Some(piece) = self.pieces.get(id) else { return Vec::new() };
        let mut media = self.media_in(piece);
        for companion in self.pieces.companions_of(id) {
            media.extend(self.media_in(&companion.piece));
        }
        media
    }

    fn media_in(&self, piece: &Piece) -> Vec<Medium> {
        let mut media = Vec::new();
        for (part, slot) in piece.parts.iter().zip(&piece.slots) {
            let node = match slot {
                Slot::Element(node) => self.source.at(*node),
                Slot::Content => self.source.at(piece.node),
                _ => continue,
            };
            match part {
                Part::Media(_) => media.extend(Medium::of(node)),
                Part::ToolResult(_) => {
                    let inner = ["functionResponse", "function_response"];
                    let holder = inner.into_iter().find_map(|key| node.get(key)).unwrap_or(node);
                    let keys = ["content", "output", "parts"];
                    let lists = keys.into_iter().filter_map(|key| holder.get(key));
                    media.extend(lists.flat_map(Medium::all_of));
                }
                _ => {}
            }
        }
        media
    }
}

/// What a format takes.
struct Target {
    format: Format,
}

impl Target {
    /// Whether instructions may stand between messages.
    fn has_system_messages(&self) -> bool {
        matches!(self.format, Format::OpenaiChat | Format::OpenaiResponses)
    }

    /// Whether a result can say that it is a failure.
    fn says_failures(&self) -> bool {
        matches!(self.format, Format::Anthropic | Format::Gemini)
    }

    /// Whether a call may have this id: by what providers say of their ids, at most 40 characters in OpenAI Chat
    /// and 64 elsewhere, and of few kinds.
    fn takes_id(&self, id: &str) -> bool {
        let most = if self.format == Format::OpenaiChat { 40 } else { 64 };
        !id.is_empty() && id.len() <= most && id.chars().all(is_plain)
    }

    /// A name that the tool can have: 64 letters, digits, underscores and hyphens, in Gemini not a digit or
    /// hyphen first.
    fn name_of(&self, name: &str) -> String {
        let plain = |c: char| if is_plain(c) { c } else { '_' };
        let mut given: String = name.chars().map(plain).take(64).collect();
        let begins_well = |c: char| c.is_ascii_alphabetic() || c == '_';
        if given.is_empty() || (self.format == Format::Gemini && !given.starts_with(begins_well)) {
            given.insert(0, '_');
            given.truncate(64);
        }
        given
    }

    /// Whether arguments may be this text.
    fn takes_arguments(&self, text: &str) -> bool {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        let takes_any = matches!(self.format, Format::OpenaiChat | Format::OpenaiResponses);
        is_json && (takes_any || text.starts_with('{'))
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The JSON of `value`.
fn value_of(view: View<'_>) -> Value {
    serde_json::from_str(&compact(view.raw())).unwrap_or_default()
}
