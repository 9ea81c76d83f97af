//! The Messages interface of Anthropic, and of servers that speak it too.

use brute_core::{Completion, Prompt, Stop};
use serde_json::{Value, json};

use crate::formats::Format;

/// The version of the interface, which every request has to name.
pub(super) const VERSION: &str = "2023-06-01";

/// The request.
pub(super) fn request(model: &str, prompt: &Prompt, max_tokens: u32, stream: bool) -> Value {
    json!({
        "model": model,
        "max_tokens": max_tokens,
        "stream": stream,
        "system": prompt.instructions,
        "messages": [{ "role": "user", "content": prompt.input }],
    })
}

/// The reply in an answer, or why there is none, in words that follow the server's name.
pub(super) fn reply(answer: &Value) -> Result<Completion, String> {
    let Some(blocks) = answer["content"].as_array() else {
        return Err("answered with no `content`; see whether `base-url` leads to messages".into());
    };
    let texts = blocks.iter().filter(|block| block["type"] == "text");
    let text = texts.filter_map(|block| block["text"].as_str()).collect();
    let calls = blocks.iter().any(|block| block["type"] == "tool_use");
    let stop = match answer["stop_reason"].as_str().unwrap_or_default() {
        "tool_use" => Stop::ToolCall,
        _ if calls => Stop::ToolCall,
        "end_turn" | "stop_sequence" => Stop::End,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        "refusal" => return Err("refused to summarize".into()),
        other => return Err(super::ended_oddly(other)),
    };
    let cached = answer["usage"]["cache_read_input_tokens"].as_u64();
    let usage = super::usage(Format::Anthropic, answer, cached);
    Ok(Completion { text, stop, usage })
}
