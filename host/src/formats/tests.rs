//! The quirks of real inputs, and what an edit leaves of them.

use super::*;
use brute_core::testing::TestHost;
use brute_core::{Edit, Mark, MarkKind, Part, Plan, Role};

mod beside;
mod broken;
mod cache;
mod gemini;
mod refusals;
mod responses;

fn read(json: &str) -> Document {
    Document::read(json, &ReadOptions::default()).unwrap()
}

fn error(json: &str) -> String {
    Document::read(json, &ReadOptions::default()).unwrap_err().to_string()
}

fn repaired(json: &str) -> (Vec<String>, String) {
    let options = ReadOptions { repair: true, ..ReadOptions::default() };
    let document = Document::read(json, &options).unwrap();
    let told = document.repairs().iter().map(ToString::to_string).collect();
    let written = document.write(document.conversation(), &WriteOptions::default());
    (told, String::from_utf8(written.into_owned()).unwrap())
}

/// One line for each message: role, then its parts.
fn drawn(document: &Document) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Text(text) => text.to_string(),
        Part::Reasoning(of) => format!("think{}({})", if of.signed { "!" } else { "" }, of.text),
        Part::Media(media) => format!("{}={}", media.kind, media.tokens),
        Part::ToolCall(call) => format!("call {} {}{}", call.id, call.name, call.arguments),
        Part::ToolResult(of) => {
            let media: u32 = of.media.iter().map(|media| media.tokens).sum();
            let error = if of.is_error { "!" } else { "" };
            format!("{}{error}: {} +{media}", of.call, of.text)
        }
        Part::Opaque(opaque) => format!("{}<{}>", opaque.kind, opaque.text),
    };
    let message = |message: &std::sync::Arc<brute_core::Message>| {
        let parts: Vec<String> = message.parts().iter().map(part).collect();
        format!("{} {}", message.role(), parts.join(" | "))
    };
    document.conversation().messages().iter().map(message).collect()
}

fn edited(json: &str, edits: Vec<Edit>) -> String {
    edited_with(json, edits, WriteOptions::default())
}

fn edited_with(json: &str, edits: Vec<Edit>, options: WriteOptions) -> String {
    let document = read(json);
    let host = TestHost::new();
    let applied = host.apply(document.conversation(), &Plan::of(edits)).unwrap();
    let written =
        String::from_utf8(document.write(&applied.conversation, &options).into_owned()).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&written).is_ok(), "{written}");
    written
}

fn rewrite(message: usize, part: usize, text: &str) -> Edit {
    Edit::Rewrite { message, part, text: text.to_owned() }
}

fn note(span: std::ops::Range<usize>) -> (Edit, String) {
    let text = Mark { kind: MarkKind::Note, count: 2 }.write("gone");
    (Edit::Replace { span, role: Role::User, text: text.clone() }, text)
}

