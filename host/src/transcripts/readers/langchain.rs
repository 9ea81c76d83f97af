//! Messages as LangChain dumps them: `{"lc": 1, "type": "constructor", "id": […], "kwargs": {…}}`.
//!
//! With Anthropic's models a call is there twice: among the blocks of the content, and in `tool_calls`.

use super::{Reader, field, number, records};
use crate::formats::Usage;
use crate::formats::json::View;
use crate::transcripts::entry::{Call, Entry, Part, Speaker, arguments, content_parts};
use crate::transcripts::log::Log;

/// Reads a dump.
pub(super) struct Dump;

impl Reader for Dump {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log) {
        let holder = value.get("messages").filter(|list| list.is_array());
        for (place, item) in records(holder.unwrap_or(value)).enumerate() {
            let inner = item.get("messages").filter(|list| list.is_array());
            if item.is_array() || inner.is_some() {
                log.begin(place.to_string());
            }
            records(inner.unwrap_or(item)).for_each(|one| message(one, line, log));
        }
    }
}

fn message(value: View<'_>, line: usize, log: &mut Log) {
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

fn assistant(kwargs: View<'_>, line: usize, log: &mut Log) {
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
    let blocks = || content.into_iter().flat_map(View::items);
    let mut parts: Vec<Part> = blocks().filter_map(thought).collect();
    parts.extend(content_parts(content));
    let called = |calls: Option<View<'_>>| -> Vec<Part> {
        calls.into_iter().flat_map(View::items).filter_map(call).collect()
    };
    // The same calls in three places, the newest first.
    let mut found = called(calls);
    if found.is_empty() {
        found = blocks()
            .filter(|block| block.get("type").is_some_and(|of| of.is_text("tool_use")))
            .filter_map(call)
            .collect();
    }
    if found.is_empty() {
        found = called(more.and_then(|more| more.get("tool_calls")));
    }
    parts.extend(found);
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

fn call(call: View<'_>) -> Option<Part> {
    let [id, function, name, args, input] =
        call.fields(["id", "function", "name", "args", "input"]);
    let name = name.or_else(|| function?.get("name")).filter(|name| name.is_string())?;
    let given = args.or(input).or_else(|| function?.get("arguments"));
    let (id, name, arguments) =
        (id.and_then(View::string)?, name.raw().to_owned(), arguments(given));
    Some(Part::Call(Call { id, name, arguments }))
}

fn thought(block: View<'_>) -> Option<Part> {
    let [kind, thinking, reasoning, signature] =
        block.fields(["type", "thinking", "reasoning", "signature"]);
    kind.filter(|kind| kind.is_text("thinking") || kind.is_text("reasoning"))?;
    let text = thinking.or(reasoning).filter(|text| text.is_string())?.raw().to_owned();
    let signature = signature.filter(|signature| signature.is_string());
    Some(Part::Thought { text, signature: signature.map(|signature| signature.raw().to_owned()) })
}
