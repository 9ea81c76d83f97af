//! Fitting the messages together: telling what does not fit, or mending it by the least change.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use brute_core::{Conversation, Message, MessageId, Part, Role, ToolResult, Violation};

use super::carrier::Carrier;
use super::json::{Pointers, Source, View};
use super::pieces::{Piece, Pieces, Slot};
use super::{Problem, ReadError, ReadOptions, Repair};

/// What stands for a result that nobody recorded.
const NO_RESULT: &str = "[no result was recorded]";

/// The conversation of `pieces`.
pub(super) fn conversation(
    source: &Source,
    pieces: &Pieces,
    repair: bool,
    repairs: &mut Vec<Repair>,
) -> Result<Conversation, ReadError> {
    let found = Conversation::new(pieces.messages().map(|(_, message)| message));
    let has_blanks = pieces.live().any(|(_, piece)| piece.is_blank);
    let violations = match found {
        Ok(conversation) if !has_blanks => return Ok(conversation),
        Ok(_) => Vec::new(),
        Err(invalid) => invalid.violations,
    };
    if !repair {
        return Err(invalid(source, pieces, &violations));
    }
    let mut mender = Mender::new(source, pieces, repairs);
    mender.remove_blanks();
    mender.rename_repeated_calls();
    mender.pair();
    let messages = mender.messages();
    repairs.sort_by_key(|repair| repair.index);
    if messages.is_empty() {
        return Err(invalid(source, pieces, &violations));
    }
    Conversation::new(messages).map_err(|left| invalid(source, pieces, &left.violations))
}

fn invalid(source: &Source, pieces: &Pieces, violations: &[Violation]) -> ReadError {
    let pointers = Pointers::of(source);
    let mut calls = Calls::default();
    let live: Vec<&Piece> = pieces.live().map(|(_, piece)| piece).collect();
    let blanks = live.iter().filter(|piece| piece.is_blank).map(|piece| Problem {
        index: piece.wire_index(),
        pointer: pointers.pointer(blank_node(source, piece)),
        what: "a blank text, which the provider refuses".to_owned(),
    });
    let broken = violations.iter().filter_map(|violation| {
        let piece = *live.get(violation.message())?;
        let call = match violation {
            Violation::UnansweredCall { call, .. } | Violation::RepeatedCall { call, .. } => {
                Some(call)
            }
            _ => None,
        };
        let node = call.map_or(piece.node, |call| calls.node(piece, call));
        Some(Problem {
            index: piece.wire_index(),
            pointer: pointers.pointer(node),
            what: violation.to_string(),
        })
    });
    let mut problems: Vec<Problem> = blanks.chain(broken).collect();
    problems.sort_by_key(|problem| problem.index);
    ReadError::Invalid { problems }
}

/// Where the calls of a piece stand. Those of one piece are looked for one after the other.
#[derive(Default)]
struct Calls<'a> {
    of: Option<&'a Piece>,
    nodes: HashMap<&'a str, usize>,
}

impl<'a> Calls<'a> {
    /// The call `id` in `piece`, the last one of that id; the piece itself, if it has none.
    fn node(&mut self, piece: &'a Piece, id: &str) -> usize {
        if !self.of.is_some_and(|of| std::ptr::eq(of, piece)) {
            let calls = piece.parts.iter().zip(&piece.slots);
            let calls = calls.filter_map(|(part, slot)| match (part, slot) {
                (Part::ToolCall(call), Slot::Call(node) | Slot::Element(node)) => {
                    Some((call.id.as_str(), *node))
                }
                _ => None,
            });
            (self.of, self.nodes) = (Some(piece), calls.collect());
        }
        self.nodes.get(id).copied().unwrap_or(piece.node)
    }
}

fn blank_node(source: &Source, piece: &Piece) -> usize {
    let blank = piece.parts.iter().zip(&piece.slots).find(|(part, _)| is_blank(part));
    match blank {
        Some((_, Slot::Element(node))) => *node,
        _ => source.at(piece.node).get("content").map_or(piece.node, View::index),
    }
}

fn is_blank(part: &Part) -> bool {
    matches!(part, Part::Text(text) if text.trim().is_empty())
}

/// A message in the making.
#[derive(Debug, Clone)]
struct Draft {
    id: u64,
    role: Role,
    parts: Vec<Part>,
    is_changed: bool,
}

impl Draft {
    fn result_mut(&mut self) -> Option<&mut ToolResult> {
        self.parts.iter_mut().find_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    fn answers(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| match part {
            Part::ToolResult(result) => Some(result.call.as_str()),
            _ => None,
        })
    }

    fn calls(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call.id.as_str()),
            _ => None,
        })
    }
}

/// Where an id is named by a call, or by a result.
struct Mention {
    at: usize,
    is_call: bool,
}

