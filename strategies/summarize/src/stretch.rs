//! What a round gives up: the smallest stretch that would meet the target, in four tiers.

use std::ops::Range;

use brute_core::{MarkKind, Window};

/// The shortest answer that is worth asking for, in tokens: below that, five sections say nothing.
pub(crate) const LEAST_ANSWER: u64 = 64;

/// A piece of a conversation that is given up whole: a step, or a message outside of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Its messages.
    pub span: Range<usize>,
    /// Their size.
    pub tokens: u64,
    /// Whether a stretch had better end behind it: a turn is over, or there is only one kind of unit.
    pub ends: bool,
    /// Whether it says anything that could be summarized; a note does not.
    pub speaks: bool,
}

/// What an answer may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The longest answer that may be asked for.
    pub most: u64,
    /// What a summary costs beside the answer: mark, introduction, framing.
    pub overhead: u64,
    /// The framing among that.
    pub framing: u64,
}

impl Terms {
    /// How long the summary of so many tokens may be. Half of what it replaces: a summary that saves
    /// less is not worth the call.
    pub(crate) fn answer_for(&self, gone: u64) -> u64 {
        (gone.saturating_sub(self.overhead) / 2).min(self.most)
    }

    /// Whether so many tokens can be replaced by a summary that says something.
    pub(crate) fn pays(&self, gone: u64) -> bool {
        self.answer_for(gone) >= LEAST_ANSWER
    }
}

/// Units to summarize together, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub units: Vec<Unit>,
    /// Fewer make no sense: one summary alone has been summarized.
    pub at_least: usize,
}

impl Stretch {
    /// The stretch of the first tier that has one, as short as the target allows.
    pub(crate) fn choose(window: &Window<'_>, keep_steps: usize, terms: &Terms) -> Option<Self> {
        let regions = Regions::of(window, keep_steps);
        let turns = || regions.complete_turns(window);
        let old_summaries = || summaries(window, 0..regions.task.start);
        let steps = || regions.task_steps(window);
        let summaries = || summaries(window, regions.task.clone());
        shortest(window, terms, turns(), 1)
            .or_else(|| shortest(window, terms, old_summaries(), 2))
            .or_else(|| shortest(window, terms, steps(), 1))
            .or_else(|| shortest(window, terms, summaries(), 2))
    }
}

/// The shortest prefix of `units` whose summary would meet the target; if none does, the longest that
/// pays.
fn shortest(
    window: &Window<'_>,
    terms: &Terms,
    mut units: Vec<Unit>,
    at_least: usize,
) -> Option<Stretch> {
    let sizes = window.sizes();
    let (mut gone, mut speaks, mut taken) = (0, false, None);
    for (index, unit) in units.iter().enumerate() {
        gone += unit.tokens;
        speaks |= unit.speaks;
        if !unit.ends || !speaks || index + 1 < at_least || !terms.pays(gone) {
            continue;
        }
        taken = Some(index + 1);
        let left = sizes.used.saturating_sub(gone) + terms.overhead + terms.answer_for(gone);
        if left <= sizes.target {
            break;
        }
    }
    units.truncate(taken?);
    Some(Stretch { units, at_least })
}

/// Where history ends and the task begins.
struct Regions {
    /// How many turns are over and lie wholly before the newest steps.
    complete: usize,
    /// From there to the newest steps: the task, or what is left of the turn that the newest steps
    /// reach into.
    task: Range<usize>,
}

impl Regions {
    fn of(window: &Window<'_>, keep_steps: usize) -> Self {
        let outline = window.outline();
        let kept = outline.newest_steps(keep_steps, false);
        let complete = outline.history().iter().take_while(|turn| turn.span.end <= kept).count();
        let task = match outline.turns.get(complete) {
            Some(turn) => turn.span.start.min(kept)..turn.span.end.min(kept),
            None => kept..kept,
        };
        Self { complete, task }
    }

    fn complete_turns(&self, window: &Window<'_>) -> Vec<Unit> {
        let turns = &window.outline().turns[..self.complete];
        let mut units = Vec::new();
        for turn in turns {
            let before = units.len();
            for run in window.free_runs(turn.span.clone()) {
                units_in(window, run, &mut units);
            }
            if let Some(last) = units[before..].last_mut() {
                last.ends = true;
            }
        }
        units
    }

    /// All but what a person said: that stays as long as the steps that answer it.
    fn task_steps(&self, window: &Window<'_>) -> Vec<Unit> {
        let mut units = Vec::new();
        for run in window.free_runs(self.task.clone()) {
            units_in(window, run, &mut units);
        }
        units.retain(|unit| !is_request(window, unit));
        for unit in &mut units {
            unit.ends = true;
        }
        units
    }
}

fn is_request(window: &Window<'_>, unit: &Unit) -> bool {
    let outside = window.outline().step_of(unit.span.start).is_none();
    outside && window.get(unit.span.start).is_some_and(|message| message.is_real_user())
}

fn units_in(window: &Window<'_>, run: Range<usize>, units: &mut Vec<Unit>) {
    let outline = window.outline();
    let mut at = run.start;
    while at < run.end {
        let span = match outline.step_of(at) {
            Some(step) => outline.steps[step].span.clone(),
            None => at..at + 1,
        };
        at = span.end.max(at + 1);
        units.push(unit(window, span));
    }
}

fn unit(window: &Window<'_>, span: Range<usize>) -> Unit {
    let is_note = |mark: brute_core::Mark| mark.kind == MarkKind::Note;
    let speaks = window.messages(span.clone()).any(|message| !message.mark().is_some_and(is_note));
    Unit { tokens: window.tokens(span.clone()), span, ends: false, speaks }
}

/// The summaries in `span` that may be combined.
fn summaries(window: &Window<'_>, span: Range<usize>) -> Vec<Unit> {
    let is_summary = |mark: brute_core::Mark| mark.kind == MarkKind::Summary;
    let in_no_step = |index: usize| window.outline().step_of(index).is_none();
    window
        .messages(span)
        .filter(|message| message.mark().is_some_and(is_summary))
        .map(|message| message.index())
        .filter(|&index| !window.is_protected(index) && in_no_step(index))
        .map(|index| Unit { ends: true, ..unit(window, index..index + 1) })
        .collect()
}
