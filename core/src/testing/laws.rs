//! The laws that every layer keeps, as checks that name the law they found broken.

use std::sync::Arc;

use crate::apply::says_nothing;
use crate::testing::TestHost;
use crate::{
    Approximate, Conversation, Flow, LayerErrorKind, Message, Outline, Protection, Strategy,
    TokenCounter,
};

/// Rounds after which a layer that wants another one is said to loop.
const MOST_ROUNDS: usize = 10_000;

/// Runs `strategy` on `conversation` until it meets `target` or has nothing to give, as a host does,
/// and checks every round.
///
/// # Errors
/// The law that was broken, and how.
pub fn check_strategy(
    strategy: &dyn Strategy,
    host: &TestHost,
    conversation: &Conversation,
    target: u64,
) -> Result<Conversation, String> {
    let mut now = conversation.clone();
    for _ in 0..MOST_ROUNDS {
        if now.measure(&Approximate) <= target {
            return Ok(now);
        }
        let plan = match host.plan(strategy, &now, target) {
            Ok(plan) => plan,
            // A layer whose summarizer fails declines.
            Err(error) if error.kind() == LayerErrorKind::Summarizer => return Ok(now),
            Err(error) => return Err(format!("failed: {error}")),
        };
        if host.plan(strategy, &now, target).as_ref() != Ok(&plan) {
            return Err("deterministic: the same window gave two plans".to_owned());
        }
        if plan.is_empty() {
            return Ok(now);
        }
        let protection = host.protection(&now);
        let applied = host.apply(&now, &plan).map_err(|refusal| format!("refused: {refusal}"))?;
        check_step(&now, &applied.conversation, &protection)?;
        now = applied.conversation;
        if plan.flow != Flow::Again {
            return Ok(now);
        }
    }
    Err(format!("progress: still not done after {MOST_ROUNDS} rounds"))
}

/// Checks what one plan did, or a whole ladder.
///
/// # Errors
/// The law that was broken, and how.
pub fn check_step(
    before: &Conversation,
    after: &Conversation,
    protection: &Protection,
) -> Result<(), String> {
    if let Err(violations) = Outline::of(after.messages()) {
        return Err(format!("valid out: {violations:?}"));
    }
    let size = |conversation: &Conversation| conversation.clone().measure(&Approximate);
    if size(after) >= size(before) && after != before {
        return Err(format!("never larger: {} became {}", size(before), size(after)));
    }
    if after.clone().measure(&Approximate) != recount(after, &Approximate) {
        return Err("figures: the size handed on is not what a fresh count finds".to_owned());
    }
    let kept = |message: &Arc<Message>| {
        after.messages().iter().find(|kept| kept.id() == message.id()).cloned()
    };
    for (index, message) in before.messages().iter().enumerate() {
        if protection.covers(index) && kept(message).as_ref() != Some(message) {
            return Err(format!("protected pieces come out equal: message {index} did not"));
        }
        let is_blanked = |kept: Arc<Message>| says_nothing(kept.parts());
        if !says_nothing(message.parts()) && kept(message).is_some_and(is_blanked) {
            return Err(format!("no blank content: message {index} says nothing any more"));
        }
    }
    let place = |message: &Arc<Message>| {
        before.messages().iter().position(|earlier| earlier.id() == message.id())
    };
    let places: Vec<usize> = after.messages().iter().filter_map(place).collect();
    if !places.is_sorted() {
        return Err("order: kept messages changed their order".to_owned());
    }
    Ok(())
}

/// The size of `conversation` by a count of its own, whatever is known of its size already.
pub fn recount(conversation: &Conversation, counter: &dyn TokenCounter) -> u64 {
    let fresh = |message: &Arc<Message>| message.uncounted().tokens(counter);
    conversation.messages().iter().map(|message| u64::from(fresh(message))).sum()
}
