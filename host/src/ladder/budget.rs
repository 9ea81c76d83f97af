//! How much room there is: the window, what is kept free, when compaction starts and what it aims for.

use std::borrow::Borrow;

use brute_core::{Conversation, Protection, TokenCounter};

use super::wire::tokens_for;
use super::{Anchor, Limit, Wire, WireChange, WireRoom};

/// Room in tokens. All figures are of a whole request, tool schemas included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    window: u64,
    usable: u64,
    start: u64,
    aim: u64,
    measure: Measure,
    wire: Option<WireRoom>,
}

/// How the size of a request follows from that of its messages.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Measure {
    /// As counted, and this much around them.
    Counted { overhead: u64 },
    /// As the provider reported.
    Anchored(Anchor),
}

/// Figures that leave no room for a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BudgetError {
    /// A window of nothing.
    #[error("the window is 0 tokens; say how large it is")]
    NoWindow,
    /// The reply would take the whole window.
    #[error("`reserve` ({reserve}) leaves nothing of a window of {window} tokens")]
    NoRoom {
        /// What is to be kept free.
        reserve: u64,
        /// The window.
        window: u64,
    },
    /// Start and aim are not in order.
    #[error(
        "`compact-to` ({compact_to} tokens) must be above 0 and below `compact-at` ({compact_at} tokens), \
         which must be at most the window ({window} tokens)"
    )]
    OutOfOrder {
        /// Where compaction starts.
        compact_at: u64,
        /// What it aims for.
        compact_to: u64,
        /// The window.
        window: u64,
    },
}

impl Budget {
    /// Room in a window of `window` tokens of which `reserve` stay free for the reply. Compaction
    /// starts at `compact_at`, or earlier if the reserve would be touched, and aims for `compact_to`.
    ///
    /// # Errors
    /// If the figures leave no room.
    pub fn new(
        window: u64,
        reserve: u64,
        compact_at: u64,
        compact_to: u64,
    ) -> Result<Self, BudgetError> {
        if window == 0 {
            return Err(BudgetError::NoWindow);
        }
        if compact_to == 0 || compact_to >= compact_at || compact_at > window {
            return Err(BudgetError::OutOfOrder { compact_at, compact_to, window });
        }
        let usable = window.saturating_sub(reserve);
        if usable == 0 {
            return Err(BudgetError::NoRoom { reserve, window });
        }
        Ok(Self {
            window,
            usable,
            start: compact_at.min(usable),
            aim: compact_to.min(usable),
            measure: Measure::Counted { overhead: 0 },
            wire: None,
        })
    }

    /// The same room for requests that may have no more than `bytes` bytes on the wire, as a second limit: a compaction
    /// starts at the same share of it and aims for the same share as of the window.
    #[must_use]
    pub fn with_max_bytes(self, bytes: Option<u64>) -> Self {
        let wire = bytes.map(|most| WireRoom::new(most, self.window, self.start, self.aim));
        Self { wire, ..self }
    }

    /// The same room with the bytes of `other`, whose shares are not those of this window then.
    #[must_use]
    pub fn with_bytes_of(self, other: &Self) -> Self {
        Self { wire: other.wire, ..self }
    }

    /// The same room, where bytes on the wire follow from the messages as `wire` says, which is asked only if they are
    /// limited.
    #[must_use]
    pub fn on_wire(self, wire: impl FnOnce() -> Wire) -> Self {
        Self { wire: self.wire.map(|room| room.on(wire())), ..self }
    }

    /// The room in bytes on the wire; none if they are not limited.
    pub fn wire(&self) -> Option<&WireRoom> {
        self.wire.as_ref()
    }

    /// The same room, where `tokens` of each request are no messages: tool schemas, reply priming.
    #[must_use]
    pub fn with_overhead(self, tokens: u64) -> Self {
        Self { measure: Measure::Counted { overhead: tokens }, ..self }
    }

    /// The same room, measured as the provider measures. What it reported has the overhead in it.
    #[must_use]
    pub fn anchored(self, anchor: Anchor) -> Self {
        Self { measure: Measure::Anchored(anchor), ..self }
    }

