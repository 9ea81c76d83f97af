//! Applying a plan: check every edit, then make the next generation of the conversation.

use std::mem::take;
use std::ops::Range;
use std::sync::Arc;

use serde::de::IgnoredAny;

use crate::conversation::Successor;
use crate::{
    Conversation, Edit, Mark, MarkKind, Message, MessageId, Outline, Part, Plan, Protection, Role,
    TokenCounter, Violation,
};

/// What a plan made of a conversation.
#[derive(Debug, Clone)]
pub struct Applied {
    /// The next generation. Untouched messages are shared with the one before.
    pub conversation: Conversation,
    /// Its outline: the one of the generation before if the shape is kept.
    pub outline: Arc<Outline>,
    /// Whether messages stand where they stood, make the same calls and speak for whom they spoke, so
    /// that the protection holds for the next generation as well.
    pub keeps_shape: bool,
    /// The messages that went or were changed, as they were.
    pub removed: Vec<Arc<Message>>,
    /// The messages that came instead, and the changed ones as they are.
    pub added: Vec<Arc<Message>>,
}

/// Why a plan was refused as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The outline is of another conversation, or of another generation of this one.
    #[error("the outline is of {outline} messages, but there are {len}")]
    OtherOutline {
        /// How many messages the outline covers.
        outline: usize,
        /// How many messages there are.
        len: usize,
    },
    /// An edit is about a message that is not there.
    #[error("an edit is about messages {}..{}, but there are only {len}", .span.start, .span.end)]
    OutOfRange {
        /// What the edit is about.
        span: Range<usize>,
        /// How many messages there are.
        len: usize,
    },
    /// An edit is about a part that is not there.
    #[error("an edit is about part {part} of message {message}, which has no such part")]
    NoSuchPart {
        /// The message.
        message: usize,
        /// The part.
        part: usize,
    },
    /// Two edits are about the same message or part.
    #[error("two edits are about message {message}")]
    Overlap {
        /// The message.
        message: usize,
    },
    /// An edit would touch what no layer may touch.
    #[error("message {message} is protected")]
    Protected {
        /// The message.
        message: usize,
    },
    /// The new list of messages would not be valid.
    #[error("afterwards, {violation} (message {})", .violation.message())]
    Invalid {
        /// What would be wrong.
        violation: Violation,
    },
    /// A signed reasoning part would be altered, or parted from what it signs.
    #[error("the signed reasoning in message {message} would be parted from what it signs")]
    SignedReasoning {
        /// The message.
        message: usize,
    },
    /// The kind of part does not allow that edit.
    #[error("part {part} of message {message} cannot be edited like that: {reason}")]
    Unsuitable {
        /// The message.
        message: usize,
        /// The part.
        part: usize,
        /// Why not.
        reason: &'static str,
    },
    /// A new message would speak for a role that only the conversation itself may use.
    #[error("a new message cannot have the role {role}")]
    Role {
        /// The role.
        role: Role,
    },
    /// The dialogue would begin with the model although it does not now.
    #[error("afterwards, the dialogue would begin with an assistant message")]
    BeginsWithAssistant,
    /// The conversation would not become smaller.
    #[error("the conversation would not become smaller ({before} tokens before, {after} after)")]
    NotSmaller {
        /// Its size now, in tokens.
        before: u64,
        /// Its size afterwards, in tokens.
        after: u64,
    },
}