#[test]
fn openai_messages_map_to_the_model() {
    let table = [
        (
            r#"{"role":"developer","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
            "system a | b",
        ),
        (
            r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x","detail":"low"}},"s"]}"#,
            "user image=85 | s",
        ),
        (
            r#"{"role":"user","content":[{"type":"poem","x": 1}]}"#,
            r#"user poem<{"type":"poem","x":1}>"#,
        ),
        (
            r#"{"role":"assistant","content":"","reasoning_content":"hm","tool_calls":null,"function_call":null}"#,
            "assistant think(hm)",
        ),
        (
            r#"{"role":"assistant","reasoning_details":[{"signature":"s"}],"content":"x"}"#,
            "assistant think!() | x",
        ),
        (r#"{"role":"assistant","content":null,"refusal":"no"}"#, "assistant no"),
        (r#"{"role":"exit","content":"Submitted"}"#, "other Submitted"),
        (r#"{"role":"user","content":""}"#, "user "),
        (
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#,
            r#"assistant call c f{"a":1}"#,
        ),
        (
            r#"{"role":"assistant","tool_calls":[{"id":"c","name":"f","arguments":{"a": 1},"requestor":"assistant"}]}"#,
            r#"assistant call c f{"a": 1}"#,
        ),
        (
            r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#,
            "assistant call function:f f{}",
        ),
    ];
    for (json, expected) in table {
        assert_eq!(drawn(&read(&format!("[{json}]"))), [expected], "{json}");
    }
}

#[test]
fn openai_results_are_found_in_every_variant() {
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}"#;
    let table = [
        (r#"{"role":"tool","tool_call_id":"c","content":"ok"}"#, "tool c: ok +0"),
        (r#"{"role":"tool","tool_call_ids":["c"],"content":"ok"}"#, "tool c: ok +0"),
        (r#"{"id":"c","role":"tool","content":"ok","error":true}"#, "tool c!: ok +0"),
        (r#"{"role":"tool","tool_call_id":"c","content":null}"#, "tool c:  +0"),
        (
            r#"{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":"u","detail":"low"}}]}"#,
            "tool c: a\nb +85",
        ),
    ];
    for (json, expected) in table {
        assert_eq!(drawn(&read(&format!("[{call},{json}]")))[1], expected, "{json}");
    }
    let legacy = r#"[{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"ok"}]"#;
    assert_eq!(drawn(&read(legacy))[1], "tool function:f: ok +0");
}

#[test]
fn anthropic_messages_map_to_the_model() {
    let json = r#"{"system":[{"type":"text","text":"Help."}],"messages":[
        {"role":"user","content":[{"type":"text","text":"go"},{"type":"image","source":{"type":"url","url":"u"}}]},
        {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"AAAAAAAAAAAAAAAA"},{"type":"text","text":"ok"},{"type":"tool_use","id":"a","name":"f","input":{"x": 1}},{"type":"tool_use","id":"b","name":"f","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},{"type":"tool_result","tool_use_id":"b"},{"type":"text","text":"more"}]},
        {"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"encrypted_content":"AAAAAAAAAAAAAA","url":"u"}]},{"type":"text","text":"done"}]}]}"#;
    let document = read(json);
    assert_eq!(document.format(), Format::Anthropic);
    assert_eq!(
        drawn(&document),
        [
            "system Help.",
            "user go | image=1560",
            "assistant think!(hm) | think!() | redacted_thinking< the the the> | ok | call a f{\"x\": 1} | call b f{}",
            "tool a!: one\ntwo +0",
            "tool b:  +0",
            "user more",
            "assistant server_tool_use<{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{\"query\":\"q\"}}> | web_search_tool_result<{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s\",\"content\":[{\"encrypted_content\":\" the the the\",\"url\":\"u\"}]}> | done",
        ]
    );
    assert_eq!(document.wire_index(MessageId(4)), Some(2));
    assert_eq!(document.wire_index(MessageId(0)), None);
    assert_eq!(document.pointer(MessageId(4)).unwrap(), "/messages/2/content/1");
}

#[test]
fn a_marked_text_is_a_message_of_its_own() {
    let mark = Mark { kind: MarkKind::Summary, count: 3 }.write("so far");
    let json = serde_json::json!([
        {"role": "user", "content": [{"type": "text", "text": mark}, {"type": "text", "text": "go"}, {"type": "text", "text": "on"}]},
    ]);
    let document = read(&json.to_string());
    assert_eq!(drawn(&document), [format!("user {mark}"), "user go | on".to_owned()]);
    assert!(document.conversation().messages()[0].mark().is_some());
}

#[test]
fn carriers_and_what_stands_in_them() {
    let hello = r#"{"role":"user","content":"hello"}"#;
    let table = [
        (format!("[{hello}]"), "bare array", Format::OpenaiChat),
        (format!("{hello}\r\n{hello}\r\n"), "JSON lines", Format::OpenaiChat),
        (format!("{{\"messages\":[{hello}]}}"), "object with messages", Format::OpenaiChat),
        (
            format!("\u{feff}{{\"model\":\"m\",\"messages\":[{hello}]}}\n"),
            "request body",
            Format::OpenaiChat,
        ),
        (
            format!("{{\"messages\":[{hello}],\"system\":\"s\"}}"),
            "object with messages",
            Format::Anthropic,
        ),
        (
            format!(
                "{{\"info\":{{}},\"messages\":[{hello}],\"trajectory_format\":\"mini-swe-agent-1.1\"}}"
            ),
            "mini-swe-agent trajectory",
            Format::OpenaiChat,
        ),
        (
            format!("{{\"trajectory\":[],\"history\":[{hello}]}}"),
            "SWE-agent trajectory",
            Format::OpenaiChat,
        ),
        (
            format!("{{\"simulations\":[{{\"messages\":[{hello}]}}]}}"),
            "object with messages",
            Format::OpenaiChat,
        ),
    ];
    for (json, carrier, format) in table {
        let document = read(&json);
        assert_eq!((document.carrier(), document.format()), (carrier, format), "{json}");
        assert_eq!(
            document.write(document.conversation(), &WriteOptions::default()),
            json.as_bytes()
        );
    }
}

#[test]
fn the_body_says_what_matters_for_sizes() {
    let document = read(
        r#"{"model": "gpt-4o", "max_tokens": 1e3, "tools": [ {"type": "function", "function": {"name": "f"}} ], "messages": [{"role": "user", "content": "x"}]}"#,
    );
    assert_eq!(document.model().unwrap(), "gpt-4o");
    assert_eq!(document.reply_limit(), Some(1000));
    assert_eq!(document.tools_text().unwrap(), r#"[{"type":"function","function":{"name":"f"}}]"#);
}

#[test]
fn what_does_not_fit_is_told_in_full() {
    let json = r#"[{"role":"user","content":"go"},{"role":"tool","tool_call_id":"z","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"on"}]"#;
    assert_eq!(
        error(json),
        "the messages do not fit together:\n  message 1 (`/1`): the tool result for `z` answers no call before it\n  message 2 (`/2/tool_calls/0`): the tool call `a` has no result\n`ReadOptions::repair` makes the least change that mends this"
    );
    let blank = r#"{"system":"s","messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":" "}]}]}"#;
    assert!(error(blank).contains("message 1 (`/messages/1/content/0`): a blank text"));
}

#[test]
fn repairs_make_the_least_change_and_tell_it() {
    let call = |ids: &[&str]| {
        let calls: Vec<String> = ids.iter().map(|id| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#)).collect();
        format!(r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#, calls.join(","))
    };
    let result = |id: &str, text: &str| {
        format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#)
    };
    let user = r#"{"role":"user","content":"go"}"#;
    let table = [
        (
            vec![user.into(), result("z", "x"), user.into()],
            vec!["message 1 (`/1`): dropped the result for `z`, which no call before it asks for"],
            vec![user.into(), user.to_owned()],
        ),
        (
            vec![user.into(), call(&["a"]), result("a", "1"), result("a", "2")],
            vec!["message 3 (`/3`): dropped a second result for `a`, which was answered already"],
            vec![user.into(), call(&["a"]), result("a", "1")],
        ),
        (
            vec![
                user.into(),
                call(&["a", "a"]),
                result("a", "done"),
                result("a", "aborted"),
                user.into(),
            ],
            vec![
                "message 1 (`/1/tool_calls/1`): renamed a second call `a` in one message to `a_2`",
            ],
            vec![
                user.into(),
                call(&["a", "a_2"]),
                result("a", "done"),
                result("a_2", "aborted"),
                user.to_owned(),
            ],
        ),
        (
            vec![user.into(), call(&["a", "b"]), result("a", "1"), user.into()],
            vec![
                "message 1 (`/1/tool_calls/1`): added a result, `[no result was recorded]`, for the call `b`, which had none",
            ],
            vec![
                user.into(),
                call(&["a", "b"]),
                result("a", "1"),
                result("b", "[no result was recorded]"),
                user.to_owned(),
            ],
        ),
        (
            vec![user.into(), result("a", "1"), call(&["a"]), user.into()],
            vec!["message 1 (`/1`): moved the result for `a` behind its call"],
            vec![user.into(), call(&["a"]), result("a", "1"), user.to_owned()],
        ),
    ];
    for (before, told, after) in table {
        let (found, written) = repaired(&format!("[{}]", before.join(",")));
        assert_eq!(found, told);
        assert_eq!(written, format!("[{}]", after.join(",")));
    }
}

#[test]
fn anthropic_repairs() {
    let (told, written) = repaired(
        r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"dead","name":"f","input":{}}]},{"role":"user","content":"continue"}]"#,
    );
    assert!(told[0].contains("`dead`"), "{told:?}");
    assert_eq!(
        written,
        r#"[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"dead","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"dead","content":"[no result was recorded]","is_error":true},{"type":"text","text":"continue"}]}]"#
    );
    let (told, written) = repaired(
        r#"{"system":"s","messages":[{"role":"user","content":"go"},{"role":"assistant","content":"one"},{"role":"assistant","content":[{"type":"text","text":""}]},{"role":"user","content":"next"}]}"#,
    );
    assert_eq!(told, ["message 2 (`/messages/2/content/0`): dropped a message that says nothing"]);
    assert_eq!(
        written,
        r#"{"system":"s","messages":[{"role":"user","content":"go"},{"role":"assistant","content":"one"},{"role":"user","content":"next"}]}"#
    );
}

#[test]
fn half_a_surrogate_pair_is_refused_or_mended() {
    let json = r#"[{"role":"user","content":"go"},{"role":"user","content":"bad \ud83d end"}]"#;
    let refused = Document::read(json, &ReadOptions::default()).unwrap_err().to_string();
    let place = "message 1 (`/1/content`): ";
    let what = "`\\ud83d` is half of a surrogate pair, which no provider accepts";
    assert!(refused.contains(&format!("{place}{what}")), "{refused}");
    let (told, written) = repaired(json);
    assert_eq!(told, [format!("{place}put U+FFFD in its place: {what}")]);
    assert_eq!(written, json.replace("\\ud83d", "\\ufffd"));
}

#[test]
fn an_edit_touches_what_it_is_about() {
    let long = "long ".repeat(60);
    let json = format!(
        "[\n  {{\"role\": \"user\", \"content\": \"go\", \"x\": 1e2}},\n  {{\"role\": \"assistant\", \"reasoning\": \"{long}\", \"content\": \"t\\u0065xt {long}\", \"tool_calls\": [{{\"id\": \"c\", \"function\": {{\"name\": \"f\", \"arguments\": \"{{\\\"a\\\": \\\"{long}\\\"}}\", \"y\": 1.50}}}}]}},\n  {{\"z\": [], \"role\": \"tool\", \"tool_call_id\": \"c\", \"content\": [{{\"type\": \"text\", \"text\": \"{long}\"}}]}},\n  {{\"role\": \"user\", \"content\": \"and?\"}}\n]\n"
    );
    let written = edited(
        &json,
        vec![
            Edit::Remove { message: 1, part: 0 },
            rewrite(1, 1, "short"),
            rewrite(1, 2, "{\"a\": 1}"),
            rewrite(2, 0, "none"),
        ],
    );
    assert_eq!(
        written,
        "[\n  {\"role\": \"user\", \"content\": \"go\", \"x\": 1e2},\n  {\"role\": \"assistant\", \"content\": \"short\", \"tool_calls\": [{\"id\": \"c\", \"function\": {\"name\": \"f\", \"arguments\": \"{\\\"a\\\": 1}\", \"y\": 1.50}}]},\n  {\"z\": [], \"role\": \"tool\", \"tool_call_id\": \"c\", \"content\": \"none\"},\n  {\"role\": \"user\", \"content\": \"and?\"}\n]\n"
    );
}

#[test]
fn a_note_joins_the_anthropic_user_message_before_it() {
    let long = "long ".repeat(60);
    let json = format!(
        r#"{{"system":"s","messages":[{{"role":"user","content":"a\u0062"}},{{"role":"assistant","content":"{long}"}},{{"role":"user","content":"{long}"}},{{"role":"assistant","content":"x"}},{{"role":"user","content":[{{"type":"text","text":"go","cache_control":{{}}}}]}}]}}"#
    );
    let (edit, text) = note(2..4);
    assert_eq!(
        edited(&json, vec![edit]),
        format!(
            r#"{{"system":"s","messages":[{{"role":"user","content":[{{"type":"text","text":"a\u0062"}},{{"type":"text","text":"{text}"}}]}},{{"role":"assistant","content":"x"}},{{"role":"user","content":[{{"type":"text","text":"go","cache_control":{{}}}}]}}]}}"#
        )
    );
    let (edit, text) = note(1..5);
    assert_eq!(
        edited(&json, vec![edit]),
        format!(
            r#"{{"system":"s","messages":[{{"role":"user","content":[{{"type":"text","text":"{text}"}},{{"type":"text","text":"go","cache_control":{{}}}}]}}]}}"#
        )
    );
}

#[test]
fn openai_notes_stand_alone_unless_roles_must_alternate() {
    let long = "long ".repeat(60);
    let json = format!(
        "{{\"role\":\"user\",\"content\":\"a\"}}\n{{\"role\":\"assistant\",\"content\":\"{long}\"}}\n{{\"role\":\"user\",\"content\":\"go\"}}\n"
    );
    let (edit, text) = note(1..2);
    let document = read(&json);
    let applied = TestHost::new().apply(document.conversation(), &Plan::of(vec![edit])).unwrap();
    let write = |options| {
        String::from_utf8(document.write(&applied.conversation, &options).into_owned()).unwrap()
    };
    assert_eq!(
        write(WriteOptions::default()),
        format!(
            "{{\"role\":\"user\",\"content\":\"a\"}}\n{{\"role\":\"user\",\"content\":\"{text}\"}}\n{{\"role\":\"user\",\"content\":\"go\"}}\n"
        )
    );
    assert_eq!(
        write(WriteOptions { alternate_roles: true }),
        format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"a\"}},{{\"type\":\"text\",\"text\":\"{text}\"}},{{\"type\":\"text\",\"text\":\"go\"}}]}}\n"
        )
    );
    let dropped = format!(
        "[{{\"role\":\"user\",\"content\":\"a\"}},{{\"role\":\"assistant\",\"content\":\"{long}\"}},{{\"role\":\"user\",\"content\":\"go\"}}]"
    );
    let options = WriteOptions { alternate_roles: true };
    assert_eq!(
        edited_with(&dropped, vec![Edit::Drop { span: 1..2 }], options),
        "[{\"role\":\"user\",\"content\":\"a\\n\\ngo\"}]"
    );
}

#[test]
fn pretty_files_stay_pretty() {
    let long = "long ".repeat(60);
    let value = serde_json::json!({"messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": long},
        {"role": "user", "content": "go"},
    ]});
    let json = serde_json::to_string_pretty(&value).unwrap();
    let (edit, text) = note(1..2);
    let expected = serde_json::json!({"messages": [
        {"role": "user", "content": "a"},
        {"role": "user", "content": text},
        {"role": "user", "content": "go"},
    ]});
    assert_eq!(edited(&json, vec![edit]), serde_json::to_string_pretty(&expected).unwrap());
}

#[test]
fn formats_have_names() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse(), Ok(format));
        assert_eq!(serde_json::to_value(format).unwrap(), format.name());
    }
    let found = "openai".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        found,
        "`openai` is no format; known are `openai-chat`, `openai-responses`, `anthropic` and `gemini`"
    );
}
