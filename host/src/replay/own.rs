//! What a session's own agent did to it: its compactions as the log tells them, and the sizes that its provider
//! reported.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use brute_core::{Conversation, Message, MessageId, Outline, Part, Role, TokenCounter, ToolResult};
use serde::Serialize;

use super::fates::Fates;
use super::figures::{Call, Compacted, Run};
use super::names::{Name, Names};
use super::recall::Recall;
use super::walk::LEAST_CACHED;
use crate::ladder::{Anchor, Budget, Gauge};

/// A compaction that the session's own agent made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnCompaction {
    /// The recorded message before which it happened, from 0.
    pub at: usize,
    /// How large the context was before, in tokens, by the log's word.
    pub tokens_before: Option<u64>,
    /// The recorded messages that it took, in order.
    pub took: Vec<usize>,
    /// The summary that it left in their place, if it did.
    pub summary: Option<String>,
    /// The calls whose results it cleared.
    pub cleared: Vec<String>,
    /// What stands in the place of these.
    pub placeholder: String,
}

/// What is known of a session beside its messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Own {
    /// The compactions of its agent, oldest first.
    pub compactions: Vec<OwnCompaction>,
    /// What the provider counted for a request and its reply, with how many recorded messages were there then.
    pub reports: Vec<(usize, u64)>,
}

/// What the log says of the size before a compaction, and what a replay finds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reproduced {
    /// The recorded message before which the compaction happened, from 0.
    pub message: usize,
    /// The tokens before, by the log.
    pub log: u64,
    /// The same by the counter: all messages in the context, tool schemas and framing, as far as the log has them.
    pub counted: u64,
    /// The same anchored on the newest usage that the log reports before; none where it reports none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchored: Option<u64>,
}

/// What a message of the context is.
#[derive(Debug, Clone)]
struct Piece {
    /// What tells it from all others: the place of a recorded message, or a number behind these.
    id: usize,
    /// The place of the recorded message that it is, whole or cleared; none for a summary.
    place: Option<usize>,
    /// What a compaction made; none for a recorded message, as it was recorded.
    made: Option<Arc<Message>>,
    tokens: u64,
    names: Arc<[Name]>,
}

/// The walk through a session with the compactions of its own agent.
#[derive(Debug, Default)]
pub(super) struct OwnWalk {
    pub(super) run: Run,
    /// How sizes go by the reports of the log, with how many recorded messages were there at each.
    pub(super) anchors: Vec<(usize, Anchor)>,
    pub(super) reproduced: Vec<Reproduced>,
}

/// The newest anchor that was known with `messages` recorded messages.
pub(super) fn anchor_at(anchors: &[(usize, Anchor)], messages: usize) -> Option<Anchor> {
    let known = anchors.partition_point(|(then, _)| *then <= messages);
    Some(anchors[known.checked_sub(1)?].1)
}

/// `budget` as it measures with `messages` recorded messages.
pub(super) fn budget_at(budget: Budget, anchors: &[(usize, Anchor)], messages: usize) -> Budget {
    anchor_at(anchors, messages).map_or(budget, |anchor| budget.anchored(anchor))
}

impl OwnWalk {
    /// Walks through `recorded` as its agent had it, nothing capped. Sizes are counted, or go by the reports where
    /// `is_anchored`. What became of each message is told where `is_traced`.
    pub(super) fn of(
        recorded: &Conversation,
        names: &Names,
        own: &Own,
        budget: &Budget,
        counter: &dyn TokenCounter,
        is_anchored: bool,
        is_traced: bool,
    ) -> Self {
        let mut walk = Self::default();
        let mut fates = Fates::default();
        let mut gauge = Gauge::default();
        let mut next_made = recorded.len();
        let (mut context, mut last): (Vec<Piece>, Vec<Piece>) = (Vec::new(), Vec::new());
        let mut compactions = own.compactions.iter().peekable();
        let mut reports = own.reports.iter().peekable();
        let count = |pieces: &[Piece]| pieces.iter().map(|piece| piece.tokens).sum::<u64>();
        for next in 0..=recorded.len() {
            while let Some((_, reported)) = reports.next_if(|(messages, _)| *messages <= next) {
                gauge.observe(*reported, count(&context));
                walk.anchors.extend(gauge.anchor().map(|anchor| (next, anchor)));
            }
            let measured = |is_anchored: bool| match gauge.anchor().filter(|_| is_anchored) {
                Some(anchor) => budget.anchored(anchor),
                None => *budget,
            };
            while let Some(compaction) = compactions.next_if(|one| one.at <= next) {
                let before = count(&context);
                if let Some(log) = compaction.tokens_before {
                    walk.reproduced.push(Reproduced {
                        message: next,
                        log,
                        counted: budget.request(before),
                        anchored: gauge.anchor().map(|anchor| anchor.request(before)),
                    });
                }
                let (gone, new) =
                    compact(&mut context, compaction, recorded, names, counter, &mut next_made);
                if is_traced {
                    trace(&mut fates, compaction, &context);
                }
                if gone == 0 {
                    continue;
                }
                let needed = names.needed(next, &always_kept(recorded, next));
                let there: HashSet<Name> =
                    context.iter().flat_map(|piece| piece.names.iter().copied()).collect();
                walk.run.compactions.push(Compacted {
                    message: next,
                    before: measured(is_anchored).request(before),
                    after: measured(is_anchored).request(count(&context)),
                    // What it aimed for is not known.
                    fits: true,
                    gone,
                    new,
                    recall: Recall::of(&needed, &there, &HashSet::new()),
                    rungs: Vec::new(),
                    became: fates.changed(),
                    violations: Vec::new(),
                    failing: None,
                });
            }
            let Some(message) = recorded.messages().get(next) else { break };
            if message.role() == Role::Assistant && !context.is_empty() {
                let budget = measured(is_anchored);
                let size = budget.request(count(&context));
                let same =
                    context.iter().zip(&last).take_while(|(now, before)| now.id == before.id);
                let common = same.map(|(piece, _)| piece.tokens).sum::<u64>();
                let common = if last.is_empty() { 0 } else { budget.request(common).min(size) };
                walk.run.calls.push(Call {
                    message: next,
                    size,
                    cached: if common < LEAST_CACHED { 0 } else { common },
                    is_over: size > budget.usable(),
                });
                last.clone_from(&context);
            }
            if is_traced {
                fates.push(Some(message), message);
            }
            context.push(Piece {
                id: next,
                place: Some(next),
                made: None,
                tokens: u64::from(message.tokens(counter)),
                names: Arc::clone(names.at(next)),
            });
        }
        walk
    }
}

