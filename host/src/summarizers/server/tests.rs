//! Answers of every shape. What goes over a wire is in `tests/servers/`.

use super::*;
use serde_json::json;

type Read = fn(&Value) -> Result<Completion, String>;

/// The text and how it ended, or the words for why there is none.
fn read(reply: Read, answer: &Value) -> Result<(String, Stop), String> {
    reply(answer).map(|completion| (completion.text, completion.stop))
}

#[test]
fn chat_completions_of_every_shape_are_read() {
    let said = |message: Value, finish: &str| {
        let answer = json!({ "choices": [{ "message": message, "finish_reason": finish }] });
        read(openai::reply, &answer)
    };
    let ok = |text: &str, stop| Ok((text.to_owned(), stop));
    for finish in ["stop", "eos", "end_turn", "stop_sequence"] {
        assert_eq!(said(json!({ "content": "gist" }), finish), ok("gist", Stop::End));
    }
    for finish in ["length", "max_tokens", "model_length"] {
        assert_eq!(said(json!({ "content": "gi" }), finish), ok("gi", Stop::Length));
    }
    let parts = json!({ "content": [
        { "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] },
        { "type": "text", "text": "gi" },
        { "type": "text", "text": "st" },
    ] });
    assert_eq!(said(parts, "stop"), ok("gist", Stop::End));
    let thought = json!({ "content": "gist", "reasoning_content": "hm", "reasoning": "hm" });
    assert_eq!(said(thought, "stop"), ok("gist", Stop::End));
    let call = json!({ "content": null, "tool_calls": [{ "id": "1" }] });
    assert_eq!(said(call.clone(), "stop"), ok("", Stop::ToolCall));
    assert_eq!(said(call, "tool_calls"), ok("", Stop::ToolCall));
    let old = json!({ "content": null, "function_call": { "name": "x" } });
    assert_eq!(said(old, "stop"), ok("", Stop::ToolCall));
    for (message, finish, words) in [
        (json!({ "content": null, "refusal": "I cannot help" }), "stop", "refused to summarize"),
        (json!({ "content": "" }), "content_filter", "filtered its answer"),
        (json!({ "content": "gist" }), "", "did not say whether its answer is whole"),
        (json!({ "content": "gist" }), "err\u{1b}or", "for the reason `err\\u{1b}or`"),
        (Value::Null, "stop", "no `choices`"),
    ] {
        let error = said(message, finish).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn messages_of_every_shape_are_read() {
    let said = |content: Value, stop: &str| {
        read(anthropic::reply, &json!({ "content": content, "stop_reason": stop }))
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    let thought = json!({ "type": "thinking", "thinking": "hm" });
    let ok = |text: &str, stop| Ok((text.to_owned(), stop));
    let whole = json!([thought, text("gi"), { "type": "redacted_thinking" }, text("st")]);
    assert_eq!(said(whole, "end_turn"), ok("gist", Stop::End));
    for stop in ["max_tokens", "model_context_window_exceeded"] {
        assert_eq!(said(json!([text("gi")]), stop), ok("gi", Stop::Length));
    }
    let call = json!([text("I look"), { "type": "tool_use", "name": "x" }]);
    assert_eq!(said(call.clone(), "tool_use"), ok("I look", Stop::ToolCall));
    assert_eq!(said(call, "end_turn"), ok("I look", Stop::ToolCall));
    for (content, stop, words) in [
        (json!([text("no")]), "refusal", "refused to summarize"),
        (json!([text("gi")]), "pause_turn", "for the reason `pause_turn`"),
        (Value::Null, "end_turn", "no `content`"),
    ] {
        let error = said(content, stop).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}
