//! The `extract` backend: no model, the lines that carry the most.
//!
//! It reads the record that the `summarize` layer writes, sorts its lines into the sections of a summary
//! by who says them and by the cues in them, ranks them ([`score`]), and takes the best of each section
//! until the length is reached. Same record, same summary. Time grows with the record as sorting does.
//!
//! Ours and not a crate's: the published ones rank sentences of prose, by a graph that grows with the
//! square of their number, and know neither roles nor results of tools.

mod candidates;
mod score;

use std::collections::HashSet;
use std::sync::Arc;

use brute_core::{Completion, CompletionError, Prompt, Stop, SummarizerLimits, TokenCounter};
use brute_summarize::SECTIONS;
use brute_summarize::record::{Entry, Record, Speaker};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BoxFuture, BudgetOptions, Summarizer};
use candidates::{Candidate, IDENTIFIERS, candidates};

/// What of the length each section may take before the others had theirs, in percent.
const SHARES: [u32; 5] = [22, 12, 12, 40, 14];

/// So many lines in a row that do not fit end a section: what follows is less important anyway.
const MISFITS: usize = 16;

/// What `[summarizer]` says with `backend = "extract"`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExtractOptions {
    /// The most that summaries may take, those of its fallbacks included.
    #[serde(default, skip_serializing_if = "BudgetOptions::is_empty")]
    pub budget: BudgetOptions,
}

/// Picks the lines of a record that carry identifiers, decisions, errors and results.
#[derive(Clone)]
pub struct Extract {
    counter: Arc<dyn TokenCounter>,
}

impl Extract {
    /// A summarizer that measures its summaries by `counter`.
    pub fn new(counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter }
    }

    fn summary(&self, prompt: &Prompt) -> Result<String, CompletionError> {
        let record = Record::read(&prompt.input).unwrap_or_else(|| Record {
            goal: "",
            entries: vec![Entry { speaker: Speaker::Assistant, text: &prompt.input }],
        });
        let mut lines = candidates(&record);
        lines.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.at.cmp(&b.at)));
        let mut draft = Draft { counter: &*self.counter, sections: Default::default() };
        let skeleton = draft.size();
        let Some(room) = prompt.max_tokens.checked_sub(skeleton) else {
            let reason = format!(
                "{} tokens are too few for a summary; its headings alone take {skeleton}",
                prompt.max_tokens
            );
            return Err(CompletionError::Failed { reason });
        };
        let mut left = room;
        // First each section by its share, then whatever is left to whoever has more to say.
        for share in [Some(SHARES), None] {
            for section in 0..SECTIONS.len() {
                let budget = share.map_or(left, |shares| percent(room, shares[section])).min(left);
                left -= draft.fill(section, &lines, budget);
            }
        }
        draft.shrink_to(prompt.max_tokens);
        Ok(draft.text())
    }
}

fn percent(tokens: u32, percent: u32) -> u32 {
    let share = u64::from(tokens) * u64::from(percent) / 100;
    u32::try_from(share).unwrap_or(tokens)
}

/// A summary in the making.
struct Draft<'a> {
    counter: &'a dyn TokenCounter,
    sections: [Vec<&'a Candidate>; 5],
}

impl<'a> Draft<'a> {
    /// Adds the best lines of a section that it does not have yet. Returns what they cost.
    fn fill(&mut self, section: usize, lines: &'a [Candidate], budget: u32) -> u32 {
        let has = self.sections.iter().flatten().map(|line| line.text.as_str());
        let mut has: HashSet<&str> = has.collect();
        let (mut spent, mut misfits) = (0, 0);
        for line in lines.iter().filter(|line| line.section == section) {
            if has.contains(line.text.as_str()) {
                continue;
            }
            let cost = self.counter.count(&written(line));
            if spent + cost > budget {
                misfits += 1;
                if misfits == MISFITS {
                    break;
                }
                continue;
            }
            spent += cost;
            misfits = 0;
            has.insert(&line.text);
            self.sections[section].push(line);
        }
        spent
    }

    /// Lines counted one by one may be a little more than all of them together: the least go.
    fn shrink_to(&mut self, most: u32) {
        while self.size() > most {
            let longest = self.sections.iter_mut().max_by_key(|lines| lines.len());
            if longest.and_then(Vec::pop).is_none() {
                return;
            }
        }
    }

    fn size(&self) -> u32 {
        self.counter.count(&self.text())
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (index, (section, lines)) in SECTIONS.iter().zip(&self.sections).enumerate() {
            let mut lines = lines.clone();
            if index != IDENTIFIERS {
                lines.sort_by_key(|line| line.at);
            }
            let body: String = lines.into_iter().map(written).collect();
            let body = if body.is_empty() { "None\n".to_owned() } else { body };
            text.push_str(&format!("## {section}\n{body}"));
        }
        text.truncate(text.trim_end().len());
        text
    }
}

fn written(line: &Candidate) -> String {
    match line.section {
        IDENTIFIERS => format!("{}\n", line.text),
        _ => format!("- {}\n", line.text),
    }
}

impl Summarizer for Extract {
    fn name(&self) -> &str {
        "extract"
    }

    fn limits(&self) -> SummarizerLimits {
        // It reads a record of any length; four billion tokens are more than there are.
        SummarizerLimits { window: u64::from(u32::MAX) }
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(async { Ok(Completion::new(self.summary(prompt)?, Stop::End)) })
    }
}

#[cfg(test)]
mod tests;
