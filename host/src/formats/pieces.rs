//! The messages of the model that were read from messages on the wire, and where each part stands.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use brute_core::{Mark, Message, MessageId, Part, Role, ToolCall, ToolResult};

use super::slots::{Slot, Slots};

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// In a field of the body; it is never written differently.
    System,
    /// In a message on the wire, or is it; of several, in the first.
    Message(u32),
}

impl Wire {
    /// In the message at `index`, or is it. There are fewer of them than nodes, which 32 bits can count.
    pub(super) fn message(index: usize) -> Self {
        Self::Message(index as u32)
    }
}

/// A message of the model, as it was read.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) wire: Wire,
    /// The value that stands for the whole piece in error messages.
    pub(super) node: u32,
    pub(super) role: Role,
    pub(super) parts: Arc<[Part]>,
    pub(super) slots: Slots,
    /// Whether a provider refuses it for being blank.
    pub(super) is_blank: bool,
}

impl Piece {
    /// Whether it is what a provider's own compaction left. Of what is no dialogue, only that is opaque.
    pub(super) fn is_compaction(&self) -> bool {
        self.role == Role::System && self.parts.iter().any(|part| matches!(part, Part::Opaque(_)))
    }

    /// The message on the wire that it stands in.
    pub(super) fn wire_index(&self) -> Option<usize> {
        match self.wire {
            Wire::Message(index) => Some(index as usize),
            Wire::System => None,
        }
    }
}

/// What stands beside a tool result on the wire and shows what the tool saw: an image, a document.
///
/// No person asks for anything by it. To the model it is part of the result; on the wire it is a block
/// or a message of its own, which stays as long as its result says and shows what it did.
#[derive(Debug)]
pub(super) struct Companion {
    pub(super) piece: Piece,
    pub(super) message: Message,
    /// The place of its result among all pieces.
    pub(super) of: usize,
}

/// All messages that were read; the id of a message is its place here.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pub(super) all: Vec<Piece>,
    /// The piece that stands for all before it, where the provider has compacted the conversation itself; 0 if
    /// it has not.
    compacted: usize,
    /// Where the newest call of each id stands, once that was asked.
    calls: OnceLock<HashMap<Box<str>, (usize, usize)>>,
    /// In the order of their results, which is that of the messages on the wire, too.
    companions: Vec<Companion>,
    /// The first message on the wire whose role is `tool`.
    pub(super) first_tool: Option<usize>,
    /// The messages on the wire, as nodes.
    pub(super) wires: Vec<u32>,
    /// The pieces of each message on the wire, those included that stand in others as well.
    of_wire: Vec<Range<u32>>,
}

impl Pieces {
    pub(super) fn get(&self, id: MessageId) -> Option<&Piece> {
        self.all.get(usize::try_from(id.0).ok()?)
    }

    /// Begins the next message on the wire.
    pub(super) fn begin(&mut self, node: u32) -> usize {
        self.wires.push(node);
        let next = self.all.len() as u32;
        self.of_wire.push(next..next);
        self.wires.len() - 1
    }

    pub(super) fn push(&mut self, piece: Piece) {
        self.all.push(piece);
        if let Some(pieces) = self.of_wire.last_mut() {
            pieces.end = self.all.len() as u32;
        }
    }

    /// The pieces of the message on the wire at `index`, those included that stand in others as well.
    pub(super) fn of_wire(&self, index: usize) -> Range<usize> {
        let range = self.of_wire.get(index).cloned().unwrap_or_default();
        range.start as usize..range.end as usize
    }

    /// The pieces so far of the message on the wire that was begun last.
    pub(super) fn of_newest_wire(&self) -> Range<usize> {
        self.of_wire(self.of_wire.len().saturating_sub(1))
    }

    /// Adds a tool result, which is always a piece of its own.
    pub(super) fn push_result(&mut self, wire: Wire, node: u32, result: ToolResult, slot: Slot) {
        self.push(Piece {
            wire,
            node,
            role: Role::Tool,
            parts: Arc::new([Part::ToolResult(result)]),
            slots: Slots::One(slot),
            is_blank: false,
        });
    }

