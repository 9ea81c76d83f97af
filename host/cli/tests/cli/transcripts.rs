//! The logs of agents, in every verb that takes a conversation.

use super::place::Place;

const LOG: &str = r#"{"type":"session","id":"s","cwd":"/tmp","modelId":"gpt-4o"}
{"type":"message","message":{"role":"user","content":"First task."}}
{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"ls"}}],"usage":{"input":90,"output":5}}}
{"type":"message","message":{"role":"user","content":"Stop. Second task."}}
{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"usage":{"input":95,"output":5}}}
{"type":"compaction","summary":"There was a first task.","firstKeptEntryIndex":3,"tokensBefore":100}
{"type":"message","message":{"role":"user","content":"Third task."}}
{"type":"message","message":{"role":"us
"#;

fn place() -> Place {
    Place::with([("log.jsonl", LOG)])
}

#[test]
fn count_says_what_was_found() {
    let ended = place().brute("count log.jsonl --by role");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    for words in [
        "from the log of an agent (pi, 8 records)",
        "what was still in the",
        "a summary of",
        "1  session: it is told beside the conversation",
        "1  line: it is no complete JSON",
    ] {
        assert!(ended.out.contains(words), "{words}:\n{}", ended.out);
    }
}

#[test]
fn programs_get_the_facts_too() {
    let ended = place().brute("count log.jsonl --json");
    let facts = ended.out_json();
    assert_eq!(facts["format"], "openai-chat");
    assert_eq!(facts["messages"], 4);
    let log = &facts["log"];
    assert_eq!(
        (&log["kind"], &log["records"], &log["whole"]),
        (&"pi".into(), &8.into(), &false.into())
    );
    let compaction = &log["compactions"][0];
    assert_eq!((&compaction["tokens-before"], &compaction["replaced"]), (&100.into(), &2.into()));
    assert_eq!((&compaction["at"], &compaction["line"]), (&3.into(), &6.into()));
    assert!(compaction["left"]["summary"].as_str().is_some_and(|text| text.contains("first task")));
    let whole = place().brute("count log.jsonl --json --whole").out_json();
    assert_eq!(whole["messages"], 6);
    assert_eq!(whole["log"]["reports"], 2);
    assert_eq!(whole["log"]["problems"][0]["line"], 3);
}

#[test]
fn compact_writes_the_request_and_says_so() {
    let place = place();
    let ended = place.brute("compact log.jsonl");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(
        ended.err.matches("log.jsonl is the log of an agent (pi)").count(),
        1,
        "{}",
        ended.err
    );
    let request = ended.out_json();
    assert_eq!(request["model"], "gpt-4o");
    assert_eq!(request["messages"][3]["content"], "Third task.");
    // What was written is no log any more.
    let again = place.piped("compact - --json", &ended.out);
    assert_eq!((again.code, &again.out), (Some(0), &ended.out));
}

#[test]
fn explain_goes_by_what_the_log_says_that_the_provider_counted() {
    let explained = place().brute("explain log.jsonl --json").out_json();
    assert_eq!(explained["provider"]["reported"], 100);
}

#[test]
fn a_format_that_is_said_is_not_looked_for() {
    let place = place();
    assert_eq!(place.brute("count log.jsonl --format pi").code, Some(0));
    let ended = place.brute("count log.jsonl --format openai-chat");
    assert_eq!(ended.code, Some(3), "{}", ended.out);
    let ended = place.brute("count log.jsonl --format claude-code");
    assert!(ended.err.contains("the claude-code log holds no message"), "{}", ended.err);
    let ended = place.brute("count log.jsonl --pick 1");
    assert!(ended.err.contains("there is no conversation 1: the pi log holds 1"), "{}", ended.err);
}

/// What a program wrote that embeds the guard is a conversation as any other.
#[test]
fn a_session_log_of_our_own_is_read_by_every_verb() {
    let log = include_str!("../../../tests/transcripts/brute-session.jsonl");
    let place = Place::with([("own.jsonl", log)]);
    let counted = place.brute("count own.jsonl --json --window 100000").out_json();
    assert_eq!(counted["log"]["kind"], "brute-session");
    assert_eq!(counted["messages"], 5);
    assert_eq!(counted["log"]["compactions"][1]["replaced"], 4);
    let whole = place.brute("count own.jsonl --json --whole --window 100000").out_json();
    assert_eq!(whole["messages"], 9);
    let compacted = place.brute("compact own.jsonl --window 100000");
    assert_eq!(compacted.code, Some(0), "{}", compacted.err);
    assert_eq!(compacted.out_json()["messages"][4]["content"], "Thanks.");
    for line in [
        "explain own.jsonl --window 100000",
        "compact own.jsonl --whole --window 100000",
        "replay own.jsonl --window 100000",
        "repair own.jsonl",
        "convert own.jsonl --to gemini",
    ] {
        let ended = place.brute(line);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.err);
    }
    let later = log.replacen("\"version\":1", "\"version\":9", 1);
    let ended = place.piped("count -", &later);
    assert!(
        ended.err.contains("it is of version 9, and this brute knows version 1"),
        "{}",
        ended.err
    );
}
