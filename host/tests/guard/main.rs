//! An agent's loop under guard: when it compacts, by what measure, and what becomes of what happens meanwhile.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod archived;
mod bytes;
mod live;
mod logged;
mod sizes;
mod subscribers;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brute_core::testing::notation;
use brute_core::{Approximate, Conversation, Outline, Part, Role, TokenCounter};
use brute_host::archive::{Archive, ArchiveOptions, Digest};
use brute_host::formats::{Document, ReadOptions};
use brute_host::guard::{Custom, Guard, Policy, Told};
use brute_host::ladder::{Budget, Compactor, Event, Outcome, Rung};
use brute_host::truncation::{TruncateOptions, Truncator};
use brute_sliding_window::SlidingWindow;
use brute_tool_results::ToolResults;
use serde_json::json;
use tokio::sync::Semaphore;

const WINDOW: u64 = 32_000;
const RESERVE: u64 = 4_000;
const TOOLS: &str = r#"[{"name":"shell","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}]"#;

fn truncator() -> Truncator {
    let options = TruncateOptions { spill: None, ..TruncateOptions::default() };
    Truncator::new(options).unwrap()
}

fn ladder(window: u64, counter: Arc<dyn TokenCounter>) -> Compactor {
    let budget = Budget::new(window, RESERVE, window * 7 / 10, window * 4 / 10).unwrap();
    Compactor::new(counter, budget)
        .rung(Rung::new("tool-results", ToolResults::default()))
        .rung(Rung::new("sliding-window", SlidingWindow::default()))
}

fn policy(window: u64, counter: Arc<dyn TokenCounter>) -> Policy {
    Policy::new(ladder(window, counter), truncator())
}

/// What tools printed in the sessions that ship.
fn outputs() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/sessions");
    let names = [
        "openai-chat-fix-parser.json",
        "anthropic-port-storage.json",
        "openai-chat-fix-ranks.json",
    ];
    let mut outputs = Vec::new();
    for name in names {
        let document =
            Document::read(std::fs::read(folder.join(name)).unwrap(), &ReadOptions::default())
                .unwrap();
        let messages = document.conversation().messages().iter();
        outputs.extend(messages.filter_map(|message| Some(message.result()?.1.text.to_string())));
    }
    assert!(outputs.len() > 100);
    outputs
}

#[tokio::test]
async fn calls_that_wait_for_their_results_are_named() {
    let session = Guard::new(policy(WINDOW, Arc::new(Approximate))).session("one");
    session.push(Role::User, [Part::text("go")]).unwrap();
    let call = |id: &str| {
        Part::ToolCall(brute_core::ToolCall {
            id: id.into(),
            name: "read".into(),
            arguments: "{}".into(),
        })
    };
    session.push(Role::Assistant, [call("a"), call("b")]).unwrap();
    assert_eq!(session.open_calls(), ["a", "b"]);
    session.tool_result("a", "read", b"text".to_vec(), false).await.unwrap();
    assert_eq!(session.open_calls(), ["b"]);
    session.tool_result("b", "read", b"interrupted".to_vec(), true).await.unwrap();
    assert!(session.open_calls().is_empty());
}

/// A conversation of so many steps of about 100 tokens.
fn steps(count: usize) -> Conversation {
    let steps = (0..count).map(|step| format!("assistant call:c{step}\ntool c{step} wordx80\n"));
    notation::conversation(&format!("system s\nuser go\n{}", steps.collect::<String>()))
}

/// A policy under which a conversation of 40 such steps is due, with a compactor that begins when it is let.
fn gated(gate: &Arc<Semaphore>, begun: &Arc<AtomicUsize>) -> Policy {
    let (gate, begun) = (Arc::clone(gate), Arc::clone(begun));
    let budget = Budget::new(4_000, 0, 2_000, 1_000).unwrap();
    let ladder = Compactor::new(Arc::new(Approximate), budget)
        .rung(Rung::new("sliding-window", SlidingWindow::default()));
    let policy = Policy::new(ladder.clone(), truncator());
    policy.with_compactor(Custom::new(move |conversation, _target| {
        begun.fetch_add(1, Ordering::Relaxed);
        let (gate, ladder) = (Arc::clone(&gate), ladder.clone());
        async move {
            gate.acquire().await.map_err(|closed| closed.to_string())?.forget();
            Ok::<_, String>(ladder.compact_now(conversation).await.conversation)
        }
    }))
}

