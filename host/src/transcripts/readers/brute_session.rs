//! The session logs of this program: see [`session_log`](crate::session_log).
//!
//! A compaction says which messages went and what came in their place; so does a replacement, and what it took out
//! belongs to another conversation.

use std::collections::HashSet;

use brute_core::{self as core, Role};

use super::Reader;
use crate::formats::json::{Source, View, quote};
use crate::session_log::{Change, Record, Said, VERSION};
use crate::transcripts::Left;
use crate::transcripts::entry::{Answer, Call, Entry, Part, Speaker, arguments};
use crate::transcripts::log::{Cut, Hidden, Log};

/// Why something is passed over that a request has a place for.
const NOT_HELD: &str = "the log holds no more of it than its size";

/// Reads a log.
pub(super) struct Session {
    /// Whether all that was said is wanted, and not what stands for it.
    whole: bool,
    items: Vec<Item>,
    /// The compactions: their line, and what they left.
    cuts: Vec<(usize, Left)>,
}

/// A message.
struct Item {
    id: u64,
    line: usize,
    /// What a request has of it, if anything.
    entry: Option<Entry>,
    /// Whether a compaction made it.
    is_made: bool,
    /// The compaction that took it.
    taken_by: Option<usize>,
}

impl Reader for Session {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        if value.get("format").is_some() {
            let version = value.get("version").and_then(View::u64);
            if let Some(version) = version.filter(|version| *version != VERSION) {
                let why =
                    format!("it is of version {version}, and this brute knows version {VERSION}");
                log.unreadable = Some(format!("{why}: take the brute that wrote it"));
            }
            log.skip("header", "it says what the file is", line);
            return;
        }
        match serde_json::from_str(value.raw()) {
            Ok(Record::Message(said)) => {
                self.items.push(item(said, line, log));
            }
            Ok(Record::Compaction(change)) => {
                self.cuts.push((line, left(&change)));
                self.change(change, Some(self.cuts.len() - 1), line, log);
            }
            Ok(Record::Replacement(change)) => self.change(change, None, line, log),
            Err(_) => log.skip("record", "it is none of a session log", line),
        }
    }

    fn end(&mut self, log: &mut Log<'_>) {
        let (mut taken, mut said) = (vec![Vec::new(); self.cuts.len()], Vec::new());
        for item in std::mem::take(&mut self.items) {
            let passed_over = match (self.whole, item.taken_by) {
                (true, _) => Some("what it stands for is there"),
                (false, Some(_)) => Some("a later compaction took what an earlier one made"),
                (false, None) => None,
            };
            if let Some(why) = passed_over.filter(|_| item.is_made) {
                log.skip("message", why, item.line);
                continue;
            }
            let at = log.entries.len();
            item.entry.into_iter().for_each(|entry| log.push(entry));
            if log.entries.len() == at {
                continue;
            }
            if !item.is_made {
                said.push((item.line, at));
            }
            if let Some(taken) = item.taken_by.and_then(|cut| taken.get_mut(cut)) {
                taken.push(at);
            }
        }
        for ((line, left), taken) in std::mem::take(&mut self.cuts).into_iter().zip(taken) {
            let next = said.get(said.partition_point(|(before, _)| *before < line));
            let at = next.map_or(log.entries.len(), |(_, at)| *at);
            let told = Some(left);
            log.cut(Cut { told, ..Cut::new(line, at, Hidden::These(taken)) });
        }
    }
}

impl Session {
    pub(super) fn new(whole: bool) -> Self {
        Self { whole, items: Vec::new(), cuts: Vec::new() }
    }

