//! Blocks as the JSON of a request.

use serde_json::{Map, Value, json};

use super::media::Medium;
use super::plan::{Answer, Asked, Block, Said};
use crate::formats::Format;

/// The members of a body that say what `blocks` do.
pub(super) fn body(format: Format, blocks: Vec<Block>) -> Map<String, Value> {
    match format {
        Format::OpenaiChat => of([("messages", openai_chat(blocks))]),
        Format::OpenaiResponses => of([("input", openai_responses(blocks))]),
        Format::Anthropic | Format::Gemini => taking_turns(format, blocks),
    }
}

/// Sets the most tokens that a reply may have.
pub(super) fn limit(format: Format, limit: u64, body: &mut Map<String, Value>) {
    let (key, value) = match format {
        Format::OpenaiChat => ("max_completion_tokens", json!(limit)),
        Format::OpenaiResponses => ("max_output_tokens", json!(limit)),
        Format::Anthropic => ("max_tokens", json!(limit)),
        Format::Gemini => ("generationConfig", json!({ "maxOutputTokens": limit })),
    };
    body.insert(key.to_owned(), value);
}

fn of<const N: usize>(members: [(&str, Vec<Value>); N]) -> Map<String, Value> {
    members.into_iter().map(|(key, list)| (key.to_owned(), Value::Array(list))).collect()
}

fn element(medium: &Medium, format: Format) -> Option<Value> {
    medium.element(format)
}

fn openai_chat(blocks: Vec<Block>) -> Vec<Value> {
    let format = Format::OpenaiChat;
    let text = |text: Box<str>| json!({ "type": "text", "text": text });
    let content = |mut said: Vec<Value>| match said.as_mut_slice() {
        [only] if only["type"] == "text" => only["text"].take(),
        _ => Value::Array(said),
    };
    let mut messages = Vec::new();
    for block in blocks {
        match block {
            Block::System(text) => messages.push(json!({ "role": "system", "content": text })),
            Block::User(said) => {
                let said = said.into_iter().filter_map(|said| match said {
                    Said::Text(words) => Some(text(words.into())),
                    Said::Medium(medium) => element(&medium, format),
                });
                messages.push(json!({ "role": "user", "content": content(said.collect()) }));
            }
            Block::Model { said, calls } => {
                let content = match said.is_empty() {
                    true => Value::Null,
                    false => content(said.into_iter().map(text).collect()),
                };
                let mut message = json!({ "role": "assistant", "content": content });
                let call = |call: &Asked| {
                    let function = json!({ "name": call.name, "arguments": call.arguments });
                    json!({ "id": call.id, "type": "function", "function": function })
                };
                if !calls.is_empty() {
                    message["tool_calls"] = calls.iter().map(call).collect();
                }
                messages.push(message);
                let mut shown = Vec::new();
                for call in calls {
                    let Some(Answer { text, shown: media, .. }) = call.result else { continue };
                    messages
                        .push(json!({ "role": "tool", "tool_call_id": call.id, "content": text }));
                    shown.extend(media.iter().filter_map(|medium| element(medium, format)));
                }
                // A result holds text alone: what it shows stands behind all results.
                if !shown.is_empty() {
                    messages.push(json!({ "role": "user", "content": shown }));
                }
            }
        }
    }
    messages
}

fn openai_responses(blocks: Vec<Block>) -> Vec<Value> {
    let format = Format::OpenaiResponses;
    let mut items = Vec::new();
    let message = |role: &str, content: Vec<Value>| json!({ "type": "message", "role": role, "content": content });
    let input = |text: Box<str>| json!({ "type": "input_text", "text": text });
    for block in blocks {
        match block {
            Block::System(text) => items.push(message("developer", vec![input(text.into())])),
            Block::User(said) => {
                let said = said.into_iter().filter_map(|said| match said {
                    Said::Text(text) => Some(input(text.into())),
                    Said::Medium(medium) => element(&medium, format),
                });
                items.push(message("user", said.collect()));
            }
            Block::Model { said, calls } => {
                let output = |text: Box<str>| json!({ "type": "output_text", "text": text });
                if !said.is_empty() {
                    items.push(message("assistant", said.into_iter().map(output).collect()));
                }
                items.extend(calls.iter().map(|call| {
                    let (id, name, arguments) = (&call.id, &call.name, &call.arguments);
                    json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments })
                }));
                for call in calls {
                    let Some(Answer { text, shown, .. }) = call.result else { continue };
                    let mut shown: Vec<Value> =
                        shown.iter().filter_map(|medium| element(medium, format)).collect();
                    let output = match shown.is_empty() {
                        true => Value::from(text),
                        false => {
                            if !text.is_empty() {
                                shown.insert(0, input(text.into()));
                            }
                            Value::from(shown)
                        }
                    };
                    items.push(json!({
                        "type": "function_call_output", "call_id": call.id, "output": output,
                    }));
                }
            }
        }
    }
    items
}

