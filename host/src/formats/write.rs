//! Writing a conversation back: which of its messages make one message on the wire, and how the list
//! of those is put in the place of the old one.

use std::borrow::Cow;
use std::sync::Arc;

use brute_core::{Conversation, Message, MessageId, Part, Role};

use super::align::{Change, align};
use super::json::{Item, List, Style, View, quote};
use super::patch::Patches;
use super::pieces::{Companion, Piece, Pieces, Wire};
use super::slots::Slot;
use super::{Document, Format, WriteOptions, anthropic, gemini, openai_chat, responses, turns};

/// A message of the conversation, and where it was read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) message: &'a Message,
    /// None if it is new.
    pub(super) piece: Option<&'a Piece>,
    /// Whether it stands beside a result and is no message of the conversation.
    pub(super) is_companion: bool,
}

impl<'a> Entry<'a> {
    /// The message on the wire that it was read from.
    pub(super) fn wire(&self) -> Option<usize> {
        self.piece?.wire_index()
    }

    /// Whether it stands in a message on the wire, or will; the fields of a body are never written differently.
    pub(super) fn is_on_wire(&self) -> bool {
        self.piece.is_none_or(|piece| piece.wire != Wire::System)
    }

    /// Whether this is a result that says and shows what it did, whatever call it names now.
    fn is_result_as_read(&self) -> bool {
        let read = self.piece.map(|piece| &*piece.parts);
        match (read, self.message.parts()) {
            (Some([Part::ToolResult(read)]), [Part::ToolResult(now)]) => {
                std::ptr::eq(read, now) || (read.text == now.text && read.media == now.media)
            }
            _ => false,
        }
    }

    pub(super) fn is_untouched(&self) -> bool {
        self.piece.is_some_and(|piece| {
            std::ptr::eq(&*piece.parts, self.message.parts())
                || *piece.parts == *self.message.parts()
        })
    }

    /// Each part as it was, where it stands and what became of it. Nothing for a new message.
    pub(super) fn changes(&self) -> impl Iterator<Item = (&'a Part, Slot, Change<'a>)> {
        let (parts, slots): (&[Part], &[Slot]) =
            self.piece.map_or((&[], &[]), |piece| (&piece.parts, &piece.slots));
        let changes = align(parts, self.message.parts()).unwrap_or_default();
        parts.iter().zip(slots).zip(changes).map(|((part, slot), change)| (part, *slot, change))
    }
}

/// Messages that make one message on the wire.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) entries: Vec<Entry<'a>>,
}

impl<'a> Group<'a> {
    pub(super) fn role(&self) -> Role {
        self.entries.first().map_or(Role::Other, |entry| entry.message.role())
    }

    /// The message on the wire whose bytes it is made from: that of its first message that has one.
    pub(super) fn base(&self) -> Option<usize> {
        self.entries.iter().find_map(Entry::wire)
    }

    /// The newest message on the wire that something in it comes from.
    pub(super) fn newest(&self) -> Option<usize> {
        self.entries.iter().rev().find_map(Entry::wire)
    }

    /// Whether `entry`, which the input has right behind this group, stays apart as it was there; a
    /// piece of the same message never does.
    pub(super) fn was_apart_from(&self, entry: &Entry<'_>, document: &Document) -> bool {
        let was_apart = |wire: usize| {
            let is_next = self.newest().is_some_and(|before| before + 1 == wire);
            is_next && !document.joined.contains(&wire)
        };
        entry.wire().is_some_and(was_apart)
    }

    pub(super) fn is_of_one_wire(&self) -> bool {
        let base = self.base();
        self.entries.iter().all(|entry| entry.wire() == base)
    }
}

