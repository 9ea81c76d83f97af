//! The descent itself: ask, apply, check, measure, go on.

use std::sync::Arc;
use std::time::Instant;

use brute_core::{Conversation, Flow, LayerErrorKind, LogLevel, Message, TokenCounter};

use tracing::field::Empty;
use tracing::{Instrument, info_span};

use super::blockers::{Ladder, TooLarge};
use super::spending::Purse;
use super::worker::{Answer, Generation, Lent, Reachable, Retrieval, Round, Shape, TimeLimit, ask};
use super::{
    Budget, Compaction, Event, NotAsked, Observers, OnError, Outcome, Rung, RungReport, RungResult,
    Spending, Tally, difference,
};
use crate::summarizers::Summarizer;

/// Plans of one rung after which it is said to loop. Every one made the conversation smaller, so this
/// only bounds the time.
const MOST_ROUNDS: usize = 1_000;

/// Plans of one rung while nothing but bytes are too many. Every round is asked for more where the one before brought
/// too little, so that this many are more than a rung needs.
const MOST_ROUNDS_FOR_BYTES: usize = 16;

/// Makes conversations fit: a ladder, the room there is, and what the rungs are lent.
///
/// ```
/// use std::sync::Arc;
/// use brute_host::core::{Approximate, Conversation, Role, Part};
/// use brute_host::ladder::{Budget, Compactor, Outcome, Rung};
/// use brute_host::sliding_window::SlidingWindow;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let compactor = Compactor::new(Arc::new(Approximate), Budget::new(128_000, 8_192, 90_000, 50_000)?)
///     .rung(Rung::new("sliding-window", SlidingWindow::default()));
/// let mut conversation = Conversation::default();
/// conversation.push(Role::User, [Part::text("hello")])?;
/// let compaction = compactor.compact(conversation).await;
/// assert_eq!(compaction.outcome, Outcome::BelowTrigger);
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct Compactor {
    counter: Arc<dyn TokenCounter>,
    budget: Budget,
    rungs: Vec<Rung>,
    keep: Vec<String>,
    summarizer: Option<Arc<dyn Summarizer>>,
    retrieval: Option<Arc<Retrieval>>,
    focus: Option<Arc<str>>,
    spending: Spending,
    session: Tally,
    observers: Observers,
}

impl Compactor {
    /// A compactor without a rung.
    pub fn new(counter: Arc<dyn TokenCounter>, budget: Budget) -> Self {
        Self {
            counter,
            budget,
            rungs: Vec::new(),
            keep: Vec::new(),
            summarizer: None,
            retrieval: None,
            focus: None,
            spending: Spending::default(),
            session: Tally::default(),
            observers: Observers::default(),
        }
    }

    /// One more rung, below the others.
    #[must_use]
    pub fn rung(mut self, rung: Rung) -> Self {
        rung.strategy.tell(&self.observers);
        self.rungs.push(rung);
        self
    }

    /// The same with other rungs.
    #[must_use]
    pub fn with_rungs(self, rungs: impl IntoIterator<Item = Rung>) -> Self {
        rungs.into_iter().fold(Self { rungs: Vec::new(), ..self }, Self::rung)
    }

    /// No layer may touch the calls and results of these tools.
    #[must_use]
    pub fn keeping(mut self, tools: impl IntoIterator<Item = String>) -> Self {
        self.keep.extend(tools);
        self
    }

    /// What writes summaries for the rungs that want one.
    #[must_use]
    pub fn summarizer(mut self, summarizer: Arc<dyn Summarizer>) -> Self {
        self.summarizer = Some(summarizer);
        self
    }

    /// What writes summaries, if anything does: for who puts a [`Recorder`](crate::summarizers::Recorder) around it.
    pub fn asked(&self) -> Option<&Arc<dyn Summarizer>> {
        self.summarizer.as_ref()
    }

    /// The most that summaries may take. A rung that would take more ends; what its earlier rounds did stands.
    #[must_use]
    pub fn spending(self, most: Spending) -> Self {
        Self { spending: most, ..self }
    }

    /// Adds what summaries take to the tally of a session. Without that, all compactions of this compactor and its
    /// clones are one session.
    #[must_use]
    pub fn in_session(self, session: Tally) -> Self {
        Self { session, ..self }
    }

