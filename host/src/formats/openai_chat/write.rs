//! Messages of OpenAI Chat's format, written.

use std::collections::HashMap;

use brute_core::{Mark, Message, Part, Role};

use super::REASONING;
use crate::formats::align::Change;
use crate::formats::json::{Style, View, compact, quote};
use crate::formats::patch::Patches;
use crate::formats::pieces::Piece;
use crate::formats::slots::Slot;
use crate::formats::write::{
    Block, Entry, Group, content_json, medium_named, text_block, text_block_for,
};
use crate::formats::{Document, WriteOptions};

/// Whether `entry` becomes part of the message before.
pub(in crate::formats) fn joins(
    document: &Document,
    group: &Group<'_>,
    entry: &Entry<'_>,
    options: WriteOptions,
) -> bool {
    let is_user = |role| role == Role::User;
    options.alternate_roles
        && is_user(group.role())
        && is_user(entry.message.role())
        && !group.was_apart_from(entry, document)
}

/// The JSON of one message on the wire.
pub(in crate::formats) fn group_json(document: &Document, group: &Group<'_>) -> String {
    let base = group.base();
    let style =
        base.map_or_else(|| document.message_style(), |wire| Style::of(document.wire(wire)));
    let Some(wire) = base else {
        return match group.entries.as_slice() {
            [only] => new_message(document, only.message, &style),
            _ => {
                let content = merged(document, group, None, &style);
                style.object(&[("role", quote("user")), ("content", content)])
            }
        };
    };
    let message = document.wire(wire);
    let mut patches = Patches::default();
    let content = message.get("content");
    let is_whole = content.is_none_or(|content| !content.is_array()) || group.role() == Role::Tool;
    if group.is_of_one_wire() && is_whole {
        for (old, slot, change) in group.entries.iter().flat_map(Entry::changes) {
            if slot == Slot::Content {
                set_content(message, old, change, &mut patches);
            }
        }
    } else {
        let json = merged(document, group, Some(wire), &style);
        if content.is_none_or(|content| content.raw() != json) {
            patches.set(message, "content", json);
        }
    }
    beside_content(document, group, wire, &mut patches);
    patches.apply(message.source().text(), message.span())
}

/// Sets the content where one part is all of it.
fn set_content(message: View<'_>, old: &Part, change: Change<'_>, patches: &mut Patches) {
    match (old, change) {
        (_, Change::Kept) => {}
        (_, Change::Removed) => patches.set(message, "content", "null".to_owned()),
        (_, Change::Rewritten(Part::Text(text))) => patches.set(message, "content", quote(text)),
        (Part::ToolResult(old), Change::Rewritten(Part::ToolResult(new))) => {
            if old.call != new.call {
                set_call_id(message, &old.call, &new.call, patches);
            }
            if old.text != new.text || old.media != new.media {
                patches.set(message, "content", quote(&new.text));
            }
        }
        _ => {}
    }
}

/// Renames the call that a result answers, wherever the message says it.
fn set_call_id(message: View<'_>, old: &str, new: &str, patches: &mut Patches) {
    let lists = message.get("tool_call_ids").into_iter().flat_map(View::items);
    let single = ["tool_call_id", "id"].into_iter().filter_map(|key| message.get(key));
    for id in lists.chain(single).filter(|id| id.is_text(old)) {
        patches.replace(id.span(), quote(new));
    }
}

/// Content that several messages of the model share: texts joined by a blank line if all of them are
/// whole contents without a mark, parts of a list if not. Nothing is left: null.
fn merged(document: &Document, group: &Group<'_>, base: Option<usize>, style: &Style) -> String {
    if !group.is_of_one_wire() || base.is_none() {
        let texts: Option<Vec<&str>> =
            group.entries.iter().map(|entry| plain_text(document, entry)).collect();
        if let Some(texts) = texts {
            let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
            return quote(&texts.join("\n\n"));
        }
    }
    let list_style = style.deeper();
    let content = base.and_then(|wire| document.wire(wire).get("content"));
    let places: Vec<u32> = content.into_iter().flat_map(View::items).map(View::index).collect();
    let style_of_element = list_style.deeper();
    let blocks: Vec<Block<'_>> = group
        .entries
        .iter()
        .flat_map(|entry| elements(document, entry, base, &places, &style_of_element))
        .collect();
    if blocks.is_empty() {
        return "null".to_owned();
    }
    content_json(content, blocks, &list_style)
}

