//! A layer that misbehaves costs its own rung, and nothing else.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brute_core::testing::notation;
use brute_core::{Approximate, Conversation};
use brute_host::config::{Origin, Source, Sources, load};
use brute_host::ladder::{Budget, Compaction, Compactor, Event, Layer, NotAsked, Rung, RungResult};
use brute_host::layers::Layers;
use brute_host::plugins::Trust;
use brute_sliding_window::SlidingWindow;

use super::kind;

/// One turn that is over, with a call, and the task.
fn talk() -> Conversation {
    notation::conversation(
        "system s\nuser askx200\nassistant call:a lookx50\ntool a resultx500\nassistant donex90\n\
         user task\nassistant call:b againx50\ntool b morex300",
    )
}

/// The rung of a fixture's layer that does `act`.
fn rung(act: &str) -> Rung {
    let kind = kind("faulty", "faulty");
    let strategy = kind.build(serde_json::json!({ "act": act })).unwrap();
    Rung {
        strategy: Layer::new("trial", strategy, kind.plugin.clone()),
        timeout: Some(Duration::from_millis(300)),
        ..Rung::new("trial", SlidingWindow::default())
    }
}

fn compactor(rungs: Vec<Rung>, target: u64) -> (Compactor, Arc<Mutex<Vec<String>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let budget = Budget::new(100_000, 0, target + 1, target).unwrap();
    let compactor = rungs
        .into_iter()
        .fold(Compactor::new(Arc::new(Approximate), budget), Compactor::rung)
        .on(move |event| {
            if let Event::LayerFailed { rung, error, .. } | Event::LayerEndFailed { rung, error } =
                event
            {
                seen.lock().unwrap().push(format!("{rung}: {error}"));
            }
        });
    (compactor, events)
}

fn run(compactor: &Compactor, conversation: Conversation) -> Compaction {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let compaction = runtime.block_on(compactor.compact(conversation));
    runtime.shutdown_background();
    compaction
}

#[test]
fn every_fault_is_an_event_that_names_plugin_rung_and_cause() {
    for (act, cause) in [
        ("panic-in-plan", "faulty/src/lib.rs:"),
        ("panic-in-plan", ": no plan today"),
        ("panic-oddly", "without a message"),
        ("hang", "no plan within the time limit of 300ms"),
        ("fail", "it did not want to"),
        ("summarize", "no summarizer is configured"),
        ("grow", "would not become smaller"),
        ("out-of-range", "an edit is about messages 8..9, but there are only 8"),
        ("backwards", "an edit is about messages 8..7"),
        ("no-such-part", "an edit is about part 99 of message 2"),
        ("overlap", "two edits are about message 2"),
        ("protected", "message 5 is protected"),
        ("no-result", "the tool call `a` has no result"),
        ("no-call", "the tool result for `a` answers no call before it"),
        ("role", "a new message cannot have the role system"),
        ("remove-call", "part 1 of message 2 cannot be edited like that"),
    ] {
        let (compactor, events) = compactor(vec![rung(act)], 10);
        let compaction = run(&compactor, talk());
        assert_eq!(compaction.conversation, talk(), "{act}");
        let failed = matches!(&compaction.rungs[0].result, RungResult::Failed { .. });
        let events = events.lock().unwrap();
        let [event] = events.as_slice() else { panic!("{act}: {events:?}") };
        assert!(failed && event.starts_with("trial: plugin `"), "{act}: {event}");
        assert!(event.contains("brute_faulty") && event.contains(cause), "{act}: {event}");
        assert!(!event.contains('\n'), "{act}: {event}");
    }
}

/// Keeps the fields of every event.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<String>>>);

impl tracing::field::Visit for Kept {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.0.lock().unwrap().push(format!("{field}: {value:?}"));
    }
}