    /// What the provider reported, if the size goes by that.
    pub fn anchor(&self) -> Option<Anchor> {
        match self.measure {
            Measure::Counted { .. } => None,
            Measure::Anchored(anchor) => Some(anchor),
        }
    }

    /// The whole window.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The largest request that leaves the reserve free.
    pub fn usable(&self) -> u64 {
        self.usable
    }

    /// The size of a request whose messages are `messages` tokens by the counter.
    pub fn request(&self, messages: u64) -> u64 {
        match self.measure {
            Measure::Counted { overhead } => messages.saturating_add(overhead),
            Measure::Anchored(anchor) => anchor.request(messages),
        }
    }

    /// What of each request is no messages. Where the size is anchored on a report, what that comes to for a request
    /// without a message: more than schemas and framing if the counter finds too little.
    pub fn overhead(&self) -> u64 {
        self.request(0)
    }

    /// The fewest tokens by the counter that messages have whose request is `size` tokens or more.
    fn messages(&self, size: u64) -> u64 {
        match self.measure {
            Measure::Counted { overhead } => size.saturating_sub(overhead),
            Measure::Anchored(anchor) => anchor.counted(size),
        }
    }

    /// The size of a request that starts a compaction.
    pub fn compact_at(&self) -> u64 {
        self.start
    }

    /// What the messages may occupy when a compaction ends, by the counter: the aim less what surrounds them, 1
    /// at least.
    pub fn target(&self) -> u64 {
        self.messages(self.aim.saturating_add(1)).saturating_sub(1).max(1)
    }

    /// Whether a request with this conversation is large enough to start a compaction.
    pub fn is_due(&self, conversation: &mut Conversation, counter: &dyn TokenCounter) -> bool {
        self.reaches(self.start, conversation, counter) || self.is_due_by_bytes(conversation)
    }

    /// The same for bytes on the wire alone.
    pub(crate) fn is_due_by_bytes(&self, conversation: &mut Conversation) -> bool {
        self.reaches_bytes(self.wire.map_or(0, |room| room.compact_at()), conversation)
    }

    /// Whether a request whose messages are so many tokens, and so many bytes by estimate, is more than the amount of
    /// the window that `size` is, in one or the other. A request that touches the reserve is above every amount.
    pub(super) fn is_above(&self, size: u64, tokens: u64, bytes: u64) -> bool {
        self.request(tokens) > size.min(self.usable)
            || self
                .wire
                .is_some_and(|room| room.is_above(bytes, size.min(self.window), self.window))
    }

    /// What messages of so many tokens, and so many bytes by estimate, are too much in when a compaction ends.
    pub(crate) fn exceeded(&self, tokens: u64, bytes: u64) -> Option<Limit> {
        let (tokens, bytes) = (tokens > self.target(), self.over_bytes(bytes) > 0);
        (tokens || bytes).then(|| Limit::of(tokens, bytes))
    }

    /// The tokens that messages may have, as those are shown it who know of tokens alone: where bytes are too many, so many
    /// fewer as could take those along, times `strain`.
    pub(crate) fn shown_target<P: Borrow<Protection>>(
        &self,
        conversation: &Conversation,
        tokens: u64,
        bytes: u64,
        protection: impl FnOnce() -> P,
        counter: &dyn TokenCounter,
        strain: u64,
    ) -> u64 {
        let excess = self.wire.map_or(0, |room| room.excess(bytes));
        if excess == 0 {
            return self.target();
        }
        let along = tokens_for(excess, conversation, protection().borrow(), counter).max(1);
        tokens.saturating_sub(along.saturating_mul(strain)).clamp(1, self.target())
    }

    /// By how many bytes a request is above what a compaction aims for.
    pub(super) fn over_bytes(&self, bytes: u64) -> u64 {
        self.wire.map_or(0, |room| room.over(bytes))
    }

    /// The bytes of a request before and after, whose messages are so many by estimate.
    pub(crate) fn wire_change(&self, before: u64, after: u64) -> Option<WireChange> {
        let change = |room: WireRoom| WireChange {
            before: room.request(before),
            after: room.request(after),
        };
        self.wire.map(change)
    }

    /// The bytes of all messages by estimate, where they are limited, and else nothing, which costs nothing.
    pub(crate) fn bytes(&self, conversation: &mut Conversation) -> u64 {
        if self.wire.is_some() { conversation.wire_bytes() } else { 0 }
    }

