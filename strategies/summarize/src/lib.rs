//! The `summarize` layer: asks a model for the gist of the oldest stretch, round by round, until the
//! conversation fits.
//!
//! Each call of [`Strategy::plan`] is one round. It chooses what to give up, writes a
//! request that fits the summarizer's window, judges the answer and puts one
//! message in the place of what it stands for. The host asks again while the conversation is over
//! target. A round that fails leaves everything as the round before left it.
//!
//! [`identifiers`], [`record`] and [`said`] are public for summarizers that work without a model.

mod answer;
mod clip;
mod echoed;
mod harmless;
pub mod identifiers;
mod ledger;
mod reasoning;
pub mod record;
mod request;
pub mod said;
mod sections;
mod stretch;
mod struck;
#[cfg(test)]
mod tests;

use brute_core::{
    CompletionError, Configure, Edit, Flow, Host, LayerError, LogLevel, Mark, MarkKind,
    OptionsError, PartView, Plan, Prompt, Role, Strategy, Window,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request::{LEDGER_SHARE, Request, Writer};
pub use crate::sections::{SECTIONS, missing_sections};
use crate::stretch::{LEAST_ANSWER, Stretch, Sum, Terms, Unit};

/// The answer takes at most this share of the summarizer's window; the rest is for the record.
const ANSWER_SHARE: u64 = 4;

/// How often a request that the summarizer finds too long is made smaller and sent again. `max-tokens` says so, too.
const RETRIES: usize = 3;

/// This share of the summarizer's window stays free: its tokenizer is seldom the one that counts here.
const MARGIN_SHARE: u64 = 8;

/// What `brute.toml` may say about the layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// How many of the newest steps stay as they are, at least 1. A step is a reply of the model with the
    /// results of the tools that it called.
    #[schemars(range(min = 1))]
    pub keep_steps: u32,
    /// The longest summary, in tokens, at least 64. A summary is never longer than half of what it
    /// replaces, nor than a quarter of the summarizer's window. A request that the summarizer finds too
    /// long is made smaller, by what it says it takes, and sent again, at most three times.
    #[schemars(range(min = 64))]
    pub max_tokens: u32,
    /// What the summarizer is told: what matters in your sessions, what must never be left out. May have
    /// several lines; `{max-tokens}` stands for the length that is asked for.
    pub instructions: String,
    /// Where `instructions` stand.
    pub instructions_mode: InstructionsMode,
}

/// Where the operator's instructions stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InstructionsMode {
    /// Behind brute's own.
    #[default]
    Extend,
    /// Instead of brute's own. What is asked of a summary stays: the record comes fenced, the sections
    /// are named, and the answer is checked and completed as ever.
    Replace,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keep_steps: 2,
            max_tokens: 2_000,
            instructions: String::new(),
            instructions_mode: InstructionsMode::Extend,
        }
    }
}

/// The layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summarize {
    options: Options,
}

impl Configure for Summarize {
    type Options = Options;

    const NAME: &'static str = "summarize";
    const SUMMARY: &'static str =
        "asks a model to summarize the oldest turns, then steps, until it fits";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const NEEDS_SUMMARIZER: bool = true;

    fn build(options: Options) -> Result<Self, OptionsError> {
        brute_core::check_keep_steps(options.keep_steps)?;
        if u64::from(options.max_tokens) < LEAST_ANSWER {
            return Err(OptionsError {
                option: "max-tokens",
                message: format!(
                    "`max-tokens` is {}, and a summary needs at least {LEAST_ANSWER} tokens",
                    options.max_tokens
                ),
            });
        }
        if options.instructions_mode == InstructionsMode::Replace
            && options.instructions.trim().is_empty()
        {
            return Err(OptionsError {
                option: "instructions-mode",
                message: "`instructions-mode` is `replace`, and there are no `instructions`".into(),
            });
        }
        Ok(Self { options })
    }
}

