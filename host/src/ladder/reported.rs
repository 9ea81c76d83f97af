//! What the provider counted for the last reply, as the measure that every decision is made by.

use brute_core::{Conversation, TokenCounter};

use super::Budget;

/// The size of a request and its reply, as the provider reported it.
///
/// It covers everything that was sent, system prompt, tool schemas and template included, and the
/// reply's own message, so that only what came after that reply is left to be counted here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported {
    /// All tokens of the request and the reply, cached ones included.
    pub tokens: u64,
    /// How many messages of the conversation that was, the reply among them.
    pub messages: usize,
}

impl Budget {
    /// The same room, measured as the provider measures: what it reported beyond what `counter` finds in
    /// the same messages is overhead, whatever it is. A report of nothing, or of more messages than
    /// there are, no longer describes the conversation and changes nothing.
    #[must_use]
    pub fn anchored(
        self,
        reported: Reported,
        conversation: &Conversation,
        counter: &dyn TokenCounter,
    ) -> Self {
        let Some(covered) = conversation.messages().get(..reported.messages) else { return self };
        if reported.tokens == 0 {
            return self;
        }
        let counted: u64 = covered.iter().map(|message| u64::from(message.tokens(counter))).sum();
        self.with_overhead(reported.tokens.saturating_sub(counted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brute_core::{Approximate, testing::notation};

    #[test]
    fn what_the_report_says_beyond_the_count_is_overhead() {
        let mut conversation = notation::conversation("user go\nassistant okx40\nuser next");
        let counted = conversation.clone().measure(&Approximate);
        let budget = Budget::new(10_000, 0, 5_000, 2_000).unwrap().with_overhead(7);
        let covered: u64 =
            conversation.messages()[..2].iter().map(|m| u64::from(m.tokens(&Approximate))).sum();
        let reported = Reported { tokens: covered + 4_990, messages: 2 };
        let anchored = budget.anchored(reported, &conversation, &Approximate);
        assert_eq!(anchored.overhead(), 4_990);
        assert!(counted < 100 && anchored.is_due(&mut conversation, &Approximate));
        for useless in
            [Reported { tokens: 0, messages: 2 }, Reported { tokens: 9_000, messages: 4 }]
        {
            assert_eq!(budget.anchored(useless, &conversation, &Approximate), budget);
        }
    }
}
