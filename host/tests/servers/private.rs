//! Keys and conversations are told to the server, and to nobody else.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::ladder::{KEY, PRIVATE, config, descend, session, summarizer};
use super::peer::{Peer, Speaks, says};

/// Keeps all that is logged, at any level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{field}={value:?}");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn nothing_that_is_told_has_the_key_or_the_conversation_in_it() {
    let log = Log::default();
    let document = session();
    let mut all = String::new();
    // Layers are asked on threads of their own.
    tracing::subscriber::set_global_default(log.clone()).unwrap();
    for speaks in Speaks::BOTH {
        let echoes = |status, words: String| {
            says(status, &json!({ "error": { "message": words.clone(), "input": words } }))
        };
        for turn in [
            echoes("401 No", format!("your key {KEY} is wrong")),
            echoes("500 No", format!("cannot read {PRIVATE}")),
            echoes("200 OK", format!("{KEY}: cannot read {PRIVATE}")),
            says("200 OK", &speaks.answer(PRIVATE, PRIVATE)),
        ] {
            let peer = Peer::new(vec![turn]);
            let mut config = config(speaks, peer.port(), "retries = 1", "stop");
            config.fallback = config.summarizer.clone().into_iter().collect();
            let descent = descend(&config, &document);
            assert!(peer.requests().iter().all(|r| r.contains(KEY) && r.contains(PRIVATE)));
            let shown = summarizer(&config).name().to_owned();
            let events = serde_json::to_string(&descent.events).unwrap();
            let report = format!("{:?}", descent.done.rungs);
            all += &[&shown, descent.failure(), &events, &report, &format!("{config:?}")].concat();
        }
    }
    let logged = log.0.lock().unwrap().clone();
    assert!(logged.contains("asking again") && logged.contains("the next is asked"), "{logged}");
    for secret in [KEY, "sunk on the ninth of May"] {
        for told in [&all, &logged] {
            assert!(!told.contains(secret), "{secret}: {told}");
        }
    }
    assert!(all.contains("[key]") && all.contains("in words that repeat the request"), "{all}");
}

#[test]
fn a_key_that_is_not_there_is_missed_before_anything_is_sent() {
    let peer = Peer::new(vec![says("200 OK", &json!({}))]);
    let mut config = config(Speaks::Openai, peer.port(), "", "stop");
    let text = format!(
        "backend = \"openai\"\nbase-url = \"http://127.0.0.1:{}\"\nmodel = \"x\"\nwindow = 2000\n\
         api-key-env = \"NO_SUCH_KEY_HERE\"\n",
        peer.port()
    );
    config.summarizer = Some(toml::from_str(&text).unwrap());
    let descent = descend(&config, &session());
    assert!(descent.failure().contains("`NO_SUCH_KEY_HERE` holds no key for `127.0.0.1:"));
    assert_eq!(peer.requests().len(), 0);
}
