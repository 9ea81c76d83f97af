//! The least change that makes messages fit together.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use brute_core::{Message, MessageId, Part, Role, ToolResult};

use super::{Calls, NO_RESULT, blank_node, is_blank};
use crate::formats::json::{Pointers, Source};
use crate::formats::pieces::{Pieces, is_said};
use crate::formats::{Format, Repair};

/// A message in the making. Its parts are those of its piece until something is done to them.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) id: u64,
    pub(super) role: Role,
    pub(super) parts: Arc<[Part]>,
}

impl Draft {
    fn rename_result(&mut self, name: &str) {
        for part in Arc::make_mut(&mut self.parts) {
            if let Part::ToolResult(result) = part {
                result.call = name.into();
            }
        }
    }

    pub(super) fn answers(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| match part {
            Part::ToolResult(result) => Some(&*result.call),
            _ => None,
        })
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(&*call.id),
            _ => None,
        })
    }

    /// Whether a person sends this without a word.
    pub(super) fn is_shown_by_a_person(&self) -> bool {
        let message = Message::new(MessageId(self.id), self.role, Arc::clone(&self.parts));
        message.is_real_user() && !self.parts.iter().any(is_said)
    }

    /// Whether there is nothing in it that a provider takes as content.
    fn says_nothing(&self) -> bool {
        let is_nothing = |part: &Part| is_blank(part) || is_thought(part);
        matches!(self.role, Role::User | Role::Assistant) && self.parts.iter().all(is_nothing)
    }
}

/// Whether this is what the model thought, readable or not.
pub(super) fn is_thought(part: &Part) -> bool {
    match part {
        Part::Reasoning(_) => true,
        Part::Opaque(opaque) => opaque.kind == "reasoning".into(),
        _ => false,
    }
}

/// Where an id is named by a call, or by a result.
struct Mention {
    at: usize,
    is_call: bool,
}

pub(super) struct Mender<'a, 'r> {
    pub(super) format: Format,
    source: &'a Source,
    pointers: Pointers<'a>,
    calls: Calls<'a>,
    pub(super) pieces: &'a Pieces,
    repairs: &'r mut Vec<Repair>,
    pub(super) drafts: Vec<Draft>,
    pub(super) next_id: u64,
}

impl<'a, 'r> Mender<'a, 'r> {
    pub(super) fn new(
        format: Format,
        source: &'a Source,
        pieces: &'a Pieces,
        repairs: &'r mut Vec<Repair>,
    ) -> Self {
        let drafts = pieces.live().map(|(at, piece)| Draft {
            id: at as u64,
            role: piece.role,
            parts: Arc::clone(&piece.parts),
        });
        Self {
            format,
            source,
            pointers: Pointers::of(source),
            calls: Calls::default(),
            pieces,
            repairs,
            drafts: drafts.collect(),
            next_id: pieces.all.len() as u64,
        }
    }

    /// Messages that were not changed share their parts with the pieces they were read from.
    pub(super) fn messages(&self) -> Vec<Message> {
        let message =
            |draft: &Draft| Message::new(MessageId(draft.id), draft.role, Arc::clone(&draft.parts));
        self.drafts.iter().map(message).collect()
    }

