//! What providers refuse.

use brute_host::formats::Format;
use serde_json::{Value, json};

/// The rules of the strictest provider that speaks `format`.
pub(crate) fn strict(format: Format, messages: &[Value]) -> Vec<String> {
    let mut rules = Rules::default();
    match format {
        Format::OpenaiChat => rules.openai_chat(messages),
        Format::OpenaiResponses => rules.openai_responses(messages),
        Format::Anthropic => rules.anthropic(messages),
        Format::Gemini => rules.gemini(messages),
    }
    if !rules.owed.is_empty() {
        rules.broken.push("calls without results at the end".to_owned());
    }
    rules.broken
}

/// Whether it is an instruction, which may stand before the user.
fn instructs(message: &Value) -> bool {
    matches!(message["role"].as_str(), Some("system" | "developer"))
}

#[derive(Default)]
struct Rules {
    broken: Vec<String>,
    /// Calls that wait for their result.
    owed: Vec<String>,
    index: usize,
}

impl Rules {
    fn broke(&mut self, what: &str) {
        self.broken.push(format!("{}: {what}", self.index));
    }

    fn must(&mut self, holds: bool, otherwise: &str) {
        if !holds {
            self.broke(otherwise);
        }
    }

    fn answer(&mut self, id: &str) {
        match self.owed.iter().position(|owed| owed == id) {
            Some(at) => drop(self.owed.remove(at)),
            None => self.broke("an orphan"),
        }
    }

    fn no_blank_text(&mut self, message: &Value) {
        let is_blank = |block: &Value| {
            block["type"] == "text" && block["text"].as_str().unwrap().trim().is_empty()
        };
        self.must(!list(&message["content"]).iter().any(is_blank), "blank text");
    }

    fn openai_chat(&mut self, messages: &[Value]) {
        let mut begun = false;
        for (index, message) in messages.iter().enumerate() {
            self.index = index;
            let role = message["role"].as_str().unwrap();
            begun |= role == "user";
            self.must(begun || instructs(message), "does not begin with the user");
            self.no_blank_text(message);
            if role == "tool" {
                self.answer(message["tool_call_id"].as_str().unwrap());
                continue;
            }
            self.must(self.owed.is_empty(), "calls without results before it");
            let calls = list(&message["tool_calls"]);
            self.owed = calls.iter().map(|call| text(&call["id"])).collect();
            for call in calls {
                self.must(is_json(&call["function"]["arguments"]), "arguments are no JSON");
            }
            let content = &message["content"];
            let is_empty = content.is_null() || *content == json!("") || *content == json!([]);
            self.must(!calls.is_empty() || !is_empty, "empty");
        }
    }

    fn openai_responses(&mut self, items: &[Value]) {
        let mut begun = false;
        for (index, item) in items.iter().enumerate() {
            self.index = index;
            let kind = item["type"].as_str().unwrap_or("message");
            let is_of_model = |item: &Value| match item["type"].as_str().unwrap_or("message") {
                "message" => item["role"] == "assistant",
                kind => kind.ends_with("_call") || kind == "reasoning",
            };
            begun |= item["role"] == "user";
            self.must(begun || instructs(item), "does not begin with the user");
            match kind {
                "function_call" | "custom_tool_call" => {
                    let id = text(&item["call_id"]);
                    self.must(!self.owed.contains(&id), "a call twice");
                    self.owed.push(id);
                    self.must(kind != "function_call" || is_json(&item["arguments"]), "no JSON");
                }
                "function_call_output" | "custom_tool_call_output" => {
                    self.answer(item["call_id"].as_str().unwrap());
                    let output = &item["output"];
                    self.must(output.is_string() || output.is_array(), "a result of nothing");
                }
                "reasoning" => {
                    let follows = items.get(index + 1).is_some_and(is_of_model);
                    self.must(follows, "reasoning that nothing follows");
                }
                "message" => {
                    let content = &item["content"];
                    self.must(content.is_string() || !list(content).is_empty(), "empty");
                    let expected =
                        if item["role"] == "assistant" { "output_text" } else { "input_text" };
                    let is_wrong =
                        |part: &Value| part["text"].is_string() && part["type"] != expected;
                    self.must(!list(content).iter().any(is_wrong), "a text of another's");
                }
                other => self.broke(&format!("an item of type {other}")),
            }
        }
    }

    fn anthropic(&mut self, messages: &[Value]) {
        let mut last_role = "";
        for (index, message) in messages.iter().enumerate() {
            self.index = index;
            let role = message["role"].as_str().unwrap();
            self.must(index > 0 || role == "user", "does not begin with the user");
            self.must(role != last_role, "two of one role in a row");
            last_role = role;
            self.no_blank_text(message);
            let (content, blocks) = (&message["content"], list(&message["content"]));
            self.must(*content != json!([]) && *content != json!(""), "empty");
            let thinks = blocks.iter().all(|block| block["type"] == "thinking");
            self.must(blocks.is_empty() || !thinks, "thinking only");
            let of_kind = |kind: &str, id: &str| -> Vec<String> {
                let of = blocks.iter().filter(|block| block["type"] == kind);
                let mut ids: Vec<String> = of.map(|block| text(&block[id])).collect();
                ids.sort_unstable();
                ids
            };
            let results = of_kind("tool_result", "tool_use_id");
            let is_owed = role != "user" || results == self.owed;
            self.must(is_owed, "results that are not those owed");
            let mut others = blocks.iter().map(|block| block["type"] != "tool_result");
            self.must(others.by_ref().is_sorted(), "results behind other blocks");
            self.owed = of_kind("tool_use", "id");
        }
    }

    fn gemini(&mut self, contents: &[Value]) {
        let mut last_role = "";
        for (index, content) in contents.iter().enumerate() {
            self.index = index;
            let role = content["role"].as_str().unwrap();
            let parts = list(&content["parts"]);
            let speaks = |part: &Value| part["text"].is_string() || part["inlineData"].is_object();
            let begins = role == "user" && parts.iter().any(speaks);
            self.must(index > 0 || begins, "does not begin with words of the user");
            self.must(role != last_role, "two of one role in a row");
            last_role = role;
            self.must(!parts.is_empty(), "no parts");
            let names = |key: &str| -> Vec<String> {
                let found = parts.iter().filter_map(|part| part.get(key));
                let mut names: Vec<String> = found.map(|found| text(&found["name"])).collect();
                names.sort_unstable();
                names
            };
            if role == "user" {
                let is_owed = names("functionResponse") == self.owed;
                self.must(is_owed, "responses that are not those owed");
                self.owed.clear();
            } else {
                self.must(self.owed.is_empty(), "calls without responses before it");
                self.owed = names("functionCall");
            }
            let objects = parts.iter().filter_map(|part| part.get("functionResponse"));
            let no_object = objects.map(|found| &found["response"]).any(|it| !it.is_object());
            self.must(!no_object, "a response that is no object");
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn is_json(arguments: &Value) -> bool {
    serde_json::from_str::<Value>(arguments.as_str().unwrap()).is_ok()
}
