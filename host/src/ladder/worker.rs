//! One round of a rung: its plan, and what becomes of the conversation by it. Off the async threads, since
//! both cost what the conversation is long, and on one thread, whose caches have it then.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use brute_core::abi::panic_message;
use brute_core::{
    Applied, Completion, CompletionError, CompletionUsage, Conversation, Edit, Flow, Host,
    LayerError, LogLevel, Message, MessageId, Outline, Plan, Prompt, Protection, Sizes,
    SummarizerLimits, TokenCounter, Window,
};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::Instant;

use super::spending::{Call, Purse};
use super::{Budget, Event, Layer, Limit, Observers, UsedUp};
use crate::summarizers::Summarizer;

/// One generation of a conversation and what is known of it. A rung sees it and cannot change it.
#[derive(Clone)]
pub(super) struct Generation {
    pub conversation: Conversation,
    pub sizes: Sizes,
    /// The bytes of all messages by estimate, and of those too many; nothing where they are not limited.
    pub bytes: u64,
    budget: Budget,
    /// Tools whose calls and results no layer may touch.
    keep: Arc<[String]>,
    shape: Arc<OnceLock<Shape>>,
}

/// How a generation is laid out, and what of it stays.
pub(super) struct Shape {
    pub outline: Arc<Outline>,
    pub protection: Protection,
}

impl Generation {
    /// `conversation` has to be one of `used` tokens.
    pub(super) fn new(
        mut conversation: Conversation,
        budget: Budget,
        used: u64,
        keep: Arc<[String]>,
    ) -> Self {
        let sizes = Sizes { window: budget.window(), used, target: budget.target() };
        let bytes = budget.bytes(&mut conversation);
        Self { conversation, sizes, bytes, budget, keep, shape: Arc::default() }
    }

    /// What it is too large in.
    pub(super) fn exceeded(&self) -> Option<Limit> {
        self.budget.exceeded(self.sizes.used, self.bytes)
    }

    /// The bytes too many, by estimate.
    pub(super) fn excess_bytes(&self) -> u64 {
        self.budget.wire().map_or(0, |room| room.excess(self.bytes))
    }

    /// The sizes that a rung is shown, which knows of tokens alone: where bytes are too many, so many tokens are as could
    /// take those along, times `strain`.
    fn shown(&self, strain: u64, counter: &dyn TokenCounter) -> Sizes {
        let (conversation, protection) = (&self.conversation, || &self.shape().protection);
        let Sizes { used, .. } = self.sizes;
        let target =
            self.budget.shown_target(conversation, used, self.bytes, protection, counter, strain);
        Sizes { target, ..self.sizes }
    }

    /// Found on first use, which is where the first rung plans: its cost is that of the conversation's length.
    pub(super) fn shape(&self) -> &Shape {
        self.shape.get_or_init(|| self.shape_of(Arc::new(self.conversation.outline())))
    }

    fn shape_of(&self, outline: Arc<Outline>) -> Shape {
        let protection = Protection::of(self.conversation.messages(), &outline, &self.keep);
        Shape { outline, protection }
    }

    /// The generation that `plan` makes of this one; none if it has no edits.
    fn next(&self, plan: Plan, counter: &dyn TokenCounter) -> Result<Option<Self>, LayerError> {
        if plan.is_empty() {
            return Ok(None);
        }
        let Shape { outline, protection } = self.shape();
        let Applied { mut conversation, outline, keeps_shape, .. } = self
            .conversation
            .apply(plan, outline, protection, counter)
            .map_err(|refusal| LayerError::new(format!("its plan was refused: {refusal}")))?;
        let used = conversation.measure(counter);
        let next = Self::new(conversation, self.budget, used, Arc::clone(&self.keep));
        if keeps_shape {
            return Ok(Some(Self { shape: Arc::clone(&self.shape), ..next }));
        }
        let shape = next.shape_of(outline);
        Ok(Some(Self { shape: Arc::new(shape.into()), ..next }))
    }
}

/// What came of a plan.
pub(super) struct Round {
    pub flow: Flow,
    pub edits: usize,
    /// Whether it took whole messages out.
    pub gives_up: bool,
    /// The next generation; none if the plan was empty.
    pub made: Option<Generation>,
}

impl Round {
    fn of(
        plan: Plan,
        generation: &Generation,
        counter: &dyn TokenCounter,
    ) -> Result<Self, LayerError> {
        let (flow, edits) = (plan.flow, plan.edits.len());
        let is_of_messages = |edit: &Edit| matches!(edit, Edit::Drop { .. } | Edit::Replace { .. });
        let gives_up = plan.edits.iter().any(is_of_messages);
        Ok(Self { flow, edits, gives_up, made: generation.next(plan, counter)? })
    }
}

