//! From the entries of a log to messages that fit together: the pieces of a reply joined, every result
//! behind the message that called for it.

use std::collections::{HashMap, HashSet};

use super::entry::{Answer, Entry, Part, Speaker};
use super::log::{Cut, Hidden, Log};
use crate::formats::Usage;

/// What stands for a result that the log does not hold.
const NO_RESULT: &str = "\"[no result was recorded]\"";

/// What stands for a request that the log does not hold.
const NO_REQUEST: &str = "\"[the request is not in the log]\"";

/// A message of the request.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) speaker: Speaker,
    pub(super) parts: Vec<Part>,
    /// The entry that it begins with.
    pub(super) entry: usize,
    pub(super) usage: Option<Usage>,
    line: usize,
    /// Of an assistant message, the results that answer it.
    results: Vec<Part>,
}

/// What a cut took out of the context that no earlier one had taken.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// How many messages.
    pub(super) messages: usize,
    /// Their entries, in order.
    pub(super) entries: Vec<usize>,
}

impl Message {
    /// Whether it is more than instructions: what stands for a dialogue is one.
    pub(super) fn is_of_dialogue(&self) -> bool {
        self.speaker != Speaker::System || self.parts.iter().any(Part::is_compaction)
    }
}

/// What is in the agent's context, or, with `whole`, what ever was; with what each cut took.
pub(super) fn messages(log: &mut Log<'_>, whole: bool) -> (Vec<Message>, Vec<Taken>) {
    log.end();
    log.settle_summaries();
    let entries = std::mem::take(&mut log.entries);
    let (hidden, replaced) = hidden(&entries, &log.cuts, &log.rewound);
    let mut summaries: HashMap<usize, Vec<Entry>> = HashMap::new();
    // A summary is part of all that happened only where what it stands for is not there. In the context
    // it stands until a later one takes its place.
    let mut taken = None;
    for (cut, replaced) in log.cuts.iter().zip(&replaced).rev() {
        if let Some((before, summary)) = &cut.summary {
            let stands =
                if whole { replaced.messages == 0 } else { taken.is_none_or(|end| end < *before) };
            if stands {
                let left = summaries.entry(*before).or_default();
                left.splice(0..0, summary.iter().cloned());
            }
        }
        let end = match &cut.hides {
            Hidden::Before(end) => Some(*end),
            Hidden::These(_) => cut.summary.as_ref().map(|_| usize::MAX),
        };
        taken = taken.max(end);
    }
    let mut assembly = Assembly { cleared: cleared(log, whole), ..Assembly::default() };
    let count = entries.len();
    for (at, entry) in entries.into_iter().enumerate() {
        for summary in summaries.remove(&at).into_iter().flatten() {
            assembly.push(summary, at, log);
        }
        let is_out = log.rewound.contains(&at) || (!whole && hidden[at]);
        if !is_out {
            assembly.push(entry, at, log);
        }
    }
    for summary in summaries.remove(&count).into_iter().flatten() {
        assembly.push(summary, count, log);
    }
    let mut messages = assembly.finish(log);
    open_with_a_request(&mut messages, log);
    (messages, replaced)
}

/// Logs of what a model was told by other means begin with its reply, which no provider takes.
fn open_with_a_request(messages: &mut Vec<Message>, log: &mut Log<'_>) {
    let first = messages.iter().position(|message| message.speaker != Speaker::System);
    let Some(first) = first.filter(|first| messages[*first].speaker != Speaker::User) else {
        return;
    };
    let (entry, line) = (messages[first].entry, messages[first].line);
    log.problem(line, format!("the log begins with a reply; put {NO_REQUEST} before it"));
    let (parts, results) = (vec![Part::Text(NO_REQUEST.to_owned())], Vec::new());
    let request = Message { speaker: Speaker::User, parts, entry, usage: None, line, results };
    messages.insert(first, request);
}

/// Which entries are out of the context, and what each cut took.
fn hidden(entries: &[Entry], cuts: &[Cut], rewound: &HashSet<usize>) -> (Vec<bool>, Vec<Taken>) {
    let mut hidden = vec![false; entries.len()];
    // All below this is hidden already, so that a log with many compactions is walked once.
    let mut below = 0;
    let replaced = cuts.iter().map(|cut| {
        let (mut messages, mut taken) = (Counted::default(), Vec::new());
        let mut hide = |at: usize| {
            if let Some(is_hidden) = hidden.get_mut(at)
                && !std::mem::replace(is_hidden, true)
                && !rewound.contains(&at)
            {
                messages.add(&entries[at]);
                taken.push(at);
            }
        };
        match &cut.hides {
            Hidden::Before(end) => {
                let end = (*end).min(entries.len());
                (below..end).for_each(&mut hide);
                below = below.max(end);
            }
            Hidden::These(these) => these.iter().copied().for_each(&mut hide),
        }
        taken.sort_unstable();
        Taken { messages: messages.count, entries: taken }
    });
    let replaced = replaced.collect();
    (hidden, replaced)
}

/// Counts messages by their entries.
#[derive(Default)]
struct Counted {
    count: usize,
    reply: Option<String>,
}

