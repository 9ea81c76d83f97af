//! What came of a compaction, and what it took from the conversation.

use std::sync::Arc;
use std::time::Duration;

use brute_core::{Conversation, Message};

use super::{Budget, Event, Observers, Outcome, RungReport, WireChange};

/// A conversation that went down the ladder, and how that went.
#[derive(Debug, Clone)]
pub struct Compaction {
    /// The conversation that came out.
    pub conversation: Conversation,
    /// What came of it.
    pub outcome: Outcome,
    /// Tokens of all messages before.
    pub before: u64,
    /// Tokens of all messages after.
    pub after: u64,
    /// Bytes of the whole request, where they are limited.
    pub wire: Option<WireChange>,
    /// The room it went by, measured as the provider measures where that is known.
    pub budget: Budget,
    /// What each rung did, from the top.
    pub rungs: Vec<RungReport>,
    /// The messages that went or were changed, as they were.
    pub removed: Vec<Arc<Message>>,
    /// The messages that stand in the conversation now and did not before.
    pub added: Vec<Arc<Message>>,
    /// How long it took, counting included.
    pub duration: Duration,
    /// Whether a rung ended the descent, so that none below it was asked, nor would have been.
    pub(crate) is_stopped: bool,
}

impl Compaction {
    /// Tells how it ended; nothing if nobody was asked.
    pub(crate) fn tell_end(&self, observers: &Observers) {
        let &Self { before, after, wire, duration, .. } = self;
        let outcome = self.outcome.clone();
        match (self.removed.is_empty(), outcome.fits()) {
            (true, true) => {}
            (true, false) => {
                observers.tell(|| Event::CompactFailed { size: after, wire, outcome, duration });
            }
            (false, _) => observers.tell(|| {
                let (removed, added) = (self.removed.clone(), self.added.clone());
                Event::Compacted { before, after, wire, outcome, removed, added, duration }
            }),
        }
    }
}

/// The messages of `before` that are not in `after` as they were, and the other way round.
///
/// Kept messages keep their order and ids are never used again, so one walk over both is enough, and
/// messages that both share are passed over unread.
pub(crate) fn difference(
    before: &Conversation,
    after: &Conversation,
) -> (Vec<Arc<Message>>, Vec<Arc<Message>>) {
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    let mut earlier = before.messages().iter();
    for message in after.messages() {
        // Shared messages are not compared, only found to be shared.
        if earlier.as_slice().first() == Some(message) {
            earlier.next();
            continue;
        }
        if message.id() >= before.next_id() {
            added.push(Arc::clone(message));
            continue;
        }
        for old in earlier.by_ref() {
            if old == message {
                break;
            }
            removed.push(Arc::clone(old));
            if old.id() == message.id() {
                added.push(Arc::clone(message));
                break;
            }
        }
    }
    removed.extend(earlier.cloned());
    (removed, added)
}