/// What a rung gave, and what it said and asked on the way.
pub(super) struct Answer {
    pub round: Result<Round, LayerError>,
    pub log: Vec<(LogLevel, String)>,
    /// What was asked of the summarizer.
    pub calls: Vec<Call>,
    /// Whether the time was up before there was a plan. The layer may still be at work.
    pub overran: bool,
    /// Why it was not given a call of the summarizer, if it was not.
    pub used_up: Option<UsedUp>,
}

/// What a rung is lent.
#[derive(Clone)]
pub(super) struct Lent {
    pub counter: Arc<dyn TokenCounter>,
    pub summarizer: Option<Arc<dyn Summarizer>>,
    pub archive: Option<Reachable>,
    /// What summaries are to dwell on.
    pub focus: Option<Arc<str>>,
    /// What may be spent on summaries.
    pub purse: Purse,
    /// Who is told while the summarizer writes, and of which rung.
    pub observers: Observers,
    pub rung: Arc<str>,
}

/// How often who watches is told how far an answer is.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// How a model gets a message back.
pub(super) type Retrieval = dyn Fn(&Message) -> Option<String> + Send + Sync;

/// An archive that will keep what the descent takes.
#[derive(Clone)]
pub(super) struct Reachable {
    words: Arc<Retrieval>,
    /// What the descent began with. What rungs made of it since is not archived.
    originals: Arc<HashMap<MessageId, Arc<Message>>>,
}

impl Reachable {
    pub(super) fn new(words: Arc<Retrieval>, start: &Conversation) -> Self {
        let originals = start.messages().iter().map(|message| (message.id(), Arc::clone(message)));
        Self { words, originals: Arc::new(originals.collect()) }
    }

    fn retrieval(&self, id: MessageId) -> Option<String> {
        (self.words)(self.originals.get(&id)?)
    }
}

/// How long all rounds of a rung may take together.
#[derive(Clone, Copy)]
pub(super) struct TimeLimit {
    pub whole: Duration,
    pub until: Instant,
}

/// Asks `layer` for a plan, and makes it. Where bytes are too many, it is asked for `strain` times the tokens that
/// could take them along. Dropping the future, or running out of `limit`, gives up on it: the
/// thread is left to itself, a call of the summarizer that is under way is given up, and no other begins.
pub(super) async fn ask(
    layer: Layer,
    generation: Generation,
    lent: &Lent,
    strain: u64,
    limit: Option<TimeLimit>,
) -> Answer {
    let (given_up, watched) = watch::channel(());
    let host = Arc::new(LentHost {
        counter: Arc::clone(&lent.counter),
        summarizer: lent.summarizer.clone(),
        focus: lent.focus.clone(),
        purse: lent.purse.clone(),
        observers: lent.observers.clone(),
        rung: Arc::clone(&lent.rung),
        used_up: OnceLock::new(),
        archive: lent.archive.clone().map(|archive| (archive, generation.conversation.clone())),
        runtime: Handle::current(),
        given_up: watched,
        log: Mutex::default(),
        calls: Mutex::default(),
        waits: AtomicUsize::new(0),
    });
    let planning = {
        let host = Arc::clone(&host);
        tokio::task::spawn_blocking(move || {
            let Shape { outline, protection } = generation.shape();
            let (messages, counter) = (generation.conversation.messages(), &*host.counter);
            let sizes = generation.shown(strain, counter);
            let window = Window::new(messages, outline, protection, counter, sizes);
            Round::of(layer.plan(&window, &*host)?, &generation, counter)
        })
    };
    let mut overran = false;
    let planned = match limit {
        None => planning.await,
        Some(limit) => match tokio::time::timeout_at(limit.until, planning).await {
            Ok(planned) => planned,
            Err(_) => {
                // A layer that waits for the summarizer is not to blame, and ends with its wait.
                let waits = host.waits.load(Ordering::Relaxed) > 0;
                overran = !waits;
                let said = format!("no plan within the time limit of {:?}", limit.whole);
                Ok(Err(match waits {
                    true => LayerError::summarizer(format!("{said}: the summarizer is not done")),
                    false => LayerError::new(said),
                }))
            }
        },
    };
    drop(given_up);
    let round = planned.unwrap_or_else(|failed| Err(LayerError::new(why_it_ended(failed))));
    let log = host.log.lock().map(|mut log| std::mem::take(&mut *log)).unwrap_or_default();
    let calls = host.calls.lock().map(|mut calls| std::mem::take(&mut *calls)).unwrap_or_default();
    let used_up = host.used_up.get().copied();
    Answer { round, log, calls, overran, used_up }
}

fn why_it_ended(failed: JoinError) -> String {
    match failed.try_into_panic() {
        Ok(payload) => format!("the layer panicked: {}", panic_message(&*payload)),
        Err(_) => "the runtime ended before the layer did".to_owned(),
    }
}

