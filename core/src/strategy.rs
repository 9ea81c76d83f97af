//! What a layer is made of: a strategy that plans, options that configure it, a host that it may ask.

use std::fmt;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Plan, Window};

/// A way to make a conversation smaller. It looks at a window and returns a plan; the host applies
/// the plan, checks it, measures, and climbs on.
///
/// A strategy holds its options and nothing else: the same window and the same answers of the host
/// give the same plan.
///
/// ```
/// use brute_core::{Edit, Host, LayerError, PartView, Plan, Strategy, Window};
///
/// /// Gives up what the model thought in turns that are over.
/// struct DropReasoning;
///
/// impl Strategy for DropReasoning {
///     fn plan(&self, window: &Window<'_>, _host: &dyn Host) -> Result<Plan, LayerError> {
///         let over = window.outline().current().map_or(0, |turn| turn.span.start);
///         let edits = window.messages(0..over).flat_map(|message| {
///             let thoughts = message.parts().enumerate().filter_map(move |(part, view)| {
///                 let unsigned = matches!(view, PartView::Reasoning { signed: false, .. });
///                 (unsigned && message.parts().len() > 1)
///                     .then_some(Edit::Remove { message: message.index(), part })
///             });
///             thoughts.collect::<Vec<_>>()
///         });
///         Ok(Plan::of(edits.collect()))
///     }
/// }
/// ```
pub trait Strategy: Send + Sync {
    /// The edits that this layer wants, oldest messages first by custom; none if it has nothing to give.
    ///
    /// # Errors
    /// If the layer failed. The host reports it and goes on; the conversation stays as it was.
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError>;

    /// Puts away what the strategy holds. Called once, after the last plan; then it is dropped.
    ///
    /// # Errors
    /// If that failed. The host tells of it; there is no plan any more whose failure it could be.
    fn end(&mut self) -> Result<(), LayerError> {
        Ok(())
    }
}

impl<S: Strategy + ?Sized> Strategy for Box<S> {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        (**self).plan(window, host)
    }

    fn end(&mut self) -> Result<(), LayerError> {
        (**self).end()
    }
}

/// How a strategy is named in `brute.toml`, and built from the options given there.
///
/// The doc comments of `Options` are the reference; its schema checks the file and feeds editors.
pub trait Configure: Strategy + Sized + 'static {
    /// What `brute.toml` may say about it. Every field has a default.
    /// Serialized, since the schema tells each default.
    type Options: Serialize + DeserializeOwned + JsonSchema + Default;

    /// The name in `brute.toml`, in kebab-case.
    const NAME: &'static str;

    /// One line that says what it does, lower case, without a period.
    const SUMMARY: &'static str;

    /// Its version.
    const VERSION: &'static str;

    /// Whether it asks the summarizer, so that a ladder without one can say so beforehand.
    const NEEDS_SUMMARIZER: bool = false;

    /// The strategy with these options.
    ///
    /// # Errors
    /// If the options contradict each other or are out of range.
    fn build(options: Self::Options) -> Result<Self, OptionsError>;
}

/// The JSON Schema (draft 2020-12) of a strategy's options, in one piece. A layer that ships and one in a
/// plugin are described by the same one.
pub fn schema_of<T: JsonSchema>() -> serde_json::Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Options that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OptionsError {
    /// The option at fault, as it is written in `brute.toml`.
    pub option: &'static str,
    /// What is wrong with it and what would be right.
    pub message: String,
}

/// What a strategy may ask its host for.
pub trait Host {
    /// The size of `text` in tokens, as the host counts.
    fn count(&self, text: &str) -> u32;

    /// The limits of the summarizer, if one is configured.
    fn summarizer(&self) -> Option<SummarizerLimits>;

    /// Asks the summarizer. Blocks until it answers.
    ///
    /// # Errors
    /// If there is no summarizer, or it failed.
    fn complete(&self, prompt: &Prompt) -> Result<Completion, CompletionError>;

    /// How the text of a removed message can be had back, for a placeholder to say; nothing if no
    /// archive is reachable.
    fn retrieval(&self, message: usize) -> Option<String> {
        let _ = message;
        None
    }

