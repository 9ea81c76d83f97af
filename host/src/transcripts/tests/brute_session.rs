//! Session logs of this program: what they say is what `SessionLog` goes on with.

use brute_core::{Conversation, MessageId, ToolCall, ToolResult};

use super::*;
use crate::session_log::SessionLog;
use crate::transcripts::{Left, TranscriptError};

fn said(id: u64, role: Role, text: &str) -> Message {
    Message::new(MessageId(id), role, [Part::text(text)])
}

/// A call, and the result that answers it.
fn called(id: u64, result: &str) -> [Message; 2] {
    let name = format!("c{id}");
    let (call, answers) = (name.clone().into(), name.into());
    let call = ToolCall { id: call, name: "bash".into(), arguments: r#"{"a":1}"#.into() };
    let (text, media) = (result.into(), Vec::new().into());
    let result = ToolResult { call: answers, text, media, is_error: false };
    [
        Message::new(MessageId(id), Role::Assistant, [Part::ToolCall(call)]),
        Message::new(MessageId(id + 1), Role::Tool, [Part::ToolResult(result)]),
    ]
}

fn roles_and_texts(conversation: &Conversation) -> Vec<(Role, String)> {
    conversation.messages().iter().map(|message| (message.role(), text(message))).collect()
}

/// What comes of the log at `path`, beside what it goes on with.
fn read_log(path: &std::path::Path, whole: bool) -> (Transcript, Document) {
    let bytes = std::fs::read(path).unwrap();
    let read = transcript(&bytes, &Options { whole, ..Options::default() });
    let document = Document::read(read.request(), &ReadOptions::default()).unwrap();
    (read, document)
}

#[test]
fn what_a_log_goes_on_with_is_read_and_all_that_was_said_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut log = SessionLog::open(&path).unwrap().log;
    let mut now: Vec<Message> = vec![said(0, Role::System, "sys"), said(1, Role::User, "ask")];
    now.extend(called(2, "long result"));
    now.push(said(4, Role::Assistant, "answer"));
    let all = |messages: &[Message]| Conversation::new(messages.to_vec()).unwrap();
    now.iter().for_each(|message| log.pushed(message).unwrap());
    let check = |now: &[Message], said: &[Message], cuts: &[(usize, Left)]| {
        let recorded = SessionLog::read(&path).unwrap();
        for (whole, expected) in [(false, now), (true, said)] {
            let (read, document) = read_log(&path, whole);
            assert_eq!(read.kind(), Kind::BruteSession);
            assert_eq!(read.problems(), []);
            let expected = roles_and_texts(&all(expected));
            assert_eq!(roles_and_texts(document.conversation()), expected, "{whole}");
            if !whole {
                assert_eq!(roles_and_texts(&recorded.conversation), expected);
            }
            let told = read.compactions().iter();
            let told: Vec<_> = told.map(|cut| (cut.replaced, cut.left.clone())).collect();
            assert_eq!(told, cuts);
        }
    };
    check(&now, &now, &[]);

    // A result is cleared where it stands.
    let mut whole = now.clone();
    let mut after = now.clone();
    let [_, cleared] = called(2, "[cleared]");
    after[3] = cleared;
    log.compacted(&all(&now), &all(&after)).unwrap();
    let first = (1, Left::Cleared(1));
    check(&after, &whole, std::slice::from_ref(&first));

    // What is said next, and a summary of all before it.
    let next = said(5, Role::User, "next");
    log.pushed(&next).unwrap();
    whole.push(next.clone());
    after.push(next.clone());
    let summed = [after[0].clone(), said(6, Role::User, "summary"), next];
    // The ids go up, whatever stands where.
    log.compacted(&all(&after), &all(&summed)).unwrap();
    let second = (3, Left::Summary("summary".into()));
    check(&summed, &whole, &[first, second]);
    let last = said(7, Role::Assistant, "done");
    log.pushed(&last).unwrap();
    whole.push(last.clone());
    let (read, _) = read_log(&path, true);
    let at: Vec<_> = read.compactions().iter().map(|cut| cut.at).collect();
    assert_eq!(at, [Some(5), Some(6)]);

    // Another conversation in its place has nothing of what went before.
    let [system, summary, next] = summed;
    let before = all(&[system.clone(), summary, next, last]);
    let anew = [system, said(8, Role::User, "anew")];
    log.turned(&before, &all(&anew)).unwrap();
    check(&anew, &anew, &[]);
}

#[test]
fn each_part_is_sent_or_told() {
    let (read, document) = live("brute-session.jsonl");
    let summary = "A rule was missing in the file of make.";
    assert_eq!(counts(&document), (5, 0, 0));
    assert_eq!(texts(&document, Role::User), [summary, "Add it.", "Thanks."]);
    let (read_whole, document) = whole("brute-session.jsonl");
    assert_eq!(counts(&document), (9, 2, 2));
    assert_eq!(texts(&document, Role::Tool), ["error: no rule", ""]);
    for read in [read, read_whole] {
        let told: HashSet<_> = read.skipped().iter().map(|skipped| &*skipped.kind).collect();
        for kind in ["header", "message"] {
            assert!(told.contains(kind), "{kind}: {told:?}");
        }
        let replaced: Vec<_> = read.compactions().iter().map(|cut| cut.replaced).collect();
        assert_eq!((replaced, read.problems()), (vec![1, 4], &[][..]));
    }
}

#[test]
fn of_another_version_and_of_an_empty_log_is_said_what_it_is() {
    let header = |version| format!("{{\"format\":\"brute session log\",\"version\":{version}}}\n");
    let error = |text: &str| read(text.as_bytes(), &Options::default()).unwrap_err();
    let later = error(&header(2));
    assert!(matches!(later, TranscriptError::Unreadable { .. }));
    assert_eq!(
        later.to_string(),
        "the brute-session log cannot be read: it is of version 2, and this brute knows version 1: \
         take the brute that wrote it"
    );
    let empty = error(&header(1));
    assert!(matches!(empty, TranscriptError::NoMessages { .. }), "{empty}");
}

/// A killed process leaves the beginning of a line, and some change what they did not write.
#[test]
fn what_does_not_fit_is_told() {
    let log = String::from_utf8(sample("brute-session.jsonl")).unwrap();
    let torn = transcript(&log.as_bytes()[..log.len() - 20], &Options::default());
    assert!(torn.skipped().iter().any(|skipped| skipped.kind == "line"));
    let twisted =
        transcript(log.replace("\"went\":[3]", "\"went\":[77]").as_bytes(), &Options::default());
    let told = "line 8: made a change as far as it fits what stands before it";
    assert!(twisted.problems().iter().any(|problem| problem.to_string() == told));
}
