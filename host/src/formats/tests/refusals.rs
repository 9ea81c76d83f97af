//! What is said of input that is no conversation.

use super::*;

#[test]
fn refusals_say_what_and_where() {
    let table = [
        ("", "the input is empty; a conversation in JSON is needed"),
        ("[]", "the list of messages is empty"),
        (r#"{"messages": []}"#, "the list of messages at `/messages` is empty"),
        (
            r#"[{"role":"user","content":"a"#,
            "line 1, column 29: the input ends inside `/0/content`, where the end of a string should come; is it complete?",
        ),
        (
            "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"assistant\",\"cont\n",
            "line 2, column 26: the input ends inside `/1/role`, where the end of a string should come; is it complete?",
        ),
        (
            "{\"role\":\"user\",\"content\":\"a\"}\r\n{\"role\":\"assistant\",\r\n  \r\n",
            "line 2, column 21: the input ends inside `/1/role`, where a key should come; is it complete?",
        ),
        (
            r#"[{"role":"user","content":'a'}]"#,
            "line 1, column 27: not JSON: expected a value, found `'a'}]` (in `/0/content`)",
        ),
        (
            r#"[{"role":"wizard","content":"a"}]"#,
            "message 0 has the unknown role `wizard` (at `/0/role`); openai-chat knows `system`, `developer`, `user`, `assistant`, `tool`, `function` and, from logs of mini-swe-agent, `exit`",
        ),
        (
            r#"{"system":"s","messages":[{"role":"system","content":"a"}]}"#,
            "message 0 has the unknown role `system` (at `/messages/0/role`); anthropic knows `user` and `assistant`; instructions go into the `system` field of the body",
        ),
        (
            r#"[{"role":"user","content":7}]"#,
            "message 0: expected a string, an array of parts or null at `/0/content`, found a number",
        ),
        (
            r#"[{"role":"tool","content":"x"}]"#,
            "message 0: expected the `tool_call_id` of the call that this answers at `/0`, found an object with the keys `role`, `content`",
        ),
        (
            r#"{"simulations":[{"messages":[{"role":"user","content":"a"}]},{"messages":[{"role":"user","content":"b"}]}]}"#,
            "the input holds 2 conversations (tau2 simulations); choose one with `ReadOptions::pick`, from 0 to 1",
        ),
        (
            "{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"task_id\":7,\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}",
            "the input holds 2 conversations (JSON lines, one conversation a line: `a`, `7`); choose one with `ReadOptions::pick`, from 0 to 1",
        ),
        (
            r#"{"messages":"x"}"#,
            "no conversation found: expected an array of messages at `/messages`, found a string",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"a"},1]}"#,
            "no conversation found: expected a message, an object whose `role` is a string, at `/messages/1`, found a number",
        ),
        (
            "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":[{\"role\":1}]}",
            "no conversation found: expected a message, an object whose `role` is a string, at `/1/messages/0`, found an object with the key `role`",
        ),
        (
            r#"{"simulations":[{"messages":[{"role":"user","content":"a"}]},{"messages":null}]}"#,
            "no conversation found: expected an array of messages at `/simulations/1/messages`, found null",
        ),
    ];
    for (json, expected) in table {
        assert_eq!(error(json), expected, "{json}");
    }
    let lines = "{\"messages_display\": \"user: hi\"}\n{\"messages_display\": \"user: ho\"}\n";
    assert!(error(lines).starts_with(
        "no conversation found: the input is 2 JSON values, of which the one in line 1 is an object with the key `messages_display`; accepted are a request body"
    ));
    let found = Document::read(vec![b'[', 0xff], &ReadOptions::default()).unwrap_err();
    assert_eq!(
        found,
        ReadError::Encoding { line: 1, column: 2, found: "it has bytes that no character has" }
    );
}