    /// The same, counted by another counter.
    pub(crate) fn counted_by(self, counter: Arc<dyn TokenCounter>) -> Self {
        Self { counter, ..self }
    }

    /// The same with another summarizer in front of the one that it has.
    pub(crate) fn summarized_by(
        self,
        by: impl FnOnce(Arc<dyn Summarizer>) -> Arc<dyn Summarizer>,
    ) -> Self {
        Self { summarizer: self.summarizer.map(by), ..self }
    }

    /// How a model is told to get a message back that an archive will keep: words such as
    /// [`archive::way_back`](crate::archive::way_back) gives, for placeholders, notes and summaries.
    #[must_use]
    pub fn retrieving(
        mut self,
        retrieval: impl Fn(&Message) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.retrieval = Some(Arc::new(retrieval));
        self
    }

    /// What summaries are to dwell on, for layers that ask by [`Host::focus`](brute_core::Host::focus).
    #[must_use]
    pub fn focusing(mut self, focus: impl Into<Arc<str>>) -> Self {
        self.focus = Some(focus.into());
        self
    }

    /// Tells `observer` what happens, where it happens: the descent goes on when it has taken note. One that has more
    /// to do than that hands it to a thread of its own, as a [`Guard`](crate::guard::Guard) does for its subscribers.
    #[must_use]
    pub fn on(mut self, observer: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.observers.add(move |event| observer(event));
        self.introduced()
    }

    /// The same ladder in other room.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// Tells all of these what happens, too.
    #[must_use]
    pub(crate) fn observed(mut self, observers: &Observers) -> Self {
        self.observers.extend(observers);
        self.introduced()
    }

    /// The same, whose layers know who listens.
    fn introduced(self) -> Self {
        self.rungs.iter().for_each(|rung| rung.strategy.tell(&self.observers));
        self
    }

    /// The room there is.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// How sizes are counted.
    pub fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.counter
    }

    /// Tools whose calls and results no layer may touch.
    pub(crate) fn keep(&self) -> &[String] {
        &self.keep
    }

    /// The rungs, from the top.
    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// Compacts `conversation` if it is large enough.
    ///
    /// The figures that come back cost a count of whatever was not counted yet, also where nothing is
    /// compacted. Whether a compaction is due is asked for less by [`Trigger::is_due`] or
    /// [`Budget::is_due`], which count only what bounds do not settle.
    ///
    /// Needs a tokio runtime with timers. Dropping the future leaves the conversation that was handed
    /// in as it was.
    ///
    /// [`Trigger::is_due`]: super::Trigger::is_due
    pub async fn compact(&self, mut conversation: Conversation) -> Compaction {
        let begun = Instant::now();
        if self.budget.is_due(&mut conversation, &*self.counter) {
            return self.told(self.descend(conversation, begun).await);
        }
        self.unchanged(conversation, Outcome::BelowTrigger, NotAsked::BelowTrigger, begun)
    }

    /// Compacts `conversation` if it is above target, whether or not it is large enough to start one.
    ///
    /// Counts and needs what [`compact`](Self::compact) does.
    pub async fn compact_now(&self, conversation: Conversation) -> Compaction {
        self.told(self.descend(conversation, Instant::now()).await)
    }

    /// What [`compact_now`](Self::compact_now) does, for someone who has yet to see whether it can be committed, and
    /// then tells how it ended.
    pub(crate) async fn propose(&self, conversation: Conversation) -> Compaction {
        self.descend(conversation, Instant::now()).await
    }

    fn told(&self, compaction: Compaction) -> Compaction {
        compaction.tell_end(&self.observers);
        compaction
    }

    /// A conversation that no rung was asked about.
    fn unchanged(
        &self,
        mut conversation: Conversation,
        outcome: Outcome,
        why: NotAsked,
        begun: Instant,
    ) -> Compaction {
        let size = conversation.measure(&*self.counter);
        let bytes = self.budget.bytes(&mut conversation);
        Compaction {
            wire: self.budget.wire_change(bytes, bytes),
            budget: self.budget,
            conversation,
            outcome,
            before: size,
            after: size,
            rungs: self.rungs.iter().map(|rung| not_asked(rung, why, size)).collect(),
            removed: Vec::new(),
            added: Vec::new(),
            duration: begun.elapsed(),
            is_stopped: false,
        }
    }

    async fn descend(&self, mut conversation: Conversation, begun: Instant) -> Compaction {
        let size = conversation.measure(&*self.counter);
        let bytes = self.budget.bytes(&mut conversation);
        let Some(limit) = self.budget.exceeded(size, bytes) else {
            return self.unchanged(conversation, Outcome::Fitted, NotAsked::TargetMet, begun);
        };
        let mut descent = Descent::start(self, conversation);
        let start = descent.generation.clone();
        let (before, target) = (start.sizes.used, start.sizes.target);
        let span = info_span!("compact", before, target, after = Empty, outcome = Empty);
        let anchor = self.budget.anchor();
        self.observers.tell(|| Event::CompactStart { before, target, limit, anchor });
        let mut rungs = Vec::with_capacity(self.rungs.len());
        for rung in &self.rungs {
            rungs.push(descent.ask(rung).instrument(span.clone()).await);
        }
        let (removed, added) = difference(&start.conversation, &descent.generation.conversation);
        let outcome = descent.outcome(!removed.is_empty(), &rungs);
        let is_stopped = descent.stopped;
        let duration = begun.elapsed();
        let Generation { conversation, sizes, bytes, .. } = descent.generation;
        let (after, budget) = (sizes.used, self.budget);
        let wire = budget.wire_change(start.bytes, bytes);
        span.record("after", after).record("outcome", outcome.name());
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
            is_stopped,
        }
    }
}

