//! Items of OpenAI Responses, written.
//!
//! A message of the model is as many items as it was read from; what became of a part is done to its item.

use std::borrow::Cow;

use brute_core::{Message, Part, Role};

use super::item::{Fields, Kind};
use crate::formats::Document;
use crate::formats::align::Change;
use crate::formats::json::{Item, List, Style, View, compact, quote};
use crate::formats::patch::Patches;
use crate::formats::slots::Slot;
use crate::formats::write::{Entry, medium_named};

/// What stands for a screenshot that was given up: nothing but an image may stand there. One pixel.
const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/// The items that `entries` are.
pub(in crate::formats) fn items<'a>(
    document: &'a Document,
    entries: &[Entry<'a>],
) -> Vec<Item<'a>> {
    let mut writer = Writer::new(document);
    for entry in entries.iter().filter(|entry| entry.is_on_wire()) {
        match entry.wire() {
            Some(first) => writer.entry(entry, first),
            None => writer.new_message(entry.message),
        }
    }
    writer.flush();
    writer.items
}

/// The JSON of `input` where it was a string: a string still, if that is all, or a list.
pub(in crate::formats) fn input(items: &[Item<'_>]) -> String {
    if let [only] = items
        && only.json.starts_with('"')
    {
        return only.json.clone().into_owned();
    }
    let style = Style::Line { comma: " ", colon: " " };
    let message = |item: &Item<'_>| match item.json.starts_with('"') {
        true => {
            style.object(&[("role", quote("user")), ("content", item.json.clone().into_owned())])
        }
        false => item.json.clone().into_owned(),
    };
    style.array(&items.iter().map(message).collect::<Vec<_>>())
}

/// A part that was read, and what became of it.
type Bit<'a> = (&'a Part, Slot, Change<'a>);

struct Writer<'a> {
    document: &'a Document,
    items: Vec<Item<'a>>,
    /// How many parts each item has.
    parts_of: Vec<usize>,
    /// The item in the making, and its parts.
    item: Option<usize>,
    bits: Vec<Bit<'a>>,
    /// Whether the reasoning that the item in the making came with is gone.
    is_bereft: bool,
}

impl<'a> Writer<'a> {
    fn new(document: &'a Document) -> Self {
        let pieces = &document.pieces;
        let mut parts_of = vec![0; pieces.wires.len()];
        for piece in pieces.all.iter().chain(pieces.companions()) {
            let Some(first) = piece.wire_index() else { continue };
            for (wire, _) in pieces.wires_of(first, &piece.slots) {
                parts_of[wire] += 1;
            }
        }
        let (items, bits) = (Vec::with_capacity(parts_of.len()), Vec::new());
        Self { document, items, parts_of, item: None, bits, is_bereft: false }
    }

    fn entry(&mut self, entry: &Entry<'a>, first: usize) {
        let Some(piece) = entry.piece else { return };
        if self.item != Some(first) {
            self.flush();
        }
        self.is_bereft = false;
        if piece.parts.is_empty() {
            self.begin(first);
            return;
        }
        let is_untouched = entry.is_untouched();
        let mut changes = (!is_untouched).then(|| entry.changes());
        let wires = self.document.pieces.wires_of(first, &piece.slots);
        for ((wire, slot), part) in wires.zip(&*piece.parts) {
            let change = match &mut changes {
                Some(changes) => changes.next().map_or(Change::Kept, |(_, _, change)| change),
                None => Change::Kept,
            };
            self.begin(wire);
            match part {
                Part::Reasoning(_) => self.is_bereft = change == Change::Removed,
                Part::Opaque(opaque) if opaque.kind == "reasoning".into() => self.is_bereft = false,
                _ => {}
            }
            self.bits.push((part, slot, change));
        }
        if !is_untouched {
            self.end_in_no_reasoning();
        }
    }

    /// Goes on with an item, if it is that one already.
    fn begin(&mut self, wire: usize) {
        if self.item != Some(wire) {
            self.flush();
            self.item = Some(wire);
        }
    }