impl Conversation {
    /// The next generation of this conversation, as `plan` wants it.
    ///
    /// `outline` and `protection` must be this conversation's.
    ///
    /// # Errors
    /// The first reason to refuse the plan. A plan is made whole or not at all.
    pub fn apply(
        &self,
        plan: Plan,
        outline: &Arc<Outline>,
        protection: &Protection,
        counter: &dyn TokenCounter,
    ) -> Result<Applied, Refusal> {
        if outline.len != self.len() {
            return Err(Refusal::OtherOutline { outline: outline.len, len: self.len() });
        }
        let mut edits = Edits::sort(plan, self.len())?;
        let mut maker = Maker {
            conversation: self,
            from: self.messages(),
            outline,
            protection,
            next_id: self.next_id().0,
            keeps_shape: true,
            parts: Vec::new(),
            messages: Vec::with_capacity(self.len()),
            removed: Vec::with_capacity(edits.sorted.len()),
            added: Vec::with_capacity(edits.sorted.len()),
        };
        let mut untouched = 0;
        for edits in edits.by_message() {
            let Some(span) = edits.first().map(span_of) else { continue };
            maker.keep(untouched..span.start);
            untouched = span.end;
            match edits {
                [Edit::Drop { .. }] => maker.replace(span, None)?,
                [Edit::Replace { role, text, .. }] => {
                    maker.replace(span, Some((*role, take(text))))?;
                }
                changes => maker.change(span.start, changes)?,
            }
        }
        maker.keep(untouched..self.len());
        maker.finish(counter)
    }
}

/// Edits in the order of their messages and parts, known to be in range and apart.
struct Edits {
    sorted: Vec<Edit>,
}

impl Edits {
    fn sort(plan: Plan, len: usize) -> Result<Self, Refusal> {
        let mut sorted = plan.edits;
        sorted.sort_by_key(|edit| (edit.start(), part_of(edit)));
        let mut covered = 0;
        let mut last: Option<&Edit> = None;
        for edit in &sorted {
            let span = span_of(edit);
            if span.is_empty() || span.end > len {
                return Err(Refusal::OutOfRange { span, len });
            }
            let same_message = last.is_some_and(|last| {
                last.start() == span.start
                    && part_of(last).is_some()
                    && part_of(last) < part_of(edit)
            });
            if span.start < covered && !same_message {
                return Err(Refusal::Overlap { message: span.start });
            }
            covered = span.end;
            last = Some(edit);
        }
        Ok(Self { sorted })
    }

    /// The edits, those of one message together. Their texts may be taken.
    fn by_message(&mut self) -> impl Iterator<Item = &mut [Edit]> {
        self.sorted.chunk_by_mut(|one, next| one.start() == next.start())
    }
}

/// The messages that an edit is about.
fn span_of(edit: &Edit) -> Range<usize> {
    match edit {
        Edit::Drop { span } | Edit::Replace { span, .. } => span.clone(),
        Edit::Rewrite { message, .. } | Edit::Remove { message, .. } => {
            *message..message.saturating_add(1)
        }
    }
}

/// The part that an edit is about, if it is not about whole messages.
fn part_of(edit: &Edit) -> Option<usize> {
    match edit {
        Edit::Drop { .. } | Edit::Replace { .. } => None,
        Edit::Rewrite { part, .. } | Edit::Remove { part, .. } => Some(*part),
    }
}

/// Makes the next generation, piece by piece.
struct Maker<'c> {
    conversation: &'c Conversation,
    from: &'c [Arc<Message>],
    outline: &'c Arc<Outline>,
    protection: &'c Protection,
    next_id: u64,
    /// Whether an outline would find nothing new: no message came or went, nor a part of one, and
    /// each speaks for whom it spoke.
    keeps_shape: bool,
    /// Where the parts of a changed message are put together, one message after the other.
    parts: Vec<Part>,
    messages: Vec<Arc<Message>>,
    removed: Vec<Arc<Message>>,
    added: Vec<Arc<Message>>,
}

