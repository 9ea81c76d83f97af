//! A summarizer that says what a case tells it to, and remembers what it was asked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brute_core::{Completion, CompletionError, Prompt, Stop, SummarizerLimits, TokenCounter};
use brute_host::summarizers::{BoxFuture, Summarizer};
use serde_json::Value;

use super::run::Request;
use super::wire::items;

/// What it says to one request.
#[derive(Debug, Clone)]
enum Reply {
    Answer {
        text: String,
        stop: Stop,
        delay: Duration,
    },
    Error(CompletionError),
    /// Refuses what is longer, and says `then` to the rest.
    Overflow {
        above: u64,
        then: String,
    },
    /// What a case says in words.
    Words(String),
}

/// A summarizer that says what a case tells it to.
pub(crate) struct Fake {
    window: u64,
    counter: Arc<dyn TokenCounter>,
    /// What each model says, in the order in which they are tried.
    models: Mutex<Vec<(String, VecDeque<Reply>)>>,
    requests: Mutex<Vec<Request>>,
    /// What it made up so far.
    answers: Mutex<Vec<String>>,
}

impl Fake {
    /// The summarizer of these settings, if they have one.
    pub(crate) fn new(settings: &Value, counter: Arc<dyn TokenCounter>) -> Option<Self> {
        let own = settings.get("summariser").or_else(|| settings.get("summarizer"))?;
        let window = [&own["window"], &settings["window"]].into_iter().find_map(Value::as_u64);
        let named = items(&own["models"]).iter().filter_map(Value::as_str);
        let mut models: Vec<String> = named.map(str::to_owned).collect();
        if models.is_empty() {
            models.push(String::new());
        }
        let models = models.into_iter().map(|model| {
            let entries = items(&own["mock"]).iter();
            let entries =
                entries.filter(|entry| entry["model"].as_str().is_none_or(|of| of == model));
            let mut replies: VecDeque<Reply> =
                entries.flat_map(|entry| reply(entry, own)).collect();
            replies.extend(own["mock_fn"].as_str().map(|words| Reply::Words(words.to_owned())));
            (model, replies)
        });
        Some(Self {
            window: window.filter(|window| *window > 0).unwrap_or(128_000),
            counter,
            models: Mutex::new(models.collect()),
            requests: Mutex::default(),
            answers: Mutex::default(),
        })
    }

    /// What it was asked so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, prompt: &Prompt) -> u64 {
        let count = |text| u64::from(self.counter.count(text));
        let tokens = count(&prompt.instructions) + count(&prompt.input);
        let Prompt { instructions, input, .. } = prompt.clone();
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(Request { instructions, input, tokens });
        tokens
    }

    /// The next reply of each model; the last one is repeated.
    fn next(&self) -> Vec<(String, Reply)> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let next = models.iter_mut().filter_map(|(model, replies)| {
            let reply =
                if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() };
            Some((model.clone(), reply?))
        });
        next.collect()
    }

    async fn answer(&self, prompt: &Prompt) -> Result<Completion, CompletionError> {
        let tokens = self.remember(prompt);
        let mut reasons = Vec::new();
        let mut last = CompletionError::Failed { reason: "there is no reply left".into() };
        for (model, reply) in self.next() {
            let (text, stop) = match reply {
                Reply::Answer { text, stop, delay } => {
                    if !delay.is_zero() {
                        tokio::time::sleep(delay).await;
                    }
                    (text, stop)
                }
                Reply::Overflow { above, .. } if tokens > above => {
                    return Err(CompletionError::TooLong { limit: Some(above) });
                }
                Reply::Overflow { then, .. } => (then, Stop::End),
                Reply::Words(words) => {
                    let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
                    let text = by_words(&words, prompt, &answers);
                    answers.push(text.clone());
                    (text, Stop::End)
                }
                Reply::Error(error) => {
                    reasons.push(format!("{model}: {error}"));
                    last = error;
                    continue;
                }
            };
            return Ok(Completion::new(text, stop));
        }
        // One that is made of several models says what each of them said.
        match reasons.len() {
            0 | 1 => Err(last),
            _ => Err(CompletionError::Failed { reason: reasons.join("; ") }),
        }
    }
}

impl Summarizer for Fake {
    fn name(&self) -> &str {
        "fake"
    }

    fn limits(&self) -> SummarizerLimits {
        SummarizerLimits { window: self.window }
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(self.answer(prompt))
    }
}

fn reply(entry: &Value, settings: &Value) -> Vec<Reply> {
    let times = entry["times"].as_u64().unwrap_or(1).min(1000) as usize;
    let text = |value: &Value| value["text"].as_str().unwrap_or_default().to_owned();
    let one = if let Some(error) = entry.get("error") {
        Reply::Error(match error.as_str() {
            Some("timeout") => CompletionError::TimedOut { seconds: 60 },
            Some(words) => CompletionError::Failed { reason: words.to_owned() },
            None => CompletionError::Failed { reason: format!("HTTP {error}") },
        })
    } else if let Some(above) = entry["overflow_above_tokens"].as_u64() {
        let then = entry.get("then").unwrap_or(&settings["then"]);
        Reply::Overflow { above, then: text(then) }
    } else {
        let stop = match entry["stop"].as_str() {
            Some("length" | "max_tokens") => Stop::Length,
            Some("tool_calls" | "tool_use") => Stop::ToolCall,
            _ if entry.get("tool_calls").is_some() => Stop::ToolCall,
            _ => Stop::End,
        };
        let delay = Duration::from_millis(entry["delay_ms"].as_u64().unwrap_or(0));
        Reply::Answer { text: text(entry), stop, delay }
    };
    vec![one; times]
}

/// The texts between single quotes.
fn quoted(words: &str) -> Vec<&str> {
    words.split('\'').skip(1).step_by(2).collect()
}

/// Does what a case says in words, as far as the words are known; anything else gets an ordinary
/// summary, so that all other checks can be made.
fn by_words(words: &str, prompt: &Prompt, earlier: &[String]) -> String {
    let text = &prompt.input;
    let mut said = Vec::new();
    if words.contains("names every Kn") || words.contains("every K") {
        let names = (1..100).map(|number| format!("K{number}"));
        said.extend(names.filter(|name| text.contains(&format!("{name} "))));
    }
    if words.contains("occur in the request") && words.contains("which of") {
        said.extend(
            quoted(words).into_iter().filter(|name| text.contains(name)).map(str::to_owned),
        );
    }
    if words.contains("previous summary") {
        said.extend(earlier.iter().rev().find(|answer| text.contains(answer.trim())).cloned());
    }
    if let Some((count, unit)) = repetition(words) {
        said.push(unit.repeat(count));
    } else if let Some(answer) = words.split("answers ").nth(1) {
        said.extend(quoted(answer).first().map(|answer| (*answer).to_owned()));
    }
    if said.is_empty() {
        said.push(
            "Goal: see the first user message. Done: several files read. Next: continue.".into(),
        );
    }
    said.join(" ")
}

/// `300 x 'word '`.
fn repetition(words: &str) -> Option<(usize, &str)> {
    let (before, behind) = words.split_once(" x '")?;
    let count = before.rsplit(' ').next()?.parse().ok()?;
    Some((count, behind.split('\'').next()?))
}
