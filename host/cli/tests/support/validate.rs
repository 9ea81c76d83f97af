//! Whether a list of messages keeps the strictest rules that a provider was seen to insist on.

use serde_json::Value;

/// What `list` breaks, if its format is known.
pub(crate) fn violations(format: &str, list: &[Value]) -> Vec<String> {
    let found = match format {
        "openai_chat" => openai_chat(list),
        "anthropic" => anthropic(list),
        "responses" => responses(list),
        "gemini" => gemini(list),
        _ => Err(Missing("a known format")),
    };
    found.unwrap_or_else(|missing| vec![format!("the list has no {}", missing.0)])
}

/// A field that every list has.
struct Missing(&'static str);

type Found = Result<Vec<String>, Missing>;

fn string<'a>(value: &'a Value, key: &'static str) -> Result<&'a str, Missing> {
    value[key].as_str().ok_or(Missing(key))
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn is_empty(content: &Value) -> bool {
    match content {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(parts) => parts.is_empty(),
        _ => false,
    }
}

fn is_json(text: &Value) -> bool {
    text.as_str().is_some_and(|text| serde_json::from_str::<Value>(text).is_ok())
}

fn has_twins(ids: &[&str]) -> bool {
    ids.iter().enumerate().any(|(at, id)| ids[..at].contains(id))
}

fn openai_chat(list: &[Value]) -> Found {
    let mut found = Vec::new();
    let mut owed: Vec<&str> = Vec::new();
    let mut user_seen = false;
    for (n, message) in list.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or("None");
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or("None");
            match owed.iter().position(|owed| *owed == id) {
                Some(at) => drop(owed.remove(at)),
                None => found.push(format!(
                    "{n}: tool result {id} answers no call of the directly preceding assistant"
                )),
            }
            continue;
        }
        if !owed.is_empty() {
            found.push(format!("{n}: calls {owed:?} not answered before a {role} message"));
            owed.clear();
        }
        match role {
            "assistant" => {
                if !user_seen {
                    found.push(format!("{n}: assistant before any user message"));
                }
                for call in items(message, "tool_calls") {
                    let id = string(call, "id")?;
                    owed.push(id);
                    if !is_json(&call["function"]["arguments"]) {
                        found.push(format!("{n}: arguments of {id} are not JSON"));
                    }
                }
                if has_twins(&owed) {
                    found.push(format!("{n}: duplicate call ids {owed:?}"));
                }
                if owed.is_empty() && is_empty(&message["content"]) {
                    found.push(format!("{n}: assistant message with no content and no call"));
                }
            }
            "user" => {
                user_seen = true;
                if is_empty(&message["content"]) {
                    found.push(format!("{n}: empty user message"));
                }
            }
            "system" | "developer" => {}
            other => found.push(format!("{n}: role {other}")),
        }
    }
    if !owed.is_empty() {
        found.push(format!("end: calls {owed:?} not answered"));
    }
    if !user_seen {
        found.push("no user message".into());
    }
    Ok(found)
}

fn blocks(message: &Value) -> Vec<&Value> {
    items(message, "content").iter().collect()
}

fn of_type<'a>(message: &'a Value, kind: &str) -> Vec<&'a Value> {
    blocks(message).into_iter().filter(|block| block["type"] == kind).collect()
}

fn anthropic(list: &[Value]) -> Found {
    let Some(first) = list.first() else { return Ok(vec!["no messages".into()]) };
    let mut found = Vec::new();
    if string(first, "role")? != "user" {
        found.push("first message is not user".into());
    }
    let mut last_role = "";
    let mut owed: Vec<&str> = Vec::new();
    let mut all: Vec<&str> = Vec::new();
    for (n, message) in list.iter().enumerate() {
        let role = string(message, "role")?;
        match &message["content"] {
            Value::Array(blocks) if blocks.is_empty() => found.push(format!("{n}: empty content")),
            Value::String(text) if text.trim().is_empty() => {
                found.push(format!("{n}: blank text block"));
            }
            Value::Array(_) | Value::String(_) => {}
            _ => return Err(Missing("content")),
        }
        if role == last_role {
            found.push(format!("{n}: two {role} messages in a row"));
        }
        last_role = role;
        for block in of_type(message, "text") {
            if block["text"].as_str().unwrap_or_default().trim().is_empty() {
                found.push(format!("{n}: blank text block"));
            }
        }
        if role == "user" {
            answers(n, message, &owed, &mut found)?;
            owed.clear();
        } else {
            if !owed.is_empty() {
                found.push(format!("{n}: owed results {owed:?}"));
            }
            if !of_type(message, "tool_result").is_empty() {
                found.push(format!("{n}: tool_result in an assistant message"));
            }
            owed.clear();
            for call in of_type(message, "tool_use") {
                let id = string(call, "id")?;
                if all.contains(&id) {
                    found.push(format!("{n}: tool_use id {id} used twice"));
                }
                owed.push(id);
            }
            all.extend(&owed);
            let thinks = |block: &&Value| {
                block["type"] == "thinking" || block["type"] == "redacted_thinking"
            };
            if !blocks(message).is_empty() && blocks(message).iter().all(thinks) {
                found.push(format!("{n}: assistant message of thinking only"));
            }
        }
    }
    if !owed.is_empty() {
        found.push(format!("end: tool_use {owed:?} not answered"));
    }
    let opening = blocks(first);
    if !opening.is_empty() && opening.len() == of_type(first, "tool_result").len() {
        found.push("first user message holds tool results only".into());
    }
    Ok(found)
}