fn not_asked(rung: &Rung, why: NotAsked, size: u64) -> RungReport {
    report(rung, RungResult::NotAsked { reason: why }, size)
}

fn report(rung: &Rung, result: RungResult, size: u64) -> RungReport {
    RungReport { before: size, after: size, ..RungReport::of(&rung.name, result) }
}

/// A conversation on its way down.
struct Descent<'c> {
    compactor: &'c Compactor,
    lent: Lent,
    generation: Generation,
    stopped: bool,
    /// Whether a plan took whole messages out.
    gave_up: bool,
}

impl<'c> Descent<'c> {
    fn start(compactor: &'c Compactor, mut conversation: Conversation) -> Self {
        let used = conversation.measure(&*compactor.counter);
        Self {
            compactor,
            lent: Lent {
                counter: Arc::clone(&compactor.counter),
                summarizer: compactor.summarizer.clone(),
                focus: compactor.focus.clone(),
                purse: Purse::new(compactor.spending, compactor.session.clone()),
                observers: compactor.observers.clone(),
                rung: "".into(),
                archive: compactor
                    .retrieval
                    .clone()
                    .map(|words| Reachable::new(words, &conversation)),
            },
            generation: Generation::new(
                conversation,
                compactor.budget,
                used,
                compactor.keep.clone().into(),
            ),
            stopped: false,
            gave_up: false,
        }
    }

    fn size(&self) -> u64 {
        self.generation.sizes.used
    }

    fn fits(&self) -> bool {
        self.generation.exceeded().is_none()
    }

    fn tell(&self, event: Event) {
        self.compactor.observers.tell(|| event);
    }

    async fn ask(&mut self, rung: &Rung) -> RungReport {
        let is_above = |size: u64| {
            let Generation { sizes, bytes, .. } = self.generation;
            self.compactor.budget.is_above(size, sizes.used, bytes)
        };
        let skipped = match rung.when {
            _ if self.fits() => Some(NotAsked::TargetMet),
            _ if self.stopped => Some(NotAsked::Stopped),
            _ if rung.health.is_given_up() => Some(NotAsked::Quarantined),
            Some(when) if !is_above(when.above) => Some(NotAsked::When),
            _ => None,
        };
        if let Some(why) = skipped {
            // A layer that was given up has failed, only not this time.
            self.stopped |= why == NotAsked::Quarantined && rung.on_error == OnError::Stop;
            return not_asked(rung, why, self.size());
        }
        self.lent.rung = rung.name.as_str().into();
        self.tell(Event::LayerStart { rung: rung.name.clone() });
        let mut report = report(rung, RungResult::Declined, self.size());
        let begun = Instant::now();
        // A limit beyond what a clock can say is none.
        let until = |whole| begun.checked_add(whole).map(|until| (whole, until.into()));
        let limit = rung.timeout.and_then(until).map(|(whole, until)| TimeLimit { whole, until });
        let before = self.size();
        let span = info_span!("layer", rung = rung.name, before, after = Empty, result = Empty);
        report.result = self.rounds(rung, limit, &mut report).instrument(span.clone()).await;
        report.after = self.size();
        span.record("after", report.after).record("result", report.result.name());
        report.duration = begun.elapsed();
        // Whoever does not want the next rung in the place of a failed one does not want it for want of money either.
        let ended_early =
            matches!(report.result, RungResult::Failed { .. } | RungResult::OutOfBudget { .. });
        self.stopped |= ended_early && rung.on_error == OnError::Stop;
        report
    }

