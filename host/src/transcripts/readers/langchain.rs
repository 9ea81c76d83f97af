//! Messages as LangChain dumps them: `{"lc": 1, "type": "constructor", "id": […], "kwargs": {…}}`.
//!
//! With Anthropic's models a call is there twice: among the blocks of the content, and in `tool_calls`.

use super::{Reader, field, number, records};
use crate::formats::Usage;
use crate::formats::json::View;
use crate::transcripts::entry::{Call, Entry, Part, Speaker, arguments, content_parts, is_blank};
use crate::transcripts::log::Log;

/// Reads a dump.
pub(super) struct Dump;

impl Reader for Dump {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        let holder = value.get("messages").filter(|list| list.is_array());
        for (place, item) in records(holder.unwrap_or(value)).enumerate() {
            let inner = item.get("messages").filter(|list| list.is_array());
            if item.is_array() || inner.is_some() {
                log.begin(place.to_string());
            }
            let messages = records(inner.unwrap_or(item));
            match log.is_wanted() {
                true => messages.for_each(|one| message(one, line, log)),
                false => log.records += messages.count(),
            }
        }
    }
}

fn message(value: View<'_>, line: usize, log: &mut Log<'_>) {
    log.records += 1;
    let class = value.get("id").into_iter().flat_map(View::items).last().and_then(View::text);
    let class = class.unwrap_or_default();
    let Some(kwargs) = value.get("kwargs") else {
        log.skip("object", "it is no message", line);
        return;
    };
    let content = kwargs.get("content");
    match class.trim_end_matches("Chunk") {
        "HumanMessage" => log.push(Entry::new(Speaker::User, content_parts(content), line)),
        "SystemMessage" => log.push(Entry::new(Speaker::System, content_parts(content), line)),
        "AIMessage" => assistant(kwargs, line, log),
        "ToolMessage" => match field(kwargs, "tool_call_id") {
            Some(id) => {
                let is_error = field(kwargs, "status").as_deref() == Some("error");
                log.push(Entry::result(id.into_owned(), content_parts(content), is_error, line));
            }
            None => log.skip("ToolMessage", "it names no call", line),
        },
        other => log.skip(other, "it is of no role that is sent", line),
    }
}

fn assistant(kwargs: View<'_>, line: usize, log: &mut Log<'_>) {
    let [content, calls, usage, response, more] = kwargs.fields([
        "content",
        "tool_calls",
        "usage_metadata",
        "response_metadata",
        "additional_kwargs",
    ]);
    let model = response
        .and_then(|response| field(response, "model_name").or_else(|| field(response, "model")));
    if let Some(model) = model {
        log.model = Some(model.into_owned());
    }
    let blocks = || content.into_iter().flat_map(View::items).filter(is_call);
    let called = |calls: Option<View<'_>>| -> Vec<Part> {
        calls.into_iter().flat_map(View::items).map(call).collect()
    };
    // The same calls in three places, the newest first.
    let is_told = |found: &[Part]| found.iter().any(|part| part.call().is_some());
    let mut found = called(calls);
    if !is_told(&found) {
        found.extend(blocks().map(call));
    }
    if !is_told(&found) {
        found.extend(called(more.and_then(|more| more.get("tool_calls"))));
    }
    let is_among = |block: &View<'_>| {
        let ids = block.fields(["id", "call_id"]).map(|id| id.and_then(View::string));
        found.iter().filter_map(Part::call).any(|id| ids.iter().flatten().any(|of| of == id))
    };
    let beside = blocks().filter(|block| !is_among(block));
    let beside = beside.map(|_| passed_over("tool_use", "it is not among its message's calls"));
    let beside: Vec<Part> = beside.collect();
    let others = content.filter(|content| !content.is_array());
    let mut parts = content_parts(others);
    let said = content.into_iter().flat_map(View::items).filter(|block| !is_call(block));
    parts.extend(said.flat_map(|block| content_parts(Some(block))));
    parts.extend(beside);
    parts.extend(found);
    if let Some(more) = more {
        beside_content(more, &mut parts, line, log);
    }
    let wrong = kwargs.get("invalid_tool_calls").into_iter().flat_map(View::items).count();
    if wrong > 0 {
        log.problem(line, format!("passed over {wrong} calls that LangChain could not read"));
    }
    let usage = usage.and_then(|usage| {
        let input = number(usage, "input_tokens");
        (input > 0).then(|| Usage { input, output: number(usage, "output_tokens") })
    });
    log.push(Entry::new(Speaker::Assistant, parts, line).with_usage(usage));
}

/// What a reply says in the fields of its provider: what was thought, and a refusal.
fn beside_content(more: View<'_>, parts: &mut Vec<Part>, line: usize, log: &mut Log<'_>) {
    for (key, value) in more.members() {
        let key = key.text().unwrap_or_default();
        let is_text = value.is_string() && !is_blank(value.raw());
        match &*key {
            "tool_calls" => {}
            _ if value.is_null() || (value.is_string() && !is_text) => {}
            "reasoning_content" if is_text && !parts.iter().any(Part::is_thought) => {
                parts.insert(0, Part::Thought { text: value.raw().to_owned(), signature: None });
            }
            "refusal" if is_text => parts.push(Part::Text(value.raw().to_owned())),
            other => log.skip(other, "it stands beside the message", line),
        }
    }
}

/// Whether a block of the content is a call.
fn is_call(block: &View<'_>) -> bool {
    let kind = block.get("type").and_then(View::text);
    kind.is_some_and(|kind| matches!(&*kind, "tool_use" | "tool_call" | "function_call"))
}

fn call(call: View<'_>) -> Part {
    let [id, call_id, function, name, args, input] =
        call.fields(["id", "call_id", "function", "name", "args", "input"]);
    let name = name.or_else(|| function?.get("name")).filter(|name| name.is_string());
    let given = args.or(input).or_else(|| function.unwrap_or(call).get("arguments"));
    match (call_id.or(id).and_then(View::string), name) {
        (Some(id), Some(name)) => {
            let (name, arguments) = (name.raw().to_owned(), arguments(given));
            Part::Call(Call { id, name, arguments })
        }
        _ => passed_over("tool_calls", "it has no id or no name"),
    }
}

fn passed_over(kind: &str, why: &'static str) -> Part {
    Part::PassedOver { kind: kind.to_owned(), why }
}
