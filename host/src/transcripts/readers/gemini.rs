//! Sessions of Gemini CLI: one object, or a line for each message. A call and its result are one object.
//!
//! What the model said is read as Gemini's own parts, with the signatures that only Gemini can read.

use std::collections::HashMap;

use super::{Reader, field, number, owned};
use crate::formats::json::{View, quote};
use crate::formats::{Format, Usage, is_gemini_part};
use crate::transcripts::entry::{
    Block, Call, Entry, Json, Part, Speaker, arguments, content_parts, inner, is_blank, joined,
    one_line,
};
use crate::transcripts::log::{Cut, Hidden, Log};

/// How the summary of a compression begins.
const SNAPSHOT: &str = "<state_snapshot>";

/// Reads a session.
#[derive(Default)]
pub(super) struct Session {
    /// The first entry of each message, by its id, and the one behind its last.
    messages: HashMap<String, (usize, usize)>,
    /// The entries that were not taken back, so that none is taken back twice.
    kept: Vec<usize>,
    count: usize,
}

impl Reader for Session {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        log.format = Some(Format::Gemini);
        if let Some(session) = field(value, "sessionId") {
            log.within(&session, true);
        }
        if !log.is_wanted() {
            return;
        }
        if let Some(messages) = value.get("messages").filter(|list| list.is_array()) {
            messages.items().for_each(|message| self.message(message, line, log));
        } else if let Some(to) = field(value, "$rewindTo") {
            self.rewind(&to, line, log);
        } else if value.get("type").is_some() {
            self.message(value, line, log);
        } else {
            log.skip("session", "it is told beside the conversation", line);
        }
    }
}

impl Session {
    fn message(&mut self, message: View<'_>, line: usize, log: &mut Log<'_>) {
        log.records += 1;
        let id = owned(message, "id");
        // A message that is written again stands in the place of what was written before.
        if let Some((from, to)) = id.as_ref().and_then(|id| self.messages.remove(id)) {
            for entry in from..to {
                let line = log.entries[entry].line;
                log.skip("message", "a later record of it stands in its place", line);
                log.rewound.insert(entry);
            }
        }
        let first = log.entries.len();
        match field(message, "type").as_deref() {
            Some("user") => user(message, line, log),
            Some("gemini" | "model") => self.model(message, line, log),
            other => log.skip(other.unwrap_or("message"), "it is shown to the user only", line),
        }
        if let Some(id) = id {
            self.messages.insert(id, (first, log.entries.len()));
        }
        self.kept.extend(first..log.entries.len());
    }

    /// Takes back a message and all behind it.
    fn rewind(&mut self, to: &str, line: usize, log: &mut Log<'_>) {
        match self.messages.get(to) {
            Some((first, _)) => {
                log.skip("$rewindTo", "what it takes back is passed over", line);
                let kept = self.kept.partition_point(|entry| entry < first);
                for entry in self.kept.drain(kept..) {
                    let line = log.entries[entry].line;
                    let why = "the session went on from before it";
                    log.skip("message that was taken back", why, line);
                    log.rewound.insert(entry);
                }
            }
            None => {
                log.problem(line, format!("cannot go back to `{to}`, which the log does not hold"));
            }
        }
    }

    fn model(&mut self, message: View<'_>, line: usize, log: &mut Log<'_>) {
        let [content, thoughts, calls, tokens, model] =
            message.fields(["content", "thoughts", "toolCalls", "tokens", "model"]);
        if let Some(model) = model.and_then(View::string) {
            log.model = Some(model);
        }
        let mut parts = Vec::new();
        for given in thoughts.into_iter().flat_map(View::items) {
            match thought(given) {
                Some(thought) => parts.push(thought),
                None => log.skip("thoughts", "there is nothing in it", line),
            }
        }
        parts.extend(said(content));
        let mut results = Vec::new();
        for call in calls.into_iter().flat_map(View::items) {
            let [id, name, args, result, status] =
                call.fields(["id", "name", "args", "result", "status"]);
            let Some(name) = name.filter(|name| name.is_string()) else {
                log.skip("toolCall", "it has no name", line);
                continue;
            };
            self.count += 1;
            let id = id.and_then(View::string).unwrap_or_else(|| format!("call_{}", self.count));
            let (name, arguments) = (name.raw().to_owned(), arguments(args));
            parts.push(match signature(call) {
                Some(signature) => {
                    let named =
                        format!("{{\"id\":{},\"name\":{name},\"args\":{arguments}}}", quote(&id));
                    let raw =
                        format!("{{\"functionCall\":{named},\"thoughtSignature\":{signature}}}");
                    Part::Block { raw, kind: Block::Call(id.clone()), of: Format::Gemini }
                }
                None => Part::Call(Call { id: id.clone(), name: name.clone(), arguments }),
            });
            let is_error =
                status.is_some_and(|status| status.is_text("error") || status.is_text("cancelled"));
            if let Some(result) = result.filter(|result| !result.is_null()) {
                results.push(match response(result, &id, &name) {
                    Some(part) => Entry::new(Speaker::Tool, vec![part], line),
                    None => Entry::result(id, seen(result), is_error, line),
                });
            }
        }
        // Of the whole reply, behind all of it, as Gemini itself ends one.
        if let Some(signature) = signature(message) {
            let raw = format!("{{\"text\":\"\",\"thoughtSignature\":{signature}}}");
            parts.push(Part::Block { raw, kind: Block::Thought, of: Format::Gemini });
        }
        let usage = tokens.and_then(|tokens| {
            let input = number(tokens, "input");
            let output = number(tokens, "output") + number(tokens, "thoughts");
            (input > 0).then_some(Usage { input, output })
        });
        log.push(Entry::new(Speaker::Assistant, parts, line).with_usage(usage));
        results.into_iter().for_each(|result| log.push(result));
    }
}