/// Whatever is read and cannot be understood is refused by its place: passed over, it would count as
/// nothing, and the provider would refuse it.
#[test]
fn a_value_of_the_wrong_kind_is_pointed_at() {
    const USER: &str = r#"{"role":"user","content":"u"}"#;
    let body = |field: &str| format!(r#"{{{field},"messages":[{USER}]}}"#);
    let claude = |role: &str, content: &str| {
        format!(r#"{{"system":"s","messages":[{USER},{{"role":"{role}","content":{content}}}]}}"#)
    };
    let block = |block: &str| claude("assistant", &format!("[{block}]"));
    let result = |fields: &str| {
        let call = r#"{"type":"tool_use","id":"a","name":"n","input":{}}"#;
        let result = format!(r#"{{"type":"tool_result","tool_use_id":"a",{fields}}}"#);
        format!(
            r#"[{USER},{{"role":"assistant","content":[{call}]}},{{"role":"user","content":[{result}]}}]"#
        )
    };
    let chat = |fields: &str| format!(r#"[{USER},{{"role":"assistant",{fields}}}]"#);
    for (json, pointer, found) in [
        (body(r#""system":5"#), "/system", "a number"),
        (body(r#""system":true"#), "/system", "a boolean"),
        (body(r#""system":["s",5]"#), "/system/1", "a number"),
        (body(r#""system":[{"type":"text"}]"#), "/system/0", "an object with the key `type`"),
        (body(r#""model":5"#), "/model", "a number"),
        (body(r#""tools":{}"#), "/tools", "an empty object"),
        (body(r#""functions":"f""#), "/functions", "a string"),
        (body(r#""max_tokens":"9""#), "/max_tokens", "a string"),
        (claude("user", "5"), "/messages/1/content", "a number"),
        (claude("user", "{}"), "/messages/1/content", "an empty object"),
        (block("5"), "/messages/1/content/0", "a number"),
        (block(r#"{"type":"text","text":5}"#), "/messages/1/content/0/text", "a number"),
        (
            block(r#"{"type":"thinking","thinking":5}"#),
            "/messages/1/content/0/thinking",
            "a number",
        ),
        (
            block(r#"{"type":"thinking","thinking":"t","signature":5}"#),
            "/messages/1/content/0/signature",
            "a number",
        ),
        (block(r#"{"type":"tool_use","id":5,"name":"n"}"#), "/messages/1/content/0/id", "a number"),
        (
            block(r#"{"type":"tool_use","id":"a","name":5}"#),
            "/messages/1/content/0/name",
            "a number",
        ),
        (result(r#""content":5"#), "/2/content/0/content", "a number"),
        (result(r#""content":[5]"#), "/2/content/0/content/0", "a number"),
        (
            result(r#""content":[{"type":"text","text":5}]"#),
            "/2/content/0/content/0/text",
            "a number",
        ),
        (result(r#""is_error":"no""#), "/2/content/0/is_error", "a string"),
        (chat(r#""content":5"#), "/1/content", "a number"),
        (chat(r#""content":[5]"#), "/1/content/0", "a number"),
        (chat(r#""content":[{"type":"text","text":5}]"#), "/1/content/0/text", "a number"),
        (chat(r#""content":"c","refusal":5"#), "/1/refusal", "a number"),
        (chat(r#""tool_calls":5"#), "/1/tool_calls", "a number"),
        (chat(r#""tool_calls":[5]"#), "/1/tool_calls/0", "a number"),
        (chat(r#""function_call":"auto""#), "/1/function_call", "a string"),
        (chat(r#""function_call":{}"#), "/1/function_call", "an empty object"),
    ] {
        let read = Document::read(json.as_str(), &ReadOptions::default());
        let said = read.map_or_else(|error| error.to_string(), |_| "nothing".to_owned());
        assert!(said.contains(&format!(" at `{pointer}`, found {found}")), "{json}: {said}");
    }
    // Null says what a field that is not there says.
    for fields in [r#""system":null"#, r#""model":null"#, r#""tools":null"#, r#""max_tokens":null"#]
    {
        assert_eq!(drawn(&read(&body(fields))), ["user u"], "{fields}");
    }
}
