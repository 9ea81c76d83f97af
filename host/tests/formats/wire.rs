//! Generated conversations as the JSON of each provider.

use brute_host::formats::Format;
use serde_json::{Value, json};

use super::{Step, Turn};

/// The field that a request has its messages in.
pub(crate) fn list_key(format: Format) -> &'static str {
    match format {
        Format::OpenaiChat | Format::Anthropic => "messages",
        Format::OpenaiResponses => "input",
        Format::Gemini => "contents",
    }
}

/// Messages that the strictest provider takes; assistant messages without calls end their turn.
pub(crate) fn wire(format: Format, turns: &[Turn]) -> Vec<Value> {
    let mut writer = Writer { format, messages: Vec::new(), calls: 0 };
    for turn in turns {
        writer.user(turn);
        turn.steps.iter().for_each(|step| writer.step(step));
        // A user speaks next, and roles take turns.
        match format {
            Format::Anthropic => writer
                .messages
                .push(json!({"role": "assistant", "content": [{"type": "text", "text": "done"}]})),
            Format::Gemini => {
                writer.messages.push(json!({"role": "model", "parts": [{"text": "done"}]}));
            }
            Format::OpenaiChat | Format::OpenaiResponses => {}
        }
    }
    writer.messages
}

struct Writer {
    format: Format,
    messages: Vec<Value>,
    calls: usize,
}