/// So much is kept of what a layer says in one round: more than a person reads, and no more than memory bears.
const MOST_MESSAGES: usize = 100;

/// The host as a rung sees it.
struct LentHost {
    counter: Arc<dyn TokenCounter>,
    summarizer: Option<Arc<dyn Summarizer>>,
    /// What can be had back, and the conversation that the rung sees.
    archive: Option<(Reachable, Conversation)>,
    runtime: Handle,
    /// Closed once nobody waits for the plan any more.
    given_up: watch::Receiver<()>,
    log: Mutex<Vec<(LogLevel, String)>>,
    /// What was asked of the summarizer, a call that is under way among it.
    calls: Mutex<Vec<Call>>,
    focus: Option<Arc<str>>,
    purse: Purse,
    observers: Observers,
    rung: Arc<str>,
    /// Why a call of the summarizer was not made.
    used_up: OnceLock<UsedUp>,
    /// How many answers of the summarizer the rung waits for just now.
    waits: AtomicUsize,
}

impl LentHost {
    /// Notes a call of the summarizer: that it begins, or how it ended.
    fn note(&self, call: Call, ended: bool) {
        if let Ok(mut calls) = self.calls.lock() {
            if ended {
                calls.pop();
            }
            calls.push(call);
        }
    }
}

impl Host for LentHost {
    fn count(&self, text: &str) -> u32 {
        self.counter.count(text)
    }

    fn summarizer(&self) -> Option<SummarizerLimits> {
        self.summarizer.as_ref().map(|summarizer| summarizer.limits())
    }

    fn complete(&self, prompt: &Prompt) -> Result<Completion, CompletionError> {
        let summarizer = self.summarizer.as_ref().ok_or(CompletionError::NotConfigured)?;
        let out_of_time =
            || CompletionError::Failed { reason: "the layer ran out of time".to_owned() };
        let mut given_up = self.given_up.clone();
        // Nothing is ever sent on the channel: an error says that it is closed.
        if given_up.has_changed().is_err() {
            return Err(out_of_time());
        }
        let count = |text: &str| u64::from(self.counter.count(text));
        let input = count(&prompt.instructions) + count(&prompt.input);
        let aside = input + u64::from(prompt.max_tokens);
        if let Err(used_up) = self.purse.set_aside(aside) {
            self.used_up.get_or_init(|| used_up);
            return Err(CompletionError::Failed { reason: used_up.to_string() });
        }
        let (duration, error) = (Duration::ZERO, Some("given up".to_owned()));
        let call =
            Call { input, cached: 0, output: 0, estimated: true, cost: None, duration, error };
        self.note(call.clone(), false);
        let begun = Instant::now();
        let told = Mutex::new(begun);
        let watcher = |text: &str| {
            let Ok(mut told) = told.lock() else { return };
            if told.elapsed() >= TELL_EVERY {
                *told = Instant::now();
                self.observers.tell(|| {
                    let rung = self.rung.as_ref().to_owned();
                    Event::SummarizerWrites { rung, output: count(text) }
                });
            }
        };
        self.waits.fetch_add(1, Ordering::Relaxed);
        let answer = self.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = given_up.changed() => Err(out_of_time()),
                answer = summarizer.complete_watched(prompt, &watcher) => answer,
            }
        });
        self.waits.fetch_sub(1, Ordering::Relaxed);
        let error = answer.as_ref().err().map(ToString::to_string);
        let call = Call { duration: begun.elapsed(), error, ..call };
        let call = match &answer {
            Ok(Completion { usage: Some(usage), .. }) => {
                let &CompletionUsage { input, cached, output, cost } = usage;
                Call { input, cached, output, estimated: false, cost, ..call }
            }
            Ok(Completion { text, .. }) => Call { output: count(text), ..call },
            Err(_) => call,
        };
        // Who is told that a request is too long is not billed for it.
        let is_free = matches!(answer, Err(CompletionError::TooLong { .. }));
        self.purse.pay(aside, if is_free { 0 } else { call.input.saturating_add(call.output) });
        self.note(call, true);
        answer
    }

    fn retrieval(&self, message: usize) -> Option<String> {
        let (archive, seen) = self.archive.as_ref()?;
        archive.retrieval(seen.messages().get(message)?.id())
    }

    fn focus(&self) -> Option<&str> {
        self.focus.as_deref()
    }

    fn log(&self, level: LogLevel, message: &str) {
        let Ok(mut log) = self.log.lock() else { return };
        match log.len() {
            ..MOST_MESSAGES => log.push((level, message.to_owned())),
            MOST_MESSAGES => log.push((LogLevel::Warn, "says more than is kept of it".to_owned())),
            _ => {}
        }
    }
}
