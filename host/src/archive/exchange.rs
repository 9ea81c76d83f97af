//! What one compaction did to a conversation in code, in a form that leads back.
//!
//! It says which messages stood where, by their digests. What they say stands in lines of their own before it.

use std::sync::Arc;

use brute_core::{Conversation, Message};
use serde::{Deserialize, Serialize};

use super::Digest;

/// How to get from the messages that a compaction left back to those that it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Exchange {
    /// How many messages were left.
    messages: usize,
    /// All that were left, in one digest.
    left: Digest,
    /// All that stood there before, in one digest.
    stood: Digest,
    /// The messages that went: where they stood, what their ids were, and what they said.
    went: Vec<(usize, u64, Digest)>,
    /// Where among those that were left the messages stand that came.
    came: Vec<usize>,
    /// Whether what stood there begins with what was left: then only ids tell one from the other.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_beginning: bool,
}

impl Exchange {
    /// What became of `before`; none if nothing did.
    pub(super) fn between(before: &Conversation, after: &Conversation) -> Option<Self> {
        let (old, first_new) = (before.messages(), before.next_id());
        let stood: Vec<Digest> = old.iter().map(|old| Digest::of_all(old)).collect();
        let (mut left, mut went, mut came) =
            (Vec::with_capacity(after.len()), Vec::new(), Vec::new());
        let mut next = 0;
        let mut go = |places: std::ops::Range<usize>| {
            went.extend(places.map(|place| (place, old[place].id().0, stood[place])));
        };
        for (at, message) in after.messages().iter().enumerate() {
            // Kept messages keep their order, so that each is found behind the last one.
            let is_new = message.id() >= first_new;
            let has_its_id = |old: &Arc<Message>| !is_new && old.id() == message.id();
            let place = old[next..].iter().position(has_its_id).map(|place| next + place);
            let until = place.map_or(next, |place| place + 1);
            match place.filter(|place| old[*place] == *message) {
                Some(place) => {
                    go(next..place);
                    left.push(stood[place]);
                }
                None => {
                    go(next..until);
                    came.push(at);
                    left.push(Digest::of_all(message));
                }
            }
            next = until;
        }
        go(next..old.len());
        if went.is_empty() && came.is_empty() {
            return None;
        }
        let is_beginning = stood.starts_with(&left);
        let (messages, left, stood) = (left.len(), digest_of(&left), digest_of(&stood));
        Some(Self { messages, left, stood, went, came, is_beginning })
    }

    /// Where the messages stood that went.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> {
        self.went.iter().map(|(place, ..)| *place)
    }

    /// Whether `now` begins with what was left.
    pub(super) fn fits(&self, now: &[Told]) -> bool {
        let Some(left) = now.get(..self.messages) else { return false };
        let left: Vec<Digest> = left.iter().map(|told| told.digest).collect();
        // Ids are never used again: what is still there did not go.
        let is_there = |id: u64| now.iter().any(|told| told.message.id().0 == id);
        digest_of(&left) == self.left
            && !(self.is_beginning && self.went.iter().any(|(_, id, _)| is_there(*id)))
    }

    /// The original in place of what was left, which `now` begins with; none if that is not what stood there.
    ///
    /// # Errors
    /// The first of the messages that went that `original` does not have.
    pub(super) fn undo(
        &self,
        now: &[Told],
        original: impl Fn(u64, Digest) -> Option<Arc<Message>>,
    ) -> Result<Option<Vec<Told>>, Digest> {
        let mut came = self.came.iter().copied().peekable();
        let (left, since) = now.split_at(self.messages.min(now.len()));
        let kept = left.iter().enumerate().filter(|(at, _)| came.next_if_eq(at).is_none());
        let mut kept = kept.map(|(_, told)| told);
        let mut whole = Vec::with_capacity(now.len() + self.went.len());
        for (place, id, digest) in self.went.iter().copied() {
            whole.extend(kept.by_ref().take(place.saturating_sub(whole.len())).cloned());
            let message = original(id, digest).ok_or(digest)?;
            whole.push(Told { message, digest });
        }
        whole.extend(kept.cloned());
        let stood: Vec<Digest> = whole.iter().map(|told| told.digest).collect();
        whole.extend_from_slice(since);
        Ok((digest_of(&stood) == self.stood).then_some(whole))
    }
}

/// A message, and its digest of all that it says.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub message: Arc<Message>,
    pub digest: Digest,
}

fn digest_of(messages: &[Digest]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for digest in messages {
        hasher.update(digest.bytes());
    }
    hasher.finalize().into()
}
