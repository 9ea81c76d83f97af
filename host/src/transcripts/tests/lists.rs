//! Agents whose logs are lists of messages: pi and opencode.

use super::*;
use crate::transcripts::{Left, Trigger};

#[test]
fn pi_is_read_from_what_its_compaction_keeps() {
    let values = values(&sample("pi.jsonl"));
    let place = values.iter().position(|value| value["type"] == "compaction").unwrap();
    let kept = values[place]["firstKeptEntryIndex"].as_u64().unwrap() as usize;
    let messages = |from: &[Value]| from.iter().filter(|value| value["type"] == "message").count();
    let (transcript, document) = live("pi.jsonl");
    let (found, ..) = counts(&document);
    assert_eq!(found, 1 + messages(&values[kept..]));
    let user = texts(&document, Role::User);
    assert!(user[0].ends_with("<summary>\nThe first two tasks.\n</summary>"), "{user:?}");
    assert_eq!(user[1..3], ["Stop. Third task.", "Ran `date`\n```\nMonday\n```"]);
    let [compaction] = transcript.compactions() else { panic!("one compaction") };
    assert_eq!(compaction.left, Left::Summary(user[0].clone()));
    assert_eq!((compaction.tokens_before, compaction.trigger), (Some(131_140), None));
    // An empty reply is none.
    assert_eq!(compaction.replaced, messages(&values[..kept]) - 1);
    assert_eq!(compaction.at, Some(4), "it happened behind what it kept");
}

#[test]
fn pi_as_a_whole_has_every_call_and_an_answer_to_each() {
    let values = values(&sample("pi.jsonl"));
    let calls = values.iter().filter_map(|value| value["message"]["content"].as_array()).flatten();
    let calls = calls.filter(|block| block["type"] == "toolCall").count();
    let results = values.iter().filter(|value| value["message"]["role"] == "toolResult").count();
    let (transcript, document) = whole("pi.jsonl");
    let (_, found_calls, found_results) = counts(&document);
    assert_eq!((found_calls, found_results), (calls, results + 1));
    assert_eq!(texts(&document, Role::Tool), ["a b", "/tmp", "[no result was recorded]"]);
    assert_eq!(transcript.format(), Format::Anthropic, "a signature has a place there");
    let usage: Vec<u64> = transcript.reports().iter().map(|report| report.usage.total()).collect();
    assert_eq!(usage, [105, 207]);
    let problems: Vec<String> = transcript.problems().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(problems.join("\n"), @r"
    line 8: read 2 records that are glued together
    line 8: the log holds no result for `c3`; put `[no result was recorded]` in its place
    ");
}

#[test]
fn pi_keeps_to_the_branch_that_leads_to_its_newest_entry() {
    let entry = |id: &str, parent: &str, role: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let log = [
        r#"{"type":"session","version":3,"id":"s","cwd":"/tmp"}"#.to_owned(),
        entry("1", "null", "user", "one"),
        entry("2", "\"1\"", "assistant", "two"),
        entry("3", "\"2\"", "user", "taken back"),
        entry("4", "\"2\"", "user", "three"),
        r#"{"type":"compaction","id":"5","parentId":"4","summary":"so far","firstKeptEntryId":"4","tokensBefore":9}"#.to_owned(),
        entry("6", "\"5\"", "assistant", "four"),
    ];
    let read =
        |whole| transcript(log.join("\n").as_bytes(), &Options { whole, ..Options::default() });
    let whole = read(true);
    assert!(whole.request().contains("one") && !whole.request().contains("taken back"));
    let live = read(false);
    assert!(live.request().contains("so far") && live.request().contains("three"));
    assert!(!live.request().contains("\"one\""));
    assert_eq!(live.compactions()[0].replaced, 2);
}

#[test]
fn opencode_is_read_step_by_step_and_from_its_summary_on() {
    let export: Value = serde_json::from_slice(&sample("opencode.json")).unwrap();
    let parts = || {
        export["messages"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|message| message["parts"].as_array().unwrap())
    };
    let calls = parts().filter(|part| part["type"] == "tool").count();
    let ended = |part: &&Value| {
        part["state"]["status"] == "completed" || part["state"]["status"] == "error"
    };
    let results = parts().filter(ended).count();
    let (transcript, document) = whole("opencode.json");
    let (_, found_calls, found_results) = counts(&document);
    assert_eq!((found_calls, found_results), (calls, results));
    assert_eq!(texts(&document, Role::Assistant), ["", "Done.", ""], "a step is a reply");
    assert_eq!(texts(&document, Role::Tool), ["one", "no such file", "ok"]);
    let compactions = transcript.compactions();
    let (pruned, summarized) = (&compactions[0], &compactions[1]);
    assert_eq!(pruned.left, Left::Cleared(1));
    assert_eq!(summarized.left, Left::Summary("It was fixed.".to_owned()));
    assert_eq!((summarized.trigger, summarized.tokens_before), (Some(Trigger::Auto), Some(120)));
    assert_eq!(transcript.records(), export["messages"].as_array().unwrap().len());

    let (transcript, document) = live("opencode.json");
    assert_eq!(texts(&document, Role::User), ["What did we do so far?", "Now test."]);
    assert_eq!(texts(&document, Role::Assistant), ["It was fixed.", ""]);
    assert_eq!(document.conversation().outline().pending.len(), 1);
    assert_eq!(transcript.compactions()[1].at, Some(0));
}

#[test]
fn rows_of_opencodes_database_are_refused_with_a_way_out() {
    let rows = r#"[{"id":"msg_1","session_id":"ses_1","data":"{\"role\":\"user\"}"}]"#;
    let error = read(rows.as_bytes(), &Options::default()).unwrap_err().to_string();
    assert!(error.contains("`opencode export`"), "{error}");
}
