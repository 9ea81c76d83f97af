//! Most of what a compaction gives up is archived before the compaction, while the model is at work.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brute_core::{Approximate, Message, Part, Role, ToolCall, ToolResult};
use brute_host::archive::{Archive, ArchiveOptions, Digest};
use brute_host::guard::{Guard, Session, Told};
use brute_host::ladder::Event;

use super::{WINDOW, policy, steps};

/// The results among `removed`, of which there are some, are all to be found.
fn are_found(archive: &Archive, session: &str, removed: &[Arc<Message>]) {
    let results = removed.iter().filter_map(|message| Some((message, message.result()?.1)));
    let mut found = 0;
    for (message, result) in results {
        let handle = Digest::of_message(message).handle();
        assert_eq!(archive.find(&handle, Some(session)).unwrap().text, *result.text);
        found += 1;
    }
    assert!(found > 5, "{found}");
}

fn length(file: &Path) -> u64 {
    std::fs::metadata(file).map_or(0, |file| file.len())
}

/// Waits until a file of `least` bytes is there, and no longer grows.
async fn settled(file: &Path, least: u64) -> u64 {
    for tries in 0.. {
        let before = length(file);
        tokio::time::sleep(Duration::from_millis(20)).await;
        if before >= least && length(file) == before {
            return before;
        }
        assert!(tries < 500, "{} has {before} bytes", file.display());
    }
    unreachable!()
}

fn step(session: &Session, number: usize) {
    let id = format!("more{number}");
    let call = ToolCall { id: id.clone().into(), name: "read".into(), arguments: "{}".into() };
    let text = format!("{number} {}", "word".repeat(80));
    let result =
        ToolResult { call: id.into(), text: text.into(), media: Box::default(), is_error: false };
    session.push(Role::Assistant, [Part::ToolCall(call)]).unwrap();
    session.push(Role::Tool, [Part::ToolResult(result)]).unwrap();
}

/// Steps, with a call of the model before each, until a compaction comes.
async fn compacted(session: &Session, first: usize) -> Vec<Arc<Message>> {
    for number in first.. {
        step(session, number);
        if let Some(done) = session.before_call(None).await.unwrap().compaction {
            return done.removed;
        }
    }
    unreachable!()
}

/// A compaction that is due by the newest step alone.
async fn compacted_at_once(session: &Session) -> Vec<Arc<Message>> {
    let text = "word ".repeat(60_000);
    let call = ToolCall { id: "large".into(), name: "read".into(), arguments: "{}".into() };
    let result = ToolResult {
        call: "large".into(),
        text: text.into(),
        media: Box::default(),
        is_error: false,
    };
    session.push(Role::Assistant, [Part::ToolCall(call)]).unwrap();
    session.push(Role::Tool, [Part::ToolResult(result)]).unwrap();
    session.before_call(None).await.unwrap().compaction.unwrap().removed
}

#[tokio::test]
async fn a_compaction_waits_for_nothing_that_was_archived_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path(), ArchiveOptions::default());
    let guard = Guard::new(policy(WINDOW, Arc::new(Approximate)).with_archive(archive.clone()));

    // Far from a compaction, nothing is written.
    let session = guard.resume("far", steps(40));
    session.before_call(None).await.unwrap();
    // The sessions do their work one after the other.
    let session = guard.resume("near", steps(150));
    assert!(session.before_call(None).await.unwrap().compaction.is_none());
    let file = folder.path().join("near.jsonl");
    let before = settled(&file, 10_000).await;
    assert!(!folder.path().join("far.jsonl").exists());
    step(&session, 0);
    session.before_call(None).await.unwrap();
    let grown = settled(&file, before + 80).await;
    assert!(grown < before + 2_000, "what was there is not written again");

    // The compaction itself has no message to write.
    let messages = |file: &Path| {
        std::fs::read_to_string(file).unwrap().matches("\"record\":\"message\"").count()
    };
    let before = messages(&file);
    let removed = compacted_at_once(&session).await;
    assert_eq!(messages(&file), before);
    are_found(&archive, "near", &removed);
    session.replace(steps(150)).unwrap();

    // All of that goes at once, and again after it became other messages.
    let begun = steps(150);
    for round in 1..4 {
        let removed = compacted(&session, round * 1_000).await;
        are_found(&archive, "near", &removed);
        session.sync().await.unwrap();
        let original = archive.original("near", &session.conversation()).unwrap();
        assert_eq!((original.compactions, original.damage), (round, vec![]));
        assert_eq!(original.conversation.messages()[..begun.len()], *begun.messages());
        let results = removed.iter().filter(|message| message.result().is_some());
        let text = std::fs::read_to_string(&file).unwrap();
        for message in results {
            let digest = Digest::of_message(message).to_string();
            assert_eq!(text.matches(&format!("\"digest\":\"{digest}\"")).count(), 1);
        }
    }
}

