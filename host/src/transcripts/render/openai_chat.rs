//! As a request of OpenAI Chat Completions.

use super::{Beside, List, Request};
use crate::formats::Format;
use crate::formats::json::quote;
use crate::transcripts::assemble::Message;
use crate::transcripts::entry::{Answer, Call, Image, Json, Part, Speaker, inner, joined};

pub(super) fn request(messages: Vec<Message>, beside: Beside) -> Request {
    let mut list = List::begin(&messages, &beside, beside.tools.as_ref());
    list.text.push_str("\"messages\":[");
    if let Some(system) = &beside.system {
        list.message("system", 0);
        list.text.push_str(&format!(",\"content\":{system}}}"));
    }
    for message in messages {
        let message = &message;
        match message.speaker {
            Speaker::System => said("system", message, &mut list),
            Speaker::User => said("user", message, &mut list),
            Speaker::Assistant => assistant(message, &mut list),
            Speaker::Tool => results(message, &mut list),
        }
    }
    list.end(Format::OpenaiChat)
}

fn said(role: &str, message: &Message, list: &mut List) {
    list.message(role, message.entry);
    content(&message.parts, &mut list.text);
    list.text.push('}');
}

fn assistant(message: &Message, list: &mut List) {
    list.message("assistant", message.entry);
    list.report(message);
    let thoughts: Vec<&Json> = message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::Thought { text, .. } => Some(text),
            _ => None,
        })
        .collect();
    if !thoughts.is_empty() {
        list.text.push_str(",\"reasoning_content\":");
        list.text.push_str(&joined(thoughts));
    }
    let calls = message.parts.iter().filter_map(|part| match part {
        Part::Call(call) => Some(call),
        _ => None,
    });
    content(&message.parts, &mut list.text);
    for (place, Call { id, name, arguments }) in calls.enumerate() {
        list.text.push_str(if place == 0 { ",\"tool_calls\":[" } else { "," });
        let pieces = [
            "{\"id\":",
            &quote(id),
            ",\"type\":\"function\",\"function\":{\"name\":",
            name,
            ",\"arguments\":",
            &quote(arguments),
            "}}",
        ];
        pieces.iter().for_each(|piece| list.text.push_str(piece));
    }
    let has_calls = message.parts.iter().any(|part| matches!(part, Part::Call(_)));
    list.text.push_str(if has_calls { "]}" } else { "}" });
}

/// A message for each result. What a result shows and no such message can stands behind all of them.
fn results(message: &Message, list: &mut List) {
    let mut shown = Vec::new();
    for part in &message.parts {
        let Part::Result(Answer { call, content, .. }) = part else { continue };
        let texts = content.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        });
        let text = joined(texts);
        list.message("tool", message.entry);
        let pieces = [",\"tool_call_id\":", &quote(call), ",\"content\":", &text, "}"];
        pieces.iter().for_each(|piece| list.text.push_str(piece));
        shown.extend(content.iter().filter(|part| matches!(part, Part::Image(_))));
    }
    if !shown.is_empty() {
        list.message("user", message.entry);
        elements(shown.into_iter(), &mut list.text);
        list.text.push('}');
    }
}

/// The texts and images among `parts`: a string if it is one text.
fn content(parts: &[Part], out: &mut String) {
    let said = |part: &&Part| matches!(part, Part::Text(_) | Part::Image(_));
    let mut found = parts.iter().filter(said);
    match (found.next(), found.next()) {
        (None, _) => out.push_str(",\"content\":null"),
        (Some(Part::Text(text)), None) => {
            out.push_str(",\"content\":");
            out.push_str(text);
        }
        _ => elements(parts.iter().filter(said), out),
    }
}

fn elements<'a>(parts: impl Iterator<Item = &'a Part>, out: &mut String) {
    out.push_str(",\"content\":[");
    for (place, part) in parts.enumerate() {
        if place > 0 {
            out.push(',');
        }
        match part {
            Part::Text(text) => out.push_str(&format!("{{\"type\":\"text\",\"text\":{text}}}")),
            Part::Image(image) => {
                let url = address(image);
                out.push_str(&format!(
                    "{{\"type\":\"image_url\",\"image_url\":{{\"url\":{url}}}}}"
                ));
            }
            _ => {}
        }
    }
    out.push(']');
}

/// The address of an image, which may hold the image itself.
pub(super) fn address(image: &Image) -> Json {
    match image {
        Image::Url(url) => url.clone(),
        Image::Data { media_type, data } => {
            format!("\"data:{};base64,{}\"", inner(media_type), inner(data))
        }
    }
}