    pub(super) fn tell(&mut self, id: u64, call: Option<&str>, what: String) {
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

    pub(super) fn remove_blanks(&mut self) {
        for mut draft in std::mem::take(&mut self.drafts) {
            let id = draft.id;
            let is_blank_here = self.pieces.get(MessageId(id)).is_some_and(|piece| piece.is_blank);
            if draft.says_nothing() {
                self.tell(id, None, "dropped a message that says nothing".to_owned());
                continue;
            }
            if is_blank_here {
                draft.parts = draft.parts.iter().filter(|part| !is_blank(part)).cloned().collect();
                self.tell(id, None, "removed a blank text".to_owned());
            }
            self.drafts.push(draft);
        }
    }

    /// The second call of one id in a message gets an id of its own, and the second result with it. For
    /// Anthropic, ids are never used again at all.
    pub(super) fn rename_repeated_calls(&mut self) {
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
        let is_unique = self.format == Format::Anthropic;
        let mut before: HashSet<String> = HashSet::new();
        for at in 0..self.drafts.len() {
            let mut seen = HashSet::new();
            let is_repeated = |call: &str| is_unique && before.contains(call);
            let draft = &self.drafts[at];
            if !draft.calls().any(|call| is_repeated(call) || !seen.insert(call)) {
                before.extend(draft.calls().filter(|_| is_unique).map(str::to_owned));
                continue;
            }
            let mut kept: HashSet<String> = HashSet::new();
            let mut renamed: BTreeMap<String, Vec<String>> = BTreeMap::new();
            let mut parts = self.drafts[at].parts.to_vec();
            for part in &mut parts {
                let Part::ToolCall(call) = part else { continue };
                if !is_repeated(&call.id) && kept.insert(call.id.to_string()) {
                    continue;
                }
                let number = numbers.entry(call.id.to_string()).or_insert(2);
                let fresh = loop {
                    let candidate = format!("{}_{number}", call.id);
                    *number += 1;
                    if taken.insert(candidate.clone()) {
                        break candidate;
                    }
                };
                let old = std::mem::replace(&mut call.id, fresh.clone().into());
                renamed.entry(old.into()).or_default().push(fresh);
            }
            self.drafts[at].parts = parts.into();
            for (old, fresh) in renamed {
                let is_kept = kept.contains(&old);
                let mentions = mentions.get(&old).map_or(&[][..], Vec::as_slice);
                self.rename_results(at, mentions, usize::from(is_kept), &fresh);
                let id = self.drafts[at].id;
                for name in &fresh {
                    let what = match is_kept {
                        true => format!("renamed a second call `{old}` in one message to `{name}`"),
                        false => {
                            format!(
                                "renamed the call `{old}`, as one before is called, to `{name}`"
                            )
                        }
                    };
                    self.tell(id, Some(&old), what);
                }
            }
            before.extend(kept.into_iter().filter(|_| is_unique));
        }
    }

    /// The first `kept` results after `at`, up to the next call of the same id, stay with that; the next ones
    /// go with `fresh`. `mentions` are those of the id.
    fn rename_results(&mut self, at: usize, mentions: &[Mention], kept: usize, fresh: &[String]) {
        let after = mentions.partition_point(|mention| mention.at <= at);
        let results = mentions[after..].iter().take_while(|mention| !mention.is_call);
        for (result, name) in results.skip(kept).zip(fresh) {
            self.drafts[result.at].rename_result(name);
        }
    }

    /// Every result behind its call, and every call with a result.
    pub(super) fn pair(&mut self) {
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
        // In the order of the calls.
        let mut unanswered: Vec<(usize, String)> = Vec::new();
        for (at, draft) in self.drafts.iter().enumerate() {
            let is_open = |call: &&str| {
                open.get(call).is_some_and(|places| places.binary_search(&at).is_ok())
            };
            unanswered.extend(draft.calls().filter(is_open).map(|call| (at, call.to_owned())));
        }
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
            // Only these have a place to say so.
            let is_error = matches!(self.format, Format::Anthropic | Format::Gemini);
            let result = ToolResult {
                call: call.into(),
                text: text.into(),
                media: Box::default(),
                is_error,
            };
            let draft = Draft {
                id: self.next_id,
                role: Role::Tool,
                parts: Arc::new([Part::ToolResult(result)]),
            };
            self.next_id += 1;
            behind.entry(at).or_default().push(draft);
        }
        self.place(&gone, behind);
    }

    /// Takes `gone` out and puts `behind` behind the results that follow its message.
    pub(super) fn place(&mut self, gone: &HashSet<usize>, mut behind: BTreeMap<usize, Vec<Draft>>) {
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
