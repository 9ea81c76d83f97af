//! OpenAI Chat Completions, and the variants that agents write.
//!
//! Known variants: the older `function_call`, mini-swe-agent's role `exit`, SWE-agent's
//! `tool_call_ids` and observations in the role of the user, and the flat calls of tau2, whose results
//! name their call in `id`.

mod fields;
mod log;
mod write;

pub(super) use write::{group_json, joins};

use brute_core::{Mark, Media, Opaque, Part, Reasoning, Role, ToolCall, ToolResult};

use self::fields::{CallFields, Fields};
use self::log::Log;
use super::json::{Texts, View, compact};
use super::pieces::{Piece, Pieces, Run, Wire, is_said, joined};
use super::slots::Slot;
use super::{Format, ReadError, media, opaque};
use crate::tokens::media::ImageRule;

const ROLES: &str = "`system`, `developer`, `user`, `assistant`, `tool`, `function` and, \
    from logs of mini-swe-agent, `exit`";

/// Fields that hold what the model thought. They say the same in different ways.
const REASONING: [&str; 4] =
    ["reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"];

/// Reads all messages.
pub(super) fn read(
    messages: &[View<'_>],
    rule: ImageRule,
    texts: &mut Texts,
) -> Result<Pieces, ReadError> {
    let mut pieces = Pieces::default();
    let mut run = Run::default();
    let mut log = Log::default();
    for message in messages {
        let index = pieces.begin(message.index());
        let fields = Fields::of(*message);
        let mut reader = Reader { message: *message, fields, index, rule, texts };
        reader.read(&mut log, &mut run, &mut pieces)?;
    }
    Ok(pieces)
}

struct Reader<'a, 't> {
    message: View<'a>,
    fields: Fields<'a>,
    index: usize,
    rule: ImageRule,
    texts: &'t mut Texts,
}

impl<'a> Reader<'a, '_> {
    fn read(&mut self, log: &mut Log, run: &mut Run, pieces: &mut Pieces) -> Result<(), ReadError> {
        let role = self.fields.role.and_then(View::text).unwrap_or_default();
        match &*role {
            "system" | "developer" => self.dialogue(Role::System, run, pieces),
            "user" if log.is_no_request(self.message) => self.dialogue(Role::Other, run, pieces),
            "user" => {
                self.dialogue(Role::User, run, pieces)?;
                log.user(pieces);
                Ok(())
            }
            "assistant" => {
                log.assistant(self.message);
                self.dialogue(Role::Assistant, run, pieces)
            }
            "exit" => self.dialogue(Role::Other, run, pieces),
            // A simulated person of tau2 may call tools of their own: not the model's business.
            "tool" if self.fields.requestor.is_some_and(|of| of.is_text("user")) => {
                self.dialogue(Role::Other, run, pieces)
            }
            "tool" => {
                pieces.first_tool.get_or_insert(self.index);
                match self.fields.tool_call_ids.filter(|ids| ids.is_array()) {
                    Some(ids) => self.result(self.call_ids(ids)?, pieces),
                    None => self.result([self.call_id()?], pieces),
                }
            }
            "function" => match self.fields.name.and_then(View::text) {
                Some(name) => self.result([function_id(&name)], pieces),
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

    fn dialogue(
        &mut self,
        role: Role,
        run: &mut Run,
        pieces: &mut Pieces,
    ) -> Result<(), ReadError> {
        let node = self.message.index();
        run.begin(Wire::message(self.index), node, role);
        if role == Role::User
            && let Some(result) = self.result_before(pieces)
        {
            return self.behind_a_result(result, run, pieces);
        }
        if role == Role::Assistant
            && let Some(reasoning) = self.reasoning()
        {
            run.add(Part::Reasoning(reasoning), Slot::Fields, node, pieces);
        }
        let content = self.fields.content.filter(|content| !content.is_null());
        match content {
            Some(content) if content.is_array() => {
                for element in content.items() {
                    let slot = Slot::Element(element.index());
                    run.add(self.element(element)?, slot, element.index(), pieces);
                }
            }
            // Beside calls, an empty string says what null says.
            Some(content) if content.raw() != "\"\"" => {
                let text = self.text_of(content)?;
                run.add(Part::text(text), Slot::Content, node, pieces);
            }
            _ => {}
        }
        if let Some(given) = self.fields.refusal.filter(|refusal| !refusal.is_null())
            && given.raw() != "\"\""
        {
            let refusal = self.texts.take(given);
            let refusal =
                refusal.ok_or_else(|| self.shape("refusal", given, "a string or null"))?;
            run.add(Part::text(refusal), Slot::Fields, node, pieces);
        }
        self.calls(role, run, pieces)?;
        let is_nothing = run.is_empty() && pieces.of_newest_wire().is_empty();
        if is_nothing && content.is_some_and(View::is_string) {
            run.add(Part::text(String::new()), Slot::Content, node, pieces);
        } else if is_nothing {
            run.end_even_empty(pieces);
        }
        run.end(pieces);
        Ok(())
    }

    /// The tool result that a user message of content alone stands directly behind.
    fn result_before(&self, pieces: &Pieces) -> Option<usize> {
        let Fields { tool_calls, function_call, refusal, .. } = self.fields;
        let beside = [tool_calls, function_call, refusal].into_iter().flatten();
        pieces.result_before().filter(|_| beside.into_iter().all(View::is_null))
    }

    /// Reads a user message directly behind a tool result. Without a word of a person it is what the
    /// tool saw and no tool message can show, an image: part of the result, then.
    fn behind_a_result(
        &mut self,
        result: usize,
        run: &mut Run,
        pieces: &mut Pieces,
    ) -> Result<(), ReadError> {
        let node = self.message.index();
        let mut parts = Vec::new();
        match self.fields.content.filter(|content| !content.is_null()) {
            Some(content) if content.is_array() => {
                for element in content.items() {
                    let at = element.index();
                    parts.push((self.element(element)?, Slot::Element(at), at));
                }
            }
            Some(content) => parts.push((Part::text(self.text_of(content)?), Slot::Content, node)),
            None => {}
        }
        let mut own = parts;
        if !own.iter().any(|(part, ..)| is_said(part)) {
            let is_marked =
                |part: &Part| matches!(part, Part::Text(it) if Mark::read(it).is_some());
            let (marked, shown): (Vec<_>, Vec<_>) =
                own.into_iter().partition(|(part, ..)| is_marked(part));
            if marked.is_empty() || !shown.is_empty() {
                let (parts, slots): (Vec<_>, Vec<_>) =
                    shown.into_iter().map(|(part, slot, _)| (part, slot)).unzip();
                let piece = Piece {
                    wire: Wire::message(self.index),
                    node,
                    role: Role::User,
                    parts: parts.into(),
                    slots: slots.into_iter().collect(),
                    is_blank: false,
                };
                pieces.attach(result, piece);
            }
            own = marked;
        }
        for (part, slot, node) in own {
            run.add(part, slot, node, pieces);
        }
        run.end(pieces);
        Ok(())
    }

    fn calls(&mut self, role: Role, run: &mut Run, pieces: &mut Pieces) -> Result<(), ReadError> {
        if let Some(calls) = self.fields.tool_calls.filter(|calls| !calls.is_null()) {
            if !calls.is_array() {
                return Err(self.shape("tool_calls", calls, "an array of calls or null"));
            }
            for call in calls.items() {
                let part = match role {
                    Role::Assistant => Part::ToolCall(self.call(call)?),
                    _ => Part::Opaque(Opaque {
                        kind: "tool_call".into(),
                        text: compact(call.raw()).into(),
                    }),
                };
                run.add(part, Slot::Call(call.index()), call.index(), pieces);
            }
        }
        if let Some(call) = self.fields.function_call.filter(|call| !call.is_null()) {
            let fields = CallFields::of(call);
            let Some(name) = fields.name.and_then(View::string) else {
                return Err(self.shape_at(call, "a call that names its function"));
            };
            let arguments = fields.arguments.map_or_else(String::new, |it| self.arguments(it));
            let part = ToolCall {
                id: function_id(&name).into(),
                name: name.into(),
                arguments: arguments.into(),
            };
            run.add(Part::ToolCall(part), Slot::Fields, call.index(), pieces);
        }
        Ok(())
    }

    fn call(&mut self, call: View<'a>) -> Result<ToolCall, ReadError> {
        let fields = CallFields::of(call);
        let Some(id) = fields.id.and_then(View::string) else {
            return Err(self.shape_at(call, "a call with an `id`"));
        };
        // `function` is an object, or the name itself; a flat call has `name` and `arguments`.
        let inner = fields.function.or(fields.custom);
        let holder = match inner.filter(|inner| inner.is_object()) {
            Some(inner) => CallFields::of(inner),
            None => fields,
        };
        let Some(name) = holder.name.or(inner).and_then(View::string) else {
            return Err(self.shape_at(call, "a call that names its function"));
        };
        let given = holder.arguments.or(holder.input);
        let arguments = given.map_or_else(String::new, |given| self.arguments(given));
        Ok(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
    }

    /// Arguments as JSON text, whether they are that already or JSON themselves.
    fn arguments(&mut self, value: View<'a>) -> String {
        match self.texts.take(value) {
            Some(text) => text.into(),
            None => value.raw().to_owned(),
        }
    }

    fn result(
        &mut self,
        ids: impl IntoIterator<Item = String>,
        pieces: &mut Pieces,
    ) -> Result<(), ReadError> {
        let (mut text, mut media) = match self.fields.content.filter(|content| !content.is_null()) {
            None => (Box::default(), Vec::new()),
            Some(content) if content.is_array() => self.listed(content)?,
            Some(content) => (self.text_of(content)?, Vec::new()),
        };
        let node = self.message.index();
        let is_error = self.fields.error.and_then(View::bool).unwrap_or(false);
        for (place, call) in ids.into_iter().enumerate() {
            let (text, media) = (std::mem::take(&mut text), std::mem::take(&mut media));
            let slot = if place == 0 { Slot::Content } else { Slot::Beside };
            let result = ToolResult { call: call.into(), text, media: media.into(), is_error };
            pieces.push_result(Wire::message(self.index), node, result, slot);
        }
        Ok(())
    }

    /// What the parts of a result say and show.
    fn listed(&mut self, content: View<'a>) -> Result<(Box<str>, Vec<Media>), ReadError> {
        let mut lines = Vec::new();
        let mut seen = Vec::new();
        for element in content.items() {
            match self.element(element)? {
                Part::Text(text) => lines.push(text),
                Part::Media(media) => seen.push(media),
                Part::Opaque(opaque) => lines.push(opaque.text),
                _ => {}
            }
        }
        Ok((joined(lines), seen))
    }

    /// Content that is no list.
    fn text_of(&mut self, content: View<'a>) -> Result<Box<str>, ReadError> {
        let expected = "a string, an array of parts or null";
        let text = self.texts.take(content);
        text.ok_or_else(|| self.shape("content", content, expected))
    }

    /// The call that a tool message answers.
    fn call_id(&self) -> Result<String, ReadError> {
        let Fields { tool_call_id, id, .. } = self.fields;
        let found = tool_call_id.and_then(View::string).or_else(|| id.and_then(View::string));
        found.ok_or_else(|| {
            let expected = "the `tool_call_id` of the call that this answers";
            self.shape_at(tool_call_id.unwrap_or(self.message), expected)
        })
    }

    /// The calls that a tool message of SWE-agent's logs answers.
    fn call_ids(&self, ids: View<'a>) -> Result<Vec<String>, ReadError> {
        let found: Option<Vec<String>> = ids.items().map(View::string).collect();
        found.filter(|found| !found.is_empty()).ok_or_else(|| {
            self.shape("tool_call_ids", ids, "the ids of the calls that this answers")
        })
    }

    fn reasoning(&mut self) -> Option<Reasoning> {
        let [first, second, details @ ..] = self.fields.reasoning;
        let mut text = |field: Option<View<'a>>| {
            field.and_then(|field| self.texts.take(field)).filter(|text| !text.is_empty())
        };
        let readable = text(first).or_else(|| text(second));
        let signed = details.into_iter().flatten().flat_map(View::items).any(|detail| {
            detail.get("signature").is_some_and(|signature| !signature.is_null())
                || detail.get("type").is_some_and(|kind| kind.is_text("reasoning.encrypted"))
        });
        (readable.is_some() || signed)
            .then(|| Reasoning { text: readable.unwrap_or_default(), signed })
    }

    fn element(&mut self, element: View<'a>) -> Result<Part, ReadError> {
        if let Some(text) = self.texts.take(element) {
            return Ok(Part::text(text));
        }
        if !element.is_object() {
            return Err(self.shape_at(element, "a part: an object with a `type`"));
        }
        let text = ["text", "refusal"]
            .into_iter()
            .find(|kind| element.get("type").is_some_and(|of| of.is_text(kind)));
        if let Some(key) = text {
            let found = element.get(key);
            let text = found.and_then(|text| self.texts.take(text));
            let text = text.map(Part::text);
            return text.ok_or_else(|| {
                self.shape_at(found.unwrap_or(element), "the text of the part, a string,")
            });
        }
        if let Some(image) = media::openai(element, self.rule) {
            return Ok(Part::Media(image));
        }
        Ok(media::openai_file(element, self.rule).unwrap_or_else(|| opaque::part(element)))
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
