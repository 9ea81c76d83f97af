//! A window, lent: flattened by the host into plain numbers and borrowed strings, and read by the plugin.

use std::sync::OnceLock;

use abi_stable::sabi_trait::TD_Opaque;
use abi_stable::sabi_types::RRef;
use abi_stable::std_types::{RSlice, RStr};

use super::convert::{mark_from_byte, mark_to_byte, role_from_byte, role_to_byte};
use super::guard::caught;
use super::raw::{
    IS_ERROR, NONE, PROTECTED, PartsRef, RawMessage, RawPart, RawParts, RawParts_TO, RawPlace,
    RawStep, RawTurn, RawWindow, SIGNED,
};
use crate::{
    LayerError, Mark, MessageView, Outline, PartView, Place, ResultView, Role, Sizes, Step, Turn,
    Window,
};

/// The kinds of parts.
mod kind {
    pub(super) const TEXT: u8 = 0;
    pub(super) const REASONING: u8 = 1;
    pub(super) const MEDIA: u8 = 2;
    pub(super) const CALL: u8 = 3;
    pub(super) const RESULT: u8 = 4;
    pub(super) const OPAQUE: u8 = 5;
}

/// A window in the form that crosses the boundary. Texts stay where they are.
pub(super) struct Flat<'a> {
    messages: Vec<RawMessage>,
    parts: Parts<'a>,
    turns: Vec<RawTurn>,
    steps: Vec<RawStep>,
    pending: Vec<RawPlace>,
    instructions: u32,
    task: u32,
    sizes: Sizes,
}

impl<'a> Flat<'a> {
    /// `window`, in one walk over its messages, whose parts are not looked at.
    ///
    /// # Errors
    /// If it holds more than a plugin can be shown.
    pub(super) fn of(window: &Window<'a>) -> Result<Self, LayerError> {
        let outline = window.outline();
        if window.len() >= NONE as usize {
            return Err(LayerError::new("the conversation is too long to be shown to a plugin"));
        }
        Ok(Self {
            messages: window.all().map(|message| message_to_raw(&message, window)).collect(),
            parts: Parts::of(window),
            turns: outline.turns.iter().map(turn_to_raw).collect(),
            steps: outline.steps.iter().map(step_to_raw).collect(),
            pending: outline.pending.iter().map(|place| place_to_raw(Some(*place))).collect(),
            instructions: index_to_raw(Some(outline.instructions.end)),
            task: index_to_raw(outline.task),
            sizes: window.sizes(),
        })
    }

    /// The parts of its messages.
    pub(super) fn parts(&self) -> PartsRef<'_> {
        RawParts_TO::from_ptr(RRef::new(&self.parts), TD_Opaque)
    }

    /// What the host said that panicked over them.
    pub(super) fn panicked(&self) -> Option<&str> {
        self.parts.panicked()
    }

    /// What is handed over, but for the parts.
    pub(super) fn raw(&self) -> RawWindow<'_> {
        RawWindow {
            messages: RSlice::from_slice(&self.messages),
            turns: RSlice::from_slice(&self.turns),
            steps: RSlice::from_slice(&self.steps),
            pending: RSlice::from_slice(&self.pending),
            instructions: self.instructions,
            task: self.task,
            window: self.sizes.window,
            used: self.sizes.used,
            target: self.sizes.target,
            reserved: [0; 4],
        }
    }
}

/// The parts of all messages, flattened a block of messages at a time.
pub(super) struct Parts<'a> {
    window: Window<'a>,
    blocks: Box<[OnceLock<Block<'a>>]>,
    /// What a counter said that panicked over them.
    panicked: OnceLock<String>,
}

/// The parts of some messages in a row, and where among them each message ends.
#[derive(Default)]
struct Block<'a> {
    parts: Vec<RawPart<'a>>,
    ends: Vec<usize>,
}

impl<'a> Parts<'a> {
    /// How many messages make a block: little work for a layer that looks at one, and few blocks to be made for one
    /// that looks at all.
    const BLOCK: usize = 64;

    pub(super) fn of(window: &Window<'a>) -> Self {
        let blocks = (0..window.len().div_ceil(Self::BLOCK)).map(|_| OnceLock::new()).collect();
        Self { window: *window, blocks, panicked: OnceLock::new() }
    }

