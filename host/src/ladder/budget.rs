//! How much room there is: the window, what is kept free, when compaction starts and what it aims for.

use brute_core::{Conversation, TokenCounter};

use super::Anchor;

/// Room in tokens. All figures are of a whole request, tool schemas included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    window: u64,
    usable: u64,
    start: u64,
    aim: u64,
    measure: Measure,
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
        })
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
        self.reaches(self.start, conversation, counter)
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
}

impl Trigger {
    /// Growth after which another attempt is worth it: one twentieth of the window.
    const MATERIAL: u64 = 20;

    /// Whether a compaction is due before the next request.
    pub fn is_due(
        &self,
        budget: &Budget,
        conversation: &mut Conversation,
        counter: &dyn TokenCounter,
    ) -> bool {
        budget.is_due(conversation, counter)
            && (self.quiet_below == 0 || budget.reaches(self.quiet_below, conversation, counter))
    }

    /// Takes in that a compaction left messages of `tokens` tokens.
    pub fn settle(&mut self, budget: &Budget, tokens: u64, fits: bool) {
        let growth = (budget.window / Self::MATERIAL).max(1);
        self.quiet_below = if fits { 0 } else { budget.request(tokens).saturating_add(growth) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brute_core::{Approximate, testing::notation};

    use crate::ladder::Gauge;

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
        let size = conversation.measure(&Approximate);
        assert!(trigger.is_due(&budget, &mut conversation, &Approximate));
        trigger.settle(&budget, size, false);
        assert!(!trigger.is_due(&budget, &mut conversation, &Approximate));
        let mut grown = notation::conversation("user wordx100\nassistant wordx30");
        assert!(trigger.is_due(&budget, &mut grown, &Approximate));
        trigger.settle(&budget, size, true);
        assert!(trigger.is_due(&budget, &mut conversation, &Approximate));
    }
}
