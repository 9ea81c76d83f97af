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
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

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
    try_all(strategy, cases, |_| {})
}

/// Tries `strategy` as [`check`] does, and gives each law `limit` on each conversation. What takes longer is
/// left behind on a thread, since nothing can end it.
///
/// # Errors
/// The first law that it breaks, on the smallest conversation that shows it; or the one that it did not come to
/// the end of, on the first.
pub fn check_in_time(
    strategy: Arc<dyn Strategy>,
    cases: u32,
    limit: Duration,
) -> Result<(), Box<Counterexample>> {
    let (tell, told) = mpsc::channel();
    let work = move || {
        // Who no longer waits does not want to know.
        let done = try_all(&*strategy, cases, |trial| drop(tell.send(Told::Begun(trial))));
        drop(tell.send(Told::Done(done)));
    };
    let mut trial = Trial { law: "start", conversation: Conversation::default(), target: 0 };
    let why = match thread::Builder::new().spawn(work) {
        Err(error) => format!("there is no thread for it: {error}"),
        Ok(_) => loop {
            match told.recv_timeout(limit) {
                Ok(Told::Begun(next)) => trial = next,
                Ok(Told::Done(done)) => return done,
                Err(mpsc::RecvTimeoutError::Timeout) => break format!("not done within {limit:?}"),
                Err(mpsc::RecvTimeoutError::Disconnected) => break "it panicked".to_owned(),
            }
        },
    };
    let Trial { law, conversation, target } = trial;
    Err(Box::new(Counterexample { broken: format!("{law}: {why}"), conversation, target }))
}

/// What is tried next: laws, and what on.
struct Trial {
    law: &'static str,
    conversation: Conversation,
    target: u64,
}

/// What is heard of the tries.
enum Told {
    Begun(Trial),
    Done(Result<(), Box<Counterexample>>),
}

fn try_all(
    strategy: &dyn Strategy,
    cases: u32,
    begin: impl Fn(Trial),
) -> Result<(), Box<Counterexample>> {
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
            begin(Trial { law: "progress", conversation: conversation.clone(), target });
            let after = laws::check_strategy(strategy, &host, &conversation, target);
            let mut after = after.map_err(TestCaseError::fail)?;
            begin(Trial { law: "idempotent", conversation: after.clone(), target });
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
    use std::sync::atomic::{AtomicU32, Ordering};

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

    /// Declines so many times, and then never returns.
    struct Hangs(AtomicU32);

    impl Strategy for Hangs {
        fn plan(&self, _: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
            let left = |left: u32| left.checked_sub(1);
            while self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_err() {
                thread::park();
            }
            Ok(Plan::decline())
        }
    }

    #[test]
    fn a_layer_that_never_returns_is_told_by_the_law_that_it_hangs_in() {
        let limit = Duration::from_millis(500);
        // A run asks twice, since the same window has to give the same plan.
        for (plans, law) in [(0, "progress"), (1, "progress"), (2, "idempotent"), (3, "progress")] {
            let hangs = Arc::new(Hangs(AtomicU32::new(plans)));
            let found = check_in_time(hangs, 64, limit).unwrap_err();
            assert_eq!(found.broken, format!("{law}: not done within 500ms"), "{plans}");
            assert!(!found.conversation.is_empty());
        }
        assert_eq!(check_in_time(Arc::new(Fails), 64, limit), check(&Fails, 64));
    }

    #[test]
    fn a_layer_that_breaks_a_law_is_shown_on_a_small_conversation() {
        let found = check(&DropsLast, 256).unwrap_err();
        assert!(found.broken.starts_with("idempotent: "), "{found}");
        assert!(found.conversation.len() <= 3, "{found}");
        assert_eq!(check(&DropsLast, 256).unwrap_err(), found);
    }
}
