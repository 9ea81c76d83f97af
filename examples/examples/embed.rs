//! A small embedding: the default ladder with a rung of one's own on top, asked before a model call.
//!
//! ```sh
//! cargo run -p brute-examples --example embed
//! ```
#![expect(clippy::print_stdout, reason = "this program talks to a person")]

use std::error::Error;

use brute_core::{Edit, Host, LayerError, PartView, Plan, Strategy, Window};
use brute_host::config::Config;
use brute_host::formats::{Document, ReadOptions, WriteOptions};
use brute_host::ladder::{Compactor, Event, Rung};
use brute_host::tokens::counter;

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
    let file = brute_examples::sessions().join("openai-chat-fix-parser.json");
    let request = Document::read(std::fs::read(file)?, &ReadOptions::default())?;

    let room = Config::default().room(request.model().as_deref())?;
    let mut compactor = Compactor::new(counter(room.counter), room.budget)
        .rung(Rung::new("strip-images", StripImages))
        .on(|event| {
            if let Event::LayerApplied { rung, before, after, .. } = event {
                println!("{rung}: {before} to {after} tokens");
            }
        });
    for rung in room.rungs {
        compactor = compactor.rung(rung);
    }
    let done = compactor.compact(request.conversation().clone()).await;

    let smaller = request.write(&done.conversation, &WriteOptions::default());
    println!("{} bytes to send, {:?}", smaller.len(), done.outcome);
    Ok(())
}
