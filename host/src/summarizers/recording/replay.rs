//! A recording that answers in the place of the summarizer that was recorded.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use brute_core::{Completion, CompletionError, Prompt, SummarizerLimits};
use brute_summarize::record::without_code;
use serde_json::Value;

use super::line::{Exchange, FORMAT, Head, VERSION};
use super::{Difference, RecordingError};
use crate::summarizers::{BoxFuture, Summarizer};

/// Answers what was answered when it was recorded, to the same requests in the same order, and to no others: once it
/// was asked something else, it answers nothing any more. Asks nobody.
#[derive(Debug)]
pub struct Replay {
    path: PathBuf,
    summarizer: String,
    window: u64,
    exchanges: Vec<Exchange<'static>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many exchanges were asked for.
    asked: usize,
    /// Why it answers no more.
    fault: Option<RecordingError>,
}

impl Replay {
    /// Reads a recording whole.
    ///
    /// # Errors
    /// If the file cannot be read, is something else, of a later version, torn or broken.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, RecordingError> {
        let path = path.into();
        let bytes = fs::read(&path).map_err(|error| RecordingError::read(&path, &error))?;
        let foreign = || RecordingError::Foreign { path: path.clone() };
        let head_end = memchr::memchr(b'\n', &bytes).ok_or_else(foreign)?;
        let head: Value = serde_json::from_slice(&bytes[..head_end]).map_err(|_| foreign())?;
        let version = head["version"].as_u64().filter(|_| head["format"] == FORMAT);
        let version = version.ok_or_else(foreign)?;
        if version != VERSION {
            return Err(RecordingError::Version { path, version });
        }
        let broken = |line, error: &serde_json::Error| broken(&path, line, error);
        let Head { summarizer, window, .. } =
            serde_json::from_value(head).map_err(|error| broken(1, &error))?;
        let mut exchanges = Vec::new();
        for (index, line) in
            bytes[head_end + 1..].split_inclusive(|byte| *byte == b'\n').enumerate()
        {
            let number = index + 2;
            let Some(whole) = line.strip_suffix(b"\n") else {
                return Err(RecordingError::Torn { path, line: number });
            };
            let exchange: Exchange<'static> =
                serde_json::from_slice(whole).map_err(|error| broken(number, &error))?;
            if exchange.exchange != index + 1 {
                let reason =
                    format!("it is exchange {}, and should be {}", exchange.exchange, index + 1);
                return Err(RecordingError::Line { path, line: number, reason });
            }
            exchanges.push(exchange);
        }
        let summarizer = summarizer.into_owned();
        Ok(Self { path, summarizer, window, exchanges, state: Mutex::default() })
    }

    /// Whether the run was the recorded one.
    ///
    /// # Errors
    /// Where it was not: what was asked that was not recorded, or how much was not asked for.
    pub fn finish(&self) -> Result<(), RecordingError> {
        let State { asked, fault } = &*self.state();
        let (asked, exchanges) = (*asked, self.exchanges.len());
        match fault {
            Some(fault) => Err(fault.clone()),
            None if asked < exchanges => {
                Err(RecordingError::LeftOver { path: self.path.clone(), exchanges, asked })
            }
            None => Ok(()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, prompt: &Prompt) -> Result<Completion, CompletionError> {
        let state = &mut *self.state();
        let next = match state.fault.clone() {
            Some(fault) => Err(fault),
            None => self.next(state.asked, prompt),
        };
        match next {
            Ok(exchange) => {
                state.asked += 1;
                exchange.reply.given()
            }
            Err(fault) => {
                let reason = fault.to_string();
                state.fault = Some(fault);
                Err(CompletionError::Failed { reason })
            }
        }
    }

    fn next(&self, asked: usize, prompt: &Prompt) -> Result<&Exchange<'static>, RecordingError> {
        let path = || self.path.clone();
        let Some(exchange) = self.exchanges.get(asked) else {
            return Err(RecordingError::RanOut { path: path(), exchanges: self.exchanges.len() });
        };
        let recorded = &exchange.request;
        let max_tokens =
            (recorded.max_tokens != prompt.max_tokens).then_some(Difference::MaxTokens {
                recorded: recorded.max_tokens,
                asked: prompt.max_tokens,
            });
        let difference =
            Difference::of("instructions", &recorded.instructions, &prompt.instructions)
                .or_else(|| {
                    let [recorded, asked] =
                        [recorded.input.as_ref(), &prompt.input].map(without_code);
                    Difference::of("contents", &recorded, &asked)
                })
                .or_else(|| Difference::of("contents", &recorded.input, &prompt.input))
                .or(max_tokens);
        match difference {
            Some(difference) => {
                Err(RecordingError::Other { path: path(), exchange: exchange.exchange, difference })
            }
            None => Ok(exchange),
        }
    }
}

/// The parser's words may repeat what stands there, which is nobody's business.
fn broken(path: &Path, line: usize, error: &serde_json::Error) -> RecordingError {
    let reason = match error.classify() {
        serde_json::error::Category::Data => "it is no exchange of this version".to_owned(),
        _ => format!("it is no JSON from column {} on", error.column()),
    };
    RecordingError::Line { path: path.into(), line, reason }
}

impl Summarizer for Replay {
    fn name(&self) -> &str {
        &self.summarizer
    }

    fn limits(&self) -> SummarizerLimits {
        SummarizerLimits { window: self.window }
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(async { self.answer(prompt) })
    }
}
