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
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use proptest::prelude::Strategy as _;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use super::{TestHost, generate, laws};
use crate::{Approximate, Conversation, LayerError, Plan, Strategy};

/// Blocks (turns and steps) of the longest conversation that is tried.
const BLOCKS: u32 = 16;

/// The most characters of a message that are shown, a few lines of a terminal: longer texts are one word many
/// times over.
const SHOWN_CHARS: usize = 300;

/// The most messages that are shown, about a screen of them: whoever reads on would read a log.
const SHOWN_MESSAGES: usize = 30;

/// The smallest conversation that was found on which a layer breaks a law.
#[derive(Debug, Clone, PartialEq)]
pub struct Counterexample {
    /// The law, and how it was broken.
    pub broken: String,
    /// The conversation; empty if the law is about none.
    pub conversation: Conversation,
    /// What it was to be reduced to, in tokens by [`Approximate`].
    pub target: u64,
}

/// The law first, then the conversation, a message a line, with what is long cut short.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.broken)?;
        let messages = self.conversation.messages();
        if messages.is_empty() {
            return Ok(());
        }
        write!(f, "\nwith a target of {} tokens, on this conversation:", self.target)?;
        for message in messages.iter().take(SHOWN_MESSAGES) {
            let whole = format!("{message:?}");
            let shown: String = whole.chars().take(SHOWN_CHARS).collect();
            let rest = if shown.len() < whole.len() { "…" } else { "" };
            write!(f, "\n  {shown}{rest}")?;
        }
        match messages.len().saturating_sub(SHOWN_MESSAGES) {
            0 => Ok(()),
            more => write!(f, "\n  … and {more} more messages"),
        }
    }
}

impl std::error::Error for Counterexample {}

/// Tries `strategy` on `cases` conversations, small ones first, with targets from nothing to more than all of it,
/// with and without a summarizer. The same cases each time.
///
/// # Errors
/// The first law that it breaks, on the smallest conversation that shows it.
pub fn check(strategy: &dyn Strategy, cases: u32) -> Result<(), Box<Counterexample>> {
    try_all(strategy, cases, |_| {})
}

/// Tries `strategy` as [`check`] does, then ends and drops it, and gives each law `limit` on each conversation. What takes longer is left behind on a thread, since nothing can end it.
///
/// # Errors
/// The first law that it breaks, on the smallest conversation that shows it; or the one that it did not come to
/// the end of, on the first.
pub fn check_in_time(
    mut strategy: Box<dyn Strategy>,
    cases: u32,
    limit: Duration,
) -> Result<(), Box<Counterexample>> {
    let (tell, told) = mpsc::channel();
    let work = move || {
        // Who no longer waits does not want to know.
        let begin = |trial| drop(tell.send(Told::Begun(trial)));
        let done = try_all(&*strategy, cases, begin);
        if done.is_err() {
            return drop(tell.send(Told::Done(done)));
        }
        begin(Trial::alone("end"));
        let ended = strategy.end();
        drop(strategy);
        let why = |error: LayerError| Trial::alone("end").broken(&error.to_string());
        drop(tell.send(Told::Done(ended.map_err(why))));
    };
    let mut trial = Trial::alone("start");
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
    Err(trial.broken(&why))
}

/// What is tried next: laws, and what on.
struct Trial {
    law: &'static str,
    conversation: Conversation,
    target: u64,
}

impl Trial {
    /// One that is about no conversation.
    fn alone(law: &'static str) -> Self {
        Self { law, conversation: Conversation::default(), target: 0 }
    }

    fn broken(self, why: &str) -> Box<Counterexample> {
        let Self { law, conversation, target } = self;
        Box::new(Counterexample { broken: format!("{law}: {why}"), conversation, target })
    }
}

/// What is heard of the tries.
enum Told {
    Begun(Trial),
    Done(Result<(), Box<Counterexample>>),
}

/// Tries growing conversations: what never returns cannot be made smaller afterwards.
fn try_all(
    strategy: &dyn Strategy,
    cases: u32,
    begin: impl Fn(Trial),
) -> Result<(), Box<Counterexample>> {
    let (each, over) = (cases / BLOCKS, cases % BLOCKS);
    (1..=BLOCKS).try_for_each(|blocks| {
        // What cannot be shared out goes to the longest.
        let cases = each + u32::from(blocks > BLOCKS - over);
        try_up_to(blocks as usize, strategy, cases, &begin)
    })
}

