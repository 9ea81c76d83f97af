//! What a log tells beside the conversation itself.

use std::fmt;

use serde::Serialize;

use crate::formats::Usage;

/// A compaction that the agent made itself, as its log tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Compaction {
    /// The message of the request, from 0, before which it happened; none if that part of the log is
    /// not in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
    /// The line of the record that tells it, from 1.
    pub line: usize,
    /// How large the context was before, in tokens, by the agent's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// How many messages it took out of the context. Those that an earlier one took do not count, and
    /// those that the log does not hold cannot.
    pub replaced: usize,
    /// Who wanted it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<Trigger>,
    /// What it left in their place.
    pub left: Left,
    /// What it took, by messages of the request. Only what was read whole tells the messages.
    #[serde(skip)]
    pub took: Took,
}

/// What a compaction took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Took {
    /// The messages of the request, from 0, in order. Those that an earlier compaction took are not among them.
    pub messages: Vec<usize>,
    /// The ids of the calls whose results it cleared.
    pub results: Vec<String>,
    /// What the agent's placeholder for these says.
    pub placeholder: String,
}

/// Who wanted a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The agent, since the window was full.
    Auto,
    /// Its user.
    Manual,
}

impl Trigger {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "manual" => Some(Self::Manual),
            _ => None,
        }
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
        })
    }
}

/// What a compaction left in the place of what it took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Left {
    /// A summary, its text.
    Summary(String),
    /// Placeholders for this many tool results.
    Cleared(usize),
    /// Nothing that the log tells.
    Nothing,
}

/// Records of one kind, or parts of one, that are no part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Skipped {
    /// What the log calls them.
    pub kind: String,
    /// Why they are no part of it.
    pub why: &'static str,
    /// How many there are.
    pub count: usize,
    /// The line of the first one, from 1.
    pub first_line: usize,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, why, count, .. } = self;
        write!(f, "{count} × {kind}: {why}")
    }
}

/// Something in a log that does not fit together, and what was made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Problem {
    /// The line of the record, from 1.
    pub line: usize,
    /// What is wrong, and what was done about it.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// What the provider counted for one request and its reply, by the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// The message of the request, from 0, that is the reply.
    pub message: usize,
    /// The count.
    pub usage: Usage,
}
