//! The smallest conversation that shows a fault.

use std::ops::Range;

use brute_core::{Conversation, Message};

use super::descent::Rungs;
use super::laws::{self, Law};
use crate::ladder::Budget;

/// A conversation that still breaks `law`, with as few messages as leaving out stretches of halving length comes to:
/// delta debugging, after Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002).
pub(super) async fn shrunk(failing: &Conversation, rungs: &Rungs, law: Law) -> Conversation {
    // What has few messages is under any target but the least.
    let given = rungs.ladder().budget();
    let Ok(budget) = Budget::new(given.window(), 0, 2, 1) else { return failing.clone() };
    let mut smallest = failing.clone();
    if !breaks(&smallest, rungs, budget, law).await {
        return smallest;
    }
    let mut stretch = pieces(&smallest).len().div_ceil(2);
    while stretch > 0 {
        let mut at = 0;
        let mut is_smaller = false;
        loop {
            let pieces = pieces(&smallest);
            if at >= pieces.len() {
                break;
            }
            let left_out = at..(at + stretch).min(pieces.len());
            match without(&smallest, &pieces, &left_out) {
                Some(less) if breaks(&less, rungs, budget, law).await => {
                    smallest = less;
                    is_smaller = true;
                }
                _ => at = left_out.end,
            }
        }
        if !is_smaller || stretch > 1 {
            stretch /= 2;
        }
    }
    smallest
}

async fn breaks(conversation: &Conversation, rungs: &Rungs, budget: Budget, law: Law) -> bool {
    let descents = rungs.descend(conversation, budget, vec![0]).await;
    let twins = rungs.descend(conversation, budget, vec![0]).await;
    let outline = conversation.outline();
    descents.iter().zip(&twins).any(|(descended, twin)| {
        let found = laws::check(conversation, &outline, descended, Some(twin), rungs.ladder());
        found.iter().any(|violation| violation.law == law)
    })
}

/// Steps, and the messages between them: what can go by itself.
fn pieces(conversation: &Conversation) -> Vec<Range<usize>> {
    let outline = conversation.outline();
    let mut pieces: Vec<Range<usize>> =
        outline.steps.iter().map(|step| step.span.clone()).collect();
    let is_free = |message: &usize| !outline.steps.iter().any(|step| step.span.contains(message));
    pieces.extend((0..conversation.len()).filter(is_free).map(|message| message..message + 1));
    pieces.sort_by_key(|piece| piece.start);
    pieces
}

fn without(
    conversation: &Conversation,
    pieces: &[Range<usize>],
    left_out: &Range<usize>,
) -> Option<Conversation> {
    let kept = pieces.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
    let messages = kept.flat_map(|(_, piece)| &conversation.messages()[piece.clone()]);
    let messages: Vec<Message> = messages.map(|message| Message::clone(message)).collect();
    Conversation::new(messages).ok().filter(|less| !less.is_empty())
}