    /// A provider refuses reasoning that nothing follows: what was taken from behind it takes it along.
    fn end_in_no_reasoning(&mut self) {
        let is_reasoning = |item: View<'_>| Kind::of(&Fields::of(item)) == Some(Kind::Reasoning);
        let is_last = self.item.is_some_and(|wire| is_reasoning(self.document.wire(wire)));
        if !is_last && !is_gone(&self.bits) {
            return;
        }
        (self.item, self.bits) = (None, Vec::new());
        let document = self.document;
        let ends_so =
            |item: &mut Item<'_>| item.from.is_some_and(|wire| is_reasoning(document.wire(wire)));
        while self.items.pop_if(ends_so).is_some() {}
    }

    fn flush(&mut self) {
        let Some(wire) = self.item.take() else { return };
        let bits = std::mem::take(&mut self.bits);
        let item = self.document.wire(wire);
        let is_second = self.items.iter().rev().take(2).any(|item| item.from == Some(wire));
        let is_whole = bits.len() == self.parts_of[wire]
            && bits.iter().all(|(.., change)| *change == Change::Kept);
        let json = match is_whole && !self.is_bereft {
            true => Some(Cow::Borrowed(item.raw())),
            false => rewritten(self.document, item, &bits).map(Cow::Owned),
        };
        let Some(mut json) = json else { return };
        if self.is_bereft || is_second {
            json = Cow::Owned(without_id(&json));
        }
        self.items.push(Item { from: Some(wire), json });
    }

    /// Adds a message that is not of the input. Reasoning and opaque parts have no bytes to be written from
    /// and are left out.
    fn new_message(&mut self, message: &Message) {
        self.is_bereft = false;
        self.flush();
        let style = self.document.message_style();
        let mut said: Vec<String> = Vec::new();
        let role = match message.role() {
            Role::Other => "unknown".to_owned(),
            Role::System => "developer".to_owned(),
            role => role.to_string(),
        };
        let mut own = Vec::new();
        for part in message.parts() {
            match part {
                Part::Text(text) => said.push(text.to_string()),
                Part::Media(media) => said.push(medium_named(&media.kind)),
                Part::ToolCall(call) => own.push(style.object(&[
                    ("type", quote("function_call")),
                    ("call_id", quote(&call.id)),
                    ("name", quote(&call.name)),
                    ("arguments", quote(&call.arguments)),
                ])),
                Part::ToolResult(result) => {
                    let call = self.document.pieces.call(&result.call);
                    let kind = call.and_then(|(_, slot)| self.kind_at(slot));
                    let kind = kind.unwrap_or_else(|| "function_call".to_owned());
                    own.push(style.object(&[
                        ("type", quote(&format!("{kind}_output"))),
                        ("call_id", quote(&result.call)),
                        ("output", output(&kind, &result.text, &style)),
                    ]));
                }
                Part::Reasoning(_) | Part::Opaque(_) => {}
            }
        }
        if !said.is_empty() {
            let content = quote(&said.join("\n\n"));
            let mut members = vec![("role", quote(&role)), ("content", content)];
            if self.says_message() {
                members.insert(0, ("type", quote("message")));
            }
            own.insert(0, style.object(&members));
        }
        self.items.extend(own.into_iter().map(|json| Item { from: None, json: Cow::Owned(json) }));
    }

    /// The type of the item that a call stands in.
    fn kind_at(&self, slot: Slot) -> Option<String> {
        self.document.source.at(slot.node()?).get("type").and_then(View::string)
    }

    /// Whether the messages of this input say that they are messages.
    fn says_message(&self) -> bool {
        let wires = &self.document.pieces.wires;
        let items = wires.iter().map(|node| self.document.source.at(*node));
        let mut messages = items.filter(|item| item.get("role").is_some());
        messages.next().is_some_and(|message| message.get("type").is_some())
    }
}

