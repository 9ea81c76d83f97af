//! Files that hold several conversations: which there are is said, and any can be had.

use super::*;
use crate::transcripts::{TranscriptError, read_named};

/// A log of each kind that may mix conversations, of `one` and `two`, who say their names.
fn logs() -> Vec<(Kind, String)> {
    let each = |record: &dyn Fn(&str, &str) -> String| {
        let turns = [("one", "first"), ("two", "second"), ("one", "third")];
        turns.map(|(name, words)| record(name, words)).join("\n")
    };
    let apart = |record: &dyn Fn(&str, &str) -> String| {
        [("one", "first third"), ("two", "second")]
            .map(|(name, words)| record(name, words))
            .join("\n")
    };
    vec![
        (
            Kind::ClaudeStreamJson,
            each(&|name, words| {
                format!(
                    r#"{{"type":"user","message":{{"role":"user","content":"{words}"}},"session_id":"{name}"}}"#
                )
            }),
        ),
        (
            Kind::ClaudeCode,
            apart(&|name, words| {
                format!(
                    r#"{{"type":"user","uuid":"{name}","parentUuid":null,"sessionId":"{name}","message":{{"role":"user","content":"{words}"}}}}"#
                )
            }),
        ),
        (
            Kind::CodexAppServer,
            each(&|name, words| {
                format!(
                    r#"{{"method":"item/completed","params":{{"threadId":"{name}","item":{{"type":"userMessage","id":"1","content":[{{"type":"text","text":"{words}"}}]}}}}}}"#
                )
            }),
        ),
        (
            Kind::Opencode,
            each(&|name, words| {
                format!(
                    r#"{{"info":{{"id":"m","role":"user","sessionID":"{name}"}},"parts":[{{"type":"text","text":"{words}"}}]}}"#
                )
            }),
        ),
        (
            Kind::Pi,
            apart(&|name, words| {
                format!(
                    "{{\"type\":\"session\",\"id\":\"{name}\",\"cwd\":\"/\"}}\n{{\"type\":\"message\",\"message\":{{\"role\":\"user\",\"content\":\"{words}\"}}}}"
                )
            }),
        ),
        (
            Kind::GeminiCli,
            apart(&|name, words| {
                format!(
                    r#"{{"sessionId":"{name}","projectHash":"p","messages":[{{"id":"1","type":"user","content":"{words}"}}]}}"#
                )
            }),
        ),
        (
            Kind::Atif,
            apart(&|name, words| {
                format!(
                    r#"{{"schema_version":"ATIF-v1","session_id":"{name}","steps":[{{"step_id":1,"source":"user","message":"{words}"}}]}}"#
                )
            }),
        ),
    ]
}

#[test]
fn of_several_conversations_none_is_chosen_silently() {
    for (kind, log) in logs() {
        let error = read(log.as_bytes(), &Options::default()).unwrap_err();
        let TranscriptError::Several { count: 2, kind: found, names } = &error else {
            panic!("{kind}: {error}")
        };
        assert_eq!((*found, names.as_str()), (kind, "`one`, `two`"));
        for (pick, name, said, others) in
            [(0, "one", &["first", "third"][..], "second"), (1, "two", &["second"], "first")]
        {
            let by_place = Options { pick: Some(pick), ..Options::default() };
            let by_place = transcript(log.as_bytes(), &by_place);
            let Input::Transcript(by_name) =
                read_named(log.as_bytes(), &Options::default(), name).unwrap()
            else {
                panic!("{kind}")
            };
            assert_eq!(by_place.request(), by_name.request());
            assert!(said.iter().all(|said| by_name.request().contains(said)), "{kind} {name}");
            assert!(!by_name.request().contains(others), "{kind} {name}");
        }
        let error = read_named(log.as_bytes(), &Options::default(), "three").unwrap_err();
        assert!(
            error.to_string().contains("`three`") && error.to_string().contains("`one`, `two`"),
            "{error}"
        );
    }
}

/// A session that goes on from another's messages is one conversation with it, and a stream that only tells
/// how it ended is none.
#[test]
fn what_goes_on_is_no_conversation_of_its_own() {
    let log = [
        r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"a","message":{"role":"user","content":"go"}}"#,
        r#"{"type":"user","uuid":"2","parentUuid":"1","sessionId":"b","message":{"role":"user","content":"on"}}"#,
    ];
    let read = transcript(log.join("\n").as_bytes(), &Options::default());
    assert!(read.request().contains("go") && read.request().contains("on"));
    let log = [
        r#"{"type":"user","session_id":"a","message":{"role":"user","content":"go"}}"#,
        r#"{"type":"result","subtype":"success","session_id":"b"}"#,
    ];
    assert!(transcript(log.join("\n").as_bytes(), &Options::default()).request().contains("go"));
}