    /// Makes `piece`, which stands beside the result at `of`, a part of that.
    pub(super) fn attach(&mut self, of: usize, piece: Piece) {
        let result = self.all.get_mut(of).and_then(|result| Arc::get_mut(&mut result.parts));
        let Some([Part::ToolResult(result)]) = result else {
            self.push(piece);
            return;
        };
        let mut texts = vec![std::mem::take(&mut result.text)];
        let mut media = std::mem::take(&mut result.media).into_vec();
        for part in &*piece.parts {
            match part {
                Part::Media(medium) => media.push(medium.clone()),
                Part::Opaque(opaque) => texts.push(opaque.text.clone()),
                _ => {}
            }
        }
        texts.retain(|text| !text.is_empty());
        (result.text, result.media) = (joined(texts), media.into());
        let message = Message::new(MessageId(u64::MAX), piece.role, Arc::clone(&piece.parts));
        self.companions.push(Companion { piece, message, of });
    }

    /// What stands beside the result `id`.
    pub(super) fn companions_of(&self, id: MessageId) -> &[Companion] {
        let Ok(of) = usize::try_from(id.0) else { return &[] };
        let start = self.companions.partition_point(|companion| companion.of < of);
        let length = self.companions[start..].partition_point(|companion| companion.of == of);
        &self.companions[start..start + length]
    }

    /// How many companions of results stand in the message on the wire at `index`.
    pub(super) fn companions_in(&self, index: usize) -> usize {
        let before = |end| {
            self.companions.partition_point(|companion| companion.piece.wire_index() < Some(end))
        };
        before(index + 1) - before(index)
    }

    /// The tool result that the message on the wire before the newest is, or belongs to.
    pub(super) fn result_before(&self) -> Option<usize> {
        let before = self.of_wire.len().checked_sub(2)?;
        match self.of_wire(before).next_back() {
            Some(last) => (self.all[last].role == Role::Tool).then_some(last),
            None => {
                let last = self.companions.last()?;
                (last.piece.wire_index() == Some(before)).then_some(last.of)
            }
        }
    }

    /// The messages as read, each with its place here. What a provider's own compaction stands for is not among
    /// them.
    pub(super) fn messages(&self) -> impl Iterator<Item = (usize, Message)> {
        self.live().map(|(at, piece)| {
            (at, Message::new(MessageId(at as u64), piece.role, Arc::clone(&piece.parts)))
        })
    }

    /// The pieces that are messages of the conversation, each with its place.
    pub(super) fn live(&self) -> impl Iterator<Item = (usize, &Piece)> {
        self.all.iter().enumerate().filter(|(at, _)| !self.is_gone(*at))
    }

    /// Adds a block that a provider's own compaction left. The model sees nothing of what was read so far but
    /// instructions; to everybody else the block is an instruction that nobody may touch.
    pub(super) fn push_compaction(&mut self, wire: Wire, node: u32, part: Part, slot: Slot) {
        let (parts, slots) = (Arc::new([part]), Slots::One(slot));
        self.push(Piece { wire, node, role: Role::System, parts, slots, is_blank: false });
        self.compacted = self.all.len() - 1;
    }

    /// Leaves the conversation to what the model sees, once all is read: what is before a provider's own compaction
    /// goes, but not from a call on that is answered behind it.
    pub(super) fn settle(&mut self) {
        if self.compacted == 0 {
            return;
        }
        let (before, behind) = self.all.split_at(self.compacted);
        let mut called: HashMap<&str, usize> = HashMap::new();
        let mut wanted: HashSet<&str> = HashSet::new();
        for part in behind.iter().flat_map(|piece| &*piece.parts) {
            match part {
                Part::ToolCall(call) => *called.entry(&call.id).or_default() += 1,
                Part::ToolResult(result) => match called.get_mut(&*result.call) {
                    Some(open) if *open > 0 => *open -= 1,
                    _ => drop(wanted.insert(&result.call)),
                },
                _ => {}
            }
        }
        let mut open: HashMap<&str, usize> = HashMap::new();
        for (at, piece) in before.iter().enumerate().filter(|_| !wanted.is_empty()) {
            for part in &*piece.parts {
                match part {
                    Part::ToolCall(call) if wanted.contains(&*call.id) => {
                        open.insert(&call.id, at);
                    }
                    Part::ToolResult(result) => drop(open.remove(&*result.call)),
                    _ => {}
                }
            }
        }
        if let Some(first) = open.into_values().min() {
            self.compacted = first;
        }
    }

