//! The backends `openai` and `anthropic`: a model behind a server.
//!
//! ```text
//! Prompt ─▶ request ─▶ POST ─▶ answer, whole and bounded ─▶ reply ─▶ Completion
//!              ▲                   │
//!              └── wait ◀── fault ─┘   within `timeout`, and only where asking again may help
//! ```

mod anthropic;
mod fault;
mod openai;
mod patience;
mod retry;
mod stream;
mod thoughts;

use std::sync::OnceLock;
use std::time::Duration;

use brute_core::{
    Completion, CompletionError, CompletionUsage, OptionsError, Prompt, Stop, SummarizerLimits,
};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use reqwest::{Client, Response, Url, redirect};
use serde_json::Value;
use tokio::time::sleep;

use super::{BoxFuture, MOST_OUTPUT, ServerOptions, Summarizer, Watcher};
use crate::formats::{Format, Usage};
use crate::models::{ModelTable, Price};
use crate::shown::shown;
use fault::{Again, Fault, Private};
use openai::Dialect;
use patience::Patience;
use stream::{Broken, Pieces};

/// So much of a refusal is read.
const MOST_REFUSAL: usize = 64 * 1024;
/// So much of an answer in pieces is read: each word of it has a good part of a kilobyte around it.
const MOST_STREAM: usize = 16 * MOST_OUTPUT;
/// How long a server may take to accept a connection.
const LONGEST_CONNECT: Duration = Duration::from_secs(10);

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interface {
    /// Chat completions.
    Openai,
    /// Messages.
    Anthropic,
}

impl Interface {
    fn name(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Openai => "/chat/completions",
            Self::Anthropic => "/messages",
        }
    }
}

/// Asks a server. It holds no key: that is read from the environment for each request.
#[derive(Debug)]
pub(super) struct Server {
    interface: Interface,
    url: Url,
    /// Host and port, for messages.
    shown: String,
    window: u64,
    /// What the model costs, if that is known.
    price: Option<Price>,
    options: ServerOptions,
    /// Made with the first request: it reads the system's certificates.
    client: OnceLock<Client>,
}

impl Server {
    /// A summarizer that asks this server. Sizes that the options leave out are those of `models`.
    ///
    /// # Errors
    /// If an option cannot be used.
    pub(super) fn build(
        interface: Interface,
        options: ServerOptions,
        models: &ModelTable,
    ) -> Result<Self, OptionsError> {
        let url = options.url(interface.path())?;
        options.check()?;
        let window = options.limit(models)?;
        let price = models.price(&options.model);
        let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
        let shown = format!("{}{port}", url.host_str().unwrap_or_default());
        Ok(Self { interface, url, shown, window, price, options, client: OnceLock::new() })
    }

    /// Asks until there is an answer, or until asking is over.
    async fn ask(
        &self,
        prompt: &Prompt,
        watcher: &Watcher<'_>,
    ) -> Result<Completion, CompletionError> {
        let failed = |reason| CompletionError::Failed { reason };
        let key = self.key().map_err(failed)?;
        let private = Private { key: key.as_deref(), prompt };
        let patience = Patience::new(self.options.timeout.into());
        let mut dialect = Dialect::new(self.options.stream);
        let mut retries = 0;
        loop {
            let attempt = self.attempt(private, &mut dialect, &patience, watcher);
            let Some(tried) = patience.with(attempt).await else {
                let seconds = self.options.timeout.as_secs();
                let what = match patience.was_answered() {
                    true => format!("began to answer, and then sent nothing for {seconds} s"),
                    false => format!("did not answer within {seconds} s"),
                };
                return Err(failed(format!(
                    "`{}` {what}; raise `timeout`, or see what keeps it",
                    self.shown
                )));
            };
            let Fault { error, again } = match tried {
                Ok(completion) => return Ok(completion),
                Err(fault) => fault,
            };
            let Again::After(asked) = again else { return Err(error) };
            if retries == self.options.retries {
                return Err(error);
            }
            let wait = retry::backoff(retries).max(asked.unwrap_or_default());
            if patience.left() <= wait {
                let more = match asked {
                    Some(asked) => {
                        format!(
                            "; it asks to wait {} s, more than `timeout` has left",
                            asked.as_secs()
                        )
                    }
                    None => String::new(),
                };
                return Err(match error {
                    CompletionError::Failed { reason } => failed(reason + &more),
                    error => error,
                });
            }
            tracing::debug!(server = self.shown, ?wait, %error, "asking again");
            sleep(wait).await;
            retries += 1;
        }
    }

