//! As a request of Gemini. Contents of one role in a row are one there.

use std::collections::HashMap;

use super::{Beside, List, Request};
use crate::formats::Format;
use crate::formats::json::{Source, quote};
use crate::transcripts::assemble::Message;
use crate::transcripts::entry::{Answer, Block, Call, Image, Json, Part, Speaker, joined};

pub(super) fn request(messages: Vec<Message>, beside: Beside) -> Request {
    let is_first = |message: &&Message| message.speaker == Speaker::System;
    let leading = messages.iter().take_while(is_first).count();
    let texts = messages[..leading].iter().flat_map(|message| &message.parts);
    let texts = texts.filter_map(|part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    });
    let system: Vec<&Json> = beside.system.iter().chain(texts).collect();
    let mut list = List::begin(&messages, &beside, None);
    if !system.is_empty() {
        let text = joined(system);
        push(&mut list.text, &["\"systemInstruction\":{\"parts\":[{\"text\":", &text, "}]},"]);
    }
    list.text.push_str("\"contents\":[");
    let mut names = HashMap::new();
    let spoken = messages.iter().skip(leading);
    list.alternating(spoken, ("model", "parts"), |part, text| one(part, &mut names, text));
    list.end(Format::Gemini)
}

/// Writes a part. Results repeat the names of their calls: `names` has them, by the ids.
fn one(part: &Part, names: &mut HashMap<String, Json>, out: &mut String) {
    match part {
        Part::Text(text) => push(out, &["{\"text\":", text, "}"]),
        Part::Thought { text, signature } => {
            push(out, &["{\"text\":", text, ",\"thought\":true"]);
            if let Some(signature) = signature {
                push(out, &[",\"thoughtSignature\":", signature]);
            }
            out.push('}');
        }
        Part::Image(Image::Data { media_type, data }) => {
            push(out, &["{\"inlineData\":{\"mimeType\":", media_type, ",\"data\":", data, "}}"]);
        }
        Part::Image(Image::Url(url)) => push(out, &["{\"fileData\":{\"fileUri\":", url, "}}"]),
        Part::Call(Call { id, name, arguments }) => {
            push(out, &["{\"functionCall\":{\"id\":", &quote(id), ",\"name\":", name]);
            push(out, &[",\"args\":", arguments, "}}"]);
            names.insert(id.clone(), name.clone());
        }
        Part::Result(answer) => result(answer, names, out),
        Part::Block { raw, kind, .. } => {
            if let Block::Call(id) = kind
                && let Some(name) = name_in(raw)
            {
                names.insert(id.clone(), name);
            }
            out.push_str(raw);
        }
        Part::PassedOver { .. } => {}
    }
}

fn result(answer: &Answer, names: &mut HashMap<String, Json>, out: &mut String) {
    let Answer { call, content, is_error } = answer;
    let name = names.get(call).map_or("\"tool\"", String::as_str);
    push(out, &["{\"functionResponse\":{\"id\":", &quote(call), ",\"name\":", name]);
    let text = joined(content.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        _ => None,
    }));
    let key = if *is_error { "error" } else { "output" };
    push(out, &[",\"response\":{\"", key, "\":", &text, "}"]);
    let shown = content.iter().filter(|part| !matches!(part, Part::Text(_)));
    for (place, part) in shown.clone().enumerate() {
        out.push_str(if place == 0 { ",\"parts\":[" } else { "," });
        one(part, names, out);
    }
    out.push_str(if shown.count() > 0 { "]}}" } else { "}}" });
}

/// The name in a call that is written as it is.
fn name_in(raw: &Json) -> Option<Json> {
    let source = Source::parse(raw.clone()).ok()?;
    let name = source.roots().next()?.get("functionCall")?.get("name")?;
    Some(name.raw().to_owned())
}

fn push(out: &mut String, pieces: &[&str]) {
    pieces.iter().for_each(|piece| out.push_str(piece));
}
