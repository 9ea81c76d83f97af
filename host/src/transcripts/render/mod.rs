//! Writing messages as the request that an agent would have sent next.

mod anthropic;
mod gemini;
mod openai_chat;
mod responses;

use std::ops::Range;

use super::Report;
use super::assemble::Message;
use super::entry::{Json, Part, Speaker};
use crate::formats::Format;
use crate::formats::json::quote;

/// A request, and where in it the messages stand.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) format: Format,
    pub(super) text: String,
    pub(super) reports: Vec<Report>,
    /// The first entry of each message on the wire.
    pub(super) entries: Vec<usize>,
}

impl Request {
    /// The message on the wire that the entry `at` begins, or the first after it.
    pub(super) fn message_of(&self, at: usize) -> usize {
        self.entries.partition_point(|entry| *entry < at)
    }

    /// The messages on the wire that the entry `at` begins: a reply, and the results that answer it.
    pub(super) fn messages_from(&self, at: usize) -> Range<usize> {
        self.message_of(at)..self.entries.partition_point(|entry| *entry <= at)
    }
}

/// What stands beside the messages of a request.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) model: Option<String>,
    /// A JSON string.
    pub(super) system: Option<Json>,
    /// A JSON array.
    pub(super) tools: Option<Json>,
    /// The format that is nearest to the log, if one is.
    pub(super) format: Option<Format>,
}

/// The request of `messages` in the format that has a place for what they hold.
pub(super) fn request(messages: Vec<Message>, beside: Beside) -> Request {
    let wanted = || messages.iter().flat_map(|message| &message.parts).any(Part::wants_anthropic);
    match beside.format {
        Some(Format::OpenaiResponses) => responses::request(messages, beside),
        Some(Format::Gemini) => gemini::request(messages, beside),
        Some(Format::Anthropic) => anthropic::request(messages, beside),
        _ if wanted() => anthropic::request(messages, beside),
        _ => openai_chat::request(messages, beside),
    }
}

/// The messages of a request in the making.
struct List {
    text: String,
    reports: Vec<Report>,
    entries: Vec<usize>,
}

impl List {
    fn begin(messages: &[Message], beside: &Beside, tools: Option<&Json>) -> Self {
        // Known beforehand, so that the largest text there is never grows by doubling.
        let parts = messages.iter().flat_map(|message| &message.parts);
        let mut text = String::with_capacity(parts.map(Part::len).sum());
        text.push('{');
        if let Some(model) = &beside.model {
            text.push_str(&format!("\"model\":{},", quote(model)));
        }
        if let Some(tools) = tools {
            text.push_str(&format!("\"tools\":{tools},"));
        }
        Self { text, reports: Vec::new(), entries: Vec::new() }
    }

    /// Begins an element.
    fn element(&mut self, entry: usize) {
        self.text.push_str(if self.entries.is_empty() { "\n" } else { ",\n" });
        self.entries.push(entry);
    }

    /// Begins a message, up to its content.
    fn message(&mut self, role: &str, entry: usize) {
        self.element(entry);
        self.text.push_str(&format!("{{\"role\":\"{role}\""));
    }

    /// Writes messages of a provider whose roles alternate: what one side says in a row is one message, whose parts stand in the
    /// list at `key`.
    fn alternating<'a>(
        &mut self,
        messages: impl Iterator<Item = &'a Message>,
        (model, key): (&str, &str),
        mut write: impl FnMut(&Part, &mut String),
    ) {
        let mut speaks: Option<bool> = None;
        for message in messages {
            let is_model = message.speaker == Speaker::Assistant;
            if speaks == Some(is_model) {
                self.text.push(',');
            } else {
                if speaks.is_some() {
                    self.text.push_str("]}");
                }
                self.message(if is_model { model } else { "user" }, message.entry);
                self.text.push_str(&format!(",\"{key}\":["));
                speaks = Some(is_model);
            }
            self.report(message);
            for (place, part) in message.parts.iter().enumerate() {
                if place > 0 {
                    self.text.push(',');
                }
                write(part, &mut self.text);
            }
        }
        if speaks.is_some() {
            self.text.push_str("]}");
        }
    }

    fn report(&mut self, message: &Message) {
        if let (Some(usage), Some(last)) = (message.usage, self.entries.len().checked_sub(1)) {
            self.reports.push(Report { message: last, usage });
        }
    }

    fn end(mut self, format: Format) -> Request {
        self.text.push_str("\n]}\n");
        let Self { text, reports, entries } = self;
        Request { format, text, reports, entries }
    }
}
