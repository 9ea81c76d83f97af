//! Conversations that are on disk as well.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use brute_core::testing::notation;
use brute_core::{Approximate, Conversation, MarkKind, Part, Role, ToolCall};
use brute_host::formats::{Document, ReadOptions};
use brute_host::guard::{Guard, Policy, Session};
use brute_host::ladder::{Budget, Compactor, Rung};
use brute_host::session_log::{LogError, Opened, Recorded, SessionLog};
use brute_sliding_window::SlidingWindow;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{gated, steps, truncator};

/// A policy under which ten steps of 100 tokens are too many.
fn small() -> Policy {
    let budget = Budget::new(2_000, 0, 1_000, 500).unwrap();
    let ladder = Compactor::new(Arc::new(Approximate), budget);
    Policy::new(ladder.rung(Rung::new("sliding-window", SlidingWindow::default())), truncator())
}

fn read(path: &Path) -> Recorded {
    SessionLog::read(path).unwrap()
}

#[track_caller]
fn check(session: &Session, path: &Path) {
    let (now, logged) = (session.conversation(), read(path));
    assert_eq!(logged.conversation, now);
    assert!(!logged.is_torn);
}

fn call(id: &str) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: "shell".into(), arguments: "{}".into() })
}

#[tokio::test]
async fn whatever_happens_to_a_conversation_is_in_its_log_when_it_is_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let guard = Guard::new(small());
    let session = guard.logged("one", SessionLog::open(&path).unwrap());
    session.push(Role::System, [Part::text("You mend things.")]).unwrap();
    session.push(Role::User, [Part::text("Make all tests pass.")]).unwrap();
    check(&session, &path);
    let mut compactions = 0;
    for index in 0..40 {
        let ready = session.before_call(None).await.unwrap();
        compactions += usize::from(ready.compaction.is_some());
        check(&session, &path);
        let id = format!("c{index}");
        session.after_call(&ready, [call(&id)], None).unwrap();
        check(&session, &path);
        let output = "word ".repeat(80).into_bytes();
        session.tool_result(&id, "shell", output, false).await.unwrap();
        check(&session, &path);
        // What does not fit is in neither.
        let orphan = session.tool_result("none", "shell", Vec::new(), false).await;
        assert!(orphan.is_err());
        check(&session, &path);
    }
    assert!(compactions > 5);
    assert_eq!(read(&path).compactions, compactions);
    // Back to an earlier point, and something else.
    let earlier = session.read(|now| now.messages()[..2].to_vec());
    let earlier = earlier.into_iter().map(|message| (*message).clone());
    for other in [Conversation::new(earlier).unwrap(), steps(3), steps(4), Conversation::default()]
    {
        session.replace(other).unwrap();
        check(&session, &path);
    }
    session.push(Role::User, [Part::text("And the docs.")]).unwrap();
    session.sync().await.unwrap();
    let (now, next) = session.read(|now| (now.clone(), now.next_id()));
    drop(session);
    let opened = SessionLog::open(&path).unwrap();
    assert_eq!(opened.recorded.conversation.next_id(), next);
    let session = guard.logged("one", opened);
    assert_eq!(session.conversation(), now);
    session.push(Role::Assistant, [Part::text("I see.")]).unwrap();
    check(&session, &path);
}

#[tokio::test]
async fn what_is_appended_during_a_compaction_is_logged_once_and_a_replacement_wins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::default());
    let guard = Guard::new(gated(&gate, &begun));
    let session = guard.logged("one", SessionLog::open(&path).unwrap());
    for is_late in [false, true] {
        session.replace(steps(40)).unwrap();
        let before = begun.load(Ordering::Relaxed);
        let calling = session.clone();
        let call = tokio::spawn(async move { calling.before_call(None).await.unwrap() });
        while begun.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
        match is_late {
            false => {
                session.push(Role::User, [Part::text("And the docs.")]).unwrap();
            }
            true => session.replace(steps(2)).unwrap(),
        }
        gate.add_permits(1);
        assert_eq!(call.await.unwrap().compaction.is_none(), is_late);
        check(&session, &path);
    }
    assert_eq!(session.conversation(), steps(2));
    assert_eq!(read(&path).compactions, 1);
}

/// A request with so many steps, whose results begin with `K` and their number.
fn request(results: std::ops::Range<usize>) -> String {
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    for index in results {
        let id = format!("f{index}");
        let function = json!({"name": "read_file", "arguments": "{}"});
        let call = json!({"id": id, "type": "function", "function": function});
        let content = format!("K{index} {}", "word ".repeat(60));
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
    }
    json!({"messages": messages}).to_string()
}

#[tokio::test]
async fn what_was_handed_out_as_json_comes_back_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let guard = Guard::new(small());
    let mut session = guard.logged("one", SessionLog::open(&path).unwrap());
    let mut body: Value = serde_json::from_str(&request(0..1)).unwrap();
    let mut compactions = 0;
    for index in 1..30 {
        let fitted = session.fit(body.to_string(), None).await.unwrap();
        compactions += usize::from(fitted.compaction.is_some());
        let document = Document::read(fitted.request.clone(), &ReadOptions::default()).unwrap();
        assert_eq!(read(&path).conversation, *document.conversation(), "{index}");
        if index % 3 == 0 {
            // A process that goes on sends the same again, and that is nothing new.
            drop(session);
            let before = fs::read(&path).unwrap();
            session = guard.logged("one", SessionLog::open(&path).unwrap());
            let again = session.fit(fitted.request.clone(), None).await.unwrap();
            assert_eq!(again.request, fitted.request);
            assert_eq!(fs::read(&path).unwrap(), before, "{index}");
        }
        body = serde_json::from_slice(&fitted.request).unwrap();
        let more: Value = serde_json::from_str(&request(index..index + 1)).unwrap();
        let more = more["messages"].as_array().unwrap()[1..].to_vec();
        body["messages"].as_array_mut().unwrap().extend(more);
    }
    assert!(compactions >= 3, "{compactions}");
    assert_eq!(read(&path).compactions, compactions);
}

