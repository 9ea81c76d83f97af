//! Anthropic Messages.

mod write;

pub(super) use write::{Blocks, input};

use brute_core::{Media, Opaque, Part, Reasoning, Role, ToolCall, ToolResult};

use super::body::wrong;
use super::json::{Texts, View};
use super::pieces::{Pieces, Run, Shown, Wire, is_said, joined};
use super::slots::Slot;
use super::{Format, ReadError, media, opaque};
use crate::tokens::media::ImageRule;

/// Reads the instructions of the body, and all messages.
pub(super) fn read(
    body: Option<View<'_>>,
    messages: &[View<'_>],
    rule: ImageRule,
    texts: &mut Texts,
) -> Result<Pieces, ReadError> {
    let mut pieces = Pieces::default();
    let mut run = Run::default();
    if let Some(system) = body.and_then(|body| body.get("system")) {
        instructions(system, &mut run, &mut pieces)?;
    }
    for message in messages {
        let index = pieces.begin(message.index());
        let shown = Shown::default();
        let mut reader =
            Reader { message: *message, index, rule, texts, shown, holds_results_alone: None };
        reader.read(&mut run, &mut pieces)?;
    }
    Ok(pieces)
}

/// A string, or text blocks.
fn instructions(system: View<'_>, run: &mut Run, pieces: &mut Pieces) -> Result<(), ReadError> {
    if !(system.is_string() || system.is_array() || system.is_null()) {
        return Err(wrong(system, "a string or an array of text blocks"));
    }
    run.begin(Wire::System, system.index(), Role::System);
    let whole = system.is_string().then_some(system);
    for block in system.items().chain(whole) {
        let text = if block.is_string() { Some(block) } else { block.get("text") };
        let text = text.and_then(View::string);
        let text = text.ok_or_else(|| wrong(block, "a block with a `text`"))?;
        if !text.is_empty() {
            run.add(Part::text(text), Slot::Content, system.index(), pieces);
        }
    }
    run.end(pieces);
    Ok(())
}

/// The fields of a block that are read.
struct Block<'a> {
    kind: Option<View<'a>>,
    text: Option<View<'a>>,
    thinking: Option<View<'a>>,
    signature: Option<View<'a>>,
    data: Option<View<'a>>,
    id: Option<View<'a>>,
    name: Option<View<'a>>,
    input: Option<View<'a>>,
    tool_use_id: Option<View<'a>>,
    content: Option<View<'a>>,
    is_error: Option<View<'a>>,
}

impl<'a> Block<'a> {
    #[rustfmt::skip]
    fn of(block: View<'a>) -> Self {
        let [kind, text, thinking, signature, data, id, name, input, tool_use_id, content, is_error] =
            block.fields([
                "type", "text", "thinking", "signature", "data", "id", "name", "input",
                "tool_use_id", "content", "is_error",
            ]);
        Self { kind, text, thinking, signature, data, id, name, input, tool_use_id, content, is_error }
    }
}

struct Reader<'a, 't> {
    message: View<'a>,
    index: usize,
    rule: ImageRule,
    texts: &'t mut Texts,
    /// What belongs to a result of this message.
    shown: Shown,
    /// Whether the message holds results alone, once that was asked.
    holds_results_alone: Option<bool>,
}

