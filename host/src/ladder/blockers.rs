//! What stands in the way of a conversation that does not fit, and what can be done about it.

use std::cmp::Reverse;
use std::ops::Range;

use brute_core::{Conversation, MarkKind, Message, Outline, Part, Protection, Role, TokenCounter};

use super::{Blocker, BlockerKind, Limit, RungReport, RungResult, WireRoom};

/// What the ladder could have given up, had it been allowed to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ladder {
    /// What its rungs that give up turns and steps came to; none if it has no such rung.
    gives_up: Option<Ran>,
    /// Whether it has a rung that combines summaries.
    summarizes: bool,
    /// Whether `[keep]` names a tool.
    keeps: bool,
}

/// Whether one of several rungs did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ran {
    /// One did.
    Yes,
    /// None did, and one had a summarizer whose budget is used up.
    OutOfBudget,
    /// All failed or were not asked.
    No,
}

impl Ladder {
    /// The ladder of these rungs. A rung gives up turns if it is one of the layers that do, or if
    /// `gave_up`: one of them did.
    pub(super) fn of(rungs: &[RungReport], gave_up: bool, keeps: bool) -> Self {
        let named = |name: &'static str| rungs.iter().filter(move |rung| rung.rung == name);
        let mut giving = named("sliding-window").chain(named("summarize")).peekable();
        let is_there = giving.peek().is_some();
        let ran =
            giving.any(|rung| matches!(rung.result, RungResult::Applied | RungResult::Declined));
        let is_out_of_budget =
            |rung: &RungReport| matches!(rung.result, RungResult::OutOfBudget { .. });
        let gives_up = match (ran, rungs.iter().any(is_out_of_budget)) {
            (true, _) => Some(Ran::Yes),
            (false, true) => Some(Ran::OutOfBudget),
            (false, false) if gave_up => Some(Ran::Yes),
            (false, false) => is_there.then_some(Ran::No),
        };
        Self { gives_up, summarizes: named("summarize").next().is_some(), keeps }
    }

    /// What can be done about what stands in the way. `steps` of them are in it, with `results`.
    fn advice(self, kind: BlockerKind, steps: usize, results: bool) -> &'static str {
        const ADD: &str = "add `sliding-window` or `summarize` to the ladder";
        const DID_NOT_RUN: &str =
            "the rungs that give up turns and steps failed or were not asked: see to that";
        match kind {
            BlockerKind::Protected if !self.keeps => {
                "wait for the results of the calls, or use a larger window"
            }
            BlockerKind::Summaries if !self.summarizes => {
                "add `summarize` to the ladder, which combines them"
            }
            BlockerKind::NewestSteps | BlockerKind::History
                if self.gives_up == Some(Ran::OutOfBudget)
                    && (kind == BlockerKind::History || steps > 1) =>
            {
                "the summarizer's budget is used up: raise `[summarizer.budget]`, or add `sliding-window` to the ladder"
            }
            BlockerKind::NewestSteps if steps > 1 => match (self.gives_up, results) {
                (Some(Ran::Yes), true) => "lower `keep-steps`, or cap tool results by `[truncate]`",
                (Some(Ran::Yes), false) => "lower `keep-steps`",
                (Some(Ran::No | Ran::OutOfBudget), _) => DID_NOT_RUN,
                (None, true) => {
                    "add `sliding-window` or `summarize` to the ladder, or cap tool results by \
                     `[truncate]`"
                }
                (None, false) => ADD,
            },
            BlockerKind::NewestSteps if results => "cap tool results by `[truncate]`",
            BlockerKind::NewestSteps => "the newest step always stays: use a larger window",
            BlockerKind::History => match self.gives_up {
                Some(Ran::Yes) => "lower `keep-steps`, or use a larger window",
                Some(Ran::No | Ran::OutOfBudget) => DID_NOT_RUN,
                None => ADD,
            },
            _ => kind.advice(),
        }
    }
}

/// A conversation that does not fit.
pub(super) struct TooLarge<'a> {
    pub conversation: &'a Conversation,
    pub outline: &'a Outline,
    pub protection: &'a Protection,
    pub counter: &'a dyn TokenCounter,
    pub overhead: u64,
    /// What it is too large in.
    pub limit: Limit,
    /// The room in bytes, if they are limited.
    pub wire: Option<WireRoom>,
}

