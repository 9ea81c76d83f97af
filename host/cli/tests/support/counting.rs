//! Drives the counters.

use std::time::Instant;

use brute_core::TokenCounter;
use serde_json::Value;

use super::expand::bytes_of;
use super::run::{Count, Run};
use super::wire::items;

/// Runs a case with `op` `count`.
pub(crate) fn count(input: &Value, settings: &Value, counter: &dyn TokenCounter) -> Run {
    // A vocabulary loads with its first text, once per process.
    counter.count("a text to load the vocabulary");
    let texts: Vec<&Value> = match input.get("text") {
        Some(text) => vec![text],
        None => items(&input["sweep_text"]).iter().chain(items(&input["texts"])).collect(),
    };
    let mut run = Run { settings: settings.clone(), ..Run::default() };
    for text in texts {
        let text = String::from_utf8_lossy(&bytes_of(text)).into_owned();
        run.counts.push(measured(&text, counter));
    }
    run.elapsed = run.counts.iter().map(|count| count.elapsed).sum();
    run
}

/// Counts one text and takes the time.
pub(crate) fn measured(text: &str, counter: &dyn TokenCounter) -> Count {
    let begun = Instant::now();
    let tokens = u64::from(counter.count(text));
    let elapsed = begun.elapsed();
    Count { bytes: text.len(), tokens, elapsed }
}
