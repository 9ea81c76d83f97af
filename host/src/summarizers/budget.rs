//! `[summarizer.budget]`: how much summaries may take.

use brute_core::OptionsError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ladder::{Most, Spending};

/// The most that summaries may take. No call is made that could go beyond it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BudgetOptions {
    /// The most calls of the summarizer in one compaction, at least 1. Left out, as many as it needs. A rung that would
    /// need more ends there: what its earlier rounds did stands, and the ladder goes on or stops as its `on-error` says.
    /// A call that falls back, or is tried again, is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), example = 8)]
    pub max_calls: Option<u64>,
    /// The most tokens in one compaction, requests and answers together, at least 1. Left out, as many as it needs.
    /// They are those that are billed, or are counted where nobody says what is billed. No call is made that could go
    /// beyond it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), example = 200_000)]
    pub max_tokens: Option<u64>,
    /// The most calls in all compactions of a session together, at least 1: of a session of a guard, as long as its
    /// program runs, or of a run of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), example = 40)]
    pub session_max_calls: Option<u64>,
    /// The most tokens in all compactions of a session together, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), example = 1_000_000)]
    pub session_max_tokens: Option<u64>,
}

impl BudgetOptions {
    /// The keys, as they are written.
    pub(crate) const KEYS: [&str; 4] =
        ["max-calls", "max-tokens", "session-max-calls", "session-max-tokens"];

    /// The limits.
    pub fn spending(&self) -> Spending {
        Spending {
            compaction: Most { calls: self.max_calls, tokens: self.max_tokens },
            session: Most { calls: self.session_max_calls, tokens: self.session_max_tokens },
        }
    }

    /// Whether it limits nothing.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it can be used.
    ///
    /// # Errors
    /// The first key that cannot.
    pub(super) fn check(&self) -> Result<(), OptionsError> {
        let all = [
            ("budget.max-calls", self.max_calls),
            ("budget.max-tokens", self.max_tokens),
            ("budget.session-max-calls", self.session_max_calls),
            ("budget.session-max-tokens", self.session_max_tokens),
        ];
        match all.into_iter().find(|(_, most)| *most == Some(0)) {
            Some((option, _)) => Err(OptionsError {
                option,
                message: format!(
                    "`{option}` is 0, which allows no summary; leave it out for no limit"
                ),
            }),
            None => Ok(()),
        }
    }
}
