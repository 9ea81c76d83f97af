//! What makes a conversation fit: the ladder, or whatever an application has instead.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use brute_core::{Conversation, Protection, TokenCounter};

use crate::ladder::{
    Budget, Compaction, Compactor, Event, Observers, Outcome, RungReport, RungResult, difference,
};
use crate::summarizers::BoxFuture;

/// A conversation that is to become smaller.
pub struct Task {
    /// The conversation.
    pub conversation: Conversation,
    /// The room there is, measured as the provider measures where that is known.
    pub budget: Budget,
    /// What counts.
    pub counter: Arc<dyn TokenCounter>,
    /// Who is to be told what happens.
    pub observers: Observers,
}

/// Makes conversations fit.
///
/// What comes back is made of the conversation in the task by edits, or is another valid conversation that keeps
/// its ids where it keeps messages.
pub trait Compact: Send + Sync {
    /// Compacts the conversation of `task`, if it can. Dropping the future gives it up.
    fn compact(&self, task: Task) -> BoxFuture<'_, Compaction>;
}

impl Compact for Compactor {
    fn compact(&self, task: Task) -> BoxFuture<'_, Compaction> {
        let compactor = self.clone().with_budget(task.budget).observed(&task.observers);
        Box::pin(async move { compactor.compact_now(task.conversation).await })
    }
}

/// An application's own way to make a conversation fit: a function of a conversation and the tokens that its
/// messages may have.
///
/// Its result is taken if it is smaller and has all that no layer may touch: the instructions, the task, calls
/// that wait for their results. If not, or if it fails, the conversation stays as it was.
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

impl<F, R, E> Compact for Custom<F>
where
    F: Fn(Conversation, u64) -> R + Send + Sync,
    R: Future<Output = Result<Conversation, E>> + Send,
    E: fmt::Display + Send,
{
    fn compact(&self, task: Task) -> BoxFuture<'_, Compaction> {
        Box::pin(async move {
            let begun = Instant::now();
            let made = (self.0)(task.conversation.clone(), task.budget.target()).await;
            let made = made.map_err(|error| error.to_string());
            let made = made.and_then(|made| checked(&task, made));
            compaction(task, made, begun)
        })
    }
}

/// The compaction that took `task` to what was `made` of it, told as a ladder of one rung would be.
fn compaction(task: Task, made: Result<Conversation, String>, begun: Instant) -> Compaction {
    const RUNG: &str = "custom";
    let Task { conversation: start, budget, counter, observers } = task;
    let (duration, target) = (begun.elapsed(), budget.target());
    let before = start.clone().measure(&*counter);
    observers.tell(|| Event::CompactStart { before, target });
    let failure = made.as_ref().err().cloned();
    let mut conversation = made.unwrap_or_else(|_| start.clone());
    let after = conversation.measure(&*counter);
    let over_by = budget.request(after).saturating_sub(budget.request(target));
    let outcome = match (after <= target, &failure) {
        (true, _) => Outcome::Fitted,
        (false, None) => Outcome::Partial { over_by, blockers: Vec::new() },
        (false, Some(_)) => Outcome::Nothing { over_by, blockers: Vec::new() },
    };
    let (removed, added) = difference(&start, &conversation);
    let result = match failure {
        None => RungResult::Applied,
        Some(reason) => RungResult::Failed { reason, summarizer: false },
    };
    let report = RungReport {
        edits: removed.len(),
        before,
        after,
        duration,
        ..RungReport::of(RUNG, result)
    };
    observers.tell(|| match &report.result {
        RungResult::Failed { reason, .. } => {
            Event::LayerFailed { rung: RUNG.into(), error: reason.clone(), size: after, duration }
        }
        _ => {
            Event::LayerApplied { rung: RUNG.into(), before, after, edits: removed.len(), duration }
        }
    });
    let rungs = vec![report];
    let compaction =
        Compaction { conversation, outcome, before, after, rungs, removed, added, duration };
    observers.tell(|| compaction.event());
    compaction
}

/// What was made, if it may take the place of the conversation in `task`.
fn checked(task: &Task, made: Conversation) -> Result<Conversation, String> {
    let counter = &*task.counter;
    let before = &task.conversation;
    let protection = Protection::of(before.messages(), &before.outline(), &[]);
    let kept: HashMap<_, _> =
        made.messages().iter().map(|message| (message.id(), message)).collect();
    let is_lost = |index: &usize| {
        let message = &before.messages()[*index];
        protection.covers(*index) && kept.get(&message.id()) != Some(&message)
    };
    if let Some(lost) = (0..before.len()).find(is_lost) {
        return Err(format!("message {lost}, which no compaction may touch, is not in its result"));
    }
    let (was, is) = (before.clone().measure(counter), made.clone().measure(counter));
    if is >= was {
        return Err(format!("its result is not smaller: {is} tokens of messages, {was} before"));
    }
    Ok(made)
}