/// Whether nothing is left of an item. What only counts for it does not keep it.
fn is_gone(bits: &[Bit<'_>]) -> bool {
    let own = bits.iter().filter(|(_, slot, _)| *slot != Slot::Beside);
    own.into_iter().all(|(.., change)| *change == Change::Removed)
}

fn without_id(json: &str) -> String {
    let Ok(source) = crate::formats::json::Source::parse(json.to_owned()) else {
        return json.to_owned();
    };
    let Some(item) = source.roots().next().filter(|item| item.get("id").is_some()) else {
        return json.to_owned();
    };
    let mut patches = Patches::default();
    patches.remove(item, &["id"]);
    patches.apply(source.text(), item.span())
}

/// `item` with what became of its parts; none if nothing of it is left. What is not in `bits` is gone.
fn rewritten(document: &Document, item: View<'_>, bits: &[Bit<'_>]) -> Option<String> {
    if is_gone(bits) {
        return None;
    }
    let mut patches = Patches::default();
    let content = item.get("content").filter(|content| content.is_array());
    let is_message = Kind::of(&Fields::of(item)) == Some(Kind::Message);
    match content.filter(|_| is_message) {
        Some(content) => {
            let places: Vec<u32> = content.items().map(View::index).collect();
            let style = Style::of(item).deeper();
            let is_model = item.get("role").is_some_and(|role| role.is_text("assistant"));
            let element = |(old, slot, change): &Bit<'_>| {
                let node = slot.node()?;
                let view = document.source.at(node);
                let json = match change {
                    Change::Removed => return None,
                    Change::Rewritten(Part::Text(text)) => {
                        element_with(view, old, text, is_model, &style.deeper())
                    }
                    _ => view.raw().to_owned(),
                };
                Some(Item { from: places.binary_search(&node).ok(), json: Cow::Owned(json) })
            };
            let elements: Vec<Item<'_>> = bits.iter().filter_map(element).collect();
            let list = List::of_array(content, style.separator());
            patches.replace(content.span(), list.rebuild(&elements));
        }
        None => {
            for (old, slot, change) in bits {
                if let (Change::Rewritten(new), Some(node)) = (change, slot.node()) {
                    rewrite(item, document.source.at(node), old, new, &mut patches);
                }
            }
        }
    }
    Some(patches.apply(item.source().text(), item.span()))
}

/// An element of a message's content with another text.
fn element_with(
    element: View<'_>,
    old: &Part,
    text: &str,
    is_model: bool,
    style: &Style,
) -> String {
    if !matches!(old, Part::Text(_)) {
        let kind = if is_model { "output_text" } else { "input_text" };
        return style.object(&[("type", quote(kind)), ("text", quote(text))]);
    }
    let mut patches = Patches::default();
    let key = if element.get("text").is_some() { "text" } else { "refusal" };
    patches.set(element, key, quote(text));
    patches.apply(element.source().text(), element.span())
}

/// Says `new` where `old` stands: in all of an item, or in a string `at` in it.
fn rewrite(item: View<'_>, at: View<'_>, old: &Part, new: &Part, patches: &mut Patches) {
    let fields = Fields::of(item);
    let mut set_id = |old: &str, new: &str| {
        let id = fields.call_id.or(fields.id).filter(|id| id.is_text(old) && old != new);
        if let Some(id) = id {
            patches.replace(id.span(), quote(new));
        }
    };
    match (old, new) {
        (_, Part::Text(text)) if at.is_string() => patches.replace(at.span(), quote(text)),
        (_, Part::Text(text)) => patches.set(item, "content", quote(text)),
        (Part::ToolCall(old), Part::ToolCall(call)) => {
            set_id(&old.id, &call.id);
            if old.arguments != call.arguments {
                let given = fields.arguments();
                let key = given.map_or("arguments", |(key, _)| key);
                let is_text = given.is_none_or(|(_, given)| given.is_string());
                let json = if is_text { quote(&call.arguments) } else { compact(&call.arguments) };
                patches.set(item, key, json);
            }
        }
        (Part::ToolResult(old), Part::ToolResult(result)) => {
            set_id(&old.call, &result.call);
            if old.text != result.text || old.media != result.media {
                let kind = fields.kind.and_then(View::string).unwrap_or_default();
                let kind = kind.strip_suffix("_output").unwrap_or_default();
                let style = Style::of(item).deeper();
                patches.set(item, "output", output(kind, &result.text, &style));
            }
        }
        _ => {}
    }
}

/// What a result of a call of this kind says: a text, but for two of the tools that clients run.
fn output(kind: &str, text: &str, style: &Style) -> String {
    match kind {
        "computer_call" => {
            style.object(&[("type", quote("computer_screenshot")), ("image_url", quote(PIXEL))])
        }
        "shell_call" => {
            let outcome = style.deeper().deeper();
            let outcome = outcome.object(&[("type", quote("exit")), ("exit_code", "0".to_owned())]);
            let members = [("stdout", quote(text)), ("stderr", quote("")), ("outcome", outcome)];
            style.array(&[style.deeper().object(&members)])
        }
        _ => quote(text),
    }
}
