//! What a strategy sees: messages, sizes and shape, borrowed and read-only.

use std::ops::Range;
use std::sync::Arc;

use crate::abi::{Lent, LentMessage, RawPart};
use crate::{Mark, MarkKind, Message, Outline, Part, Role, TokenCounter};

/// Which messages no layer may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    messages: Vec<bool>,
}

impl Protection {
    /// Protects the instructions, the task, calls that still wait for a result, and every call and
    /// result of the tools in `keep`.
    pub fn of(messages: &[Arc<Message>], outline: &Outline, keep: &[String]) -> Self {
        let mut protected: Vec<bool> =
            messages.iter().map(|message| message.role() == Role::System).collect();
        let pending = outline.pending.iter().map(|place| place.message);
        let mut protect = |message: usize| {
            if let Some(protected) = protected.get_mut(message) {
                *protected = true;
            }
        };
        outline.task.into_iter().chain(pending).for_each(&mut protect);
        if !keep.is_empty() {
            for (index, message) in messages.iter().enumerate() {
                for (part, call) in message.calls() {
                    if keep.iter().any(|name| **name == *call.name) {
                        protect(index);
                        let place = crate::Place { message: index, part };
                        if let Some(result) = outline.result_of(place) {
                            protect(result.message);
                        }
                    }
                }
            }
        }
        Self { messages: protected }
    }

    /// Whether no layer may touch this message.
    pub fn covers(&self, message: usize) -> bool {
        self.messages.get(message).copied().unwrap_or(false)
    }

    /// Protects one more message.
    pub fn add(&mut self, message: usize) {
        if let Some(protected) = self.messages.get_mut(message) {
            *protected = true;
        }
    }
}

/// Sizes that a compaction is about, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// The model's whole context window.
    pub window: u64,
    /// What all messages occupy now.
    pub used: u64,
    /// What they may occupy when the descent ends.
    pub target: u64,
}

impl Sizes {
    /// What is too much.
    pub fn excess(&self) -> u64 {
        self.used.saturating_sub(self.target)
    }
}

/// What a strategy sees of a conversation. Zero-copy: everything is borrowed.
///
/// A strategy never holds a conversation mutably. It reads a window and returns a [`Plan`]; message
/// indices in the plan mean this window.
///
/// [`Plan`]: crate::Plan
#[derive(Clone, Copy)]
pub struct Window<'a> {
    source: Source<'a>,
    sizes: Sizes,
}

/// Where the messages are: in this program, or with the host that lends them to a plugin.
#[derive(Clone, Copy)]
enum Source<'a> {
    Own {
        messages: &'a [Arc<Message>],
        outline: &'a Outline,
        protection: &'a Protection,
        counter: &'a dyn TokenCounter,
    },
    Lent(&'a Lent<'a>),
}

impl<'a> Window<'a> {
    /// A window on these messages. `outline` and `protection` must be theirs.
    pub fn new(
        messages: &'a [Arc<Message>],
        outline: &'a Outline,
        protection: &'a Protection,
        counter: &'a dyn TokenCounter,
        sizes: Sizes,
    ) -> Self {
        Self { source: Source::Own { messages, outline, protection, counter }, sizes }
    }

    /// A window on the messages that a host lends.
    #[cfg_attr(not(feature = "plugins"), expect(dead_code, reason = "only plugins are lent any"))]
    pub(crate) fn lent(lent: &'a Lent<'a>) -> Self {
        Self { source: Source::Lent(lent), sizes: lent.sizes() }
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        match self.source {
            Source::Own { messages, .. } => messages.len(),
            Source::Lent(lent) => lent.len(),
        }
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message at `index`, if there is one.
    pub fn get(&self, index: usize) -> Option<MessageView<'a>> {
        let message = match self.source {
            Source::Own { messages, counter, .. } => {
                Stored::Own { message: messages.get(index)?, counter }
            }
            Source::Lent(lent) => Stored::Lent(lent.get(index)?),
        };
        Some(MessageView { index, message })
    }

    /// The messages in `span`, as far as there are any, oldest first.
    pub fn messages(
        &self,
        span: Range<usize>,
    ) -> impl DoubleEndedIterator<Item = MessageView<'a>> + use<'a> {
        let window = *self;
        let end = span.end.min(self.len());
        (span.start.min(end)..end).filter_map(move |index| window.get(index))
    }

