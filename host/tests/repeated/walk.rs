//! The walk through the session: all that was said is said again, and before each call of the model it is compacted if
//! that is due.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use brute_core::{Conversation, Part, Role, ToolResult};
use brute_host::config::{Config, Origin, Source, Sources, load};
use brute_host::formats::{Document, ReadOptions};
use brute_host::ladder::{Compactor, Event, RungResult, Trigger};
use brute_host::layers::Layers;
use brute_host::summarizers::Summarizer;
use brute_host::truncation::{TruncateOptions, Truncator};

/// The room that a session and its summaries have, in tokens, and how often it is compacted.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) compact_at: u64,
    pub(crate) compact_to: u64,
    pub(crate) max_tokens: u64,
    pub(crate) times: usize,
}

/// So small that it has to be compacted every two calls or so.
pub(crate) const SMALL: Room =
    Room { compact_at: 2_700, compact_to: 2_250, max_tokens: 480, times: 20 };

/// Summaries may be as long as they may by default.
pub(crate) const LARGER: Room =
    Room { compact_at: 4_200, compact_to: 3_700, max_tokens: 2_000, times: 12 };

/// What one compaction left.
pub(crate) struct Compacted {
    /// How many messages of the session were said before it.
    pub(crate) said: usize,
    /// The conversation after it.
    pub(crate) left: Conversation,
    /// Tokens of all messages, before and after.
    pub(crate) before: u64,
    pub(crate) after: u64,
    pub(crate) fits: bool,
    /// Rounds that were applied.
    pub(crate) rounds: usize,
    /// Requests, and why the last one was refused, if it was.
    pub(crate) calls: usize,
    pub(crate) refused: Option<String>,
}

/// All of them, and what the layer said.
pub(crate) struct Walked {
    pub(crate) compactions: Vec<Compacted>,
    pub(crate) words: Vec<String>,
}

pub(crate) fn session() -> Document {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../examples/sessions/anthropic-port-storage.json");
    Document::read(std::fs::read_to_string(path).unwrap(), &ReadOptions::default()).unwrap()
}

fn configured(text: &str) -> Config {
    let text = text.to_owned();
    let file = Source::new("brute.toml", text, Origin::Project);
    let loaded = load(&Sources { project: Some(file), ..Sources::default() }, &Layers::built_in());
    loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

pub(crate) fn config(room: &Room) -> Config {
    let Room { compact_at, compact_to, max_tokens, .. } = room;
    configured(&format!(
        "[window]\nsize = 8192\ncounter = \"approximate\"\nreserve = 1024\n\
         [trigger]\ncompact-at = {compact_at}\ncompact-to = {compact_to}\n\
         [truncate]\nmax-bytes = \"1KB\"\n[summarizer]\nbackend = \"extract\"\n\
         [[ladder]]\nlayer = \"summarize\"\nkeep-steps = 1\nmax-tokens = {max_tokens}\ntimeout = \"30m\"\n"
    ))
}

pub(crate) fn compactor(room: &Room, document: &Document) -> Compactor {
    config(room).compactor(document).unwrap()
}

/// A model at this address.
pub(crate) fn summarizer(url: &str) -> Arc<dyn Summarizer> {
    let config = configured(&format!(
        "[summarizer]\nbackend = \"openai\"\nbase-url = \"{url}\"\nmodel = \"local\"\nwindow = 8192\n\
         timeout = \"10m\"\nretries = 0\n"
    ));
    let counter = config.token_counter(None);
    let options = config.summarizer.as_ref().unwrap();
    options.build_all(&[], &counter, &config.models).unwrap()
}

pub(crate) fn level_one() -> Truncator {
    let options = config(&SMALL).truncate;
    Truncator::new(TruncateOptions { spill: None, ..options }).unwrap()
}

/// What `times` compactions left. What is said behind the last of them is not looked at.
pub(crate) async fn walk(session: &Conversation, compactor: Compactor, times: usize) -> Walked {
    let words = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&words);
    let compactor = compactor.on(move |event| {
        if let Event::Log { message, .. } = event {
            heard.lock().unwrap().push(message.clone());
        }
    });
    let (budget, counter) = (*compactor.budget(), Arc::clone(compactor.counter()));
    let level_one = level_one();
    let mut trigger = Trigger::default();
    let mut conversation = Conversation::default();
    let mut compactions = Vec::new();
    let mut tools: HashMap<Box<str>, Box<str>> = HashMap::new();
    for (said, message) in session.messages().iter().enumerate() {
        let is_due = message.role() == Role::Assistant
            && trigger.is_due(&budget, &mut conversation, &*counter);
        if is_due && compactions.len() == times {
            break;
        }
        if is_due {
            let done = compactor.compact_now(conversation).await;
            conversation = done.conversation.clone();
            trigger.settle(&budget, &mut conversation, &*counter, done.outcome.fits());
            let rung = &done.rungs[0];
            let refused = match &rung.result {
                RungResult::Failed { reason, .. } => Some(reason.clone()),
                _ => None,
            };
            println!(
                "{}: {} to {} tokens at message {said}, {:.0} s {}",
                compactions.len() + 1,
                done.before,
                done.after,
                done.duration.as_secs_f64(),
                refused.as_deref().unwrap_or_default()
            );
            compactions.push(Compacted {
                said,
                before: done.before,
                after: done.after,
                fits: done.outcome.fits(),
                rounds: rung.rounds,
                calls: rung.summarizer.calls,
                left: done.conversation,
                refused,
            });
        }
        tools.extend(message.calls().map(|(_, call)| (call.id.clone(), call.name.clone())));
        let mut parts = message.parts().to_vec();
        for part in &mut parts {
            if let Part::ToolResult(result) = part {
                let tool = tools.get(&result.call).map(|tool| &**tool);
                let cut = level_one.truncate(tool, result.text.as_bytes());
                *part = Part::ToolResult(ToolResult { text: cut.text.into(), ..result.clone() });
            }
        }
        conversation.push(message.role(), parts).unwrap();
    }
    let words = words.lock().unwrap().clone();
    Walked { compactions, words }
}
