//! Agents whose logs are events, and benchmarks that keep trajectories.

use super::*;
use crate::transcripts::Left;

fn picked(name: &str, pick: usize) -> (Transcript, Document) {
    of(name, &Options { pick: Some(pick), ..Options::default() })
}

fn problems(transcript: &Transcript) -> Vec<String> {
    transcript.problems().iter().map(ToString::to_string).collect()
}

/// How often `needle` stands in the log `name`.
fn times(name: &str, needle: &str) -> usize {
    String::from_utf8(sample(name)).unwrap().matches(needle).count()
}

#[test]
fn openhands_pairs_by_cause_and_forgets_what_was_condensed() {
    let name = "openhands.json";
    let events: Vec<Value> = serde_json::from_slice(&sample(name)).unwrap();
    let calls = events.iter().filter(|event| event["tool_call_metadata"].is_object()).count();
    let caused = events
        .iter()
        .filter(|event| event["cause"].is_u64() && event["observation"] != "recall")
        .count();
    let (transcript, document) = whole(name);
    let (_, found_calls, found_results) = counts(&document);
    assert_eq!((found_calls, found_results), (calls, caused));
    assert_eq!(texts(&document, Role::Tool), ["/tmp", "a b", "1 one"]);
    assert_eq!(texts(&document, Role::Assistant), ["Looking.", "", "Two."]);
    assert_eq!(texts(&document, Role::System), ["You help."]);
    assert!(document.tools_text().unwrap().contains("execute_bash"));
    assert_eq!(transcript.model(), Some("claude-3-7-sonnet"));
    assert_eq!(transcript.records(), events.len());
    let (transcript, document) = live(name);
    assert_eq!(texts(&document, Role::User), ["Count.", "It looked."]);
    assert_eq!(texts(&document, Role::Tool), ["1 one"]);
    let [compaction] = transcript.compactions() else { panic!("one condensation") };
    assert_eq!(
        (compaction.replaced, &compaction.left),
        (3, &Left::Summary("It looked.".to_owned()))
    );
}