#[tokio::test]
async fn what_is_appended_during_a_compaction_is_kept_and_a_second_call_waits_for_it() {
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::default());
    let session = Guard::new(gated(&gate, &begun)).resume("one", steps(40));
    let calls = [session.clone(), session.clone()]
        .map(|session| tokio::spawn(async move { session.before_call(None).await.unwrap() }));
    while begun.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    let more = session.push(Role::User, [Part::text("And the docs.")]).unwrap();
    gate.add_permits(2);
    let mut compactions = 0;
    for call in calls {
        compactions += usize::from(call.await.unwrap().compaction.is_some());
    }
    assert_eq!((compactions, begun.load(Ordering::Relaxed)), (1, 1));
    let now = session.conversation();
    assert!(now.len() < 40 && Outline::of(now.messages()).is_ok());
    assert_eq!(now.messages().last().map(|message| message.id()), Some(more));
    session.push(Role::Assistant, [Part::text("I see.")]).unwrap();
}

#[tokio::test]
async fn a_compaction_that_is_given_up_or_comes_too_late_leaves_everything_as_it_is() {
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::default());
    let session = Guard::new(gated(&gate, &begun)).resume("one", steps(40));
    let before = session.conversation();
    let given_up = tokio::time::timeout(Duration::from_millis(20), session.before_call(None)).await;
    assert!(given_up.is_err());
    assert_eq!(session.conversation(), before);
    let late = {
        let session = session.clone();
        tokio::spawn(async move { session.before_call(None).await.unwrap() })
    };
    while begun.load(Ordering::Relaxed) < 2 {
        tokio::task::yield_now().await;
    }
    // What is there now is looked at in its turn.
    session.replace(steps(60)).unwrap();
    gate.add_permits(2);
    let removed = late.await.unwrap().compaction.unwrap().removed;
    assert!(removed.iter().all(|message| steps(60).messages().contains(message)));
    assert!(session.conversation().len() < 60);
    session.replace(steps(2)).unwrap();
    assert!(session.before_call(None).await.unwrap().compaction.is_none());
    assert_eq!(session.conversation(), steps(2));
}

#[tokio::test]
async fn another_compactor_is_believed_only_where_it_keeps_the_laws() {
    type Made = fn(Conversation) -> Result<Conversation, String>;
    let without_task: Made = |now| {
        let rest = now.messages().iter().filter(|message| !message.is_real_user());
        Conversation::new(rest.map(|message| (**message).clone()))
            .map_err(|error| error.to_string())
    };
    let cases: [(Made, &str); 4] = [
        (|_| Ok(Conversation::default()), "message 0, which no compaction may touch"),
        (without_task, "message 1, which no compaction may touch"),
        (Ok, "its result is not smaller"),
        (|_| Err("out of ideas".into()), "out of ideas"),
    ];
    for (made, why) in cases {
        let failures = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&failures);
        let subscriber = move |happened: &Told| {
            if let Event::LayerFailed { error, .. } = &*happened.event {
                told.lock().unwrap().push(error.clone());
            }
        };
        let custom = Custom::new(move |now, _target| async move { made(now) });
        let policy = gated(&Arc::new(Semaphore::new(0)), &Arc::default()).with_compactor(custom);
        let guard = Guard::new(policy);
        guard.subscribe(subscriber).unwrap();
        let session = guard.resume("one", steps(40));
        let call = session.before_call(None).await.unwrap();
        assert!(matches!(call.compaction.map(|done| done.outcome), Some(Outcome::Nothing { .. })));
        assert_eq!(session.conversation(), steps(40));
        assert!(guard.flush(Duration::from_secs(60)));
        let failures = std::mem::take(&mut *failures.lock().unwrap());
        assert!(failures.len() == 1 && failures[0].starts_with(why), "{failures:?}");
        // It is not asked again until there is something new.
        assert!(session.before_call(None).await.unwrap().compaction.is_none());
    }
}

