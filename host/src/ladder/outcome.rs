//! What came of a compaction, and what stands in the way when it did not get there.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{Budget, Spent, UsedUp};

/// What came of a compaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// Not large enough to start one. The conversation is as it was.
    BelowTrigger,
    /// At target.
    Fitted,
    /// Smaller, not at target.
    Partial {
        /// What a request is too large by, in tokens of a request as [`Budget::request`] has them.
        over_by: u64,
        /// What a request is too large by, in bytes on the wire.
        #[serde(skip_serializing_if = "is_zero")]
        over_by_bytes: u64,
        /// What stands in the way, largest first.
        blockers: Vec<Blocker>,
    },
    /// No layer could give anything. The conversation is as it was.
    Nothing {
        /// What a request is too large by, in tokens of a request as [`Budget::request`] has them.
        over_by: u64,
        /// What a request is too large by, in bytes on the wire.
        #[serde(skip_serializing_if = "is_zero")]
        over_by_bytes: u64,
        /// What stands in the way, largest first.
        blockers: Vec<Blocker>,
    },
}

impl Outcome {
    /// What came of a compaction that left messages of `after` tokens, and of `bytes` bytes by estimate.
    pub(crate) fn of(
        budget: &Budget,
        after: u64,
        bytes: u64,
        is_smaller: bool,
        blockers: Vec<Blocker>,
    ) -> Self {
        let over_by = budget.request(after).saturating_sub(budget.request(budget.target()));
        let over_by_bytes = budget.over_bytes(bytes);
        match (budget.exceeded(after, bytes), is_smaller) {
            (None, _) => Self::Fitted,
            (Some(_), true) => Self::Partial { over_by, over_by_bytes, blockers },
            (Some(_), false) => Self::Nothing { over_by, over_by_bytes, blockers },
        }
    }

    /// Its name, in kebab-case.
    pub fn name(&self) -> &'static str {
        match self {
            Self::BelowTrigger => "below-trigger",
            Self::Fitted => "fitted",
            Self::Partial { .. } => "partial",
            Self::Nothing { .. } => "nothing",
        }
    }

    /// Whether the conversation is at target, or needed no compaction.
    pub fn fits(&self) -> bool {
        matches!(self, Self::BelowTrigger | Self::Fitted)
    }

    /// What stands in the way.
    pub fn blockers(&self) -> &[Blocker] {
        match self {
            Self::BelowTrigger | Self::Fitted => &[],
            Self::Partial { blockers, .. } | Self::Nothing { blockers, .. } => blockers,
        }
    }
}

/// Something that no layer of this ladder gave up, and that is too large together with the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Blocker {
    /// What it is.
    pub kind: BlockerKind,
    /// Its messages, as indices into the conversation that came out.
    pub messages: Vec<usize>,
    /// Its size in tokens.
    pub tokens: u64,
    /// Its size in bytes on the wire by estimate, where these are too many.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// What can be done about it, with this ladder and this conversation.
    pub advice: &'static str,
}

fn is_zero(bytes: &u64) -> bool {
    *bytes == 0
}

/// What stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockerKind {
    /// Tool schemas and the framing of a request.
    Overhead,
    /// System messages.
    Instructions,
    /// The newest user message.
    Task,
    /// Steps with a call of a tool that `[keep]` names, or with one that still waits for its result.
    Protected,
    /// Summaries of earlier compactions.
    Summaries,
    /// Notes of earlier compactions.
    Notes,
    /// Steps of the current turn, and the newest ones wherever they are.
    NewestSteps,
    /// What a person said earlier in the current turn.
    Requests,
    /// Turns that are over and that no layer gave up.
    History,
}

impl fmt::Display for BlockerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overhead => "tool schemas and framing",
            Self::Instructions => "the instructions",
            Self::Task => "the task",
            Self::Protected => "protected calls and results",
            Self::Summaries => "summaries of earlier compactions",
            Self::Notes => "notes of earlier compactions",
            Self::NewestSteps => "the newest steps",
            Self::Requests => "user messages of the current turn",
            Self::History => "older turns that no layer gave up",
        })
    }
}

impl BlockerKind {
    /// What can be done about it in general. [`Blocker::advice`] knows the ladder and the conversation.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Overhead => "send fewer tool schemas, or use a larger window",
            Self::Instructions => "shorten the system prompt, or use a larger window",
            Self::Task => "shorten the newest user message: put long material in a file",
            Self::Protected => "name fewer tools in `[keep]`",
            Self::Summaries => "lower `max-tokens` of `summarize`",
            Self::Notes => "raise `compact-to`, or use a larger window",
            Self::NewestSteps => "lower `keep-steps`, or cap tool results by `[truncate]`",
            Self::Requests => "put long material in a file",
            Self::History => {
                "lower `keep-steps`, or add `sliding-window` or `summarize` to the ladder"
            }
        }
    }
}

/// What one rung did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RungReport {
    /// The rung's name.
    pub rung: String,
    /// What came of it.
    pub result: RungResult,
    /// Tokens of all messages before it was asked.
    pub before: u64,
    /// Tokens of all messages after it.
    pub after: u64,
    /// How many edits it made.
    pub edits: usize,
    /// How many plans of it were applied.
    pub rounds: usize,
    /// What it asked of the summarizer.
    #[serde(flatten)]
    pub summarizer: Spent,
    /// How long it took.
    #[serde(skip)]
    pub duration: Duration,
}

impl RungReport {
    /// A report of a rung that made nothing of nothing.
    pub(crate) fn of(rung: &str, result: RungResult) -> Self {
        Self {
            rung: rung.to_owned(),
            result,
            before: 0,
            after: 0,
            edits: 0,
            rounds: 0,
            summarizer: Spent::default(),
            duration: Duration::ZERO,
        }
    }
}

/// What came of asking a rung.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum RungResult {
    /// It made the conversation smaller.
    Applied,
    /// It had nothing to give.
    Declined,
    /// It failed. What its earlier rounds did stands.
    Failed {
        /// Why.
        reason: String,
        /// Whether it was the summarizer's failure, not the layer's own.
        summarizer: bool,
    },
    /// It was given no more calls of the summarizer, whose budget is used up. What its earlier rounds did stands.
    OutOfBudget {
        /// Which limit, and how far it is spent.
        #[serde(flatten)]
        used_up: UsedUp,
    },
    /// It was not asked.
    NotAsked {
        /// Why not.
        reason: NotAsked,
    },
}

impl RungResult {
    /// Its name, in kebab-case.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Declined => "declined",
            Self::Failed { .. } => "failed",
            Self::OutOfBudget { .. } => "out-of-budget",
            Self::NotAsked { .. } => "not-asked",
        }
    }
}

/// Why a rung was not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotAsked {
    /// The conversation was not large enough to start a compaction.
    BelowTrigger,
    /// The target was met above it.
    TargetMet,
    /// Its `when` did not hold.
    When,
    /// A rung above it ended the descent.
    Stopped,
    /// Its layer kept failing, or is still at work after its time was up.
    Quarantined,
}

impl fmt::Display for NotAsked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BelowTrigger => "below the trigger",
            Self::TargetMet => "target met",
            Self::When => "`when` does not hold",
            Self::Stopped => "descent ended",
            Self::Quarantined => "given up after failures",
        })
    }
}