/// The text of `document` with the messages of `conversation` in it.
pub(super) fn write<'d>(
    document: &'d Document,
    conversation: &Conversation,
    options: WriteOptions,
) -> Cow<'d, str> {
    let pieces = &document.pieces;
    let entries: Vec<Entry<'_>> = conversation
        .messages()
        .iter()
        .map(|message| {
            let piece = pieces.get(message.id()).filter(|piece| {
                piece.role == message.role()
                    && (std::ptr::eq(&*piece.parts, message.parts())
                        || align(&piece.parts, message.parts()).is_some())
            });
            Entry { message, piece, is_companion: false }
        })
        .collect();
    let text = document.source.text();
    let is_unchanged = document.joined.is_empty()
        && !document.shows_last
        && entries.iter().all(Entry::is_untouched)
        && entries
            .iter()
            .map(|entry| entry.message.id().0)
            .eq(pieces.live().map(|(at, _)| at as u64));
    if is_unchanged {
        return Cow::Borrowed(text);
    }
    let entries = with_companions(pieces, entries, document.shows_last);
    let gone = document.gone_messages();
    let entries = with_gone(pieces, entries, &gone);
    let items: Vec<Item<'_>> = match document.format {
        Format::OpenaiResponses => responses::items(document, &entries),
        _ => {
            let groups = group(document, entries, options);
            groups.iter().map(|group| item(document, group)).collect()
        }
    };
    let list = match document.carrier.list.map(|list| document.source.at(list)) {
        Some(text) if text.is_string() => return spliced(text, responses::input(&items)),
        Some(array) => List::of_array(array, ",".to_owned()),
        None => List::of_lines(text, document.source.roots().map(View::span).collect()),
    };
    let outer = list.outer();
    let rebuilt = list.rebuild(&items);
    let mut written = String::with_capacity(text.len() - outer.len() + rebuilt.len());
    written.push_str(&text[..outer.start]);
    written.push_str(&rebuilt);
    written.push_str(&text[outer.end..]);
    Cow::Owned(written)
}

/// The whole text with `json` in the place of `value`.
fn spliced(value: View<'_>, json: String) -> Cow<'_, str> {
    let text = value.source().text();
    let mut patches = Patches::default();
    patches.replace(value.span(), json);
    Cow::Owned(patches.apply(text, 0..text.len()))
}

/// `entries`, and `gone`, which a provider's own compaction stands for: those stay where they are.
fn with_gone<'a>(
    pieces: &'a Pieces,
    entries: Vec<Entry<'a>>,
    gone: &'a [(usize, Message)],
) -> Vec<Entry<'a>> {
    if gone.is_empty() {
        return entries;
    }
    let entry = |(at, message): &'a (usize, Message)| Entry {
        message,
        piece: pieces.all.get(*at),
        is_companion: false,
    };
    // What stands beside them is not told apart: it is in the same messages on the wire, or right behind.
    let mut gone =
        with_companions(pieces, gone.iter().map(entry).collect(), false).into_iter().peekable();
    let mut all = Vec::with_capacity(entries.len() + gone.len());
    for entry in entries {
        let wire = entry.wire();
        while wire.is_some() && gone.peek().is_some_and(|gone| gone.wire() <= wire) {
            all.extend(gone.next());
        }
        all.push(entry);
    }
    all.splice(0..0, gone);
    all
}

/// `entries`, and what stands beside those results among them that are as they were read; with `last`, behind
/// all results in a row.
fn with_companions<'a>(pieces: &'a Pieces, entries: Vec<Entry<'a>>, last: bool) -> Vec<Entry<'a>> {
    let mut all = Vec::with_capacity(entries.len());
    let mut waiting: Vec<Entry<'a>> = Vec::new();
    for entry in entries {
        if entry.message.role() != Role::Tool {
            all.append(&mut waiting);
        }
        let mut companions = match entry.message.role() {
            Role::Tool => pieces.companions_of(entry.message.id()),
            _ => &[],
        };
        if !companions.is_empty() && !entry.is_result_as_read() {
            companions = &[];
        }
        let node = entry.piece.map_or(0, |piece| piece.node);
        let before = companions.partition_point(|companion| companion.piece.node < node);
        let beside = |companion: &'a Companion| Entry {
            message: &companion.message,
            piece: Some(&companion.piece),
            is_companion: true,
        };
        if last {
            waiting.extend(companions.iter().map(beside));
            all.push(entry);
        } else {
            all.extend(companions[..before].iter().map(beside));
            all.push(entry);
            all.extend(companions[before..].iter().map(beside));
        }
    }
    all.append(&mut waiting);
    all
}

