//! How large the next request of one conversation is, asked before each of them and seldom by counting.

use brute_core::{Conversation, TokenCounter};

use super::Policy;
use crate::ladder::{Anchor, Budget, Gauge};
use crate::tokens::Tiktoken;

/// What is known of the size of one conversation's requests.
#[derive(Debug, Default)]
pub(super) struct Meter {
    gauge: Gauge,
    /// What the gauge holds for: the counter and the model.
    of: Option<(&'static str, Option<String>)>,
    /// Reports that the gauge has not seen, with the number of messages that each is about. What they count locally is
    /// found when it is needed.
    reports: Vec<(usize, u64)>,
    /// So many messages are so many tokens by the counter.
    counted: (usize, u64),
    schemas: Schemas,
}

/// The size of the tool schemas, counted once.
#[derive(Debug, Default)]
struct Schemas {
    of: Option<(&'static str, String)>,
    tokens: u64,
}

impl Schemas {
    fn tokens(&mut self, text: &str, counter: &dyn TokenCounter) -> u64 {
        let is_same = |(id, known): &(&str, String)| *id == counter.id() && known == text;
        if !self.of.as_ref().is_some_and(is_same) {
            self.of = Some((counter.id(), text.to_owned()));
            self.tokens = u64::from(counter.count(text));
        }
        self.tokens
    }
}

impl Meter {
    /// Reports that are believed before what they are about is counted: few enough that a server which leaves out what
    /// it had in a cache is found out in time, and enough that hardly a check counts.
    const MOST_UNSEEN: usize = 64;

    /// Forgets what was learned of another model, or by another counter. Whether it is another counter.
    pub(super) fn turn_to(&mut self, policy: &Policy) -> bool {
        let counter = policy.counter().id();
        let is_other = self.of.as_ref().is_some_and(|(known, _)| *known != counter);
        let is_same = |(counter, model): &(&str, Option<String>)| {
            *counter == policy.counter().id() && model.as_deref() == policy.model()
        };
        if !self.of.as_ref().is_some_and(is_same) {
            let of = Some((policy.counter().id(), policy.model().map(str::to_owned)));
            *self = Self { of, schemas: std::mem::take(&mut self.schemas), ..Self::default() };
        }
        is_other
    }

    /// Takes in what the provider counted for a request and its reply, which are the first `messages` of the
    /// conversation now.
    pub(super) fn report(&mut self, messages: usize, tokens: u64) {
        // Some servers send zeros.
        if tokens > 0 {
            self.reports.push((messages, tokens));
        }
    }

    /// Whether the newest report and the most that came since leave the next request below `size` for sure.
    pub(super) fn is_below(
        &self,
        size: u64,
        conversation: &Conversation,
        counter: &dyn TokenCounter,
    ) -> bool {
        let Some((messages, reported)) = self.reports.last() else { return false };
        // One that says less than any tokenizer makes of what was counted is none; see `Gauge::observe`.
        let is_odd = (*reported as f64) < Gauge::LEAST_RATIO * self.counted.1 as f64;
        if is_odd || self.gauge.anchor().is_none() || self.reports.len() > Self::MOST_UNSEEN {
            return false;
        }
        let most = conversation.most_tokens(*messages, counter) as f64 * Gauge::MOST_RATIO;
        reported.saturating_add(most as u64) < size
    }

    /// `room` of `policy`, measured by what is known now.
    pub(super) fn budget(
        &mut self,
        room: Budget,
        policy: &Policy,
        conversation: &Conversation,
        tools: Option<&str>,
    ) -> Budget {
        let counter = &**policy.counter();
        match self.anchor(conversation, counter) {
            Some(anchor) => room.anchored(anchor),
            None => {
                let schemas = tools.map_or(0, |text| self.schemas.tokens(text, counter));
                room.with_overhead(schemas + u64::from(Tiktoken::REPLY_PRIMING))
            }
        }
    }

    /// What the provider reported last, and how sizes go on from there.
    pub(super) fn anchor(
        &mut self,
        conversation: &Conversation,
        counter: &dyn TokenCounter,
    ) -> Option<Anchor> {
        for (messages, reported) in std::mem::take(&mut self.reports) {
            let counted = self.counted(messages, conversation, counter);
            if !self.gauge.observe(reported, counted) {
                tracing::warn!(reported, counted, "a report of the provider is not believed");
            }
        }
        self.gauge.anchor()
    }

    /// The tokens of the first `messages` messages.
    fn counted(
        &mut self,
        messages: usize,
        conversation: &Conversation,
        counter: &dyn TokenCounter,
    ) -> u64 {
        let (known, tokens) = if self.counted.0 <= messages { self.counted } else { (0, 0) };
        let more = conversation.messages().get(known..messages).unwrap_or_default();
        let tokens = tokens + more.iter().map(|one| u64::from(one.tokens(counter))).sum::<u64>();
        self.counted = (messages, tokens);
        tokens
    }

    /// Takes in that a compaction made the conversation another one. What the gauge has seen still describes it, by
    /// what is gone; reports that it has not seen do not.
    pub(super) fn turn_over(&mut self) {
        self.counted = (0, 0);
        self.reports.clear();
    }
}