    /// Whether the piece at `at` is what a provider's own compaction stands for.
    pub(super) fn is_gone(&self, at: usize) -> bool {
        let is_instruction = |piece: &Piece| piece.role == Role::System && !piece.is_compaction();
        at < self.compacted && self.all.get(at).is_some_and(|piece| !is_instruction(piece))
    }

    /// The newest call of this id, and the slot it stands in.
    pub(super) fn call(&self, id: &str) -> Option<(&ToolCall, Slot)> {
        let calls = self.calls.get_or_init(|| {
            let parts = |(at, piece): (usize, &Piece)| {
                let parts = piece.parts.iter().enumerate();
                let call = |(place, part): (usize, &Part)| match part {
                    Part::ToolCall(call) => Some((call.id.clone(), (at, place))),
                    _ => None,
                };
                parts.filter_map(call).collect::<Vec<_>>()
            };
            self.all.iter().enumerate().flat_map(parts).collect()
        });
        let (at, place) = *calls.get(id)?;
        let piece = &self.all[at];
        match &piece.parts[place] {
            Part::ToolCall(call) => Some((call, piece.slots[place])),
            _ => None,
        }
    }

    /// Finds the pieces of each message on the wire by where their parts stand, for a format in which a piece
    /// may be of several.
    pub(super) fn spread(&mut self) {
        let mut of_wire = vec![0..0; self.wires.len()];
        for (at, piece) in (0..).zip(&self.all) {
            let Some(first) = piece.wire_index() else { continue };
            hold(&mut of_wire, first, at);
            for (wire, _) in self.wires_of(first, &piece.slots) {
                hold(&mut of_wire, wire, at);
            }
        }
        self.of_wire = of_wire;
    }

    /// The message on the wire that each of these slots is in, where the first of them is in `first`.
    pub(super) fn wires_of(
        &self,
        first: usize,
        slots: &[Slot],
    ) -> impl Iterator<Item = (usize, Slot)> {
        let mut wire = first;
        slots.iter().map(move |slot| {
            let node = slot.node().unwrap_or(0);
            while self.wires.get(wire + 1).is_some_and(|next| *next <= node) {
                wire += 1;
            }
            (wire, *slot)
        })
    }

    /// What stands beside results.
    pub(super) fn companions(&self) -> impl Iterator<Item = &Piece> {
        self.companions.iter().map(|companion| &companion.piece)
    }
}

/// Notes that the piece at `at` stands in `wire`.
fn hold(of_wire: &mut [Range<u32>], wire: usize, at: u32) {
    if let Some(pieces) = of_wire.get_mut(wire) {
        let first = if pieces.start == pieces.end { at } else { pieces.start };
        *pieces = first..at + 1;
    }
}

/// Parts of a message with results that are neither results nor words: what the tools saw.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The part, its node, and the place of the result before it; none of what comes before all results.
    parts: Vec<(Part, u32, Option<usize>)>,
}

impl Shown {
    /// Adds what stands behind the newest result of the newest message in `pieces`.
    pub(super) fn add(&mut self, part: Part, node: u32, pieces: &Pieces) {
        let result = pieces.of_newest_wire().rfind(|at| pieces.all[*at].role == Role::Tool);
        self.parts.push((part, node, result));
    }