    /// The key, if one is to be sent.
    fn key(&self) -> Result<Option<String>, String> {
        let Some(name) = self.options.key_variable() else { return Ok(None) };
        let key = std::env::var(name).unwrap_or_default().trim().to_owned();
        if key.is_empty() || HeaderValue::from_str(&key).is_err() {
            return Err(format!(
                "`{name}` holds no key for `{}`: set that environment variable, or see to `api-key-env`",
                self.shown
            ));
        }
        Ok(Some(key))
    }

    fn client(&self) -> Result<&Client, Fault> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // A connection is good for one request: the next one comes too late for it, and maybe on another runtime.
        // Whoever redirects would get the conversation, and the key: only `base-url` says who gets those.
        let built = Client::builder()
            .user_agent(concat!("brute/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(LONGEST_CONNECT)
            .pool_max_idle_per_host(0)
            .redirect(redirect::Policy::none())
            .build();
        let client = built.map_err(|error| {
            Fault::lasting(format!("no connection can be made from here: {}", shown(error)))
        })?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Asks once; a second time, if the server only wants the limit under its other name.
    async fn attempt(
        &self,
        private: Private<'_>,
        dialect: &mut Dialect,
        patience: &Patience,
        watcher: &Watcher<'_>,
    ) -> Result<Completion, Fault> {
        let mut response = self.send(private, *dialect).await?;
        let status = response.status();
        if status.is_redirection() {
            let to = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let to = to.and_then(|to| self.url.join(to).ok());
            let to = to.map_or_else(String::new, |to| {
                format!(" to `{}`", shown(to.origin().ascii_serialization()))
            });
            return Err(Fault::lasting(format!(
                "`{}` redirects{to} ({}), which is not followed; if that is right, set `base-url` to it",
                self.shown,
                status.as_u16()
            )));
        }
        if !status.is_success() {
            let headers = response.headers().clone();
            let mut body = Vec::new();
            // What of it came is enough.
            while let Ok(Some(chunk)) = response.chunk().await {
                body.extend_from_slice(&chunk);
                if body.len() > MOST_REFUSAL {
                    break;
                }
            }
            drop(response);
            if matches!(status.as_u16(), 400 | 422)
                && self.interface == Interface::Openai
                && let Some(other) = dialect.instead(&body)
            {
                *dialect = other;
                return Box::pin(self.attempt(private, dialect, patience, watcher)).await;
            }
            let variable = self.options.key_variable();
            return Err(Fault::refused(&self.shown, status, &headers, &body, private, variable));
        }
        let answer = match essence(&response).as_deref() {
            Some("text/event-stream") => self.pieces(response, private, patience, watcher).await?,
            _ => self.answer(response).await.map_err(Fault::lasting)?,
        };
        if has_error(&answer) {
            return Err(Fault::in_answer(&self.shown, &answer, private));
        }
        self.completion(&answer).map_err(|what| Fault::lasting(format!("`{}` {what}", self.shown)))
    }

    async fn send(&self, private: Private<'_>, dialect: Dialect) -> Result<Response, Fault> {
        let (model, prompt) = (self.options.model.as_str(), private.prompt);
        let most = self.options.max_tokens.unwrap_or(prompt.max_tokens);
        let mut request = self.client()?.post(self.url.clone());
        let secret = |text: &str| {
            let mut value = HeaderValue::from_str(text);
            value.iter_mut().for_each(|value| value.set_sensitive(true));
            value
        };
        let body = match self.interface {
            Interface::Openai => {
                if let Some(Ok(value)) = private.key.map(|key| secret(&format!("Bearer {key}"))) {
                    request = request.header(AUTHORIZATION, value);
                }
                openai::request(model, prompt, most, dialect)
            }
            Interface::Anthropic => {
                if let Some(Ok(value)) = private.key.map(secret) {
                    request = request.header("x-api-key", value);
                }
                request = request.header("anthropic-version", anthropic::VERSION);
                anthropic::request(model, prompt, most, self.options.stream)
            }
        };
        let sent = request.json(&body).send().await;
        sent.map_err(|error| Fault::unanswered(&self.shown, &error))
    }

    /// An answer that comes in pieces, once it is whole. Whoever goes on sending is waited for.
    async fn pieces(
        &self,
        mut response: Response,
        private: Private<'_>,
        patience: &Patience,
        watcher: &Watcher<'_>,
    ) -> Result<Value, Fault> {
        let server = &self.shown;
        let mut pieces = Pieces::new(self.interface);
        let mut read = 0;
        while let Ok(Some(chunk)) = response.chunk().await {
            patience.renew();
            read += chunk.len();
            if read > MOST_STREAM {
                return Err(Fault::lasting(format!(
                    "`{server}` answered with more than {MOST_STREAM} bytes, which is no summary; see to `base-url`"
                )));
            }
            pieces.add(&chunk).map_err(|broken| match broken {
                Broken::Error(event) => Fault::in_answer(server, &event, private),
                Broken::Encoding => Fault::lasting(format!(
                    "`{server}` answered with text that is not UTF-8, before byte {read}"
                )),
                Broken::Json => Fault::lasting(format!(
                    "`{server}` answered with an event that is no JSON, before byte {read}"
                )),
            })?;
            watcher(thoughts::without(pieces.text()));
            // Some keep the line open.
            if pieces.is_whole() {
                break;
            }
        }
        let broke_off = || format!("`{server}` broke off its answer after {read} bytes");
        pieces.whole().ok_or_else(|| Fault::lasting(broke_off()))
    }

    /// The answer, if it is what an answer is; else why not.
    async fn answer(&self, mut response: Response) -> Result<Value, String> {
        let server = &self.shown;
        let essence = essence(&response).unwrap_or_else(|| "application/json".to_owned());
        if essence != "application/json" && !essence.ends_with("+json") {
            let kind = shown(essence);
            return Err(format!(
                "`{server}` answered with `{kind}` and no JSON; see to `base-url`"
            ));
        }
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(_) => {
                    let read = body.len();
                    return Err(format!("`{server}` broke off its answer after {read} bytes"));
                }
            }
            if body.len() > MOST_OUTPUT {
                return Err(format!(
                    "`{server}` answered with more than {MOST_OUTPUT} bytes, which is no summary; see to `base-url`"
                ));
            }
        }
        let text = std::str::from_utf8(&body).map_err(|error| {
            let from = error.valid_up_to();
            format!("`{server}` answered with text that is not UTF-8, from byte {from} on")
        })?;
        // The parser's words may repeat the text.
        let read: Result<Value, _> = serde_json::from_str(text);
        read.map_err(|error| {
            let (line, column) = (error.line(), error.column());
            match error.is_eof() {
                true => format!("`{server}` broke off its answer after {} bytes", body.len()),
                false => format!("`{server}` answered with no JSON (line {line}, column {column})"),
            }
        })
    }

