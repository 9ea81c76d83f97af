//! What ladders would have done to a recorded session: the session is walked through call by call, as if live.
//!
//! Level one caps each result, the trigger is asked before each call of the model, and the ladder compacts what is due,
//! as a [`Guard`](crate::guard::Guard) would have. What the model said stays what it said. Several orders of one ladder
//! are walked through together, and what they have in common is done once.
//!
//! ```
//! use std::sync::Arc;
//!
//! use brute_host::core::{Approximate, Conversation, Part, Role};
//! use brute_host::ladder::{Budget, Compactor, Rung};
//! use brute_host::replay::{Recorded, Replay, orders};
//! use brute_host::truncation::{TruncateOptions, Truncator};
//! use brute_host::sliding_window::SlidingWindow;
//! use brute_host::tool_results::ToolResults;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let mut conversation = Conversation::default();
//! for turn in 0..40 {
//!     conversation.push(Role::User, [Part::text(format!("What does src/part{turn}.rs do? {}", "word ".repeat(50)))])?;
//!     conversation.push(Role::Assistant, [Part::text("It does nothing.")])?;
//! }
//! let ladder = Compactor::new(Arc::new(Approximate), Budget::new(2_000, 0, 1_500, 1_000)?)
//!     .rung(Rung::new("tool-results", ToolResults::default()))
//!     .rung(Rung::new("sliding-window", SlidingWindow::default()));
//! let level_one = Truncator::new(TruncateOptions { spill: None, ..TruncateOptions::default() })?;
//! let replay = Replay::new(ladder, level_one);
//! let runs = replay.run(&Recorded::new(conversation), orders(2, 0)).await;
//! assert_eq!(runs.len(), 2);
//! assert!(runs.iter().all(|run| run.totals().compactions > 0 && run.totals().over_window == 0));
//! // One of the rungs had nothing to do here.
//! assert_eq!(runs[0].digest, runs[1].digest);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

mod advice;
mod descent;
mod fates;
mod figures;
mod known;
mod laws;
mod names;
mod orders;
mod own;
mod recall;
mod shrink;
mod trials;
mod walk;

use std::sync::Arc;

use brute_core::Conversation;

pub use advice::{Advice, HeldOut, Measured, Measurements, Sureness, mean};
pub use fates::{Became, Fate, Fates};
pub use figures::{Call, Compacted, Run, Totals};
pub use laws::{Law, Violation};
pub use orders::{Commute, MOST_ORDERS, orders, unbeaten};
pub use own::{Own, OwnCompaction, Reproduced};
pub use recall::{Recall, Share};
pub use trials::{Above, Broken, Commuting, Figure, OrderLaws, Trial, Trials};

use self::descent::Rungs;
use self::known::{KnownCounts, KnownSummaries};
use self::names::Names;
use self::own::OwnWalk;
use self::walk::Path;
use crate::ladder::Compactor;
use crate::truncation::Truncator;

/// A session that was recorded, and what its messages name.
#[derive(Debug)]
pub struct Recorded {
    conversation: Conversation,
    names: Names,
    own: Own,
}

impl Recorded {
    /// A session, all that was said in order. Reads all of its texts.
    pub fn new(conversation: Conversation) -> Self {
        Self { names: Names::of(&conversation), conversation, own: Own::default() }
    }

    /// The same, with what its log tells beside it.
    #[must_use]
    pub fn with_own(self, own: Own) -> Self {
        Self { own, ..self }
    }

    /// What its log tells beside it.
    pub fn own(&self) -> &Own {
        &self.own
    }

    /// All that was said.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }
}

/// A ladder and level one, to walk through sessions with.
pub struct Replay {
    ladder: Compactor,
    level_one: Truncator,
    is_archived: bool,
    is_checked: bool,
    is_traced: bool,
    is_anchored: bool,
}

impl Replay {
    /// A replay of this ladder. `level_one` had better not spill: what it cuts is kept by the record.
    pub fn new(ladder: Compactor, level_one: Truncator) -> Self {
        let counter = KnownCounts::of(Arc::clone(ladder.counter()));
        let ladder = ladder
            .counted_by(Arc::new(counter))
            .summarized_by(|asked| Arc::new(KnownSummaries::of(asked)));
        let [is_archived, is_checked, is_traced, is_anchored] = [false; 4];
        Self { ladder, level_one, is_archived, is_checked, is_traced, is_anchored }
    }

    /// The same where an archive keeps what goes, so that placeholders carry handles.
    #[must_use]
    pub fn archived(self, is_archived: bool) -> Self {
        Self { is_archived, ..self }
    }

    /// The same, where each compaction is made twice and compared as well.
    #[must_use]
    pub fn checked(self) -> Self {
        Self { is_checked: true, ..self }
    }

    /// The same, which also tells of each compaction what became of the recorded messages before it.
    #[must_use]
    pub fn traced(self) -> Self {
        Self { is_traced: true, ..self }
    }

    /// The same, where the size of a request goes by what the session's provider reported, as far as its log has that.
    #[must_use]
    pub fn anchored(self, is_anchored: bool) -> Self {
        Self { is_anchored, ..self }
    }

    /// The ladder.
    pub fn ladder(&self) -> &Compactor {
        &self.ladder
    }

    /// What the ladder does to `session` in each of `orders`, which name its rungs by their places; see [`orders`]. In
    /// the order of `orders`.
    ///
    /// Needs a tokio runtime with timers.
    pub async fn run(&self, session: &Recorded, orders: Vec<Vec<usize>>) -> Vec<Run> {
        let path = self.path(session);
        path.walk(&Rungs::new(self.ladder.clone(), orders, self.is_archived)).await
    }

    /// What happens to `session` if nobody compacts it.
    pub async fn uncompacted(&self, session: &Recorded) -> Run {
        let none = self.ladder.clone().with_rungs([]);
        let runs = self.path(session).walk(&Rungs::new(none, vec![Vec::new()], false)).await;
        runs.into_iter().next().unwrap_or_default()
    }

    /// What the session's own agent did to it, as its log tells: its compactions and no others, nothing capped. Beside
    /// it for each compaction what the log says was before, and what is found here.
    pub fn own(&self, session: &Recorded) -> (Run, Vec<Reproduced>) {
        let walk = self.own_walk(session);
        (walk.run, walk.reproduced)
    }

    fn own_walk(&self, session: &Recorded) -> OwnWalk {
        let (budget, counter) = (self.ladder.budget(), &**self.ladder.counter());
        let Recorded { conversation, names, own } = session;
        OwnWalk::of(conversation, names, own, budget, counter, self.is_anchored, self.is_traced)
    }

    fn path<'s>(&self, session: &'s Recorded) -> Path<'s> {
        let anchors = match self.is_anchored {
            true => self.own_walk(session).anchors,
            false => Vec::new(),
        };
        Path::new(&session.conversation, &session.names, &self.level_one)
            .anchored(anchors)
            .checked(self.is_checked)
            .traced(self.is_traced)
    }

    /// The smallest conversation found by leaving out messages of `failing` to which this ladder in `order` still does
    /// what breaks `law`; `failing` itself where nothing can be left out.
    ///
    /// Needs a tokio runtime with timers.
    pub async fn shrunk(&self, failing: &Conversation, order: &[usize], law: Law) -> Conversation {
        let rungs = Rungs::new(self.ladder.clone(), vec![order.to_vec()], self.is_archived);
        shrink::shrunk(failing, &rungs, law).await
    }
}
