//! The API history of a task of Cline: messages of Anthropic's format, but no results. What came of a call
//! is a text of the user, `[name of the tool for …] Result:`, and what stands behind it.

use super::{Reader, field, number};
use crate::formats::json::View;
use crate::formats::{Format, Usage};
use crate::transcripts::entry::{Call, Entry, Part, Speaker, arguments, content_parts, text_part};
use crate::transcripts::log::Log;

/// How the text begins that Cline puts behind each message.
const ENVIRONMENT: &str = "<environment_details>";

/// Reads a history.
pub(super) struct History;

impl Reader for History {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        log.format = Some(Format::Anthropic);
        // The calls of the message before, with their names.
        let mut open: Vec<(String, String)> = Vec::new();
        for message in value.items() {
            log.records += 1;
            match field(message, "role").as_deref() {
                Some("assistant") => open = assistant(message, line, log),
                Some("user") => user(message, std::mem::take(&mut open), line, log),
                other => {
                    log.skip(other.unwrap_or("message"), "it is of no role that is sent", line);
                }
            }
        }
    }
}

fn assistant(message: View<'_>, line: usize, log: &mut Log<'_>) -> Vec<(String, String)> {
    let [content, info, metrics] = message.fields(["content", "modelInfo", "metrics"]);
    if let Some(model) = info.and_then(|info| field(info, "modelId")) {
        log.model = Some(model.into_owned());
    }
    let mut parts: Vec<Part> = content_parts(content.filter(|content| content.is_string()));
    let mut calls = Vec::new();
    for block in content.into_iter().flat_map(View::items) {
        let [kind, text, thinking, signature, id, name, input] =
            block.fields(["type", "text", "thinking", "signature", "id", "name", "input"]);
        match kind.and_then(View::text).as_deref() {
            Some("text") => parts.extend(text_part(text)),
            Some("thinking") => {
                let raw = |text: View<'_>| text.is_string().then(|| text.raw().to_owned());
                let signature = signature.and_then(raw).filter(|signature| signature != "\"\"");
                match thinking.and_then(raw) {
                    Some(text) => parts.push(Part::Thought { text, signature }),
                    None => log.skip("thinking", "only the provider can read it", line),
                }
            }
            Some("tool_use") => match (id.and_then(View::string), name.and_then(View::string)) {
                (Some(id), Some(name)) => {
                    calls.push((id.clone(), name.clone()));
                    let name = crate::formats::json::quote(&name);
                    parts.push(Part::Call(Call { id, name, arguments: arguments(input) }));
                }
                _ => log.skip("tool_use", "it has no id or no name", line),
            },
            _ => parts.extend(content_parts(Some(block))),
        }
    }
    let usage = metrics.and_then(|metrics| metrics.get("tokens")).and_then(|tokens| {
        let input = number(tokens, "prompt") + number(tokens, "cached");
        (input > 0).then(|| Usage { input, output: number(tokens, "completion") })
    });
    log.push(Entry::new(Speaker::Assistant, parts, line).with_usage(usage));
    calls
}

fn user(message: View<'_>, mut open: Vec<(String, String)>, line: usize, log: &mut Log<'_>) {
    let content = message.get("content");
    let mut said = content_parts(content.filter(|content| content.is_string()));
    let mut results: Vec<(String, Vec<Part>)> = Vec::new();
    let mut is_in_result = false;
    for block in content.into_iter().flat_map(View::items) {
        let text = field(block, "text").unwrap_or_default();
        if block.get("type").is_some_and(|kind| kind.is_text("tool_result")) {
            match field(block, "tool_use_id") {
                Some(id) => {
                    open.retain(|(of, _)| *of != *id);
                    results.push((id.into_owned(), content_parts(block.get("content"))));
                }
                None => log.skip("tool_result", "it names no call", line),
            }
            continue;
        }
        let of = text
            .strip_prefix('[')
            .and_then(|rest| open.iter().position(|(_, name)| rest.starts_with(name.as_str())));
        if let Some(of) = of {
            results.push((open.remove(of).0, Vec::new()));
            is_in_result = true;
        } else if text.starts_with(ENVIRONMENT) {
            is_in_result = false;
        }
        let parts = content_parts(Some(block));
        match results.last_mut().filter(|_| is_in_result) {
            Some((_, result)) => result.extend(parts),
            None => said.extend(parts),
        }
    }
    for (call, content) in results {
        log.push(Entry::result(call, content, false, line));
    }
    if !said.is_empty() {
        log.push(Entry::new(Speaker::User, said, line));
    }
}