/// A session near a compaction, all of which is in `archive`, and the file that it is in.
async fn archived_ahead(guard: &Guard, archive: &Archive) -> (Session, PathBuf) {
    let session = guard.resume("one", steps(150));
    assert!(session.before_call(None).await.unwrap().compaction.is_none());
    let file = archive.folder().join("one.jsonl");
    settled(&file, 10_000).await;
    step(&session, 0);
    (session, file)
}

fn guard(archive: &Archive) -> Guard {
    Guard::new(policy(WINDOW, Arc::new(Approximate)).with_archive(archive.clone()))
}

#[tokio::test]
async fn nobody_waits_for_who_has_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path(), ArchiveOptions::default());
    let guard = guard(&archive);
    let (session, file) = archived_ahead(&guard, &archive).await;
    let other = File::open(&file).unwrap();
    other.lock().unwrap();
    let compacted = tokio::time::timeout(Duration::from_secs(60), compacted_at_once(&session));
    let removed = compacted.await.expect("it does not wait");
    assert!(!has_way_back(&file));
    other.unlock().unwrap();
    session.sync().await.unwrap();
    are_found(&archive, "one", &removed);
    let original = archive.original("one", &session.conversation()).unwrap();
    assert_eq!((original.compactions, original.damage), (1, vec![]));
}

fn has_way_back(file: &Path) -> bool {
    std::fs::read_to_string(file).unwrap().contains("\"record\":\"exchange\"")
}

#[tokio::test]
async fn a_way_back_that_cannot_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path().join("archive"), ArchiveOptions::default());
    let guard = guard(&archive);
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    guard
        .subscribe(move |told: &Told| {
            if let Event::NoWayBack { error } = &*told.event {
                listener.lock().unwrap().push(error.clone());
            }
        })
        .unwrap();
    let (session, _) = archived_ahead(&guard, &archive).await;
    std::fs::rename(archive.folder(), folder.path().join("moved")).unwrap();
    std::fs::write(archive.folder(), "a file").unwrap();
    compacted_at_once(&session).await;
    session.sync().await.unwrap();
    assert!(guard.flush(Duration::from_secs(60)));
    let told = std::mem::take(&mut *told.lock().unwrap());
    assert!(told.len() == 1 && told[0].contains("archive"), "{told:?}");
}

#[tokio::test]
async fn what_was_archived_ahead_and_is_gone_is_archived_again() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path().join("archive"), ArchiveOptions::default());
    let guard = Guard::new(policy(WINDOW, Arc::new(Approximate)).with_archive(archive.clone()));
    let session = guard.resume("one", steps(150));
    assert!(session.before_call(None).await.unwrap().compaction.is_none());
    session.sync().await.unwrap();
    // The sweep behind it may be at work in there.
    while std::fs::remove_dir_all(folder.path().join("archive")).is_err() {
        tokio::task::yield_now().await;
    }
    // What comes ahead from here on makes the file anew, with nothing of before in it.
    step(&session, 0);
    assert!(session.before_call(None).await.unwrap().compaction.is_none());
    session.sync().await.unwrap();
    assert!(folder.path().join("archive/one.jsonl").is_file());
    let removed = compacted(&session, 1).await;
    are_found(&archive, "one", &removed);

    // Nor does an archive of before do for the one that a new policy names.
    let other = Archive::at(folder.path().join("other"), ArchiveOptions::default());
    guard.reload(policy(WINDOW, Arc::new(Approximate)).with_archive(other.clone()));
    let removed = compacted(&session, 1_000).await;
    are_found(&other, "one", &removed);
}
