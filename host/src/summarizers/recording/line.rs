//! The lines of a recording.

use std::borrow::Cow;
use std::time::Duration;

use brute_core::{Completion, CompletionError, CompletionUsage, Prompt, Stop};
use serde::{Deserialize, Serialize};

/// What the first line calls the file.
pub(super) const FORMAT: &str = "brute summarizer recording";

/// The version of the lines.
pub(super) const VERSION: u64 = 1;

/// The first line. What else a later version says in it does not matter here.
#[derive(Serialize, Deserialize)]
pub(super) struct Head<'a> {
    pub format: Cow<'a, str>,
    pub version: u64,
    /// The summarizer's name.
    pub summarizer: Cow<'a, str>,
    /// The largest request that it takes, in tokens.
    pub window: u64,
}

/// Any other line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Exchange<'a> {
    /// Its number, from 1.
    pub exchange: usize,
    pub request: Request<'a>,
    pub reply: Reply<'a>,
    pub duration_ms: f64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Request<'a> {
    pub instructions: Cow<'a, str>,
    pub input: Cow<'a, str>,
    pub max_tokens: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub(super) enum Reply<'a> {
    Answer {
        text: Cow<'a, str>,
        stop: Ended,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
    NotConfigured,
    TooLong {
        limit: Option<u64>,
    },
    TimedOut {
        seconds: u64,
    },
    Failed {
        reason: Cow<'a, str>,
    },
    /// Nobody waited for it any more.
    GivenUp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ended {
    #[serde(rename = "end")]
    Whole,
    Length,
    ToolCall,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Usage {
    input: u64,
    cached: u64,
    output: u64,
    /// In billionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<u64>,
}

impl<'a> Exchange<'a> {
    pub(super) fn of(
        exchange: usize,
        prompt: &'a Prompt,
        reply: Reply<'a>,
        duration: Duration,
    ) -> Self {
        let request = Request {
            instructions: Cow::Borrowed(&prompt.instructions),
            input: Cow::Borrowed(&prompt.input),
            max_tokens: prompt.max_tokens,
        };
        let duration_ms = (duration.as_secs_f64() * 1e6).round() / 1e3;
        Self { exchange, request, reply, duration_ms }
    }
}

/// A value as a line.
pub(super) fn line(value: &impl Serialize) -> Vec<u8> {
    // All keys are strings, and nothing refuses to be written: memory takes it.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line
}

impl<'a> Reply<'a> {
    pub(super) fn of(answer: &'a Result<Completion, CompletionError>) -> Self {
        match answer {
            Ok(Completion { text, stop, usage }) => Self::Answer {
                text: Cow::Borrowed(text),
                stop: match stop {
                    Stop::End => Ended::Whole,
                    Stop::Length => Ended::Length,
                    Stop::ToolCall => Ended::ToolCall,
                },
                usage: usage.map(|CompletionUsage { input, cached, output, cost }| Usage {
                    input,
                    cached,
                    output,
                    cost,
                }),
            },
            Err(CompletionError::NotConfigured) => Self::NotConfigured,
            Err(CompletionError::TooLong { limit }) => Self::TooLong { limit: *limit },
            Err(CompletionError::TimedOut { seconds }) => Self::TimedOut { seconds: *seconds },
            Err(CompletionError::Failed { reason }) => {
                Self::Failed { reason: Cow::Borrowed(reason) }
            }
            Err(other) => Self::Failed { reason: Cow::Owned(other.to_string()) },
        }
    }

    /// What the summarizer gave.
    pub(super) fn given(&self) -> Result<Completion, CompletionError> {
        Err(match self {
            Self::Answer { text, stop, usage } => {
                let stop = match stop {
                    Ended::Whole => Stop::End,
                    Ended::Length => Stop::Length,
                    Ended::ToolCall => Stop::ToolCall,
                };
                let usage = usage.map(|Usage { input, cached, output, cost }| CompletionUsage {
                    input,
                    cached,
                    output,
                    cost,
                });
                return Ok(Completion { text: text.as_ref().to_owned(), stop, usage });
            }
            Self::NotConfigured => CompletionError::NotConfigured,
            Self::TooLong { limit } => CompletionError::TooLong { limit: *limit },
            Self::TimedOut { seconds } => CompletionError::TimedOut { seconds: *seconds },
            Self::Failed { reason } => {
                CompletionError::Failed { reason: reason.as_ref().to_owned() }
            }
            Self::GivenUp => CompletionError::Failed {
                reason: "nobody waited for its answer any more when this was recorded".to_owned(),
            },
        })
    }
}