impl tracing::Subscriber for Kept {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn a_layer_that_panics_when_it_is_dropped_ends_in_an_event() {
    for act in ["panic-in-drop", "decline"] {
        let (compactor, events) = compactor(vec![rung(act)], 10);
        assert_eq!(run(&compactor, talk()).conversation, talk());
        let another = compactor.clone();
        drop(compactor);
        assert!(events.lock().unwrap().is_empty(), "somebody has it still");
        drop(another);
        let events = events.lock().unwrap();
        if act == "decline" {
            assert!(events.is_empty(), "{events:?}");
            continue;
        }
        let [event] = events.as_slice() else { panic!("{events:?}") };
        assert!(event.starts_with("trial: plugin `") && event.contains("brute_faulty"), "{event}");
        assert!(event.contains("faulty/src/lib.rs:"), "{event}");
        assert!(event.ends_with(": not without a word"), "{event}");
    }
}

#[test]
fn a_layer_that_nobody_listens_to_warns_when_it_panics_in_drop() {
    let kept = Kept::default();
    tracing::subscriber::with_default(kept.clone(), || {
        drop(rung("panic-in-drop"));
        drop(rung("decline"));
    });
    let told = kept.0.lock().unwrap().join("\n");
    for part in [
        "message: a layer failed when it was ended",
        "brute_faulty",
        "rung: \"trial\"",
        "faulty/src/lib.rs:",
        ": not without a word",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert_eq!(told.lines().count(), 3, "{told}");
}

#[test]
fn a_layer_that_never_returns_from_build_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    super::copy("faulty", folder.path());
    let mut trust = Trust::default();
    trust.add_folder(folder.path()).unwrap();
    let text = "[plugins]\npath = [\".\"]\n[[ladder]]\nlayer = \"faulty\"\n\
                act = \"hang-in-build\"\ntimeout = \"1s\"\n";
    let name = folder.path().join("brute.toml").display().to_string();
    let project = Some(Source::new(name, text, Origin::Project));
    let sources = Sources { project, trust, ..Sources::default() };
    let loaded = load(&sources, &Layers::built_in());
    let said: Vec<_> = loaded.diagnostics.iter().map(ToString::to_string).collect();
    let [said] = said.as_slice() else { panic!("{said:?}") };
    for part in ["brute.toml:4:9: error", "`faulty`", "brute_faulty", "it was not done within 1s"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn the_next_rung_goes_on_from_what_the_rung_before_left() {
    for act in ["panic-in-plan", "hang", "grow", "protected", "panic-in-drop", "log", "again"] {
        let rungs = vec![rung(act), Rung::new("sliding-window", SlidingWindow::default())];
        let (with, _) = compactor(rungs, 400);
        let alone = vec![Rung::new("sliding-window", SlidingWindow::default())];
        let (without, _) = compactor(alone, 400);
        let (with, without) = (run(&with, talk()), run(&without, talk()));
        assert_eq!(with.conversation, without.conversation, "{act}");
        assert_eq!(with.outcome, without.outcome, "{act}");
    }
}

#[test]
fn a_layer_that_keeps_failing_is_not_asked_any_more() {
    let (compactor, events) = compactor(vec![rung("panic-in-plan")], 10);
    let results: Vec<_> = (0..5).map(|_| run(&compactor, talk()).rungs[0].result.clone()).collect();
    assert!(results[..3].iter().all(|result| matches!(result, RungResult::Failed { .. })));
    let quarantined = RungResult::NotAsked { reason: NotAsked::Quarantined };
    assert_eq!(results[3..], [quarantined.clone(), quarantined]);
    assert_eq!(events.lock().unwrap().len(), 3);
}

#[test]
fn a_layer_that_overran_its_time_may_still_be_at_work_and_is_not_asked_again() {
    let (compactor, _) = compactor(vec![rung("hang")], 10);
    assert!(matches!(run(&compactor, talk()).rungs[0].result, RungResult::Failed { .. }));
    let quarantined = RungResult::NotAsked { reason: NotAsked::Quarantined };
    assert_eq!(run(&compactor, talk()).rungs[0].result, quarantined);
}
