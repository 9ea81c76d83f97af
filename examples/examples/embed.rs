//! The guard without a `brute.toml`: room and ladder are made in code, with a layer of one's own at the top.
//!
//! ```sh
//! cargo run -p brute-examples --example embed
//! ```
#![expect(clippy::print_stdout, reason = "this program talks to a person")]

use std::error::Error;
use std::time::Duration;

use brute_host::config::Config;
use brute_host::core::{Edit, Host, LayerError, PartView, Plan, Strategy, Window};
use brute_host::guard::{Guard, Policy, Told};
use brute_host::ladder::{Budget, Compactor, Event, Rung};
use brute_host::tokens::{CounterKind, counter};
use brute_host::truncation::{TruncateOptions, Truncator};

/// Gives up the images of turns that are over.
struct StripImages;

impl Strategy for StripImages {
    fn plan(&self, window: &Window<'_>, _host: &dyn Host) -> Result<Plan, LayerError> {
        let over = window.outline().current().map_or(0, |turn| turn.span.start);
        let mut edits = Vec::new();
        for message in window.messages(0..over) {
            for (part, view) in message.parts().enumerate() {
                if let PartView::Media { kind } = view {
                    let text = format!("({kind} removed to make room)");
                    edits.push(Edit::Rewrite { message: message.index(), part, text });
                }
            }
        }
        Ok(Plan::of(edits))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Of 128,000 tokens, 8,000 stay free for the reply. A compaction starts at 90,000 and aims for 50,000.
    let budget = Budget::new(128_000, 8_000, 90_000, 50_000)?;
    let ladder = Compactor::new(counter(CounterKind::O200k), budget)
        .rung(Rung::new("strip-images", StripImages));
    // Then what ships.
    let ladder = Config::default().rungs(128_000).into_iter().fold(ladder, Compactor::rung);
    let policy = Policy::new(ladder, Truncator::new(TruncateOptions::default())?);
    let guard = Guard::new(policy);
    guard.subscribe(|told: &Told| {
        if let Event::LayerApplied { rung, before, after, .. } = &*told.event {
            println!("{}: {rung}, {before} to {after} tokens of messages", told.session);
        }
    })?;

    // Before each call of the model, with what is to be sent.
    let request = std::fs::read(brute_examples::sessions().join("openai-chat-fix-parser.json"))?;
    let ready = guard.session("fix-parser").fit(request, None).await?;
    guard.flush(Duration::from_secs(1));
    println!("{} bytes to send", ready.request.len());
    Ok(())
}