    /// All messages, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = MessageView<'a>> + use<'a> {
        self.messages(0..self.len())
    }

    /// The turns, the steps, the task.
    pub fn outline(&self) -> &'a Outline {
        match self.source {
            Source::Own { outline, .. } => outline,
            Source::Lent(lent) => lent.outline(),
        }
    }

    /// The sizes that this compaction is about.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// What is too much, in tokens.
    pub fn excess(&self) -> u64 {
        self.sizes.excess()
    }

    /// The size in tokens of the messages in `span`.
    pub fn tokens(&self, span: Range<usize>) -> u64 {
        self.messages(span).map(|message| u64::from(message.tokens())).sum()
    }

    /// Whether no layer may touch this message.
    pub fn is_protected(&self, message: usize) -> bool {
        match self.source {
            Source::Own { protection, .. } => protection.covers(message),
            Source::Lent(lent) => lent.get(message).is_some_and(|message| message.is_protected()),
        }
    }

    /// The tool whose result this message carries.
    pub fn tool_of(&self, message: usize) -> Option<&'a str> {
        let call = self.outline().call_of(message)?;
        match self.get(call.message)?.part(call.part)? {
            PartView::ToolCall { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The runs of messages in `span` that may be given up: what is left when protected messages, the
    /// steps that hold one, and the summaries of earlier compactions are taken out. `span` must not
    /// begin or end inside a step.
    pub fn free_runs(&self, span: Range<usize>) -> Vec<Range<usize>> {
        let outline = self.outline();
        let mut runs: Vec<Range<usize>> = Vec::new();
        let mut index = span.start;
        let end = span.end.min(self.len());
        while index < end {
            let step = outline.step_of(index).and_then(|step| outline.steps.get(step));
            let unit = step.map_or(index..index + 1, |step| step.span.clone());
            index = unit.end.max(index + 1);
            if unit.clone().any(|message| self.is_held(message)) {
                continue;
            }
            match runs.last_mut() {
                Some(run) if run.end == unit.start => run.end = unit.end,
                _ => runs.push(unit),
            }
        }
        runs
    }

    fn is_held(&self, message: usize) -> bool {
        let mark = self.get(message).and_then(|message| message.mark());
        self.is_protected(message) || mark.is_some_and(|mark| mark.kind == MarkKind::Summary)
    }
}

/// A message as a strategy sees it.
#[derive(Clone, Copy)]
pub struct MessageView<'a> {
    index: usize,
    message: Stored<'a>,
}

/// One message of a [`Source`].
#[derive(Clone, Copy)]
enum Stored<'a> {
    Own { message: &'a Message, counter: &'a dyn TokenCounter },
    Lent(LentMessage<'a>),
}

impl<'a> MessageView<'a> {
    /// Its index in the window.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        match self.message {
            Stored::Own { message, .. } => message.role(),
            Stored::Lent(message) => message.role(),
        }
    }

    /// Its size in tokens, framing included.
    pub fn tokens(&self) -> u32 {
        match self.message {
            Stored::Own { message, counter } => message.tokens(counter),
            Stored::Lent(message) => message.tokens(),
        }
    }

    /// The mark of the compaction that made it.
    pub fn mark(&self) -> Option<Mark> {
        match self.message {
            Stored::Own { message, .. } => message.mark(),
            Stored::Lent(message) => message.mark(),
        }
    }

    /// Whether a person wrote it, as opposed to a compaction.
    pub fn is_real_user(&self) -> bool {
        self.role() == Role::User && self.mark().is_none()
    }

    /// Its parts, in order.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = PartView<'a>> + use<'a> {
        let (own, lent) = match self.message {
            Stored::Own { message, .. } => (message.parts(), &[][..]),
            Stored::Lent(message) => (&[][..], message.parts()),
        };
        let parts = 0..own.len() + lent.len();
        parts.map(move |part| match own.get(part) {
            Some(part) => PartView::from(part),
            None => lent[part].view(),
        })
    }

    /// One of its parts.
    pub fn part(&self, part: usize) -> Option<PartView<'a>> {
        match self.message {
            Stored::Own { message, .. } => message.parts().get(part).map(PartView::from),
            Stored::Lent(message) => message.parts().get(part).map(RawPart::view),
        }
    }

    /// The size in tokens of one part.
    pub fn part_tokens(&self, part: usize) -> u32 {
        match self.message {
            Stored::Own { message, counter } => message.part_tokens(part, counter),
            Stored::Lent(message) => message.parts().get(part).map_or(0, |part| part.tokens),
        }
    }

    /// The result that it carries, with the index of its part.
    pub fn result(&self) -> Option<(usize, ResultView<'a>)> {
        self.parts().enumerate().find_map(|(index, part)| match part {
            PartView::ToolResult(result) => Some((index, result)),
            _ => None,
        })
    }
}

/// A part as a strategy sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartView<'a> {
    /// Words.
    Text(&'a str),
    /// What the model thought before it spoke.
    Reasoning {
        /// The readable part.
        text: &'a str,
        /// Whether it must not be altered.
        signed: bool,
    },
    /// An image, a document, a sound.
    Media {
        /// What it is.
        kind: &'a str,
    },
    /// The model asks for a tool.
    ToolCall {
        /// The id that the result repeats.
        id: &'a str,
        /// The tool.
        name: &'a str,
        /// The arguments, as JSON text.
        arguments: &'a str,
    },
    /// What a tool answered.
    ToolResult(ResultView<'a>),
    /// Something that only the provider can read.
    Opaque {
        /// The provider's name for it.
        kind: &'a str,
    },
}

/// A tool result as a strategy sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultView<'a> {
    /// The id of the call that it answers.
    pub call: &'a str,
    /// The readable text.
    pub text: &'a str,
    /// How many images and the like stand beside the text.
    pub media: usize,
    /// Whether the tool reported a failure.
    pub is_error: bool,
}

impl<'a> From<&'a Part> for PartView<'a> {
    fn from(part: &'a Part) -> Self {
        match part {
            Part::Text(text) => Self::Text(text),
            Part::Reasoning(reasoning) => {
                Self::Reasoning { text: &reasoning.text, signed: reasoning.signed }
            }
            Part::Media(media) => Self::Media { kind: &media.kind },
            Part::ToolCall(call) => {
                Self::ToolCall { id: &call.id, name: &call.name, arguments: &call.arguments }
            }
            Part::ToolResult(result) => Self::ToolResult(ResultView {
                call: &result.call,
                text: &result.text,
                media: result.media.len(),
                is_error: result.is_error,
            }),
            Part::Opaque(opaque) => Self::Opaque { kind: &opaque.kind },
        }
    }
}
