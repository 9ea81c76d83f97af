//! What a conversation that lives names stays on disk, whichever guard or program sweeps.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use brute_core::{Approximate, Conversation, Part, Role, ToolCall};
use brute_host::archive::{Archive, ArchiveOptions};
use brute_host::guard::{Guard, Policy, Session};
use brute_host::quantity::ByteSize;
use brute_host::truncation::{TruncateOptions, Truncator};
use serde_json::json;

use super::{WINDOW, ladder, steps};

/// Says to this test that it is the other program, and where.
const PLACE: &str = "BRUTE_TEST_LIVE_PLACE";

/// A truncator and an archive that keep nothing that nobody needs.
fn at(place: &Path) -> (Truncator, Archive) {
    let spill = Some(place.join("spill").display().to_string());
    let max_total = ByteSize(0);
    let options = TruncateOptions { spill, max_total, ..TruncateOptions::default() };
    let archived = ArchiveOptions { max_total, ..ArchiveOptions::default() };
    (Truncator::new(options).unwrap(), Archive::at(place.join("archive"), archived))
}

fn guard(place: &Path) -> Guard {
    let (truncator, archive) = at(place);
    let ladder = ladder(WINDOW, Arc::new(Approximate));
    Guard::new(Policy::new(ladder, truncator).with_archive(archive))
}

/// How many full texts and sessions a sweep by somebody else removes.
fn swept(place: &Path) -> (usize, usize) {
    let (truncator, archive) = at(place);
    let later = SystemTime::now() + Duration::from_secs(100 * 86_400);
    let swept = [truncator.sweep(later, &HashSet::new()), archive.sweep(later, &HashSet::new())];
    assert!(swept.iter().all(|swept| swept.errors.is_empty()), "{swept:?}");
    (swept[0].removed, swept[1].removed)
}

/// A session with something in the archive, and two results whose full texts are on disk.
async fn session(guard: &Guard) -> Session {
    let session = guard.resume("one", steps(300));
    assert!(session.before_call(None).await.unwrap().compaction.is_some());
    for text in ["row\n", "line\n"] {
        let id = text.trim().to_owned();
        let call = ToolCall { id: id.clone().into(), name: "shell".into(), arguments: "{}".into() };
        session.push(Role::Assistant, [Part::ToolCall(call)]).unwrap();
        let output = text.repeat(50_000).into_bytes();
        session.tool_result(&id, "shell", output, false).await.unwrap();
    }
    session
}

#[tokio::test]
async fn no_other_guard_removes_what_a_conversation_names() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let one = guard(place);
    let first = session(&one).await;
    assert_eq!(swept(place), (0, 0));
    // A text of a result that the agent appends later, or that was appended by itself.
    let text = first.capped("shell", "more\n".repeat(50_000).into_bytes()).await;
    assert_eq!(swept(place), (0, 0));
    let conversation = first.conversation();
    drop((first, one));
    let other = guard(place);
    let second = other.resume("one", conversation);
    // Nobody named that one.
    assert_eq!(swept(place), (1, 0));
    second.replace(Conversation::default()).unwrap();
    assert_eq!(swept(place), (2, 0));
    // One that is kept as JSON.
    let text_again = second.capped("shell", "more\n".repeat(50_000).into_bytes()).await;
    assert_eq!(text, text_again);
    drop(second);
    let third = other.session("three");
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "shell", "arguments": "{}"}});
    let messages = json!({"messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": text},
    ]});
    third.fit(messages.to_string(), None).await.unwrap();
    assert_eq!(swept(place), (0, 1));
    drop(third);
    assert_eq!(swept(place), (1, 0));
}

/// The other program; nothing unless it is told where.
#[tokio::test]
async fn a_program_lives() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let guard = guard(Path::new(&place));
    let _session = session(&guard).await;
    println!("\nit lives");
    // Until it is killed.
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn no_other_program_removes_what_a_conversation_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "live::a_program_lives", "--nocapture"]).env(PLACE, folder.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.map_while(Result::ok).any(|line| line == "it lives"));
    assert_eq!(swept(folder.path()), (0, 0));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(swept(folder.path()), (2, 1));
    // Nothing is left of it but when it swept.
    for within in ["spill", "archive"] {
        let left = std::fs::read_dir(folder.path().join(within)).unwrap();
        let left: Vec<_> = left.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(left, [".swept"], "{within}");
    }
}
