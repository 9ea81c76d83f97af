//! One conversation under guard.

mod archived;
mod fit;
mod logged;
mod ready;

pub use fit::Fitted;
pub use logged::SessionError;
use ready::MOST_SUPERSEDED;
pub use ready::Ready;

use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use brute_core::{Conversation, Media, MessageId, Part, Role, ToolResult};

use tracing::{Instrument, info_span};

use super::keep::Keeper;
use super::meter::Meter;
use super::texts::Texts;
use super::{Guard, Job, Policy, locked};
use crate::formats::{Document, Usage};
use crate::ladder::{Anchor, Budget, Compaction, Event, Observers, Tally, Trigger, Wire};
use crate::session_log::{LogError, SessionLog};

/// A conversation that is kept within its window. A clone is another handle on the same conversation.
#[derive(Clone)]
pub struct Session(Arc<Shared>);

pub(super) struct Shared {
    name: String,
    state: Mutex<State>,
    /// Held while a compaction is under way, and by nobody else.
    flight: tokio::sync::Mutex<()>,
    /// Held while the log is brought to the disk, and by nobody else.
    syncing: Mutex<()>,
    keeper: Keeper,
    texts: Texts,
    /// What its summaries took.
    spent: Tally,
    /// Dropped last: how the layers of the session's own policy end is told to the guard's subscribers.
    guard: Guard,
}

struct State {
    conversation: Conversation,
    /// Where each change of the conversation is written down before it is made.
    log: Option<SessionLog>,
    /// Goes up with each change that is no appending.
    generation: u64,
    /// A policy of its own, if it has one.
    policy: Option<Arc<Policy>>,
    /// The policy that was gone by last, and how many there were before it.
    last_policy: (Weak<Policy>, u64),
    meter: Meter,
    trigger: Trigger,
    /// How many messages of which generation were handed to the archive ahead of a compaction.
    archived: (u64, usize),
    /// Whether all that was there at the beginning is counted. What is appended is little at a time.
    is_counted: bool,
}

impl Shared {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn conversation(&self) -> Conversation {
        locked(&self.state).conversation.clone()
    }
}

impl Session {
    pub(super) fn new(
        guard: Guard,
        name: String,
        conversation: Conversation,
        log: Option<SessionLog>,
    ) -> Self {
        let state = State {
            conversation,
            log,
            generation: 0,
            policy: None,
            last_policy: (Weak::new(), 0),
            meter: Meter::default(),
            trigger: Trigger::default(),
            is_counted: false,
            archived: (0, 0),
        };
        let (state, flight) = (Mutex::new(state), tokio::sync::Mutex::default());
        let (syncing, keeper, texts) = (Mutex::default(), Keeper::new(&name), Texts::default());
        let spent = Tally::default();
        Self(Arc::new(Shared { name, state, flight, syncing, keeper, texts, spent, guard }))
    }

    /// Keeps the full texts that the conversation names from the sweeps of others, and `new`, which it may come to
    /// name.
    fn hold_texts(&self, new: Option<String>) {
        let (conversation, policy) = {
            let state = &*locked(&self.0.state);
            (state.conversation.clone(), self.policy_of(state))
        };
        self.0.texts.hold(policy.truncator().spill(), &conversation, new);
    }

    /// The same for all that is there of a session that goes on.
    pub(super) fn hold(&self) {
        self.hold_texts(None);
        if let Some(archive) = self.0.guard.policy().archive() {
            self.0.keeper.hold(archive);
        }
    }