#[tokio::test]
async fn a_conversation_that_is_replaced_all_the_time_is_not_compacted_for_ever() {
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let session = Guard::new(gated(&gate, &begun)).resume("one", steps(40));
    let call = {
        let session = session.clone();
        tokio::spawn(async move { session.before_call(None).await.unwrap() })
    };
    let mut replaced = 0;
    while !call.is_finished() {
        if begun.load(Ordering::Relaxed) > replaced {
            replaced += 1;
            session.replace(steps(40)).unwrap();
            gate.add_permits(1);
        }
        tokio::task::yield_now().await;
    }
    let ready = call.await.unwrap();
    assert_eq!(replaced, 3);
    assert!(ready.compaction.is_none() && ready.refused.is_some_and(|why| why.contains("another")));
}

#[tokio::test]
async fn a_changed_policy_holds_from_the_next_call_on() {
    let (tight, wide) =
        (policy(WINDOW, Arc::new(Approximate)), policy(1_000_000, Arc::new(Approximate)));
    let guard = Guard::new(wide);
    let (one, other) = (guard.resume("one", steps(300)), guard.resume("other", steps(300)));
    assert!(one.before_call(None).await.unwrap().compaction.is_none());
    guard.reload(tight);
    assert!(one.before_call(None).await.unwrap().compaction.is_some());
    other.use_policy(policy(1_000_000, Arc::new(Approximate)));
    assert!(other.before_call(None).await.unwrap().compaction.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_conversations_at_once_come_out_as_they_do_alone() {
    let guard = Guard::new(policy(WINDOW, Arc::new(Approximate)));
    let alone = |count| {
        let guard = guard.clone();
        async move {
            let session = guard.resume(format!("{count} steps"), steps(count));
            session.before_call(Some(TOOLS)).await.unwrap();
            session.conversation()
        }
    };
    let together: Vec<_> = (0..64).map(|more| tokio::spawn(alone(260 + more))).collect();
    for (more, one) in together.into_iter().enumerate() {
        let made = one.await.unwrap();
        assert!(made.len() < 2 * (260 + more));
        assert_eq!(made, alone(260 + more).await, "{more}");
    }
}

#[tokio::test]
async fn what_is_given_up_is_in_the_archive_before_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path().join("archive"), ArchiveOptions::default());
    let archived = || policy(WINDOW, Arc::new(Approximate)).with_archive(archive.clone());
    let mut messages = vec![json!({"role": "user", "content": "Make all tests pass."})];
    for (index, output) in outputs().iter().enumerate().take(40) {
        let id = format!("call_{index}");
        let function = json!({"name": "shell", "arguments": "{}"});
        let call = json!({"id": id, "type": "function", "function": function});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
    }
    let request = json!({"messages": messages}).to_string();
    // A name that no file can have.
    let session = Guard::new(archived()).session("user 7/chat: 1");
    let fitted = session.fit(request.clone(), None).await.unwrap();
    assert!(fitted.compaction.is_some_and(|done| done.removed.len() > 5));
    let restored = archive.restore(&fitted.request, None, None).unwrap();
    assert!(restored.is_exact());
    assert_eq!(restored.text, request);

    // In code, each message is there by itself.
    let session = Guard::new(archived()).resume("code", steps(300));
    let removed = session.before_call(None).await.unwrap().compaction.unwrap().removed;
    let results = removed.iter().filter_map(|message| Some((message, message.result()?.1)));
    for (message, result) in results {
        let handle = Digest::of_message(message).handle();
        assert_eq!(archive.find(&handle, Some("code")).unwrap().text, *result.text);
    }

    // Where nothing can be kept, nothing is given up.
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "a file").unwrap();
    let full = Archive::at(&taken, ArchiveOptions::default());
    let failures = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&failures);
    let subscriber = move |happened: &Told| {
        if let Event::NotArchived { error, .. } = &*happened.event {
            told.lock().unwrap().push(error.clone());
        }
    };
    let policy = policy(WINDOW, Arc::new(Approximate)).with_archive(full);
    let guard = Guard::new(policy);
    guard.subscribe(subscriber).unwrap();
    let session = guard.resume("full", steps(300));
    for call in 0..3 {
        let ready = session.before_call(None).await.unwrap();
        assert!(ready.compaction.is_none());
        assert_eq!(ready.refused.is_some_and(|why| why.contains("taken")), call == 0);
        assert_eq!(session.conversation(), steps(300));
    }
    assert!(guard.flush(Duration::from_secs(60)));
    let failures = std::mem::take(&mut *failures.lock().unwrap());
    assert!(failures.len() == 1 && failures[0].contains("taken"), "{failures:?}");
}
