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

/// The largest count that is taken for one, more than any window: so counts add up, whatever a file says.
pub(crate) const LARGEST_COUNT: u64 = 1 << 48;

impl Usage {
    /// Reads the `usage` object of a reply; nothing if it has no counts, or only zeros.
    ///
    /// OpenAI's `prompt_tokens` and `input_tokens` include the cached ones, as Gemini's `promptTokenCount` does;
    /// Anthropic's `input_tokens` leave out what its cache read and what it wrote, which fill the window all the
    /// same. What a model thought is part of its reply: Gemini counts that beside it.
    pub fn read(format: Format, usage: &Value) -> Option<Self> {
        let count = |value: &Value| value.as_u64().map(|count| count.min(LARGEST_COUNT));
        let field = |name: &str| usage.get(name).and_then(count);
        let sum = |names: &[&str]| -> u64 { names.iter().filter_map(|name| field(name)).sum() };
        let (input, output) = match format {
            Format::OpenaiChat => (field("prompt_tokens")?, field("completion_tokens")),
            Format::OpenaiResponses => (field("input_tokens")?, field("output_tokens")),
            Format::Gemini => {
                let input = field("promptTokenCount")? + sum(&["toolUsePromptTokenCount"]);
                (input, Some(sum(&["candidatesTokenCount", "thoughtsTokenCount"])))
            }
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
    use crate::formats::{Document, ReadOptions};
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
        let responses = json!({
            "input_tokens": 9_000,
            "input_tokens_details": { "cached_tokens": 8_000 },
            "output_tokens": 500,
            "output_tokens_details": { "reasoning_tokens": 400 },
        });
        let usage = Usage::read(Format::OpenaiResponses, &responses).unwrap();
        assert_eq!((usage.input, usage.total()), (9_000, 9_500));
        let gemini = json!({
            "promptTokenCount": 9_000,
            "cachedContentTokenCount": 8_000,
            "candidatesTokenCount": 100,
            "thoughtsTokenCount": 400,
            "totalTokenCount": 9_500,
        });
        let usage = Usage::read(Format::Gemini, &gemini).unwrap();
        assert_eq!((usage.input, usage.total()), (9_000, 9_500));
    }

    #[test]
    fn what_an_input_keeps_is_read_with_what_it_is_about() {
        let reply = |tokens: u64| json!({"role": "assistant", "content": "ok", "usage": {"prompt_tokens": tokens}});
        let user = json!({"role": "user", "content": "go", "usage": {"prompt_tokens": 7}});
        let messages = [user.clone(), reply(10), user.clone(), reply(0), user.clone(), reply(30)];
        let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
        let body = json!({"messages": messages[..3], "usage": {"prompt_tokens": 40}}).to_string();
        let anthropic = json!({"system": "Be brief.", "messages": [
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "ok"}],
                "usage": {"input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 1}},
        ]});
        for (input, format, reports) in [
            (lines, Format::OpenaiChat, vec![(2, 10), (6, 30)]),
            (body, Format::OpenaiChat, vec![(2, 10), (2, 40)]),
            (anthropic.to_string(), Format::Anthropic, vec![(3, 26)]),
        ] {
            let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
            let document = Document::read(input.clone(), &options).unwrap();
            let read = document.reports().into_iter().map(|(count, usage)| (count, usage.total()));
            assert_eq!(read.collect::<Vec<_>>(), reports, "{input}");
        }
    }

    #[test]
    fn counts_add_up_whatever_they_are() {
        for (format, names) in [
            (Format::OpenaiChat, &["prompt_tokens", "completion_tokens"][..]),
            (Format::OpenaiResponses, &["input_tokens", "output_tokens"]),
            (
                Format::Anthropic,
                &["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"],
            ),
            (
                Format::Gemini,
                &["promptTokenCount", "toolUsePromptTokenCount", "thoughtsTokenCount"],
            ),
        ] {
            let usage: serde_json::Map<String, Value> =
                names.iter().map(|name| ((*name).to_owned(), json!(u64::MAX))).collect();
            assert!(Usage::read(format, &usage.into()).unwrap().input >= LARGEST_COUNT);
        }
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
