//! What a replay finds out, in figures.

use brute_core::{CompletionUsage, Conversation};
use serde::Serialize;

use super::fates::Became;
use super::laws::Violation;
use super::recall::Recall;
use crate::ladder::RungReport;
use crate::models::Price;

/// A call of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Call {
    /// The recorded message that answers it, from 0.
    pub message: usize,
    /// Tokens of the request.
    pub size: u64,
    /// Tokens at its head that the provider has in its prompt cache, since the request before began with them.
    pub cached: u64,
    /// Whether it does not fit into the window.
    pub is_over: bool,
}

/// A compaction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Compacted {
    /// The recorded message that answers the call after it, from 0.
    pub message: usize,
    /// Tokens of the request that it was due for.
    pub before: u64,
    /// Tokens of the request that was made instead.
    pub after: u64,
    /// Whether the target was met.
    pub fits: bool,
    /// Messages that went or were changed.
    pub gone: usize,
    /// Messages that came in their place.
    pub new: usize,
    /// What of it the session goes on to use.
    pub recall: Recall,
    /// What each rung did that was asked, from the top.
    pub rungs: Vec<RungReport>,
    /// The recorded messages before it that are no longer as they were, whichever compaction did it; see
    /// [`Replay::traced`](super::Replay::traced).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub became: Vec<Became>,
    /// Laws that were broken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// The conversation that it began with, where a law was broken.
    #[serde(skip)]
    pub failing: Option<Conversation>,
}

/// One session under one order of one ladder.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Run {
    /// The names of the rungs, from the top.
    pub order: Vec<String>,
    /// Every call of the model, in order.
    pub calls: Vec<Call>,
    /// Every compaction, in order.
    pub compactions: Vec<Compacted>,
    /// Recorded messages that did not fit behind what was there, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
    /// Equal for two orders that did the same to this session; none where nothing was compacted.
    pub digest: Option<String>,
    /// Time of triggers and rungs. It is no figure of the ladder, and differs from run to run.
    #[serde(skip)]
    pub milliseconds: f64,
}

/// The sums of one or several runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Totals {
    /// Calls of the model.
    pub calls: u64,
    /// Tokens of all requests.
    pub sent: u64,
    /// Of these, tokens that the prompt cache had.
    pub cached: u64,
    /// Tokens of the largest request.
    pub peak: u64,
    /// Requests that do not fit into the window.
    pub over_window: u64,
    /// Compactions.
    pub compactions: u64,
    /// Of these, those that did not meet the target.
    pub misses: u64,
    /// Requests to the summarizer.
    pub summarizer_calls: u64,
    /// Tokens of these requests.
    pub summarizer_input: u64,
    /// Tokens of the answers.
    pub summarizer_output: u64,
    /// Recall, summed over the compactions.
    pub recall: Recall,
    /// Laws that were broken.
    pub violations: u64,
}

/// What cached input and output cost, in tokens of input that is not cached. A tenth and five times are what
/// Anthropic's price list says of its models; of the others, cached input costs a tenth to a half, output four to
/// eight times.
const CACHED: f64 = 0.1;
const OUTPUT: f64 = 5.0;

impl Run {
    /// The message that the newest compaction was before.
    pub(super) fn last_compaction(&self) -> Option<usize> {
        self.compactions.last().map(|last| last.message)
    }

    /// All of it, in sums.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for call in &self.calls {
            totals.calls += 1;
            totals.sent += call.size;
            totals.cached += call.cached;
            totals.peak = totals.peak.max(call.size);
            totals.over_window += u64::from(call.is_over);
        }
        for compaction in &self.compactions {
            totals.compactions += 1;
            totals.misses += u64::from(!compaction.fits);
            totals.recall += compaction.recall;
            totals.violations += compaction.violations.len() as u64;
            for rung in &compaction.rungs {
                totals.summarizer_calls += rung.summarizer.calls as u64;
                totals.summarizer_input += rung.summarizer.input;
                totals.summarizer_output += rung.summarizer.output;
            }
        }
        totals
    }
}

impl Totals {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let mut recall = self.recall;
        recall += other.recall;
        Self {
            calls: self.calls + other.calls,
            sent: self.sent + other.sent,
            cached: self.cached + other.cached,
            peak: self.peak.max(other.peak),
            over_window: self.over_window + other.over_window,
            compactions: self.compactions + other.compactions,
            misses: self.misses + other.misses,
            summarizer_calls: self.summarizer_calls + other.summarizer_calls,
            summarizer_input: self.summarizer_input + other.summarizer_input,
            summarizer_output: self.summarizer_output + other.summarizer_output,
            recall,
            violations: self.violations + other.violations,
        }
    }

    /// What all input and all summaries cost, in tokens of input that is not cached: what a price list would make of
    /// it, up to a factor.
    pub fn cost(&self) -> f64 {
        let input = (self.sent - self.cached + self.summarizer_input) as f64;
        input + CACHED * self.cached as f64 + OUTPUT * self.summarizer_output as f64
    }

    /// What all input and all summaries cost at `price`, in US dollars. What the model answers costs the same under
    /// every ladder, and is not in it.
    pub fn dollars(&self, price: &Price) -> f64 {
        let input = self.sent + self.summarizer_input;
        let usage = CompletionUsage {
            input,
            cached: self.cached,
            output: self.summarizer_output,
            cost: None,
        };
        price.of(&usage) as f64 / 1e9
    }

    /// The share of needed identifiers that was still there; all where none was needed.
    pub fn recall(&self) -> f64 {
        self.recall.all.kept_share().unwrap_or(1.0)
    }
}
