//! An answer that comes piece by piece, as server-sent events, put together to what it would be in one piece.

use serde_json::{Map, Value, json};

use super::Interface;

/// What has come so far.
pub(super) struct Pieces {
    interface: Interface,
    /// Bytes of a line that has no end yet.
    line: Vec<u8>,
    /// Lines of data of an event that has no end yet.
    data: String,
    text: String,
    /// What else the whole answer says: of the first choice, or of the message.
    rest: Map<String, Value>,
    usage: Map<String, Value>,
    /// Whether there is a call of a tool in it.
    calls: bool,
    is_whole: bool,
}

/// Why what came is no answer.
#[derive(Debug)]
pub(super) enum Broken {
    /// An event with an error in it.
    Error(Value),
    /// Text that is not UTF-8.
    Encoding,
    /// An event that is no JSON.
    Json,
}

impl Pieces {
    pub(super) fn new(interface: Interface) -> Self {
        Self {
            interface,
            line: Vec::new(),
            data: String::new(),
            text: String::new(),
            rest: Map::new(),
            usage: Map::new(),
            calls: false,
            is_whole: false,
        }
    }

    /// What the model has written so far.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether all of it has come.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Takes in what came.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if !piece.ends_with(b"\n") {
                break;
            }
            let line = std::mem::take(&mut self.line);
            let line = std::str::from_utf8(&line).map_err(|_| Broken::Encoding)?;
            match line.trim_end_matches(['\r', '\n']) {
                "" => self.event()?,
                line => {
                    if let Some(data) = line.strip_prefix("data:") {
                        self.data.push_str(data.strip_prefix(' ').unwrap_or(data));
                        self.data.push('\n');
                    }
                }
            }
        }
        Ok(())
    }

    /// An event has ended.
    fn event(&mut self) -> Result<(), Broken> {
        let data = std::mem::take(&mut self.data);
        let data = data.trim_end();
        if data.is_empty() || self.is_whole {
            return Ok(());
        }
        if data == "[DONE]" {
            self.is_whole = self.interface == Interface::Openai;
            return Ok(());
        }
        let event: Value = serde_json::from_str(data).map_err(|_| Broken::Json)?;
        if super::has_error(&event) {
            return Err(Broken::Error(event));
        }
        match self.interface {
            Interface::Openai => self.chunk(&event),
            Interface::Anthropic => self.part(&event),
        }
        Ok(())
    }

    /// A chunk of chat completions.
    fn chunk(&mut self, chunk: &Value) {
        self.count(&chunk["usage"]);
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        self.write(&delta["content"]);
        let refusal = delta["refusal"].as_str().filter(|words| !words.is_empty());
        if let Some(words) = refusal {
            let before = self.rest.get("refusal").and_then(Value::as_str).unwrap_or_default();
            let whole = format!("{before}{words}");
            self.rest.insert("refusal".into(), whole.into());
        }
        let is_call = |calls: &Value| calls.as_array().is_some_and(|calls| !calls.is_empty());
        self.calls |= is_call(&delta["tool_calls"]) || delta["function_call"].is_object();
        self.keep("finish_reason", &choice["finish_reason"]);
    }

    /// An event of messages.
    fn part(&mut self, event: &Value) {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => self.count(&event["message"]["usage"]),
            "content_block_start" => {
                let block = &event["content_block"];
                self.calls |= block["type"] == "tool_use";
                if block["type"] == "text" {
                    self.write(&block["text"]);
                }
            }
            "content_block_delta" if event["delta"]["type"] == "text_delta" => {
                self.write(&event["delta"]["text"]);
            }
            "message_delta" => {
                self.keep("stop_reason", &event["delta"]["stop_reason"]);
                self.count(&event["usage"]);
            }
            "message_stop" => self.is_whole = true,
            _ => {}
        }
    }

    fn write(&mut self, content: &Value) {
        match content {
            Value::Array(parts) => {
                let texts = parts.iter().filter(|part| part["type"] == "text");
                self.text.extend(texts.filter_map(|part| part["text"].as_str()));
            }
            content => self.text.push_str(content.as_str().unwrap_or_default()),
        }
    }

    fn keep(&mut self, key: &str, value: &Value) {
        if !value.is_null() {
            self.rest.insert(key.into(), value.clone());
        }
    }

    /// Later counts are sums, and leave out what has not changed.
    fn count(&mut self, usage: &Value) {
        let usage = usage.as_object().into_iter().flatten().filter(|(_, count)| !count.is_null());
        self.usage.extend(usage.map(|(key, count)| (key.clone(), count.clone())));
    }

    /// The whole answer, if all of it has come.
    pub(super) fn whole(self) -> Option<Value> {
        let Self { text, rest, usage, calls, .. } = self;
        if !self.is_whole {
            return None;
        }
        Some(match self.interface {
            Interface::Openai => {
                let calls = if calls { json!([{}]) } else { Value::Null };
                let message = json!({ "content": text, "tool_calls": calls,
                    "refusal": rest.get("refusal") });
                let choice =
                    json!({ "message": message, "finish_reason": rest.get("finish_reason") });
                json!({ "choices": [choice], "usage": usage })
            }
            Interface::Anthropic => {
                let mut content = vec![json!({ "type": "text", "text": text })];
                content.extend(calls.then(|| json!({ "type": "tool_use" })));
                json!({ "content": content, "stop_reason": rest.get("stop_reason"), "usage": usage })
            }
        })
    }
}
