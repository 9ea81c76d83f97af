//! A conversation: messages that fit together, and how big they are.

use std::collections::HashSet;
use std::sync::Arc;

use crate::{Message, MessageId, Outline, Part, Role, TokenCounter, Violation};

/// Messages that fit together: every result answers a call, every call is answered or still waits.
///
/// Valid by construction, and cheap to change. The messages stand behind [`Arc`]; a clone is another
/// handle on the same generation, and a commit makes a new one in which untouched messages are shared.
///
/// ```
/// use brute_core::{Approximate, Conversation, Message, MessageId, Part, Role};
/// let hello = Message::new(MessageId(0), Role::User, [Part::text("hello")]);
/// let mut conversation = Conversation::new([hello])?;
/// assert_eq!(conversation.measure(&Approximate), 6);
/// # Ok::<(), brute_core::InvalidConversation>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    messages: Arc<Vec<Arc<Message>>>,
    next_id: u64,
    open: Vec<Box<str>>,
    ledger: Ledger,
    wire: Wire,
}

/// The bytes on the wire of the first messages, so that asking for all costs what was appended.
#[derive(Debug, Clone, Copy, Default)]
struct Wire {
    messages: usize,
    bytes: u64,
}

/// Running sums, so that a question about the size costs what was appended since the last one.
#[derive(Debug, Clone, Default)]
struct Ledger {
    counter: &'static str,
    /// Messages whose tokens are in `tokens`.
    counted: usize,
    tokens: u64,
    /// Messages whose bounds are in `least` and `most`, beyond the counted ones.
    bounded: usize,
    least: u64,
    most: u64,
}

/// The messages of the generation after one, and what they change about its size.
pub(crate) struct Successor {
    pub messages: Vec<Arc<Message>>,
    /// The id that the next new message gets. An id is never used again, whatever was dropped.
    pub next_id: u64,
    /// Tokens of the messages that went or were changed, as they were.
    pub gone: u64,
    /// Tokens of the messages that came instead, and of the changed ones as they are.
    pub come: u64,
    /// The bytes on the wire of all messages, if those of the generation before are known.
    pub wire_bytes: Option<u64>,
}

/// Messages that do not fit together, with every reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the messages do not fit together: {}", list(.violations))]
pub struct InvalidConversation {
    /// All violations, ordered by message.
    pub violations: Vec<Violation>,
}

fn list(violations: &[Violation]) -> String {
    let each: Vec<String> =
        violations.iter().map(|found| format!("message {}: {found}", found.message())).collect();
    each.join("; ")
}

