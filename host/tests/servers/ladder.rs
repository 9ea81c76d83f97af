//! A ladder with a summarizer behind a server.

use std::sync::{Arc, Mutex};

use brute_host::config::{Config, Origin, Source, Sources, load};
use brute_host::formats::{Document, ReadOptions, WriteOptions};
use brute_host::ladder::{Compaction, Event};
use brute_host::layers::Layers;
use brute_host::summarizers::Summarizer;

use super::peer::Speaks;

/// Words of the conversation that nobody but the server may read.
pub(crate) const PRIVATE: &str = "the harbor will be sunk on the ninth of May at dawn";

/// A variable that is set wherever tests run, for the key: it is the path of this crate.
pub(crate) const KEY_VARIABLE: &str = "CARGO_MANIFEST_DIR";
pub(crate) const KEY: &str = env!("CARGO_MANIFEST_DIR");

/// What a good model answers.
pub(crate) const SUMMARY: &str = "## Objective\nRead the reports.\n\n## Decisions\nNone\n\n## Work done\nReports were read.\n\n## Identifiers\nNone\n\n## Outstanding\nNone";

/// Five turns, each with something to sum up.
pub(crate) fn session() -> Document {
    let mut messages = Vec::new();
    for turn in 0..5 {
        let words = format!("Report {turn} says again that {PRIVATE}. ").repeat(40);
        messages.push(format!(r#"{{"role": "user", "content": "Read report {turn}."}}"#));
        messages.push(format!(r#"{{"role": "assistant", "content": "{words}"}}"#));
    }
    messages.push(r#"{"role": "user", "content": "And now?"}"#.to_owned());
    messages.push(r#"{"role": "assistant", "content": "Now we wait."}"#.to_owned());
    let json = format!(r#"{{"model": "gpt-4o", "messages": [{}]}}"#, messages.join(","));
    Document::read(json, &ReadOptions::default()).unwrap()
}

/// A configuration whose summarizer is at this port.
pub(crate) fn config(speaks: Speaks, port: u16, more: &str, on_error: &str) -> Config {
    let backend = speaks.backend();
    let text = format!(
        "[window]\nsize = 8000\n[trigger]\ncompact-at = 301\ncompact-to = 300\n\
         [summarizer]\nbackend = \"{backend}\"\nbase-url = \"http://127.0.0.1:{port}\"\n\
         model = \"small\"\nwindow = 2000\napi-key-env = \"{KEY_VARIABLE}\"\n{more}\n\
         [[ladder]]\nlayer = \"summarize\"\non-error = \"{on_error}\"\nmax-tokens = 200\n\
         [[ladder]]\nlayer = \"sliding-window\"\n"
    );
    let file = Source::new("brute.toml", text, Origin::Project);
    let loaded = load(&Sources { project: Some(file), ..Sources::default() }, &Layers::built_in());
    loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// The summarizer of a configuration.
pub(crate) fn summarizer(config: &Config) -> Arc<dyn Summarizer> {
    let counter = config.token_counter(None);
    let options = config.summarizer.as_ref().unwrap();
    options.build_all(&config.fallback, &counter, &config.models).unwrap()
}

/// What came of a descent.
pub(crate) struct Descent {
    pub(crate) done: Compaction,
    pub(crate) events: Vec<Event>,
    /// The conversation as it is written.
    pub(crate) written: String,
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn descend(config: &Config, document: &Document) -> Descent {
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let compactor = config.compactor(document).unwrap();
    let compactor = compactor.on(move |event| sink.lock().unwrap().push(event.clone()));
    let done = runtime().block_on(compactor.compact_now(document.conversation().clone()));
    let events = events.lock().unwrap().clone();
    let written = written(document, &done);
    Descent { done, events, written }
}

fn written(document: &Document, done: &Compaction) -> String {
    let bytes = document.write(&done.conversation, &WriteOptions::default());
    String::from_utf8(bytes.into_owned()).unwrap()
}

impl Descent {
    /// Why the summarizer failed, as the event says it.
    pub(crate) fn failure(&self) -> &str {
        let mut failures = self.events.iter().filter_map(|event| match event {
            Event::LayerFailed { rung, error, .. } if rung == "summarize" => Some(error.as_str()),
            _ => None,
        });
        let failure = failures.next().unwrap_or_else(|| panic!("{:?}", self.events));
        assert_eq!(failures.next(), None);
        failure
    }
}
