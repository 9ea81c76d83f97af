//! Why a server gave no answer, and whether it helps to ask it again.

use std::error::Error;
use std::io;
use std::time::{Duration, SystemTime};

use brute_core::{CompletionError, Prompt};
use memchr::memmem;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::retry;
use crate::shown::shown;
use crate::system::words_of;
use crate::truncation::sequences::plain;

/// So much of a server's own words is told, in characters.
const MOST_WORDS: usize = 300;
/// Words that share so many bytes with the prompt repeat it.
const REPEATED: usize = 24;

/// A failed try.
#[derive(Debug)]
pub(super) struct Fault {
    pub error: CompletionError,
    /// Whether to ask again.
    pub again: Again,
}

/// Whether the same request may have an answer later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Never,
    /// After a wait, at least as long as the server said.
    After(Option<Duration>),
}

/// What must not be told of a server's words.
#[derive(Clone, Copy)]
pub(super) struct Private<'a> {
    pub key: Option<&'a str>,
    pub prompt: &'a Prompt,
}

impl Fault {
    /// A failure that comes again with the same request.
    pub(super) fn lasting(reason: impl Into<String>) -> Self {
        Self { error: CompletionError::Failed { reason: reason.into() }, again: Again::Never }
    }

    /// There was no answer at all.
    pub(super) fn unanswered(server: &str, error: &reqwest::Error) -> Self {
        let again = Again::After(None);
        let mut causes: Vec<&dyn Error> = Vec::new();
        let mut next = error.source();
        while let Some(cause) = next {
            causes.push(cause);
            next = cause.source();
        }
        let certificate =
            causes.iter().map(ToString::to_string).find(|words| words.contains("certificate"));
        if let Some(words) = certificate {
            let words = shown(words);
            return Self::lasting(format!("`{server}` is not trusted: {words}; see to `base-url`"));
        }
        let system = causes.iter().rev().find_map(|cause| cause.downcast_ref::<io::Error>());
        let words = match (system, causes.last()) {
            (Some(error), _) => words_of(error),
            (None, Some(cause)) => shown(cause),
            (None, None) => "it hung up".to_owned(),
        };
        let reason = if error.is_timeout() {
            format!("`{server}` cannot be reached: it does not answer; see to `base-url`")
        } else if error.is_connect() {
            format!("`{server}` cannot be reached: {words}; see whether it runs, and to `base-url`")
        } else {
            format!("`{server}` broke off before it answered: {words}")
        };
        Self { error: CompletionError::Failed { reason }, again }
    }

    /// The server answered with a status that is no success.
    pub(super) fn refused(
        server: &str,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
        private: Private<'_>,
        key_variable: Option<&str>,
    ) -> Self {
        let text = String::from_utf8_lossy(body);
        if matches!(status.as_u16(), 400 | 413)
            && let Some(limit) = too_long(&text)
        {
            return Self::too_long(limit);
        }
        if status == StatusCode::PAYLOAD_TOO_LARGE {
            return Self::too_long(None);
        }
        let words =
            own_words(&text, private).map_or_else(String::new, |words| format!(": {words}"));
        let advice = match (status.as_u16(), key_variable) {
            (401 | 403, Some(name)) => format!("; see to the key in `{name}`, and to `model`"),
            (401 | 403, None) => "; name the variable that holds a key in `api-key-env`".to_owned(),
            (404 | 405, _) => "; see to `base-url` and `model`".to_owned(),
            (429, _) => "; wait, or take a server with higher limits".to_owned(),
            (500.., _) => "; it is the server's fault, see its log or try later".to_owned(),
            _ => String::new(),
        };
        let reason = format!("`{server}` answered {}{words}{advice}", status.as_u16());
        let used_up = text.contains("insufficient_quota");
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let is_worth_it = match header("x-should-retry") {
            Some("false") => false,
            _ => matches!(status.as_u16(), 408 | 409 | 425 | 429 | 500..=599) && !used_up,
        };
        let again = match is_worth_it {
            true => Again::After(retry::asked(headers, SystemTime::now())),
            false => Again::Never,
        };
        Self { error: CompletionError::Failed { reason }, again }
    }

    /// The answer is an error, although its status says success.
    pub(super) fn in_answer(server: &str, answer: &Value, private: Private<'_>) -> Self {
        let text = answer.to_string();
        match too_long(&text) {
            Some(limit) => Self::too_long(limit),
            None => {
                let words = own_words(&text, private);
                let words = words.map_or_else(String::new, |words| format!(": {words}"));
                Self::lasting(format!("`{server}` answered 200, but with an error{words}"))
            }
        }
    }

    fn too_long(limit: Option<u64>) -> Self {
        Self { error: CompletionError::TooLong { limit }, again: Again::Never }
    }
}

/// What servers say of a request that is too long for the model, in lower case.
const TOO_LONG: [&str; 11] = [
    "exceed_context_size_error",
    "context_length_exceeded",
    "prompt is too long",
    "input is too long",
    "maximum context length",
    "maximum prompt length",
    "exceeds the available context size",
    "exceed context limit",
    "exceeds the context window",
    "exceeds the maximum number of tokens",
    "request_too_large",
];

/// What stands before the number of tokens that the model takes, in lower case, the surest first.
const LIMIT_AFTER: [&str; 7] = [
    "\"n_ctx\":",
    "maximum context length is ",
    "maximum prompt length is ",
    "available context size (",
    "maximum number of tokens allowed (",
    " > ",
    "context window of ",
];

