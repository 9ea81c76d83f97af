//! Files: torn, damaged, shared, unwritable, old.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use brute_core::{Message, MessageId, Part, Role, ToolResult};

use super::*;
use crate::formats::{Document, Format, ReadOptions};
use crate::quantity::{ByteSize, Span};

fn archive(folder: &Path) -> Archive {
    Archive::at(folder.join("archive"), ArchiveOptions::default())
}

fn list(words: &[&str]) -> String {
    let messages =
        words.iter().map(|word| serde_json::json!({"role": "user", "content": word}).to_string());
    format!("[{}]", messages.collect::<Vec<_>>().join(",\n "))
}

fn keep(session: &mut Session, before: &str, after: &str) -> Result<Kept, ArchiveError> {
    let (before, after) = (before.as_bytes(), after.as_bytes());
    session.compacted(&Compacted::read(Format::OpenaiChat, before, after, None)?)
}

fn result(call: &str, text: &str) -> Arc<Message> {
    let result =
        ToolResult { call: call.into(), text: text.into(), media: Box::default(), is_error: false };
    Arc::new(Message::new(MessageId(3), Role::Tool, [Part::ToolResult(result)]))
}

#[test]
fn a_file_torn_at_any_byte_loses_nothing_that_was_acknowledged() {
    let root = tempfile::tempdir().unwrap();
    let archive = archive(root.path());
    let (a, b, c) = (list(&["x", "y", "z"]), list(&["Y", "z"]), list(&["N\n\u{e9}"]));
    let mut session = archive.session("s").unwrap();
    keep(&mut session, &a, &b).unwrap();
    let path = session.path().to_owned();
    let acknowledged = fs::read(&path).unwrap();
    keep(&mut session, &b, &c).unwrap();
    let whole = fs::read(&path).unwrap();
    for end in acknowledged.len()..whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let is_torn = whole[end - 1] != b'\n';
        // Readers pass over it and say so.
        let restored = archive.restore(b.as_bytes(), None, None).unwrap();
        assert_eq!(restored.text, a);
        assert_eq!(restored.damage == [Damage::Torn { path: path.clone() }], is_torn, "{end}");
        assert!(matches!(
            archive.restore(c.as_bytes(), None, None),
            Ok(Restored { compactions: 0, .. })
        ));
        // The next writer puts it aside, and goes on.
        let kept = keep(&mut archive.session("s").unwrap(), &b, &c).unwrap();
        assert_eq!(kept.torn.is_some(), is_torn, "{end}");
        if let Some(torn) = kept.torn {
            assert!(whole[..end].ends_with(&fs::read(&torn).unwrap()));
            fs::remove_file(torn).unwrap();
        }
        assert_eq!(archive.restore(c.as_bytes(), None, None).unwrap().text, a);
        assert_eq!(fs::read_dir(archive.folder()).unwrap().count(), 1);
    }
    // Also in its very first line.
    for end in 0..40 {
        fs::write(&path, &whole[..end]).unwrap();
        keep(&mut archive.session("s").unwrap(), &a, &b).unwrap();
        assert_eq!(archive.restore(b.as_bytes(), None, None).unwrap().text, a);
    }
}

#[test]
fn a_damaged_line_is_named_and_passed_over() {
    let root = tempfile::tempdir().unwrap();
    let archive = archive(root.path());
    let (a, b) = (list(&["x", "y"]), list(&["Y"]));
    let mut session = archive.session("s").unwrap();
    keep(&mut session, &a, &b).unwrap();
    let path = session.path().to_owned();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen('\n', "\nwhat is this\n", 1)).unwrap();
    let restored = archive.restore(b.as_bytes(), None, None).unwrap();
    assert_eq!(
        (restored.text, restored.damage),
        (a, vec![Damage::Line { path: path.clone(), line: 2 }])
    );
    // A message that is gone is named; nothing is made up.
    fs::write(&path, text.replace("\"wire\"", "\"what\"")).unwrap();
    let error = archive.restore(b.as_bytes(), None, None).unwrap_err();
    assert!(matches!(&error, ArchiveError::Lacks { .. }), "{error}");
    fs::write(&path, "{\"record\":\"session\",\"version\":2}\n").unwrap();
    for error in [
        archive.restore(b.as_bytes(), None, None).unwrap_err(),
        keep(&mut session, &b, &list(&["Z"])).unwrap_err(),
    ] {
        assert_eq!(error, ArchiveError::Newer { path: path.clone(), version: 2 });
    }
}

#[test]
fn one_message_is_there_once_and_one_compaction_too() {
    let root = tempfile::tempdir().unwrap();
    let archive = archive(root.path());
    let mut session = archive.session("s").unwrap();
    let start = list(&["x", "y", "z"]);
    assert_eq!(keep(&mut session, &start, &list(&["z"])).unwrap().messages, 2);
    assert_eq!(keep(&mut session, &start, &list(&["z"])).unwrap().bytes, 0);
    let mut other = archive.session("s").unwrap();
    assert_eq!(keep(&mut other, &start, &list(&["Z"])).unwrap().messages, 1);
    // The first value sees what the second added.
    assert_eq!(keep(&mut session, &start, &list(&["Q"])).unwrap().messages, 0);
    let nothing = keep(&mut session, &start, &start).unwrap();
    assert_eq!((nothing.messages, nothing.bytes), (0, 0));
}

