//! Whether a layer keeps the laws, tried on conversations as they really occur.
//!
//! ```
//! use brute_core::testing::conformance;
//! use brute_core::{Host, LayerError, Plan, Strategy, Window};
//!
//! struct Nothing;
//! impl Strategy for Nothing {
//!     fn plan(&self, _: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
//!         Ok(Plan::decline())
//!     }
//! }
//! assert_eq!(conformance::check(&Nothing, 64), Ok(()));
//! ```

use std::fmt;

use proptest::prelude::Strategy as _;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use super::{TestHost, generate, laws};
use crate::{Approximate, Conversation, Plan, Strategy};

/// Blocks (turns and steps) of the longest conversation that is tried.
const BLOCKS: usize = 16;

/// The smallest conversation that was found on which a layer breaks a law.
#[derive(Debug, Clone, PartialEq)]
pub struct Counterexample {
    /// The law, and how it was broken.
    pub broken: String,
    /// The conversation.
    pub conversation: Conversation,
    /// What it was to be reduced to, in tokens by [`Approximate`].
    pub target: u64,
}

/// The law first, then the conversation, a message a line.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.broken)?;
        write!(f, "with a target of {} tokens, on this conversation:", self.target)?;
        for message in self.conversation.messages() {
            write!(f, "\n  {message:?}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Counterexample {}

/// Tries `strategy` on `cases` conversations, with targets from nothing to more than all of it, with and
/// without a summarizer. The same cases each time.
///
/// # Errors
/// The first law that it breaks, on the smallest conversation that shows it.
pub fn check(strategy: &dyn Strategy, cases: u32) -> Result<(), Box<Counterexample>> {
    let max_shrink_iters = 10_000;
    let config = Config { cases, max_shrink_iters, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let tried = (generate::conversation(BLOCKS), 0_u64..110);
    let sized = tried.prop_map(|(conversation, share)| {
        let target = conversation.clone().measure(&Approximate) * share / 100;
        (conversation, target)
    });
    let law = |(conversation, target): (Conversation, u64)| {
        for host in [TestHost::new().keeping(&["read"]), TestHost::saying("All of it, in short.")] {
            let after = laws::check_strategy(strategy, &host, &conversation, target);
            let mut after = after.map_err(TestCaseError::fail)?;
            let again = match after.measure(&Approximate) > target {
                true => host.plan(strategy, &after, target).unwrap_or_default(),
                false => Plan::decline(),
            };
            if !again.is_empty() {
                return Err(TestCaseError::fail("idempotent: a second run changed its own output"));
            }
        }
        Ok(())
    };
    match TestRunner::new_with_rng(config, rng).run(&sized, law) {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, (conversation, target))) => {
            let broken = reason.message().to_owned();
            Err(Box::new(Counterexample { broken, conversation, target }))
        }
        // No case is ever rejected, so that there is no other way to fail.
        Err(TestError::Abort(reason)) => Err(Box::new(Counterexample {
            broken: reason.message().to_owned(),
            conversation: Conversation::default(),
            target: 0,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edit, Host, LayerError, Window};

    /// Drops the newest message, whatever it is.
    struct DropsLast;

    impl Strategy for DropsLast {
        fn plan(&self, window: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
            let last = window.len().saturating_sub(1);
            Ok(Plan::of(vec![Edit::Drop { span: last..window.len() }]))
        }
    }

    /// Fails, whatever it is shown.
    struct Fails;

    impl Strategy for Fails {
        fn plan(&self, _: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
            Err(LayerError::new("not today"))
        }
    }

    #[test]
    fn a_layer_that_fails_does_not_conform() {
        assert_eq!(check(&Fails, 64).unwrap_err().broken, "failed: not today");
    }

    #[test]
    fn a_layer_that_breaks_a_law_is_shown_on_a_small_conversation() {
        let found = check(&DropsLast, 256).unwrap_err();
        assert!(found.broken.starts_with("idempotent: "), "{found}");
        assert!(found.conversation.len() <= 3, "{found}");
        assert_eq!(check(&DropsLast, 256).unwrap_err(), found);
    }
}
