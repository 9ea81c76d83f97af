//! What became of recorded messages: which are still there as they were, and what stands in place of the others.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use brute_core::{Conversation, MarkKind, Message, MessageId};
use serde::Serialize;

/// What became of a recorded message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// It is there as it was.
    Kept,
    /// It is there, with less in it.
    Shrunk,
    /// It is not there, nor does a summary say what was in it.
    Gone,
    /// It is not there, but a summary that was made of it is.
    Summarized,
}

/// Recorded messages in a row that the same became of.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Became {
    /// The first of them, from 0.
    pub first: usize,
    /// The last of them.
    pub last: usize,
    /// What became of them.
    pub fate: Fate,
    /// The rung that did it, as its place in the order from 0; none for level one and for the session's own agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rung: Option<usize>,
    /// What stands in their place: the message with less in it, the summary, or the note that tells of their removal.
    #[serde(skip)]
    pub now: Option<Arc<Message>>,
}

/// What became so far of each message of a session.
///
/// ```
/// use brute_host::core::{Conversation, Part, Role};
/// use brute_host::replay::{Fate, Fates};
///
/// let mut conversation = Conversation::default();
/// for text in ["Why?", "Because.", "And now?"] {
///     let role = if text == "Because." { Role::Assistant } else { Role::User };
///     conversation.push(role, [Part::text(text)])?;
/// }
/// let mut fates = Fates::of(&conversation);
/// assert!(fates.changed().is_empty());
///
/// let rest: Vec<_> = conversation.messages()[2..].iter().map(|message| (**message).clone()).collect();
/// fates.settle(&Conversation::new(rest)?, Some(0));
/// let became = &fates.changed()[0];
/// assert_eq!((became.first, became.last, became.fate), (0, 1, Fate::Gone));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Fates(Vec<State>);

#[derive(Debug, Clone)]
struct State {
    id: MessageId,
    fate: Fate,
    rung: Option<usize>,
    now: Option<Arc<Message>>,
}

impl State {
    fn is_there(&self) -> bool {
        matches!(self.fate, Fate::Kept | Fate::Shrunk)
    }
}

impl Fates {
    /// The messages of `conversation`, all of them kept.
    pub fn of(conversation: &Conversation) -> Self {
        let mut fates = Self::default();
        for message in conversation.messages() {
            fates.push(Some(message), message);
        }
        fates
    }

    /// The next recorded message, and what level one made of it; none where it did not fit in.
    pub(super) fn push(&mut self, now: Option<&Arc<Message>>, recorded: &Message) {
        let fate = match now {
            None => Fate::Gone,
            Some(now) if now.parts() == recorded.parts() => Fate::Kept,
            Some(_) => Fate::Shrunk,
        };
        let id = now.map_or(recorded.id(), |now| now.id());
        self.0.push(State { id, fate, rung: None, now: now.cloned() });
    }

    /// What became of them once `rung` made `after` of the conversation that they are in.
    pub fn settle(&mut self, after: &Conversation, rung: Option<usize>) {
        let places: HashMap<MessageId, usize> =
            after.messages().iter().zip(0..).map(|(message, at)| (message.id(), at)).collect();
        let earlier = self.produced();
        let recorded: HashSet<MessageId> = self.0.iter().map(|state| state.id).collect();
        let is_new = |message: &Arc<Message>| {
            !recorded.contains(&message.id()) && !earlier.contains(&message.id())
        };
        let new: Vec<(usize, MarkKind, &Arc<Message>)> = (after.messages().iter().enumerate())
            .filter(|(_, message)| is_new(message))
            .filter_map(|(at, message)| Some((at, message.mark()?.kind, message)))
            .collect();
        let marked = |places: Range<usize>, kind: MarkKind| {
            let fits = |(at, its, _): &&(usize, MarkKind, &Arc<Message>)| {
                places.contains(at) && *its == kind
            };
            new.iter().rev().find(fits).map(|(_, _, message)| Arc::clone(message))
        };
        let mut next_there = after.len();
        let mut ends = vec![0; self.0.len()];
        for (end, state) in ends.iter_mut().zip(&self.0).rev() {
            *end = next_there;
            next_there = places.get(&state.id).copied().unwrap_or(next_there);
        }
        let mut begin = 0;
        for (state, end) in self.0.iter_mut().zip(ends) {
            if let Some(at) = places.get(&state.id).filter(|_| state.is_there()) {
                begin = at + 1;
                let message = &after.messages()[*at];
                if state.now.as_ref() != Some(message) {
                    (state.fate, state.rung) = (Fate::Shrunk, rung);
                    state.now = Some(Arc::clone(message));
                }
                continue;
            }
            let stands = state.now.as_ref().and_then(|now| places.get(&now.id()));
            if let Some(at) = stands.filter(|_| !state.is_there()) {
                state.now = Some(Arc::clone(&after.messages()[*at]));
                continue;
            }
            let note = marked(begin..end, MarkKind::Note);
            if state.fate == Fate::Gone {
                state.now = note;
                continue;
            }
            // A summary that goes on an earlier one may stand where that did.
            let summary =
                marked(begin..end, MarkKind::Summary).or_else(|| marked(0..end, MarkKind::Summary));
            state.rung = rung;
            (state.fate, state.now) = match summary {
                Some(summary) => (Fate::Summarized, Some(summary)),
                None => (Fate::Gone, note),
            };
        }
    }

