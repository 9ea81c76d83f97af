//! What only strict providers insist on: where results stand, who begins, and that roles take turns.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use brute_core::{MessageId, Part, Role};

use super::mender::{Draft, Mender, is_thought};
use crate::formats::Format;
use crate::formats::pieces::Piece;

/// What stands for the beginning of a conversation that is lost.
const BEGINNING: &str = "[the beginning of this conversation was not recorded]";

impl Mender<'_, '_> {
    /// Every result right behind its call, whatever was said meanwhile. Items of OpenAI Responses may stand
    /// anywhere behind it.
    pub(super) fn put_results_behind_calls(&mut self) {
        if self.format == Format::OpenaiResponses {
            return;
        }
        let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut moved = Vec::new();
        let mut said = 0;
        for (at, draft) in self.drafts.iter().enumerate() {
            for call in draft.calls() {
                open.entry(call).or_default().push(at);
            }
            if matches!(draft.role, Role::System | Role::User | Role::Assistant) {
                said = at;
            }
            if let Some(call) = draft.answers()
                && let Some(place) = open.get_mut(call).and_then(Vec::pop)
                && place < said
            {
                moved.push((at, place, call.to_owned()));
            }
        }
        let mut behind: BTreeMap<usize, Vec<Draft>> = BTreeMap::new();
        let mut gone = HashSet::new();
        for (at, place, call) in moved {
            gone.insert(at);
            behind.entry(place).or_default().push(self.drafts[at].clone());
            let what = format!("moved the result for `{call}` right behind its call");
            self.tell(self.drafts[at].id, None, what);
        }
        if !gone.is_empty() {
            self.place(&gone, behind);
        }
    }

    /// What results show behind all of them, where a provider wants all results in a row. Whether that is to
    /// be done.
    pub(super) fn show_behind_results(&mut self) -> bool {
        if self.format == Format::OpenaiResponses {
            return false;
        }
        let shows = |pair: &[Draft]| {
            let is_shown = !self.pieces.companions_of(MessageId(pair[0].id)).is_empty();
            (is_shown && pair.iter().all(|draft| draft.role == Role::Tool)).then_some(pair[0].id)
        };
        let found: Vec<u64> = self.drafts.windows(2).filter_map(shows).collect();
        for id in &found {
            let what = "put what a result shows behind the results that follow it";
            self.tell(*id, None, what.to_owned());
        }
        !found.is_empty()
    }

    /// No thoughts that nothing follows, which is what OpenAI Responses insists on.
    pub(super) fn drop_last_thoughts(&mut self) {
        if self.format != Format::OpenaiResponses {
            return;
        }
        for at in 0..self.drafts.len() {
            let draft = &mut self.drafts[at];
            let kept =
                draft.parts.iter().rposition(|part| !is_thought(part)).map_or(0, |at| at + 1);
            if draft.role == Role::Assistant && kept < draft.parts.len() {
                draft.parts = draft.parts[..kept].into();
                let id = draft.id;
                self.tell(
                    id,
                    None,
                    "dropped what the model thought, which nothing follows".to_owned(),
                );
            }
        }
    }

    /// A message of a user first, where the model must not begin.
    pub(super) fn begin_with_the_user(&mut self) {
        let is_spoken = |draft: &Draft| matches!(draft.role, Role::User | Role::Assistant);
        let Some(first) = self.drafts.iter().position(is_spoken) else { return };
        let draft = &self.drafts[first];
        if !self.takes_turns() || draft.role == Role::User {
            return;
        }
        self.tell(
            draft.id,
            None,
            "put a user's message before the model's, which was the first".to_owned(),
        );
        let parts = Arc::new([Part::text(BEGINNING)]);
        self.drafts.insert(first, Draft { id: self.next_id, role: Role::User, parts });
        self.next_id += 1;
    }

    /// The messages on the wire that have to become part of the one before.
    pub(super) fn join_roles(&mut self) -> HashSet<usize> {
        let mut joined = HashSet::new();
        if !self.takes_turns() {
            return joined;
        }
        // What is written as one message so far: who speaks, the newest that was a message on the wire, and whether
        // it holds results.
        let (mut of_model, mut newest, mut has_result) = (None, None, false);
        for at in 0..self.drafts.len() {
            let draft = &self.drafts[at];
            let (id, role) = (draft.id, draft.role);
            let piece = self.pieces.get(MessageId(id));
            let wire = piece.and_then(Piece::wire_index);
            if piece.is_some() && wire.is_none() {
                continue;
            }
            let is_of_model = matches!(role, Role::Assistant | Role::System);
            // What a person shows without a word would be taken for a part of the results before it.
            let is_apart = has_result && wire != newest && draft.is_shown_by_a_person();
            if of_model != Some(is_of_model) || is_apart {
                (of_model, newest, has_result) = (Some(is_of_model), None, false);
            }
            if let (Some(before), Some(wire)) = (newest, wire)
                && before + 1 == wire
            {
                joined.insert(wire);
                let what = "joined it with the message before, which is of the same role";
                self.tell(id, None, what.to_owned());
            }
            newest = wire.or(newest);
            has_result |= role == Role::Tool;
        }
        joined
    }

    fn takes_turns(&self) -> bool {
        matches!(self.format, Format::Anthropic | Format::Gemini)
    }
}