#[test]
fn many_writers_do_not_mix_their_lines() {
    let root = tempfile::tempdir().unwrap();
    let archive = archive(root.path());
    let long = "long ".repeat(4000);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (archive, long) = (&archive, &long);
            scope.spawn(move || {
                let mut session = archive.session("s").unwrap();
                for round in 0..8 {
                    let before = list(&[&format!("{writer} {round} {long}"), "go"]);
                    keep(&mut session, &before, &list(&[&format!("{writer}.{round}"), "go"]))
                        .unwrap();
                }
            });
        }
    });
    for (writer, round) in (0..8).flat_map(|writer| (0..8).map(move |round| (writer, round))) {
        let after = list(&[&format!("{writer}.{round}"), "go"]);
        let restored = archive.restore(after.as_bytes(), None, Some("s")).unwrap();
        assert_eq!(restored.text, list(&[&format!("{writer} {round} {long}"), "go"]));
        assert_eq!(restored.damage, []);
    }
}

#[test]
fn messages_of_the_model_are_found_by_their_handles() {
    let root = tempfile::tempdir().unwrap();
    let archive = archive(root.path());
    let mut session = archive.session("s").unwrap();
    let user =
        Arc::new(Message::new(MessageId(0), Role::User, [Part::text("one"), Part::text("two")]));
    let removed = [user, result("c1", "line\nline 2\n"), result("c2", "")];
    assert_eq!(session.keep(&removed).unwrap().messages, 3);
    assert_eq!(session.keep(&removed).unwrap().messages, 0);
    for (message, text) in removed.iter().zip([
        "one\n\ntwo",
        "line\nline 2\n",
        r#"[{"tool-result":{"call":"c2","text":"","media":[],"is-error":false}}]"#,
    ]) {
        let digest = Digest::of_message(message);
        for handle in [digest.handle(), digest.to_string(), digest.to_string()[..6].to_owned()] {
            assert_eq!(archive.find(&handle, None).unwrap().text, text);
        }
    }
    for (handle, expected) in [
        ("000000000000", "no message of the archive at"),
        ("hello", "`hello` is no handle"),
        ("abc", "`abc` is no handle"),
    ] {
        let error = archive.find(handle, None).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    assert!(matches!(archive.find("000000000000", Some("t")), Err(ArchiveError::NoSession { .. })));
}

/// The reply of a model is an item for each thought, text and call in OpenAI Responses, and what a tool saw may
/// stand behind its result.
#[test]
fn a_message_that_stands_in_several_is_found_whole() {
    let items = [
        r#"{"role":"user","content":"go"}"#,
        r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"Plan."}]}"#,
        r#"{"type":"message","role":"assistant","content":"Looking."}"#,
        r#"{"type":"function_call","call_id":"1","name":"ls","arguments":"{}"}"#,
        r#"{"type":"function_call_output","call_id":"1","output":"a"}"#,
        r#"{"role":"user","content":"on"}"#,
    ];
    let before = format!(r#"{{"model":"gpt-5","input":[{}]}}"#, items.join(","));
    let after = format!(r#"{{"model":"gpt-5","input":[{}]}}"#, items[5]);
    let document = Document::read(before.as_str(), &ReadOptions::default()).unwrap();
    let removed: Vec<_> = document.conversation().messages()[..3].to_vec();
    let root = tempfile::tempdir().unwrap();
    let archive = archive(root.path());
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let compacted = Compacted::read(document.format(), before, after, None).unwrap();
    archive.session("s").unwrap().compacted(&compacted.removed(&document, &removed)).unwrap();
    let digests: Vec<Digest> = removed.iter().map(|message| Digest::of_message(message)).collect();
    let texts = ["go", "Plan.\n\nLooking.\n\nls {}", "a"];
    for (at, text) in texts.into_iter().enumerate() {
        let found = archive.find(&digests[at].handle(), None).unwrap();
        assert_eq!((found.text.as_str(), found.next), (text, digests.get(at + 1).copied()));
    }
}

#[test]
fn a_handle_that_two_messages_begin_with_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let archive = archive(root.path());
    // Among so many, two share their first six digits.
    let removed: Vec<_> = (0..20_000).map(|call| result(&call.to_string(), "x")).collect();
    archive.session("s").unwrap().keep(&removed).unwrap();
    let mut seen = HashSet::new();
    let begins = |message: &Arc<Message>| Digest::of_message(message).to_string()[..6].to_owned();
    let twice = removed.iter().map(begins).find(|begin| !seen.insert(begin.clone())).unwrap();
    let error = archive.find(&twice, None).unwrap_err();
    let ArchiveError::Ambiguous { candidates, .. } = &error else { panic!("{error}") };
    assert!(candidates.len() > 1 && error.to_string().contains(&candidates[0].to_string()));
    assert!(archive.find(&candidates[0].to_string(), None).is_ok());
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let archive = archive(root.path());
    let mut session = archive.session("s").unwrap();
    let (a, b, c) = (list(&["x", "y"]), list(&["Y"]), list(&["Z"]));
    keep(&mut session, &a, &b).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(archive.folder()), 0o700);
    assert_eq!(mode(session.path()), 0o600);
    let mut file = fs::OpenOptions::new().append(true).open(session.path()).unwrap();
    file.write_all(b"{\"rec").unwrap();
    let torn = keep(&mut session, &b, &c).unwrap().torn.unwrap();
    assert_eq!((mode(&torn), fs::read(&torn).unwrap().as_slice()), (0o600, &b"{\"rec"[..]));
    // A link is not followed.
    let target = root.path().join("target");
    fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, archive.folder().join("link.jsonl")).unwrap();
    let error = keep(&mut archive.session("link").unwrap(), &a, &b).unwrap_err();
    assert!(matches!(error, ArchiveError::Write { .. }), "{error}");
    assert_eq!(fs::read(&target).unwrap(), b"");
}