    /// What the host said that panicked over them.
    pub(super) fn panicked(&self) -> Option<&str> {
        self.panicked.get().map(String::as_str)
    }

    fn block(&self, index: usize) -> Block<'a> {
        let first = index * Self::BLOCK;
        let mut block = Block::default();
        for message in self.window.messages(first..first + Self::BLOCK) {
            let own = message.parts().enumerate();
            block
                .parts
                .extend(own.map(|(part, view)| part_to_raw(view, message.part_tokens(part))));
            block.ends.push(block.parts.len());
        }
        block
    }
}

impl RawParts for Parts<'_> {
    fn of(&self, message: u32) -> RSlice<'_, RawPart<'_>> {
        let (block, place) = (message as usize / Self::BLOCK, message as usize % Self::BLOCK);
        let Some(made) = self.blocks.get(block) else { return RSlice::EMPTY };
        // A counter that panics must not do so below the plugin, whose plan is then not taken.
        let empty = |said| {
            self.panicked.get_or_init(|| said);
            Block::default()
        };
        let made = made.get_or_init(|| caught(|| self.block(block)).unwrap_or_else(empty));
        let first =
            place.checked_sub(1).map_or(0, |before| made.ends.get(before).copied().unwrap_or(0));
        let end = made.ends.get(place).copied().unwrap_or(first);
        RSlice::from_slice(made.parts.get(first..end).unwrap_or_default())
    }
}

fn message_to_raw(message: &MessageView<'_>, window: &Window<'_>) -> RawMessage {
    let (outline, index) = (window.outline(), message.index());
    let mark = message.mark();
    RawMessage {
        call: place_to_raw(outline.call_of(index)),
        mark_count: mark.map_or(0, |mark| mark.count),
        tokens: message.tokens(),
        step: index_to_raw(outline.step_of(index)),
        role: role_to_byte(message.role()),
        mark: mark_to_byte(mark),
        flags: if window.is_protected(index) { PROTECTED } else { 0 },
        reserved: 0,
    }
}

fn part_to_raw(part: PartView<'_>, tokens: u32) -> RawPart<'_> {
    let raw = |kind, text| RawPart {
        text: RStr::from_str(text),
        id: RStr::from_str(""),
        name: RStr::from_str(""),
        tokens,
        media: 0,
        kind,
        flags: 0,
        reserved: 0,
    };
    match part {
        PartView::Text(text) => raw(kind::TEXT, text),
        PartView::Reasoning { text, signed } => {
            RawPart { flags: if signed { SIGNED } else { 0 }, ..raw(kind::REASONING, text) }
        }
        PartView::Media { kind: what } => raw(kind::MEDIA, what),
        PartView::ToolCall { id, name, arguments } => {
            RawPart { id: id.into(), name: name.into(), ..raw(kind::CALL, arguments) }
        }
        PartView::ToolResult(result) => RawPart {
            id: result.call.into(),
            media: u32::try_from(result.media).unwrap_or(u32::MAX),
            flags: if result.is_error { IS_ERROR } else { 0 },
            ..raw(kind::RESULT, result.text)
        },
        PartView::Opaque { kind: what } => raw(kind::OPAQUE, what),
    }
}

fn index_to_raw(index: Option<usize>) -> u32 {
    index.and_then(|index| u32::try_from(index).ok()).unwrap_or(NONE)
}

fn index_from_raw(raw: u32) -> Option<usize> {
    (raw != NONE).then_some(raw as usize)
}

fn place_to_raw(place: Option<Place>) -> RawPlace {
    RawPlace {
        message: index_to_raw(place.map(|place| place.message)),
        part: index_to_raw(place.map(|place| place.part)),
    }
}

fn place_from_raw(raw: &RawPlace) -> Option<Place> {
    Some(Place { message: index_from_raw(raw.message)?, part: raw.part as usize })
}

fn turn_to_raw(turn: &Turn) -> RawTurn {
    RawTurn {
        start: turn.span.start as u32,
        end: turn.span.end as u32,
        first_step: turn.steps.start as u32,
        end_step: turn.steps.end as u32,
        user: index_to_raw(turn.user),
    }
}

fn turn_from_raw(raw: &RawTurn) -> Turn {
    Turn {
        span: raw.start as usize..raw.end as usize,
        user: index_from_raw(raw.user),
        steps: raw.first_step as usize..raw.end_step as usize,
    }
}

fn step_to_raw(step: &Step) -> RawStep {
    let calls = u32::try_from(step.calls).unwrap_or(u32::MAX);
    RawStep { start: step.span.start as u32, end: step.span.end as u32, calls }
}

fn step_from_raw(raw: &RawStep) -> Step {
    Step { span: raw.start as usize..raw.end as usize, calls: raw.calls as usize }
}

/// Whoever has the parts of messages: the host, which the plugin sees through an object of its own.
pub(super) trait PartsOf: Sync {
    /// The parts of a message.
    fn parts_of(&self, message: u32) -> &[RawPart<'_>];
}

impl PartsOf for PartsRef<'_> {
    fn parts_of(&self, message: u32) -> &[RawPart<'_>] {
        self.of(message).as_slice()
    }
}

/// A window as the plugin reads it.
pub(crate) struct Lent<'a> {
    raw: &'a RawWindow<'a>,
    parts: &'a dyn PartsOf,
    /// Made when it is first asked for: many a layer has no need of it.
    outline: OnceLock<Outline>,
}

