//! What was found once in a replay: orders that differ late ask for the same counts and the same summaries again and
//! again, and a summary that a model was paid for is not bought twice.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use brute_core::{Completion, CompletionError, Prompt, SummarizerLimits, TokenCounter};

use crate::archive::Digest;
use crate::summarizers::{BoxFuture, Summarizer};

/// Answers by the digest of what was asked.
struct Known<K, V>(Mutex<HashMap<K, V>>);

impl<K: Eq + Hash, V: Clone> Known<K, V> {
    fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    fn get(&self, asked: &K) -> Option<V> {
        self.all().get(asked).cloned()
    }

    fn put(&self, asked: K, answer: V) {
        self.all().insert(asked, answer);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A counter that counts each text once. Its name is that of the counter that it asks, so that counts which messages
/// have already are used.
pub(super) struct KnownCounts {
    asked: Arc<dyn TokenCounter>,
    known: Known<Digest, u32>,
}

impl KnownCounts {
    /// Bytes of text that take no longer to count than to look up.
    const SHORT: usize = 32;

    pub(super) fn of(asked: Arc<dyn TokenCounter>) -> Self {
        Self { asked, known: Known::new() }
    }
}

impl TokenCounter for KnownCounts {
    fn id(&self) -> &'static str {
        self.asked.id()
    }

    fn count(&self, text: &str) -> u32 {
        if text.len() < Self::SHORT {
            return self.asked.count(text);
        }
        let digest = Digest::of(text.as_bytes());
        if let Some(count) = self.known.get(&digest) {
            return count;
        }
        let count = self.asked.count(text);
        self.known.put(digest, count);
        count
    }

    fn per_message(&self) -> u32 {
        self.asked.per_message()
    }

    fn bounds(&self, bytes: usize) -> (u32, u32) {
        self.asked.bounds(bytes)
    }
}

/// A summarizer that is asked each request once. A failure is none of the request, and it is asked again.
pub(super) struct KnownSummaries {
    asked: Arc<dyn Summarizer>,
    known: Known<Digest, Completion>,
}

impl KnownSummaries {
    pub(super) fn of(asked: Arc<dyn Summarizer>) -> Self {
        Self { asked, known: Known::new() }
    }
}

impl Summarizer for KnownSummaries {
    fn name(&self) -> &str {
        self.asked.name()
    }

    fn limits(&self) -> SummarizerLimits {
        self.asked.limits()
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(async move {
            let request = format!("{prompt:?}");
            let digest = Digest::of(request.as_bytes());
            if let Some(answer) = self.known.get(&digest) {
                return Ok(answer);
            }
            let answer = self.asked.complete(prompt).await?;
            self.known.put(digest, answer.clone());
            Ok(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use brute_core::Approximate;

    use super::*;

    struct Tally(AtomicU32);

    impl TokenCounter for Tally {
        fn id(&self) -> &'static str {
            "tally"
        }
        fn count(&self, text: &str) -> u32 {
            self.0.fetch_add(1, Ordering::Relaxed);
            Approximate.count(text)
        }
        fn bounds(&self, bytes: usize) -> (u32, u32) {
            Approximate.bounds(bytes)
        }
    }

    #[test]
    fn a_long_text_is_counted_once_and_as_before() {
        let tally = Arc::new(Tally(AtomicU32::new(0)));
        let counts = KnownCounts::of(Arc::clone(&tally) as Arc<dyn TokenCounter>);
        for text in ["short", &"a long text ".repeat(9), &"another text ".repeat(9)] {
            for _ in 0..3 {
                assert_eq!(counts.count(text), Approximate.count(text));
            }
        }
        assert_eq!(tally.0.load(Ordering::Relaxed), 3 + 1 + 1);
    }
}