#[test]
fn an_evaluation_of_openhands_has_a_session_in_each_line_and_calls_without_ids() {
    let name = "openhands-output.jsonl";
    let error = read(sample(name).as_slice(), &Options::default()).unwrap_err();
    insta::assert_snapshot!(error, @"the openhands log holds 2 conversations (`issue 5`, `issue 7`); choose one with `Options::pick`, from 0 to 1, or by its name");
    let error = read(sample(name).as_slice(), &Options { pick: Some(2), ..Options::default() })
        .unwrap_err();
    insta::assert_snapshot!(error, @"there is no conversation 2: the openhands log holds 2, counted from 0");
    for pick in [0, 1] {
        let (transcript, document) = picked(name, pick);
        let lines = times(name, "\n");
        assert_eq!(counts(&document).1, times(name, "\"thought\":") / lines - 1, "all but the end");
        assert_eq!(texts(&document, Role::Tool), ["a", "2"]);
        assert_eq!(texts(&document, Role::Assistant), ["First.", "", "All done."]);
        assert_eq!(problems(&transcript), Vec::<String>::new());
        let call = document.conversation().messages()[1].calls().next().unwrap().1.clone();
        assert_eq!((&*call.name, &*call.arguments), ("run", r#"{"command":"ls /var/log/app"}"#));
    }
}

#[test]
fn the_sdk_of_openhands_joins_the_calls_of_one_response() {
    let name = "openhands-sdk.json";
    let (transcript, document) = whole(name);
    let results = times(name, "\"ObservationEvent\"") + times(name, "\"AgentErrorEvent\"");
    let (_, found_calls, found_results) = counts(&document);
    assert_eq!((found_calls, found_results), (times(name, "\"ActionEvent\""), results));
    assert_eq!(texts(&document, Role::Assistant), ["Looking.", "", "Done."]);
    assert_eq!(texts(&document, Role::System), ["You help more."]);
    let (live, document) = live(name);
    assert_eq!(texts(&document, Role::User), ["Go.", "Listed."]);
    assert_eq!(live.compactions()[0].replaced, 3);
    assert!(
        transcript.skipped().iter().any(|skipped| skipped.kind == "ConversationStateUpdateEvent")
    );
}

#[test]
fn inspect_looks_up_what_is_attached() {
    let name = "inspect.json";
    let (transcript, document) = picked(name, 1);
    assert_eq!(texts(&document, Role::System), ["You are an expert."]);
    assert_eq!(texts(&document, Role::User), ["Two?"]);
    assert_eq!(texts(&document, Role::Tool), ["out", "m"]);
    let call = document.conversation().messages()[2].calls().next().unwrap().1.clone();
    assert_eq!(call.arguments, r#"{"cmd":"find / -name \"x\""}"#.into());
    let [problem] = transcript.problems() else { panic!("one result that nobody asked for") };
    assert!(problem.what.contains("`x9`"), "{problem}");
    let [report] = transcript.reports() else { panic!("the last reply's") };
    assert_eq!((report.message, report.usage.input), (document.wire_len() - 1, 65));
}

#[test]
fn atif_finds_the_call_of_a_result_that_names_none() {
    let name = "atif.json";
    let (transcript, document) = live(name);
    assert_eq!(counts(&document).1, times(name, "\"tool_call_id\""));
    assert_eq!(counts(&document).2, times(name, "\"tool_call_id\""));
    assert_eq!(
        texts(&document, Role::Tool),
        ["two", r#"{ "flights": [ 1 ]}"#.replace(' ', "").as_str()]
    );
    assert_eq!(texts(&document, Role::System), ["You plan.", "Checked.|all well"]);
    assert!(document.tools_text().is_some());
    assert_eq!(transcript.reports()[0].usage.total(), 49);
    let (_, lines) = live("atif.jsonl");
    assert_eq!((counts(&lines), lines.model().as_deref()), ((2, 1, 0), Some("grok")));
}

#[test]
fn steps_of_calls_and_results_are_joined_to_replies() {
    let name = "atif-steps.json";
    let (transcript, document) = live(name);
    assert_eq!(
        counts(&document),
        (5, times(name, "\"tool_call\""), times(name, "\"tool_result\""))
    );
    assert_eq!(texts(&document, Role::Tool), ["/tmp", "no"]);
    assert_eq!(texts(&document, Role::User), ["Start."]);
    assert_eq!(transcript.reports().len(), 2);
}

#[test]
fn langchain_says_a_call_twice_and_means_it_once() {
    let name = "langchain.json";
    let (transcript, document) = live(name);
    assert_eq!(
        counts(&document),
        (7, times(name, "\"tool_call_id\""), times(name, "\"tool_call_id\""))
    );
    assert_eq!(texts(&document, Role::Assistant), ["Reading.", "", "Read."]);
    assert_eq!(transcript.reports().len(), 1);
    assert_eq!(transcript.format(), Format::OpenaiChat);
}

#[test]
fn gemini_begins_at_its_snapshot_and_answers_a_call_that_was_cancelled() {
    let name = "gemini-cli.json";
    let (transcript, document) = live(name);
    assert_eq!(counts(&document).1, times(name, "\"args\""));
    assert_eq!(
        texts(&document, Role::Tool),
        ["written", r#"{"error":"no","code":1}"#, "[no result was recorded]"]
    );
    assert!(texts(&document, Role::User)[0].starts_with("<state_snapshot>"));
    assert_eq!(transcript.compactions()[0].replaced, 2);
    assert_eq!(transcript.reports()[0].usage.total(), 12_151);
    let (_, document) = whole(name);
    assert_eq!(texts(&document, Role::User), ["Old work.", "Write."]);
    let (transcript, document) = live("gemini-cli.jsonl");
    assert_eq!(texts(&document, Role::User), ["One.", "Two."]);
    assert_eq!(texts(&document, Role::Assistant), ["partly."]);
    assert_eq!(transcript.records(), times("gemini-cli.jsonl", "\n"));
}

#[test]
fn codex_reads_items_and_not_what_is_said_of_them() {
    let name = "codex-rollout.jsonl";
    let (transcript, document) = live(name);
    assert_eq!(counts(&document).1, times(name, "_call\","));
    assert_eq!(counts(&document).2, times(name, "_output\",\"call_id"));
    assert_eq!(texts(&document, Role::System), ["You code.", "Be careful."]);
    assert_eq!(
        texts(&document, Role::User),
        ["<environment_context>linux</environment_context>", "Fix."]
    );
    assert_eq!(texts(&document, Role::Assistant), ["Fixing.", "Fixed."]);
    let patch = document.conversation().messages()[4].calls().nth(1).unwrap().1.clone();
    assert_eq!(&*patch.arguments, "*** Begin Patch");
    assert_eq!(transcript.reports()[0].usage.total(), 41_148);
    // Each item is as it stands in the log, what only its provider can read included.
    let items =
        values(&sample(name)).into_iter().filter(|record| record["type"] == "response_item");
    let items = items.map(|record| record["payload"].clone());
    let items: Vec<Value> = items.filter(|item| item["type"] != "ghost_snapshot").collect();
    let request: Value = serde_json::from_str(transcript.request()).unwrap();
    assert_eq!(request["input"].as_array().unwrap(), &items);
    assert_eq!(
        (transcript.format(), &request["instructions"]),
        (Format::OpenaiResponses, &"You code.".into())
    );
    let (_, document) = live("codex-old.jsonl");
    assert_eq!(counts(&document), (5, 1, 1));
    assert_eq!(texts(&document, Role::System), ["You code."]);
}

#[test]
fn codex_goes_on_from_what_its_compaction_left() {
    let (transcript, document) = live("codex-compacted.jsonl");
    assert_eq!(texts(&document, Role::Assistant), ["All is tested."]);
    assert_eq!(texts(&document, Role::User).last().unwrap(), "Ship.");
    let [first, second] = transcript.compactions() else { panic!("two compactions") };
    assert_eq!(first.left, Left::Summary("Summary: it is fixed.".to_owned()));
    assert_eq!((first.at, first.tokens_before), (None, Some(41_148)));
    assert_eq!(
        (second.left.clone(), second.replaced),
        (Left::Summary("All is tested.".to_owned()), 2)
    );
    let (transcript, document) = whole("codex-compacted.jsonl");
    assert_eq!(texts(&document, Role::Assistant), ["Fixing.", "Fixed.", "Tested."]);
    assert_eq!(transcript.compactions()[0].at, Some(document.wire_len() - 3));
}

#[test]
fn the_app_server_of_codex_tells_a_call_with_its_result() {
    let name = "codex-app-server.jsonl";
    let (transcript, document) = live(name);
    let calls = times(name, "commandExecution") + times(name, "mcpToolCall");
    assert_eq!(counts(&document), (6, calls, calls));
    assert_eq!(texts(&document, Role::Assistant), ["Hey.", "", "Bye."]);
    assert_eq!(texts(&document, Role::Tool)[0], "a\nb");
    assert_eq!(transcript.skipped()[0].kind, "comment");
}

#[test]
fn cline_answers_calls_in_the_words_of_the_user() {
    let name = "cline.json";
    let (transcript, document) = live(name);
    assert_eq!(counts(&document), (6, times(name, "\"tool_use\""), times(name, "] Result:")));
    assert_eq!(
        texts(&document, Role::Tool),
        ["[read_file for 'a'] Result:\none", "[list_files for '.'] Result:\na"]
    );
    assert_eq!(transcript.reports()[0].usage.total(), 125);
    assert_eq!(transcript.format(), Format::Anthropic);
}

#[test]
fn aider_is_told_by_its_marks() {
    let (transcript, document) = picked("aider.md", 0);
    assert_eq!(texts(&document, Role::User), ["Rename the function\nand its callers.", "Thanks."]);
    assert_eq!(texts(&document, Role::Assistant).len(), 2);
    assert!(texts(&document, Role::Assistant)[0].ends_with("    pass\n```"));
    assert!(transcript.skipped().iter().any(|skipped| skipped.kind == "command"));
    let (_, document) = picked("aider.md", 1);
    assert_eq!(texts(&document, Role::User), ["Another day."]);
}
