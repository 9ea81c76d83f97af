//! The shape of a conversation: its turns and steps, its task, and which result answers which call.
//!
//! Results are paired **by id and position, never by adjacency**: real logs repeat ids, answer out of
//! order and put other messages in between, so an id means the nearest open call before it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::{Message, MessageId, Part, Role};

/// Where a part stands: which message, which of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index of the message in the conversation.
    pub message: usize,
    /// Index of the part in the message.
    pub part: usize,
}

/// An assistant message and the results that answer its calls; all messages in between, too.
///
/// Two assistant messages whose calls are open at the same time make one step, since neither can go
/// without the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its messages.
    pub span: Range<usize>,
    /// How many tools it calls.
    pub calls: usize,
}

/// A real user message and everything up to the next. What stands before the first of them, system
/// messages aside, is a turn without one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its messages.
    pub span: Range<usize>,
    /// The user message that begins it.
    pub user: Option<usize>,
    /// Its steps, as indices into [`Outline::steps`].
    pub steps: Range<usize>,
}

/// The shape of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// How many messages the outline covers.
    pub len: usize,
    /// The system messages at the start.
    pub instructions: Range<usize>,
    /// All turns, oldest first. The last one is the current one.
    pub turns: Vec<Turn>,
    /// All steps, oldest first.
    pub steps: Vec<Step>,
    /// The newest real user message, which the current work hangs off.
    pub task: Option<usize>,
    /// Calls at the end that still wait for their result.
    pub pending: Vec<Place>,
    /// The call that the result in each message answers, or [`ShortPlace::NONE`].
    call_of: Vec<ShortPlace>,
    /// Every answered call with its result, ordered by call.
    answered: Vec<(ShortPlace, ShortPlace)>,
    step_of: Vec<Option<u32>>,
}

/// A [`Place`] in less room: of these there are as many as messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ShortPlace {
    message: u32,
    part: u32,
}

impl ShortPlace {
    const NONE: Self = Self { message: u32::MAX, part: u32::MAX };

    /// Memory has no room for so many messages that one of them would not fit.
    fn of(place: Place) -> Self {
        Self { message: place.message as u32, part: place.part as u32 }
    }

    fn place(self) -> Option<Place> {
        let Self { message, part } = self;
        (self != Self::NONE).then_some(Place { message: message as usize, part: part as usize })
    }
}

/// A rule that a list of messages breaks, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// A result that answers no open call before it.
    OrphanResult {
        /// The message of the result.
        message: usize,
        /// The id it names.
        call: String,
    },
    /// A call that no result answers although the dialogue went on.
    UnansweredCall {
        /// The message of the call.
        message: usize,
        /// Its id.
        call: String,
    },
    /// A message that makes two calls under one id.
    RepeatedCall {
        /// The message.
        message: usize,
        /// The id.
        call: String,
    },
    /// A part in a message whose role cannot hold it.
    MisplacedPart {
        /// The message.
        message: usize,
        /// Its role.
        role: Role,
        /// What stands in it.
        part: &'static str,
    },
    /// A message that has the id of one before it.
    RepeatedId {
        /// The later message.
        message: usize,
        /// The id.
        id: MessageId,
    },
    /// A message after whose id there is none for a message to come, or that finds none itself.
    NoIdLeft {
        /// The message.
        message: usize,
    },
}

impl Violation {
    /// The message that breaks the rule.
    pub fn message(&self) -> usize {
        match self {
            Self::OrphanResult { message, .. }
            | Self::UnansweredCall { message, .. }
            | Self::RepeatedCall { message, .. }
            | Self::MisplacedPart { message, .. }
            | Self::RepeatedId { message, .. }
            | Self::NoIdLeft { message } => *message,
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OrphanResult { call, .. } => {
                write!(f, "the tool result for `{call}` answers no call before it")
            }
            Self::UnansweredCall { call, .. } => write!(f, "the tool call `{call}` has no result"),
            Self::RepeatedCall { call, .. } => {
                write!(f, "two tool calls in one message have the id `{call}`")
            }
            Self::MisplacedPart { role, part, .. } => {
                write!(f, "a message of role {role} holds a {part}")
            }
            Self::RepeatedId { id, .. } => write!(f, "an earlier message has the id {} too", id.0),
            Self::NoIdLeft { .. } => {
                write!(f, "ids end at {}, and one must be left for the next message", u64::MAX)
            }
        }
    }
}

impl std::error::Error for Violation {}

impl Outline {
    /// The outline of valid messages, or every violation. Ids are no part of the shape, and are not looked
    /// at.
    pub fn of(messages: &[Arc<Message>]) -> Result<Self, Vec<Violation>> {
        let mut reader = Reader::default();
        reader.outline.call_of.reserve_exact(messages.len());
        reader.outline.step_of.reserve_exact(messages.len());
        for (index, message) in messages.iter().enumerate() {
            reader.read(index, message);
        }
        reader.finish(messages)
    }