/// Tries conversations of up to so many blocks.
fn try_up_to(
    blocks: usize,
    strategy: &dyn Strategy,
    cases: u32,
    begin: &impl Fn(Trial),
) -> Result<(), Box<Counterexample>> {
    let max_shrink_iters = 10_000;
    let config = Config { cases, max_shrink_iters, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let tried = (generate::conversation(blocks + 1), 0_u64..110);
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
    use crate::testing::notation;
    use crate::{Edit, Host, Window};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Drops what it may, a run at a time.
    struct DropsOne;

    impl Strategy for DropsOne {
        fn plan(&self, window: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
            let runs = window.free_runs(0..window.len());
            Ok(Plan::of(runs.into_iter().take(1).map(|span| Edit::Drop { span }).collect()))
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

    /// Declines, and panics when it is dropped.
    struct Bomb;

    impl Strategy for Bomb {
        fn plan(&self, _: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
            Ok(Plan::decline())
        }
    }

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("not without a word");
        }
    }

    /// Declines, and ends as it was told to.
    struct Ends(fn() -> Result<(), LayerError>);

    impl Strategy for Ends {
        fn plan(&self, _: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
            Ok(Plan::decline())
        }

        fn end(&mut self) -> Result<(), LayerError> {
            (self.0)()
        }
    }

    #[test]
    fn a_layer_has_to_end_well_and_in_time() {
        let limit = Duration::from_millis(500);
        let ends = |end| Box::new(Ends(end));
        let hangs = ends(|| {
            loop {
                thread::park();
            }
        });
        let cases: [(Box<dyn Strategy>, _); 4] = [
            (Box::new(Bomb), Some("end: it panicked")),
            (ends(|| Err(LayerError::new("no"))), Some("end: no")),
            (hangs, Some("end: not done within 500ms")),
            (ends(|| Ok(())), None),
        ];
        for (strategy, told) in cases {
            let found = check_in_time(strategy, 16, limit);
            assert_eq!(found.err().map(|found| found.to_string()).as_deref(), told);
        }
    }

    #[test]
    fn what_is_shown_of_a_conversation_is_a_screen_of_it() {
        let long = "user wordx100000\n".repeat(100);
        let conversation = notation::conversation(&long);
        let found = Counterexample { broken: "law: no".to_owned(), conversation, target: 7 };
        let shown = found.to_string();
        assert!(shown.chars().count() < (SHOWN_CHARS + 4) * (SHOWN_MESSAGES + 2), "{shown}");
        assert!(shown.ends_with("\n  … and 70 more messages"), "{shown}");
    }

    #[test]
    fn as_many_conversations_are_tried_as_asked_for() {
        for cases in [1, 15, 16, 17, 100] {
            let tried = AtomicU32::new(0);
            let count = |trial: Trial| {
                // With and without a summarizer.
                tried.fetch_add(u32::from(trial.law == "progress"), Ordering::Relaxed);
            };
            try_all(&Hangs(AtomicU32::new(u32::MAX)), cases, count).unwrap();
            assert_eq!(tried.into_inner(), 2 * cases);
        }
    }

    #[test]
    fn a_layer_that_never_returns_is_told_by_the_law_that_it_hangs_in() {
        let limit = Duration::from_millis(500);
        // A run asks twice, since the same window has to give the same plan.
        for (plans, law) in [(0, "progress"), (1, "progress"), (2, "idempotent"), (3, "progress")] {
            let hangs = Box::new(Hangs(AtomicU32::new(plans)));
            let found = check_in_time(hangs, 64, limit).unwrap_err();
            assert_eq!(found.broken, format!("{law}: not done within 500ms"), "{plans}");
            assert!((1..=8).contains(&found.conversation.len()), "{found}");
        }
        assert_eq!(check_in_time(Box::new(Fails), 64, limit), check(&Fails, 64));
    }

    #[test]
    fn a_layer_that_breaks_a_law_is_shown_on_a_small_conversation() {
        let found = check(&DropsOne, 256).unwrap_err();
        assert!(found.broken.starts_with("idempotent: "), "{found}");
        assert!(found.conversation.len() <= 8, "{found}");
        assert_eq!(check(&DropsOne, 256).unwrap_err(), found);
    }
}
