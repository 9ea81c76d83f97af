//! As a request of Anthropic Messages. Messages of one role in a row are one there.

use super::{Beside, List, Request};
use crate::formats::Format;
use crate::formats::json::{Source, View, quote};
use crate::transcripts::assemble::Message;
use crate::transcripts::entry::{Answer, Call, Image, Json, Part, Speaker, joined};

pub(super) fn request(messages: Vec<Message>, beside: Beside) -> Request {
    let is_first = |message: &&Message| message.speaker == Speaker::System;
    let leading = messages.iter().take_while(is_first).count();
    let texts = messages[..leading].iter().flat_map(|message| &message.parts);
    let texts = texts.filter_map(|part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    });
    let system: Vec<&Json> = beside.system.iter().chain(texts).collect();
    let tools = beside.tools.as_deref().and_then(tools);
    let mut list = List::begin(&messages, &beside, tools.as_ref());
    if !system.is_empty() {
        list.text.push_str(&format!("\"system\":{},", joined(system)));
    }
    list.text.push_str("\"messages\":[");
    list.alternating(messages.iter().skip(leading), ("assistant", "content"), block);
    list.end(Format::Anthropic)
}

fn block(part: &Part, out: &mut String) {
    match part {
        Part::Text(text) => push(out, &["{\"type\":\"text\",\"text\":", text, "}"]),
        Part::Thought { text, signature } => {
            let signature = signature.as_deref().unwrap_or("\"\"");
            push(out, &["{\"type\":\"thinking\",\"thinking\":", text]);
            push(out, &[",\"signature\":", signature, "}"]);
        }
        Part::Image(Image::Data { media_type, data }) => {
            push(
                out,
                &[
                    "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":",
                    media_type,
                ],
            );
            push(out, &[",\"data\":", data, "}}"]);
        }
        Part::Image(Image::Url(url)) => {
            push(out, &["{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":", url, "}}"]);
        }
        Part::Call(Call { id, name, arguments }) => {
            push(out, &["{\"type\":\"tool_use\",\"id\":", &quote(id), ",\"name\":", name]);
            push(out, &[",\"input\":", arguments, "}"]);
        }
        Part::Result(Answer { call, content, is_error }) => {
            push(out, &["{\"type\":\"tool_result\",\"tool_use_id\":", &quote(call)]);
            match content.as_slice() {
                [] => {}
                [Part::Text(text)] => push(out, &[",\"content\":", text]),
                parts => {
                    out.push_str(",\"content\":[");
                    for (place, part) in parts.iter().enumerate() {
                        if place > 0 {
                            out.push(',');
                        }
                        block(part, out);
                    }
                    out.push(']');
                }
            }
            out.push_str(if *is_error { ",\"is_error\":true}" } else { "}" });
        }
        Part::Block { raw, .. } => out.push_str(raw),
        Part::PassedOver { .. } => {}
    }
}

fn push(out: &mut String, pieces: &[&str]) {
    pieces.iter().for_each(|piece| out.push_str(piece));
}

/// Schemas in the way of OpenAI in the way of Anthropic.
fn tools(tools: &str) -> Option<Json> {
    let source = Source::parse(tools.to_owned()).ok()?;
    let list = source.roots().next()?;
    let tool = |tool: View<'_>| {
        let Some(function) = tool.get("function") else { return tool.raw().to_owned() };
        let [name, description, parameters] =
            function.fields(["name", "description", "parameters"]);
        let name = name.map_or("\"\"", View::raw);
        let mut text = format!("{{\"name\":{name}");
        if let Some(description) = description {
            text.push_str(&format!(",\"description\":{}", description.raw()));
        }
        let schema = parameters.map_or("{\"type\":\"object\"}", View::raw);
        text.push_str(&format!(",\"input_schema\":{schema}}}"));
        text
    };
    let tools: Vec<Json> = list.items().map(tool).collect();
    (!tools.is_empty()).then(|| format!("[{}]", tools.join(",")))
}
