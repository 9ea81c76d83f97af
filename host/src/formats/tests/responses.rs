//! OpenAI Responses: several items are one message, and some belong together.

use super::*;

const SPLIT: &str = r#"{"model":"gpt-5","instructions":"Be brief.","max_output_tokens":99,"tools":[{"type":"function","name":"f"}],"input":[
  {"role":"user","content":"go"},
  {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"content":null},
  {"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[]}]},
  {"type":"function_call","id":"fc_1","call_id":"a","name":"f","arguments":"{\"p\":1}"},
  {"type":"custom_tool_call","call_id":"b","name":"patch","input":"*** x"},
  {"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":"patched"},{"type":"input_image","image_url":"https://x/y.png","detail":"low"}]},
  {"type":"function_call_output","call_id":"a","output":"read"},
  {"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]},
  {"role":"user","content":[{"type":"input_text","text":"next"}]}
]}"#;

#[test]
fn the_items_of_a_reply_are_one_message() {
    let document = read(SPLIT);
    assert_eq!(document.format(), Format::OpenaiResponses);
    assert_eq!(document.reply_limit(), Some(99));
    assert_eq!(document.model().as_deref(), Some("gpt-5"));
    assert_eq!(
        drawn(&document),
        [
            "system Be brief.",
            "user go",
            r#"assistant think!(hm) | I look. | call a f{"p":1} | call b patch*** x"#,
            "tool b: patched +85",
            "tool a: read +0",
            "assistant done",
            "user next",
        ]
    );
    let places: Vec<_> = document
        .conversation()
        .messages()
        .iter()
        .map(|message| document.wire_index(message.id()))
        .collect();
    assert_eq!(places, [None, Some(0), Some(1), Some(5), Some(6), Some(7), Some(8)]);
}

#[test]
fn an_edit_touches_the_items_that_it_is_about() {
    let rewrite = |message, part, text: &str| Edit::Rewrite { message, part, text: text.into() };
    let table = [
        (vec![rewrite(3, 0, "x")], r#""output":"x""#, "patched"),
        (vec![rewrite(2, 2, "{}")], r#""arguments":"{}""#, r#"{\"p\":1}"#),
        (
            vec![rewrite(2, 1, "x")],
            r#"[{"type":"output_text","text":"x","annotations":[]}]"#,
            "look",
        ),
        (vec![Edit::Drop { span: 2..5 }], r#"  {"role":"user","content":"go"},"#, "rs_1"),
    ];
    for (edits, there, gone) in table {
        let written = edited(SPLIT, edits.clone());
        assert!(written.contains(there) && !written.contains(gone), "{edits:?}: {written}");
        let kept = SPLIT.lines().filter(|line| written.contains(*line)).count();
        let touched = if matches!(edits[0], Edit::Drop { .. }) { 6 } else { 1 };
        assert_eq!(kept, SPLIT.lines().count() - touched, "{written}");
    }
}

#[test]
fn reasoning_goes_with_what_follows_it() {
    // Of a turn that is over, thoughts may go; what came of them is then no longer named as theirs.
    let written = edited(SPLIT, vec![Edit::Remove { message: 2, part: 0 }]);
    assert!(!written.contains("rs_1") && !written.contains("msg_1"), "{written}");
    assert!(!written.contains("fc_1") && written.contains(r#""call_id":"a""#), "{written}");
    // Nothing follows the thoughts any more.
    let json = r#"[{"role":"user","content":"go"},
        {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"Z0FBQUFBQnA="},
        {"type":"message","role":"assistant","content":"I think so."},
        {"role":"user","content":"and"},{"role":"user","content":"so"}]"#;
    let written = edited(json, vec![Edit::Remove { message: 1, part: 1 }]);
    assert!(!written.contains("reasoning"), "{written}");
}

#[test]
fn encrypted_reasoning_is_opaque_and_counts_what_it_hides() {
    let json = format!(
        r#"[{{"role":"user","content":"go"}},{{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"{}"}},{{"type":"message","role":"assistant","content":"ok"}}]"#,
        "Zm9v".repeat(1_000)
    );
    let document = read(&json);
    let tokens = document.conversation().messages()[1].part_tokens(0, &brute_core::Approximate);
    assert!((700..800).contains(&tokens), "{tokens}");
}

#[test]
fn what_the_provider_keeps_is_opaque() {
    let reference = r#"[{"role":"user","content":"go"},{"type":"item_reference","id":"fc_1"},
        {"type":"function_call_output","call_id":"a","output":"found"},
        {"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search"}},
        {"type":"message","role":"assistant","content":"ok"}]"#;
    let previous = r#"{"previous_response_id":"resp_1","input":[
        {"type":"function_call_output","call_id":"a","output":"found"}]}"#;
    let drawn_of = |json: &str| drawn(&read(json)).join("\n");
    assert_eq!(
        drawn_of(reference),
        "user go\nassistant item_reference<{\"type\":\"item_reference\",\"id\":\"fc_1\"}> | \
         function_call_output<found> | web_search_call<{\"type\":\"web_search_call\",\"id\":\"ws_1\",\
         \"status\":\"completed\",\"action\":{\"type\":\"search\"}}> | ok"
    );
    assert_eq!(drawn_of(previous), "assistant function_call_output<found>");
}

