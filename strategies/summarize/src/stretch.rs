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
    /// Whether it is an earlier summary.
    pub is_summary: bool,
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
    /// How much earlier summaries may have together to be updated by the way.
    pub summaries: u64,
}

/// How much units have together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// All of them.
    pub gone: u64,
    /// The summaries among them.
    summaries: u64,
    /// Whether one of them says what no summary says.
    fresh: bool,
    speaks: bool,
}

impl Sum {
    pub(crate) fn of(units: &[Unit]) -> Self {
        let mut sum = Self::default();
        units.iter().for_each(|unit| sum.add(unit));
        sum
    }

    pub(crate) fn add(&mut self, unit: &Unit) {
        self.gone += unit.tokens;
        self.summaries += if unit.is_summary { unit.tokens } else { 0 };
        self.speaks |= unit.speaks;
        self.fresh |= unit.speaks && !unit.is_summary;
    }

    /// What is summarized anew: all, unless earlier summaries are only updated.
    fn anew(&self) -> u64 {
        if self.fresh { self.gone - self.summaries } else { self.gone }
    }
}

impl Terms {
    /// How long the summary of so much may be: what an earlier one has, and half of what is new. One that
    /// saves less is not worth the call.
    pub(crate) fn answer_for(&self, sum: &Sum) -> u64 {
        (sum.gone - sum.anew() + self.half(sum)).min(self.most)
    }

    /// Whether so much can be replaced by a summary that says something.
    pub(crate) fn pays(&self, sum: &Sum) -> bool {
        sum.speaks && self.half(sum).min(self.most) >= LEAST_ANSWER
    }

    fn half(&self, sum: &Sum) -> u64 {
        sum.anew().saturating_sub(self.overhead) / 2
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
        let old_summaries = || summaries(window, 0..regions.task.start);
        let task_summaries = || summaries(window, regions.task.clone());
        updating(window, terms, regions.complete_turns(window))
            .or_else(|| shortest(window, terms, old_summaries(), 2))
            .or_else(|| updating(window, terms, regions.task_steps(window)))
            .or_else(|| shortest(window, terms, task_summaries(), 2))
    }
}

/// The shortest prefix of `units` that says something new, the summaries among them updated by it. They
/// stay for a round of their own if they are too large for that.
fn updating(window: &Window<'_>, terms: &Terms, mut units: Vec<Unit>) -> Option<Stretch> {
    if Sum::of(&units).summaries > terms.summaries {
        units.retain(|unit| !unit.is_summary);
    }
    let first = units.iter().position(|unit| unit.speaks && !unit.is_summary)?;
    shortest(window, terms, units, first + 1)
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
    let (mut sum, mut taken) = (Sum::default(), None);
    for (index, unit) in units.iter().enumerate() {
        sum.add(unit);
        if !unit.ends || index + 1 < at_least || !terms.pays(&sum) {
            continue;
        }
        taken = Some(index + 1);
        let left = sizes.used.saturating_sub(sum.gone) + terms.overhead + terms.answer_for(&sum);
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
            units_in(window, turn.span.clone(), &mut units);
            if let Some(last) = units[before..].last_mut() {
                last.ends = true;
            }
        }
        units
    }

    /// All but what a person said: that stays as long as the steps that answer it.
    fn task_steps(&self, window: &Window<'_>) -> Vec<Unit> {
        let mut units = Vec::new();
        units_in(window, self.task.clone(), &mut units);
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

/// The units in `span` that may go.
fn units_in(window: &Window<'_>, span: Range<usize>, units: &mut Vec<Unit>) {
    let outline = window.outline();
    let mut at = span.start;
    while at < span.end {
        let step = outline.step_of(at).map(|step| outline.steps[step].span.clone());
        let span = step.clone().unwrap_or(at..at + 1);
        at = span.end.max(at + 1);
        let unit = unit(window, span.clone());
        let is_held = span.clone().any(|message| window.is_protected(message));
        // A summary between a call and its result stays with them.
        let within = step.is_some() && has(window, span, MarkKind::Summary);
        if !is_held && !within {
            units.push(unit);
        }
    }
}

fn unit(window: &Window<'_>, span: Range<usize>) -> Unit {
    let is_note = |mark: brute_core::Mark| mark.kind == MarkKind::Note;
    let speaks = window.messages(span.clone()).any(|message| !message.mark().is_some_and(is_note));
    let is_summary = has(window, span.clone(), MarkKind::Summary);
    Unit { tokens: window.tokens(span.clone()), span, ends: false, speaks, is_summary }
}

fn has(window: &Window<'_>, span: Range<usize>, kind: MarkKind) -> bool {
    window.messages(span).any(|message| message.mark().is_some_and(|mark| mark.kind == kind))
}

/// The summaries in `span` that may be combined.
fn summaries(window: &Window<'_>, span: Range<usize>) -> Vec<Unit> {
    let mut units = Vec::new();
    units_in(window, span, &mut units);
    units.retain(|unit| unit.is_summary);
    for unit in &mut units {
        unit.ends = true;
    }
    units
}