fn group<'a>(
    document: &Document,
    entries: Vec<Entry<'a>>,
    options: WriteOptions,
) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for entry in entries {
        if !entry.is_on_wire() {
            continue;
        }
        let last = groups.last_mut().filter(|group| {
            let is_same = entry.wire().is_some() && group.newest() == entry.wire();
            is_same
                || match document.format {
                    Format::OpenaiChat => openai_chat::joins(document, group, &entry, options),
                    Format::Anthropic | Format::Gemini => turns::joins(document, group, &entry),
                    Format::OpenaiResponses => false,
                }
        });
        match last {
            Some(group) => group.entries.push(entry),
            None => groups.push(Group { entries: vec![entry] }),
        }
    }
    groups
}

fn item<'a>(document: &'a Document, group: &Group<'a>) -> Item<'a> {
    let from = group.base();
    if let Some(wire) = from
        && is_whole(document, group, wire)
    {
        let json = Cow::Borrowed(document.source.at(document.pieces.wires[wire]).raw());
        return Item { from, json };
    }
    let json = match document.format {
        Format::Anthropic => turns::group_json::<anthropic::Blocks>(document, group),
        Format::Gemini => turns::group_json::<gemini::Parts>(document, group),
        Format::OpenaiChat | Format::OpenaiResponses => openai_chat::group_json(document, group),
    };
    Item { from, json: Cow::Owned(json) }
}

/// Whether `group` is all of one message on the wire, untouched.
fn is_whole(document: &Document, group: &Group<'_>, wire: usize) -> bool {
    let pieces = &document.pieces;
    let nodes = group.entries.iter().filter_map(|entry| entry.piece.map(|piece| piece.node));
    group.entries.len() == pieces.of_wire(wire).len() + pieces.companions_in(wire)
        && nodes.is_sorted()
        && group.entries.iter().all(|entry| entry.wire() == Some(wire) && entry.is_untouched())
}

impl Document {
    /// The messages that a provider's own compaction stands for, each with the place of its piece.
    fn gone_messages(&self) -> Vec<(usize, Message)> {
        let pieces = &self.pieces;
        let gone = pieces.all.iter().enumerate().filter(|(at, _)| pieces.is_gone(*at));
        let message = |(at, piece): (usize, &Piece)| {
            (at, Message::new(MessageId(at as u64), piece.role, Arc::clone(&piece.parts)))
        };
        gone.map(message).collect()
    }

    /// The message on the wire at `index`.
    pub(super) fn wire(&self, index: usize) -> View<'_> {
        self.source.at(self.pieces.wires[index])
    }

    /// The layout for a message that is new: that of the first one.
    pub(super) fn message_style(&self) -> Style {
        self.pieces
            .wires
            .first()
            .map_or(Style::Line { comma: "", colon: "" }, |node| Style::of(self.source.at(*node)))
    }
}

/// An element of a content list in the making.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) item: Item<'a>,
    pub(super) is_result: bool,
    /// Whether it stands beside a result and belongs to that.
    pub(super) is_companion: bool,
}

impl<'a> Block<'a> {
    pub(super) fn new(json: String) -> Self {
        let item = Item { from: None, json: Cow::Owned(json) };
        Self { item, is_result: false, is_companion: false }
    }
}

/// The content list of a message on the wire, rebuilt from `blocks`, or made where there was none.
pub(super) fn content_json(
    content: Option<View<'_>>,
    blocks: Vec<Block<'_>>,
    style: &Style,
) -> String {
    let items: Vec<Item<'_>> = blocks.into_iter().map(|block| block.item).collect();
    match content.filter(|content| content.is_array()) {
        Some(array) => List::of_array(array, style.separator()).rebuild(&items),
        None => {
            let elements: Vec<String> =
                items.into_iter().map(|item| item.json.into_owned()).collect();
            style.array(&elements)
        }
    }
}

/// A text block, `text` already in JSON; OpenAI Chat and Anthropic write it alike.
pub(super) fn text_block(text: &str, style: &Style) -> String {
    style.object(&[("type", quote("text")), ("text", text.to_owned())])
}

/// The text block that takes the place of `block`, with what marks the end of what is to be cached.
pub(super) fn text_block_for(block: View<'_>, text: &str, style: &Style) -> String {
    let mut members = vec![("type", quote("text")), ("text", text.to_owned())];
    if let Some(marker) = block.get("cache_control") {
        members.push(("cache_control", marker.raw().to_owned()));
    }
    style.object(&members)
}

/// How a medium that became text, or never was in the input, is told of.
pub(super) fn medium_named(kind: &str) -> String {
    format!("[{kind}]")
}