#[test]
fn a_result_is_of_the_reply_that_refers_to_its_call() {
    let given = |between: &str| {
        format!(
            r#"[{{"role":"user","content":"go"}},{{"type":"item_reference","id":"fc_1"}},{between}
            {{"type":"function_call_output","call_id":"a","output":"found"}},{{"role":"user","content":"and?"}}]"#
        )
    };
    let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},"#;
    let result = r#"{"type":"function_call_output","call_id":"c","output":"it"},"#;
    let said = r#"{"role":"user","content":"go on"},"#;
    for (between, is_of_it) in [
        (String::new(), true),
        (r#"{"type":"item_reference","id":"fc_2"},"#.to_owned(), true),
        (r#"{"type":"message","role":"assistant","content":"so"},"#.to_owned(), true),
        (format!("{call}{result}"), false),
        (said.to_owned(), false),
    ] {
        let json = given(&between);
        let found = Document::read(json.as_str(), &ReadOptions::default());
        assert_eq!(found.is_ok(), is_of_it, "{json}");
        let options = ReadOptions { repair: true, ..ReadOptions::default() };
        let repaired = Document::read(json.as_str(), &options).unwrap();
        let dropped = repaired.repairs().iter().map(|repair| repair.what.as_str());
        let expected = ["dropped the result for `a`, which no call before it asks for"];
        assert_eq!(dropped.collect::<Vec<_>>(), expected[usize::from(is_of_it)..], "{json}");
    }
}

#[test]
fn tools_that_clients_run_are_calls() {
    let json = r#"[{"role":"user","content":"go"},
        {"type":"local_shell_call","id":"lsh_1","call_id":"a","action":{"type":"exec","command":["ls"]}},
        {"type":"local_shell_call_output","call_id":"a","output":"b.txt"},
        {"type":"shell_call","call_id":"s","action":{"commands":["ls"]}},
        {"type":"shell_call_output","call_id":"s","output":[{"stdout":"b.txt","stderr":"","outcome":{"type":"exit","exit_code":0}}]},
        {"type":"computer_call","call_id":"c","action":{"type":"screenshot"},"pending_safety_checks":[]},
        {"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":"https://x/y.png"}},
        {"type":"message","role":"assistant","content":"ok"},{"role":"user","content":"more"}]"#;
    let drawn = drawn(&read(json));
    assert_eq!(drawn[1], r#"assistant call a local_shell{"type":"exec","command":["ls"]}"#);
    assert_eq!(drawn[3], r#"assistant call s shell{"commands":["ls"]}"#);
    assert_eq!(drawn[5], r#"assistant call c computer{"type":"screenshot"}"#);
    assert_eq!(drawn[6], "tool c:  +1105");
    let rewrite = |message, text: &str| Edit::Rewrite { message, part: 0, text: text.into() };
    let written = edited(json, vec![rewrite(4, "gone"), rewrite(6, "gone")]);
    let items: Vec<serde_json::Value> = serde_json::from_str(&written).unwrap();
    assert_eq!(items[4]["output"][0]["stdout"], "gone");
    assert_eq!(items[6]["output"]["type"], "computer_screenshot");
}

#[test]
fn what_a_provider_compacted_is_kept_and_is_no_part_of_the_conversation() {
    let json = r#"{"model":"m","instructions":"i","input":[
        {"role":"developer","content":"d"},
        {"role":"user","content":"go"},
        {"type":"function_call","call_id":"a","name":"f","arguments":"{}"},
        {"type":"function_call_output","call_id":"a","output":"long"},
        {"role":"user","content":[{"type":"input_image","image_url":"https://x/y.png"}]},
        {"type":"compaction","id":"cmp_1","encrypted_content":"Z0FBQUFBQnA="},
        {"type":"function_call","call_id":"b","name":"f","arguments":"{}"},
        {"type":"function_call_output","call_id":"b","output":"found"},
        {"role":"user","content":"more"}]}"#;
    let document = read(json);
    let drawn = drawn(&document);
    let roles: Vec<&str> = drawn.iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(roles, ["system", "system", "system", "assistant", "tool", "user"], "{drawn:?}");
    assert_eq!(document.conversation().outline().instructions, 0..3);
    let written = edited(json, vec![Edit::Drop { span: 3..5 }]);
    let gone = written.find(r#""call_id":"b""#);
    assert!(gone.is_none() && written.contains("cmp_1"), "{written}");
    assert!(written.starts_with(&json[..json.find("cmp_1").unwrap()]), "{written}");
    // Nobody may part with it.
    let host = TestHost::new();
    let plan = Plan::of(vec![Edit::Drop { span: 2..3 }]);
    assert!(host.apply(document.conversation(), &plan).is_err());
}

#[test]
fn a_call_that_is_answered_behind_a_compaction_stays() {
    let json = r#"[{"role":"user","content":"go"},
        {"type":"function_call","call_id":"a","name":"f","arguments":"{}"},
        {"type":"compaction","encrypted_content":"Z0FBQUFBQnA="},
        {"type":"function_call_output","call_id":"a","output":"found"}]"#;
    let answered = drawn(&read(json));
    assert_eq!(answered[0], "assistant call a f{}");
    assert_eq!(answered[2], "tool a: found +0");
    // One that nothing answers is gone with the rest.
    let json = json.replace(
        r#""type":"function_call_output","call_id":"a","output":"found""#,
        r#""role":"user","content":"more""#,
    );
    let drawn = drawn(&read(&json));
    assert!(drawn.len() == 2 && drawn[0].starts_with("system"), "{drawn:?}");
}