impl Conversation {
    /// A conversation of these messages.
    ///
    /// # Errors
    /// Every violation, not the first. Ids must differ, and leave some for the messages to come.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Result<Self, InvalidConversation> {
        let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
        let mut violations = violations_of_ids(&messages);
        let outline = Outline::of(&messages).unwrap_or_else(|found| {
            violations.extend(found);
            Outline::default()
        });
        if !violations.is_empty() {
            violations.sort_by_key(Violation::message);
            return Err(InvalidConversation { violations });
        }
        let largest = messages.iter().map(|message| message.id().0).max();
        let next_id = largest.map_or(0, |id| id.saturating_add(1));
        Ok(Self::outlined(messages, &outline, next_id))
    }

    /// The generation after this one. `outline` must be its outline. What this one knows of its size
    /// is handed on, so that measuring the next costs nothing.
    pub(crate) fn succeeded_by(
        &self,
        next: Successor,
        outline: &Outline,
        counter: &dyn TokenCounter,
    ) -> Self {
        let Successor { messages, next_id, gone, come, wire_bytes } = next;
        let wire = wire_bytes.map(|bytes| Wire { messages: messages.len(), bytes });
        let ledger = match self.measured(counter) {
            Some(size) => {
                Ledger::settled(counter, messages.len(), (size + come).saturating_sub(gone))
            }
            None => Ledger::default(),
        };
        let wire = wire.unwrap_or_default();
        Self { ledger, wire, ..Self::outlined(messages, outline, next_id) }
    }

    fn outlined(messages: Vec<Arc<Message>>, outline: &Outline, next_id: u64) -> Self {
        let open = outline
            .pending
            .iter()
            .filter_map(|place| match messages.get(place.message)?.parts().get(place.part) {
                Some(Part::ToolCall(call)) => Some(call.id.clone()),
                _ => None,
            })
            .collect();
        let (ledger, wire) = (Ledger::default(), Wire::default());
        Self { messages: Arc::new(messages), next_id, open, ledger, wire }
    }

    /// Appends a message with the next free id. Costs what the message costs, not what is there: unless a
    /// clone of this conversation is alive, which keeps the list of messages, so that the first push after
    /// cloning copies that list, 8 bytes for each message.
    ///
    /// # Errors
    /// If it does not fit: a result that answers no open call, or anything but a result while calls
    /// are open. The conversation is then as it was.
    pub fn push(
        &mut self,
        role: Role,
        parts: impl Into<Arc<[Part]>>,
    ) -> Result<MessageId, InvalidConversation> {
        self.push_if(role, parts, |_| Ok(()))
    }

    /// The same for a message that `accept` has to take first: a log that it is written to, for instance.
    ///
    /// # Errors
    /// If it does not fit, or what `accept` says. The conversation is then as it was.
    pub fn push_if<E: From<InvalidConversation>>(
        &mut self,
        role: Role,
        parts: impl Into<Arc<[Part]>>,
        accept: impl FnOnce(&Message) -> Result<(), E>,
    ) -> Result<MessageId, E> {
        self.push_message(Message::new(MessageId(self.next_id), role, parts), accept)
    }

    /// Appends what a message of another conversation says. What it is made of is shared, and so are its counts.
    ///
    /// # Errors
    /// If it does not fit; see [`push`](Self::push).
    pub fn push_again(&mut self, message: &Message) -> Result<MessageId, InvalidConversation> {
        self.push_message(message.named(MessageId(self.next_id)), |_| Ok(()))
    }

    fn push_message<E: From<InvalidConversation>>(
        &mut self,
        message: Message,
        accept: impl FnOnce(&Message) -> Result<(), E>,
    ) -> Result<MessageId, E> {
        let message = Arc::new(message);
        let mut found = self.violations_of_next(&message);
        let next_id = self.next_id.checked_add(1);
        if next_id.is_none() {
            found.push(Violation::NoIdLeft { message: self.len() });
        }
        if !found.is_empty() {
            return Err(InvalidConversation { violations: found }.into());
        }
        accept(&message)?;
        self.next_id = next_id.unwrap_or(self.next_id);
        let id = message.id();
        self.append(message);
        Ok(id)
    }

    /// What `message` would break if it came next.
    fn violations_of_next(&self, message: &Arc<Message>) -> Vec<Violation> {
        let index = self.len();
        let mut found = Vec::new();
        if let Some((_, result)) = message.result() {
            if !self.open.contains(&result.call) {
                let call = result.call.to_string();
                found.push(Violation::OrphanResult { message: index, call });
            }
        } else if message.role() != Role::Other && message.role() != Role::Tool {
            found.extend(
                self.open.iter().map(|call| Violation::UnansweredCall {
                    message: index,
                    call: call.to_string(),
                }),
            );
        }
        // What concerns this message alone is judged as in a whole list.
        if let Err(violations) = Outline::of(std::slice::from_ref(message)) {
            found.extend(violations.into_iter().filter_map(|violation| match violation {
                Violation::MisplacedPart { role, part, .. } => {
                    Some(Violation::MisplacedPart { message: index, role, part })
                }
                Violation::RepeatedCall { call, .. } => {
                    Some(Violation::RepeatedCall { message: index, call })
                }
                _ => None,
            }));
        }
        found
    }

    fn append(&mut self, message: Arc<Message>) {
        if let Some((_, result)) = message.result()
            && let Some(answered) = self.open.iter().rposition(|open| *open == result.call)
        {
            self.open.remove(answered);
        }
        self.open.extend(message.calls().map(|(_, call)| call.id.clone()));
        Arc::make_mut(&mut self.messages).push(message);
    }

    /// The ids that a fork leaves to the conversation it came from.
    const LEFT_BY_A_FORK: u64 = 1 << 32;

    /// The same generation, for someone else to change while this conversation goes on. The ids of new messages
    /// begin 2³² later there, so that they do not meet those of messages that are appended here meanwhile.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self { next_id: self.next_id.saturating_add(Self::LEFT_BY_A_FORK), ..self.clone() }
    }

    /// This conversation, which was made of a [`fork`](Self::fork) of `base`, with what `now` has beyond `base`
    /// behind it. None if `now` is no continuation of `base`, or what came since does not fit behind this: an id is
    /// given twice, or a call answered.
    ///
    /// ```
    /// use brute_core::{Conversation, Part, Role};
    /// let mut now = Conversation::default();
    /// now.push(Role::User, [Part::text("go")])?;
    /// let base = now.clone();
    /// let mut made = base.fork();
    /// made.push(Role::Assistant, [Part::text("done")])?;
    /// now.push(Role::User, [Part::text("and?")])?;
    /// let rebased = made.rebased(&base, &now);
    /// assert_eq!(rebased.map(|rebased| rebased.len()), Some(3));
    /// # Ok::<(), brute_core::InvalidConversation>(())
    /// ```
    pub fn rebased(mut self, base: &Self, now: &Self) -> Option<Self> {
        let (same, since) = now.messages.split_at_checked(base.len())?;
        // A count by another counter makes a message another one that says the same.
        let is_base = same.iter().zip(base.messages()).all(|(one, other)| one == other);
        let since_ids = base.next_id..now.next_id;
        let is_taken = |message: &Arc<Message>| since_ids.contains(&message.id().0);
        if !is_base || self.messages.iter().any(is_taken) {
            return None;
        }
        for message in since {
            if !self.violations_of_next(message).is_empty() {
                return None;
            }
            self.append(Arc::clone(message));
        }
        self.next_id = self.next_id.max(now.next_id);
        Some(self)
    }

    /// This conversation, read anew, with what is known of the messages that `earlier` begins with as well, their
    /// counts above all; and how many those are. Ids stay this one's.
    pub fn recalling(mut self, earlier: &Self) -> (Self, usize) {
        let pairs = self.messages.iter().zip(earlier.messages());
        let same = pairs.take_while(|(one, other)| one.says_what(other)).count();
        let messages = Arc::make_mut(&mut self.messages);
        for (message, known) in messages.iter_mut().zip(&earlier.messages()[..same]) {
            *message = match message.id() == known.id() {
                true => Arc::clone(known),
                false => Arc::new(known.named(message.id())),
            };
        }
        (self, same)
    }

    /// The most tokens that the messages from `first` on can have: what is counted already as counted, of the
    /// rest its bytes.
    pub fn most_tokens(&self, first: usize, counter: &dyn TokenCounter) -> u64 {
        let messages = self.messages.get(first..).unwrap_or_default();
        messages.iter().map(|message| bounds(message, counter).1).sum()
    }

    /// All messages, oldest first.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The turns and steps of this conversation. Costs a walk over all messages.
    pub fn outline(&self) -> Outline {
        // A conversation is valid by construction, so there is no other case.
        Outline::of(&self.messages).unwrap_or_default()
    }

    /// The ids of the calls that no result has answered, in order.
    pub fn open_calls(&self) -> &[Box<str>] {
        &self.open
    }

    /// The id that the next new message gets: no message has it or a later one.
    pub fn next_id(&self) -> MessageId {
        MessageId(self.next_id)
    }

    /// The same conversation, whose new messages get ids from `next_id` on: earlier ones were those of messages
    /// that are gone.
    #[must_use]
    pub fn with_next_id(self, next_id: MessageId) -> Self {
        Self { next_id: self.next_id.max(next_id.0), ..self }
    }

    /// The size in tokens if this counter has counted all messages already.
    fn measured(&self, counter: &dyn TokenCounter) -> Option<u64> {
        let ledger = &self.ledger;
        let is_whole = ledger.counter == counter.id() && ledger.counted == self.len();
        is_whole.then_some(ledger.tokens)
    }

    /// The size in tokens of all messages. Counts only what this counter has not counted before.
    pub fn measure(&mut self, counter: &dyn TokenCounter) -> u64 {
        self.turn_ledger_to(counter);
        let uncounted = &self.messages[self.ledger.counted..];
        if uncounted.iter().any(|message| message.is_counted_otherwise(counter)) {
            // The counts kept with the messages are another counter's: from now on they are this one's.
            let from = self.ledger.counted;
            for message in &mut Arc::make_mut(&mut self.messages)[from..] {
                if message.is_counted_otherwise(counter) {
                    *message = Arc::new(message.uncounted());
                }
            }
        }
        let uncounted = self.messages[self.ledger.counted..].iter();
        self.ledger.tokens +=
            uncounted.map(|message| u64::from(message.tokens(counter))).sum::<u64>();
        self.ledger.counted = self.len();
        self.ledger.forget_bounds();
        self.ledger.tokens
    }

    /// The bytes of all messages in a request, by estimate; see [`Message::wire_bytes`]. Looks only at what was
    /// appended since it was asked for last.
    pub fn wire_bytes(&mut self) -> u64 {
        let since = &self.messages[self.wire.messages..];
        self.wire.bytes += since.iter().map(|message| message.wire_bytes()).sum::<u64>();
        self.wire.messages = self.len();
        self.wire.bytes
    }

    /// The bytes of all messages in a request, if they are known already.
    pub(crate) fn known_wire_bytes(&self) -> Option<u64> {
        (self.wire.messages == self.len()).then_some(self.wire.bytes)
    }

    /// Whether all messages together are more than `limit` tokens. Settled by what is counted already
    /// and by byte bounds if these suffice, by counting if not.
    pub fn exceeds(&mut self, limit: u64, counter: &dyn TokenCounter) -> bool {
        self.turn_ledger_to(counter);
        let ledger = &mut self.ledger;
        for message in &self.messages[ledger.bounded..] {
            let (least, most) = bounds(message, counter);
            ledger.least += least;
            ledger.most += most;
        }
        ledger.bounded = self.messages.len();
        if ledger.tokens + ledger.most <= limit {
            return false;
        }
        ledger.tokens + ledger.least > limit || self.measure(counter) > limit
    }

    fn turn_ledger_to(&mut self, counter: &dyn TokenCounter) {
        if self.ledger.counter != counter.id() {
            self.ledger = Ledger { counter: counter.id(), ..Ledger::default() };
        }
    }
}

