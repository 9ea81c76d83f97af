//! Sessions of Gemini CLI: one object, or a line for each message. A call and its result are one object.

use std::collections::HashMap;

use super::{Reader, field, number, owned};
use crate::formats::Usage;
use crate::formats::json::{View, quote};
use crate::transcripts::entry::{
    Call, Entry, Json, Part, Speaker, arguments, content_parts, inner, joined, one_line,
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
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log) {
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
    fn message(&mut self, message: View<'_>, line: usize, log: &mut Log) {
        log.records += 1;
        let id = owned(message, "id");
        // A message that is written again stands in the place of what was written before.
        if let Some((from, to)) = id.as_ref().and_then(|id| self.messages.remove(id)) {
            log.skip("message", "a later record of it stands in its place", line);
            log.rewound.extend(from..to);
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
    fn rewind(&mut self, to: &str, line: usize, log: &mut Log) {
        match self.messages.get(to) {
            Some((first, _)) => {
                log.skip("$rewindTo", "what it takes back is passed over", line);
                let kept = self.kept.partition_point(|entry| entry < first);
                log.rewound.extend(self.kept.drain(kept..));
            }
            None => {
                log.problem(line, format!("cannot go back to `{to}`, which the log does not hold"));
            }
        }
    }

    fn model(&mut self, message: View<'_>, line: usize, log: &mut Log) {
        let [content, thoughts, calls, tokens, model] =
            message.fields(["content", "thoughts", "toolCalls", "tokens", "model"]);
        if let Some(model) = model.and_then(View::string) {
            log.model = Some(model);
        }
        let mut parts: Vec<Part> =
            thoughts.into_iter().flat_map(View::items).filter_map(thought).collect();
        parts.extend(content_parts(content));
        let mut results = Vec::new();
        signatures(content, "part", line, log);
        signatures(calls, "toolCall", line, log);
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
            parts.push(Part::Call(Call { id: id.clone(), name, arguments }));
            let is_error =
                status.is_some_and(|status| status.is_text("error") || status.is_text("cancelled"));
            if let Some(result) = result.filter(|result| !result.is_null()) {
                results.push(Entry::result(id, seen(result), is_error, line));
            }
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

fn user(message: View<'_>, line: usize, log: &mut Log) {
    let parts = content_parts(message.get("content"));
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

/// Tells the signatures in `list`, which only Gemini's own format has a place for.
fn signatures(list: Option<View<'_>>, of: &str, line: usize, log: &mut Log) {
    let whole = list.filter(|list| list.is_object());
    for part in list.into_iter().flat_map(View::items).chain(whole) {
        let signatures = part.fields(["thoughtSignature", "thought_signature"]);
        if signatures.into_iter().flatten().any(|signature| !signature.is_null()) {
            let kind = format!("thoughtSignature of a {of}");
            log.skip(&kind, "only the provider can read it, in its own format", line);
        }
    }
}

fn thought(thought: View<'_>) -> Option<Part> {
    let texts = thought.fields(["subject", "description"]);
    let texts = texts.into_iter().flatten().filter(|text| text.is_string());
    let texts: Vec<Json> = texts.map(|text| text.raw().to_owned()).collect();
    (!texts.is_empty()).then(|| Part::Thought { text: joined(&texts), signature: None })
}

/// What came of a call: the output of each response, or all of it as JSON.
fn seen(result: View<'_>) -> Vec<Part> {
    let whole = result.is_object().then_some(result);
    let is_text = result.is_string().then_some(result);
    let parts = result.items().chain(whole).chain(is_text).flat_map(|part| {
        let Some(response) = part.get("functionResponse").and_then(|of| of.get("response")) else {
            return content_parts(Some(part));
        };
        let only = response.members().next().filter(|_| response.members().count() == 1);
        vec![Part::Text(match only {
            Some((_, text)) if text.is_string() => text.raw().to_owned(),
            _ => quote(&one_line(response.raw())),
        })]
    });
    parts.collect()
}
