//! What writes summaries: the [`Summarizer`] trait, and the backends.
//!
//! `openai` and `anthropic` ask a model behind a server, `command` asks any program, `extract` picks lines by an
//! algorithm. `[summarizer]` in `brute.toml` chooses one, and `[[fallback]]` who is asked where it gives no
//! answer: [`SummarizerOptions`]. A [`Recorder`] writes down what any of them is asked and answers, and a [`Replay`]
//! answers the same without it.

mod budget;
mod command;
mod extract;
mod fallback;
mod options;
mod recording;
#[cfg(feature = "servers")]
mod server;
mod server_options;

use std::pin::Pin;

use brute_core::{Completion, CompletionError, Prompt, SummarizerLimits};

pub use budget::BudgetOptions;
pub use command::{Command, CommandOptions};
pub use extract::{Extract, ExtractOptions};
pub use options::SummarizerOptions;
pub use recording::{Difference, Recorder, RecordingError, Replay};
pub use server_options::ServerOptions;
pub(crate) use server_options::is_variable;

/// No summary is as long as this, in bytes; whoever writes more does something else.
const MOST_OUTPUT: usize = 1 << 20;

/// The smallest window that the `summarize` layer can do anything with, in tokens.
const LEAST_WINDOW: u32 = 1_024;

/// A future on the heap, so that a trait object can return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Is shown an answer while it comes.
pub type Watcher<'w> = dyn Fn(&str) + Send + Sync + 'w;

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

    /// The same, and shows `watcher` what there is of the answer whenever more of it came. One that gives its answer
    /// in one piece shows nothing.
    ///
    /// # Errors
    /// As [`complete`](Self::complete). What was shown is no answer then.
    fn complete_watched<'a>(
        &'a self,
        prompt: &'a Prompt,
        watcher: &'a Watcher<'a>,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        let _ = watcher;
        self.complete(prompt)
    }
}