/// Whether this is about a request that is too long, and what the model takes if it says so.
fn too_long(text: &str) -> Option<Option<u64>> {
    // JSON may have blanks after its colons, and escape what it likes.
    let text = text.to_ascii_lowercase().replace("\": ", "\":").replace("\\u003e", ">");
    TOO_LONG.iter().any(|words| text.contains(words)).then(|| {
        LIMIT_AFTER.iter().find_map(|before| {
            let (_, after) = text.split_once(before)?;
            let is_part = |char: &char| char.is_ascii_digit() || matches!(char, ',' | '_');
            let digits = after.chars().take_while(is_part).filter(char::is_ascii_digit);
            digits.collect::<String>().parse().ok()
        })
    })
}

/// What the server says is wrong, on one line; nothing, if it repeats the prompt, which is nobody's business.
fn own_words(text: &str, private: Private<'_>) -> Option<String> {
    let read: Option<Value> = serde_json::from_str(text).ok();
    let places = ["/error/message", "/error", "/message", "/detail", "/0/error/message"];
    let words = match &read {
        Some(json) => places.iter().find_map(|place| json.pointer(place)?.as_str())?,
        // A page for people, of a proxy for instance.
        None if text.trim_start().starts_with('<') => return None,
        None => text,
    };
    let words = plain(words);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = match private.key {
        Some(key) if !key.is_empty() => words.replace(key, "[key]"),
        _ => words,
    };
    let words: String = words.chars().take(MOST_WORDS).collect();
    let Prompt { instructions, input, .. } = private.prompt;
    let repeats = |prompt: &str| {
        let prompt = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
        words.as_bytes().windows(REPEATED).any(|run| memmem::find(prompt.as_bytes(), run).is_some())
    };
    if repeats(input) || repeats(instructions) {
        return Some("in words that repeat the request".to_owned());
    }
    Some(shown(words)).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_long_is_recognized_in_every_shape() {
        for (body, limit) in [
            (
                r#"{"error":{"code":400,"message":"request (12030 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":12030,"n_ctx":8192}}"#,
                Some(8_192),
            ),
            (
                r#"{"error": {"message": "This model's maximum context length is 128,000 tokens. However, your messages resulted in 130001 tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}"#,
                Some(128_000),
            ),
            (r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#, None),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
                Some(200_000),
            ),
            (
                r#"{"error":{"message":"prompt is too long: 210000 tokens \u003e 200000 maximum"}}"#,
                Some(200_000),
            ),
            (
                r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease them"}}"#,
                Some(200_000),
            ),
            (
                r#"{"error":{"message":"This model's maximum prompt length is 131072 but the request contains 140000 tokens."}}"#,
                Some(131_072),
            ),
            (
                r#"[{"error":{"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}]"#,
                Some(1_048_576),
            ),
            (r#"{"message":"Input is too long for requested model."}"#, None),
            ("Your input exceeds the context window of this model.", None),
        ] {
            assert_eq!(too_long(body), Some(limit), "{body}");
        }
        for body in ["", "{}", "bad request", r#"{"error":{"message":"invalid model"}}"#] {
            assert_eq!(too_long(body), None, "{body}");
        }
    }

    fn words(text: &str, key: &str, input: &str) -> Option<String> {
        let prompt =
            Prompt { instructions: "Summarize it".into(), input: input.into(), max_tokens: 64 };
        own_words(text, Private { key: Some(key), prompt: &prompt })
    }

    #[test]
    fn the_servers_words_are_told_without_what_is_private() {
        let said = |text| words(text, "sk-planted", "the secret plan of the harbor is to sink it");
        for (text, expected) in [
            (r#"{"error":{"message":"no such\nmodel"}}"#, Some("no such model")),
            (r#"{"error":"no such model"}"#, Some("no such model")),
            (r#"{"detail":"Not Found"}"#, Some("Not Found")),
            (r#"[{"error":{"message":"odd"}}]"#, Some("odd")),
            ("\u{1b}[31moverloaded\u{1b}[0m\u{202e}\n", Some("overloaded\\u{202e}")),
            ("<html><body>Bad gateway</body></html>", None),
            ("", None),
            ("{}", None),
            (r#"{"error":{"message":"wrong key: sk-planted"}}"#, Some("wrong key: [key]")),
            (
                r#"{"detail":"bad input: \"the secret plan of\nthe harbor is\""}"#,
                Some("in words that repeat the request"),
            ),
        ] {
            assert_eq!(said(text).as_deref(), expected, "{text}");
        }
        assert_eq!(words(&"x".repeat(9_000), "", "").unwrap().len(), MOST_WORDS);
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let prompt = Prompt { instructions: String::new(), input: String::new(), max_tokens: 64 };
        let private = Private { key: None, prompt: &prompt };
        let refused = |status: u16, headers: &HeaderMap, body: &str| {
            let status = StatusCode::from_u16(status).unwrap();
            Fault::refused("x", status, headers, body.as_bytes(), private, None).again
        };
        for status in 400..600 {
            let expected = match status {
                408 | 409 | 425 | 429 | 500.. => Again::After(None),
                _ => Again::Never,
            };
            assert_eq!(refused(status, &HeaderMap::new(), ""), expected, "{status}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", "3".parse().unwrap());
        let after = Again::After(Some(Duration::from_secs(3)));
        assert_eq!(refused(429, &headers, ""), after);
        assert_eq!(refused(503, &headers, ""), after);
        let body = r#"{"error":{"code":"insufficient_quota"}}"#;
        assert_eq!(refused(429, &headers, body), Again::Never);
        headers.insert("x-should-retry", "false".parse().unwrap());
        assert_eq!(refused(503, &headers, ""), Again::Never);
    }
}
