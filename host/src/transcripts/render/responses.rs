//! As a request of OpenAI Responses: the items of a log as they are, and items made of what is none.

use std::collections::HashMap;

use super::{Beside, List, Request};
use crate::formats::Format;
use crate::formats::json::{Source, View, quote};
use crate::transcripts::assemble::Message;
use crate::transcripts::entry::{Answer, Block, Call, Json, Part, Speaker};
use crate::transcripts::render::openai_chat::address;

pub(super) fn request(messages: Vec<Message>, beside: Beside) -> Request {
    let outputs = outputs(&messages);
    let mut list = List::begin(&messages, &beside, None);
    if let Some(system) = &beside.system {
        list.text.push_str(&format!("\"instructions\":{system},"));
    }
    list.text.push_str("\"input\":[");
    for message in &messages {
        items(message, &outputs, &mut list);
        list.report(message);
    }
    list.end(Format::OpenaiResponses)
}

fn items(message: &Message, outputs: &HashMap<String, String>, list: &mut List) {
    let mut parts = message.parts.as_slice();
    while let [part, rest @ ..] = parts {
        list.element(message.entry);
        let out = &mut list.text;
        parts = rest;
        match part {
            Part::Block { raw, .. } => out.push_str(raw),
            Part::Thought { text, .. } => {
                let head =
                    "{\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":";
                push(out, &[head, text, "}]}"]);
            }
            Part::Call(Call { id, name, arguments }) => {
                push(out, &["{\"type\":\"function_call\",\"call_id\":", &quote(id)]);
                push(out, &[",\"name\":", name, ",\"arguments\":", &quote(arguments), "}"]);
            }
            Part::Result(answer) => {
                let kind = outputs.get(&answer.call).map_or("function_call_output", String::as_str);
                result(kind, answer, out);
            }
            Part::Text(_) | Part::Image(_) | Part::PassedOver { .. } => {
                let is_said = |part: &&Part| matches!(part, Part::Text(_) | Part::Image(_));
                let more = rest.iter().take_while(is_said).count();
                let (said, behind) = rest.split_at(more);
                parts = behind;
                let role = match message.speaker {
                    Speaker::System => "developer",
                    Speaker::Assistant => "assistant",
                    Speaker::User | Speaker::Tool => "user",
                };
                push(out, &["{\"type\":\"message\",\"role\":\"", role, "\",\"content\":["]);
                content(std::iter::once(part).chain(said), role == "assistant", out);
                out.push_str("]}");
            }
        }
    }
}

fn content<'a>(parts: impl Iterator<Item = &'a Part>, is_model: bool, out: &mut String) {
    let kind = if is_model { "output_text" } else { "input_text" };
    for (place, part) in parts.enumerate() {
        if place > 0 {
            out.push(',');
        }
        match part {
            Part::Text(text) => push(out, &["{\"type\":\"", kind, "\",\"text\":", text, "}"]),
            Part::Image(image) => {
                push(out, &["{\"type\":\"input_image\",\"image_url\":", &address(image), "}"]);
            }
            Part::Block { raw, .. } => out.push_str(raw),
            _ => {}
        }
    }
}

fn result(kind: &str, answer: &Answer, out: &mut String) {
    push(out, &["{\"type\":", &quote(kind), ",\"call_id\":", &quote(&answer.call)]);
    match answer.content.as_slice() {
        [] => out.push_str(",\"output\":\"\"}"),
        [Part::Text(text)] => push(out, &[",\"output\":", text, "}"]),
        parts => {
            out.push_str(",\"output\":[");
            content(parts.iter(), false, out);
            out.push_str("]}");
        }
    }
}

/// What the result of each call is called that is no function's, if a result has to be made of what is none.
fn outputs(messages: &[Message]) -> HashMap<String, String> {
    let parts = || messages.iter().flat_map(|message| &message.parts);
    if !parts().any(|part| matches!(part, Part::Result(_))) {
        return HashMap::new();
    }
    let named = |part: &Part| {
        let Part::Block { raw, kind: Block::Call(id), .. } = part else { return None };
        Some((id.clone(), kind_of(raw)? + "_output"))
    };
    parts().filter_map(named).collect()
}

fn kind_of(raw: &Json) -> Option<String> {
    let source = Source::parse(raw.clone()).ok()?;
    source.roots().next()?.get("type").and_then(View::string)
}

fn push(out: &mut String, pieces: &[&str]) {
    pieces.iter().for_each(|piece| out.push_str(piece));
}