/// The text of a message that is one text without a mark, and no list.
fn plain_text<'a>(document: &Document, entry: &Entry<'a>) -> Option<&'a str> {
    let content = entry.wire().and_then(|wire| document.wire(wire).get("content"));
    match entry.message.parts() {
        _ if content.is_some_and(View::is_array) => None,
        [] => Some(""),
        [Part::Text(text)] => Mark::read(text).is_none().then_some(text),
        _ => None,
    }
}

/// The elements of the content list that come from one message of the model. `places` are the nodes of
/// the content of `base`.
fn elements<'a>(
    document: &'a Document,
    entry: &Entry<'a>,
    base: Option<usize>,
    places: &[u32],
    style: &Style,
) -> Vec<Block<'a>> {
    let Some(wire) = entry.wire() else {
        let texts = entry.message.parts().iter().filter_map(spoken);
        return texts.map(|text| Block::new(text_block(&quote(&text), style))).collect();
    };
    let content = document.wire(wire).get("content");
    let mut blocks = Vec::new();
    for (old, slot, change) in entry.changes() {
        let json = match (slot, change) {
            (Slot::Content, Change::Kept) => {
                content.map(|content| text_block(content.raw(), style))
            }
            (Slot::Content, Change::Rewritten(Part::Text(text))) => {
                Some(text_block(&quote(text), style))
            }
            (Slot::Element(node), Change::Kept) => Some(document.source.at(node).raw().to_owned()),
            (Slot::Element(node), Change::Rewritten(Part::Text(text))) => {
                Some(rewritten(document.source.at(node), old, text, style))
            }
            _ => None,
        };
        let Some(json) = json else { continue };
        let mut block = Block::new(json);
        if let Slot::Element(node) = slot
            && base == Some(wire)
        {
            block.item.from = places.binary_search(&node).ok();
        }
        blocks.push(block);
    }
    blocks
}

/// `element` with another text; everything else of it stays.
fn rewritten(element: View<'_>, old: &Part, text: &str, style: &Style) -> String {
    if !matches!(old, Part::Text(_)) {
        return text_block_for(element, &quote(text), style);
    }
    if element.is_string() {
        return quote(text);
    }
    let mut patches = Patches::default();
    let key = if element.get("text").is_some() { "text" } else { "refusal" };
    patches.set(element, key, quote(text));
    patches.apply(element.source().text(), element.span())
}

/// Changes to reasoning, refusal and calls, which stand beside the content. What belongs to a piece
/// that is gone goes too.
fn beside_content(document: &Document, group: &Group<'_>, wire: usize, patches: &mut Patches) {
    let message = document.wire(wire);
    let pieces = &document.pieces.all[document.pieces.of_wire(wire)];
    let mut gone: Vec<&str> = Vec::new();
    let mut lost_calls = 0;
    let with_pieces = group.entries.iter().filter_map(|entry| Some((entry.piece?, entry)));
    let here: HashMap<*const Piece, &Entry<'_>> =
        with_pieces.map(|(piece, entry)| (std::ptr::from_ref(piece), entry)).collect();
    for piece in pieces {
        let Some(entry) = here.get(&std::ptr::from_ref(piece)) else {
            for (part, slot) in piece.parts.iter().zip(&piece.slots) {
                match slot {
                    Slot::Call(_) => lost_calls += 1,
                    Slot::Fields => gone.extend_from_slice(fields_of(part)),
                    _ => {}
                }
            }
            continue;
        };
        for (old, slot, change) in entry.changes() {
            match (slot, change) {
                (Slot::Call(node), Change::Rewritten(Part::ToolCall(call))) => {
                    rewrite_call(document.source.at(node), old, call, patches);
                }
                (Slot::Fields, Change::Removed) => gone.extend_from_slice(fields_of(old)),
                (Slot::Fields, Change::Rewritten(new)) => rewrite_fields(message, new, patches),
                (Slot::Beside, Change::Rewritten(_)) => set_content(message, old, change, patches),
                _ => {}
            }
        }
    }
    // The calls of a message stand in one piece.
    if lost_calls > 0 {
        gone.push("tool_calls");
    }
    if !gone.is_empty() {
        patches.remove(message, &gone);
    }
}

