//! Fitting the messages together: telling what does not fit, or mending it by the least change.

use std::collections::{BTreeMap, HashMap, HashSet};

use brute_core::{Conversation, Message, MessageId, Part, Role, ToolResult, Violation};

use super::carrier::Carrier;
use super::json::{Source, View};
use super::pieces::{Piece, Pieces, Slot, Wire};
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
    let found = Conversation::new(pieces.messages());
    let has_blanks = pieces.all.iter().any(|piece| piece.is_blank);
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
    if messages.is_empty() {
        return Err(invalid(source, pieces, &violations));
    }
    Conversation::new(messages).map_err(|left| invalid(source, pieces, &left.violations))
}

fn invalid(source: &Source, pieces: &Pieces, violations: &[Violation]) -> ReadError {
    let blanks = pieces.all.iter().filter(|piece| piece.is_blank).map(|piece| Problem {
        index: index(piece),
        pointer: source.pointer(blank_node(source, piece)),
        what: "a blank text, which the provider refuses".to_owned(),
    });
    let broken = violations.iter().filter_map(|violation| {
        let piece = pieces.all.get(violation.message())?;
        let call = match violation {
            Violation::UnansweredCall { call, .. } | Violation::RepeatedCall { call, .. } => {
                Some(call)
            }
            _ => None,
        };
        let node = call.map_or(piece.node, |call| node_of_call(piece, call));
        Some(Problem {
            index: index(piece),
            pointer: source.pointer(node),
            what: violation.to_string(),
        })
    });
    let mut problems: Vec<Problem> = blanks.chain(broken).collect();
    problems.sort_by_key(|problem| problem.index);
    ReadError::Invalid { problems }
}

fn index(piece: &Piece) -> Option<usize> {
    match piece.wire {
        Wire::Message(index) => Some(index),
        Wire::System => None,
    }
}

fn node_of_call(piece: &Piece, id: &str) -> usize {
    let found =
        piece.parts.iter().zip(&piece.slots).rev().find_map(|(part, slot)| match (part, slot) {
            (Part::ToolCall(call), Slot::Call(node) | Slot::Element(node)) if call.id == id => {
                Some(*node)
            }
            _ => None,
        });
    found.unwrap_or(piece.node)
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

struct Mender<'a> {
    source: &'a Source,
    pieces: &'a Pieces,
    repairs: &'a mut Vec<Repair>,
    drafts: Vec<Draft>,
    next_id: u64,
}

impl<'a> Mender<'a> {
    fn new(source: &'a Source, pieces: &'a Pieces, repairs: &'a mut Vec<Repair>) -> Self {
        let draft = |(piece, id): (&Piece, u64)| Draft {
            id,
            role: piece.role,
            parts: piece.parts.to_vec(),
            is_changed: false,
        };
        let drafts = pieces.all.iter().zip(0..).map(draft).collect();
        Self { source, pieces, repairs, drafts, next_id: pieces.all.len() as u64 }
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
            Some(call) => node_of_call(piece, call),
            None if piece.is_blank => blank_node(self.source, piece),
            None => piece.node,
        };
        let pointer = self.source.pointer(node);
        self.repairs.push(Repair { index: index(piece), pointer, what });
    }

    fn remove_blanks(&mut self) {
        let mut at = 0;
        while at < self.drafts.len() {
            let draft = &mut self.drafts[at];
            let id = draft.id;
            if !self.pieces.get(MessageId(id)).is_some_and(|piece| piece.is_blank) {
                at += 1;
                continue;
            }
            draft.parts.retain(|part| !is_blank(part));
            draft.is_changed = true;
            if draft.parts.iter().all(|part| matches!(part, Part::Reasoning(_))) {
                self.drafts.remove(at);
                self.tell(id, None, "dropped a message that says nothing".to_owned());
            } else {
                at += 1;
                self.tell(id, None, "removed a blank text".to_owned());
            }
        }
    }

    /// The second call of one id in a message gets an id of its own, and the second result with it.
    fn rename_repeated_calls(&mut self) {
        let mut taken: HashSet<String> =
            self.drafts.iter().flat_map(Draft::calls).map(str::to_owned).collect();
        for at in 0..self.drafts.len() {
            let mut seen = HashSet::new();
            let mut renamed: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for part in &mut self.drafts[at].parts {
                let Part::ToolCall(call) = part else { continue };
                if seen.insert(call.id.clone()) {
                    continue;
                }
                let mut number = 2;
                let fresh = loop {
                    let candidate = format!("{}_{number}", call.id);
                    if taken.insert(candidate.clone()) {
                        break candidate;
                    }
                    number += 1;
                };
                let old = std::mem::replace(&mut call.id, fresh.clone());
                renamed.entry(old).or_default().push(fresh);
            }
            for (old, fresh) in renamed {
                self.drafts[at].is_changed = true;
                self.rename_results(at, &old, &fresh);
                let id = self.drafts[at].id;
                for name in &fresh {
                    let what = format!("renamed a second call `{old}` in one message to `{name}`");
                    self.tell(id, Some(&old), what);
                }
            }
        }
    }

    /// The first result of `old` after `at` stays with the first call; the next ones go with `fresh`.
    fn rename_results(&mut self, at: usize, old: &str, fresh: &[String]) {
        let mut names = fresh.iter();
        let mut is_first = true;
        for draft in &mut self.drafts[at + 1..] {
            if draft.calls().any(|call| call == old) {
                return;
            }
            let Some(result) = draft.result_mut().filter(|result| result.call == old) else {
                continue;
            };
            if std::mem::take(&mut is_first) {
                continue;
            }
            let Some(name) = names.next() else { return };
            result.call.clone_from(name);
            draft.is_changed = true;
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

        let mut gone: HashSet<usize> = HashSet::new();
        let mut behind: BTreeMap<usize, Vec<Draft>> = BTreeMap::new();
        for (at, call, was_answered) in orphans {
            gone.insert(at);
            let id = self.drafts[at].id;
            let later = unanswered.iter().position(|(place, open)| *place > at && *open == call);
            let what = match later {
                Some(found) => {
                    let (place, _) = unanswered.remove(found);
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
    let problem = |&offset: &usize| {
        let found = messages.partition_point(|message| message.start <= offset).checked_sub(1);
        let node = source.innermost(offset).map_or(0, View::index);
        Problem {
            index: found.filter(|found| messages[*found].contains(&offset)),
            pointer: source.pointer(node),
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
