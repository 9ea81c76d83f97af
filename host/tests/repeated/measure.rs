//! What survives when a session is summarized again and again.

use std::collections::BTreeMap;
use std::fmt;

use brute_core::{Conversation, Mark, MarkKind, Part, Role};
use brute_host::replay::{Recall, Share};

use super::walk::{Compacted, Walked};

/// What the session is for, in the user's words.
const GOAL: [&str; 3] = ["version 2", "one JSON object per line", "checksum"];

/// What the user laid down and corrected, by the user's messages, in words that no later message repeats. Chosen by
/// hand: half of it is nothing that an algorithm takes for a rule.
const CONSTRAINTS: [(usize, &[&str]); 6] = [
    (
        0,
        &[
            "the public API stays",
            "Python 3.8 must keep working",
            "version 1 files must still load",
            "a save that fails must leave the old file alone",
            "a load that fails must leave the engine alone",
            "Other failing tests are not",
        ],
    ),
    (
        1,
        &[
            "so the three damages stay as they are",
            "New tests for version 2 go to tests/test_storage_v2.py",
            "keep all timers",
        ],
    ),
    (
        2,
        &[
            "only that line in data/mill.world",
            "Put the temporary file next to the target",
            "Clean it up",
        ],
    ),
    (3, &["Not `last_noun`", "doors stay as the world file says", "Do NOT fix it now"]),
    (4, &["check all languages at 220 turns", "read the traces, do not only count"]),
    (5, &["他の翻訳には触らないでください", "no `removeprefix`"]),
];

/// So many of so many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rate {
    pub(crate) kept: usize,
    pub(crate) of: usize,
}

impl Rate {
    fn add(&mut self, is_kept: bool) {
        self.kept += usize::from(is_kept);
        self.of += 1;
    }

    pub(crate) fn share(self) -> f64 {
        self.kept as f64 / self.of.max(1) as f64
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} ({:.0} %)", self.kept, self.of, self.share() * 100.0)
    }
}

/// One compaction, in figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) before: u64,
    pub(crate) after: u64,
    fits: bool,
    /// Tokens of each summary that is there.
    summaries: Vec<u64>,
    /// Heads and sections that a summary has twice, which one in another would bring.
    nested: usize,
    is_applied: bool,
    calls: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) compactions: Vec<Figures>,
    /// Compactions after which the goal is there, of those after which its message is gone.
    pub(crate) goal: Rate,
    /// Constraints that are there, of those whose message is gone, summed over the compactions.
    pub(crate) constraints: Rate,
    /// The same after the last compaction.
    pub(crate) last: Rate,
    /// Constraints that were lost, and after how many compactions.
    pub(crate) lost: BTreeMap<&'static str, usize>,
    /// Why answers were refused, and how often.
    pub(crate) refused: BTreeMap<String, usize>,
    /// What the layer said, without its figures, and how often.
    pub(crate) words: BTreeMap<String, usize>,
    pub(crate) recall: Recall,
}

impl Measured {
    pub(crate) fn of(session: &Conversation, walked: &Walked) -> Self {
        let mut measured = Self::default();
        for compacted in &walked.compactions {
            measured.add(session, compacted);
        }
        for words in &walked.words {
            *measured.words.entry(without_figures(words)).or_default() += 1;
        }
        measured
    }

    fn add(&mut self, session: &Conversation, compacted: &Compacted) {
        let Compacted { said, left, before, after, fits, rounds, calls, refused } = compacted;
        let text = |message: &brute_core::Message| {
            message.parts().iter().flat_map(Part::texts).collect::<Vec<_>>().join("\n")
        };
        let there: Vec<String> = left.messages().iter().map(|message| text(message)).collect();
        let is_gone = |said: &str| !there.iter().any(|text| text == said);
        let users = session.messages()[..*said].iter().filter(|message| {
            message.role() == Role::User
                && message.parts().iter().any(|part| matches!(part, Part::Text(_)))
        });
        let users: Vec<String> = users.map(|message| text(message)).collect();
        let all = there.join("\n");
        if users.first().is_some_and(|first| is_gone(first)) {
            self.goal.add(GOAL.iter().all(|words| all.contains(words)));
        }
        self.last = Rate::default();
        for (message, constraints) in CONSTRAINTS {
            if !users.get(message).is_some_and(|said| is_gone(said)) {
                continue;
            }
            for words in constraints {
                let is_kept = all.contains(words);
                self.constraints.add(is_kept);
                self.last.add(is_kept);
                *self.lost.entry(words).or_default() += usize::from(!is_kept);
            }
        }
        if let Some(why) = refused {
            *self.refused.entry(without_figures(why)).or_default() += 1;
        }
        let is_summary = |message: &&std::sync::Arc<brute_core::Message>| {
            message.mark().is_some_and(|mark| mark.kind == MarkKind::Summary)
        };
        let summaries: Vec<_> = left.messages().iter().filter(is_summary).collect();
        let counter = brute_core::Approximate;
        self.compactions.push(Figures {
            before: *before,
            after: *after,
            fits: *fits,
            nested: summaries.iter().map(|message| nested(&text(message))).sum(),
            summaries: summaries
                .iter()
                .map(|message| u64::from(message.tokens(&counter)))
                .collect(),
            is_applied: *rounds > 0,
            calls: *calls,
        });
    }

