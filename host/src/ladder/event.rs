//! What happens during a compaction, told as it happens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use brute_core::truncation::FullText;
use brute_core::{LogLevel, Message};

use serde::{Serialize, Serializer};

use super::spending::{Call, dollars};
use super::{Anchor, Limit, Outcome, UsedUp, WireChange};

/// Something that happened. Sizes are tokens of all messages where nothing else is said.
///
/// As JSON, an event is an object with its name in `event`; durations are in milliseconds, and messages are told by
/// their ids: what they say is for an archive.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// A compaction began.
    CompactStart {
        /// The size now.
        before: u64,
        /// The size it aims for.
        target: u64,
        /// What is too large.
        limit: Limit,
        /// What the provider reported, and how sizes go on from there, if they go by that.
        #[serde(skip_serializing_if = "Option::is_none")]
        anchor: Option<Anchor>,
    },
    /// A rung is asked.
    LayerStart {
        /// The rung.
        rung: String,
    },
    /// The summarizer is at its answer. Told while it writes, twice a second at most, by one that sends its answer piece
    /// by piece. Whether it can be used is not known yet.
    SummarizerWrites {
        /// The rung.
        rung: String,
        /// Tokens of the answer so far, as the host counts.
        #[serde(rename = "output-tokens")]
        output: u64,
    },
    /// A rung asked the summarizer. Told when its round is over.
    SummarizerCalled {
        /// The rung.
        rung: String,
        /// Tokens of the request, cached ones included.
        #[serde(rename = "input-tokens")]
        input: u64,
        /// Those of them that came from a cache.
        #[serde(rename = "cached-tokens")]
        cached: u64,
        /// Tokens of the answer.
        #[serde(rename = "output-tokens")]
        output: u64,
        /// Whether these were counted here, since nobody told what is billed.
        estimated: bool,
        /// What it cost, in billionths of a US dollar, if that is known; in dollars as JSON.
        #[serde(
            rename = "cost-usd",
            serialize_with = "dollars",
            skip_serializing_if = "Option::is_none"
        )]
        cost: Option<u64>,
        /// Why there is no answer, if there is none.
        error: Option<String>,
        /// How long it took.
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
        duration: Duration,
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
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
        duration: Duration,
    },
    /// A rung had nothing to give.
    LayerDeclined {
        /// The rung.
        rung: String,
        /// The size, before and after.
        size: u64,
        /// How long it took to say so.
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
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
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
        duration: Duration,
    },
    /// A rung was not given a call of the summarizer, since that would have taken more than is allowed, and ended by
    /// it. The conversation is as the round before left it.
    LayerOutOfBudget {
        /// The rung.
        rung: String,
        /// Which limit, and how far it is spent.
        #[serde(flatten)]
        used_up: UsedUp,
        /// The size, before and after.
        size: u64,
        /// How long the round took.
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
        duration: Duration,
    },
    /// The layer of a rung failed when it was ended: after its last plan, so that no conversation is touched by it.
    LayerEndFailed {
        /// The rung.
        rung: String,
        /// Why.
        error: String,
    },
    /// A rung has something to say to the operator.
    Log {
        /// The rung.
        rung: String,
        /// How urgent.
        #[serde(serialize_with = "level_name")]
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
        #[serde(rename = "full-text", serialize_with = "place")]
        full: FullText,
        /// How long cutting and saving took.
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
        duration: Duration,
    },
    /// The conversation became smaller.
    Compacted {
        /// The size before.
        before: u64,
        /// The size after.
        after: u64,
        /// Bytes of the whole request, where they are limited.
        #[serde(skip_serializing_if = "Option::is_none")]
        wire: Option<WireChange>,
        /// What came of it.
        outcome: Outcome,
        /// The messages that went or were changed, as they were before the compaction.
        #[serde(serialize_with = "ids")]
        removed: Vec<Arc<Message>>,
        /// The messages that stand in the conversation now and did not before.
        #[serde(serialize_with = "ids")]
        added: Vec<Arc<Message>>,
        /// How long the compaction took.
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
        duration: Duration,
    },
    /// The conversation became another one while it was compacted: nothing was done.
    Superseded {
        /// The size that was to become smaller.
        before: u64,
        /// How long the compaction took.
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
        duration: Duration,
    },
    /// What a compaction gave up could not be archived: nothing was done.
    NotArchived {
        /// The size that was to become smaller.
        before: u64,
        /// Why.
        error: String,
        /// How long the compaction took.
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
        duration: Duration,
    },
    /// What a compaction gave up is in the archive, each message under its handle, but where they stood could not be
    /// written: the conversation cannot be had back as a whole.
    NoWayBack {
        /// Why.
        error: String,
    },
    /// What a compaction made could not be written to the log of the session: nothing was done.
    NotLogged {
        /// The size that was to become smaller.
        before: u64,
        /// Why.
        error: String,
        /// How long the compaction took.
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
        duration: Duration,
    },
    /// No layer could give anything. The conversation is as it was.
    CompactFailed {
        /// The size, before and after.
        size: u64,
        /// Bytes of the whole request, where they are limited.
        #[serde(skip_serializing_if = "Option::is_none")]
        wire: Option<WireChange>,
        /// What came of it.
        outcome: Outcome,
        /// How long the compaction took.
        #[serde(rename = "duration-ms", serialize_with = "milliseconds")]
        duration: Duration,
    },
}

impl Event {
    pub(super) fn called(rung: &str, call: Call) -> Self {
        let Call { input, cached, output, estimated, cost, duration, error } = call;
        let rung = rung.to_owned();
        Self::SummarizerCalled { rung, input, cached, output, estimated, cost, error, duration }
    }
}

fn milliseconds<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64((duration.as_secs_f64() * 1e6).round() / 1e3)
}

fn ids<S: Serializer>(messages: &[Arc<Message>], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(messages.iter().map(|message| message.id().0))
}

fn level_name<S: Serializer>(level: &LogLevel, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
    })
}

/// Where a full text is; nothing where it is nowhere.
fn place<S: Serializer>(full: &FullText, to: S) -> Result<S::Ok, S::Error> {
    match full {
        FullText::Saved(place) | FullText::Kept(place) => to.serialize_some(place),
        FullText::NotSaved(_) => to.serialize_none(),
    }
}

type Observer = dyn Fn(&Arc<Event>) + Send + Sync;

/// Those who want to know. They are told where it happens, one after the other, and what happens goes on when they
/// have taken note; a [`Guard`](crate::guard::Guard) tells each of its subscribers on a thread of its own.
#[derive(Clone, Default)]
pub struct Observers {
    observers: Vec<Arc<Observer>>,
}

impl Observers {
    /// One more who wants to know.
    pub fn add(&mut self, observer: impl Fn(&Arc<Event>) + Send + Sync + 'static) {
        self.observers.push(Arc::new(observer));
    }

    /// Whether there is nobody.
    pub(crate) fn is_empty(&self) -> bool {
        self.observers.is_empty()
    }

    /// All of these as well.
    pub(crate) fn extend(&mut self, others: &Self) {
        self.observers.extend_from_slice(&others.observers);
    }

    /// Tells everyone of an event, which is made only if somebody listens. An observer that panics hurts
    /// nobody else.
    pub fn tell(&self, event: impl FnOnce() -> Event) {
        if self.is_empty() {
            return;
        }
        let event = Arc::new(event());
        for observer in &self.observers {
            if catch_unwind(AssertUnwindSafe(|| observer(&event))).is_err() {
                tracing::error!("an observer of events panicked");
            }
        }
    }
}