    /// Makes all of it parts of the results of the message on the wire at `index`, which was read.
    pub(super) fn attach(&mut self, index: usize, pieces: &mut Pieces) {
        for (part, node, result) in self.parts.drain(..) {
            let piece = Piece {
                wire: Wire::message(index),
                node,
                role: Role::User,
                parts: Arc::new([part]),
                slots: Slots::One(Slot::Element(node)),
                is_blank: false,
            };
            let first = || pieces.of_newest_wire().find(|at| pieces.all[*at].role == Role::Tool);
            match result.or_else(first) {
                Some(result) => pieces.attach(result, piece),
                None => pieces.push(piece),
            }
        }
    }
}

/// Parts in the making, to be cut into pieces. One serves for all messages and keeps its room.
#[derive(Debug)]
pub(super) struct Run {
    wire: Wire,
    /// Where the next piece begins.
    now: Wire,
    node: u32,
    role: Role,
    parts: Vec<Part>,
    slots: Vec<Slot>,
    is_blank: bool,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            wire: Wire::System,
            now: Wire::System,
            node: 0,
            role: Role::System,
            parts: Vec::new(),
            slots: Vec::new(),
            is_blank: false,
        }
    }
}

impl Run {
    /// Begins the pieces of a message, or of the instructions.
    pub(super) fn begin(&mut self, wire: Wire, node: u32, role: Role) {
        (self.wire, self.now, self.node, self.role, self.is_blank) =
            (wire, wire, node, role, false);
    }

    /// Goes on in the next message on the wire.
    pub(super) fn go_on(&mut self, wire: Wire, node: u32) {
        self.now = wire;
        if self.parts.is_empty() {
            (self.wire, self.node) = (wire, node);
        }
    }

    /// Whether the piece in the making is of this role.
    pub(super) fn is_of(&self, role: Role) -> bool {
        !self.parts.is_empty() && self.role == role
    }

    /// Adds a part. A text with a mark becomes a piece of its own, so that a reloaded session knows
    /// its notes and summaries; not where that would part calls or reasoning from what follows.
    pub(super) fn add(&mut self, part: Part, slot: Slot, node: u32, into: &mut Pieces) {
        let holds_together =
            |part: &Part| matches!(part, Part::ToolCall(_) | Part::Reasoning(_) | Part::Opaque(_));
        let is_marked = matches!(&part, Part::Text(text) if Mark::read(text).is_some());
        let splits = is_marked
            && matches!(self.role, Role::User | Role::Assistant)
            && !self.parts.iter().any(holds_together);
        if splits {
            self.end(into);
        }
        if self.parts.is_empty() && slot != Slot::Content {
            self.node = node;
        }
        self.parts.push(part);
        self.slots.push(slot);
        if splits {
            self.end(into);
        }
    }

    /// Notes that a provider refuses the parts so far for being blank.
    pub(super) fn blank(&mut self) {
        self.is_blank = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Ends the piece in the making, if there is one.
    pub(super) fn end(&mut self, into: &mut Pieces) {
        if !self.parts.is_empty() {
            self.end_even_empty(into);
        }
    }

    /// Ends the piece in the making, even if it has no part.
    pub(super) fn end_even_empty(&mut self, into: &mut Pieces) {
        into.push(Piece {
            wire: self.wire,
            node: self.node,
            role: self.role,
            parts: self.parts.drain(..).collect(),
            slots: self.slots.drain(..).collect(),
            is_blank: std::mem::take(&mut self.is_blank),
        });
        self.wire = self.now;
    }
}

/// Whether `part` is words that are not of a compaction.
pub(super) fn is_said(part: &Part) -> bool {
    matches!(part, Part::Text(text) if !text.trim().is_empty() && Mark::read(text).is_none())
}

/// The texts of a result, a line or more each. A lone one, the usual case, is not copied.
pub(super) fn joined(mut texts: Vec<Box<str>>) -> Box<str> {
    match texts.as_slice() {
        [_] => texts.swap_remove(0),
        _ => texts.join("\n").into(),
    }
}
