//! OpenAI Responses: a list of items, several of which make one reply of the model.
//!
//! Reasoning, messages, calls and the traces of tools that the provider runs itself, as long as nothing of
//! anybody else is between them, are one assistant message: what one of them needs cannot be parted from it
//! that way. A result names its call by `call_id`.
//!
//! What the provider alone can read stays as it is: encrypted reasoning, references to items that it keeps,
//! the traces of its own tools. The result of a call that it keeps (`previous_response_id`, an
//! `item_reference` in the same reply) is such a trace, too.

mod item;
mod write;

pub(crate) use item::{Fields, Kind};
pub(super) use write::{input, items};

use std::collections::HashMap;

use brute_core::{Media, Opaque, Part, Reasoning, Role, ToolCall, ToolResult};

use super::body::wrong;
use super::json::{Texts, View, compact};
use super::pieces::{Piece, Pieces, Run, Wire, is_said, joined};
use super::slots::Slot;
use super::{Format, ReadError, media, opaque};
use crate::tokens::media::ImageRule;

/// Reads the instructions of the body, and all items.
pub(super) fn read(
    body: Option<View<'_>>,
    items: &[View<'_>],
    rule: ImageRule,
    texts: &mut Texts,
) -> Result<Pieces, ReadError> {
    let mut pieces = Pieces::default();
    let mut run = Run::default();
    let given = |key: &str| body.and_then(|body| body.get(key)).filter(|value| !value.is_null());
    if let Some(instructions) = given("instructions") {
        let text = instructions.string();
        let text = text.ok_or_else(|| wrong(instructions, "a string"))?;
        run.begin(Wire::System, instructions.index(), Role::System);
        if !text.is_empty() {
            run.add(Part::text(text), Slot::Content, instructions.index(), &mut pieces);
        }
        run.end(&mut pieces);
    }
    let keeps_calls = given("previous_response_id").or_else(|| given("conversation")).is_some();
    let mut reader =
        Reader { index: 0, rule, texts, open: HashMap::new(), keeps_calls, refers: false };
    for item in items {
        reader.index = pieces.begin(item.index());
        reader.item(*item, &mut run, &mut pieces)?;
    }
    run.end(&mut pieces);
    pieces.spread();
    Ok(pieces)
}

struct Reader<'t> {
    index: usize,
    rule: ImageRule,
    texts: &'t mut Texts,
    /// How many calls of each id wait for their result.
    open: HashMap<String, usize>,
    /// Whether the provider keeps calls that are not in the list.
    keeps_calls: bool,
    /// Whether the reply in the making refers to items that the provider keeps, calls perhaps. A result goes with
    /// what it answers, so one that the provider keeps has to be of the same reply.
    refers: bool,
}