    /// What the operator wants summaries to dwell on in this run; nothing in most runs.
    fn focus(&self) -> Option<&str> {
        None
    }

    /// Tells the operator something. Never the model.
    fn log(&self, level: LogLevel, message: &str);
}

/// How much fits into the summarizer's own window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummarizerLimits {
    /// The largest request, in tokens as the host counts, room for the answer included.
    pub window: u64,
}

/// A request to the summarizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// What the model is to do. Ours, never the conversation's.
    pub instructions: String,
    /// What it is to do it with.
    pub input: String,
    /// The longest answer, in tokens.
    pub max_tokens: u32,
}

/// What the summarizer answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The text.
    pub text: String,
    /// Why it ended.
    pub stop: Stop,
    /// What it took, if whoever answered said so. Layers in libraries are not told.
    pub usage: Option<CompletionUsage>,
}

/// What an answer took, as whoever bills it counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompletionUsage {
    /// Tokens of the request, cached ones included.
    pub input: u64,
    /// Those of them that came from a cache.
    pub cached: u64,
    /// Tokens of the answer, with what the model thought before it.
    pub output: u64,
    /// What all of it cost, in billionths of a US dollar, if that is known.
    pub cost: Option<u64>,
}

impl CompletionUsage {
    /// Both together. What they cost is known only if it is of both.
    ///
    /// ```
    /// use brute_core::CompletionUsage;
    ///
    /// let one = CompletionUsage { input: 900, cached: 0, output: 80, cost: Some(183_000) };
    /// let both = one.and(CompletionUsage { output: 20, ..one });
    /// assert_eq!((both.input, both.output, both.cost), (1_800, 100, Some(366_000)));
    /// ```
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let cost = self.cost.zip(other.cost);
        Self {
            input: self.input.saturating_add(other.input),
            cached: self.cached.saturating_add(other.cached),
            output: self.output.saturating_add(other.output),
            cost: cost.map(|(one, other)| one.saturating_add(other)),
        }
    }

    /// Tokens of request and answer.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl Completion {
    /// An answer of which nobody said what it took.
    pub fn new(text: impl Into<String>, stop: Stop) -> Self {
        Self { text: text.into(), stop, usage: None }
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It was complete.
    End,
    /// It reached its length limit.
    Length,
    /// The model wanted to call a tool instead.
    ToolCall,
}

/// Why the summarizer gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompletionError {
    /// None is configured.
    #[error("no summarizer is configured (set `[summarizer]` in brute.toml)")]
    NotConfigured,
    /// The request is larger than the summarizer takes.
    #[error("the request is too long for the summarizer{}", at_most(.limit))]
    TooLong {
        /// What it takes, in tokens, if it said so.
        limit: Option<u64>,
    },
    /// It did not answer in time.
    #[error("the summarizer did not answer within {seconds} s")]
    TimedOut {
        /// The time it had.
        seconds: u64,
    },
    /// It failed.
    #[error("the summarizer failed: {reason}")]
    Failed {
        /// Its own words, or the system's.
        reason: String,
    },
}

fn at_most(limit: &Option<u64>) -> String {
    limit.map_or_else(String::new, |limit| format!(" (it takes {limit} tokens)"))
}

/// How urgent a message to the operator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For the author of the layer.
    Debug,
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warn,
}

/// A layer that failed, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerError {
    message: String,
    kind: LayerErrorKind,
}

/// What kind of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayerErrorKind {
    /// The layer itself failed.
    Layer,
    /// The summarizer that it asked failed, or answered with something unusable.
    Summarizer,
}

impl LayerError {
    /// A failure of the layer itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), kind: LayerErrorKind::Layer }
    }

    /// A failure of the summarizer that the layer asked.
    pub fn summarizer(message: impl Into<String>) -> Self {
        Self { message: message.into(), kind: LayerErrorKind::Summarizer }
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> LayerErrorKind {
        self.kind
    }
}

impl fmt::Display for LayerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LayerError {}

impl From<CompletionError> for LayerError {
    fn from(error: CompletionError) -> Self {
        Self::summarizer(error.to_string())
    }
}