struct Mender<'a, 'r> {
    source: &'a Source,
    pointers: Pointers<'a>,
    calls: Calls<'a>,
    pieces: &'a Pieces,
    repairs: &'r mut Vec<Repair>,
    drafts: Vec<Draft>,
    next_id: u64,
}

impl<'a, 'r> Mender<'a, 'r> {
    fn new(source: &'a Source, pieces: &'a Pieces, repairs: &'r mut Vec<Repair>) -> Self {
        let draft = |(at, piece): (usize, &Piece)| Draft {
            id: at as u64,
            role: piece.role,
            parts: piece.parts.to_vec(),
            is_changed: false,
        };
        let drafts = pieces.live().map(draft).collect();
        Self {
            source,
            pointers: Pointers::of(source),
            calls: Calls::default(),
            pieces,
            repairs,
            drafts,
            next_id: pieces.all.len() as u64,
        }
    }

    /// Messages that were not changed share their parts with the pieces they were read from.
    fn messages(&self) -> Vec<Message> {
        let message = |draft: &Draft| {
            let id = MessageId(draft.id);
            match self.pieces.get(id) {
                Some(piece) if !draft.is_changed => {
                    Message::new(id, draft.role, piece.parts.clone())
                }
                _ => Message::new(id, draft.role, draft.parts.clone()),
            }
        };
        self.drafts.iter().map(message).collect()
    }

    fn tell(&mut self, id: u64, call: Option<&str>, what: String) {
        let Some(piece) = self.pieces.get(MessageId(id)) else {
            return;
        };
        let node = match call {
            Some(call) => self.calls.node(piece, call),
            None if piece.is_blank => blank_node(self.source, piece),
            None => piece.node,
        };
        let pointer = self.pointers.pointer(node);
        self.repairs.push(Repair { index: piece.wire_index(), pointer, what });
    }

    fn remove_blanks(&mut self) {
        for mut draft in std::mem::take(&mut self.drafts) {
            let id = draft.id;
            if !self.pieces.get(MessageId(id)).is_some_and(|piece| piece.is_blank) {
                self.drafts.push(draft);
                continue;
            }
            draft.parts.retain(|part| !is_blank(part));
            draft.is_changed = true;
            let what = if draft.parts.iter().all(|part| matches!(part, Part::Reasoning(_))) {
                "dropped a message that says nothing"
            } else {
                self.drafts.push(draft);
                "removed a blank text"
            };
            self.tell(id, None, what.to_owned());
        }
    }

    /// The second call of one id in a message gets an id of its own, and the second result with it.
    fn rename_repeated_calls(&mut self) {
        let mut taken: HashSet<String> = HashSet::new();
        let mut mentions: HashMap<String, Vec<Mention>> = HashMap::new();
        for (at, draft) in self.drafts.iter().enumerate() {
            for call in draft.calls() {
                taken.insert(call.to_owned());
                mentions.entry(call.to_owned()).or_default().push(Mention { at, is_call: true });
            }
            if let Some(call) = draft.answers() {
                mentions.entry(call.to_owned()).or_default().push(Mention { at, is_call: false });
            }
        }
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for at in 0..self.drafts.len() {
            let mut seen = HashSet::new();
            let mut renamed: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for part in &mut self.drafts[at].parts {
                let Part::ToolCall(call) = part else { continue };
                if seen.insert(call.id.clone()) {
                    continue;
                }
                let number = numbers.entry(call.id.clone()).or_insert(2);
                let fresh = loop {
                    let candidate = format!("{}_{number}", call.id);
                    *number += 1;
                    if taken.insert(candidate.clone()) {
                        break candidate;
                    }
                };
                let old = std::mem::replace(&mut call.id, fresh.clone());
                renamed.entry(old).or_default().push(fresh);
            }
            for (old, fresh) in renamed {
                self.drafts[at].is_changed = true;
                self.rename_results(at, mentions.get(&old).map_or(&[], Vec::as_slice), &fresh);
                let id = self.drafts[at].id;
                for name in &fresh {
                    let what = format!("renamed a second call `{old}` in one message to `{name}`");
                    self.tell(id, Some(&old), what);
                }
            }
        }
    }

    /// The first result after `at`, up to the next call of the same id, stays with the first call; the
    /// next ones go with `fresh`. `mentions` are those of the id.
    fn rename_results(&mut self, at: usize, mentions: &[Mention], fresh: &[String]) {
        let after = mentions.partition_point(|mention| mention.at <= at);
        let results = mentions[after..].iter().take_while(|mention| !mention.is_call);
        for (result, name) in results.skip(1).zip(fresh) {
            let draft = &mut self.drafts[result.at];
            if let Some(result) = draft.result_mut() {
                result.call.clone_from(name);
                draft.is_changed = true;
            }
        }
    }