impl Strategy for Summarize {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        if window.excess() == 0 {
            return Ok(Plan::decline());
        }
        let mut limit = host.summarizer().ok_or(CompletionError::NotConfigured)?.window;
        let mut too_long = None;
        for _ in 0..=RETRIES {
            let request = match (self.request(window, host, limit), &too_long) {
                (Ok(Some(request)), _) => request,
                (Ok(None), None) => return Ok(Plan::decline()),
                (Err(error), None) => return Err(error),
                // What can be made smaller was: the summarizer's own words say more than ours.
                (_, Some(_)) => break,
            };
            match host.complete(&request.prompt) {
                Ok(completion) => {
                    let summary =
                        answer::summary_in(&completion).map_err(LayerError::summarizer)?;
                    return Round { window, host }.plan(&request, &summary);
                }
                Err(CompletionError::TooLong { limit: said }) => {
                    limit = smaller(request.size.min(limit), said);
                    too_long = Some(CompletionError::TooLong { limit: said });
                    host.log(
                        LogLevel::Info,
                        &format!("the request was too long; the next takes {limit} tokens at most"),
                    );
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(too_long.unwrap_or(CompletionError::TooLong { limit: None }).into())
    }
}

/// The limit that the summarizer names; half of a request if it names none, or one that was kept.
fn smaller(size: u64, said: Option<u64>) -> u64 {
    said.filter(|said| *said < size).unwrap_or(size / 2)
}

impl Summarize {
    /// The request of this round, at most `limit` tokens with its answer; none if there is nothing to give.
    fn request(
        &self,
        window: &Window<'_>,
        host: &dyn Host,
        limit: u64,
    ) -> Result<Option<Request>, LayerError> {
        let limit = limit - limit / MARGIN_SHARE;
        let terms = self.terms(window, host, limit)?;
        let keep_steps = usize::try_from(self.options.keep_steps).unwrap_or(usize::MAX);
        let Some(stretch) = Stretch::choose(window, keep_steps, &terms) else {
            return Ok(None);
        };
        let options = &self.options;
        Writer { window, host, terms, limit, options }.write(&stretch).map(Some)
    }

    fn terms(&self, window: &Window<'_>, host: &dyn Host, limit: u64) -> Result<Terms, LayerError> {
        let most = u64::from(self.options.max_tokens).min(limit / ANSWER_SHARE);
        if most < LEAST_ANSWER {
            return Err(LayerError::summarizer(format!(
                "the summarizer's window of {limit} tokens is too small (it needs at least {})",
                LEAST_ANSWER * ANSWER_SHARE
            )));
        }
        let framing = window.get(0).map_or(0, |message| {
            let parts = (0..message.parts().len()).map(|part| u64::from(message.part_tokens(part)));
            u64::from(message.tokens()).saturating_sub(parts.sum())
        });
        let back = (0..window.len()).find_map(|message| host.retrieval(message));
        let head = text_of(window.sizes().used, back.as_deref(), "");
        let overhead = u64::from(host.count(&head)) + framing + 1;
        Ok(Terms { most, overhead, framing, summaries: limit / ANSWER_SHARE + overhead })
    }
}

/// The text of the message that stands for `messages` others.
fn text_of(messages: u64, back: Option<&str>, summary: &str) -> String {
    let body = format!("{}{summary}", answer::introduction(messages, back));
    Mark { kind: MarkKind::Summary, count: messages }.write(&body)
}

fn not_smaller(answered: u64, gone: u64) -> LayerError {
    LayerError::summarizer(format!(
        "the summary of {answered} tokens is not smaller than the {gone} that it would replace"
    ))
}

/// From an answer to a plan.
struct Round<'a, 'w> {
    window: &'a Window<'w>,
    host: &'a dyn Host,
}

impl Round<'_, '_> {
    fn plan(&self, request: &Request, answer: &str) -> Result<Plan, LayerError> {
        let gone = Sum::of(&request.units).gone;
        let answer = self.own_words(&sections::without_kept(answer), &request.prompt)?;
        if sections::ends_early(&answer) {
            let message =
                "the summary says nothing but the objective: its other sections are missing";
            return Err(LayerError::summarizer(message));
        }
        let answered = self.count(&answer);
        if answered + request.terms.overhead >= gone {
            return Err(not_smaller(answered, gone));
        }
        let answer = self.checked(&answer, request);
        let count = |text: &str| self.count(text);
        let said = request.kept.said.section(&answer, request.terms.said(request.longest), &count);
        // What the user said is worth more than the words of a summarizer that said more than it was asked.
        let room = gone.saturating_sub(request.terms.overhead + self.count(&said) + 1);
        let summary = self.bounded(&answer, self.count(&said), gone, request);
        let summary = match self.count(&summary) > room {
            true => clip::clip(&summary, room, &count),
            false => summary,
        };
        let with_said = format!("{summary}{said}");
        let least = request.longest * LEDGER_SHARE / 100;
        let left = request.longest.saturating_sub(self.count(&with_said)).max(least);
        let ledger = request.kept.ledger.section(&with_said, left, &count);
        let messages = self.messages_in(&request.units);
        let mut places = request.units.iter().flat_map(|unit| unit.span.clone());
        let back = places.find_map(|message| self.host.retrieval(message));
        let fits = |text: &str| {
            let tokens = self.count(text) + request.terms.framing;
            tokens < gone && tokens <= request.terms.most + request.terms.overhead
        };
        let sizes = self.window.sizes();
        let meets = |text: &&String| {
            let left = sizes.used.saturating_sub(gone) + self.count(text) + request.terms.framing;
            left <= sizes.target
        };
        let room = sizes.target.saturating_sub(sizes.used.saturating_sub(gone));
        let room = room.saturating_sub(self.count(&with_said) + request.terms.overhead);
        let shorter = request.kept.ledger.section(&with_said, room.min(left), &count);
        let with_ledger = [ledger, shorter].map(|ledger| format!("{with_said}{ledger}"));
        let whole = with_ledger.into_iter().chain([with_said]);
        let [whole, summary] = [whole.collect(), vec![summary]].map(|texts: Vec<String>| {
            let texts = texts.iter().map(|text| text_of(messages, back.as_deref(), text));
            texts.filter(|text| fits(text)).collect::<Vec<_>>()
        });
        // What the user said is given up for no target: no later summary could say it again.
        let text = whole.iter().find(meets).or(whole.first()).or(summary.first());
        let text = text.ok_or_else(|| not_smaller(answered, gone))?;
        Ok(Plan { edits: self.edits(&request.units, text), flow: Flow::Again })
    }

    /// The answer without what it says of the instructions.
    fn own_words(&self, answer: &str, prompt: &Prompt) -> Result<String, LayerError> {
        let Prompt { instructions, input, .. } = prompt;
        let (own, echoed) = echoed::without_instructions(answer, instructions, input);
        if echoed > 0 {
            if sections::says_nothing(&own) {
                let message = "the summarizer repeats its instructions and says nothing else";
                return Err(LayerError::summarizer(message));
            }
            let message = format!("sentences of the instructions were struck out: {echoed}");
            self.host.log(LogLevel::Info, &message);
        }
        Ok(own)
    }

    /// The answer with an objective, and without paths that nobody named. One that took up the headings has all of
    /// them, if there is room; one in prose, none but that: the sections that are kept without the summarizer stand
    /// behind both.
    fn checked(&self, answer: &str, request: &Request) -> String {
        let missing = missing_sections(answer);
        if !missing.is_empty() {
            let missing = missing.join("`, `");
            self.host.log(LogLevel::Info, &format!("the summary has no section `{missing}`"));
        }
        let is_prose = missing.len() == SECTIONS.len();
        let spans = request.units.iter().map(|unit| unit.span.clone());
        let messages = spans.flat_map(|span| self.window.messages(span));
        let texts = messages.flat_map(|message| message.parts()).filter_map(|part| match part {
            PartView::Text(text) => Some(text),
            PartView::ToolCall { arguments, .. } => Some(arguments),
            PartView::ToolResult(result) => Some(result.text),
            _ => None,
        });
        let asked = [request.prompt.instructions.as_str(), request.prompt.input.as_str()];
        let texts: Vec<&str> = texts.chain(asked).collect();
        let (answer, invented) = struck::struck(answer, &texts);
        if invented > 0 {
            let message =
                format!("paths that the record does not have were struck out: {invented}");
            self.host.log(LogLevel::Info, &message);
        }
        let answer = match sections::section(&answer, "Objective") {
            Some(_) => answer,
            None => sections::with_objective(&answer, &request.kept.objective),
        };
        let whole = Some(&answer).filter(|_| !is_prose).map(|answer| sections::completed(answer));
        let fits = |whole: &String| self.count(whole) <= u64::from(request.prompt.max_tokens);
        whole.filter(fits).unwrap_or(answer)
    }

    /// The summary, clipped if with `kept` tokens beside it is longer than the option allows, or longer
    /// than what was asked for and by that over the target.
    fn bounded(&self, summary: &str, kept: u64, gone: u64, request: &Request) -> String {
        let count = |text: &str| self.count(text);
        let sizes = self.window.sizes();
        let asked = request.longest;
        let left = |answer: u64| sizes.used.saturating_sub(gone) + request.terms.overhead + answer;
        let answered = count(summary) + kept;
        let room = sizes.target.saturating_sub(left(0));
        let helps = left(answered) > sizes.target && room >= kept + LEAST_ANSWER;
        let longest = if helps { asked.min(room) } else { request.terms.most };
        if answered <= longest {
            return summary.to_owned();
        }
        let message = format!(
            "the summary has {answered} tokens instead of {asked} and was clipped to {longest}"
        );
        self.host.log(LogLevel::Warn, &message);
        clip::clip(summary, longest.saturating_sub(kept), &count)
    }

    fn count(&self, text: &str) -> u64 {
        u64::from(self.host.count(text))
    }

    /// How many messages the units stand for, those that earlier notes and summaries counted included.
    fn messages_in(&self, units: &[Unit]) -> u64 {
        let messages = units.iter().flat_map(|unit| self.window.messages(unit.span.clone()));
        let stands_for = |mark: Option<Mark>| match mark {
            Some(Mark { kind: MarkKind::Note | MarkKind::Summary, count }) => count,
            _ => 1,
        };
        messages.fold(0, |sum, message| u64::saturating_add(sum, stands_for(message.mark())))
    }

    /// The summary stands where the newest of what it replaces stood, so that it never comes before a
    /// summary of older things; at the oldest place if the dialogue would else begin with the model.
    fn edits(&self, units: &[Unit], text: &str) -> Vec<Edit> {
        let mut runs: Vec<std::ops::Range<usize>> = Vec::new();
        for unit in units {
            match runs.last_mut() {
                Some(run) if run.end == unit.span.start => run.end = unit.span.end,
                _ => runs.push(unit.span.clone()),
            }
        }
        let newest = runs.len().saturating_sub(1);
        let before = 0..runs[newest..].first().map_or(0, |run| run.start);
        let mut stays = self.window.messages(before).filter(|message| {
            matches!(message.role(), Role::User | Role::Assistant | Role::Tool)
                && !runs.iter().any(|run| run.contains(&message.index()))
        });
        let begins = stays.next().map(|message| message.role());
        let at = if begins == Some(Role::Assistant) { 0 } else { newest };
        let edit = |(index, span)| match index == at {
            true => Edit::Replace { span, role: Role::User, text: text.to_owned() },
            false => Edit::Drop { span },
        };
        runs.into_iter().enumerate().map(edit).collect()
    }
}