impl<'a> Lent<'a> {
    pub(super) fn new(raw: &'a RawWindow<'a>, parts: &'a dyn PartsOf) -> Self {
        Self { raw, parts, outline: OnceLock::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.raw.messages.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<LentMessage<'a>> {
        let raw = self.raw.messages.as_slice().get(index)?;
        Some(LentMessage { raw, index: index as u32, parts: self.parts })
    }

    pub(crate) fn sizes(&self) -> Sizes {
        let RawWindow { window, used, target, .. } = *self.raw;
        Sizes { window, used, target }
    }

    pub(crate) fn outline(&self) -> &Outline {
        self.outline.get_or_init(|| {
            let raw = self.raw;
            let messages = raw.messages.as_slice();
            let instructions = index_from_raw(raw.instructions).unwrap_or(0);
            Outline::of_pieces(
                0..instructions,
                raw.turns.iter().map(turn_from_raw).collect(),
                raw.steps.iter().map(step_from_raw).collect(),
                index_from_raw(raw.task),
                raw.pending.iter().filter_map(place_from_raw).collect(),
                messages
                    .iter()
                    .map(|message| (place_from_raw(&message.call), index_from_raw(message.step))),
            )
        })
    }
}

/// A message as the plugin reads it.
#[derive(Clone, Copy)]
pub(crate) struct LentMessage<'a> {
    raw: &'a RawMessage,
    index: u32,
    parts: &'a dyn PartsOf,
}

impl<'a> LentMessage<'a> {
    pub(crate) fn role(&self) -> Role {
        role_from_byte(self.raw.role)
    }

    pub(crate) fn tokens(&self) -> u32 {
        self.raw.tokens
    }

    pub(crate) fn mark(&self) -> Option<Mark> {
        mark_from_byte(self.raw.mark, self.raw.mark_count)
    }

    pub(crate) fn is_protected(&self) -> bool {
        self.raw.flags & PROTECTED != 0
    }

    pub(crate) fn parts(&self) -> &'a [RawPart<'a>] {
        self.parts.parts_of(self.index)
    }
}

impl<'a> RawPart<'a> {
    pub(crate) fn view(&self) -> PartView<'a> {
        let text = self.text.as_str();
        match self.kind {
            kind::TEXT => PartView::Text(text),
            kind::REASONING => PartView::Reasoning { text, signed: self.flags & SIGNED != 0 },
            kind::MEDIA => PartView::Media { kind: text },
            kind::CALL => PartView::ToolCall {
                id: self.id.as_str(),
                name: self.name.as_str(),
                arguments: text,
            },
            kind::RESULT => PartView::ToolResult(ResultView {
                call: self.id.as_str(),
                text,
                media: self.media as usize,
                is_error: self.flags & IS_ERROR != 0,
            }),
            // One that this side does not know is as good as one that only the provider can read.
            _ => PartView::Opaque { kind: text },
        }
    }
}
