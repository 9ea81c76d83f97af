//! What asking a summarizer takes, and how much it may take.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Serialize, Serializer};

/// What the calls of a summarizer took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// How often it was asked.
    #[serde(rename = "summarizer-calls")]
    pub calls: usize,
    /// How many of these were answered.
    #[serde(rename = "summarizer-answers")]
    pub answers: usize,
    /// How many of these calls nobody told the tokens of, so that they were counted here.
    #[serde(rename = "summarizer-estimated-calls")]
    pub estimated: usize,
    /// Tokens of the requests, cached ones included.
    #[serde(rename = "summarizer-input-tokens")]
    pub input: u64,
    /// Those of them that came from a cache.
    #[serde(rename = "summarizer-cached-tokens")]
    pub cached: u64,
    /// Tokens of the answers.
    #[serde(rename = "summarizer-output-tokens")]
    pub output: u64,
    /// What the answers cost, in billionths of a US dollar, if that is known of each; in dollars as JSON.
    #[serde(
        rename = "summarizer-cost-usd",
        serialize_with = "dollars",
        skip_serializing_if = "Option::is_none"
    )]
    pub cost: Option<u64>,
    /// How long it took.
    #[serde(skip)]
    pub duration: Duration,
}

/// Billionths of a dollar as dollars.
pub(super) fn dollars<S: Serializer>(cost: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    match cost {
        Some(cost) => to.serialize_f64(*cost as f64 / 1e9),
        None => to.serialize_none(),
    }
}

/// A call of the summarizer: its sizes, never its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// Tokens of the request.
    pub input: u64,
    /// Those of them that came from a cache.
    pub cached: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Whether these were counted here, since nobody told them.
    pub estimated: bool,
    /// In billionths of a US dollar.
    pub cost: Option<u64>,
    pub duration: Duration,
    /// Why there is no answer.
    pub error: Option<String>,
}

impl Spent {
    pub(super) fn add(&mut self, call: &Call) {
        self.calls += 1;
        self.estimated += usize::from(call.estimated);
        self.input += call.input;
        self.cached += call.cached;
        self.output += call.output;
        self.duration += call.duration;
        // A call without an answer is seldom billed, and nobody tells.
        if call.error.is_none() {
            self.cost = match self.answers {
                0 => call.cost,
                _ => self.cost.zip(call.cost).map(|(all, one)| all + one),
            };
            self.answers += 1;
        }
    }
}

/// The most that one compaction may take of the summarizer, or one session. No limit where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Most {
    /// Calls.
    pub calls: Option<u64>,
    /// Tokens of requests and answers together.
    pub tokens: Option<u64>,
}

/// The most that summaries may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spending {
    /// In each compaction.
    pub compaction: Most,
    /// In all compactions of a session together.
    pub session: Most,
}

/// What was spent so far. A clone is another handle on the same tally.
#[derive(Debug, Clone, Default)]
pub struct Tally(Arc<Mutex<Taken>>);

#[derive(Debug, Default)]
struct Taken {
    calls: u64,
    tokens: u64,
}

impl Tally {
    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.taken().calls
    }

    /// Tokens so far, those of a call under way at the most that it may take.
    pub fn tokens(&self) -> u64 {
        self.taken().tokens
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a compaction may still spend.
#[derive(Debug, Clone)]
pub(super) struct Purse {
    limits: Spending,
    compaction: Tally,
    session: Tally,
}

impl Purse {
    /// A compaction that has spent nothing yet, in a session that has spent `session`.
    pub(super) fn new(limits: Spending, session: Tally) -> Self {
        Self { limits, compaction: Tally::default(), session }
    }

    /// Sets `tokens` aside for a call, if there are so many.
    pub(super) fn set_aside(&self, tokens: u64) -> Result<(), UsedUp> {
        let (mut compaction, mut session) = (self.compaction.taken(), self.session.taken());
        let Spending { compaction: one, session: all } = self.limits;
        for (limit, most, spent, wanted) in [
            (SpendingLimit::MaxCalls, one.calls, compaction.calls, 1),
            (SpendingLimit::MaxTokens, one.tokens, compaction.tokens, tokens),
            (SpendingLimit::SessionMaxCalls, all.calls, session.calls, 1),
            (SpendingLimit::SessionMaxTokens, all.tokens, session.tokens, tokens),
        ] {
            if let Some(most) = most.filter(|most| spent.saturating_add(wanted) > *most) {
                return Err(UsedUp { limit, most, spent, wanted });
            }
        }
        for taken in [&mut compaction, &mut session] {
            taken.calls += 1;
            taken.tokens = taken.tokens.saturating_add(tokens);
        }
        Ok(())
    }

    /// Pays for a call what it took, for which `aside` tokens were set aside.
    pub(super) fn pay(&self, aside: u64, took: u64) {
        for tally in [&self.compaction, &self.session] {
            let taken = &mut *tally.taken();
            taken.tokens = taken.tokens.saturating_sub(aside).saturating_add(took);
        }
    }
}

/// A limit on what summaries may take, as `[summarizer.budget]` calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpendingLimit {
    /// Calls in a compaction.
    MaxCalls,
    /// Tokens in a compaction.
    MaxTokens,
    /// Calls in a session.
    SessionMaxCalls,
    /// Tokens in a session.
    SessionMaxTokens,
}