impl TooLarge<'_> {
    /// What stands in the way, largest first; what is less than a hundredth of the largest is left out.
    pub(super) fn blockers(&self, ladder: Ladder) -> Vec<Blocker> {
        let mut found: Vec<Found> = Vec::new();
        // Bytes cost a walk over all texts.
        let wire = self.wire.filter(|_| self.limit != Limit::Tokens);
        let around = wire.map_or(0, |room| room.overhead());
        if self.overhead > 0 || around > 0 {
            let (tokens, bytes) = (self.overhead, around);
            found.push(Found { tokens, bytes, ..Found::of(BlockerKind::Overhead) });
        }
        let current =
            self.outline.current().map_or(self.conversation.len(), |turn| turn.span.start);
        // Layers keep the newest steps wherever they are; by default, two.
        let kept = current.min(self.outline.newest_steps(2, false));
        let held: Vec<bool> =
            self.outline.steps.iter().map(|step| self.is_held(step.span.clone())).collect();
        for (index, message) in self.conversation.messages().iter().enumerate() {
            let step = self.outline.step_of(index);
            let is_held = step.and_then(|step| held.get(step)).copied().unwrap_or_default();
            let kind = match message.role() {
                Role::System => BlockerKind::Instructions,
                _ if self.outline.task == Some(index) => BlockerKind::Task,
                _ if is_held || self.protection.covers(index) => BlockerKind::Protected,
                _ => match message.mark().map(|mark| mark.kind) {
                    Some(MarkKind::Summary) => BlockerKind::Summaries,
                    Some(MarkKind::Note) if step.is_none() => BlockerKind::Notes,
                    _ if index < kept => BlockerKind::History,
                    _ if message.role() == Role::User && index >= current => BlockerKind::Requests,
                    _ => BlockerKind::NewestSteps,
                },
            };
            let at = found.iter().position(|found| found.kind == kind).unwrap_or_else(|| {
                found.push(Found::of(kind));
                found.len() - 1
            });
            found[at].add(index, message, step, u64::from(message.tokens(self.counter)));
            if wire.is_some() {
                found[at].bytes += message.wire_bytes();
                let media = message.parts().iter().map(Part::media_bytes);
                found[at].media_bytes += media.sum::<u64>();
            }
        }
        let size = |found: &Found| match self.limit {
            Limit::Bytes => found.bytes,
            _ => found.tokens,
        };
        found.sort_by_key(|found| (Reverse(size(found)), found.kind));
        let least = found.first().map_or(0, |largest| size(largest) / 100);
        found.retain(|found| size(found) >= least);
        found.into_iter().map(|found| found.into_blocker(ladder)).collect()
    }

    /// Whether a step stays for a protected message in it that is no person's.
    fn is_held(&self, mut step: Range<usize>) -> bool {
        step.any(|message| {
            let role = self.conversation.messages().get(message).map(|message| message.role());
            let called = matches!(role, Some(Role::Assistant | Role::Tool));
            called && self.protection.covers(message)
        })
    }
}

/// Messages of one kind, as far as they are gathered.
struct Found {
    kind: BlockerKind,
    messages: Vec<usize>,
    tokens: u64,
    /// Where bytes are too many; those of media among them.
    bytes: u64,
    media_bytes: u64,
    /// How many steps they belong to, and the last of those.
    steps: usize,
    last_step: Option<usize>,
    /// Whether there is a tool result among them.
    results: bool,
}

impl Found {
    fn of(kind: BlockerKind) -> Self {
        Self {
            kind,
            messages: Vec::new(),
            tokens: 0,
            bytes: 0,
            media_bytes: 0,
            steps: 0,
            last_step: None,
            results: false,
        }
    }

    fn add(&mut self, index: usize, message: &Message, step: Option<usize>, tokens: u64) {
        self.messages.push(index);
        self.tokens += tokens;
        self.results |= message.role() == Role::Tool;
        if step.is_some() && step != self.last_step {
            self.steps += 1;
            self.last_step = step;
        }
    }

    fn into_blocker(self, ladder: Ladder) -> Blocker {
        let advice = match self.media_bytes > self.bytes / 2 {
            true => "send smaller images and documents, or links to them",
            false => ladder.advice(self.kind, self.steps, self.results),
        };
        let Self { kind, messages, tokens, bytes, .. } = self;
        Blocker { kind, messages, tokens, bytes, advice }
    }
}
