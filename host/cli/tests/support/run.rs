//! What a run of a case left to look at, and what a check makes of it.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use brute_core::Conversation;
use serde_json::Value;

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
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
    pub(crate) fn of(holds: bool, otherwise: impl FnOnce() -> String) -> Self {
        if holds { Self::Pass } else { Self::Fail(otherwise()) }
    }

    /// The first of `verdicts` that is no pass; a failure before a skip.
    pub(crate) fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
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
pub(crate) struct Run {
    /// The format of the lists.
    pub(crate) format: String,
    /// The settings in force, as the case words them.
    pub(crate) settings: Value,
    /// The list that the run began with.
    pub(crate) given: Vec<Value>,
    /// All that was ever put into the list, in order.
    pub(crate) fed: Vec<Value>,
    /// What happened, step by step.
    pub(crate) passes: Vec<Pass>,
    /// What the summarizer was asked.
    pub(crate) requests: Vec<Request>,
    /// A run on what came out, which nobody asked for.
    pub(crate) again: Option<Box<Pass>>,
    /// How many requests that run made.
    pub(crate) again_requests: usize,
    /// The texts that were truncated.
    pub(crate) cuts: Vec<Cut>,
    /// The texts that were counted.
    pub(crate) counts: Vec<Count>,
    /// What was kept on disk, if something was to be.
    pub(crate) stored: Stored,
    /// Where a panic was caught, its words.
    pub(crate) panic: Option<String>,
    /// How long the tool took, all steps together.
    pub(crate) elapsed: Duration,
}

/// What a session on disk came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stored {
    /// Each time that it was saved: the conversation as it was, and as the file says it.
    pub(crate) saved: Vec<(Conversation, Conversation)>,
    /// The conversation of a session that was opened anew.
    pub(crate) loaded: Conversation,
    /// The file, at the end.
    pub(crate) file: String,
    /// What several writers were told is in it.
    pub(crate) acknowledged: Vec<String>,
    /// What a reader saw meanwhile that was no whole line.
    pub(crate) broken: Vec<String>,
}

/// One step of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pass {
    /// What was done: `compact`, `append`, `check_trigger`, …
    pub(crate) step: String,
    /// The text of the request before the step.
    pub(crate) before_text: String,
    /// The text of the request after the step.
    pub(crate) text: String,
    /// The list before the step.
    pub(crate) before: Vec<Value>,
    /// The list after the step.
    pub(crate) list: Vec<Value>,
    /// The whole request after the step.
    pub(crate) body: Value,
    /// The tool's count of the request before the step, tool schemas included.
    pub(crate) tokens_before: u64,
    /// The tool's count of the request after the step.
    pub(crate) tokens: u64,
    /// All roles that the outcome plays: `noop`, `repaired`, `degraded`, `cannot_reach_target`, `error:…`.
    pub(crate) statuses: Vec<String>,
    /// Whether a compaction was due before the step.
    pub(crate) triggered: Option<bool>,
    /// The size taken from reported usage.
    pub(crate) anchor: Option<u64>,
    /// The rungs that gave something.
    pub(crate) rungs: Vec<String>,
    /// All that the tool said about the step, in its own words.
    pub(crate) report: String,
    /// What stands in the way: kind, messages on the wire, tokens.
    pub(crate) blockers: Vec<(String, Vec<usize>, u64)>,
    /// Whether a list came out, as opposed to an error.
    pub(crate) has_output: bool,
    /// How many requests had been made when the step was over.
    pub(crate) requests: usize,
}

/// A request to the summarizer, as a model would get it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The part in the system's place.
    pub(crate) instructions: String,
    /// The part in the user's place.
    pub(crate) input: String,
    /// The tool's count of both.
    pub(crate) tokens: u64,
}

impl Request {
    /// All of it.
    pub(crate) fn text(&self) -> String {
        format!("{}\n{}", self.instructions, self.input)
    }
}

/// A text that was truncated.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    /// `head` or `tail`.
    pub(crate) mode: String,
    /// The whole text.
    pub(crate) input: Vec<u8>,
    /// What was put after it, if it was put through a redaction first.
    pub(crate) redacted: Option<String>,
    /// What goes on.
    pub(crate) text: String,
    /// What was cut, if something was.
    pub(crate) report: Option<CutReport>,
    /// The file with the full text, by the notice.
    pub(crate) file: Option<PathBuf>,
    /// The same text after each further pass.
    pub(crate) passes: Vec<String>,
    /// How many files there were after the first pass and after the last.
    pub(crate) files: (usize, usize),
}

/// What the tool says that it cut.
#[derive(Debug, Clone)]
pub(crate) struct CutReport {
    /// Lines of the whole text.
    pub(crate) total_lines: u64,
    /// Ranges of lines that are shown.
    pub(crate) shown: Vec<(u64, u64)>,
    /// Where in the text the notice stands.
    pub(crate) notice_at: Range<usize>,
    /// The shown text before the notice and behind it.
    pub(crate) body: (Range<usize>, Range<usize>),
    /// Why the full text was not saved, if it was not.
    pub(crate) not_saved: Option<String>,
}

impl Cut {
    /// The shown text, without the notice.
    pub(crate) fn body(&self) -> String {
        match &self.report {
            Some(report) => {
                let (start, end) = &report.body;
                format!("{}{}", &self.text[start.clone()], &self.text[end.clone()])
            }
            None => self.text.clone(),
        }
    }

    /// The notice.
    pub(crate) fn notice(&self) -> &str {
        self.report.as_ref().map_or("", |report| &self.text[report.notice_at.clone()])
    }

    /// The bytes of the file with the full text.
    pub(crate) fn saved(&self) -> Option<Vec<u8>> {
        std::fs::read(self.file.as_ref()?).ok()
    }
}

/// A text that was counted.
#[derive(Debug, Clone)]
pub(crate) struct Count {
    /// Its bytes.
    pub(crate) bytes: usize,
    /// Its tokens.
    pub(crate) tokens: u64,
    /// How long that took.
    pub(crate) elapsed: Duration,
}

impl Run {
    /// The last pass.
    pub(crate) fn last(&self) -> &Pass {
        static NOTHING: std::sync::LazyLock<Pass> = std::sync::LazyLock::new(Pass::default);
        self.passes.last().unwrap_or(&NOTHING)
    }

    /// The passes that asked for a compaction.
    pub(crate) fn compactions(&self) -> impl Iterator<Item = &Pass> {
        self.passes.iter().filter(|pass| pass.step.contains("compact"))
    }

    /// The list that came out.
    pub(crate) fn output(&self) -> &[Value] {
        &self.last().list
    }

    /// Whether the run reported this status at its end or in one of its compactions.
    pub(crate) fn has_status(&self, status: &str) -> bool {
        let mut compactions = self.compactions().peekable();
        if compactions.peek().is_none() {
            return self.last().statuses.iter().any(|reported| reported == status);
        }
        compactions.any(|pass| pass.statuses.iter().any(|reported| reported == status))
    }

    /// All that the tool said.
    pub(crate) fn report(&self) -> String {
        self.passes.iter().map(|pass| pass.report.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// A whole number of the settings.
    pub(crate) fn setting(&self, name: &str) -> Option<u64> {
        self.settings[name].as_u64()
    }
}