    /// The reply without what the model thought.
    fn completion(&self, answer: &Value) -> Result<Completion, String> {
        let reply = match self.interface {
            Interface::Openai => openai::reply(answer),
            Interface::Anthropic => anthropic::reply(answer),
        }?;
        let text = thoughts::without(&reply.text).to_owned();
        if text.trim().is_empty() && reply.stop == Stop::End {
            let thought = match reply.text.trim().is_empty() {
                true => "",
                false => " but what it thought; a model that thinks may need more `max-tokens`",
            };
            return Err(format!("answered nothing{thought}"));
        }
        let usage = reply.usage.map(|usage| {
            let cost = self.price.map(|price| price.of(&usage));
            CompletionUsage { cost, ..usage }
        });
        Ok(Completion { text, usage, ..reply })
    }
}

/// The type of a body, without its parameters.
fn essence(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}

/// Whether an answer, or a piece of one, is an error.
fn has_error(answer: &Value) -> bool {
    let is_one = |error: &Value| !error.is_null() && error != &Value::Bool(false);
    answer.get("error").is_some_and(is_one) || answer["type"] == "error"
}

/// What the server says that it bills, of which `cached` came from a cache.
fn usage(format: Format, answer: &Value, cached: Option<u64>) -> Option<CompletionUsage> {
    let Usage { input, output } = Usage::read(format, &answer["usage"])?;
    let cached = cached.unwrap_or_default().min(input);
    Some(CompletionUsage { input, cached, output, cost: None })
}

/// How a reply ended that is not known to be whole.
fn ended_oddly(reason: &str) -> String {
    match reason {
        "" => "did not say whether its answer is whole".to_owned(),
        reason => {
            let reason: String = reason.chars().take(40).collect();
            format!("ended its answer for the reason `{}`", shown(reason))
        }
    }
}

impl Summarizer for Server {
    fn name(&self) -> &str {
        self.interface.name()
    }

    fn limits(&self) -> SummarizerLimits {
        SummarizerLimits { window: self.window }
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(self.ask(prompt, &|_| {}))
    }

    fn complete_watched<'a>(
        &'a self,
        prompt: &'a Prompt,
        watcher: &'a Watcher<'a>,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(self.ask(prompt, watcher))
    }
}

#[cfg(test)]
mod tests;
