//! What the log of an agent tells beside the conversation.

use brute_host::shown::shown;
use brute_host::transcripts::{Compaction, Left, Problem, Skipped, Transcript};
use serde::Serialize;

use crate::style::{self, DIM, HEAD, counted, number, styled, wrapped};

/// So many problems are shown to people.
const MOST_PROBLEMS: usize = 10;

/// What the log of an agent tells beside the conversation.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Log<'a> {
    kind: &'static str,
    records: usize,
    /// Whether all is shown that the log holds, and not only what was still in the agent's context.
    whole: bool,
    /// How many replies there are whose size the provider reported.
    reports: usize,
    compactions: &'a [Compaction],
    problems: &'a [Problem],
    skipped: &'a [Skipped],
}

impl<'a> Log<'a> {
    pub(super) fn of(transcript: &'a Transcript, whole: bool) -> Self {
        Self {
            kind: transcript.kind().name(),
            records: transcript.records(),
            whole,
            reports: transcript.reports().len(),
            compactions: transcript.compactions(),
            problems: transcript.problems(),
            skipped: transcript.skipped(),
        }
    }

    /// The same for people.
    pub(super) fn text(&self) -> String {
        let records = counted(self.records as u64, "record");
        let shown_part = match (self.whole, self.compactions.len()) {
            (true, _) => "all that it holds".to_owned(),
            (false, 0) => "the agent never compacted it".to_owned(),
            (false, count) => {
                let count = counted(count as u64, "compaction");
                format!("what was still in the agent's context after {count}; `--whole` shows all")
            }
        };
        let line = format!("from the log of an agent ({}, {records}): {shown_part}", self.kind);
        let mut text = format!("{}\n", styled(DIM, &wrapped(&line, 0)));
        if !self.compactions.is_empty() {
            text.push_str(&format!("\n{}\n", self.table()));
        }
        if !self.skipped.is_empty() {
            text.push_str(&format!("\n{}\n", styled(HEAD, "passed over")));
            for Skipped { kind, why, count, .. } in self.skipped {
                let line = format!("{:>9}  {}: {why}", number(*count as u64), shown(kind));
                text.push_str(&format!("{}\n", wrapped(&line, 11)));
            }
        }
        if !self.problems.is_empty() {
            text.push_str(&format!("\n{}\n", styled(HEAD, "did not fit together")));
            for problem in self.problems.iter().take(MOST_PROBLEMS) {
                text.push_str(&format!("{}\n", wrapped(&format!("  {}", shown(problem)), 4)));
            }
            if let Some(more) =
                self.problems.len().checked_sub(MOST_PROBLEMS).filter(|more| *more > 0)
            {
                text.push_str(&format!("  and {more} more\n"));
            }
        }
        text
    }

    fn table(&self) -> String {
        let header =
            ["compaction", "line", "at message", "tokens before", "replaced", "by", "left"];
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (index, compaction) in self.compactions.iter().enumerate() {
            let Compaction { at, line, tokens_before, replaced, trigger, left, .. } = compaction;
            let or_blank = |value: Option<u64>| value.map_or_else(String::new, number);
            rows.push(vec![
                (index + 1).to_string(),
                number(*line as u64),
                at.map_or_else(|| "before".to_owned(), |at| format!("#{at}")),
                or_blank(*tokens_before),
                number(*replaced as u64),
                trigger.map_or_else(String::new, |trigger| trigger.to_string()),
                match left {
                    Left::Summary(text) => format!(
                        "a summary of {}",
                        counted(text.chars().count() as u64, "character")
                    ),
                    Left::Cleared(count) => format!("{} cleared", counted(*count as u64, "result")),
                    Left::Nothing => "nothing".to_owned(),
                },
            ]);
        }
        style::table(&header, &rows, 1, 0..5, style::columns())
    }
}