impl Counted {
    fn add(&mut self, entry: &Entry) {
        let continues = entry.reply.is_some() && entry.reply == self.reply;
        if !continues {
            self.count += 1;
        }
        if entry.speaker != Speaker::Tool {
            self.reply.clone_from(&entry.reply);
        }
    }
}

/// The placeholders of results that the agent cleared, by the id of the call.
fn cleared(log: &Log<'_>, whole: bool) -> HashMap<String, &'static str> {
    let cuts = log.cuts.iter().filter(|_| !whole);
    cuts.flat_map(|cut| cut.cleared.iter().map(|id| (id.clone(), cut.placeholder))).collect()
}

#[derive(Default)]
struct Assembly {
    messages: Vec<Message>,
    /// Where each reply that the log holds in pieces began.
    replies: HashMap<String, usize>,
    /// The calls that wait for a result: the messages that made them, the newest last.
    open: HashMap<String, Vec<usize>>,
    /// The calls that each message makes, answered or not: the pieces of a reply may come late.
    made: HashSet<(usize, String)>,
    answered: HashSet<String>,
    cleared: HashMap<String, &'static str>,
}

impl Assembly {
    fn push(&mut self, entry: Entry, at: usize, log: &mut Log<'_>) {
        let Entry { speaker, parts, reply, usage, line } = entry;
        if speaker == Speaker::Tool {
            for part in parts {
                self.answer(part, line, log);
            }
            return;
        }
        let known = reply.as_ref().and_then(|reply| self.replies.get(reply).copied());
        let place = known.unwrap_or(self.messages.len());
        let mut parts = parts;
        parts.retain(|part| self.admit(part, place, line, log));
        let Some(known) = known else {
            if let Some(reply) = reply {
                self.replies.insert(reply, place);
            }
            let results = Vec::new();
            self.messages.push(Message { speaker, parts, entry: at, usage, line, results });
            return;
        };
        // Every piece of a reply repeats the count; the last one has it whole.
        let message = &mut self.messages[known];
        message.usage = usage.or(message.usage);
        message.parts.append(&mut parts);
    }

    /// Notes the call that `part` makes, if it does. Whether the part belongs into the message at `place`, which makes each
    /// call once.
    fn admit(&mut self, part: &Part, place: usize, line: usize, log: &mut Log<'_>) -> bool {
        let Some(id) = part.call() else { return true };
        if !self.made.insert((place, id.to_owned())) {
            log.problem(line, format!("passed over a second call `{id}` in one message"));
            return false;
        }
        self.open.entry(id.to_owned()).or_default().push(place);
        true
    }

    fn answer(&mut self, part: Part, line: usize, log: &mut Log<'_>) {
        let Some(id) = part.answers().map(str::to_owned) else { return };
        let Some(place) = self.open.get_mut(&id).and_then(Vec::pop) else {
            let what = match self.answered.contains(&id) {
                true => format!("passed over a second result for the call `{id}`"),
                false => {
                    format!("passed over a result for `{id}`, a call that the log does not hold")
                }
            };
            log.problem(line, what);
            return;
        };
        let part = match self.cleared.get(&id) {
            Some(placeholder) => Part::Result(Answer {
                call: id.clone(),
                content: vec![Part::Text((*placeholder).to_owned())],
                is_error: false,
            }),
            None => part,
        };
        self.answered.insert(id);
        self.messages[place].results.push(part);
    }

    /// All messages, with those of results behind what they answer.
    fn finish(mut self, log: &mut Log<'_>) -> Vec<Message> {
        let is_silent = |message: &Message| {
            message.speaker == Speaker::Assistant && message.parts.iter().all(Part::is_thought)
        };
        for message in self.messages.iter().filter(|message| is_silent(message)) {
            log.skip("message", "the model said nothing and called nothing", message.line);
        }
        self.messages.retain(|message| !is_silent(message));
        let mut kept = Vec::with_capacity(self.messages.len());
        let last = self.messages.len().saturating_sub(1);
        for (place, mut message) in self.messages.into_iter().enumerate() {
            let answers: HashSet<&str> = message.results.iter().filter_map(Part::answers).collect();
            let calls = message.parts.iter().filter_map(Part::call);
            let missing: HashSet<String> =
                calls.filter(|id| !answers.contains(id)).map(str::to_owned).collect();
            let mut results = std::mem::take(&mut message.results);
            let (entry, line) = (message.entry, message.line);
            if place == last {
                for id in sorted(missing) {
                    log.problem(
                        line,
                        format!(
                            "the log ends before the result for `{id}`; the call is still waiting"
                        ),
                    );
                }
            } else {
                for id in sorted(missing) {
                    log.problem(line, format!("the log holds no result for `{id}`; put `[no result was recorded]` in its place"));
                    let content = vec![Part::Text(NO_RESULT.to_owned())];
                    results.push(Part::Result(Answer { call: id, content, is_error: true }));
                }
            }
            kept.push(message);
            if !results.is_empty() {
                kept.push(Message {
                    speaker: Speaker::Tool,
                    parts: results,
                    entry,
                    usage: None,
                    line,
                    results: Vec::new(),
                });
            }
        }
        kept
    }
}

fn sorted(ids: HashSet<String>) -> Vec<String> {
    let mut ids: Vec<String> = ids.into_iter().collect();
    ids.sort();
    ids
}
