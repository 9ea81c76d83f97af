//! One call of a model behind a server that speaks OpenAI's Chat Completions.

use std::error::Error;
use std::time::Duration;

use brute_host::core::{Part, ToolCall};
use brute_host::formats::{Format, Usage};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde_json::Value;

use super::memory::say;

/// The longest wait that a busy server is granted, in seconds.
const LONGEST_WAIT: u64 = 60;

/// The most of a server's own words that an error repeats, in characters.
const MOST_WORDS: usize = 300;

pub(super) struct Client {
    http: reqwest::Client,
    url: String,
}

/// What the model answered.
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) usage: Option<Usage>,
}

impl Reply {
    /// The answer as parts of a message.
    pub(super) fn parts(&self) -> Vec<Part> {
        let text = Some(&self.text).filter(|text| !text.is_empty() || self.calls.is_empty());
        let text = text.map(|text| Part::text(text.clone()));
        text.into_iter().chain(self.calls.iter().cloned().map(Part::ToolCall)).collect()
    }
}

impl Client {
    /// `key_from` names the environment variable with the key, which goes into a header and nowhere else.
    pub(super) fn new(url: &str, key_from: Option<&str>) -> Result<Self, Box<dyn Error>> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(variable) = key_from {
            let key = std::env::var(variable)
                .map_err(|_| format!("the environment variable `{variable}` holds no key"))?;
            let mut value = HeaderValue::try_from(format!("Bearer {}", key.trim()))
                .map_err(|_| format!("what `{variable}` holds is no key"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let http = reqwest::Client::builder()
            .default_headers(headers)
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(600))
            .build()?;
        Ok(Self { http, url: format!("{}/chat/completions", url.trim_end_matches('/')) })
    }

    /// Sends `request` and reads the answer. A server that is busy is asked once more, when it says.
    pub(super) async fn ask(&self, request: Vec<u8>) -> Result<Reply, Box<dyn Error>> {
        let mut response = self.send(&request).await?;
        if response.status() == StatusCode::TOO_MANY_REQUESTS {
            let after = response.headers().get(RETRY_AFTER).and_then(|after| after.to_str().ok());
            let seconds = after.and_then(|after| after.parse().ok()).unwrap_or(5).min(LONGEST_WAIT);
            say(&format!("the server is busy; asking again in {seconds} s"));
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            response = self.send(&request).await?;
        }
        let status = response.status();
        let body = response.bytes().await.map_err(|error| self.broken(&error))?;
        if !status.is_success() {
            return Err(refusal(status, &body).into());
        }
        let body = serde_json::from_slice(&body)
            .map_err(|error| format!("`{}` answered what is no JSON: {error}", self.url))?;
        reply(&body).ok_or_else(|| format!("`{}` answered no chat completion", self.url).into())
    }

    async fn send(&self, request: &[u8]) -> Result<Response, String> {
        let sent = self.http.post(&self.url).body(request.to_vec()).send().await;
        sent.map_err(|error| self.broken(&error))
    }

    /// What stands between us and the server, in the words of who noticed first: `Connection refused`.
    fn broken(&self, error: &reqwest::Error) -> String {
        let mut cause: &dyn Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let tried = if error.is_connect() { "cannot reach" } else { "lost the answer of" };
        format!("{tried} `{}`: {cause}", self.url)
    }
}

/// How servers say that a request does not fit into the window. They agree on neither the status nor the field.
const OVERFLOWS: [&str; 4] = [
    "exceed_context_size_error",
    "context_length_exceeded",
    "maximum context length",
    "prompt is too long",
];

/// Why the server refused, and what can be done.
fn refusal(status: StatusCode, body: &[u8]) -> String {
    let body = String::from_utf8_lossy(body);
    let json: Value = serde_json::from_str(&body).unwrap_or_default();
    let words = json["error"]["message"].as_str().unwrap_or(&body);
    let words: String = words.chars().take(MOST_WORDS).collect();
    match status {
        // Without the server's words, which may repeat the key.
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => format!(
            "the server takes no such key ({status}); `--key-from` names the environment variable that holds it"
        ),
        StatusCode::TOO_MANY_REQUESTS => format!("the server is still busy: {words}"),
        _ if OVERFLOWS.iter().any(|name| body.contains(name)) => format!(
            "the model's window is smaller than it is said to be: {words}; give its size as `--window`"
        ),
        _ => format!("the server refused ({status}): {words}"),
    }
}

fn reply(body: &Value) -> Option<Reply> {
    let message = body["choices"].get(0)?.get("message")?;
    let calls = message["tool_calls"].as_array().into_iter().flatten().map(|call| {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let function = &call["function"];
        Some(ToolCall {
            id: text(&call["id"])?.into(),
            name: text(&function["name"])?.into(),
            arguments: text(&function["arguments"])?.into(),
        })
    });
    Some(Reply {
        text: message["content"].as_str().unwrap_or_default().to_owned(),
        calls: calls.collect::<Option<_>>()?,
        usage: Usage::read(Format::OpenaiChat, &body["usage"]),
    })
}
