//! Claude Code: its sessions and its streams.

use std::collections::BTreeSet;

use super::*;
use crate::transcripts::{Left, Trigger};

fn blocks<'a>(values: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let contents = values.iter().filter_map(|value| value["message"]["content"].as_array());
    contents.flatten().filter(|block| block["type"] == kind).collect()
}

#[test]
fn a_session_is_joined_paired_and_cleared_of_what_is_not_said() {
    let values: Vec<Value> = values(&sample("claude-code.jsonl"));
    // What the model was told is all but subagents, the branch that was taken back and the API's error.
    let gone = ["b1", "b2", "e1", "s1", "s2"];
    let kept: Vec<Value> = values
        .iter()
        .filter(|value| value["message"].is_object())
        .filter(|value| {
            !gone.contains(&value["uuid"].as_str().unwrap())
                || value["isSidechain"] == false && value["uuid"] == "s1"
        })
        .cloned()
        .collect();
    let replies: BTreeSet<&str> =
        kept.iter().filter_map(|value| value["message"]["id"].as_str()).collect();
    let calls = blocks(&kept, "tool_use").len();
    let results = blocks(&kept, "tool_result").len();
    let (transcript, document) = live("claude-code.jsonl");
    let (_, found_calls, found_results) = counts(&document);
    assert_eq!(found_calls, calls);
    // One result answers a call that the log does not hold, and one call was never answered.
    assert_eq!(found_results, results - 1 + 1);
    assert_eq!(texts(&document, Role::Assistant).len(), replies.len());
    assert_eq!(
        texts(&document, Role::User),
        [
            "List the parser's files.",
            "Explain the lexer instead.",
            "[Request interrupted by user for tool use]|Go on."
        ]
    );
    assert_eq!(
        texts(&document, Role::Tool),
        ["lexer.rs\nparser.rs \"main\"", "fn parse() {}", "", "[no result was recorded]"]
    );
    let problems: Vec<String> = transcript.problems().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(problems.join("\n"), @r"
    line 3: passed over a result for `toolu_gone`, a call that the log does not hold
    line 18: read 2 records that are glued together
    line 18: the log holds no result for `toolu_4`; put `[no result was recorded]` in its place
    ");
    let skipped: Vec<String> = transcript.skipped().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(skipped.join("\n"), @r"
    2 × message of a subagent: it has a context of its own
    2 × message that was taken back: the session went on from before it
    1 × summary: it is told beside the conversation
    1 × file-history-snapshot: it is told beside the conversation
    1 × progress: it is told beside the conversation
    1 × API error: it is told to the user, not to the model
    ");
    assert_eq!(transcript.records(), values.len());
    assert_eq!(transcript.model(), Some("claude-sonnet-4-5"));
}

#[test]
fn each_reply_is_counted_once_by_its_last_piece() {
    let (transcript, document) = live("claude-code.jsonl");
    let reports = transcript.reports();
    assert_eq!(reports.len(), texts(&document, Role::Assistant).len());
    assert_eq!((reports[0].usage.input, reports[0].usage.output), (1023, 77));
    let at: Vec<usize> = reports.iter().map(|report| report.message).collect();
    assert_eq!(at, [1, 3, 5, 7]);
}

#[test]
fn what_is_not_touched_is_the_logs_own_bytes() {
    let (transcript, _) = live("claude-code.jsonl");
    for block in [
        r#"{"type":"thinking","thinking":"Look first.","signature":"c2ln"}"#,
        r#"{"type":"tool_use","id":"toolu_2","name":"Read","input":{"path":"src/lexer.rs"}}"#,
        r#"{"type":"tool_result","tool_use_id":"toolu_2","content":"","is_error":true}"#,
    ] {
        assert!(transcript.request().contains(block), "{block}");
    }
    assert!(!transcript.request().contains("toolUseResult"));
}

#[test]
fn the_live_part_is_what_stands_behind_the_compaction() {
    let (transcript, document) = live("claude-code-compacted.jsonl");
    let [summarized, cleared] = transcript.compactions() else { panic!("two compactions") };
    assert_eq!((summarized.at, summarized.tokens_before), (Some(0), Some(155_000)));
    assert_eq!(summarized.trigger, Some(Trigger::Auto));
    assert!(
        matches!(&summarized.left, Left::Summary(text) if text.ends_with("The lexer splits text."))
    );
    assert_eq!(cleared.left, Left::Cleared(1));
    assert_eq!((cleared.at, cleared.replaced, cleared.tokens_before), (Some(4), 0, Some(61_000)));
    let user = texts(&document, Role::User);
    assert!(user[0].starts_with("This session is being continued"), "{user:?}");
    assert_eq!(user.len(), 2);
    assert_eq!(texts(&document, Role::Tool), ["[Old tool result content cleared]"]);
    // The last call waits for its result: the run was killed.
    assert_eq!(document.conversation().outline().pending.len(), 1);
    let last = transcript.problems().last().unwrap().to_string();
    assert!(last.contains("the log ends before the result for `toolu_6`"), "{last}");
    assert!(transcript.skipped().iter().any(|skipped| skipped.why == "it is no complete JSON"));
}

#[test]
fn the_whole_is_all_that_was_ever_there_and_no_summary_of_it() {
    let (transcript, document) = whole("claude-code-compacted.jsonl");
    let (_, before) = live("claude-code.jsonl");
    let (messages, calls, results) = counts(&document);
    let (had, had_calls, had_results) = counts(&before);
    // A result, a question and three replies came after the summary, of which the first stands directly
    // behind the last reply before.
    assert_eq!((messages, calls, results), (had + 4, had_calls + 2, had_results + 1));
    assert!(!transcript.request().contains("This session is being continued"));
    assert!(transcript.request().contains("ok ok ok"));
    let compaction = &transcript.compactions()[0];
    assert_eq!(compaction.at, Some(before.wire_len()));
    // Messages on the wire are fewer: some of the log's are one there.
    assert_eq!(compaction.replaced, 12);
}

#[test]
fn a_stream_begins_with_a_request_that_it_does_not_hold() {
    let (transcript, document) = whole("claude-stream-json.jsonl");
    assert_eq!(texts(&document, Role::User), ["[the request is not in the log]"]);
    assert_eq!(counts(&document), (5, 3, 2));
    assert_eq!(texts(&document, Role::Tool), ["two", "one \u{1b}[31mred\u{1b}[0m"]);
    let compaction = &transcript.compactions()[0];
    assert_eq!((compaction.trigger, compaction.at), (Some(Trigger::Manual), Some(3)));
    let (_, document) = live("claude-stream-json.jsonl");
    assert_eq!(counts(&document), (2, 1, 0));
    assert_eq!(document.model().as_deref(), Some("claude-opus-4-5"));
}

#[test]
fn a_log_of_subagents_alone_is_their_session() {
    let line = |role: &str, uuid: &str, content: &str| {
        format!(
            r#"{{"type":"{role}","uuid":"{uuid}","sessionId":"s","parentUuid":null,"isSidechain":true,"message":{{"role":"{role}","id":"{uuid}","content":"{content}"}}}}"#
        )
    };
    let log = [line("user", "1", "go"), line("assistant", "2", "done")].join("\n");
    let transcript = transcript(log.as_bytes(), &Options::default());
    assert!(transcript.request().contains("done"));
    assert!(transcript.skipped().is_empty());
}

#[test]
fn an_empty_summary_is_none() {
    let log = [
        r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"old"}}"#,
        r#"{"type":"system","subtype":"compact_boundary","uuid":"2","sessionId":"s","compactMetadata":{"preTokens":9}}"#,
        r#"{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s","isCompactSummary":true,"message":{}}"#,
        r#"{"type":"user","uuid":"4","parentUuid":"3","sessionId":"s","message":{"role":"user","content":"new"}}"#,
    ];
    let transcript = transcript(log.join("\n").as_bytes(), &Options::default());
    assert_eq!(transcript.compactions()[0].left, Left::Nothing);
    assert!(transcript.request().contains("new") && !transcript.request().contains("old"));
}