impl<'a> Reader<'a, '_> {
    fn read(&mut self, run: &mut Run, pieces: &mut Pieces) -> Result<(), ReadError> {
        let named = self.message.get("role");
        let role = match named.and_then(View::text).as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            other => {
                return Err(ReadError::UnknownRole {
                    index: self.index,
                    pointer: self.pointer(named.unwrap_or(self.message)),
                    role: other.unwrap_or_default().to_owned(),
                    format: Format::Anthropic,
                    known: "`user` and `assistant`",
                });
            }
        };
        let node = self.message.index();
        run.begin(Wire::message(self.index), node, role);
        match self.message.get("content") {
            Some(content) if content.is_array() => {
                for block in content.items() {
                    self.block(block, role, run, pieces)?;
                }
            }
            Some(content) if content.is_string() => {
                let text = self.texts.take(content).unwrap_or_default();
                if text.trim().is_empty() {
                    run.blank();
                }
                run.add(Part::text(text), Slot::Content, node, pieces);
            }
            found => {
                return Err(self.shape(
                    found.unwrap_or(self.message),
                    "`content`: a string or an array of blocks",
                ));
            }
        }
        run.end(pieces);
        self.shown.attach(self.index, pieces);
        if pieces.of_newest_wire().is_empty() {
            run.blank();
            run.end_even_empty(pieces);
        }
        Ok(())
    }

    fn block(
        &mut self,
        block: View<'a>,
        role: Role,
        run: &mut Run,
        pieces: &mut Pieces,
    ) -> Result<(), ReadError> {
        let fields = Block::of(block);
        let Some(kind) = fields.kind.and_then(View::text) else {
            return Err(self.shape(block, "a block: an object with a `type`"));
        };
        let node = block.index();
        let slot = Slot::Element(node);
        match &*kind {
            "text" => {
                let text = self.required(block, fields.text, "the `text` of the block")?;
                let is_blank = text.trim().is_empty();
                run.add(Part::text(text), slot, node, pieces);
                if is_blank {
                    run.blank();
                }
            }
            "thinking" => {
                let signature = self.optional(fields.signature, "a signature, a string,")?;
                let signed = signature.is_some_and(|signature| !signature.is_empty());
                let text = self.optional(fields.thinking, "the thoughts, a string,")?;
                let text = text.unwrap_or_default();
                run.add(Part::Reasoning(Reasoning { text, signed }), slot, node, pieces);
            }
            "redacted_thinking" => {
                let reasoning = Reasoning { text: Box::default(), signed: true };
                run.add(Part::Reasoning(reasoning), slot, node, pieces);
                // Nothing to read, but the model sees what it hides.
                let hidden = opaque::hidden(fields.data.map_or(0, |data| data.raw().len()));
                let beside = Opaque { kind: kind.clone().into_owned().into(), text: hidden.into() };
                run.add(Part::Opaque(beside), Slot::Beside, node, pieces);
            }
            "tool_use" => {
                let id = self.required(block, fields.id, "a call with an `id`")?;
                let name = self.required(block, fields.name, "a call with a `name`")?;
                let arguments = fields.input.map_or("{}", View::raw).to_owned();
                run.add(
                    Part::ToolCall(ToolCall { id, name, arguments: arguments.into() }),
                    slot,
                    node,
                    pieces,
                );
            }
            "tool_result" => {
                let result = self.result(block, &fields)?;
                if role == Role::Assistant {
                    // Not allowed there; told when the messages are fitted together.
                    run.add(Part::ToolResult(result), slot, node, pieces);
                    return Ok(());
                }
                run.end(pieces);
                pieces.push_result(Wire::message(self.index), node, result, slot);
            }
            "compaction" if role == Role::Assistant => {
                run.end(pieces);
                let wire = Wire::message(self.index);
                pieces.push_compaction(wire, node, opaque::part(block), slot);
            }
            _ => {
                let part = match media::anthropic(block, self.rule) {
                    Some(media) if !is_written_out(block) => Part::Media(media),
                    _ => opaque_block(block),
                };
                if role == Role::User && self.holds_results_alone() {
                    self.shown.add(part, node, pieces);
                } else {
                    run.add(part, slot, node, pieces);
                }
            }
        }
        Ok(())
    }

    /// Asked only of messages with more in them than text and results.
    fn holds_results_alone(&mut self) -> bool {
        let message = self.message;
        *self.holds_results_alone.get_or_insert_with(|| holds_results_alone(message))
    }

    fn result(&mut self, block: View<'a>, fields: &Block<'a>) -> Result<ToolResult, ReadError> {
        let call = self.required(block, fields.tool_use_id, "a result with a `tool_use_id`")?;
        let (text, media) = match fields.content.filter(|content| !content.is_null()) {
            None => (Box::default(), Vec::new()),
            Some(content) if content.is_array() => self.listed(content)?,
            Some(content) => match self.texts.take(content) {
                Some(text) => (text, Vec::new()),
                None => return Err(self.shape(content, "a string or an array of blocks")),
            },
        };
        let is_error = match fields.is_error.filter(|is_error| !is_error.is_null()) {
            Some(given) => given.bool().ok_or_else(|| self.shape(given, "`true` or `false`"))?,
            None => false,
        };
        Ok(ToolResult { call, text, media: media.into(), is_error })
    }

    /// What the blocks of a result say and show.
    fn listed(&mut self, content: View<'a>) -> Result<(Box<str>, Vec<Media>), ReadError> {
        let mut lines = Vec::new();
        let mut seen = Vec::new();
        for block in content.items() {
            let [kind, text] = block.fields(["type", "text"]);
            let Some(kind) = kind.filter(|kind| kind.is_string()) else {
                return Err(self.shape(block, "a block: an object with a `type`"));
            };
            if kind.is_text("text") {
                lines.push(self.required(block, text, "the `text` of the block")?);
                continue;
            }
            match media::anthropic(block, self.rule).filter(|_| !is_written_out(block)) {
                Some(media) => seen.push(media),
                None => lines.push(match text.and_then(|it| self.texts.take(it)) {
                    Some(text) => text,
                    None => match opaque_block(block) {
                        Part::Opaque(opaque) => opaque.text,
                        _ => Box::default(),
                    },
                }),
            }
        }
        Ok((joined(lines), seen))
    }

    /// The text of a field that may be missing, or null.
    fn optional(
        &mut self,
        found: Option<View<'a>>,
        expected: &'static str,
    ) -> Result<Option<Box<str>>, ReadError> {
        let found = found.filter(|found| !found.is_null());
        found.map(|found| self.required(found, Some(found), expected)).transpose()
    }

    /// The text of the field `found` of `block`.
    fn required(
        &mut self,
        block: View<'a>,
        found: Option<View<'a>>,
        expected: &'static str,
    ) -> Result<Box<str>, ReadError> {
        let text = found.and_then(|found| self.texts.take(found));
        text.ok_or_else(|| self.shape(found.unwrap_or(block), expected))
    }

    fn pointer(&self, value: View<'_>) -> String {
        value.source().pointer(value.index())
    }

    fn shape(&self, found: View<'_>, expected: &'static str) -> ReadError {
        let pointer = self.pointer(found);
        ReadError::Shape { index: self.index, pointer, expected, found: found.describe() }
    }
}

/// Whether `message` brings results, and not a word of a person: what else is in it belongs to the
/// results.
fn holds_results_alone(message: View<'_>) -> bool {
    let mut has_results = false;
    for block in message.get("content").into_iter().flat_map(View::items) {
        let [kind, text] = block.fields(["type", "text"]);
        let is = |expected: &str| kind.is_some_and(|kind| kind.is_text(expected));
        has_results |= is("tool_result");
        let text = text.filter(|_| is("text")).and_then(View::string);
        if text.is_some_and(|text| is_said(&Part::text(text))) {
            return false;
        }
    }
    has_results
}

/// Whether a document brings its text as text.
fn is_written_out(block: View<'_>) -> bool {
    let kind = block.get("source").and_then(|source| source.get("type"));
    kind.is_some_and(|kind| kind.is_text("text") || kind.is_text("content"))
}

/// A block that only the provider can read, or, of a document that brings its text, that text.
fn opaque_block(block: View<'_>) -> Part {
    let data = block.get("source").and_then(|source| source.get("data")).and_then(View::string);
    match data.filter(|_| is_written_out(block)) {
        Some(text) => Part::Opaque(Opaque { kind: "document".into(), text: text.into() }),
        None => opaque::part(block),
    }
}
