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
        "no conversation found: the input is 2 JSON values, of which the one in line 1 is an object with the key `messages_display`; accepted are an OpenAI Chat"
    ));
    let found = Document::read(vec![b'[', 0xff], &ReadOptions::default()).unwrap_err();
    assert_eq!(
        found,
        ReadError::Encoding { line: 1, column: 2, found: "it has bytes that no character has" }
    );
}
