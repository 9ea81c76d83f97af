//! OpenAI Chat Completions, and the variants that agents write.
//!
//! Known variants: the older `function_call`, mini-swe-agent's role `exit`, SWE-agent's
//! `tool_call_ids`, and the flat calls of tau2, whose results name their call in `id`.

mod write;

pub(super) use write::{group_json, joins};

use brute_core::{Opaque, Part, Reasoning, Role, ToolCall, ToolResult};

use super::json::{View, compact};
use super::pieces::{Pieces, Run, Slot, Wire, joined};
use super::{Format, ReadError, media, opaque};
use crate::tokens::media::ImageRule;

const ROLES: &str = "`system`, `developer`, `user`, `assistant`, `tool`, `function` and, \
    from logs of mini-swe-agent, `exit`";

/// Fields that hold what the model thought. They say the same in different ways.
const REASONING: [&str; 4] =
    ["reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"];

/// Reads all messages.
pub(super) fn read(messages: &[View<'_>], rule: ImageRule) -> Result<Pieces, ReadError> {
    let mut pieces = Pieces::default();
    for message in messages {
        let index = pieces.begin(message.index());
        Reader { message: *message, index, rule }.read(&mut pieces)?;
    }
    Ok(pieces)
}

struct Reader<'a> {
    message: View<'a>,
    index: usize,
    rule: ImageRule,
}

impl<'a> Reader<'a> {
    fn read(&self, pieces: &mut Pieces) -> Result<(), ReadError> {
        let role = self.get("role").and_then(View::text).unwrap_or_default();
        match &*role {
            "system" | "developer" => self.dialogue(Role::System, pieces),
            "user" => self.dialogue(Role::User, pieces),
            "assistant" => self.dialogue(Role::Assistant, pieces),
            "exit" => self.dialogue(Role::Other, pieces),
            // A simulated person of tau2 may call tools of their own: not the model's business.
            "tool" if self.get("requestor").is_some_and(|of| of.is_text("user")) => {
                self.dialogue(Role::Other, pieces)
            }
            "tool" => self.result(self.call_ids()?, pieces),
            "function" => match self.get("name").and_then(View::text) {
                Some(name) => self.result(vec![function_id(&name)], pieces),
                None => Err(self.shape("name", self.message, "the `name` of the function")),
            },
            _ => Err(ReadError::UnknownRole {
                index: self.index,
                pointer: self.pointer("role"),
                role: role.into_owned(),
                format: Format::OpenaiChat,
                known: ROLES,
            }),
        }
    }

    fn dialogue(&self, role: Role, pieces: &mut Pieces) -> Result<(), ReadError> {
        let node = self.message.index();
        let mut run = Run::new(Wire::Message(self.index), node, role);
        if role == Role::Assistant
            && let Some(reasoning) = self.reasoning()
        {
            run.add(Part::Reasoning(reasoning), Slot::Fields, node, pieces);
        }
        let content = self.get("content").filter(|content| !content.is_null());
        match content {
            Some(content) if content.is_array() => {
                for element in content.items() {
                    let slot = Slot::Element(element.index());
                    run.add(self.element(element)?, slot, element.index(), pieces);
                }
            }
            // Beside calls, an empty string says what null says.
            Some(content) if content.raw() != "\"\"" => match content.string() {
                Some(text) => run.add(Part::Text(text), Slot::Content, node, pieces),
                None => {
                    let expected = "a string, an array of parts or null";
                    return Err(self.shape("content", content, expected));
                }
            },
            _ => {}
        }
        if let Some(refusal) =
            self.get("refusal").and_then(View::string).filter(|it| !it.is_empty())
        {
            run.add(Part::Text(refusal), Slot::Fields, node, pieces);
        }
        self.calls(role, &mut run, pieces)?;
        let is_nothing =
            run.is_empty() && pieces.of_wire.last().is_some_and(std::ops::Range::is_empty);
        if is_nothing && content.is_some_and(View::is_string) {
            run.add(Part::Text(String::new()), Slot::Content, node, pieces);
        } else if is_nothing {
            run.end_even_empty(pieces);
        }
        run.end(pieces);
        Ok(())
    }

    fn calls(&self, role: Role, run: &mut Run, pieces: &mut Pieces) -> Result<(), ReadError> {
        if let Some(calls) = self.get("tool_calls").filter(|calls| !calls.is_null()) {
            if !calls.is_array() {
                return Err(self.shape("tool_calls", calls, "an array of calls or null"));
            }
            for call in calls.items() {
                let part = match role {
                    Role::Assistant => Part::ToolCall(self.call(call)?),
                    _ => {
                        Part::Opaque(Opaque { kind: "tool_call".into(), text: compact(call.raw()) })
                    }
                };
                run.add(part, Slot::Call(call.index()), call.index(), pieces);
            }
        }
        if let Some(call) = self.get("function_call").filter(|call| call.is_object()) {
            let name = call.get("name").and_then(View::string).unwrap_or_default();
            let arguments = call.get("arguments").map_or_else(String::new, arguments);
            let part = ToolCall { id: function_id(&name), name, arguments };
            run.add(Part::ToolCall(part), Slot::Fields, call.index(), pieces);
        }
        Ok(())
    }