    /// Makes the change that the compaction `cut`, or else something other than one, made of what is there.
    fn change(&mut self, change: Change<'_>, cut: Option<usize>, line: usize, log: &mut Log<'_>) {
        // What others took out of the file is missed here alone.
        let mut went: HashSet<u64> = change.went.into_iter().collect();
        let mut came = change.came.into_iter().peekable();
        let (mut items, mut live) = (Vec::with_capacity(self.items.len()), 0);
        let mut settle = |items: &mut Vec<Item>, live: &mut usize| {
            while let Some(next) = came.next_if(|next| next.at == *live) {
                *live += 1;
                let item = item(next.message, line, log);
                items.push(Item { is_made: cut.is_some(), ..item });
            }
        };
        for item in std::mem::take(&mut self.items) {
            if item.taken_by.is_none() && !went.remove(&item.id) {
                settle(&mut items, &mut live);
                live += 1;
                items.push(item);
            } else if let Some(taken_by) = item.taken_by.or(cut) {
                items.push(Item { taken_by: Some(taken_by), ..item });
            }
        }
        settle(&mut items, &mut live);
        let misplaced = came.map(|came| item(came.message, line, log));
        let misplaced = misplaced.map(|item| Item { is_made: cut.is_some(), ..item });
        let fitting = items.len();
        items.extend(misplaced);
        if !went.is_empty() || items.len() > fitting {
            log.problem(line, "made a change as far as it fits what stands before it");
        }
        self.items = items;
        if cut.is_none() {
            self.items.retain(|item| item.taken_by.is_none());
            self.items.iter_mut().for_each(|item| item.is_made = false);
            self.cuts.clear();
        }
    }
}

/// What a compaction left, by what came that was not there before.
fn left(change: &Change<'_>) -> Left {
    let is_changed = |said: &Said<'_>| change.went.binary_search(&said.id).is_ok();
    let came = || change.came.iter().map(|came| &came.message);
    let new = came().filter(|said| !is_changed(said)).flat_map(|said| &*said.parts);
    let texts: Vec<&str> = new
        .filter_map(|part| match part {
            core::Part::Text(text) => Some(&**text),
            _ => None,
        })
        .collect();
    let cleared = came().filter(|said| is_changed(said) && said.role == Role::Tool).count();
    match (texts.is_empty(), cleared) {
        (false, _) => Left::Summary(texts.join("\n\n")),
        (true, 0) => Left::Nothing,
        (true, cleared) => Left::Cleared(cleared),
    }
}

fn item(said: Said<'_>, line: usize, log: &mut Log<'_>) -> Item {
    let speaker = match said.role {
        Role::System => Some(Speaker::System),
        Role::User => Some(Speaker::User),
        Role::Assistant => Some(Speaker::Assistant),
        Role::Tool => Some(Speaker::Tool),
        Role::Other => None,
    };
    if speaker.is_none() {
        log.skip("message", "it is beside the conversation", line);
    }
    let entry = speaker.map(|speaker| {
        let parts = said.parts.iter().map(|said| part(said, line, log)).collect();
        Entry::new(speaker, parts, line)
    });
    Item { id: said.id, line, entry, is_made: false, taken_by: None }
}

fn part(part: &core::Part, line: usize, log: &mut Log<'_>) -> Part {
    let not_held = |kind: &str| Part::PassedOver { kind: kind.to_owned(), why: NOT_HELD };
    match part {
        core::Part::Text(text) => Part::Text(quote(text)),
        core::Part::Reasoning(reasoning) if reasoning.text.is_empty() => not_held("reasoning"),
        core::Part::Reasoning(reasoning) => {
            if reasoning.signed {
                log.skip("signature", NOT_HELD, line);
            }
            Part::Thought { text: quote(&reasoning.text), signature: None }
        }
        core::Part::Media(media) => not_held(&media.kind),
        core::Part::ToolCall(call) => Part::Call(Call {
            id: call.id.to_string(),
            name: quote(&call.name),
            arguments: match Source::parse(quote(&call.arguments)) {
                Ok(text) => arguments(text.roots().next()),
                Err(_) => arguments(None),
            },
        }),
        core::Part::ToolResult(result) => {
            let text = Some(Part::Text(quote(&result.text))).filter(|_| !result.text.is_empty());
            let media = result.media.iter().map(|media| not_held(&media.kind));
            Part::Result(Answer {
                call: result.call.to_string(),
                content: text.into_iter().chain(media).collect(),
                is_error: result.is_error,
            })
        }
        core::Part::Opaque(opaque) => not_held(&opaque.kind),
    }
}
