//! Writing for providers whose roles take turns: a message holds all that the model says in a turn, or all
//! that comes back, results first. Anthropic and Gemini are such.
//!
//! What edits made neighbors becomes one message: new blocks go behind those of the message before (the
//! prompt cache knows it), and results come first. Messages of one role that stood side by side in the
//! input stay so.

use brute_core::{Message, Part, Role};

use super::Document;
use super::align::Change;
use super::json::{Style, View, quote};
use super::patch::Patches;
use super::pieces::is_said;
use super::slots::Slot;
use super::write::{Block, Entry, Group, content_json};

/// How a provider writes messages of blocks.
pub(super) trait Dialect {
    /// The field that the blocks stand in.
    const BLOCKS: &'static str;

    /// What the model is called.
    const MODEL: &'static str;

    /// Whether a block without a word is refused.
    const REFUSES_BLANKS: bool;

    /// A block of text, which is already in JSON.
    fn text(text: &str, style: &Style) -> String;

    /// `block` with what `new` says in it; everything else of it stays.
    fn rewritten(block: View<'_>, old: &Part, new: &Part, style: &Style) -> String;

    /// The block of a part that is not of the input; none if there is nothing to be written.
    fn new_block(document: &Document, part: &Part, style: &Style) -> Option<String>;

    /// `result` with the blocks `shown` in it.
    fn with_shown(result: View<'_>, shown: Vec<String>, style: &Style) -> String;
}

/// Whether the model says this. Of what is no dialogue, a provider's own compaction alone stands on the wire:
/// it is part of a reply.
fn is_of_model(entry: &Entry<'_>) -> bool {
    matches!(entry.message.role(), Role::Assistant | Role::System)
}

fn is_of_the_model(group: &Group<'_>) -> bool {
    group.entries.first().is_some_and(is_of_model)
}

/// Whether `entry` becomes part of the message before.
pub(super) fn joins(document: &Document, group: &Group<'_>, entry: &Entry<'_>) -> bool {
    is_of_the_model(group) == is_of_model(entry)
        && !group.was_apart_from(entry, document)
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
pub(super) fn group_json<D: Dialect>(document: &Document, group: &Group<'_>) -> String {
    let base = group.base();
    let message = base.map(|wire| document.wire(wire));
    let style = message.map_or_else(|| document.message_style(), Style::of);
    let content = message.and_then(|message| message.get(D::BLOCKS));
    if let (Some(message), Some(content), [only]) = (message, content, group.entries.as_slice())
        && let Some((_, Slot::Content, Change::Rewritten(Part::Text(text)))) = only.changes().next()
    {
        let mut patches = Patches::default();
        patches.replace(content.span(), quote(text));
        return patches.apply(message.source().text(), message.span());
    }
    let list_style = style.deeper();
    let places: Vec<u32> = content.into_iter().flat_map(View::items).map(View::index).collect();
    let style_of_block = list_style.deeper();
    let mut blocks: Vec<Block<'_>> = group
        .entries
        .iter()
        .flat_map(|entry| blocks::<D>(document, entry, base, &places, &style_of_block))
        .collect();
    if !is_of_the_model(group) && !group.is_of_one_wire() {
        let is_said_here = |entry: &Entry<'_>| entry.message.parts().iter().any(is_said);
        if blocks.iter().any(|block| block.is_companion) && group.entries.iter().any(is_said_here) {
            blocks = shown_inside::<D>(blocks, &style_of_block);
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
            let role = if is_of_the_model(group) { D::MODEL } else { "user" };
            style.object(&[("role", quote(role)), (D::BLOCKS, json)])
        }
    }
}

/// `blocks` with what stands beside a result put into it. Beside the words of a person it would be taken
/// for theirs.
fn shown_inside<'a, D: Dialect>(blocks: Vec<Block<'a>>, style: &Style) -> Vec<Block<'a>> {
    let mut done: Vec<Block<'a>> = Vec::with_capacity(blocks.len());
    let mut shown = Vec::new();
    let mut newest = None;
    for block in blocks {
        if block.is_companion {
            shown.push(block.item.json.into_owned());
            continue;
        }
        if block.is_result {
            show_in::<D>(newest, &mut done, &mut shown, style);
            newest = Some(done.len());
        }
        done.push(block);
    }
    show_in::<D>(newest, &mut done, &mut shown, style);
    done
}

/// Puts `shown` into the result at `at`; waits for the first one, if there is none yet.
fn show_in<D: Dialect>(
    at: Option<usize>,
    blocks: &mut [Block<'_>],
    shown: &mut Vec<String>,
    style: &Style,
) {
    let Some(block) = at.and_then(|at| blocks.get_mut(at)).filter(|_| !shown.is_empty()) else {
        return;
    };
    let Ok(source) = super::json::Source::parse(block.item.json.to_string()) else { return };
    let Some(result) = source.roots().next() else { return };
    block.item.json = D::with_shown(result, std::mem::take(shown), &style.deeper()).into();
}

/// The blocks of one message of the model. `places` are the nodes of the content of `base`.
fn blocks<'a, D: Dialect>(
    document: &'a Document,
    entry: &Entry<'a>,
    base: Option<usize>,
    places: &[u32],
    style: &Style,
) -> Vec<Block<'a>> {
    let Some(wire) = entry.wire() else {
        return new_blocks::<D>(document, entry.message, style);
    };
    let content = document.wire(wire).get(D::BLOCKS);
    let mut blocks = Vec::new();
    for (old, slot, change) in entry.changes() {
        let Some(json) = block_json::<D>(document, content, old, slot, change, style) else {
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

/// The block of a part that was read; none if it is gone, or if there is nothing to say.
fn block_json<D: Dialect>(
    document: &Document,
    content: Option<View<'_>>,
    old: &Part,
    slot: Slot,
    change: Change<'_>,
    style: &Style,
) -> Option<String> {
    let is_refused = |text: &str| D::REFUSES_BLANKS && text.trim().is_empty();
    match (slot, change) {
        (_, Change::Removed) | (Slot::Beside | Slot::Call(_) | Slot::Fields, _) => None,
        (Slot::Content, Change::Kept) => match old {
            Part::Text(text) if is_refused(text) => None,
            _ => Some(D::text(content?.raw(), style)),
        },
        (_, Change::Rewritten(Part::Text(text))) if is_refused(text) => None,
        (Slot::Content, Change::Rewritten(Part::Text(text))) => Some(D::text(&quote(text), style)),
        (Slot::Content, Change::Rewritten(_)) => None,
        (Slot::Element(node), Change::Kept) => Some(document.source.at(node).raw().to_owned()),
        (Slot::Element(node), Change::Rewritten(new)) => {
            Some(D::rewritten(document.source.at(node), old, new, style))
        }
    }
}

/// The blocks of a message that is not of the input. Reasoning and opaque parts have no bytes to be
/// written from and are left out.
fn new_blocks<'a, D: Dialect>(
    document: &Document,
    message: &Message,
    style: &Style,
) -> Vec<Block<'a>> {
    let block = |part: &Part| {
        let mut block = Block::new(D::new_block(document, part, style)?);
        block.is_result = matches!(part, Part::ToolResult(_));
        Some(block)
    };
    message.parts().iter().filter_map(block).collect()
}