    fn call(&self, call: View<'_>) -> Result<ToolCall, ReadError> {
        let Some(id) = call.get("id").and_then(View::string) else {
            return Err(self.shape_at(call, "a call with an `id`"));
        };
        // `function` is an object, or the name itself; a flat call has `name` and `arguments`.
        let inner = ["function", "custom"].into_iter().find_map(|key| call.get(key));
        let holder = inner.filter(|inner| inner.is_object()).unwrap_or(call);
        let name = holder.get("name").or(inner).and_then(View::string);
        let Some(name) = name else {
            return Err(self.shape_at(call, "a call that names its function"));
        };
        let given = holder.get("arguments").or_else(|| holder.get("input"));
        Ok(ToolCall { id, name, arguments: given.map_or_else(String::new, arguments) })
    }

    fn result(&self, ids: Vec<String>, pieces: &mut Pieces) -> Result<(), ReadError> {
        let mut lines = Vec::new();
        let mut seen = Vec::new();
        match self.get("content").filter(|content| !content.is_null()) {
            None => {}
            Some(content) if content.is_array() => {
                for element in content.items() {
                    match self.element(element)? {
                        Part::Text(text) => lines.push(text),
                        Part::Media(media) => seen.push(media),
                        Part::Opaque(opaque) => lines.push(opaque.text),
                        _ => {}
                    }
                }
            }
            Some(content) => match content.string() {
                Some(text) => lines.push(text),
                None => {
                    let expected = "a string, an array of parts or null";
                    return Err(self.shape("content", content, expected));
                }
            },
        }
        let node = self.message.index();
        let is_error = self.get("error").and_then(View::bool).unwrap_or(false);
        let (mut text, mut media) = (joined(lines), seen);
        for (place, call) in ids.into_iter().enumerate() {
            let mut run = Run::new(Wire::Message(self.index), node, Role::Tool);
            let (text, media) = (std::mem::take(&mut text), std::mem::take(&mut media));
            let part = Part::ToolResult(ToolResult { call, text, media, is_error });
            let slot = if place == 0 { Slot::Content } else { Slot::Beside };
            run.add(part, slot, node, pieces);
            run.end(pieces);
        }
        Ok(())
    }

    /// The calls that a tool message answers: one, in all but SWE-agent's logs.
    fn call_ids(&self) -> Result<Vec<String>, ReadError> {
        let expected = "the `tool_call_id` of the call that this answers";
        if let Some(ids) = self.get("tool_call_ids").filter(|ids| ids.is_array()) {
            let found: Option<Vec<String>> = ids.items().map(View::string).collect();
            return match found {
                Some(found) if !found.is_empty() => Ok(found),
                _ => {
                    Err(self.shape("tool_call_ids", ids, "the ids of the calls that this answers"))
                }
            };
        }
        let found = ["tool_call_id", "id"].into_iter().find_map(|key| self.get(key)?.string());
        match found {
            Some(id) => Ok(vec![id]),
            None => Err(self.shape_at(self.get("tool_call_id").unwrap_or(self.message), expected)),
        }
    }

    fn reasoning(&self) -> Option<Reasoning> {
        let text = |key| self.get(key).and_then(View::string).filter(|text| !text.is_empty());
        let readable = text("reasoning_content").or_else(|| text("reasoning"));
        let mut details = ["reasoning_details", "thinking_blocks"]
            .into_iter()
            .filter_map(|key| self.get(key))
            .flat_map(View::items);
        let signed = details.any(|detail| {
            detail.get("signature").is_some_and(|signature| !signature.is_null())
                || detail.get("type").is_some_and(|kind| kind.is_text("reasoning.encrypted"))
        });
        (readable.is_some() || signed)
            .then(|| Reasoning { text: readable.unwrap_or_default(), signed })
    }

    fn element(&self, element: View<'_>) -> Result<Part, ReadError> {
        if let Some(text) = element.string() {
            return Ok(Part::Text(text));
        }
        if !element.is_object() {
            return Err(self.shape_at(element, "a part: an object with a `type`"));
        }
        let text = ["text", "refusal"]
            .into_iter()
            .find(|kind| element.get("type").is_some_and(|of| of.is_text(kind)));
        if let Some(text) = text.and_then(|key| element.get(key)).and_then(View::string) {
            return Ok(Part::Text(text));
        }
        if let Some(image) = media::openai(element, self.rule) {
            return Ok(Part::Media(image));
        }
        Ok(media::openai_file(element, self.rule).unwrap_or_else(|| opaque::part(element)))
    }

    fn get(&self, key: &str) -> Option<View<'a>> {
        self.message.get(key)
    }

    fn pointer(&self, key: &str) -> String {
        format!("{}/{key}", self.message.source().pointer(self.message.index()))
    }

    fn shape(&self, key: &str, found: View<'_>, expected: &'static str) -> ReadError {
        let (index, pointer) = (self.index, self.pointer(key));
        ReadError::Shape { index, pointer, expected, found: found.describe() }
    }

    fn shape_at(&self, found: View<'_>, expected: &'static str) -> ReadError {
        let pointer = found.source().pointer(found.index());
        ReadError::Shape { index: self.index, pointer, expected, found: found.describe() }
    }
}

/// Functions of the older kind have no ids: a result means the nearest open call of that name.
fn function_id(name: &str) -> String {
    format!("function:{name}")
}

/// Arguments as JSON text, whether they are that already or JSON themselves.
fn arguments(value: View<'_>) -> String {
    match value.string() {
        Some(text) => text,
        None if value.is_null() => String::new(),
        None => value.raw().to_owned(),
    }
}