#[test]
fn a_lone_text_is_a_request() {
    let json = r#"{"model":"m", "input" : "hello \u0041"}"#;
    let document = read(json);
    assert_eq!(drawn(&document), ["user hello A"]);
    assert_eq!(
        &*document.write(document.conversation(), &WriteOptions::default()),
        json.as_bytes()
    );
    let said = |text: &str| {
        brute_core::Message::new(brute_core::MessageId(7), Role::User, [Part::text(text)])
    };
    let mut messages = vec![(*document.conversation().messages()[0]).clone()];
    messages.push(said("more"));
    let longer = brute_core::Conversation::new(messages).unwrap();
    let written = document.write(&longer, &WriteOptions::default()).into_owned();
    assert_eq!(
        String::from_utf8(written).unwrap(),
        r#"{"model":"m", "input" : [{"role": "user", "content": "hello \u0041"}, {"role":"user","content":"more"}]}"#
    );
}

#[test]
fn items_are_told_by_what_they_are() {
    let table = [
        (r#"[{"type":"message","role":"user","content":"go"}]"#, Format::OpenaiResponses),
        (
            "{\"role\":\"user\",\"content\":\"go\"}\n{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}",
            Format::OpenaiResponses,
        ),
        (
            r#"[{"role":"user","content":[{"type":"input_text","text":"go"}]}]"#,
            Format::OpenaiResponses,
        ),
        (r#"{"input":[{"role":"user","content":"go"}]}"#, Format::OpenaiResponses),
        (r#"[{"role":"user","content":"go"}]"#, Format::OpenaiChat),
    ];
    for (json, format) in table {
        assert_eq!(read(json).format(), format, "{json}");
    }
}

#[test]
fn broken_items_are_told() {
    let table = [
        (
            r#"{"input":[{"role":"user","content":"go"},{"a":1}]}"#,
            "an item, an object whose `type` or `role` is a string, at `/input/1`",
        ),
        (
            r#"{"input":[{"role":"wizard","content":"go"}]}"#,
            "the unknown role `wizard` (at `/input/0/role`)",
        ),
        (
            r#"{"input":[{"type":"function_call","name":"f"}]}"#,
            "expected a call with a `call_id` at `/input/0`",
        ),
        (
            r#"{"input":[{"type":"function_call_output","call_id":"a","output":3}]}"#,
            "expected a string or an array of parts at `/input/0/output`",
        ),
        (
            r#"{"instructions":3,"input":[{"role":"user","content":"go"}]}"#,
            "expected a string at `/instructions`",
        ),
        (
            r#"{"input":[{"type":"function_call_output","call_id":"a","output":"x"}]}"#,
            "message 0 (`/input/0`): the tool result for `a` answers no call before it",
        ),
    ];
    for (json, expected) in table {
        let told = error(json);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_missing_result_is_of_the_kind_of_its_call() {
    let json = r#"[{"role":"user","content":"go"},
        {"type":"custom_tool_call","call_id":"a","name":"patch","input":"x"},
        {"role":"user","content":"and?"}]"#;
    let (told, written) = repaired(json);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(written.contains(r#"{"type":"custom_tool_call_output","call_id":"a","#), "{written}");
}