    /// What became of them once a compaction left `there`, by their places, each with what is left of it if that is
    /// less, and `summaries`, of which `newest` is of this compaction. For those whose texts bear no marks.
    pub(super) fn left(
        &mut self,
        there: &HashMap<usize, Option<&Arc<Message>>>,
        summaries: &[&Arc<Message>],
        newest: Option<&Arc<Message>>,
    ) {
        for (at, state) in self.0.iter_mut().enumerate() {
            let still = |now: &Arc<Message>| summaries.iter().any(|one| Arc::ptr_eq(one, now));
            match there.get(&at) {
                Some(None) => {}
                Some(Some(less)) => {
                    state.fate = Fate::Shrunk;
                    state.now = Some(Arc::clone(less));
                }
                None if state.fate == Fate::Gone => {}
                None if !state.is_there() && state.now.as_ref().is_some_and(still) => {}
                None => {
                    state.fate = newest.map_or(Fate::Gone, |_| Fate::Summarized);
                    state.now = newest.cloned();
                }
            }
        }
    }

    /// What stands in place of recorded messages.
    fn produced(&self) -> HashSet<MessageId> {
        let absent = self.0.iter().filter(|state| !state.is_there());
        absent.filter_map(|state| Some(state.now.as_ref()?.id())).collect()
    }

    /// All that are not as they were, in order.
    pub fn changed(&self) -> Vec<Became> {
        let mut changed: Vec<Became> = Vec::new();
        for (at, state) in self.0.iter().enumerate().filter(|(_, state)| state.fate != Fate::Kept) {
            let (fate, rung, now) = (state.fate, state.rung, state.now.as_ref());
            let goes_on = |last: &&mut Became| {
                let is_same = match (&last.now, now) {
                    (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                    (one, other) => one.is_none() && other.is_none(),
                };
                last.last + 1 == at && (last.fate, last.rung) == (fate, rung) && is_same
            };
            match changed.last_mut().filter(goes_on) {
                Some(last) => last.last = at,
                None => changed.push(Became { first: at, last: at, fate, rung, now: now.cloned() }),
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use brute_core::{Mark, Part, Role};

    use super::*;

    fn message(id: u64, text: &str) -> Message {
        let role = if id % 2 == 1 { Role::Assistant } else { Role::User };
        Message::new(MessageId(id), role, [Part::text(text)])
    }

    fn conversation(messages: &[(u64, &str)]) -> Conversation {
        let messages = messages.iter().map(|(id, text)| message(*id, text));
        Conversation::new(messages).unwrap()
    }

    /// `0-3 gone by 1: [brute:note…`, a line each.
    fn told(fates: &Fates) -> Vec<String> {
        let told = fates.changed().into_iter().map(|became| {
            let now = became.now.map_or("nothing".to_owned(), |now| {
                now.parts()[0].texts().next().unwrap_or_default().to_owned()
            });
            let now = Mark::split(&now).map_or(now.as_str(), |(_, body)| body);
            let rung = became.rung.map_or("-".into(), |rung| rung.to_string());
            format!("{}-{} {:?} {rung}: {now}", became.first, became.last, became.fate)
        });
        told.collect()
    }

    #[test]
    fn what_became_of_a_message_is_told_by_ids_and_marks() {
        let mark = |kind, body: &str| Mark { kind, count: 2 }.write(body);
        let said = [(0, "a"), (1, "b"), (2, "c"), (3, "d"), (4, "e"), (5, "f"), (6, "g")];
        let (note, summary) = (mark(MarkKind::Note, "2 went"), mark(MarkKind::Summary, "b, c"));
        let more = mark(MarkKind::Summary, "b, c, d");
        let mut fates = Fates::of(&conversation(&said));
        assert_eq!(told(&fates), [""; 0]);

        let shrunk = [(0, "a"), (1, "b"), (2, "-"), (3, "d"), (4, "e"), (5, "f"), (6, "g")];
        fates.settle(&conversation(&shrunk), Some(0));
        assert_eq!(told(&fates), ["2-2 Shrunk 0: -"]);

        fates.settle(
            &conversation(&[(10, &note), (2, "-"), (3, "d"), (4, "e"), (5, "f"), (6, "g")]),
            Some(1),
        );
        assert_eq!(told(&fates), ["0-1 Gone 1: 2 went", "2-2 Shrunk 0: -"]);

        // Next to what was dropped before, a summary says nothing of it.
        let summarized = [(10, note.as_str()), (12, &summary), (5, "f"), (6, "g")];
        fates.settle(&conversation(&summarized), Some(2));
        assert_eq!(told(&fates), ["0-1 Gone 1: 2 went", "2-4 Summarized 2: b, c"]);

        // A summary of a summary still says it, in place of the note, too.
        fates.settle(&conversation(&[(14, &more), (6, "g")]), Some(2));
        assert_eq!(told(&fates), ["0-1 Gone 1: nothing", "2-5 Summarized 2: b, c, d"]);

        // A summary that goes takes what it said with it.
        fates.settle(&conversation(&[(16, &note), (6, "g")]), Some(1));
        assert_eq!(told(&fates), ["0-5 Gone 1: 2 went"]);
    }

    #[test]
    fn level_one_shrinks_what_it_cuts() {
        let (long, short) = (message(0, "long"), Arc::new(message(0, "l")));
        let mut fates = Fates::default();
        fates.push(Some(&short), &long);
        fates.push(None, &message(1, "no place"));
        assert_eq!(told(&fates), ["0-0 Shrunk -: l", "1-1 Gone -: nothing"]);
    }
}