    /// Whether a request with this conversation has `size` bytes or more where bytes are limited.
    fn reaches_bytes(&self, size: u64, conversation: &mut Conversation) -> bool {
        self.wire.is_some_and(|room| room.request(conversation.wire_bytes()) >= size)
    }

    /// Whether a request with this conversation is `size` tokens or more.
    fn reaches(
        &self,
        size: u64,
        conversation: &mut Conversation,
        counter: &dyn TokenCounter,
    ) -> bool {
        match self.messages(size) {
            0 => !conversation.is_empty(),
            least => conversation.exceeds(least - 1, counter),
        }
    }
}

/// When the next compaction of one conversation is due. Quiet after one that did not get it under
/// target, so that no loop can form and no paid summary repeats without gain.
#[derive(Debug, Clone, Default)]
pub struct Trigger {
    /// A request below this size could only repeat what the last compaction could not do.
    quiet_below: u64,
    /// The same in bytes on the wire.
    quiet_below_bytes: u64,
}

impl Trigger {
    /// Growth after which another attempt is worth it: one twentieth of the window, or of the most bytes.
    const MATERIAL: u64 = 20;

    /// Whether a compaction is due before the next request.
    pub fn is_due(
        &self,
        budget: &Budget,
        conversation: &mut Conversation,
        counter: &dyn TokenCounter,
    ) -> bool {
        let bytes = |room: &WireRoom| room.compact_at().max(self.quiet_below_bytes);
        (budget.reaches(budget.start, conversation, counter)
            && (self.quiet_below == 0 || budget.reaches(self.quiet_below, conversation, counter)))
            || budget.reaches_bytes(budget.wire().map_or(0, bytes), conversation)
    }