    /// The outline that was taken apart by a host: each message with the call that its result answers and
    /// the step that it belongs to.
    #[cfg(feature = "plugins")]
    pub(crate) fn of_pieces(
        instructions: Range<usize>,
        turns: Vec<Turn>,
        steps: Vec<Step>,
        task: Option<usize>,
        pending: Vec<Place>,
        messages: impl ExactSizeIterator<Item = (Option<Place>, Option<usize>)>,
    ) -> Self {
        let len = messages.len();
        let mut outline =
            Self { len, instructions, turns, steps, task, pending, ..Self::default() };
        outline.call_of.reserve_exact(len);
        outline.step_of.reserve_exact(len);
        for (index, (call, step)) in messages.enumerate() {
            let call = call.map_or(ShortPlace::NONE, ShortPlace::of);
            if call != ShortPlace::NONE {
                outline.answered.push((call, ShortPlace { message: index as u32, part: 0 }));
            }
            outline.call_of.push(call);
            outline.step_of.push(step.map(|step| step as u32));
        }
        outline.answered.sort_unstable();
        outline
    }

    /// The result that answers the call at `call`.
    pub fn result_of(&self, call: Place) -> Option<Place> {
        let call = ShortPlace::of(call);
        let found = self.answered.binary_search_by_key(&call, |(call, _)| *call).ok()?;
        self.answered[found].1.place()
    }

    /// The call that the result in `message` answers.
    pub fn call_of(&self, message: usize) -> Option<Place> {
        self.call_of.get(message)?.place()
    }

    /// The step that `message` belongs to, as an index into [`Outline::steps`].
    pub fn step_of(&self, message: usize) -> Option<usize> {
        self.step_of.get(message).copied().flatten().map(|step| step as usize)
    }

    /// The turns that are over.
    pub fn history(&self) -> &[Turn] {
        self.turns.split_last().map_or(&[], |(_, history)| history)
    }

    /// The turn that is going on: the task's, or the only one.
    pub fn current(&self) -> Option<&Turn> {
        self.turns.last()
    }

    /// Where the newest `steps` steps begin, counting all of them or those with calls only. The whole
    /// length if `steps` is 0, and the oldest such step if there are not that many.
    pub fn newest_steps(&self, steps: usize, calling_only: bool) -> usize {
        let mut newest = self.steps.iter().rev().filter(|step| !calling_only || step.calls > 0);
        match steps {
            0 => self.len,
            _ => newest.by_ref().take(steps).last().map_or(self.len, |step| step.span.start),
        }
    }
}

/// Calls that no result has answered yet. Few are open at a time, and these are found by looking; what
/// is more than a few is found by its id, so that no number of them costs more than its own.
#[derive(Default)]
struct OpenCalls<'a> {
    count: usize,
    recent: Vec<(&'a str, Place)>,
    older: HashMap<&'a str, Vec<Place>>,
}

impl<'a> OpenCalls<'a> {
    const FEW: usize = 32;

    fn add(&mut self, id: &'a str, call: Place) {
        self.count += 1;
        self.recent.push((id, call));
        if self.recent.len() > Self::FEW {
            let (id, call) = self.recent.remove(0);
            self.older.entry(id).or_default().push(call);
        }
    }

    /// The nearest open call of this id.
    fn newest(&self, id: &str) -> Option<Place> {
        let recent = self.recent.iter().rev().find(|(open, _)| *open == id);
        recent.map(|(_, call)| *call).or_else(|| self.older.get(id)?.last().copied())
    }

    fn take(&mut self, id: &str) -> Option<Place> {
        let recent = self.recent.iter().rposition(|(open, _)| *open == id);
        let call = match recent {
            Some(at) => Some(self.recent.remove(at).1),
            None => self.older.get_mut(id).and_then(Vec::pop),
        }?;
        self.count -= 1;
        Some(call)
    }

    fn into_places(self) -> impl Iterator<Item = Place> {
        let recent = self.recent.into_iter().map(|(_, call)| call);
        recent.chain(self.older.into_values().flatten())
    }
}

/// Reads messages from the first to the last.
#[derive(Default)]
struct Reader<'a> {
    open: OpenCalls<'a>,
    step: Option<Step>,
    /// The newest assistant or user message: a call before it can no longer be pending.
    spoken: Option<usize>,
    violations: Vec<Violation>,
    outline: Outline,
}