/// The results of a user message: complete, each once, before anything else.
fn answers(
    n: usize,
    message: &Value,
    owed: &[&str],
    found: &mut Vec<String>,
) -> Result<(), Missing> {
    let mut ids = Vec::new();
    for result in of_type(message, "tool_result") {
        ids.push(string(result, "tool_use_id")?);
    }
    for id in ids.iter().filter(|id| !owed.contains(id)) {
        found.push(format!("{n}: tool_result {id} answers nothing in the previous message"));
    }
    if has_twins(&ids) {
        found.push(format!("{n}: duplicate tool_result ids"));
    }
    for id in owed.iter().filter(|id| !ids.contains(id)) {
        found.push(format!("{n}: tool_use {id} not answered in the next message"));
    }
    let leading = blocks(message).iter().take_while(|block| block["type"] == "tool_result").count();
    for _ in leading..ids.len() {
        found.push(format!("{n}: tool_result after other content"));
    }
    Ok(())
}

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or("message")
}

fn responses(list: &[Value]) -> Found {
    let mut found = Vec::new();
    let (mut calls, mut outputs): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for (n, item) in list.iter().enumerate() {
        match kind(item) {
            "function_call" => {
                let id = string(item, "call_id")?;
                if calls.contains(&id) {
                    found.push(format!("{n}: call_id {id} twice"));
                } else {
                    calls.push(id);
                }
                if !is_json(&item["arguments"]) {
                    found.push(format!("{n}: arguments not JSON"));
                }
            }
            "function_call_output" => {
                let id = string(item, "call_id")?;
                if !calls.contains(&id) {
                    found.push(format!("{n}: output {id} without a preceding call"));
                }
                if outputs.contains(&id) {
                    found.push(format!("{n}: second output for {id}"));
                }
                outputs.push(id);
            }
            "reasoning" => {
                let followed = list.get(n + 1).is_some_and(|next| match kind(next) {
                    "function_call" | "reasoning" => true,
                    "message" => next["role"] == "assistant",
                    _ => false,
                });
                if !followed {
                    let id = item["id"].as_str().unwrap_or("None");
                    found.push(format!("{n}: reasoning item {id} without its following item"));
                }
            }
            _ => {}
        }
    }
    for call in calls.iter().filter(|call| !outputs.contains(call)) {
        found.push(format!("call {call} has no output"));
    }
    if !list.iter().any(|item| kind(item) == "message" && item["role"] == "user") {
        found.push("no user message".into());
    }
    Ok(found)
}

fn gemini(list: &[Value]) -> Found {
    let Some(first) = list.first() else { return Ok(vec!["no contents".into()]) };
    let mut found = Vec::new();
    if string(first, "role")? != "user" {
        found.push("first content is not user".into());
    }
    if items(first, "parts").iter().any(|part| part.get("functionResponse").is_some()) {
        found.push("first content holds a functionResponse".into());
    }
    let mut last_role = "";
    let mut owed: Vec<&str> = Vec::new();
    for (n, content) in list.iter().enumerate() {
        let role = string(content, "role")?;
        if role == last_role {
            found.push(format!("{n}: two {role} contents in a row"));
        }
        last_role = role;
        if items(content, "parts").is_empty() {
            found.push(format!("{n}: no parts"));
        }
        let names = |key: &str| {
            let mut names = Vec::new();
            for part in items(content, "parts").iter().filter_map(|part| part.get(key)) {
                names.push(string(part, "name")?);
            }
            names.sort_unstable();
            Ok(names)
        };
        if role == "user" {
            let answered = names("functionResponse")?;
            if answered != owed {
                found.push(format!(
                    "{n}: functionResponses {answered:?} do not match the calls {owed:?}"
                ));
            }
            owed.clear();
        } else {
            if !owed.is_empty() {
                found.push(format!("{n}: calls {owed:?} unanswered"));
            }
            owed = names("functionCall")?;
        }
    }
    if !owed.is_empty() {
        found.push(format!("end: calls {owed:?} unanswered"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn broken_lists_are_told_from_good_ones() {
        let call = |id: &str| json!({"id": id, "function": {"name": "f", "arguments": "{}"}});
        let table = [
            (json!([{"role": "user", "content": "go"}]), 0),
            (json!([{"role": "assistant", "content": "hi"}]), 2),
            (
                json!([
                    {"role": "user", "content": "go"},
                    {"role": "assistant", "content": null, "tool_calls": [call("a")]},
                    {"role": "tool", "tool_call_id": "a", "content": "ok"},
                ]),
                0,
            ),
            (
                json!([
                    {"role": "user", "content": "go"},
                    {"role": "assistant", "content": null, "tool_calls": [call("a"), call("a")]},
                    {"role": "user", "content": ""},
                    {"role": "tool", "tool_call_id": "a", "content": "ok"},
                ]),
                4,
            ),
        ];
        for (list, count) in table {
            let found = violations("openai_chat", list.as_array().unwrap());
            assert_eq!(found.len(), count, "{found:?}");
        }
        let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "ok"});
        let list = [
            json!({"role": "user", "content": "go"}),
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}),
            json!({"role": "user", "content": [{"type": "text", "text": " "}, result]}),
        ];
        assert_eq!(
            violations("anthropic", &list),
            ["2: blank text block", "2: tool_result after other content"]
        );
    }
}
