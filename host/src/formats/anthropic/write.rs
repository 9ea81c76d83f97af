//! Messages of Anthropic's format, written.
//!
//! Its roles take turns, so what edits made neighbors becomes one message: new blocks go behind those
//! of the message before (the prompt cache knows it), and results come first. Messages of one role
//! that stood side by side in the input stay so.

use brute_core::{Message, Part, Role};

use crate::formats::Document;
use crate::formats::align::Change;
use crate::formats::json::{Style, View, compact, quote};
use crate::formats::patch::Patches;
use crate::formats::pieces::Slot;
use crate::formats::write::{Block, Entry, Group, content_json, medium_named, text_block};

fn is_assistant(role: Role) -> bool {
    role == Role::Assistant
}

/// Whether `entry` becomes part of the message before.
pub(in crate::formats) fn joins(group: &Group<'_>, entry: &Entry<'_>) -> bool {
    is_assistant(group.role()) == is_assistant(entry.message.role()) && !group.was_apart_from(entry)
}

/// The JSON of one message on the wire.
pub(in crate::formats) fn group_json(document: &Document, group: &Group<'_>) -> String {
    let base = group.base();
    let message = base.map(|wire| document.wire(wire));
    let style = message.map_or_else(|| document.message_style(), Style::of);
    let content = message.and_then(|message| message.get("content"));
    if let (Some(message), Some(content), [only]) = (message, content, group.entries.as_slice())
        && let Some((_, Slot::Content, Change::Rewritten(Part::Text(text)))) = only.changes().next()
    {
        let mut patches = Patches::default();
        patches.replace(content.span(), quote(text));
        return patches.apply(message.source().text(), message.span());
    }
    let list_style = style.deeper();
    let mut blocks: Vec<Block<'_>> = group
        .entries
        .iter()
        .flat_map(|entry| blocks(document, entry, base, &list_style.deeper()))
        .collect();
    if !is_assistant(group.role()) && !group.is_of_one_wire() {
        blocks.sort_by_key(|block| !block.is_result);
    }
    let json = content_json(content, blocks, &list_style);
    match (message, content) {
        (Some(message), Some(content)) => {
            let mut patches = Patches::default();
            patches.replace(content.span(), json);
            patches.apply(message.source().text(), message.span())
        }
        _ => {
            let role = if is_assistant(group.role()) { "assistant" } else { "user" };
            style.object(&[("role", quote(role)), ("content", json)])
        }
    }
}

/// The blocks of one message of the model.
fn blocks<'a>(
    document: &'a Document,
    entry: &Entry<'a>,
    base: Option<usize>,
    style: &Style,
) -> Vec<Block<'a>> {
    let Some(wire) = entry.wire() else {
        return new_blocks(entry.message, style);
    };
    let message = document.wire(wire);
    let content = message.get("content");
    let places: Vec<usize> = content.into_iter().flat_map(View::items).map(View::index).collect();
    let mut blocks = Vec::new();
    for (old, slot, change) in entry.changes() {
        let Some(json) = block_json(document, content, old, slot, change, style) else {
            continue;
        };
        let mut block = Block::new(json);
        block.is_result = matches!(old, Part::ToolResult(_));
        if let Slot::Element(node) = slot
            && base == Some(wire)
        {
            block.item.from = places.binary_search(&node).ok();
        }
        blocks.push(block);
    }
    blocks
}

/// The block of a part that was read; none if it is gone, or if there is nothing to say: a provider
/// refuses a blank block.
fn block_json(
    document: &Document,
    content: Option<View<'_>>,
    old: &Part,
    slot: Slot,
    change: Change<'_>,
    style: &Style,
) -> Option<String> {
    let is_blank = |text: &str| text.trim().is_empty();
    match (slot, change) {
        (_, Change::Removed) | (Slot::Beside | Slot::Call(_) | Slot::Fields, _) => None,
        (Slot::Content, Change::Kept) => match old {
            Part::Text(text) if is_blank(text) => None,
            _ => Some(text_block(content?.raw(), style)),
        },
        (_, Change::Rewritten(Part::Text(text))) if is_blank(text) => None,
        (Slot::Content, Change::Rewritten(Part::Text(text))) => {
            Some(text_block(&quote(text), style))
        }
        (Slot::Content, Change::Rewritten(_)) => None,
        (Slot::Element(node), Change::Kept) => Some(document.source.at(node).raw().to_owned()),
        (Slot::Element(node), Change::Rewritten(new)) => {
            Some(rewritten(document.source.at(node), old, new, style))
        }
    }
}

/// `block` with what `new` says in it; everything else of it stays.
fn rewritten(block: View<'_>, old: &Part, new: &Part, style: &Style) -> String {
    let mut patches = Patches::default();
    match (old, new) {
        (Part::Media(_), Part::Text(text)) => return text_block(&quote(text), style),
        (_, Part::Text(text)) => patches.set(block, "text", quote(text)),
        (_, Part::Reasoning(reasoning)) => patches.set(block, "thinking", quote(&reasoning.text)),
        (Part::ToolCall(old), Part::ToolCall(call)) => {
            if old.id != call.id {
                patches.set(block, "id", quote(&call.id));
            }
            if old.arguments != call.arguments {
                patches.set(block, "input", input(&call.arguments));
            }
        }
        (Part::ToolResult(old), Part::ToolResult(result)) => {
            if old.call != result.call {
                patches.set(block, "tool_use_id", quote(&result.call));
            }
            if old.text != result.text || old.media != result.media {
                patches.set(block, "content", quote(&result.text));
            }
        }
        _ => {}
    }
    patches.apply(block.source().text(), block.span())
}

/// Arguments as the object that the provider wants; on one line, for the sake of JSON lines.
fn input(arguments: &str) -> String {
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok();
    match compact(arguments) {
        json if is_json && json.starts_with('{') => json,
        _ => format!("{{\"arguments\":{}}}", quote(arguments)),
    }
}

/// The blocks of a message that is not of the input. Reasoning and opaque parts have no bytes to be
/// written from and are left out.
fn new_blocks<'a>(message: &Message, style: &Style) -> Vec<Block<'a>> {
    let block = |part: &Part| match part {
        Part::Text(text) if text.trim().is_empty() => None,
        Part::Text(text) => Some(Block::new(text_block(&quote(text), style))),
        Part::Media(media) => {
            Some(Block::new(text_block(&quote(&medium_named(&media.kind)), style)))
        }
        Part::ToolCall(call) => Some(Block::new(style.object(&[
            ("type", quote("tool_use")),
            ("id", quote(&call.id)),
            ("name", quote(&call.name)),
            ("input", input(&call.arguments)),
        ]))),
        Part::ToolResult(result) => {
            let mut members = vec![
                ("type", quote("tool_result")),
                ("tool_use_id", quote(&result.call)),
                ("content", quote(&result.text)),
            ];
            if result.is_error {
                members.push(("is_error", "true".to_owned()));
            }
            let mut block = Block::new(style.object(&members));
            block.is_result = true;
            Some(block)
        }
        Part::Reasoning(_) | Part::Opaque(_) => None,
    };
    message.parts().iter().filter_map(block).collect()
}