impl Maker<'_> {
    fn keep(&mut self, span: Range<usize>) {
        self.messages.extend_from_slice(&self.from[span]);
    }

    fn replace(&mut self, span: Range<usize>, with: Option<(Role, String)>) -> Result<(), Refusal> {
        if let Some(message) = span.clone().find(|&message| self.protection.covers(message)) {
            return Err(Refusal::Protected { message });
        }
        self.keeps_shape = false;
        self.removed.extend_from_slice(&self.from[span.clone()]);
        let Some((role, text)) = with else {
            return Ok(());
        };
        if !matches!(role, Role::User | Role::Assistant) {
            return Err(Refusal::Role { role });
        }
        let text = match Mark::read(&text) {
            Some(_) => text,
            None => Mark { kind: MarkKind::Note, count: span.len() as u64 }.write(&text),
        };
        let message = Message::new(MessageId(self.next_id), role, [Part::text(text)]);
        let Some(next_id) = self.next_id.checked_add(1) else {
            return Err(Refusal::Invalid {
                violation: Violation::NoIdLeft { message: span.start },
            });
        };
        self.next_id = next_id;
        self.add(message);
        Ok(())
    }

    /// `changes` are in the order of their parts, no two about the same.
    fn change(&mut self, index: usize, changes: &mut [Edit]) -> Result<(), Refusal> {
        if self.protection.covers(index) {
            return Err(Refusal::Protected { message: index });
        }
        let message = &self.from[index];
        let past = changes.last().and_then(part_of);
        if let Some(part) = past.filter(|part| *part >= message.parts().len()) {
            return Err(Refusal::NoSuchPart { message: index, part });
        }
        self.check_reasoning(index, changes)?;
        self.parts.clear();
        let mut changes = changes.iter_mut().peekable();
        for (at, part) in message.parts().iter().enumerate() {
            let unsuitable = |reason| Refusal::Unsuitable { message: index, part: at, reason };
            match changes.next_if(|edit| part_of(edit) == Some(at)) {
                None => self.parts.push(part.clone()),
                Some(Edit::Rewrite { text, .. }) => {
                    self.parts.push(rewritten(part, take(text)).map_err(unsuitable)?);
                }
                Some(_) => check_removable(part).map_err(unsuitable)?,
            }
        }
        if let Some(reason) = silence(message.parts(), &self.parts) {
            return Err(Refusal::Unsuitable { message: index, part: 0, reason });
        }
        let parts: Arc<[Part]> = self.parts.drain(..).collect();
        let changed = Message::new(message.id(), message.role(), parts);
        self.keeps_shape &= changed.parts().len() == message.parts().len()
            && changed.is_real_user() == message.is_real_user();
        self.removed.push(Arc::clone(message));
        self.add(changed);
        Ok(())
    }

    /// Signed reasoning is never rewritten, and goes only when all of it goes from a message of a
    /// turn that is over: in the current turn the provider still checks it.
    fn check_reasoning(&self, index: usize, changes: &[Edit]) -> Result<(), Refusal> {
        let (mut signed, mut rewritten, mut removed) = (0, 0, 0);
        let mut changes = changes.iter().peekable();
        for (at, part) in self.from[index].parts().iter().enumerate() {
            let change = changes.next_if(|edit| part_of(edit) == Some(at));
            if !matches!(part, Part::Reasoning(reasoning) if reasoning.signed) {
                continue;
            }
            signed += 1;
            match change {
                None => {}
                Some(Edit::Rewrite { .. }) => rewritten += 1,
                Some(_) => removed += 1,
            }
        }
        let is_over = self.outline.current().is_some_and(|turn| index < turn.span.start);
        if rewritten + removed == 0 || (removed == signed && is_over) {
            return Ok(());
        }
        Err(Refusal::SignedReasoning { message: index })
    }

    fn add(&mut self, message: Message) {
        let message = Arc::new(message);
        self.added.push(Arc::clone(&message));
        self.messages.push(message);
    }

    fn finish(self, counter: &dyn TokenCounter) -> Result<Applied, Refusal> {
        if begins_with_assistant(&self.messages) && !begins_with_assistant(self.from) {
            return Err(Refusal::BeginsWithAssistant);
        }
        let size = |messages: &[Arc<Message>]| -> u64 {
            messages.iter().map(|message| u64::from(message.tokens(counter))).sum()
        };
        let (gone, come) = (size(&self.removed), size(&self.added));
        if come >= gone && !self.removed.is_empty() {
            let before = size(self.from);
            return Err(Refusal::NotSmaller { before, after: before + come - gone });
        }
        let outline = match self.keeps_shape {
            true => Arc::clone(self.outline),
            false => Arc::new(outline_of(&self.messages)?),
        };
        let bytes = |messages: &[Arc<Message>]| -> u64 {
            messages.iter().map(|message| message.wire_bytes()).sum()
        };
        let wire_bytes = (self.conversation.known_wire_bytes())
            .map(|whole| (whole + bytes(&self.added)).saturating_sub(bytes(&self.removed)));
        let (messages, next_id) = (self.messages, self.next_id);
        let next = Successor { messages, next_id, gone, come, wire_bytes };
        let conversation = self.conversation.succeeded_by(next, &outline, counter);
        let (keeps_shape, removed, added) = (self.keeps_shape, self.removed, self.added);
        Ok(Applied { conversation, outline, keeps_shape, removed, added })
    }
}

