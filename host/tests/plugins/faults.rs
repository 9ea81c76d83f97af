//! A layer that misbehaves costs its own rung, and nothing else.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brute_core::testing::notation;
use brute_core::{Approximate, Conversation};
use brute_host::ladder::{Budget, Compaction, Compactor, Event, NotAsked, Rung, RungResult};
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
        strategy,
        plugin: kind.plugin.clone(),
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
            if let Event::LayerFailed { rung, error, .. } = event {
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
