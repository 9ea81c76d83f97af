//! What makes a conversation fit: the ladder, or whatever an application has instead.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use brute_core::{Conversation, Protection, TokenCounter};

use crate::ladder::{
    Budget, Compaction, Compactor, Event, Limit, Observers, Outcome, RungReport, RungResult, Tally,
    difference,
};
use crate::summarizers::BoxFuture;

/// A conversation that is to become smaller.
pub struct Job {
    /// The conversation.
    pub conversation: Conversation,
    /// The room there is, measured as the provider measures where that is known.
    pub budget: Budget,
    /// What counts.
    pub counter: Arc<dyn TokenCounter>,
    /// Tools whose calls and results have to stay.
    pub keep: Arc<[String]>,
    /// What summaries took in this session so far, and where more is added.
    pub spent: Tally,
    /// Who is to be told what happens on the way. How it ended they are told by the guard, once it is committed.
    pub observers: Observers,
}

impl Job {
    /// The tokens that messages may have: fewer than the budget says where bytes are too many, so that the others take
    /// these along.
    fn target(&self, start: &Conversation, tokens: u64, bytes: u64) -> u64 {
        let protection = || Protection::of(start.messages(), &start.outline(), &self.keep);
        self.budget.shown_target(start, tokens, bytes, protection, &*self.counter, 1)
    }
}

/// Makes conversations fit.
///
/// What comes back is made of the conversation of the job: messages that are kept keep their ids and their order,
/// and new ones have ids from [`Conversation::next_id`] on.
pub trait Compact: Send + Sync {
    /// Compacts the conversation of `job`, if it can. Dropping the future gives it up.
    fn compact(&self, job: Job) -> BoxFuture<'_, Compaction>;
}

impl Compact for Compactor {
    fn compact(&self, job: Job) -> BoxFuture<'_, Compaction> {
        let compactor = self.clone().with_budget(job.budget);
        let compactor = compactor.in_session(job.spent).observed(&job.observers);
        Box::pin(async move { compactor.propose(job.conversation).await })
    }
}

/// An application's own way to make a conversation fit: a function of a conversation and the tokens that its
/// messages may have.
///
/// Its result is taken if it is smaller, has all that no layer may touch (the instructions, the task, calls that
/// wait for their results, tools named in `[keep]`) and is made of what was there, as [`Compact`] says. If not, or if
/// it fails, the conversation stays as it was. A panic in it is the caller's, who finds the conversation as it was.
pub struct Custom<F>(F);

impl<F, R, E> Custom<F>
where
    F: Fn(Conversation, u64) -> R + Send + Sync,
    R: Future<Output = Result<Conversation, E>> + Send,
    E: fmt::Display,
{
    /// Takes `compact` for a compactor.
    pub fn new(compact: F) -> Self {
        Self(compact)
    }
}

/// How reports and events call what is in the place of the ladder.
const RUNG: &str = "custom";

impl<F, R, E> Compact for Custom<F>
where
    F: Fn(Conversation, u64) -> R + Send + Sync,
    R: Future<Output = Result<Conversation, E>> + Send,
    E: fmt::Display + Send,
{
    fn compact(&self, job: Job) -> BoxFuture<'_, Compaction> {
        Box::pin(async move {
            let begun = Instant::now();
            let mut start = job.conversation.clone();
            let (before, target) = (start.measure(&*job.counter), job.budget.target());
            let bytes = job.budget.bytes(&mut start);
            let limit = job.budget.exceeded(before, bytes).unwrap_or(Limit::Tokens);
            let anchor = job.budget.anchor();
            job.observers.tell(|| Event::CompactStart { before, target, limit, anchor });
            let target = job.target(&start, before, bytes);
            job.observers.tell(|| Event::LayerStart { rung: RUNG.into() });
            let made = (self.0)(start, target).await.map_err(|error| error.to_string());
            compaction(&job, before, made.and_then(|made| checked(&job, before, made)), begun)
        })
    }
}

/// What came of `job`, told as a ladder of one rung would.
fn compaction(
    job: &Job,
    before: u64,
    made: Result<Conversation, String>,
    begun: Instant,
) -> Compaction {
    let start = &job.conversation;
    let (result, mut conversation) = match made {
        Ok(made) => (RungResult::Applied, made),
        Err(reason) => (RungResult::Failed { reason, summarizer: false }, start.clone()),
    };
    let after = conversation.measure(&*job.counter);
    let (removed, added) = difference(start, &conversation);
    let budget = job.budget;
    let [bytes_before, bytes] =
        [&mut start.clone(), &mut conversation].map(|conversation| budget.bytes(conversation));
    let wire = budget.wire_change(bytes_before, bytes);
    let outcome = Outcome::of(&budget, after, bytes, !removed.is_empty(), Vec::new());
    let (duration, edits) = (begun.elapsed(), removed.len());
    job.observers.tell(|| match &result {
        RungResult::Failed { reason, .. } => {
            Event::LayerFailed { rung: RUNG.into(), error: reason.clone(), size: after, duration }
        }
        _ => Event::LayerApplied { rung: RUNG.into(), before, after, edits, duration },
    });
    let report = RungReport { edits, before, after, duration, ..RungReport::of(RUNG, result) };
    let rungs = vec![report];
    Compaction {
        conversation,
        outcome,
        before,
        after,
        wire,
        budget,
        rungs,
        removed,
        added,
        duration,
        is_stopped: false,
    }
}

/// What was made, if it may take the place of the conversation of `job`, which is `before` tokens.
fn checked(job: &Job, before: u64, made: Conversation) -> Result<Conversation, String> {
    let start = &job.conversation;
    let protection = Protection::of(start.messages(), &start.outline(), &job.keep);
    let places: HashMap<_, _> =
        start.messages().iter().enumerate().map(|(place, message)| (message.id(), place)).collect();
    let mut kept = vec![false; start.len()];
    let mut past = None;
    for message in made.messages() {
        let id = message.id();
        match places.get(&id) {
            Some(place) if past >= Some(*place) => {
                return Err(format!("message {place} is not where it was among the others"));
            }
            Some(place) => {
                past = Some(*place);
                kept[*place] = start.messages()[*place] == *message;
            }
            None if id < start.next_id() => {
                return Err(format!("a new message has the id {}, which is not free", id.0));
            }
            None => {}
        }
    }
    let is_lost = |place: &usize| protection.covers(*place) && !kept[*place];
    if let Some(lost) = (0..start.len()).find(is_lost) {
        return Err(format!("message {lost}, which no compaction may touch, is not in its result"));
    }
    let after = made.clone().measure(&*job.counter);
    if after >= before {
        return Err(format!(
            "its result is not smaller: {after} tokens of messages, {before} before"
        ));
    }
    Ok(made)
}
