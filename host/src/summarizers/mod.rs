//! What writes summaries: the [`Summarizer`] trait, and the backends that need no network.
//!
//! `command` asks any program, `extract` picks lines by an algorithm. `[summarizer]` in `brute.toml`
//! chooses one: [`SummarizerOptions`].

mod command;
mod extract;
mod options;

use std::pin::Pin;

use brute_core::{Completion, CompletionError, Prompt, SummarizerLimits};

pub use command::{Command, CommandOptions};
pub use extract::{Extract, ExtractOptions};
pub use options::SummarizerOptions;

/// A future on the heap, so that a trait object can return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers prompts: a model behind an interface, a program, or an algorithm.
///
/// Runs on a tokio runtime with input, output and time enabled.
pub trait Summarizer: Send + Sync {
    /// The backend's name in `brute.toml`.
    fn name(&self) -> &str;

    /// What fits into one request.
    fn limits(&self) -> SummarizerLimits;

    /// Answers `prompt`. Dropping the future gives up on the answer.
    ///
    /// # Errors
    /// If there is no answer. Nothing that is not the answer is ever returned as one.
    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>>;
}