impl<'a> Reader<'a> {
    fn read(&mut self, index: usize, message: &'a Message) {
        self.outline.len = index + 1;
        self.outline.call_of.push(ShortPlace::NONE);
        self.check_roles(index, message);
        if message.role() == Role::Assistant && self.step.is_none() {
            self.step = Some(Step { span: index..index, calls: 0 });
        }
        self.open_calls_of(index, message);
        if let Some((part, result)) = message.result() {
            self.answer(Place { message: index, part }, &result.call);
        }
        if self.step.is_none() {
            self.outside_a_step(index, message);
        }
        if message.is_real_user() {
            self.outline.task = Some(index);
        }
        if matches!(message.role(), Role::User | Role::Assistant) {
            self.spoken = Some(index);
        }
        self.outline.step_of.push(self.step.is_some().then_some(self.outline.steps.len() as u32));
        if let Some(step) = &mut self.step {
            step.span.end = index + 1;
            if self.open.count == 0 {
                self.outline.steps.extend(self.step.take());
            }
        }
    }

    fn check_roles(&mut self, message: usize, at: &Message) {
        let role = at.role();
        let mut misplaced = |part| {
            self.violations.push(Violation::MisplacedPart { message, role, part });
        };
        let alone = at.parts().len() == 1;
        for part in at.parts() {
            match part {
                Part::ToolCall(_) if role != Role::Assistant => misplaced("tool call"),
                Part::ToolResult(_) if role != Role::Tool || !alone => misplaced("tool result"),
                Part::Reasoning(_) if role != Role::Assistant => misplaced("reasoning part"),
                _ if role == Role::Tool && !matches!(part, Part::ToolResult(_)) => {
                    misplaced("part that is no tool result");
                }
                _ => {}
            }
        }
    }

    fn open_calls_of(&mut self, index: usize, message: &'a Message) {
        for (part, call) in message.calls() {
            let place = Place { message: index, part };
            if self.open.newest(&call.id).is_some_and(|earlier| earlier.message == index) {
                self.violations
                    .push(Violation::RepeatedCall { message: index, call: call.id.to_string() });
            }
            self.open.add(&call.id, place);
            if let Some(step) = &mut self.step {
                step.calls += 1;
            }
        }
    }

    fn answer(&mut self, result: Place, id: &'a str) {
        match self.open.take(id) {
            Some(call) => {
                let call = ShortPlace::of(call);
                self.outline.call_of[result.message] = call;
                self.outline.answered.push((call, ShortPlace::of(result)));
            }
            None => self
                .violations
                .push(Violation::OrphanResult { message: result.message, call: id.to_owned() }),
        }
    }

    fn outside_a_step(&mut self, index: usize, message: &Message) {
        let outline = &mut self.outline;
        let at_start = outline.instructions.end == index && outline.turns.is_empty();
        if message.role() == Role::System && at_start {
            outline.instructions.end = index + 1;
        } else if message.is_real_user() && !self.continues_a_request(index) {
            self.begin_turn(index, Some(index));
        }
    }

    /// A person's second message in a row belongs to the same turn as the first.
    fn continues_a_request(&self, index: usize) -> bool {
        index > 0
            && self.outline.task == Some(index - 1)
            && self.outline.turns.last().is_some_and(|turn| turn.user.is_some())
    }

    fn begin_turn(&mut self, index: usize, user: Option<usize>) {
        let steps = self.outline.steps.len();
        let first = self.outline.instructions.end;
        match self.outline.turns.last_mut() {
            Some(turn) => {
                turn.span.end = index;
                turn.steps.end = steps;
            }
            None if first < index => {
                self.outline.turns.push(Turn { span: first..index, user: None, steps: 0..steps });
            }
            None => {}
        }
        self.outline.turns.push(Turn { span: index..index, user, steps: steps..steps });
    }

    fn finish(mut self, messages: &[Arc<Message>]) -> Result<Outline, Vec<Violation>> {
        let mut unanswered: Vec<Place> = std::mem::take(&mut self.open).into_places().collect();
        unanswered.sort_unstable();
        self.outline.answered.sort_unstable();
        for place in unanswered {
            if self.spoken == Some(place.message) {
                self.outline.pending.push(place);
            } else if let Some(Part::ToolCall(call)) =
                messages[place.message].parts().get(place.part)
            {
                self.violations.push(Violation::UnansweredCall {
                    message: place.message,
                    call: call.id.to_string(),
                });
            }
        }
        if !self.violations.is_empty() {
            self.violations.sort_by_key(Violation::message);
            return Err(self.violations);
        }
        let outline = &mut self.outline;
        outline.steps.extend(self.step);
        let (first, end, steps) = (outline.instructions.end, outline.len, outline.steps.len());
        match outline.turns.last_mut() {
            Some(turn) => {
                turn.span.end = end;
                turn.steps.end = steps;
            }
            None if first < end => {
                outline.turns.push(Turn { span: first..end, user: None, steps: 0..steps });
            }
            None => {}
        }
        Ok(self.outline)
    }
}

#[cfg(test)]
mod tests;
