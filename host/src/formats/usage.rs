//! What a provider reports about the size of a request and its reply.

use serde_json::Value;

use super::Format;

/// The tokens of a request and its reply, by the provider's own count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// All tokens that were sent, cached ones included.
    pub input: u64,
    /// All tokens of the reply.
    pub output: u64,
}

impl Usage {
    /// Reads the `usage` object of a reply; nothing if it has no counts, or only zeros.
    ///
    /// OpenAI's `prompt_tokens` include the cached ones; Anthropic's `input_tokens` leave out what its
    /// cache read and what it wrote, which fill the window all the same.
    pub fn read(format: Format, usage: &Value) -> Option<Self> {
        let field = |name: &str| usage.get(name).and_then(Value::as_u64);
        let sum = |names: &[&str]| -> u64 { names.iter().filter_map(|name| field(name)).sum() };
        let (input, output) = match format {
            Format::OpenaiChat => (field("prompt_tokens")?, field("completion_tokens")),
            Format::Anthropic => {
                let cached = ["cache_read_input_tokens", "cache_creation_input_tokens"];
                (field("input_tokens")? + sum(&cached), field("output_tokens"))
            }
        };
        (input > 0).then_some(Self { input, output: output.unwrap_or(0) })
    }

    /// What the request and its reply fill of the window.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_provider_has_its_own_sum() {
        let openai = json!({
            "prompt_tokens": 190_400,
            "prompt_tokens_details": { "cached_tokens": 188_100 },
            "completion_tokens": 60,
        });
        let usage = Usage::read(Format::OpenaiChat, &openai).unwrap();
        assert_eq!((usage.input, usage.total()), (190_400, 190_460));
        let anthropic = json!({
            "input_tokens": 800,
            "cache_read_input_tokens": 170_000,
            "cache_creation_input_tokens": 4_000,
            "output_tokens": 300,
        });
        let usage = Usage::read(Format::Anthropic, &anthropic).unwrap();
        assert_eq!((usage.input, usage.total()), (174_800, 175_100));
    }

    #[test]
    fn no_usage_is_no_usage() {
        for usage in
            [json!({}), json!(null), json!({ "prompt_tokens": 0 }), json!({ "prompt_tokens": "9" })]
        {
            assert_eq!(Usage::read(Format::OpenaiChat, &usage), None, "{usage}");
        }
    }
}