    /// What must hold whatever a model answers.
    pub(crate) fn check(&self, max_tokens: u64) {
        for (at, figures) in self.compactions.iter().enumerate() {
            assert_eq!(figures.nested, 0, "after compaction {}", at + 1);
            assert!(figures.after <= figures.before, "after compaction {}", at + 1);
            assert!(figures.summaries.len() <= 2, "{figures:?}");
            assert!(
                figures.summaries.iter().all(|tokens| *tokens <= max_tokens + AROUND),
                "{figures:?}"
            );
        }
    }
}

/// Tokens of the mark and the introduction, and a few for what is counted piece by piece.
const AROUND: u64 = 80;

/// What of a summary is there more than once.
fn nested(summary: &str) -> usize {
    let heads = [
        "This is a summary of earlier talk",
        "## Objective",
        "## Decisions",
        "## Work done",
        "## Identifiers",
        "## Outstanding",
        "## The user said",
        "## Ledger",
    ];
    let again: usize =
        heads.iter().map(|head| summary.matches(head).count().saturating_sub(1)).sum();
    let body = Mark::split(summary).map_or(summary, |(_, body)| body);
    again + body.matches("[brute:summary").count()
}

/// Words with every number in them as `N`.
fn without_figures(words: &str) -> String {
    let mut text = String::new();
    for c in words.chars() {
        match c.is_ascii_digit() {
            true if text.ends_with('N') => {}
            true => text.push('N'),
            false => text.push(c),
        }
    }
    text
}

impl Measured {
    /// The figures, as `docs/summaries.md` has them.
    pub(crate) fn rows(&self) -> Vec<String> {
        let sum = |of: fn(&Figures) -> usize| self.compactions.iter().map(of).sum::<usize>();
        let made =
            Rate { kept: sum(|one| usize::from(one.is_applied)), of: self.compactions.len() };
        let fits = Rate { kept: sum(|one| usize::from(one.fits)), of: self.compactions.len() };
        let refused = Rate { kept: self.refused.values().sum(), of: sum(|one| one.calls) };
        let after = || self.compactions.iter().map(|one| one.after);
        let (least, most) = (after().min().unwrap_or(0), after().max().unwrap_or(0));
        let longest = self.compactions.iter().flat_map(|one| &one.summaries).max().unwrap_or(&0);
        let used = |share: Share| Rate { kept: share.kept as usize, of: share.needed as usize };
        let mut rows = vec![
            format!("| compactions that were made | {made} |"),
            format!("| compactions that met the target | {fits} |"),
            format!("| answers that were refused | {refused} |"),
            format!("| the goal | {} |", self.goal),
            format!("| constraints, over all compactions | {} |", self.constraints),
            format!("| constraints, after the last | {} |", self.last),
            format!("| identifiers that are used later | {} |", used(self.recall.all)),
            format!("| of them, named by the user | {} |", used(self.recall.said_by_people)),
            format!("| of them, named only in results | {} |", used(self.recall.in_results)),
            format!("| heads and sections that nest | {} |", sum(|one| one.nested)),
            format!("| messages after a compaction | {least} to {most} tokens |"),
            format!("| the longest summary | {longest} tokens |"),
        ];
        rows.extend(
            self.refused.iter().map(|(why, times)| format!("| refused: {why} | {times} |")),
        );
        rows.extend(self.words.iter().map(|(words, times)| format!("| {words} | {times} |")));
        rows
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.rows() {
            writeln!(f, "{row}")?;
        }
        for (words, times) in self.lost.iter().filter(|(_, times)| **times > 0) {
            writeln!(f, "not there {times} times: {words}")?;
        }
        for (at, one) in self.compactions.iter().enumerate() {
            let Figures { before, after, summaries, .. } = one;
            writeln!(f, "{:2}: {before} to {after} tokens, summaries {summaries:?}", at + 1)?;
        }
        Ok(())
    }
}