impl SpendingLimit {
    /// Its name, in kebab-case.
    pub fn name(self) -> &'static str {
        match self {
            Self::MaxCalls => "max-calls",
            Self::MaxTokens => "max-tokens",
            Self::SessionMaxCalls => "session-max-calls",
            Self::SessionMaxTokens => "session-max-tokens",
        }
    }
}

/// A call that was not made, since it would have taken more than is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct UsedUp {
    /// The limit.
    pub limit: SpendingLimit,
    /// How much it allows.
    pub most: u64,
    /// How much was spent.
    pub spent: u64,
    /// How much the call might have taken.
    pub wanted: u64,
}

impl fmt::Display for UsedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { limit, most, spent, wanted } = self;
        let name = limit.name();
        match limit {
            SpendingLimit::MaxCalls | SpendingLimit::SessionMaxCalls => {
                write!(
                    f,
                    "the summarizer's budget is used up: `{name}` allows {most} call{}",
                    if *most == 1 { "" } else { "s" }
                )
            }
            SpendingLimit::MaxTokens | SpendingLimit::SessionMaxTokens => write!(
                f,
                "the summarizer's budget is used up: `{name}` allows {most} tokens, {spent} are spent, and the next \
                 call may take {wanted}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(cost: Option<u64>, error: Option<&str>) -> Call {
        let duration = Duration::from_millis(5);
        let error = error.map(str::to_owned);
        Call { input: 100, cached: 10, output: 7, estimated: cost.is_none(), cost, duration, error }
    }

    #[test]
    fn a_cost_is_told_only_if_it_is_that_of_every_answer() {
        for (calls, cost, estimated) in [
            (vec![], None, 0),
            (vec![call(Some(5), None)], Some(5), 0),
            (vec![call(Some(5), None), call(Some(6), None)], Some(11), 0),
            (vec![call(Some(5), None), call(None, None), call(Some(6), None)], None, 1),
            (vec![call(None, None), call(Some(6), None)], None, 1),
            (vec![call(None, Some("503")), call(Some(6), None)], Some(6), 1),
            (vec![call(None, Some("503"))], None, 1),
        ] {
            let mut spent = Spent::default();
            calls.iter().for_each(|call| spent.add(call));
            assert_eq!((spent.cost, spent.estimated, spent.calls), (cost, estimated, calls.len()));
            assert_eq!(spent.input, 100 * calls.len() as u64);
        }
    }

    #[test]
    fn nothing_is_spent_beyond_any_limit() {
        let limits = |one: (u64, u64), all: (u64, u64)| Spending {
            compaction: Most { calls: Some(one.0), tokens: Some(one.1) },
            session: Most { calls: Some(all.0), tokens: Some(all.1) },
        };
        let ample = (99, 9_999);
        // What each call sets aside and takes, and the limit that the one after all of them meets.
        for (limits, calls, wanted, limit) in [
            (limits((2, 9_999), ample), vec![(50, 50); 2], 1, Some(SpendingLimit::MaxCalls)),
            (limits((0, 9_999), ample), vec![], 1, Some(SpendingLimit::MaxCalls)),
            (limits((99, 100), ample), vec![(60, 60)], 41, Some(SpendingLimit::MaxTokens)),
            (limits((99, 100), ample), vec![(60, 60)], 40, None),
            // Less than was set aside leaves more; a server that took more than it was allowed leaves less.
            (limits((99, 100), ample), vec![(100, 10)], 90, None),
            (limits((99, 100), ample), vec![(10, 95)], 6, Some(SpendingLimit::MaxTokens)),
            (limits(ample, (1, 9_999)), vec![(5, 5)], 5, Some(SpendingLimit::SessionMaxCalls)),
            (limits(ample, (99, 20)), vec![(15, 15)], 6, Some(SpendingLimit::SessionMaxTokens)),
            (Spending::default(), vec![(u64::MAX, u64::MAX); 3], u64::MAX, None),
        ] {
            let purse = Purse::new(limits, Tally::default());
            for (aside, took) in &calls {
                assert_eq!(purse.set_aside(*aside), Ok(()));
                purse.pay(*aside, *took);
            }
            let refused = purse.set_aside(wanted).err();
            assert_eq!(refused.map(|refused| refused.limit), limit, "{limits:?}");
            let words = refused.map_or_else(String::new, |refused| refused.to_string());
            assert!(
                limit.is_none_or(|limit| words.contains(&format!("`{}` allows", limit.name())))
            );
        }
    }

    #[test]
    fn a_session_adds_up_and_a_compaction_begins_anew() {
        let all = Most { calls: Some(3), tokens: None };
        let one = Most { calls: Some(2), tokens: None };
        let limits = Spending { compaction: one, session: all };
        let session = Tally::default();
        let first = Purse::new(limits, session.clone());
        assert!(first.set_aside(10).is_ok() && first.set_aside(10).is_ok());
        assert_eq!(first.set_aside(10).unwrap_err().limit, SpendingLimit::MaxCalls);
        let second = Purse::new(limits, session.clone());
        assert!(second.set_aside(10).is_ok());
        assert_eq!(second.set_aside(10).unwrap_err().limit, SpendingLimit::SessionMaxCalls);
        assert_eq!((session.calls(), session.tokens()), (3, 30));
    }
}