impl Ledger {
    /// The ledger of `messages` messages that are `tokens` tokens together.
    fn settled(counter: &dyn TokenCounter, messages: usize, tokens: u64) -> Self {
        let counted = messages;
        Self { counter: counter.id(), counted, tokens, bounded: counted, least: 0, most: 0 }
    }

    fn forget_bounds(&mut self) {
        (self.bounded, self.least, self.most) = (self.counted, 0, 0);
    }
}

/// Ids that are there before, and the one that leaves none for the next message.
fn violations_of_ids(messages: &[Arc<Message>]) -> Vec<Violation> {
    let last = messages.iter().position(|message| message.id().0 == u64::MAX);
    let mut found: Vec<_> =
        last.map(|message| Violation::NoIdLeft { message }).into_iter().collect();
    // Nearly all conversations count up.
    if !messages.is_sorted_by(|one, next| one.id() < next.id()) {
        let mut seen = HashSet::with_capacity(messages.len());
        let repeated = messages.iter().enumerate().filter(|(_, one)| !seen.insert(one.id()));
        found
            .extend(repeated.map(|(message, one)| Violation::RepeatedId { message, id: one.id() }));
    }
    found
}

/// The fewest and the most tokens that a message can have.
fn bounds(message: &Message, counter: &dyn TokenCounter) -> (u64, u64) {
    if message.is_counted(counter) {
        let tokens = u64::from(message.tokens(counter));
        return (tokens, tokens);
    }
    let media: u64 = message.parts().iter().map(|part| u64::from(part.media_tokens())).sum();
    let framed = media + u64::from(counter.per_message());
    let texts = message.parts().iter().flat_map(Part::texts);
    texts.fold((framed, framed), |(least, most), text| {
        let (fewest, greatest) = counter.bounds(text.len());
        (least + u64::from(fewest), most + u64::from(greatest))
    })
}

/// Two conversations are equal when their messages are.
impl PartialEq for Conversation {
    fn eq(&self, other: &Self) -> bool {
        self.messages == other.messages
    }
}

impl Eq for Conversation {}

#[cfg(test)]
mod tests;
