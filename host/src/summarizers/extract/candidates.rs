//! The lines of a record that may stand in the summary, sorted into its sections.

use std::collections::HashMap;

use brute_summarize::record::{Entry, NOT_STATED, Record, Speaker};
use brute_summarize::said::{is_rule, sentences};
use brute_summarize::{SECTIONS, identifiers};

use super::score::{Cue, Words, cues};

/// Longer lines are cut, in characters.
const LONGEST_LINE: usize = 240;

/// Indices into [`SECTIONS`].
pub(super) const OBJECTIVE: usize = 0;
pub(super) const DECISIONS: usize = 1;
pub(super) const WORK_DONE: usize = 2;
pub(super) const IDENTIFIERS: usize = 3;
pub(super) const OUTSTANDING: usize = 4;

/// A line that may stand in the summary.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub section: usize,
    pub text: String,
    /// Its place in the record.
    pub at: usize,
    pub score: f64,
}

/// Everything that could be said of `record`, each line once.
pub(super) fn candidates(record: &Record<'_>) -> Vec<Candidate> {
    let mut words = Words::default();
    for entry in &record.entries {
        entry.text.lines().for_each(|line| words.add(line));
    }
    let mut finder = Finder { words, lines: Vec::new(), calls: HashMap::new(), at: 0 };
    // The request itself stays in the conversation, so what else the user said comes first.
    if record.goal != NOT_STATED {
        sentences(record.goal).for_each(|line| finder.push(OBJECTIVE, line, 1.0));
    }
    for (index, entry) in record.entries.iter().enumerate() {
        // What was said last matters most to what is outstanding.
        let age = (index + 1) as f64 / record.entries.len() as f64;
        finder.read(entry, age);
    }
    finder.finish(record)
}

struct Finder {
    words: Words,
    lines: Vec<Candidate>,
    /// What each call was, and where and how often it was made.
    calls: HashMap<String, (usize, usize)>,
    at: usize,
}

impl Finder {
    fn read(&mut self, entry: &Entry<'_>, age: f64) {
        match entry.speaker {
            Speaker::User => self.user(entry.text, age),
            Speaker::Assistant => self.assistant(entry.text, age),
            Speaker::Tool(tool) => self.tool(tool, entry.text, age),
            Speaker::Summary => self.summary(entry.text),
            Speaker::System | Speaker::Other | Speaker::Note => {}
        }
    }

    fn push(&mut self, section: usize, line: &str, weight: f64) {
        let text = cut(line.trim());
        self.at += 1;
        if !text.is_empty() {
            let score = weight + self.words.significance(line);
            self.lines.push(Candidate { section, text, at: self.at, score });
        }
    }

    fn user(&mut self, text: &str, age: f64) {
        let said: Vec<_> = text.lines().flat_map(sentences).collect();
        for (index, line) in said.iter().enumerate() {
            if line.trim_end().ends_with('?') {
                self.push(OUTSTANDING, line, age);
            }
            // The first words of a request say what it is about.
            let weight = if index == 0 { 2.0 } else { 0.0 };
            let rule = if is_rule(line) { 2.0 } else { 0.0 };
            self.push(OBJECTIVE, line, weight + rule + age);
        }
    }

    fn assistant(&mut self, text: &str, age: f64) {
        let mut last = None;
        for line in text.lines() {
            if let Some(call) = line.strip_prefix("(calls ") {
                self.call(call);
                continue;
            }
            if line.starts_with("(thinks) ") {
                continue;
            }
            for line in sentences(line) {
                self.judge(line, age, 1.0);
                last = Some(line);
            }
        }
        // How a reply ends is what it is going to do, or what came of it.
        if let Some(line) = last {
            self.push(OUTSTANDING, line, 0.5 + 2.0 * age);
        }
    }

    fn judge(&mut self, line: &str, age: f64, weight: f64) {
        for cue in cues(line) {
            match cue {
                Cue::Decision => self.push(DECISIONS, line, weight + 1.0),
                Cue::Constraint => self.push(DECISIONS, line, weight),
                Cue::Success => self.push(WORK_DONE, line, weight),
                Cue::Open => self.push(OUTSTANDING, line, weight + age),
                Cue::Failure => self.push(OUTSTANDING, line, weight * age),
            }
        }
    }

    /// `read) {"path":"x"}`
    fn call(&mut self, call: &str) {
        let (tool, arguments) = call.split_once(") ").unwrap_or((call, ""));
        let found = identifiers::identifiers([arguments]);
        let about = match found.first() {
            Some(found) => found.text.to_owned(),
            None => cut(arguments.trim_matches(['{', '}'])),
        };
        self.at += 1;
        let made = self.calls.entry(format!("{tool}: {about}")).or_insert((self.at, 0));
        *made = (self.at, made.1 + 1);
    }

    fn tool(&mut self, tool: &str, text: &str, age: f64) {
        let failed = text.starts_with("(failed) ");
        let text = text.strip_prefix("(failed) ").unwrap_or(text);
        let about = |line: &str| format!("{tool}: {}", line.trim());
        for line in text.lines() {
            let cues = cues(line);
            if cues.contains(&Cue::Failure) {
                self.push(OUTSTANDING, &about(line), if failed { 2.0 } else { 1.0 } * age);
            } else if cues.contains(&Cue::Open) && line.contains("TODO") {
                self.push(OUTSTANDING, &about(line), 0.5 * age);
            }
        }
        // Programs say at the end what came of it; the last line of a file says nothing.
        if let Some(line) = text.lines().rev().find(|line| !line.trim().is_empty()) {
            if failed {
                self.push(OUTSTANDING, &about(line), 2.5 * age);
            } else if !cues(line).is_empty() {
                self.push(WORK_DONE, &about(line), 0.5 * age);
            }
        }
    }

    /// What an earlier summary says stays where it says it, before all that is new.
    fn summary(&mut self, text: &str) {
        let (mut section, mut is_headed) = (None, false);
        for line in text.lines() {
            let title = line.trim().trim_matches(['#', '*', ':', ' ']);
            let known = SECTIONS.iter().position(|known| known.eq_ignore_ascii_case(title));
            if known.is_some() || line.starts_with('#') {
                section = known;
                is_headed = true;
                continue;
            }
            let line = line.trim().trim_start_matches("- ");
            match section {
                Some(IDENTIFIERS) => {}
                _ if line.is_empty() || line == "None" => {}
                Some(section) => self.push(section, line, 3.0),
                None if !is_headed => {
                    sentences(line).for_each(|line| self.judge(line, 1.0, 2.0));
                    self.push(WORK_DONE, line, 1.0);
                }
                None => {}
            }
        }
    }

    fn finish(mut self, record: &Record<'_>) -> Vec<Candidate> {
        for (call, (at, times)) in std::mem::take(&mut self.calls) {
            let often = if times > 1 { format!(" ({times} times)") } else { String::new() };
            let score = 1.0 + (times as f64).ln();
            let text = format!("{call}{often}");
            self.lines.push(Candidate { section: WORK_DONE, text, at, score });
        }
        let found = identifiers::weighed(record.entries.iter().map(|entry| match entry.speaker {
            Speaker::Tool(_) => (entry.text, 1),
            _ => (entry.text, identifiers::SAID_WEIGHT),
        }));
        let number = found.len();
        let identifiers = found.into_iter().enumerate().map(|(index, found)| Candidate {
            section: IDENTIFIERS,
            text: found.text.to_owned(),
            at: index,
            score: (number - index) as f64,
        });
        self.lines.extend(identifiers);
        self.lines
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