    /// Asks the rung until the target is met or it has nothing more to give.
    async fn rounds(
        &mut self,
        rung: &Rung,
        limit: Option<TimeLimit>,
        report: &mut RungReport,
    ) -> RungResult {
        let mut strain = 1_u64;
        loop {
            let round = Instant::now();
            let layer = rung.strategy.clone();
            let Answer { round: made, log, calls, overran, used_up } =
                ask(layer, self.generation.clone(), &self.lent, strain, limit).await;
            for call in calls {
                report.summarizer.add(&call);
                self.tell(Event::called(&rung.name, call));
            }
            for (level, message) in log {
                self.tell(Event::Log { rung: rung.name.clone(), level, message });
            }
            let size = self.size();
            let duration = round.elapsed();
            let health = &rung.health;
            let name = rung.name.clone();
            let Round { flow, edits, gives_up, made } = match made {
                Ok(made) => made,
                Err(error) => {
                    let kind = error.kind();
                    if let (Some(used_up), LayerErrorKind::Summarizer) = (used_up, kind) {
                        let told = Event::LayerOutOfBudget { rung: name, used_up, size, duration };
                        self.tell(told);
                        return RungResult::OutOfBudget { used_up };
                    }
                    match kind {
                        _ if overran => health.overran(),
                        LayerErrorKind::Summarizer => {}
                        _ => health.failed(),
                    }
                    let reason = rung.strategy.blame(&error.to_string());
                    let told = reason.clone();
                    self.tell(Event::LayerFailed { rung: name, error: told, size, duration });
                    let summarizer = kind == LayerErrorKind::Summarizer;
                    return RungResult::Failed { reason, summarizer };
                }
            };
            health.worked();
            self.stopped |= flow == Flow::Stop;
            let Some(made) = made else {
                if report.rounds > 0 {
                    return RungResult::Applied;
                }
                self.tell(Event::LayerDeclined { rung: name, size, duration });
                return RungResult::Declined;
            };
            self.gave_up |= gives_up;
            let wanted = self.generation.excess_bytes();
            self.generation = made;
            let left = self.generation.excess_bytes();
            // Asked for as few tokens as could do, it may have given those that bring no bytes.
            strain = if left > wanted / 2 { strain.saturating_mul(2) } else { 1 };
            report.rounds += 1;
            report.edits += edits;
            let after = self.size();
            self.tell(Event::LayerApplied { rung: name, before: size, after, edits, duration });
            // Asked again, what a rung gives for the sake of bytes is not all that it has.
            let is_asked_again = match flow {
                Flow::Again => true,
                Flow::Next => left > 0 && report.rounds < MOST_ROUNDS_FOR_BYTES,
                Flow::Stop => false,
            };
            if self.fits() || !is_asked_again {
                return RungResult::Applied;
            }
            if report.rounds == MOST_ROUNDS {
                let message = format!("asked for {MOST_ROUNDS} rounds and wants more; gets none");
                self.tell(Event::Log { rung: rung.name.clone(), level: LogLevel::Warn, message });
                return RungResult::Applied;
            }
        }
    }

    fn outcome(&self, is_smaller: bool, rungs: &[RungReport]) -> Outcome {
        let Some(limit) = self.generation.exceeded() else { return Outcome::Fitted };
        let Generation { conversation, sizes, bytes, .. } = &self.generation;
        let Shape { outline, protection } = self.generation.shape();
        let counter = &*self.compactor.counter;
        let overhead = self.compactor.budget.overhead();
        let wire = self.compactor.budget.wire().copied();
        let too_large =
            TooLarge { conversation, outline, protection, counter, overhead, limit, wire };
        let keeps = !self.compactor.keep.is_empty();
        let blockers = too_large.blockers(Ladder::of(rungs, self.gave_up, keeps));
        let budget = &self.compactor.budget;
        Outcome::of(budget, sizes.used, *bytes, is_smaller, blockers)
    }
}
