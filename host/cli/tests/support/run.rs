//! What a run of a case left to look at, and what a check makes of it.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It holds.
    Pass,
    /// It does not hold.
    Fail(String),
    /// It cannot be made: the tool has no such setting, or the check is not known.
    Skip(String),
    /// It is a sentence that nobody has turned into code.
    UnknownSentence,
}

impl Verdict {
    /// Pass if `holds`.
    pub fn of(holds: bool, otherwise: impl FnOnce() -> String) -> Self {
        if holds { Self::Pass } else { Self::Fail(otherwise()) }
    }

    /// The first of `verdicts` that is no pass; a failure before a skip.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let mut skip = Self::Pass;
        for verdict in verdicts {
            match verdict {
                Self::Pass => {}
                Self::Fail(_) => return verdict,
                other if skip == Self::Pass => skip = other,
                _ => {}
            }
        }
        skip
    }
}

/// One run of a case, with one set of settings.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// The format of the lists.
    pub format: String,
    /// The settings in force, as the case words them.
    pub settings: Value,
    /// The list that the run began with.
    pub given: Vec<Value>,
    /// All that was ever put into the list, in order.
    pub fed: Vec<Value>,
    /// What happened, step by step.
    pub passes: Vec<Pass>,
    /// What the summarizer was asked.
    pub requests: Vec<Request>,
    /// A run on what came out, which nobody asked for.
    pub again: Option<Box<Pass>>,
    /// How many requests that run made.
    pub again_requests: usize,
    /// The texts that were truncated.
    pub cuts: Vec<Cut>,
    /// The texts that were counted.
    pub counts: Vec<Count>,
    /// Where a panic was caught, its words.
    pub panic: Option<String>,
    /// How long the tool took, all steps together.
    pub elapsed: Duration,
}

/// One step of a run.
#[derive(Debug, Clone, Default)]
pub struct Pass {
    /// What was done: `compact`, `append`, `check_trigger`, …
    pub step: String,
    /// The text of the request before the step.
    pub before_text: String,
    /// The text of the request after the step.
    pub text: String,
    /// The list before the step.
    pub before: Vec<Value>,
    /// The list after the step.
    pub list: Vec<Value>,
    /// The whole request after the step.
    pub body: Value,
    /// The tool's count of the request before the step, tool schemas included.
    pub tokens_before: u64,
    /// The tool's count of the request after the step.
    pub tokens: u64,
    /// All roles that the outcome plays: `noop`, `repaired`, `degraded`, `cannot_reach_target`, `error:…`.
    pub statuses: Vec<String>,
    /// Whether a compaction was due before the step.
    pub triggered: Option<bool>,
    /// The size taken from reported usage.
    pub anchor: Option<u64>,
    /// The rungs that gave something.
    pub rungs: Vec<String>,
    /// All that the tool said about the step, in its own words.
    pub report: String,
    /// What stands in the way: kind, messages on the wire, tokens.
    pub blockers: Vec<(String, Vec<usize>, u64)>,
    /// Whether a list came out, as opposed to an error.
    pub has_output: bool,
    /// How many requests had been made when the step was over.
    pub requests: usize,
}

/// A request to the summarizer, as a model would get it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The part in the system's place.
    pub instructions: String,
    /// The part in the user's place.
    pub input: String,
    /// The tool's count of both.
    pub tokens: u64,
}

impl Request {
    /// All of it.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.instructions, self.input)
    }
}

/// A text that was truncated.
#[derive(Debug, Clone)]
pub struct Cut {
    /// `head` or `tail`.
    pub mode: String,
    /// The whole text.
    pub input: Vec<u8>,
    /// What was put after it, if it was put through a redaction first.
    pub redacted: Option<String>,
    /// What goes on.
    pub text: String,
    /// What was cut, if something was.
    pub report: Option<CutReport>,
    /// The file with the full text, by the notice.
    pub file: Option<PathBuf>,
    /// The same text after each further pass.
    pub passes: Vec<String>,
    /// How many files there were after the first pass and after the last.
    pub files: (usize, usize),
}

/// What the tool says that it cut.
#[derive(Debug, Clone)]
pub struct CutReport {
    /// Lines of the whole text.
    pub total_lines: u64,
    /// Ranges of lines that are shown.
    pub shown: Vec<(u64, u64)>,
    /// Where in the text the notice stands.
    pub notice_at: Range<usize>,
    /// The shown text before the notice and behind it.
    pub body: (Range<usize>, Range<usize>),
    /// Why the full text was not saved, if it was not.
    pub not_saved: Option<String>,
}

impl Cut {
    /// The shown text, without the notice.
    pub fn body(&self) -> String {
        match &self.report {
            Some(report) => {
                let (start, end) = &report.body;
                format!("{}{}", &self.text[start.clone()], &self.text[end.clone()])
            }
            None => self.text.clone(),
        }
    }

    /// The notice.
    pub fn notice(&self) -> &str {
        self.report.as_ref().map_or("", |report| &self.text[report.notice_at.clone()])
    }

    /// The bytes of the file with the full text.
    pub fn saved(&self) -> Option<Vec<u8>> {
        std::fs::read(self.file.as_ref()?).ok()
    }
}

/// A text that was counted.
#[derive(Debug, Clone)]
pub struct Count {
    /// Its bytes.
    pub bytes: usize,
    /// Its characters.
    pub chars: usize,
    /// Its tokens.
    pub tokens: u64,
    /// How long that took.
    pub elapsed: Duration,
}

impl Run {
    /// The last pass.
    pub fn last(&self) -> &Pass {
        static NOTHING: std::sync::LazyLock<Pass> = std::sync::LazyLock::new(Pass::default);
        self.passes.last().unwrap_or(&NOTHING)
    }

    /// The passes that asked for a compaction.
    pub fn compactions(&self) -> impl Iterator<Item = &Pass> {
        self.passes.iter().filter(|pass| pass.step.contains("compact"))
    }

    /// The list that came out.
    pub fn output(&self) -> &[Value] {
        &self.last().list
    }

    /// Whether the run reported this status at its end or in one of its compactions.
    pub fn has_status(&self, status: &str) -> bool {
        let mut compactions = self.compactions().peekable();
        if compactions.peek().is_none() {
            return self.last().statuses.iter().any(|reported| reported == status);
        }
        compactions.any(|pass| pass.statuses.iter().any(|reported| reported == status))
    }

    /// All that the tool said.
    pub fn report(&self) -> String {
        self.passes.iter().map(|pass| pass.report.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// A whole number of the settings.
    pub fn setting(&self, name: &str) -> Option<u64> {
        self.settings[name].as_u64()
    }
}
