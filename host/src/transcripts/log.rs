//! What the readers of all formats write to: the entries of one conversation, and what is told beside
//! them.

use std::collections::{HashMap, HashSet};

use super::entry::{Block, Entry, Json, Part, Speaker, is_blank};
use super::{Left, Problem, Skipped, Trigger};
use crate::formats::Format;
use crate::formats::json::{View, compact};

/// What a summary or a placeholder of a result stands for, as the log tells it.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) line: usize,
    /// How many entries there were when it happened.
    pub(super) at: usize,
    pub(super) tokens_before: Option<u64>,
    pub(super) trigger: Option<Trigger>,
    /// The entries that it took out of the context, whether or not an earlier one did so before.
    pub(super) hides: Hidden,
    /// What stands in their place, and before which entry.
    pub(super) summary: Option<(usize, Vec<Entry>)>,
    /// What it left, where that is told otherwise than by `summary` and `cleared`.
    pub(super) told: Option<Left>,
    /// The calls whose results it cleared.
    pub(super) cleared: Vec<String>,
    /// What the agent's placeholder for those says, a JSON string.
    pub(super) placeholder: &'static str,
}

/// Entries that a compaction took out of the context.
#[derive(Debug)]
pub(super) enum Hidden {
    /// All before this one.
    Before(usize),
    These(Vec<usize>),
}

impl Cut {
    pub(super) fn new(line: usize, at: usize, hides: Hidden) -> Self {
        Self {
            line,
            at,
            tokens_before: None,
            trigger: None,
            hides,
            summary: None,
            told: None,
            cleared: Vec::new(),
            placeholder: "\"\"",
        }
    }

    pub(super) fn left(&self) -> Left {
        if let Some(told) = &self.told {
            return told.clone();
        }
        let text = self.summary.as_ref().and_then(|(_, entries)| summary_text(entries.last()?));
        match text {
            Some(text) => Left::Summary(text),
            None if !self.cleared.is_empty() => Left::Cleared(self.cleared.len()),
            None => Left::Nothing,
        }
    }
}