#[test]
fn what_cannot_be_written_is_said() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let archive = Archive::at(file.join("archive"), ArchiveOptions::default());
    let mut session = archive.session("s").unwrap();
    let error = keep(&mut session, &list(&["x", "y"]), &list(&["y"])).unwrap_err();
    let expected = format!("cannot write to the archive at `{}`: ", file.join("archive").display());
    assert!(error.to_string().starts_with(&expected), "{error}");
    for name in ["", ".", "..", "a/b", ".hidden", "a b", &"x".repeat(101)] {
        assert!(matches!(archive.session(name), Err(ArchiveError::Name { .. })), "{name}");
    }
}

#[test]
fn a_session_that_was_swept_while_it_was_open_begins_anew() {
    let root = tempfile::tempdir().unwrap();
    let archive = archive(root.path());
    let mut session = archive.session("s").unwrap();
    let (a, b, c) = (list(&["x", "y", "z"]), list(&["Y", "z"]), list(&["N"]));
    keep(&mut session, &a, &b).unwrap();
    fs::remove_file(session.path()).unwrap();
    keep(&mut session, &a, &c).unwrap();
    assert_eq!(archive.restore(c.as_bytes(), None, None).unwrap().text, a);
}

#[test]
fn age_and_size_decide_but_not_over_what_lives() {
    let root = tempfile::tempdir().unwrap();
    let day = Duration::from_secs(86_400);
    let now = SystemTime::now();
    let limits = ArchiveOptions { max_age: Span::from_secs(10 * 86_400), ..Default::default() };
    let archive = Archive::at(root.path(), limits);
    let mut largest = 0;
    for (name, days) in [("live", 20), ("old", 12), ("new", 1), ("newest", 0)] {
        let mut session = archive.session(name).unwrap();
        keep(&mut session, &list(&[name, "y"]), &list(&["y"])).unwrap();
        let file = fs::File::options().append(true).open(session.path()).unwrap();
        file.set_modified(now - day * days).unwrap();
        largest = largest.max(file.metadata().unwrap().len());
    }
    let torn = root.path().join("old-x.torn");
    fs::write(&torn, "half").unwrap();
    fs::File::options().append(true).open(&torn).unwrap().set_modified(now - day * 11).unwrap();
    fs::write(root.path().join("notes.txt"), "mine").unwrap();
    let live = HashSet::from(["live".to_owned()]);
    let swept = archive.sweep(now, &live);
    assert_eq!((swept.removed, swept.kept, swept.errors.len()), (2, 3, 0));
    let there = |name: &str| root.path().join(format!("{name}.jsonl")).exists();
    assert!(there("live") && !there("old") && there("new") && there("newest"));
    // Somebody writes to it just now.
    let busy = fs::File::open(root.path().join("new.jsonl")).unwrap();
    busy.lock().unwrap();
    let tight = ArchiveOptions { max_total: ByteSize(largest * 2), ..ArchiveOptions::default() };
    let tight = Archive::at(root.path(), tight);
    assert_eq!(tight.sweep(now, &live).removed, 0);
    drop(busy);
    assert_eq!(tight.sweep(now, &live).removed, 1);
    assert!(there("live") && !there("new") && there("newest"));
    assert!(tight.sweep_if_due(now, || live.clone()).is_some());
    assert!(tight.sweep_if_due(now, HashSet::new).is_none());
    assert!(root.path().join("notes.txt").exists());
}

#[test]
fn only_a_folder_that_is_named_is_an_archive() {
    let of = |folder: Option<&str>| {
        Archive::new(ArchiveOptions { folder: folder.map(Into::into), ..Default::default() })
    };
    assert!(of(None).is_none() && of(Some("")).is_none());
    assert!(of(Some("~/x")).unwrap().folder().is_absolute());
}
