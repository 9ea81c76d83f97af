//! Reading lists of all formats: roles, texts, calls, results, ids.

use serde_json::Value;

/// The key under which a case has the list of a request of this format.
pub(crate) fn case_key(format: &str) -> &'static str {
    match format {
        "responses" => "items",
        other => list_key(other),
    }
}

/// The key under which a request of this format has its list.
pub(crate) fn list_key(format: &str) -> &'static str {
    match format {
        "responses" => "input",
        "gemini" => "contents",
        _ => "messages",
    }
}

/// The elements of an array; none if it is none.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// JSON text, for comparing byte for byte.
pub(crate) fn json(value: &Value) -> String {
    value.to_string()
}

/// Who speaks. Gemini's model is an assistant, and an item of the Responses format that is no
/// message has none.
pub(crate) fn role(message: &Value) -> &str {
    match message["role"].as_str() {
        Some("model") => "assistant",
        Some(role) => role,
        None => "",
    }
}

/// All texts in a value, keys excepted.
pub(crate) fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// What people and models read in a message: its content, without names, ids and data.
pub(crate) fn words(message: &Value) -> String {
    let content = ["content", "parts", "output"].into_iter().map(|key| &message[key]);
    let mut words: Vec<String> = content.flat_map(said).collect();
    for call in items(&message["tool_calls"]) {
        words.extend(call["function"]["arguments"].as_str().map(str::to_owned));
    }
    words.extend(message["arguments"].as_str().map(str::to_owned));
    words.join("\n")
}

fn said(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks.iter().flat_map(said).collect(),
        Value::Object(block) => {
            let keys = ["text", "thinking", "content"];
            let mut said: Vec<String> =
                keys.into_iter().filter_map(|key| block.get(key)).flat_map(said).collect();
            let data = ["input", "functionCall", "functionResponse"];
            let data = data.into_iter().filter_map(|key| block.get(key));
            said.extend(data.flat_map(texts).map(str::to_owned));
            said
        }
        _ => Vec::new(),
    }
}

/// The ids of the calls in a message.
pub(crate) fn calls(message: &Value) -> Vec<&str> {
    let openai = items(&message["tool_calls"]).iter().map(|call| &call["id"]);
    let anthropic = items(&message["content"]).iter();
    let anthropic = anthropic.filter(|block| block["type"] == "tool_use").map(|block| &block["id"]);
    let item = (message["type"] == "function_call").then(|| &message["call_id"]);
    openai.chain(anthropic).chain(item).filter_map(Value::as_str).collect()
}

/// The ids of the results in a message.
pub(crate) fn results(message: &Value) -> Vec<&str> {
    let openai = std::iter::once(&message["tool_call_id"]);
    let anthropic =
        items(&message["content"]).iter().filter(|block| block["type"] == "tool_result");
    let anthropic = anthropic.map(|block| &block["tool_use_id"]);
    let item = (message["type"] == "function_call_output").then(|| &message["call_id"]);
    openai.chain(anthropic).chain(item).filter_map(Value::as_str).collect()
}

/// The content of the result with this id.
pub(crate) fn result<'a>(list: &'a [Value], id: &str) -> Option<&'a Value> {
    list.iter().find_map(|message| {
        if message["tool_call_id"] == id {
            return Some(&message["content"]);
        }
        if message["type"] == "function_call_output" && message["call_id"] == id {
            return Some(&message["output"]);
        }
        let mut blocks = items(&message["content"]).iter();
        blocks.find(|block| block["tool_use_id"] == id).map(|block| &block["content"])
    })
}

/// Whether a message holds nothing but results of tools.
pub(crate) fn is_results_only(message: &Value) -> bool {
    let blocks = items(&message["content"]);
    let parts = items(&message["parts"]);
    role(message) == "tool"
        || message["type"] == "function_call_output"
        || (!blocks.is_empty() && blocks.iter().all(|block| block["type"] == "tool_result"))
        || (!parts.is_empty() && parts.iter().all(|part| part.get("functionResponse").is_some()))
}

/// Whether a message holds a result of a tool.
pub(crate) fn has_result(message: &Value) -> bool {
    !results(message).is_empty()
        || items(&message["parts"]).iter().any(|part| part.get("functionResponse").is_some())
}

/// The blocks of a message that are of one of these types.
pub(crate) fn blocks<'a>(message: &'a Value, types: &[&str]) -> Vec<&'a Value> {
    let all = items(&message["content"]).iter().chain(items(&message["parts"]));
    all.filter(|block| block["type"].as_str().is_some_and(|kind| types.contains(&kind))).collect()
}

/// The message of `list` that `message` was before it was edited: the one with the same ids.
pub(crate) fn original<'a>(list: &'a [Value], message: &Value) -> Option<&'a Value> {
    let text = json(message);
    if let Some(same) = list.iter().find(|other| json(other) == text) {
        return Some(same);
    }
    let (calls_, results_) = (calls(message), results(message));
    if calls_.is_empty() && results_.is_empty() {
        return None;
    }
    list.iter().find(|other| {
        calls(other) == calls_ && results(other) == results_ && role(other) == role(message)
    })
}

/// The system and developer messages, and a `system` field before them.
pub(crate) fn instructions(body: &Value, list: &[Value]) -> Vec<Value> {
    let field = body.get("system").cloned().into_iter();
    let messages = list.iter().filter(|message| matches!(role(message), "system" | "developer"));
    field.chain(messages.cloned()).collect()
}
