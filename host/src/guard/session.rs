//! One conversation under guard.

use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use brute_core::{Conversation, InvalidConversation, Media, MessageId, Part, Role, ToolResult};

use super::meter::Meter;
use super::{Guard, Policy, Task, locked};
use crate::formats::{ReadError, Usage, WriteOptions};
use crate::ladder::{Anchor, Budget, Compaction, Event, Observers, Trigger};

/// A conversation that is kept within its window. A clone is another handle on the same conversation.
#[derive(Clone)]
pub struct Session(Arc<Shared>);

pub(super) struct Shared {
    guard: Guard,
    name: String,
    state: Mutex<State>,
    /// Held while a compaction is under way, and by nobody else.
    flight: tokio::sync::Mutex<()>,
}

struct State {
    conversation: Conversation,
    /// Goes up with each change that is no appending.
    generation: u64,
    /// A policy of its own, if it has one.
    policy: Option<Arc<Policy>>,
    meter: Meter,
    trigger: Trigger,
}

/// A call of the model that is to be made now, with the conversation of the session.
#[derive(Debug, Clone)]
pub struct Call {
    /// The compaction that went before it, if one was due. Its outcome says what stands in the way of a conversation
    /// that does not fit; later calls do not say it again.
    pub compaction: Option<Compaction>,
    generation: u64,
    messages: usize,
}

/// A request that is ready to be sent.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// Its bytes.
    pub request: Vec<u8>,
    /// The compaction that made it so, if one was due; see [`Call::compaction`].
    pub compaction: Option<Compaction>,
}

impl Shared {
    pub(super) fn conversation(&self) -> Conversation {
        locked(&self.state).conversation.clone()
    }
}

impl Session {
    pub(super) fn new(guard: Guard, name: String, conversation: Conversation) -> Self {
        let state = State {
            conversation,
            generation: 0,
            policy: None,
            meter: Meter::default(),
            trigger: Trigger::default(),
        };
        let (state, flight) = (Mutex::new(state), tokio::sync::Mutex::default());
        Self(Arc::new(Shared { guard, name, state, flight }))
    }

