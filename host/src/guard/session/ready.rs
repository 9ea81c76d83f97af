//! What a session says before the model is called.

use super::State;
use crate::ladder::Compaction;

/// So many compactions are made for one call where each finds that its conversation has become another one: each may have to
/// be paid for.
pub(super) const MOST_SUPERSEDED: u32 = 3;

/// A call of the model that is to be made now, with the conversation of the session.
#[derive(Debug, Clone)]
pub struct Ready {
    /// The compaction that went before it, if one was due. Its outcome says what stands in the way of a conversation
    /// that does not fit; later calls do not say it again.
    pub compaction: Option<Compaction>,
    /// Why a compaction that was due is not in place, although it was made: what it gave up could not be archived, or it
    /// could not be logged, or the conversation became another one meanwhile, again and again. It may not fit. The next attempt waits for growth, and
    /// calls before it do not say this again.
    pub refused: Option<String>,
    pub(super) generation: u64,
    pub(super) messages: usize,
    pub(super) policies: u64,
}

impl State {
    /// Whether the conversation and the policy are those that `ready` was about.
    pub(super) fn is_as(&self, ready: &Ready) -> bool {
        let now = self.ready(None);
        (now.generation, now.messages, now.policies)
            == (ready.generation, ready.messages, ready.policies)
    }

    pub(super) fn ready(&self, compaction: Option<Compaction>) -> Ready {
        let (generation, messages) = (self.generation, self.conversation.len());
        let policies = self.last_policy.1;
        Ready { compaction, refused: None, generation, messages, policies }
    }
}