/// The outline of messages that have to be valid, or the first violation.
fn outline_of(messages: &[Arc<Message>]) -> Result<Outline, Refusal> {
    // There is at least one violation, or it would not be an error.
    Outline::of(messages)
        .map_err(|mut violations| Refusal::Invalid { violation: violations.swap_remove(0) })
}

/// Why a message may not become these parts, if it may not: a provider refuses one that says nothing.
fn silence(before: &[Part], after: &[Part]) -> Option<&'static str> {
    if after.iter().all(|part| matches!(part, Part::Reasoning(_))) {
        return Some("nothing but reasoning would be left of the message; drop it instead");
    }
    (says_nothing(after) && !says_nothing(before))
        .then_some("nothing but blank text would be left of the message; drop it instead")
}

/// Whether there is nothing in these parts that a provider takes as content.
pub(crate) fn says_nothing(parts: &[Part]) -> bool {
    parts.iter().all(|part| match part {
        Part::Text(text) => is_blank(text),
        Part::Reasoning(_) => true,
        _ => false,
    })
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn rewritten(part: &Part, text: String) -> Result<Part, &'static str> {
    match part {
        // Results may be blank: a tool that prints nothing is no error.
        Part::Text(_) | Part::Media(_) if is_blank(&text) => {
            Err("its text would be blank; remove the part instead")
        }
        Part::Text(_) | Part::Media(_) => Ok(Part::text(text)),
        Part::ToolResult(result) => Ok(Part::ToolResult(crate::ToolResult {
            call: result.call.clone(),
            text: text.into(),
            media: Box::default(),
            is_error: result.is_error,
        })),
        Part::ToolCall(call) => {
            if serde_json::from_str::<IgnoredAny>(&text).is_err() {
                return Err("the arguments of a call must be JSON");
            }
            if is_object(&call.arguments) && !is_object(&text) {
                return Err("the arguments of a call that are an object must stay one");
            }
            Ok(Part::ToolCall(crate::ToolCall {
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: text.into(),
            }))
        }
        Part::Reasoning(reasoning) => {
            Ok(Part::Reasoning(crate::Reasoning { text: text.into(), ..reasoning.clone() }))
        }
        Part::Opaque(_) => Err("only the provider can read it"),
    }
}

/// Whether a text is a JSON object, if it is JSON.
fn is_object(json: &str) -> bool {
    json.trim_start().starts_with('{')
}

fn check_removable(part: &Part) -> Result<(), &'static str> {
    match part {
        Part::ToolCall(_) | Part::ToolResult(_) => Err("calls and results go with their step"),
        Part::Opaque(_) => Err("only the provider can read it"),
        Part::Text(_) | Part::Reasoning(_) | Part::Media(_) => Ok(()),
    }
}

fn begins_with_assistant(messages: &[Arc<Message>]) -> bool {
    let mut dialogue = messages.iter().map(|message| message.role());
    dialogue.find(|role| matches!(role, Role::User | Role::Assistant | Role::Tool))
        == Some(Role::Assistant)
}

#[cfg(test)]
mod tests;
