//! How much a line says: the words it shares with the rest, and the cues it gives.

use std::collections::HashMap;

/// How often each word occurs in a record.
///
/// A line is worth the mean probability of its words: SumBasic, without the update step (Nenkova and
/// Vanderwende, *The Impact of Frequency on Summarization*, MSR-TR-2005-101). It takes one pass,
/// where ranking by a graph of sentences takes time in the square of their number.
#[derive(Debug, Default)]
pub(super) struct Words {
    counts: HashMap<String, u32>,
    total: u32,
}

impl Words {
    pub(super) fn add(&mut self, line: &str) {
        for word in words(line) {
            *self.counts.entry(word).or_default() += 1;
            self.total = self.total.saturating_add(1);
        }
    }

    /// Between 0 and 1; 1 for the line that says the most.
    pub(super) fn significance(&self, line: &str) -> f64 {
        let (mut sum, mut number) = (0.0, 0.0);
        for word in words(line) {
            sum += f64::from(self.counts.get(&word).copied().unwrap_or(0));
            number += 1.0;
        }
        if number == 0.0 || self.total == 0 {
            return 0.0;
        }
        // The share of the mean word, drawn apart: word frequencies span several orders of magnitude.
        (sum / number / f64::from(self.total)).powf(0.25)
    }
}

/// Words of three letters or more, which leaves out most of what every sentence has.
fn words(line: &str) -> impl Iterator<Item = String> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().nth(2).is_some())
        .map(str::to_lowercase)
}

/// What a line is about, by the words in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cue {
    /// Somebody lays down a rule.
    Constraint,
    /// Something was settled.
    Decision,
    /// Something went wrong.
    Failure,
    /// Something is still to be done.
    Open,
    /// Something is finished.
    Success,
}

const CUES: [(Cue, &[&str]); 5] = [
    (
        Cue::Failure,
        &[
            "error",
            "failed",
            "failure",
            "failing",
            "fails",
            "panicked",
            "exception",
            "traceback",
            "not found",
            "denied",
            "cannot",
            "fatal",
            "timed out",
            "undefined",
            "exit code",
            "exit status",
        ],
    ),
    (
        Cue::Open,
        &[
            "todo",
            "fixme",
            "still",
            "remaining",
            "next",
            "not yet",
            "unresolved",
            "open question",
            "left to do",
        ],
    ),
    (
        Cue::Decision,
        &[
            "decided",
            "decision",
            "because",
            "instead",
            "chose",
            "choose",
            "going with",
            "agreed",
            "will use",
            "rather than",
            "turns out",
            "root cause",
            "the reason",
            "conclusion",
        ],
    ),
    (
        Cue::Constraint,
        &[
            "must",
            "do not",
            "don't",
            "never",
            "always",
            "only",
            "required",
            "should",
            "prefer",
            "make sure",
            "without",
            "no longer",
            "want",
            "need",
        ],
    ),
    (
        Cue::Success,
        &[
            "fixed",
            "added",
            "created",
            "wrote",
            "updated",
            "implemented",
            "passed",
            "passes",
            "succeeded",
            "removed",
            "renamed",
            "finished",
            "done",
            "ok",
            "confirmed",
            "booked",
            "installed",
        ],
    ),
];

/// The cues that a line gives.
pub(super) fn cues(line: &str) -> Vec<Cue> {
    let line = line.to_lowercase();
    let says = |cue: &str| {
        line.match_indices(cue).any(|(at, _)| {
            let letter = |c: char| c.is_alphanumeric();
            !line[..at].ends_with(letter) && !line[at + cue.len()..].starts_with(letter)
        })
    };
    CUES.iter()
        .filter(|(_, words)| words.iter().any(|word| says(word)))
        .map(|(cue, _)| *cue)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_are_whole_words() {
        for (line, expected) in [
            ("error[E0308]: mismatched types", &[Cue::Failure][..]),
            ("We decided to use tabs because of make.", &[Cue::Decision]),
            ("Do not touch the lock file", &[Cue::Constraint]),
            ("12 passed; 0 failed", &[Cue::Failure, Cue::Success]),
            ("TODO: write it", &[Cue::Open]),
            ("a mustard-colored terrorist token", &[]),
        ] {
            assert_eq!(cues(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_of_the_records_words_says_more() {
        let mut words = Words::default();
        for line in ["the parser drops tokens", "the parser is slow", "lunch was fine"] {
            words.add(line);
        }
        let score = |line| words.significance(line);
        assert!(score("the parser") > score("lunch was fine"));
        assert!(score("lunch was fine") > score("unheard words"));
        assert_eq!(score(""), 0.0);
    }
}