    /// Every result behind its call, and every call with a result.
    fn pair(&mut self) {
        let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut orphans = Vec::new();
        let mut answered = HashSet::new();
        for (at, draft) in self.drafts.iter().enumerate() {
            for call in draft.calls() {
                open.entry(call).or_default().push(at);
            }
            if let Some(call) = draft.answers() {
                match open.get_mut(call).and_then(Vec::pop) {
                    Some(_) => drop(answered.insert(call)),
                    None => orphans.push((at, call.to_owned(), answered.contains(call))),
                }
            }
        }
        let spoken = self
            .drafts
            .iter()
            .rposition(|draft| matches!(draft.role, Role::User | Role::Assistant));
        let mut unanswered: Vec<(usize, String)> = open
            .into_iter()
            .flat_map(|(call, places)| places.into_iter().map(|at| (at, call.to_owned())))
            .collect();
        unanswered.sort();
        let mut later: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (at, call) in &unanswered {
            later.entry(call.clone()).or_default().push_back(*at);
        }
        let mut moved: HashSet<(usize, String)> = HashSet::new();

        let mut gone: HashSet<usize> = HashSet::new();
        let mut behind: BTreeMap<usize, Vec<Draft>> = BTreeMap::new();
        for (at, call, was_answered) in orphans {
            gone.insert(at);
            let id = self.drafts[at].id;
            // Orphans come in order: a call before this one is before all that follow, too.
            let places = later.get_mut(&call).into_iter();
            let place = places
                .flat_map(|places| std::iter::from_fn(|| places.pop_front()))
                .find(|place| *place > at);
            let what = match place {
                Some(place) => {
                    moved.insert((place, call.clone()));
                    behind.entry(place).or_default().push(self.drafts[at].clone());
                    format!("moved the result for `{call}` behind its call")
                }
                None if was_answered => {
                    format!("dropped a second result for `{call}`, which was answered already")
                }
                None => {
                    format!("dropped the result for `{call}`, which no call before it asks for")
                }
            };
            self.tell(id, None, what);
        }
        unanswered.retain(|call| !moved.contains(call));
        for (at, call) in unanswered {
            // The last to speak may still wait.
            if spoken == Some(at) {
                continue;
            }
            let id = self.drafts[at].id;
            let what =
                format!("added a result, `{NO_RESULT}`, for the call `{call}`, which had none");
            self.tell(id, Some(&call), what);
            let text = NO_RESULT.to_owned();
            let result = ToolResult { call, text, media: Vec::new(), is_error: true };
            let draft = Draft {
                id: self.next_id,
                role: Role::Tool,
                parts: vec![Part::ToolResult(result)],
                is_changed: true,
            };
            self.next_id += 1;
            behind.entry(at).or_default().push(draft);
        }
        self.place(&gone, behind);
    }

    /// Takes `gone` out and puts `behind` behind the results that follow its message.
    fn place(&mut self, gone: &HashSet<usize>, mut behind: BTreeMap<usize, Vec<Draft>>) {
        let drafts = std::mem::take(&mut self.drafts);
        let mut waiting: Vec<Draft> = Vec::new();
        for (at, draft) in drafts.into_iter().enumerate() {
            if draft.role != Role::Tool {
                self.drafts.append(&mut waiting);
            }
            if !gone.contains(&at) {
                self.drafts.push(draft);
            }
            waiting.extend(behind.remove(&at).unwrap_or_default());
        }
        self.drafts.append(&mut waiting);
    }
}

/// Where a half of a surrogate pair stands alone. No text holds that, and providers refuse it.
pub(super) fn lone_surrogates(
    source: &Source,
    options: &ReadOptions,
) -> Result<Vec<Problem>, ReadError> {
    let carrier = Carrier::find(source, options)?;
    let messages: Vec<_> = carrier.messages(source).into_iter().map(View::span).collect();
    let pointers = Pointers::of(source);
    let problem = |&offset: &usize| {
        let found = messages.partition_point(|message| message.start <= offset).checked_sub(1);
        let node = source.innermost(offset).map_or(0, View::index);
        Problem {
            index: found.filter(|found| messages[*found].contains(&offset)),
            pointer: pointers.pointer(node),
            what: format!(
                "`{}` is half of a surrogate pair, which no provider accepts",
                &source.text()[offset..offset + 6]
            ),
        }
    };
    Ok(source.lone_surrogates().iter().map(problem).collect())
}

/// Puts U+FFFD in the place of every half of a surrogate pair, in the text itself: the escapes are as
/// long as each other.
pub(super) fn surrogates(
    source: Source,
    problems: Vec<Problem>,
) -> Result<(Source, Vec<Repair>), ReadError> {
    let repairs = problems.into_iter().map(|Problem { index, pointer, what }| Repair {
        index,
        pointer,
        what: format!("put U+FFFD in its place: {what}"),
    });
    let repairs = repairs.collect();
    let offsets = source.lone_surrogates().to_vec();
    let mut text = source.into_text();
    for offset in offsets {
        text.replace_range(offset..offset + 6, "\\ufffd");
    }
    Ok((Source::parse(text)?, repairs))
}