impl Reader<'_> {
    fn item(
        &mut self,
        item: View<'_>,
        run: &mut Run,
        pieces: &mut Pieces,
    ) -> Result<(), ReadError> {
        let node = item.index();
        if let Some(text) = self.texts.take(item) {
            run.begin(Wire::message(self.index), node, Role::User);
            run.add(Part::text(text), Slot::Element(node), node, pieces);
            run.end(pieces);
            return Ok(());
        }
        let fields = Fields::of(item);
        let Some(kind) = Kind::of(&fields) else {
            return Err(self.shape(item, "an item, an object with a `type` or a `role`"));
        };
        match kind {
            Kind::Message => self.message(item, &fields, run, pieces)?,
            Kind::Reasoning => {
                self.of_model(node, run, pieces);
                // What is encrypted nobody edits: it goes with what follows it, or stays with that.
                let is_encrypted = fields.encrypted_content.is_some_and(View::is_string);
                let part = match is_encrypted {
                    true => opaque::part(item),
                    false => {
                        Part::Reasoning(Reasoning { text: self.thoughts(item)?, signed: true })
                    }
                };
                run.add(part, Slot::Element(node), node, pieces);
            }
            Kind::Call => {
                let call = self.call(item, &fields)?;
                *self.open.entry(call.id.to_string()).or_default() += 1;
                self.of_model(node, run, pieces);
                run.add(Part::ToolCall(call), Slot::Element(node), node, pieces);
            }
            Kind::Output => self.output(item, &fields, run, pieces)?,
            Kind::Compaction => {
                run.end(pieces);
                let part = opaque::part(item);
                pieces.push_compaction(Wire::message(self.index), node, part, Slot::Element(node));
            }
            Kind::Trace => {
                self.of_model(node, run, pieces);
                self.refers |= fields.kind.is_some_and(|kind| kind.is_text("item_reference"));
                run.add(opaque::part(item), Slot::Element(node), node, pieces);
            }
        }
        Ok(())
    }

    /// Goes on with the reply of the model, or begins one.
    fn of_model(&mut self, node: u32, run: &mut Run, pieces: &mut Pieces) {
        if run.is_of(Role::Assistant) {
            run.go_on(Wire::message(self.index), node);
        } else {
            run.end(pieces);
            run.begin(Wire::message(self.index), node, Role::Assistant);
            self.refers = false;
        }
    }

    fn message(
        &mut self,
        item: View<'_>,
        fields: &Fields<'_>,
        run: &mut Run,
        pieces: &mut Pieces,
    ) -> Result<(), ReadError> {
        let named = fields.role.and_then(View::text).unwrap_or_default();
        let role = match &*named {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "system" | "developer" => Role::System,
            // The reference has them, and nobody says what they are for.
            "critic" | "discriminator" | "tool" | "unknown" => Role::Other,
            _ => {
                return Err(ReadError::UnknownRole {
                    index: self.index,
                    pointer: pointer(fields.role.unwrap_or(item)),
                    role: named.into_owned(),
                    format: Format::OpenaiResponses,
                    known: "`user`, `assistant`, `system` and `developer`",
                });
            }
        };
        let node = item.index();
        let parts = self.content(fields)?;
        if role == Role::Assistant {
            self.of_model(node, run, pieces);
        } else {
            run.end(pieces);
            run.begin(Wire::message(self.index), node, role);
        }
        let result = pieces.result_before().filter(|_| role == Role::User);
        if let Some(result) = result.filter(|_| !parts.iter().any(|(part, _)| is_said(part)))
            && parts.iter().all(|(part, _)| matches!(part, Part::Media(_) | Part::Opaque(_)))
            && !parts.is_empty()
        {
            let (parts, slots): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
            let (wire, parts, slots) =
                (Wire::message(self.index), parts.into(), slots.into_iter().collect());
            let piece = Piece { wire, node, role, parts, slots, is_blank: false };
            pieces.attach(result, piece);
            return Ok(());
        }
        let is_empty = parts.is_empty();
        for (part, slot) in parts {
            run.add(part, slot, slot.node().unwrap_or(node), pieces);
        }
        if role != Role::Assistant {
            if is_empty {
                run.end_even_empty(pieces);
            }
            run.end(pieces);
        } else if is_empty {
            // Nothing is said; what follows is of the same reply.
            run.add(Part::Text(Box::default()), Slot::Element(node), node, pieces);
        }
        Ok(())
    }

    /// What a message says and shows, and where.
    fn content(&mut self, fields: &Fields<'_>) -> Result<Vec<(Part, Slot)>, ReadError> {
        let Some(content) = fields.content.filter(|content| !content.is_null()) else {
            return Ok(Vec::new());
        };
        if content.is_array() {
            let part =
                |element: View<'_>| Ok((self.element(element)?, Slot::Element(element.index())));
            return content.items().map(part).collect();
        }
        match self.texts.take(content) {
            Some(text) => Ok(vec![(Part::text(text), Slot::Element(content.index()))]),
            None => Err(self.shape(content, "a string or an array of parts")),
        }
    }

    fn element(&mut self, element: View<'_>) -> Result<Part, ReadError> {
        let kind = element.get("type").and_then(View::text);
        let Some(kind) = kind else {
            return Err(self.shape(element, "a part: an object with a `type`"));
        };
        let key = match &*kind {
            "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => "text",
            "refusal" => "refusal",
            _ => {
                let media = media::responses(element, self.rule);
                return Ok(media.map_or_else(|| opaque::part(element), Part::Media));
            }
        };
        let found = element.get(key);
        let text = found.and_then(|text| self.texts.take(text)).map(Part::text);
        text.ok_or_else(|| self.shape(found.unwrap_or(element), "the text of the part, a string,"))
    }

    /// The readable part of reasoning: its text where the provider shows it, its summary if not.
    fn thoughts(&mut self, item: View<'_>) -> Result<Box<str>, ReadError> {
        let mut texts = Vec::new();
        for key in ["content", "summary"] {
            let parts = item.get(key).into_iter().flat_map(View::items);
            for text in parts.filter_map(|part| part.get("text")) {
                let text = self.texts.take(text);
                texts.push(text.ok_or_else(|| self.shape(item, "thoughts that are strings"))?);
            }
            if !texts.is_empty() {
                break;
            }
        }
        Ok(joined(texts))
    }

    fn call(&mut self, item: View<'_>, fields: &Fields<'_>) -> Result<ToolCall, ReadError> {
        let id = fields.call_id.or(fields.id).and_then(View::string);
        let id = id.ok_or_else(|| self.shape(item, "a call with a `call_id`"))?;
        let name = match fields.name {
            Some(name) => name.string(),
            None => fields.built_in(),
        };
        let name = name.ok_or_else(|| self.shape(item, "a call that names its function"))?;
        let arguments = match fields.arguments() {
            Some((_, given)) => self.texts.take(given).unwrap_or_else(|| given.raw().into()),
            None => Box::default(),
        };
        Ok(ToolCall { id: id.into(), name: name.into(), arguments })
    }

    fn output(
        &mut self,
        item: View<'_>,
        fields: &Fields<'_>,
        run: &mut Run,
        pieces: &mut Pieces,
    ) -> Result<(), ReadError> {
        let node = item.index();
        let id = fields.call_id.or(fields.id).and_then(View::string);
        let call = id.ok_or_else(|| self.shape(item, "a result with a `call_id`"))?;
        let (text, media) = self.said(fields)?;
        match self.open.get_mut(&call) {
            Some(open) if *open > 0 => *open -= 1,
            _ if self.keeps_calls || (self.refers && run.is_of(Role::Assistant)) => {
                self.of_model(node, run, pieces);
                let kind = fields.kind.and_then(View::string).unwrap_or_default();
                let part = Part::Opaque(Opaque { kind: kind.into(), text });
                run.add(part, Slot::Element(node), node, pieces);
                return Ok(());
            }
            _ => {}
        }
        run.end(pieces);
        let result = ToolResult { call: call.into(), text, media: media.into(), is_error: false };
        pieces.push_result(Wire::message(self.index), node, result, Slot::Element(node));
        Ok(())
    }

    /// What a result says and shows.
    fn said(&mut self, fields: &Fields<'_>) -> Result<(Box<str>, Vec<Media>), ReadError> {
        let Some(output) = fields.output.filter(|output| !output.is_null()) else {
            return Ok((Box::default(), Vec::new()));
        };
        if let Some(text) = self.texts.take(output) {
            return Ok((text, Vec::new()));
        }
        if let Some(seen) = media::responses(output, self.rule) {
            return Ok((Box::default(), vec![seen]));
        }
        if output.is_object() {
            return Ok((compact(output.raw()).into(), Vec::new()));
        }
        if !output.is_array() {
            return Err(self.shape(output, "a string or an array of parts"));
        }
        let (mut lines, mut seen) = (Vec::new(), Vec::new());
        for element in output.items() {
            // What a shell prints has no type.
            if element.get("type").is_none() {
                lines.push(compact(element.raw()).into());
                continue;
            }
            match self.element(element)? {
                Part::Text(text) => lines.push(text),
                Part::Media(media) => seen.push(media),
                Part::Opaque(opaque) => lines.push(opaque.text),
                _ => {}
            }
        }
        Ok((joined(lines), seen))
    }

    fn shape(&self, found: View<'_>, expected: &'static str) -> ReadError {
        let (index, pointer) = (self.index, pointer(found));
        ReadError::Shape { index, pointer, expected, found: found.describe() }
    }
}

fn pointer(value: View<'_>) -> String {
    value.source().pointer(value.index())
}