#[tokio::test]
async fn a_narrower_view_takes_nothing_out_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let session = Guard::new(small()).logged("one", SessionLog::open(&path).unwrap());
    session.fit(request(0..5), None).await.unwrap();
    let before = fs::read(&path).unwrap();
    // The agent lost sight of what is older, and what it sees is compacted.
    session.fit(request(3..16), None).await.unwrap();
    check(&session, &path);
    let after = fs::read(&path).unwrap();
    assert!(after.starts_with(&before) && read(&path).compactions == 1);
    let text = String::from_utf8(after).unwrap();
    for index in 0..16 {
        assert!(text.contains(&format!("K{index} ")), "{index}");
    }
}

#[tokio::test]
async fn messages_that_went_without_a_summary_do_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let guard = Guard::new(small());
    let session = guard.logged("one", SessionLog::open(&path).unwrap());
    session.replace(steps(20)).unwrap();
    let before = session.conversation();
    let compaction = session.before_call(None).await.unwrap().compaction.unwrap();
    drop(session);
    let mut loaded = read(&path).conversation;
    assert_eq!(loaded.measure(&Approximate), compaction.after);
    let removed = compaction.removed.iter();
    assert!(removed.clone().all(|gone| !loaded.messages().contains(gone)) && removed.len() > 10);
    // Where a later process goes on there is nothing to compact again.
    let session = guard.logged("one", SessionLog::open(&path).unwrap());
    assert!(session.before_call(None).await.unwrap().compaction.is_none());
    assert!(session.conversation() == loaded && loaded.len() < before.len());
}

#[tokio::test]
async fn a_summary_and_what_it_stands_for_are_never_both_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let summarized = brute_host::guard::Custom::new(|now: Conversation, _| async move {
        let (first, rest) = now.messages().split_at(2);
        let kept = rest.iter().skip(rest.len() - 4);
        let marks = now.messages().iter().filter(|message| message.mark().is_some()).count();
        let summary = notation::messages(&format!("summary 9 SUM-{marks}")).remove(0);
        let summary = brute_core::Message::new(now.next_id(), summary.role(), summary.parts());
        let all = first.iter().chain(kept).map(|message| (**message).clone());
        let mut all: Vec<_> = all.collect();
        all.insert(2, summary);
        Conversation::new(all)
    });
    let guard = Guard::new(small().with_compactor(summarized));
    let mut session = guard.logged("one", SessionLog::open(&path).unwrap());
    session.replace(steps(20)).unwrap();
    for round in 1..4 {
        let before = session.conversation();
        assert!(session.before_call(None).await.unwrap().compaction.is_some());
        let saved = session.conversation();
        drop(session);
        session = guard.logged("one", SessionLog::open(&path).unwrap());
        let loaded = session.conversation();
        assert_eq!((&loaded, read(&path).compactions), (&saved, round));
        let kinds = loaded.messages().iter().map(|message| message.mark().map(|mark| mark.kind));
        let summaries = kinds.enumerate().filter(|(_, kind)| *kind == Some(MarkKind::Summary));
        assert_eq!(summaries.map(|(place, _)| place).collect::<Vec<_>>(), [2]);
        assert!(!loaded.messages().contains(&before.messages()[2]));
        for index in 0..20 {
            let ready = session.before_call(None).await.unwrap();
            if ready.compaction.is_some() {
                break;
            }
            let id = format!("r{round}-{index}");
            session.after_call(&ready, [call(&id)], None).unwrap();
            let output = "word ".repeat(80).into_bytes();
            session.tool_result(&id, "shell", output, false).await.unwrap();
            if session.size(None) >= 1_000 {
                break;
            }
        }
    }
}

#[test]
fn of_several_that_append_and_compact_none_loses_what_another_was_told() {
    const WRITERS: usize = 4;
    const EACH: usize = 60;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    drop(SessionLog::open(&path).unwrap());
    let (path, is_over) = (path.as_path(), AtomicBool::new(false));
    let said = |writer, index| format!("message {index} of {writer} {}", "word ".repeat(20));
    let when_free = || -> Opened {
        loop {
            match SessionLog::open(path) {
                Err(LogError::InUse { .. }) => std::thread::yield_now(),
                opened => return opened.unwrap(),
            }
        }
    };
    let write = |writer| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // As a process of its own: it has the file for one message.
        for index in 0..EACH {
            let session = Guard::new(small()).logged("shared", when_free());
            session.push(Role::User, [Part::text(said(writer, index))]).unwrap();
            session.push(Role::Assistant, [Part::text("I see.")]).unwrap();
            if index % 3 == 0 {
                runtime.block_on(session.before_call(None)).unwrap();
            }
        }
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|one| scope.spawn(move || write(one))).collect();
        let reader = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                read(path);
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    let text = fs::read_to_string(path).unwrap();
    for (writer, index) in (0..WRITERS).flat_map(|one| (0..EACH).map(move |index| (one, index))) {
        assert_eq!(text.matches(&said(writer, index)).count(), 1, "{index} of {writer}");
    }
    let Recorded { conversation, compactions, .. } = read(path);
    assert!(compactions >= 5 && conversation.len() < WRITERS * EACH / 2, "{compactions}");
}