    /// Takes in that a compaction left `conversation`, and whether that fits.
    pub fn settle(
        &mut self,
        budget: &Budget,
        conversation: &mut Conversation,
        counter: &dyn TokenCounter,
        fits: bool,
    ) {
        *self = Self::default();
        if fits {
            return;
        }
        // What no longer fits is worth another attempt, however little it grew.
        let after = |now: u64, usable: u64, most: u64| {
            let grown = now.saturating_add((most / Self::MATERIAL).max(1));
            if now > usable { grown } else { grown.min(usable.saturating_add(1)) }
        };
        let tokens = conversation.measure(counter);
        // The one that is met starts a compaction where it always does.
        if tokens > budget.target() {
            self.quiet_below = after(budget.request(tokens), budget.usable, budget.window);
        }
        if let Some(room) = budget.wire().filter(|room| room.over(conversation.wire_bytes()) > 0) {
            let bytes = room.request(conversation.wire_bytes());
            self.quiet_below_bytes = after(bytes, room.most(), room.most());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brute_core::{Approximate, testing::notation};

    use crate::ladder::Gauge;

    #[test]
    fn what_fits_by_one_limit_is_quiet_by_the_other_alone() {
        let mut conversation = notation::conversation("system s\nuser wordx640");
        let tokens = conversation.measure(&Approximate);
        let bytes = conversation.wire_bytes();
        let budget = Budget::new(2_000, 0, 1_400, tokens + 10).unwrap();
        let narrow = budget.with_max_bytes(Some(bytes / 2));
        let mut trigger = Trigger::default();
        trigger.settle(&narrow, &mut conversation, &Approximate, false);
        assert_eq!(trigger.quiet_below, 0);
        assert!(trigger.quiet_below_bytes > bytes);
        let low = Budget::new(2_000, 0, 1_400, tokens / 2).unwrap();
        let wide = low.with_max_bytes(Some(bytes * 10));
        trigger.settle(&wide, &mut conversation, &Approximate, false);
        assert!(trigger.quiet_below > tokens);
        assert_eq!(trigger.quiet_below_bytes, 0);
    }

    #[test]
    fn what_no_longer_fits_is_due_however_little_it_grew() {
        let mut conversation = notation::conversation("system s\nuser wordx640");
        let tokens = conversation.measure(&Approximate);
        for (reserve, quiet_below) in [
            (0, tokens + 100),
            // It fits still, and a twentieth of the window more would not.
            (2_000 - tokens - 10, tokens + 11),
            (2_000 - tokens, tokens + 1),
            // It does not fit already.
            (2_000 - tokens + 1, tokens + 100),
        ] {
            let budget = Budget::new(2_000, reserve, 200, 100).unwrap();
            let mut trigger = Trigger::default();
            trigger.settle(&budget, &mut conversation, &Approximate, false);
            assert_eq!(trigger.quiet_below, quiet_below, "{reserve}");
        }
    }

    #[test]
    fn figures_out_of_order_are_refused() {
        assert_eq!(Budget::new(0, 0, 2, 1), Err(BudgetError::NoWindow));
        assert_eq!(Budget::new(9, 9, 2, 1), Err(BudgetError::NoRoom { reserve: 9, window: 9 }));
        for (at, to) in [(5, 5), (5, 6), (5, 0), (10, 5)] {
            assert!(matches!(Budget::new(9, 0, at, to), Err(BudgetError::OutOfOrder { .. })));
        }
    }

    #[test]
    fn the_reserve_and_the_schemas_come_off() {
        let budget = Budget::new(1000, 400, 700, 650).unwrap();
        assert_eq!((budget.compact_at(), budget.target()), (600, 600));
        assert_eq!(budget.with_overhead(50).target(), 550);
        assert_eq!(budget.with_overhead(5000).target(), 1);
    }

    #[test]
    fn what_was_reported_takes_the_place_of_what_was_counted() {
        let mut conversation = notation::conversation("user go\nassistant okx40\nuser next");
        let counted = conversation.measure(&Approximate);
        let budget = Budget::new(10_000, 0, 5_000, 2_000).unwrap().with_overhead(7);
        assert!(!budget.is_due(&mut conversation, &Approximate));
        let mut gauge = Gauge::default();
        gauge.observe(4_999, counted - 1);
        let anchored = gauge.anchor().map(|anchor| budget.anchored(anchor)).unwrap();
        assert_eq!(anchored.request(counted), 5_000);
        assert!(anchored.is_due(&mut conversation, &Approximate));
        // All but a few tokens are no messages, so none would be few enough.
        assert_eq!((anchored.overhead(), anchored.target()), (5_000 - counted, 1));
    }

    #[test]
    fn after_a_partial_the_trigger_waits_for_growth() {
        let budget = Budget::new(400, 0, 100, 50).unwrap();
        let mut trigger = Trigger::default();
        let mut conversation = notation::conversation("user wordx100");
        assert!(trigger.is_due(&budget, &mut conversation, &Approximate));
        trigger.settle(&budget, &mut conversation, &Approximate, false);
        assert!(!trigger.is_due(&budget, &mut conversation, &Approximate));
        let mut grown = notation::conversation("user wordx100\nassistant wordx30");
        assert!(trigger.is_due(&budget, &mut grown, &Approximate));
        trigger.settle(&budget, &mut conversation, &Approximate, true);
        assert!(trigger.is_due(&budget, &mut conversation, &Approximate));
    }

    #[test]
    fn either_limit_starts_a_compaction_and_each_waits_for_its_own_growth() {
        let free = Budget::new(10_000, 0, 7_000, 4_000).unwrap();
        let budget = free.with_max_bytes(Some(1_000_000));
        let mut conversation = notation::conversation(&format!("user go{}", " image".repeat(3)));
        assert!(!budget.is_due(&mut conversation, &Approximate));
        let mut pictured = notation::conversation(&format!("user go{}", " image".repeat(4)));
        assert!(budget.is_due(&mut pictured, &Approximate));
        assert!(!free.is_due(&mut pictured, &Approximate));
        assert!(budget.on_wire(|| Wire::around(200_000)).is_due(&mut conversation, &Approximate));
        let mut trigger = Trigger::default();
        trigger.settle(&budget, &mut pictured, &Approximate, false);
        assert!(!trigger.is_due(&budget, &mut pictured, &Approximate));
        // 5 % more bytes, and 5 % of the window more.
        let mut written =
            notation::conversation(&format!("user go{} wordx9600", " image".repeat(4)));
        assert!(trigger.is_due(&budget, &mut written, &Approximate));
    }
}