/// Messages whose roles take turns: what is said in a row is one of them.
fn taking_turns(format: Format, blocks: Vec<Block>) -> Map<String, Value> {
    let is_gemini = format == Format::Gemini;
    let text = |text: Box<str>| match is_gemini {
        true => json!({ "text": text }),
        false => json!({ "type": "text", "text": text }),
    };
    let mut system = Vec::new();
    let mut turns = Turns { format, list: Vec::new() };
    for block in blocks {
        match block {
            Block::System(words) if words.trim().is_empty() => {}
            Block::System(words) => system.push(text(words.into())),
            Block::User(said) => {
                let said = said.into_iter().filter_map(|said| match said {
                    Said::Text(words) => Some(text(words.into())),
                    Said::Medium(medium) => element(&medium, format),
                });
                turns.add("user", said.collect());
            }
            Block::Model { said, calls } => {
                let mut said: Vec<Value> = said.into_iter().map(text).collect();
                said.extend(calls.iter().map(|asked| call(asked, is_gemini)));
                turns.add(if is_gemini { "model" } else { "assistant" }, said);
                let results: Vec<Value> =
                    calls.into_iter().flat_map(|call| answered(call, format)).collect();
                if !results.is_empty() {
                    turns.add("user", results);
                }
            }
        }
    }
    let mut body = Map::new();
    if is_gemini {
        if !system.is_empty() {
            body.insert("systemInstruction".to_owned(), json!({ "parts": system }));
        }
        body.extend(of([("contents", turns.list)]));
    } else {
        if !system.is_empty() {
            body.insert("system".to_owned(), Value::Array(system));
        }
        body.extend(of([("messages", turns.list)]));
    }
    body
}

/// Messages in the making.
struct Turns {
    format: Format,
    list: Vec<Value>,
}

impl Turns {
    fn add(&mut self, role: &str, mut parts: Vec<Value>) {
        let key = if self.format == Format::Gemini { "parts" } else { "content" };
        match self.list.last_mut().filter(|last| last["role"] == role) {
            Some(last) => {
                if let Some(there) = last[key].as_array_mut() {
                    there.append(&mut parts);
                }
            }
            None => self.list.push(json!({ "role": role, key: parts })),
        }
    }
}

fn call(asked: &Asked, is_gemini: bool) -> Value {
    let Asked { id, name, arguments, .. } = asked;
    let input: Value = serde_json::from_str(arguments).unwrap_or_default();
    match is_gemini {
        true => json!({ "functionCall": { "id": id, "name": name, "args": input } }),
        false => json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
    }
}

/// The parts that the result of a call is.
fn answered(call: Asked, format: Format) -> Vec<Value> {
    let Asked { id, name, result, .. } = call;
    let Some(Answer { text, shown, is_error }) = result else { return Vec::new() };
    let mut shown: Vec<Value> = shown.iter().filter_map(|medium| element(medium, format)).collect();
    if format == Format::Gemini {
        let key = if is_error { "error" } else { "output" };
        let mut response = json!({ "id": id, "name": name, "response": { key: text } });
        if !shown.is_empty() {
            response["parts"] = Value::Array(shown);
        }
        return vec![json!({ "functionResponse": response })];
    }
    let content = match shown.is_empty() {
        true => Value::from(text),
        false => {
            if !text.trim().is_empty() {
                shown.insert(0, json!({ "type": "text", "text": text }));
            }
            Value::from(shown)
        }
    };
    let mut result = json!({ "type": "tool_result", "tool_use_id": id, "content": content });
    if is_error {
        result["is_error"] = json!(true);
    }
    vec![result]
}