/// Does to the context what `compaction` did; how many messages went or were changed, and how many came.
fn compact(
    context: &mut Vec<Piece>,
    compaction: &OwnCompaction,
    recorded: &Conversation,
    names: &Names,
    counter: &dyn TokenCounter,
    next_made: &mut usize,
) -> (usize, usize) {
    let mut made = |place: Option<usize>, role: Role, part: Part| {
        let message = Message::new(MessageId(0), role, [part]);
        *next_made += 1;
        Piece {
            id: *next_made,
            place,
            tokens: u64::from(message.tokens(counter)),
            names: names.in_message(&message),
            made: Some(Arc::new(message)),
        }
    };
    let cleared: HashSet<&str> = compaction.cleared.iter().map(String::as_str).collect();
    let (mut gone, mut new) = (0, 0);
    for piece in &mut *context {
        let message = recorded.messages().get(piece.id).filter(|_| piece.made.is_none());
        let Some((_, result)) = message.and_then(|message| message.result()) else { continue };
        if cleared.contains(&*result.call) {
            let text = compaction.placeholder.clone();
            let result = ToolResult { text: text.into(), media: Box::default(), ..result.clone() };
            *piece = made(piece.place, Role::Tool, Part::ToolResult(result));
            (gone, new) = (gone + 1, new + 1);
        }
    }
    let first = context.iter().position(|piece| is_taken(piece, compaction));
    let Some(first) = first else { return (gone, new) };
    let before = context.len();
    // What an earlier compaction left goes with what it stood before.
    let last = context.iter().rposition(|piece| is_taken(piece, compaction)).unwrap_or(first);
    let mut at = 0;
    context.retain(|piece| {
        let goes = is_taken(piece, compaction) || (piece.made.is_some() && at <= last);
        at += 1;
        !goes
    });
    gone += before - context.len();
    if let Some(summary) = &compaction.summary {
        let summary = made(None, Role::User, Part::text(summary.clone()));
        context.insert(first.min(context.len()), summary);
        new += 1;
    }
    (gone, new)
}

/// What became of the recorded messages once `compaction` left `context`.
fn trace(fates: &mut Fates, compaction: &OwnCompaction, context: &[Piece]) {
    let there: HashMap<usize, Option<&Arc<Message>>> =
        context.iter().filter_map(|piece| Some((piece.place?, piece.made.as_ref()))).collect();
    let summaries: Vec<&Arc<Message>> = (context.iter().filter(|piece| piece.place.is_none()))
        .filter_map(|piece| piece.made.as_ref())
        .collect();
    let newest = context.iter().filter(|piece| piece.place.is_none()).max_by_key(|piece| piece.id);
    let newest = newest.filter(|_| compaction.summary.is_some());
    fates.left(&there, &summaries, newest.and_then(|piece| piece.made.as_ref()));
}

fn is_taken(piece: &Piece, compaction: &OwnCompaction) -> bool {
    piece.place.is_some_and(|place| compaction.took.binary_search(&place).is_ok())
}

/// The recorded messages that no ladder gives up at this point.
pub(super) fn always_kept(recorded: &Conversation, next: usize) -> Vec<usize> {
    // A record that is no conversation up to here has no step or task to know.
    let outline = Outline::of(&recorded.messages()[..next]);
    outline.map_or_else(|_| Vec::new(), |outline| Names::always_kept(&outline, next))
}
