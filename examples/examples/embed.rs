//! The smallest embedding: a ladder made in code, asked before a model call.
//!
//! ```sh
//! cargo run -p brute-examples --example embed
//! ```

use std::error::Error;

use brute_core::Configure;
use brute_host::formats::{Document, ReadOptions, WriteOptions};
use brute_host::ladder::{Budget, Compactor, Rung};
use brute_host::tokens::{CounterKind, counter};
use brute_sliding_window::SlidingWindow;
use brute_tool_results::ToolResults;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = brute_examples::sessions().join("openai-chat-fix-parser.json");
    let request = Document::read(std::fs::read(file)?, &ReadOptions::default())?;

    let budget = Budget::new(32_000, 4_000, 24_000, 12_000)?;
    let compactor = Compactor::new(counter(CounterKind::O200k), budget)
        .rung(Rung::new("tool-results", ToolResults::build(Default::default())?))
        .rung(Rung::new("sliding-window", SlidingWindow::build(Default::default())?));
    let done = compactor.compact(request.conversation().clone()).await;

    println!("{:?}: {} tokens, {} before", done.outcome, done.after, done.before);
    let smaller = request.write(&done.conversation, &WriteOptions::default());
    println!("{} bytes to send", smaller.len());
    Ok(())
}
