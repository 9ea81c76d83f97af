//! What providers refuse.

use brute_host::formats::Format;
use serde_json::{Value, json};

/// The rules of the strictest provider that speaks `format`.
pub(crate) fn strict(format: Format, messages: &[Value]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut owed: Vec<String> = Vec::new();
    let mut last_role = "";
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap();
        let content = &message["content"];
        let blocks: Vec<Value> = content.as_array().cloned().unwrap_or_default();
        let mut broke = |what: &str| broken.push(format!("{index}: {what}"));
        let of_kind = |kind: &str, id: &str| -> Vec<String> {
            let of = blocks.iter().filter(|block| block["type"] == kind);
            of.map(|block| block[id].as_str().unwrap().to_owned()).collect()
        };
        if index == 0 && role != "user" {
            broke("does not begin with the user");
        }
        if blocks.iter().any(|block| {
            block["type"] == "text" && block["text"].as_str().unwrap().trim().is_empty()
        }) {
            broke("blank text");
        }
        match format {
            Format::OpenaiChat if role == "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                match owed.iter().position(|owed| owed == id) {
                    Some(at) => drop(owed.remove(at)),
                    None => broke("an orphan"),
                }
            }
            Format::OpenaiChat => {
                if !owed.is_empty() {
                    broke("calls without results before it");
                }
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                owed = calls.iter().map(|call| call["id"].as_str().unwrap().to_owned()).collect();
                if calls.iter().any(|call| {
                    serde_json::from_str::<Value>(call["function"]["arguments"].as_str().unwrap())
                        .is_err()
                }) {
                    broke("arguments are no JSON");
                }
                if calls.is_empty()
                    && (content.is_null() || *content == json!("") || *content == json!([]))
                {
                    broke("empty");
                }
            }
            Format::Anthropic => {
                if role == last_role {
                    broke("two of one role in a row");
                }
                if *content == json!([]) || *content == json!("") {
                    broke("empty");
                }
                if blocks.iter().all(|block| block["type"] == "thinking") && !blocks.is_empty() {
                    broke("thinking only");
                }
                let results = of_kind("tool_result", "tool_use_id");
                if role == "user" && results != owed {
                    broke("results that are not those owed");
                }
                if !blocks.iter().map(|block| block["type"] != "tool_result").is_sorted() {
                    broke("results behind other blocks");
                }
                owed = of_kind("tool_use", "id");
            }
        }
        last_role = if role == "user" { "user" } else { "assistant" };
    }
    if !owed.is_empty() {
        broken.push("calls without results at the end".to_owned());
    }
    broken
}