    pub(super) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.0)
    }

    /// What observers are told that it is called.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The conversation as it is now. While the answer is alive, the first message that is appended copies the list
    /// of all messages, 8 bytes each; [`read`](Self::read) costs nothing.
    pub fn conversation(&self) -> Conversation {
        self.0.conversation()
    }

    /// What `reader` makes of the conversation as it is now, which waits for it meanwhile.
    pub fn read<T>(&self, reader: impl FnOnce(&Conversation) -> T) -> T {
        reader(&locked(&self.0.state).conversation)
    }

    /// What the provider reported last, and how sizes go on from there; none before the first report.
    pub fn anchor(&self) -> Option<Anchor> {
        let state = &mut *locked(&self.0.state);
        let policy = self.policy_of(state);
        state.meter.budget(&policy, &state.conversation, None);
        state.meter.anchor()
    }

    /// Goes by `policy` from the next call on and not by that of the guard: for another model, for instance. What
    /// was learned of the model before is forgotten.
    pub fn use_policy(&self, policy: Policy) {
        locked(&self.0.state).policy = Some(Arc::new(policy));
    }

    /// Puts `conversation` in the place of the one that is there: the agent began anew, or went back to an earlier
    /// point. A compaction that is under way finds that its conversation is gone, and comes to nothing.
    pub fn replace(&self, conversation: Conversation) {
        let state = &mut *locked(&self.0.state);
        state.conversation = conversation;
        state.generation += 1;
        state.meter = Meter::default();
        state.trigger = Trigger::default();
    }

    /// Appends a message. Anything may be appended at any time, while a compaction is under way too.
    ///
    /// # Errors
    /// If it does not fit behind what is there; see [`Conversation::push`].
    pub fn push(
        &self,
        role: Role,
        parts: impl Into<Arc<[Part]>>,
    ) -> Result<MessageId, InvalidConversation> {
        locked(&self.0.state).conversation.push(role, parts)
    }

    /// Caps the output of `tool` and appends it as the result of `call`: level one of the guard. The full text of
    /// what was cut is on disk, and the result says where.
    ///
    /// # Errors
    /// If there is no such call open.
    pub async fn tool_result(
        &self,
        call: &str,
        tool: &str,
        output: Vec<u8>,
        is_error: bool,
    ) -> Result<MessageId, InvalidConversation> {
        let text = self.capped(tool, output).await;
        let (call, media) = (call.to_owned(), Vec::<Media>::new());
        self.push(Role::Tool, [Part::ToolResult(ToolResult { call, text, media, is_error })])
    }

    /// The output of `tool`, capped, for an agent that appends it itself.
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
            session.0.guard.sweep_if_due(cut.file_name());
            truncated.text.into_owned()
        });
        capped.await.unwrap_or_else(|failed| format!("The result was lost: {failed}."))
    }

    /// Makes the conversation ready to be sent to the model: level two of the guard. Compacts it if it is time to.
    ///
    /// `tools` are the tool schemas as they will be sent, as JSON text. They count until the provider has reported
    /// a size, which has them in it.
    ///
    /// Belongs before *every* call of the model, inside the loop over its tools. Dropping the future gives up on a
    /// compaction, and leaves the conversation as it was.
    pub async fn before_call(&self, tools: Option<&str>) -> Call {
        // A second caller waits for the compaction that is under way, and finds that none is due any more.
        let flight = match self.due(tools) {
            Ok(call) => return call,
            Err(_) => self.0.flight.lock().await,
        };
        let due = match self.due(tools) {
            Ok(call) => return call,
            Err(due) => due,
        };
        let Due { conversation: base, budget, policy, generation } = *due;
        let task = Task {
            conversation: base.fork(),
            budget,
            counter: Arc::clone(policy.counter()),
            observers: self.observers(),
        };
        let compaction = policy.compact().compact(task).await;
        let call = self.commit(compaction, &base, &budget, &policy, generation);
        drop(flight);
        call
    }

    /// The next call if no compaction is due before it, and what is to be compacted if one is.
    fn due(&self, tools: Option<&str>) -> Result<Call, Box<Due>> {
        let state = &mut *locked(&self.0.state);
        let policy = self.policy_of(state);
        state.meter.turn_to(&policy);
        let counter = &**policy.counter();
        let start = policy.budget().compact_at();
        if state.meter.is_below(start, &state.conversation, counter) {
            return Ok(state.call(None));
        }
        let budget = state.meter.budget(&policy, &state.conversation, tools);
        if !state.trigger.is_due(&budget, &mut state.conversation, counter) {
            return Ok(state.call(None));
        }
        let State { conversation, generation, .. } = state;
        let (conversation, generation) = (conversation.clone(), *generation);
        Err(Box::new(Due { conversation, budget, policy, generation }))
    }

    /// Puts what a compaction made of `base` in its place, with what was appended meanwhile behind it.
    fn commit(
        &self,
        compaction: Compaction,
        base: &Conversation,
        budget: &Budget,
        policy: &Policy,
        generation: u64,
    ) -> Call {
        let state = &mut *locked(&self.0.state);
        let made = compaction.conversation.clone();
        let rebased = (state.generation == generation)
            .then(|| made.rebased(base, &state.conversation))
            .flatten();
        let Some(mut conversation) = rebased else {
            let rung = "commit".to_owned();
            let error = "the conversation became another one meanwhile".to_owned();
            let (size, duration) = (compaction.before, compaction.duration);
            self.observers().tell(|| Event::LayerFailed { rung, error, size, duration });
            return state.call(None);
        };
        let tokens = conversation.measure(&**policy.counter());
        state.conversation = conversation;
        state.generation += 1;
        state.meter.turn_over();
        state.trigger.settle(budget, tokens, compaction.outcome.fits());
        state.call(Some(compaction))
    }

    /// Appends what the model answered to `call`, and learns from what its provider counted. A report is of no use
    /// where the conversation is not the one that was sent any more.
    ///
    /// # Errors
    /// If the answer does not fit behind what is there: something was appended since the call.
    pub fn after_call(
        &self,
        call: &Call,
        parts: impl Into<Arc<[Part]>>,
        usage: Option<Usage>,
    ) -> Result<MessageId, InvalidConversation> {
        let state = &mut *locked(&self.0.state);
        let policy = self.policy_of(state);
        let is_of_these =
            state.generation == call.generation && state.conversation.len() == call.messages;
        let id = state.conversation.push(Role::Assistant, parts)?;
        state.meter.turn_to(&policy);
        if let Some(usage) = usage.filter(|_| is_of_these) {
            state.meter.report(state.conversation.len(), usage.total());
        }
        Ok(id)
    }

    /// Makes a request in the JSON of a provider ready to be sent: the same bytes, or those of a conversation that
    /// was compacted because it was time to. Its messages are the history to go on from, with the answer and what
    /// comes after that behind them. `usage` is what the provider counted for the request before and its answer.
    ///
    /// For agents that keep their conversation as JSON: this is [`before_call`](Self::before_call) and
    /// [`after_call`](Self::after_call) in one. A request that does not begin with what was handed out last begins
    /// anew. One at a time, as an agent's calls are.
    ///
    /// ```
    /// # use brute_host::{config::Config, guard::{Guard, Policy}};
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let session = Guard::new(Policy::of(&Config::default(), Some("gpt-4o"))?).session("demo");
    /// let request = r#"{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}"#;
    /// let fitted = session.fit(request, None).await?;
    /// assert_eq!(fitted.request, request.as_bytes());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Runtime::new()?.block_on(example())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is no conversation in a known format, or one that the provider would refuse.
    pub async fn fit(
        &self,
        request: impl Into<Vec<u8>>,
        usage: Option<Usage>,
    ) -> Result<Fitted, ReadError> {
        let policy = self.policy_of(&locked(&self.0.state));
        let document = policy.read(request.into())?;
        self.turn_to(document.conversation(), usage, &policy);
        let compaction = self.before_call(document.tools_text().as_deref()).await.compaction;
        let write = |now: &Conversation| document.write(now, &WriteOptions::default()).into_owned();
        let request = self.read(write);
        if compaction.is_some() {
            // What is handed out is what the next request begins with: as it will be read, neighbors joined.
            let again = policy.read(request.clone())?;
            let state = &mut *locked(&self.0.state);
            state.conversation = again.conversation().clone().recalling(&state.conversation).0;
            state.meter.turn_over();
        }
        Ok(Fitted { request, compaction })
    }

    /// Takes `conversation` for what the one that is there has become.
    fn turn_to(&self, conversation: &Conversation, usage: Option<Usage>, policy: &Policy) {
        let state = &mut *locked(&self.0.state);
        let sent = state.conversation.len();
        let (conversation, same) = conversation.clone().recalling(&state.conversation);
        let reply = conversation.messages().get(sent).map(|message| message.role());
        state.conversation = conversation;
        state.generation += 1;
        if same < sent {
            state.meter = Meter::default();
            state.trigger = Trigger::default();
        } else if let Some(usage) = usage.filter(|_| reply == Some(Role::Assistant)) {
            state.meter.turn_to(policy);
            state.meter.report(sent + 1, usage.total());
        }
    }

    /// The size of the next request by what is known now, in tokens of the provider.
    pub fn size(&self, tools: Option<&str>) -> u64 {
        let state = &mut *locked(&self.0.state);
        let policy = self.policy_of(state);
        state.meter.turn_to(&policy);
        let budget = state.meter.budget(&policy, &state.conversation, tools);
        budget.request(state.conversation.measure(&**policy.counter()))
    }

    fn policy_of(&self, state: &State) -> Arc<Policy> {
        state.policy.clone().unwrap_or_else(|| self.0.guard.policy())
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
    fn call(&self, compaction: Option<Compaction>) -> Call {
        Call { compaction, generation: self.generation, messages: self.conversation.len() }
    }
}
