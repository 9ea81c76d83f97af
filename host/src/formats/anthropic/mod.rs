//! Anthropic Messages.

mod write;

pub(super) use write::{group_json, joins};

use brute_core::{Opaque, Part, Reasoning, Role, ToolCall, ToolResult};

use super::json::View;
use super::pieces::{Pieces, Run, Slot, Wire, joined};
use super::{Format, ReadError, media, opaque};
use crate::tokens::media::ImageRule;

/// Reads the instructions of the body, and all messages.
pub(super) fn read(
    body: Option<View<'_>>,
    messages: &[View<'_>],
    rule: ImageRule,
) -> Result<Pieces, ReadError> {
    let mut pieces = Pieces::default();
    if let Some(system) = body.and_then(|body| body.get("system")) {
        instructions(system, &mut pieces);
    }
    for message in messages {
        let index = pieces.begin(message.index());
        Reader { message: *message, index, rule }.read(&mut pieces)?;
    }
    Ok(pieces)
}

/// A string, or text blocks.
fn instructions(system: View<'_>, pieces: &mut Pieces) {
    let mut run = Run::new(Wire::System, system.index(), Role::System);
    let blocks = system.items().filter_map(|block| block.get("text"));
    for text in blocks.chain(system.is_string().then_some(system)).filter_map(View::string) {
        if !text.is_empty() {
            run.add(Part::Text(text), Slot::Content, system.index(), pieces);
        }
    }
    run.end(pieces);
}

struct Reader<'a> {
    message: View<'a>,
    index: usize,
    rule: ImageRule,
}

impl Reader<'_> {
    fn read(&self, pieces: &mut Pieces) -> Result<(), ReadError> {
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
        let mut run = Run::new(Wire::Message(self.index), node, role);
        match self.message.get("content") {
            Some(content) if content.is_array() => {
                for block in content.items() {
                    self.block(block, role, &mut run, pieces)?;
                }
            }
            Some(content) if content.is_string() => {
                let text = content.string().unwrap_or_default();
                if text.trim().is_empty() {
                    run.blank();
                }
                run.add(Part::Text(text), Slot::Content, node, pieces);
            }
            found => {
                return Err(self.shape(
                    found.unwrap_or(self.message),
                    "`content`: a string or an array of blocks",
                ));
            }
        }
        run.end(pieces);
        if pieces.of_wire.last().is_some_and(std::ops::Range::is_empty) {
            run.blank();
            run.end_even_empty(pieces);
        }
        Ok(())
    }

    fn block(
        &self,
        block: View<'_>,
        role: Role,
        run: &mut Run,
        pieces: &mut Pieces,
    ) -> Result<(), ReadError> {
        let Some(kind) = block.get("type").and_then(View::text) else {
            return Err(self.shape(block, "a block: an object with a `type`"));
        };
        let node = block.index();
        let slot = Slot::Element(node);
        let text = |key: &str| block.get(key).and_then(View::string);
        match &*kind {
            "text" => {
                let text = self.required(block, "text", "the `text` of the block")?;
                let is_blank = text.trim().is_empty();
                run.add(Part::Text(text), slot, node, pieces);
                if is_blank {
                    run.blank();
                }
            }
            "thinking" => {
                let signed = text("signature").is_some_and(|signature| !signature.is_empty());
                let text = text("thinking").unwrap_or_default();
                run.add(Part::Reasoning(Reasoning { text, signed }), slot, node, pieces);
            }
            "redacted_thinking" => {
                let reasoning = Reasoning { text: String::new(), signed: true };
                run.add(Part::Reasoning(reasoning), slot, node, pieces);
                // Nothing to read, but the model sees what it hides.
                let hidden = opaque::hidden(block.get("data").map_or(0, |data| data.raw().len()));
                let beside = Opaque { kind: kind.clone().into_owned(), text: hidden };
                run.add(Part::Opaque(beside), Slot::Beside, node, pieces);
            }
            "tool_use" => {
                let id = self.required(block, "id", "a call with an `id`")?;
                let name = self.required(block, "name", "a call with a `name`")?;
                let arguments = block.get("input").map_or("{}", View::raw).to_owned();
                run.add(Part::ToolCall(ToolCall { id, name, arguments }), slot, node, pieces);
            }
            "tool_result" => {
                let result = Part::ToolResult(self.result(block)?);
                if role == Role::Assistant {
                    // Not allowed there; told when the messages are fitted together.
                    run.add(result, slot, node, pieces);
                    return Ok(());
                }
                run.end(pieces);
                let mut alone = Run::new(Wire::Message(self.index), node, Role::Tool);
                alone.add(result, slot, node, pieces);
                alone.end(pieces);
            }
            _ => {
                let part = match media::anthropic(block, self.rule) {
                    Some(media) if !is_written_out(block) => Part::Media(media),
                    _ => opaque_block(block),
                };
                run.add(part, slot, node, pieces);
            }
        }
        Ok(())
    }

    fn result(&self, block: View<'_>) -> Result<ToolResult, ReadError> {
        let call = self.required(block, "tool_use_id", "a result with a `tool_use_id`")?;
        let mut lines = Vec::new();
        let mut seen = Vec::new();
        match block.get("content").filter(|content| !content.is_null()) {
            None => {}
            Some(content) if content.is_array() => {
                for inner in content.items() {
                    match media::anthropic(inner, self.rule).filter(|_| !is_written_out(inner)) {
                        Some(media) => seen.push(media),
                        None => lines.push(match inner.get("text").and_then(View::string) {
                            Some(text) => text,
                            None => match opaque_block(inner) {
                                Part::Opaque(opaque) => opaque.text,
                                _ => String::new(),
                            },
                        }),
                    }
                }
            }
            Some(content) => match content.string() {
                Some(text) => lines.push(text),
                None => return Err(self.shape(content, "a string or an array of blocks")),
            },
        }
        let is_error = block.get("is_error").and_then(View::bool).unwrap_or(false);
        Ok(ToolResult { call, text: joined(lines), media: seen, is_error })
    }

    fn required(
        &self,
        block: View<'_>,
        key: &str,
        expected: &'static str,
    ) -> Result<String, ReadError> {
        let found = block.get(key);
        found.and_then(View::string).ok_or_else(|| self.shape(found.unwrap_or(block), expected))
    }

    fn pointer(&self, value: View<'_>) -> String {
        value.source().pointer(value.index())
    }

    fn shape(&self, found: View<'_>, expected: &'static str) -> ReadError {
        let pointer = self.pointer(found);
        ReadError::Shape { index: self.index, pointer, expected, found: found.describe() }
    }
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
        Some(text) => Part::Opaque(Opaque { kind: "document".to_owned(), text }),
        None => opaque::part(block),
    }
}