fn user(message: View<'_>, line: usize, log: &mut Log<'_>) {
    let parts = said(message.get("content"));
    let begins = |part: &Part| matches!(part, Part::Text(text) if inner(text).trim_start().starts_with(SNAPSHOT));
    let at = log.entries.len();
    if parts.first().is_some_and(begins) {
        let mut cut = Cut::new(line, at, Hidden::Before(at));
        cut.summary = Some((at, vec![Entry::new(Speaker::User, parts, line)]));
        log.cut(cut);
        return;
    }
    log.push(Entry::new(Speaker::User, parts, line));
}

/// The fields of which a part of Gemini's has one.
const PARTS: [&str; 7] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
];

/// What was said: text, or parts of Gemini's, which stay as they are. A text alone is a text.
fn said(content: Option<View<'_>>) -> Vec<Part> {
    let Some(content) = content else { return Vec::new() };
    let whole = content.is_object().then_some(content);
    if content.is_string() {
        return content_parts(Some(content));
    }
    let mut parts = Vec::new();
    for part in content.items().chain(whole) {
        let is_lone = part.members().nth(1).is_none();
        match kind_of(part) {
            Some("text") if is_lone => parts.extend(content_parts(Some(part))),
            Some(name) => parts.push(Part::block(part, block(name, part), Format::Gemini)),
            None => parts.extend(content_parts(Some(part))),
        }
    }
    parts
}

/// Which part of Gemini's it is, if it is one that can be read and that what calls and answers are in the log's
/// own way does not say again.
fn kind_of(part: View<'_>) -> Option<&'static str> {
    let name = PARTS.into_iter().find(|name| part.get(name).is_some_and(|value| !value.is_null()));
    let name = name.filter(|name| !matches!(*name, "functionCall" | "functionResponse"))?;
    let is_blank = name == "text"
        && signature(part).is_none()
        && part.get("text").is_some_and(|text| text.is_string() && is_blank(text.raw()));
    (part.get("type").is_none() && !is_blank && is_gemini_part(part)).then_some(name)
}

fn block(name: &str, part: View<'_>) -> Block {
    let is_thought = part.get("thought").and_then(View::bool) == Some(true);
    let is_signature =
        part.get("text").is_some_and(|text| text.is_string() && is_blank(text.raw()));
    match name {
        "text" if is_thought || is_signature => Block::Thought,
        _ => Block::Other,
    }
}

/// The signature over something, a JSON string.
fn signature(of: View<'_>) -> Option<Json> {
    let found = of.fields(["thoughtSignature", "thought_signature"]);
    let found = found.into_iter().flatten().find(|signature| signature.is_string());
    found.filter(|signature| !is_blank(signature.raw())).map(|signature| signature.raw().to_owned())
}

fn thought(thought: View<'_>) -> Option<Part> {
    let texts = thought.fields(["subject", "description", "text"]);
    let texts = texts.into_iter().flatten().filter(|text| text.is_string());
    let texts: Vec<Json> = texts.map(|text| text.raw().to_owned()).collect();
    let signature = signature(thought);
    let text = joined(&texts);
    (!texts.is_empty() || signature.is_some()).then_some(Part::Thought { text, signature })
}

/// The one response that a result is, as it is, if it is of the call and says what it says as JSON.
fn response(result: View<'_>, id: &str, name: &Json) -> Option<Part> {
    let mut parts = result.items().chain(result.is_object().then_some(result));
    let part = parts.next().filter(|part| is_gemini_part(*part))?;
    let response = part.get("functionResponse")?;
    let is_of_it = response.get("id").is_some_and(|of| of.is_text(id))
        && response.get("name").is_some_and(|of| of.raw() == name)
        && response.get("response").is_some_and(View::is_object);
    let is_alone = parts.next().is_none();
    (is_of_it && is_alone).then(|| Part::block(part, Block::Result(id.to_owned()), Format::Gemini))
}

/// What came of a call: the output of each response, or all of it as JSON, and what it showed.
fn seen(result: View<'_>) -> Vec<Part> {
    let whole = result.is_object().then_some(result);
    let is_text = result.is_string().then_some(result);
    let parts = result.items().chain(whole).chain(is_text).flat_map(|part| {
        let Some(inner) = part.get("functionResponse") else { return said(Some(part)) };
        let mut shown = said(inner.get("parts"));
        let Some(response) = inner.get("response") else {
            shown.extend(content_parts(Some(part)));
            return shown;
        };
        let only = response.members().next().filter(|_| response.members().count() == 1);
        let text = match only {
            Some((_, text)) if text.is_string() => text.raw().to_owned(),
            _ => quote(&one_line(response.raw())),
        };
        shown.insert(0, Part::Text(text));
        shown
    });
    parts.collect()
}