impl Writer {
    fn image(&self) -> Value {
        match self.format {
            Format::OpenaiChat => {
                json!({"type": "image_url", "image_url": {"url": "https://x/y.png"}})
            }
            Format::OpenaiResponses => {
                json!({"type": "input_image", "image_url": "https://x/y.png"})
            }
            Format::Anthropic => {
                json!({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}})
            }
            Format::Gemini => {
                json!({"fileData": {"mimeType": "image/png", "fileUri": "https://x/y"}})
            }
        }
    }

    fn user(&mut self, turn: &Turn) {
        let cached = json!({"type": "ephemeral"});
        let text = match self.format {
            Format::OpenaiResponses => json!({"type": "input_text", "text": turn.user}),
            Format::Gemini => json!({"text": turn.user}),
            _ => json!({"type": "text", "text": turn.user, "cache_control": cached}),
        };
        let parts = if turn.image { json!([text, self.image()]) } else { json!([text]) };
        self.messages.push(match self.format {
            Format::Gemini => json!({"role": "user", "parts": parts}),
            _ if turn.image => json!({"role": "user", "content": parts}),
            Format::OpenaiResponses => {
                json!({"type": "message", "role": "user", "content": turn.user})
            }
            _ => json!({"role": "user", "content": turn.user}),
        });
    }

    fn step(&mut self, step: &Step) {
        let ids: Vec<String> = step
            .results
            .iter()
            .map(|_| {
                self.calls += 1;
                format!("call_{}", self.calls)
            })
            .collect();
        match self.format {
            Format::OpenaiChat => self.openai_chat(step, &ids),
            Format::OpenaiResponses => self.openai_responses(step, &ids),
            Format::Anthropic => self.anthropic(step, &ids),
            Format::Gemini => self.gemini(step, &ids),
        }
    }

    fn openai_chat(&mut self, step: &Step, ids: &[String]) {
        let mut message = json!({"role": "assistant", "content": said(step)});
        if step.thought.is_some() {
            message["reasoning_content"] = json!("thinking");
        }
        if !ids.is_empty() {
            let call = |id: &String| json!({"id": id, "type": "function", "function": {"name": "read", "arguments": "{\"p\": 1}"}});
            message["tool_calls"] = ids.iter().map(call).collect();
            if step.text.is_none() {
                message["content"] = Value::Null;
            }
        }
        self.messages.push(message);
        for (id, (text, is_list)) in ids.iter().zip(&step.results) {
            let content =
                if *is_list { json!([{"type": "text", "text": text}]) } else { json!(text) };
            self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
        }
        if step.shows {
            self.messages.push(json!({"role": "user", "content": [self.image()]}));
        }
    }

    fn openai_responses(&mut self, step: &Step, ids: &[String]) {
        if let Some(encrypted) = step.thought {
            let mut item = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]});
            if encrypted {
                item["encrypted_content"] = json!("Z0FBQUFBQnA=".repeat(9));
            }
            self.messages.push(item);
        }
        if step.text.is_some() || ids.is_empty() {
            let part = json!({"type": "output_text", "text": said(step), "annotations": []});
            self.messages.push(
                json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]}),
            );
        }
        for (place, id) in ids.iter().enumerate() {
            self.messages.push(match place {
                1 => json!({"type": "custom_tool_call", "call_id": id, "name": "read", "input": "*** p"}),
                _ => json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "read", "arguments": "{\"p\": 1}"}),
            });
        }
        for (place, (id, (text, is_list))) in ids.iter().zip(&step.results).enumerate() {
            let kind = if place == 1 { "custom_tool_call_output" } else { "function_call_output" };
            let output =
                if *is_list { json!([{"type": "input_text", "text": text}]) } else { json!(text) };
            self.messages.push(json!({"type": kind, "call_id": id, "output": output}));
        }
        if step.shows {
            self.messages.push(json!({"role": "user", "content": [self.image()]}));
        }
    }

    fn anthropic(&mut self, step: &Step, ids: &[String]) {
        let mut blocks = Vec::new();
        if let Some(signed) = step.thought {
            let signature = if signed { "c2lnbmF0dXJl" } else { "" };
            blocks.push(json!({"type": "thinking", "thinking": "hm", "signature": signature}));
        }
        blocks.push(json!({"type": "text", "text": said(step)}));
        blocks
            .extend(ids.iter().map(
                |id| json!({"type": "tool_use", "id": id, "name": "read", "input": {"p": 1}}),
            ));
        self.messages.push(json!({"role": "assistant", "content": blocks}));
        let result = |(id, (text, is_list)): (&String, &(String, bool))| {
            let content =
                if *is_list { json!([{"type": "text", "text": text}]) } else { json!(text) };
            json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": false})
        };
        let mut blocks: Vec<Value> = ids.iter().zip(&step.results).map(result).collect();
        if blocks.is_empty() {
            blocks.push(json!({"type": "text", "text": "go on"}));
        }
        if step.shows {
            blocks.push(self.image());
        }
        self.messages.push(json!({"role": "user", "content": blocks}));
    }

    fn gemini(&mut self, step: &Step, ids: &[String]) {
        let mut parts = Vec::new();
        if let Some(signed) = step.thought {
            let mut part = json!({"text": "hm", "thought": true});
            if signed {
                part["thoughtSignature"] = json!("c2lnbmF0dXJl");
            }
            parts.push(part);
        }
        parts.push(json!({"text": said(step)}));
        // Ids are optional: half of the steps have none.
        let has_ids = step.results.iter().any(|(_, is_list)| *is_list);
        let name = |place: usize| if place == 1 { "run" } else { "read" };
        for (place, id) in ids.iter().enumerate() {
            let mut call = json!({"name": name(place), "args": {"p": 1}});
            if has_ids {
                call["id"] = json!(id);
            } else if place == 2 {
                call = json!({"name": name(place)});
            }
            let mut part = json!({ "functionCall": call });
            if place == 0 {
                part["thoughtSignature"] = json!("c2lnbmF0dXJl");
            }
            parts.push(part);
        }
        self.messages.push(json!({"role": "model", "parts": parts}));
        let result = |(place, (id, (text, is_list))): (usize, (&String, &(String, bool)))| {
            let said = if *is_list {
                json!({"lines": [text], "ok": true})
            } else {
                json!({"output": text})
            };
            let mut response = json!({"name": name(place), "response": said});
            if has_ids {
                response["id"] = json!(id);
            }
            json!({ "functionResponse": response })
        };
        let mut parts: Vec<Value> = ids.iter().zip(&step.results).enumerate().map(result).collect();
        if parts.is_empty() {
            parts.push(json!({"text": "go on"}));
        }
        if step.shows {
            parts.push(self.image());
        }
        self.messages.push(json!({"role": "user", "parts": parts}));
    }
}

fn said(step: &Step) -> String {
    step.text.clone().unwrap_or_else(|| "so".to_owned())
}
