//! Chat completions, as OpenAI and all who are compatible with it speak them.

use brute_core::{Completion, Prompt, Stop};
use serde_json::{Value, json};

use crate::formats::Format;

/// The name that servers know for the longest reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LengthName {
    /// What every server knew first.
    MaxTokens,
    /// What OpenAI's models that reason want instead.
    MaxCompletionTokens,
}

impl LengthName {
    fn key(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

/// What a server is asked for beside the prompt: not all of them understand all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    length: LengthName,
    /// Whether the answer is to come in pieces.
    stream: bool,
    /// Whether the last piece is to say what is billed.
    usage: bool,
}

impl Dialect {
    /// What most servers understand.
    pub(super) fn new(stream: bool) -> Self {
        Self { length: LengthName::MaxTokens, stream, usage: stream }
    }

    /// The one that a refusal asks for instead of this one.
    pub(super) fn instead(self, refusal: &[u8]) -> Option<Self> {
        let names = |words: &str| memchr::memmem::find(refusal, words.as_bytes()).is_some();
        let other = LengthName::MaxCompletionTokens;
        if self.length != other && names(other.key()) {
            return Some(Self { length: other, ..self });
        }
        (self.usage && names("stream_options")).then_some(Self { usage: false, ..self })
    }
}

/// The request.
pub(super) fn request(model: &str, prompt: &Prompt, max_tokens: u32, dialect: Dialect) -> Value {
    let mut body = json!({
        "model": model,
        "messages": [
            { "role": "system", "content": prompt.instructions },
            { "role": "user", "content": prompt.input },
        ],
        "stream": dialect.stream,
    });
    if dialect.usage {
        body["stream_options"] = json!({ "include_usage": true });
    }
    body[dialect.length.key()] = max_tokens.into();
    body
}

/// The reply in an answer, or why there is none, in words that follow the server's name.
pub(super) fn reply(answer: &Value) -> Result<Completion, String> {
    let choice = &answer["choices"][0];
    let message = &choice["message"];
    if !message.is_object() {
        return Err(
            "answered with no `choices`; see whether `base-url` leads to chat completions".into()
        );
    }
    if let Some(refusal) = message["refusal"].as_str().filter(|words| !words.is_empty()) {
        // Its words may repeat what it refuses.
        return Err(format!(
            "refused to summarize, in {} words",
            refusal.split_whitespace().count()
        ));
    }
    let text = match &message["content"] {
        Value::Array(parts) => {
            let texts = parts.iter().filter(|part| part["type"] == "text");
            texts.filter_map(|part| part["text"].as_str()).collect()
        }
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    let calls = message["tool_calls"].as_array().is_some_and(|calls| !calls.is_empty());
    let stop = match choice["finish_reason"].as_str().unwrap_or_default() {
        _ if calls || message["function_call"].is_object() => Stop::ToolCall,
        "tool_calls" | "function_call" => Stop::ToolCall,
        "stop" | "eos" | "end_turn" | "stop_sequence" => Stop::End,
        "length" | "max_tokens" | "model_length" => Stop::Length,
        "content_filter" => {
            return Err("filtered its answer: it does not pass on what it read".into());
        }
        other => return Err(super::ended_oddly(other)),
    };
    // The second one is DeepSeek's.
    let cached = ["/usage/prompt_tokens_details/cached_tokens", "/usage/prompt_cache_hit_tokens"];
    let cached = cached.iter().find_map(|place| answer.pointer(place)?.as_u64());
    let usage = super::usage(Format::OpenaiChat, answer, cached);
    Ok(Completion { text, stop, usage })
}
