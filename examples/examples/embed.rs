//! A small embedding, both levels: a tool result is capped as it comes in, and before a model call the request
//! goes down the default ladder, with a rung of one's own on top.
//!
//! ```sh
//! cargo run -p brute-examples --example embed
//! ```
#![expect(clippy::print_stdout, reason = "this program talks to a person")]

use std::error::Error;

use brute_host::config::Config;
use brute_host::core::{Edit, Host, LayerError, PartView, Plan, Strategy, Window};
use brute_host::formats::{ReadOptions, WriteOptions};
use brute_host::ladder::{Event, Rung, Trigger};
use brute_host::truncation::Truncator;

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
    let config = Config::default();

    // Level one, for each tool result: what is too long goes to a file, which the rest names.
    let folder = std::env::temp_dir().join("brute-embed");
    let mut options = config.truncate.clone();
    options.spill = Some(folder.display().to_string());
    let printed = "one line of a very long build log\n".repeat(5_000);
    let capped = Truncator::new(options)?.truncate(Some("shell"), printed.as_bytes());
    println!("tool result: {} bytes of {}", capped.text.len(), printed.len());

    // Level two, before each model call.
    let file = brute_examples::sessions().join("openai-chat-fix-parser.json");
    let request = config.read(std::fs::read(file)?, &ReadOptions::default())?;
    let mut room = config.room(request.model().as_deref())?;
    room.rungs.insert(0, Rung::new("strip-images", StripImages));
    let compactor = config.compactor_in(room, &request)?.on(|event| {
        if let Event::LayerApplied { rung, before, after, .. } = event {
            println!("{rung}: {before} to {after} tokens of messages");
        }
    });

    // One for each conversation: it remembers what could not be made to fit.
    let mut trigger = Trigger::default();
    let (budget, counter) = (compactor.budget(), compactor.counter());
    let mut conversation = request.conversation().clone();
    if trigger.is_due(budget, &mut conversation, &**counter) {
        let done = compactor.compact_now(conversation).await;
        trigger.settle(budget, done.after, done.outcome.fits());
        println!("outcome: {:?}", done.outcome);
        conversation = done.conversation;
    }
    let smaller = request.write(&conversation, &WriteOptions::default());
    println!("{} bytes to send", smaller.len());
    Ok(())
}
