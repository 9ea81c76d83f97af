//! Logs of Inspect, as JSON: each sample is a conversation.
//!
//! Large texts may stand in `attachments`, and be named in the messages.

use std::collections::HashMap;

use super::{Reader, field, number};
use crate::formats::Usage;
use crate::formats::json::View;
use crate::transcripts::entry::{
    Call, Entry, Json, Part, Speaker, arguments, content_parts, text_part,
};
use crate::transcripts::log::Log;

/// How a text begins that stands elsewhere.
const ATTACHED: &str = "attachment://";

/// The same as a string of JSON.
const ATTACHED_STRING: &str = "\"attachment://";

/// Reads a log.
pub(super) struct Eval;

impl Reader for Eval {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        let model = value.get("eval").and_then(|eval| field(eval, "model"));
        let samples = value.get("samples").filter(|samples| samples.is_array());
        let Some(samples) = samples else {
            log.skip("eval", "it holds no samples", line);
            return;
        };
        for sample in samples.items() {
            let id = sample.get("id").map_or("?", View::raw).trim_matches('"').to_owned();
            log.begin(format!("{id}, epoch {}", number(sample, "epoch")));
            if log.is_wanted() {
                log.model = model.as_ref().map(|model| model.clone().into_owned());
                read(sample, line, log);
            }
        }
    }
}

fn read(sample: View<'_>, line: usize, log: &mut Log<'_>) {
    let attached = sample.get("attachments").into_iter().flat_map(View::members);
    let attached: HashMap<String, Json> = attached
        .filter_map(|(key, text)| {
            Some((key.string()?, text.is_string().then(|| text.raw().to_owned())?))
        })
        .collect();
    for message in sample.get("messages").into_iter().flat_map(View::items) {
        log.records += 1;
        let mut entry = match entry(message, line) {
            Ok(entry) => entry,
            Err((kind, why)) => {
                log.skip(kind, why, line);
                continue;
            }
        };
        entry.parts.iter_mut().for_each(|part| looked_up(part, &attached));
        log.push(entry);
    }
    // Usage is told of the whole sample, and of the reply that came last.
    let last = sample.get("output").and_then(|output| output.get("usage")).and_then(usage);
    let reply = log.entries.iter_mut().rfind(|entry| entry.speaker == Speaker::Assistant);
    if let (Some(usage), Some(reply)) = (last, reply) {
        reply.usage = Some(usage);
    }
}

fn entry(message: View<'_>, line: usize) -> Result<Entry, (&'static str, &'static str)> {
    let [role, content, calls, id, error] =
        message.fields(["role", "content", "tool_calls", "tool_call_id", "error"]);
    let mut parts = content_parts(content);
    let speaker = match role.and_then(View::text).as_deref() {
        Some("system") => Speaker::System,
        Some("user") => Speaker::User,
        Some("assistant") => Speaker::Assistant,
        Some("tool") => {
            let id = id.and_then(View::string).ok_or(("tool", "it names no call"))?;
            let is_error = error.is_some_and(|error| !error.is_null());
            // What the model is told of a tool that failed.
            parts.extend(error.and_then(|error| text_part(error.get("message"))));
            return Ok(Entry::result(id, parts, is_error, line));
        }
        _ => return Err(("message", "it is of no role that is sent")),
    };
    for call in calls.into_iter().flat_map(View::items) {
        let [id, function, given] = call.fields(["id", "function", "arguments"]);
        let name = function.and_then(|function| match function.is_string() {
            true => Some(function),
            false => function.get("name"),
        });
        let name = name.filter(|name| name.is_string());
        if let (Some(id), Some(name)) = (id.and_then(View::string), name) {
            let given = given.or_else(|| function.and_then(|function| function.get("arguments")));
            let (name, arguments) = (name.raw().to_owned(), arguments(given));
            parts.push(Part::Call(Call { id, name, arguments }));
        } else {
            let kind = "tool_calls".to_owned();
            parts.push(Part::PassedOver { kind, why: "it has no id or no name" });
        }
    }
    Ok(Entry::new(speaker, parts, line))
}

/// Puts the text in the place of its name.
fn looked_up(part: &mut Part, attached: &HashMap<String, Json>) {
    match part {
        Part::Text(text) | Part::Thought { text, .. } => {
            let name = text.strip_prefix('"').and_then(|text| text.strip_prefix(ATTACHED));
            let name = name.and_then(|name| name.strip_suffix('"'));
            if let Some(found) = name.and_then(|name| attached.get(name)) {
                text.clone_from(found);
            }
        }
        Part::Result(answer) => {
            answer.content.iter_mut().for_each(|part| looked_up(part, attached));
        }
        // Arguments may name one in the middle of their object.
        Part::Call(call) => {
            let (mut looked, mut whole) = (0, String::new());
            while let Some(found) = call.arguments[looked..].find(ATTACHED_STRING) {
                let at = looked + found;
                let from = at + ATTACHED_STRING.len();
                let name = call.arguments[from..].split('"').next().unwrap_or_default();
                let end = (from + name.len() + 1).min(call.arguments.len());
                whole.push_str(&call.arguments[looked..at]);
                // A quote behind a backslash begins no string.
                let is_string = !call.arguments[..at].ends_with('\\');
                let found = attached.get(name).filter(|_| is_string);
                let text = found.map_or(&call.arguments[at..end], String::as_str);
                whole.push_str(text);
                looked = end;
            }
            if looked > 0 {
                whole.push_str(&call.arguments[looked..]);
                call.arguments = whole;
            }
        }
        _ => {}
    }
}

fn usage(usage: View<'_>) -> Option<Usage> {
    let input = number(usage, "input_tokens")
        + number(usage, "input_tokens_cache_read")
        + number(usage, "input_tokens_cache_write");
    (input > 0).then(|| Usage { input, output: number(usage, "output_tokens") })
}