    pub(super) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.0)
    }

    /// What subscribers are told that it is called.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What its summaries took, since this process began with it.
    pub fn spent(&self) -> &Tally {
        &self.0.spent
    }

    /// The conversation as it is now. While the answer is alive, the first message that is appended copies the list
    /// of all messages, 8 bytes each; [`read`](Self::read) costs nothing.
    pub fn conversation(&self) -> Conversation {
        self.0.conversation()
    }

    /// What `reader` makes of the conversation as it is now, which waits for it meanwhile: it must not call this
    /// session.
    pub fn read<T>(&self, reader: impl FnOnce(&Conversation) -> T) -> T {
        reader(&locked(&self.0.state).conversation)
    }

    /// The ids of the model's calls that no result has answered yet, in order. No provider takes a request with one.
    ///
    /// After a crash these are the calls under way when it came: before the model is called again, each gets a result by
    /// [`tool_result`](Self::tool_result), that of another run of its tool or words that say that it was interrupted.
    pub fn open_calls(&self) -> Vec<String> {
        self.read(|conversation| {
            conversation.open_calls().iter().map(ToString::to_string).collect()
        })
    }

    /// What the provider reported last, and how sizes go on from there; none before the first report.
    pub fn anchor(&self) -> Option<Anchor> {
        let state = &mut *locked(&self.0.state);
        let policy = self.turn_to_policy(state);
        state.meter.anchor(&state.conversation, &**policy.counter())
    }

    /// Goes by `policy` from the next call on and not by that of the guard: for another model, for instance. What
    /// was learned of the model before is forgotten.
    pub fn use_policy(&self, policy: Policy) {
        let before = locked(&self.0.state).policy.replace(Arc::new(policy));
        // Not while others wait: the end of a layer is its author's code.
        drop(before);
    }

    /// Puts `conversation` in the place of the one that is there: the agent began anew, or went back to an earlier
    /// point. A compaction that is under way finds that its conversation is gone, and comes to nothing.
    ///
    /// # Errors
    /// If it cannot be logged; never without a log.
    pub fn replace(&self, conversation: Conversation) -> Result<(), LogError> {
        {
            let state = &mut *locked(&self.0.state);
            state.log(|log, now| log.turned(now, &conversation))?;
            state.conversation = conversation;
            state.generation += 1;
            state.meter = Meter::default();
            state.trigger = Trigger::default();
            state.is_counted = false;
        }
        self.hold_texts(None);
        Ok(())
    }

    /// Appends a message. Anything may be appended at any time, while a compaction is under way too.
    ///
    /// # Errors
    /// If it does not fit behind what is there; see [`Conversation::push`]. If it cannot be logged.
    pub fn push(
        &self,
        role: Role,
        parts: impl Into<Arc<[Part]>>,
    ) -> Result<MessageId, SessionError> {
        locked(&self.0.state).push(role, parts)
    }

    /// Caps the output of `tool` and appends it as the result of `call`: level one of the guard. The full text of
    /// what was cut is on disk, and the result says where.
    ///
    /// # Errors
    /// If there is no such call open, or it cannot be logged. The output is gone then: who wants to try again caps it by
    /// [`capped`](Self::capped), and appends that by [`push`](Self::push).
    pub async fn tool_result(
        &self,
        call: &str,
        tool: &str,
        output: Vec<u8>,
        is_error: bool,
    ) -> Result<MessageId, SessionError> {
        let text = self.capped(tool, output).await;
        let (call, media) = (call.to_owned(), Vec::<Media>::new());
        self.push(
            Role::Tool,
            [Part::ToolResult(ToolResult {
                call: call.into(),
                text: text.into(),
                media: media.into(),
                is_error,
            })],
        )
    }

    /// The output of `tool`, capped, for an agent that appends it itself. Needs a tokio runtime.
    pub async fn capped(&self, tool: &str, output: Vec<u8>) -> String {
        let session = self.clone();
        let tool = tool.to_owned();
        let before = output.len();
        let begun = Instant::now();
        let policy = self.policy_of(&locked(&self.0.state));
        // Reads nothing but memory where nothing is cut, yet how long that takes is for the output to say.
        let capped = tokio::task::spawn_blocking(move || {
            let truncated = policy.truncator().truncate(Some(&tool), &output);
            let Some(cut) = truncated.cut else { return truncated.text.into_owned() };
            session.observers().tell(|| Event::Truncated {
                tool: tool.clone(),
                before: before as u64,
                after: truncated.text.len() as u64,
                full: cut.notice.full.clone(),
                duration: begun.elapsed(),
            });
            let name = cut.file_name();
            session.hold_texts(name.clone());
            session.0.guard.sweep_if_due(name);
            truncated.text.into_owned()
        });
        capped.await.unwrap_or_else(|_| "The result was lost in an error of the agent.".to_owned())
    }

    /// Makes the conversation ready to be sent to the model: level two of the guard. Compacts it if it is time to.
    ///
    /// `tools` are the tool schemas as they will be sent, as JSON text. They count until the provider has reported
    /// a size, which has them in it.
    ///
    /// Belongs before *every* call of the model, inside the loop over its tools. Dropping the future gives up on a
    /// compaction that is under way, and leaves the conversation as it was; one that is made already stays. Needs a tokio runtime with timers.
    ///
    /// # Errors
    /// If what the model is to see cannot be brought to the disk; see [`sync`](Self::sync). Never without a log.
    pub async fn before_call(&self, tools: Option<&str>) -> Result<Ready, LogError> {
        let ready = self.made_ready(tools, None).await;
        self.sync_log().await?;
        Ok(ready)
    }

    /// `document` is what the conversation was read from, if it was.
    async fn made_ready(&self, tools: Option<&str>, document: Option<&Arc<Document>>) -> Ready {
        self.count_beginning().await;
        if let Ok(ready) = self.due(tools, document) {
            if document.is_none() {
                self.archive_ahead();
            }
            return ready;
        }
        // A second caller waits for the compaction that is under way, and finds that none is due any more.
        let _flight = self.0.flight.lock().await;
        // Until what is to be sent is what was looked at.
        for _ in 0..MOST_SUPERSEDED {
            match self.due(tools, document) {
                Ok(ready) => return ready,
                Err(due) => {
                    if let Some(ready) = self.compacted(&due, document).await {
                        return ready;
                    }
                }
            }
        }
        let why = format!(
            "{MOST_SUPERSEDED} times it became another conversation while it was compacted"
        );
        Ready { refused: Some(why), ..locked(&self.0.state).ready(None) }
    }

    /// The next call, after the compaction that was due before it; nothing if the conversation became another one
    /// meanwhile.
    async fn compacted(&self, due: &Due, document: Option<&Arc<Document>>) -> Option<Ready> {
        let job = Job {
            conversation: due.conversation.fork(),
            budget: due.budget,
            counter: Arc::clone(due.policy.counter()),
            keep: Arc::clone(due.policy.keep()),
            spent: self.0.spent.clone(),
            observers: self.observers(),
        };
        // Names of the semantic conventions for generative AI of OpenTelemetry, where they have one.
        let span = info_span!(
            "guard",
            gen_ai.conversation.id = self.name(),
            gen_ai.request.model = due.policy.model(),
        );
        let compaction = due.policy.compact().compact(job).instrument(span).await;
        if let Err(error) = self.archive(due, &compaction, document).await {
            let error = error.to_string();
            return Some(self.not_made(due, &compaction, error.clone(), |before, duration| {
                Event::NotArchived { before, error, duration }
            }));
        }
        self.commit(compaction, due)
    }

    /// Counts what a session began with, which may be much, where it holds nobody up. Counts stay with the messages.
    async fn count_beginning(&self) {
        let (conversation, policy) = {
            let state = &mut *locked(&self.0.state);
            let policy = self.turn_to_policy(state);
            if std::mem::replace(&mut state.is_counted, true) {
                return;
            }
            (state.conversation.clone(), policy)
        };
        let count = move || {
            let counter = &**policy.counter();
            conversation.messages().iter().map(|message| u64::from(message.tokens(counter))).sum()
        };
        // What is not counted now is counted when it is needed.
        let _: Result<u64, _> = tokio::task::spawn_blocking(count).await;
    }

    /// The next call if no compaction is due before it, and what is to be compacted if one is.
    fn due(
        &self,
        tools: Option<&str>,
        document: Option<&Arc<Document>>,
    ) -> Result<Ready, Box<Due>> {
        let wire = || match document {
            Some(document) => document.on_wire(),
            None => Wire::around(tools.map_or(0, str::len) as u64),
        };
        let state = &mut *locked(&self.0.state);
        let policy = self.turn_to_policy(state);
        let counter = &**policy.counter();
        let room = policy.budget().on_wire(wire);
        if state.meter.is_below(room.compact_at(), &state.conversation, counter)
            && !room.is_due_by_bytes(&mut state.conversation)
        {
            return Ok(state.ready(None));
        }
        let budget = state.meter.budget(room, &policy, &state.conversation, tools);
        if !state.trigger.is_due(&budget, &mut state.conversation, counter) {
            return Ok(state.ready(None));
        }
        let (conversation, generation) = (state.conversation.clone(), state.generation);
        Err(Box::new(Due { conversation, budget, policy, generation }))
    }

    /// Leaves the conversation as it is, since what a compaction gave up would be nowhere, or nobody would know of it
    /// later. Another attempt waits for growth, as after one that gave nothing.
    fn not_made(
        &self,
        due: &Due,
        compaction: &Compaction,
        reason: String,
        event: impl FnOnce(u64, Duration) -> Event,
    ) -> Ready {
        let ready = {
            let state = &mut *locked(&self.0.state);
            let (mut start, counter) = (due.conversation.clone(), &**due.policy.counter());
            state.trigger.settle(&due.budget, &mut start, counter, false);
            Ready { refused: Some(reason), ..state.ready(None) }
        };
        self.observers().tell(|| event(compaction.before, compaction.duration));
        ready
    }

    /// Puts what a compaction made of what was due in its place, with what was appended meanwhile behind it, and
    /// tells how it ended. Nothing if the conversation is another one now.
    fn commit(&self, compaction: Compaction, due: &Due) -> Option<Ready> {
        let Compaction { before, duration, .. } = compaction;
        let (committed, mut ready) = {
            let state = &mut *locked(&self.0.state);
            (state.commit(&compaction, due), state.ready(None))
        };
        match committed {
            Ok(is_committed) => ready.compaction = is_committed.then_some(compaction),
            Err(error) => {
                let error = error.to_string();
                return Some(self.not_made(due, &compaction, error.clone(), |before, duration| {
                    Event::NotLogged { before, error, duration }
                }));
            }
        }
        // Told when the session can be asked about it.
        match &ready.compaction {
            Some(compaction) => compaction.tell_end(&self.observers()),
            None => {
                self.observers().tell(|| Event::Superseded { before, duration });
                return None;
            }
        }
        Some(ready)
    }

    /// Appends what the model answered to a call, and learns from what its provider counted: unless the conversation is
    /// not the one that was sent any more, or another model is called now.
    ///
    /// # Errors
    /// If the answer does not fit behind what is there; see [`Conversation::push`]. If it cannot be logged.
    pub fn after_call(
        &self,
        ready: &Ready,
        parts: impl Into<Arc<[Part]>>,
        usage: Option<Usage>,
    ) -> Result<MessageId, SessionError> {
        let state = &mut *locked(&self.0.state);
        self.turn_to_policy(state);
        let is_of_these = state.is_as(ready);
        let id = state.push(Role::Assistant, parts)?;
        if let Some(usage) = usage.filter(|_| is_of_these) {
            state.meter.report(state.conversation.len(), usage.total());
        }
        Ok(id)
    }

    /// The size of the next request by what is known now, in tokens of the provider.
    pub fn size(&self, tools: Option<&str>) -> u64 {
        let state = &mut *locked(&self.0.state);
        let policy = self.turn_to_policy(state);
        let budget = state.meter.budget(policy.budget(), &policy, &state.conversation, tools);
        budget.request(state.conversation.measure(&**policy.counter()))
    }

    fn policy_of(&self, state: &State) -> Arc<Policy> {
        state.policy.clone().unwrap_or_else(|| self.0.guard.policy())
    }

    /// The policy now. If it is another one than last time, what was learned of another model is forgotten, and what
    /// could not be made to fit is tried again.
    fn turn_to_policy(&self, state: &mut State) -> Arc<Policy> {
        let policy = self.policy_of(state);
        let (last, count) = &mut state.last_policy;
        if !std::ptr::eq(last.as_ptr(), Arc::as_ptr(&policy)) {
            (*last, *count) = (Arc::downgrade(&policy), *count + 1);
            state.is_counted &= !state.meter.turn_to(&policy);
            state.trigger = Trigger::default();
        }
        policy
    }

    fn observers(&self) -> Observers {
        self.0.guard.observers_of(&self.0.name)
    }
}

/// A conversation that is due for a compaction.
struct Due {
    conversation: Conversation,
    budget: Budget,
    policy: Arc<Policy>,
    generation: u64,
}

impl State {
    /// Whether it could be done: not if the conversation is another one now.
    ///
    /// # Errors
    /// If it cannot be logged. Then it is not done.
    fn commit(&mut self, compaction: &Compaction, due: &Due) -> Result<bool, LogError> {
        let made = compaction.conversation.clone();
        let is_same = self.generation == due.generation;
        let rebased = is_same.then(|| made.rebased(&due.conversation, &self.conversation));
        let Some(mut conversation) = rebased.flatten() else { return Ok(false) };
        self.log(|log, now| log.compacted(now, &conversation))?;
        let (counter, fits) = (&**due.policy.counter(), compaction.outcome.fits());
        self.trigger.settle(&due.budget, &mut conversation, counter, fits);
        self.conversation = conversation;
        self.generation += 1;
        self.meter.turn_over();
        Ok(true)
    }
}
