//! What became of a conversation, where it was not only appended to.

use std::collections::HashMap;
use std::sync::Arc;

use brute_core::{Conversation, Message, MessageId};
use serde::{Deserialize, Serialize};

use super::record::{Held, Said};

/// Messages that went and messages that came. One that was changed is among both.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Change<'a> {
    /// The ids of those that went, in their order.
    pub went: Vec<u64>,
    pub came: Vec<Came<'a>>,
    /// The id of the next message that is appended. Earlier ones may be those of messages that are gone.
    next_id: u64,
}

/// A message that came.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Came<'a> {
    /// Its place among those that are there now.
    pub at: usize,
    pub message: Said<'a>,
}

/// The messages that `after` has beyond `before`, if that is all there is between them, and each of them fits
/// behind those before it: a log that ends after any of them is a conversation.
pub(super) fn appended<'a>(
    before: &Conversation,
    after: &'a Conversation,
) -> Option<&'a [Arc<Message>]> {
    let grown = before.clone().rebased(before, after)?;
    let new = after.messages().get(before.len()..)?;
    let next_id = new.last().map_or(before.next_id(), |last| MessageId(last.id().0 + 1));
    let is_next = new.first().is_none_or(|first| first.id() >= before.next_id())
        && new.is_sorted_by(|one, next| one.id() < next.id());
    (is_next && next_id == after.next_id() && next_id == grown.next_id()).then_some(new)
}

impl<'a> Change<'a> {
    /// What leads from `before` to `after`.
    pub(super) fn between(before: &Conversation, after: &'a Conversation) -> Self {
        let old = before.messages();
        let places: HashMap<_, _> =
            old.iter().enumerate().map(|(place, message)| (message.id(), place)).collect();
        let (mut is_kept, mut next, mut came) = (vec![false; old.len()], 0, Vec::new());
        for (at, message) in after.messages().iter().enumerate() {
            let place = places.get(&message.id()).copied();
            match place.filter(|place| *place >= next && old[*place] == *message) {
                Some(place) => {
                    is_kept[place] = true;
                    next = place + 1;
                }
                None => came.push(Came { at, message: Said::of(message) }),
            }
        }
        let went = old.iter().zip(is_kept).filter(|(_, is_kept)| !is_kept);
        let went = went.map(|(message, _)| message.id().0).collect();
        Self { went, came, next_id: after.next_id().0 }
    }

    /// Whether nothing went and nothing came.
    pub(super) fn is_empty(&self) -> bool {
        self.went.is_empty() && self.came.is_empty()
    }

    /// Makes the change, which stands in this `line`, and says what the id of the next message is.
    ///
    /// # Errors
    /// Why it cannot be one of these messages.
    pub(super) fn make(self, messages: &mut Vec<Held>, line: usize) -> Result<u64, String> {
        let mut went = self.went.into_iter().peekable();
        let mut came = self.came.into_iter().peekable();
        let mut now = Vec::with_capacity(messages.len());
        let mut settle = |now: &mut Vec<Held>| {
            while let Some(next) = came.next_if(|next| next.at == now.len()) {
                now.push(Held { message: next.message.into_message(), line });
            }
            came.peek().map(|next| (next.at, next.message.id))
        };
        for held in messages.drain(..) {
            if went.next_if_eq(&held.message.id().0).is_none() {
                settle(&mut now);
                now.push(held);
            }
        }
        let left = settle(&mut now);
        if let Some(id) = went.next() {
            return Err(format!("it takes out the message {id}, which is not there"));
        }
        if let Some((at, id)) = left {
            return Err(format!("it puts the message {id} at place {at} of {}", now.len()));
        }
        *messages = now;
        if let Some(taken) = messages.iter().find(|held| held.message.id().0 >= self.next_id) {
            let (id, next) = (taken.message.id().0, self.next_id);
            return Err(format!("the next message is to have the id {next}, and there is {id}"));
        }
        Ok(self.next_id)
    }
}