/// The text of a summary, decoded.
fn summary_text(entry: &Entry) -> Option<String> {
    let texts = entry.parts.iter().filter_map(|part| match part {
        Part::Text(text) => serde_json::from_str::<String>(text).ok(),
        Part::Block { raw, .. } => {
            let block: serde_json::Value = serde_json::from_str(raw).ok()?;
            words_of(&block)
        }
        _ => None,
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// The words of a block: its text, or those of what it holds.
fn words_of(block: &serde_json::Value) -> Option<String> {
    let content = block.get("text").or_else(|| block.get("content"))?;
    let of_one = content.as_str().map(str::to_owned);
    of_one.or_else(|| {
        let texts = content.as_array()?.iter().filter_map(|part| part.get("text")?.as_str());
        let texts: Vec<&str> = texts.collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    })
}

/// Why a part is taken out of what somebody said.
const NOT_FROM_THEM: &str = "no provider takes it from who says it";

/// Why a block is taken out that is of the format of another provider.
const NOT_OF_FORMAT: &str = "only its own provider can read it";

/// So many kinds of records that are passed over are told apart.
const MOST_KINDS: usize = 256;

/// So many characters of what a log calls a kind are kept.
const LONGEST_KIND: usize = 64;

/// Which conversation of a log is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    /// The only one.
    Only,
    /// The one at this place, from 0.
    At(usize),
    /// The first of this name.
    Named(&'a str),
}

/// One conversation of a log, as it is being read. Of a log with several, only the wanted one is kept.
#[derive(Debug)]
pub(super) struct Log<'a> {
    wanted: Wanted<'a>,
    is_read: bool,
    /// How many records there are, in all conversations.
    pub(super) records: usize,
    /// Each conversation, by the name that the log has for it.
    names: Vec<String>,
    /// The places of those that the log may come back to.
    named: HashMap<String, usize>,
    /// The one that what follows is of.
    now: usize,
    /// The one that is wanted, once it began.
    found: Option<usize>,
    pub(super) entries: Vec<Entry>,
    pub(super) cuts: Vec<Cut>,
    /// Entries that are of no branch that leads to the newest one.
    pub(super) rewound: HashSet<usize>,
    pub(super) system: Option<Json>,
    /// The schemas of the tools as the log holds them, a JSON array.
    pub(super) tools: Option<Json>,
    /// The model that replied last.
    pub(super) model: Option<String>,
    skipped: Vec<Skipped>,
    places: HashMap<(String, &'static str), usize>,
    pub(super) problems: Vec<Problem>,
    /// The format that is nearest to the log, whatever it holds.
    pub(super) format: Option<Format>,
    /// Why nothing of it can be read.
    pub(super) unreadable: Option<String>,
}

impl<'a> Log<'a> {
    pub(super) fn new(wanted: Wanted<'a>) -> Self {
        Self {
            wanted,
            is_read: false,
            records: 0,
            names: Vec::new(),
            named: HashMap::new(),
            now: 0,
            found: None,
            entries: Vec::new(),
            cuts: Vec::new(),
            rewound: HashSet::new(),
            system: None,
            tools: None,
            model: None,
            skipped: Vec::new(),
            places: HashMap::new(),
            problems: Vec::new(),
            format: None,
            unreadable: None,
        }
    }

    /// Says that what follows is of another conversation.
    pub(super) fn begin(&mut self, name: impl Into<String>) {
        let name = name.into();
        self.now = self.names.len();
        let is_wanted = match self.wanted {
            Wanted::Only => self.now == 0,
            Wanted::At(place) => self.now == place,
            Wanted::Named(wanted) => wanted == name,
        };
        if is_wanted {
            self.found.get_or_insert(self.now);
        }
        self.names.push(name);
    }

    /// Says that what follows is of the conversation `name`, which others may stand between. Whether it is known;
    /// one that is not begins if it `may_begin`.
    pub(super) fn within(&mut self, name: &str, may_begin: bool) -> bool {
        if self.names.get(self.now).is_some_and(|now| now == name) {
            return true;
        }
        match self.named.get(name) {
            Some(place) => self.now = *place,
            None if may_begin => {
                self.begin(name);
                self.named.insert(name.to_owned(), self.now);
            }
            None => return false,
        }
        true
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the conversation that is wanted is there.
    pub(super) fn is_found(&self) -> bool {
        self.names.is_empty() || self.found.is_some()
    }

    /// Whether what follows is of the conversation that is wanted.
    pub(super) fn is_wanted(&self) -> bool {
        self.is_read || self.names.is_empty() || self.found == Some(self.now)
    }

    /// Takes an entry. Texts without a word in them and entries without a part are passed over.
    pub(super) fn push(&mut self, entry: Entry) {
        if self.is_wanted() {
            let entry = self.sound(entry);
            self.entries.extend(entry);
        }
    }

    /// What of an entry a provider takes, if anything.
    fn sound(&mut self, mut entry: Entry) -> Option<Entry> {
        self.pass_over(&mut entry.parts, entry.line);
        entry.parts.retain(|part| !matches!(part, Part::Text(text) if is_blank(text)));
        let (speaker, before) = (entry.speaker, entry.parts.len());
        entry.parts.retain(|part| speaker == Speaker::Tool || speaker.may_hold(part));
        for _ in entry.parts.len()..before {
            self.skip("part", NOT_FROM_THEM, entry.line);
        }
        if entry.parts.is_empty() {
            self.skip("message", "there is nothing in it", entry.line);
            return None;
        }
        // Of entries there are as many as messages, and most have one part.
        entry.parts.shrink_to_fit();
        Some(entry)
    }

    /// Counts what no request has a place for, in results too, and takes it out.
    fn pass_over(&mut self, parts: &mut Vec<Part>, line: usize) {
        let format = self.format;
        parts.retain_mut(|part| match part {
            Part::PassedOver { kind, why } => {
                self.skip(kind, why, line);
                false
            }
            Part::Block { of, .. } if format.is_some_and(|format| format != *of) => {
                self.skip("block", NOT_OF_FORMAT, line);
                false
            }
            Part::Thought { signature, .. } if format == Some(Format::OpenaiResponses) => {
                if signature.take().is_some() {
                    self.skip("signature", NOT_OF_FORMAT, line);
                }
                true
            }
            Part::Result(answer) => {
                self.pass_over(&mut answer.content, line);
                answer.content.retain(|part| {
                    let is_seen = matches!(
                        part,
                        Part::Text(_) | Part::Image(_) | Part::Block { kind: Block::Other, .. }
                    );
                    if !is_seen {
                        self.skip("part", NOT_FROM_THEM, line);
                    }
                    is_seen
                });
                true
            }
            _ => true,
        });
    }

    /// Says that all records are read: what is told from here on is of the conversation that is wanted.
    pub(super) fn end(&mut self) {
        self.is_read = true;
    }

    /// Holds the summaries to what holds for all entries, once all are there.
    pub(super) fn settle_summaries(&mut self) {
        let mut cuts = std::mem::take(&mut self.cuts);
        for cut in &mut cuts {
            cut.summary = cut.summary.take().and_then(|(before, entries)| {
                let sound = entries.into_iter().filter_map(|entry| self.sound(entry));
                let sound: Vec<Entry> = sound.collect();
                (!sound.is_empty()).then_some((before, sound))
            });
        }
        self.cuts = cuts;
    }

    pub(super) fn cut(&mut self, cut: Cut) {
        if self.is_wanted() {
            self.cuts.push(cut);
        }
    }

    /// Counts a record that is no part of the conversation.
    pub(super) fn skip(&mut self, kind: &str, why: &'static str, line: usize) {
        if !self.is_wanted() {
            return;
        }
        // A name is looked for before it is copied: logs have a million records of one kind.
        let last = self.skipped.last_mut().filter(|last| last.why == why && last.kind == kind);
        if let Some(last) = last {
            last.count += 1;
            return;
        }
        let kind: String = match self.skipped.len() < MOST_KINDS {
            true => kind.chars().take(LONGEST_KIND).collect(),
            false => "record of yet another kind".to_owned(),
        };
        let place = match self.places.get(&(kind.clone(), why)) {
            Some(place) => *place,
            None => {
                self.places.insert((kind.clone(), why), self.skipped.len());
                self.skipped.push(Skipped { kind, why, count: 0, first_line: line });
                self.skipped.len() - 1
            }
        };
        if let Some(skipped) = self.skipped.get_mut(place) {
            skipped.count += 1;
        }
    }

    /// Takes the schemas of the tools, if they are some.
    pub(super) fn tools(&mut self, tools: Option<View<'_>>, line: usize) {
        let Some(tools) = tools.filter(|tools| tools.is_array() && self.is_wanted()) else {
            return;
        };
        let is_schema = |tool: View<'_>| tool.get("function").is_some_and(View::is_object);
        match tools.items().next().is_some() && tools.items().all(is_schema) {
            true => self.tools = Some(compact(tools.raw())),
            false => self.skip("tools", "they are told in no form that is sent", line),
        }
    }

    pub(super) fn problem(&mut self, line: usize, what: impl Into<String>) {
        if self.is_wanted() {
            self.problems.push(Problem { line, what: what.into() });
        }
    }

    /// What was passed over, the most frequent first.
    pub(super) fn take_skipped(&mut self) -> Vec<Skipped> {
        let mut skipped = std::mem::take(&mut self.skipped);
        skipped.sort_by_key(|skipped| std::cmp::Reverse(skipped.count));
        skipped
    }
}
