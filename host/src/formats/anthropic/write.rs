//! Messages of Anthropic's format, written.
//!
//! Its roles take turns, so what edits made neighbors becomes one message: new blocks go behind those
//! of the message before (the prompt cache knows it), and results come first. Messages of one role
//! that stood side by side in the input stay so.

use brute_core::{Message, Part, Role};

use crate::formats::Document;
use crate::formats::align::Change;
use crate::formats::json::{Source, Style, View, compact, quote};
use crate::formats::patch::Patches;
use crate::formats::pieces::{Slot, is_said};
use crate::formats::write::{Block, Entry, Group, content_json, medium_named, text_block};

fn is_assistant(role: Role) -> bool {
    role == Role::Assistant
}

/// Whether `entry` becomes part of the message before.
pub(in crate::formats) fn joins(group: &Group<'_>, entry: &Entry<'_>) -> bool {
    is_assistant(group.role()) == is_assistant(entry.message.role())
        && !group.was_apart_from(entry)
        && !(is_shown_by_a_person(entry) && group.entries.iter().any(is_result))
}

/// Whether a person sends this without a word. In a message with results it would be taken for a part
/// of those.
fn is_shown_by_a_person(entry: &Entry<'_>) -> bool {
    let message = entry.message;
    message.is_real_user() && !entry.is_companion && !message.parts().iter().any(is_said)
}

fn is_result(entry: &Entry<'_>) -> bool {
    entry.message.role() == Role::Tool
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
    let places: Vec<usize> = content.into_iter().flat_map(View::items).map(View::index).collect();
    let style_of_block = list_style.deeper();
    let mut blocks: Vec<Block<'_>> = group
        .entries
        .iter()
        .flat_map(|entry| blocks(document, entry, base, &places, &style_of_block))
        .collect();
    if !is_assistant(group.role()) && !group.is_of_one_wire() {
        let is_said_here = |entry: &Entry<'_>| entry.message.parts().iter().any(is_said);
        if blocks.iter().any(|block| block.is_companion) && group.entries.iter().any(is_said_here) {
            blocks = shown_inside(blocks, &style_of_block);
        }
        blocks.sort_by_key(|block| !(block.is_result || block.is_companion));
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

/// `blocks` with what stands beside a result put into it. Beside the words of a person it would be taken
/// for theirs.
fn shown_inside<'a>(blocks: Vec<Block<'a>>, style: &Style) -> Vec<Block<'a>> {
    let mut done: Vec<Block<'a>> = Vec::with_capacity(blocks.len());
    let mut shown = Vec::new();
    let mut newest = None;
    for block in blocks {
        if block.is_companion {
            shown.push(block.item.json.into_owned());
            continue;
        }
        if block.is_result {
            show_in(newest, &mut done, &mut shown, style);
            newest = Some(done.len());
        }
        done.push(block);
    }
    show_in(newest, &mut done, &mut shown, style);
    done
}

/// Puts `shown` into the result at `at`; waits for the first one, if there is none yet.
fn show_in(at: Option<usize>, blocks: &mut [Block<'_>], shown: &mut Vec<String>, style: &Style) {
    let Some(block) = at.and_then(|at| blocks.get_mut(at)).filter(|_| !shown.is_empty()) else {
        return;
    };
    let Ok(source) = Source::parse(block.item.json.to_string()) else { return };
    let Some(result) = source.roots().next() else { return };
    let style = style.deeper();
    let mut elements: Vec<String> = match result.get("content").filter(|it| !it.is_null()) {
        Some(list) if list.is_array() => list.items().map(|it| it.raw().to_owned()).collect(),
        Some(text) if text.raw() != "\"\"" => vec![text_block(text.raw(), &style.deeper())],
        _ => Vec::new(),
    };
    elements.append(shown);
    let mut patches = Patches::default();
    patches.set(result, "content", style.array(&elements));
    block.item.json = patches.apply(source.text(), result.span()).into();
}

/// The blocks of one message of the model. `places` are the nodes of the content of `base`.
fn blocks<'a>(
    document: &'a Document,
    entry: &Entry<'a>,
    base: Option<usize>,
    places: &[usize],
    style: &Style,
) -> Vec<Block<'a>> {
    let Some(wire) = entry.wire() else {
        return new_blocks(entry.message, style);
    };
    let message = document.wire(wire);
    let content = message.get("content");
    let mut blocks = Vec::new();
    for (old, slot, change) in entry.changes() {
        let Some(json) = block_json(document, content, old, slot, change, style) else {
            continue;
        };
        let mut block = Block::new(json);
        block.is_result = matches!(old, Part::ToolResult(_));
        block.is_companion = entry.is_companion;
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