/// The fields that a part beside the content stands in.
fn fields_of(part: &Part) -> &'static [&'static str] {
    match part {
        Part::Reasoning(_) => &REASONING,
        Part::ToolCall(_) => &["function_call"],
        _ => &["refusal"],
    }
}

fn rewrite_fields(message: View<'_>, new: &Part, patches: &mut Patches) {
    match new {
        Part::Reasoning(reasoning) => {
            let said = |key: &&str| {
                message.get(key).is_some_and(|value| value.is_string() && value.raw() != "\"\"")
            };
            let key = REASONING.iter().find(|key| said(key)).unwrap_or(&REASONING[0]);
            let others: Vec<&str> =
                REASONING.iter().filter(|other| *other != key).copied().collect();
            patches.remove(message, &others);
            patches.set(message, key, quote(&reasoning.text));
        }
        Part::ToolCall(call) => {
            if let Some(object) = message.get("function_call") {
                set_arguments(object, &call.arguments, patches);
            }
        }
        Part::Text(text) => patches.set(message, "refusal", quote(text)),
        _ => {}
    }
}

fn rewrite_call(view: View<'_>, old: &Part, call: &brute_core::ToolCall, patches: &mut Patches) {
    let Part::ToolCall(old) = old else { return };
    if old.id != call.id {
        patches.set(view, "id", quote(&call.id));
    }
    if old.arguments != call.arguments {
        let inner = ["function", "custom"].into_iter().find_map(|key| given(view, key));
        set_arguments(
            inner.filter(|inner| inner.is_object()).unwrap_or(view),
            &call.arguments,
            patches,
        );
    }
}

/// The member `key`, which says nothing if it is null.
fn given<'a>(object: View<'a>, key: &str) -> Option<View<'a>> {
    object.get(key).filter(|value| !value.is_null())
}

/// Arguments in the way that the call had them: JSON text in a string, or JSON itself.
fn set_arguments(holder: View<'_>, arguments: &str, patches: &mut Patches) {
    let names = ["arguments", "input"];
    let key = names.into_iter().find(|key| given(holder, key).is_some()).unwrap_or(names[0]);
    let is_json = given(holder, key).is_some_and(|given| given.is_object() || given.is_array());
    patches.set(holder, key, if is_json { compact(arguments) } else { quote(arguments) });
}

/// What a part says in words.
fn spoken(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) => Some(text.to_string()),
        Part::Media(media) => Some(medium_named(&media.kind)),
        _ => None,
    }
}

/// A message that is not of the input. Reasoning and opaque parts have no bytes to be written from
/// and are left out.
fn new_message(document: &Document, message: &Message, style: &Style) -> String {
    if let Some((_, result)) = message.result() {
        let (key, id) = result_key(document, &result.call);
        return style.object(&[
            ("role", quote("tool")),
            (key, id),
            ("content", quote(&result.text)),
        ]);
    }
    let role = match message.role() {
        Role::Other => "exit".to_owned(),
        role => role.to_string(),
    };
    let texts: Vec<String> = message.parts().iter().filter_map(spoken).collect();
    let inner = style.deeper().deeper();
    let calls: Vec<String> = message
        .calls()
        .map(|(_, call)| {
            let function = inner
                .deeper()
                .object(&[("name", quote(&call.name)), ("arguments", quote(&call.arguments))]);
            inner.object(&[
                ("id", quote(&call.id)),
                ("type", quote("function")),
                ("function", function),
            ])
        })
        .collect();
    let content = if texts.is_empty() && !calls.is_empty() {
        "null".to_owned()
    } else {
        quote(&texts.join("\n\n"))
    };
    let mut members = vec![("role", quote(&role)), ("content", content)];
    if !calls.is_empty() {
        members.push(("tool_calls", style.deeper().array(&calls)));
    }
    style.object(&members)
}

/// How the results of this input name their call.
fn result_key(document: &Document, call: &str) -> (&'static str, String) {
    let first = document.pieces.first_tool.map(|wire| document.wire(wire));
    let has = |key: &str| first.is_some_and(|message| message.get(key).is_some());
    match () {
        () if has("tool_call_ids") => ("tool_call_ids", format!("[{}]", quote(call))),
        () if has("id") && !has("tool_call_id") => ("id", quote(call)),
        () => ("tool_call_id", quote(call)),
    }
}
