//! Several summarizers, of which one after the other is asked until one answers.

use std::sync::Arc;

use brute_core::{Completion, CompletionError, CompletionUsage, Prompt, Stop, SummarizerLimits};

use super::{BoxFuture, Summarizer, Watcher};

/// Asks the first, and the next only where the one before gave no answer that can be used.
pub(super) struct InOrder {
    all: Vec<Arc<dyn Summarizer>>,
}

impl InOrder {
    /// All of them in their order, one at least.
    pub(super) fn new(all: Vec<Arc<dyn Summarizer>>) -> Self {
        Self { all }
    }

    async fn ask(
        &self,
        prompt: &Prompt,
        watcher: &Watcher<'_>,
    ) -> Result<Completion, CompletionError> {
        let mut reasons = Vec::new();
        let mut wasted: Option<CompletionUsage> = None;
        for summarizer in &self.all {
            let reason = match summarizer.complete_watched(prompt, watcher).await {
                Ok(answer) => {
                    // What cannot be used costs as much.
                    let usage = match (wasted, answer.usage) {
                        (Some(wasted), Some(usage)) => Some(wasted.and(usage)),
                        (wasted, usage) => usage.or(wasted),
                    };
                    match answer.stop {
                        Stop::End if !answer.text.trim().is_empty() => {
                            return Ok(Completion { usage, ..answer });
                        }
                        _ => wasted = usage,
                    }
                    match answer.stop {
                        Stop::End => "answered nothing".to_owned(),
                        Stop::Length => "its answer was cut at its length limit".to_owned(),
                        Stop::ToolCall => "wanted to call a tool instead of answering".to_owned(),
                    }
                }
                // Nothing is wrong with it, and a smaller request is what helps.
                Err(error @ CompletionError::TooLong { .. }) => return Err(error),
                Err(CompletionError::Failed { reason }) => reason,
                Err(error) => error.to_string(),
            };
            tracing::warn!(summarizer = summarizer.name(), reason, "no answer; the next is asked");
            reasons.push(format!("{}: {reason}", summarizer.name()));
        }
        Err(CompletionError::Failed { reason: reasons.join("; then ") })
    }
}

impl Summarizer for InOrder {
    fn name(&self) -> &str {
        self.all.first().map_or("none", |summarizer| summarizer.name())
    }

    /// What every one of them takes, since every one may be asked.
    fn limits(&self) -> SummarizerLimits {
        let windows = self.all.iter().map(|summarizer| summarizer.limits().window);
        SummarizerLimits { window: windows.min().unwrap_or_default() }
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(self.ask(prompt, &|_| {}))
    }

    fn complete_watched<'a>(
        &'a self,
        prompt: &'a Prompt,
        watcher: &'a Watcher<'a>,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(self.ask(prompt, watcher))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Answer = Result<Completion, CompletionError>;

    struct Scripted(&'static str, u64, Answer);

    impl Summarizer for Scripted {
        fn name(&self) -> &str {
            self.0
        }

        fn limits(&self) -> SummarizerLimits {
            SummarizerLimits { window: self.1 }
        }

        fn complete<'a>(&'a self, _: &'a Prompt) -> BoxFuture<'a, Answer> {
            Box::pin(async { self.2.clone() })
        }
    }

    fn ask(first: &Answer, second: &Answer) -> Answer {
        let all: [Arc<dyn Summarizer>; 2] = [
            Arc::new(Scripted("a", 8_000, first.clone())),
            Arc::new(Scripted("b", 4_000, second.clone())),
        ];
        let all = InOrder::new(all.to_vec());
        assert_eq!((all.name(), all.limits().window), ("a", 4_000));
        let prompt = Prompt { instructions: String::new(), input: String::new(), max_tokens: 64 };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(all.complete(&prompt))
    }

    #[test]
    fn the_next_is_asked_only_where_there_is_no_answer() {
        let answer = |text: &str, stop| Ok(Completion::new(text, stop));
        let failed = |reason: &str| Err(CompletionError::Failed { reason: reason.to_owned() });
        let (fine, other) = (answer("fine", Stop::End), answer("other", Stop::End));
        let too_long = Err(CompletionError::TooLong { limit: Some(512) });
        for (first, expected) in [
            (&fine, &fine),
            (&too_long, &too_long),
            (&failed("no"), &other),
            (&answer("half", Stop::Length), &other),
            (&answer("", Stop::ToolCall), &other),
            (&answer(" \n", Stop::End), &other),
            (&Err(CompletionError::TimedOut { seconds: 1 }), &other),
        ] {
            assert_eq!(ask(first, &other), *expected, "{first:?}");
        }
        let none = ask(&answer("half", Stop::Length), &failed("no"));
        assert_eq!(none, failed("a: its answer was cut at its length limit; then b: no"));
    }
}
