//! What happens during a compaction, told as it happens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use brute_core::truncation::FullText;
use brute_core::{LogLevel, Message};

use super::Outcome;

/// Something that happened. Sizes are tokens of all messages where nothing else is said.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A compaction began.
    CompactStart {
        /// The size now.
        before: u64,
        /// The size it aims for.
        target: u64,
    },
    /// A rung is asked.
    LayerStart {
        /// The rung.
        rung: String,
    },
    /// A plan of a rung was applied.
    LayerApplied {
        /// The rung.
        rung: String,
        /// The size before.
        before: u64,
        /// The size after.
        after: u64,
        /// How many edits the plan had.
        edits: usize,
        /// How long planning and applying took.
        duration: Duration,
    },
    /// A rung had nothing to give.
    LayerDeclined {
        /// The rung.
        rung: String,
        /// The size, before and after.
        size: u64,
        /// How long it took to say so.
        duration: Duration,
    },
    /// A rung failed. The conversation is as the round before left it.
    LayerFailed {
        /// The rung.
        rung: String,
        /// Why.
        error: String,
        /// The size, before and after.
        size: u64,
        /// How long it took to fail.
        duration: Duration,
    },
    /// A rung has something to say to the operator.
    Log {
        /// The rung.
        rung: String,
        /// How urgent.
        level: LogLevel,
        /// What it says.
        message: String,
    },
    /// A tool result was cut before it entered the log.
    Truncated {
        /// The tool.
        tool: String,
        /// The bytes of the result.
        before: u64,
        /// The bytes of what entered the log.
        after: u64,
        /// Where all of it is, or why it is nowhere.
        full: FullText,
        /// How long cutting and saving took.
        duration: Duration,
    },
    /// The conversation became smaller.
    Compacted {
        /// The size before.
        before: u64,
        /// The size after.
        after: u64,
        /// What came of it.
        outcome: Outcome,
        /// The messages that went or were changed, as they were before the compaction.
        removed: Vec<Arc<Message>>,
        /// The messages that stand in the conversation now and did not before.
        added: Vec<Arc<Message>>,
        /// How long the compaction took.
        duration: Duration,
    },
    /// The conversation became another one while it was compacted: nothing was done.
    Superseded {
        /// The size that was to become smaller.
        before: u64,
        /// How long the compaction took.
        duration: Duration,
    },
    /// What a compaction gave up could not be archived: nothing was done.
    NotArchived {
        /// The size that was to become smaller.
        before: u64,
        /// Why.
        error: String,
        /// How long the compaction took.
        duration: Duration,
    },
    /// No layer could give anything. The conversation is as it was.
    CompactFailed {
        /// The size, before and after.
        size: u64,
        /// What came of it.
        outcome: Outcome,
        /// How long the compaction took.
        duration: Duration,
    },
}

type Observer = dyn Fn(&Event) + Send + Sync;

/// Those who want to know.
#[derive(Clone, Default)]
pub struct Observers {
    observers: Vec<Arc<Observer>>,
}

impl Observers {
    /// One more who wants to know.
    pub fn add(&mut self, observer: impl Fn(&Event) + Send + Sync + 'static) {
        self.observers.push(Arc::new(observer));
    }

    /// All of these as well.
    pub(crate) fn extend(&mut self, others: &Self) {
        self.observers.extend_from_slice(&others.observers);
    }

    /// Tells everyone of an event, which is made only if somebody listens. An observer that panics hurts
    /// nobody else.
    pub fn tell(&self, event: impl FnOnce() -> Event) {
        if self.observers.is_empty() {
            return;
        }
        let event = event();
        for observer in &self.observers {
            if catch_unwind(AssertUnwindSafe(|| observer(&event))).is_err() {
                tracing::error!("an observer of events panicked");
            }
        }
    }
}
