//! What a session says before the model is called.

use crate::ladder::Compaction;

/// A call of the model that is to be made now, with the conversation of the session.
#[derive(Debug, Clone)]
pub struct Ready {
    /// The compaction that went before it, if one was due. Its outcome says what stands in the way of a conversation
    /// that does not fit; later calls do not say it again.
    pub compaction: Option<Compaction>,
    /// Why a compaction that was due is not in place, although it was made: what it gave up could not be archived, or it
    /// could not be logged. The conversation is as large as it was, and may not fit. The next attempt waits for growth, and
    /// calls before it do not say this again.
    pub refused: Option<String>,
    pub(super) generation: u64,
    pub(super) messages: usize,
    pub(super) policies: u64,
}
