//! The ladder: rungs asked from the top, until the conversation is at target or no rung is left.
//!
//! The host owns the loop. A rung plans on a thread of its own, under its time limit; the plan is
//! applied and checked; what it saved is measured; then the next rung is asked, or nobody. So order
//! means one thing only, read once from the top, and a rung that fails, hangs or plans nonsense costs
//! tokens saved, never the conversation.

mod blockers;
mod budget;
mod climb;
mod compaction;
mod event;
mod gauge;
mod layer;
mod outcome;
mod rung;
mod spending;
mod wire;
mod worker;

pub use budget::{Budget, BudgetError, Trigger};
pub use climb::Compactor;
pub use compaction::Compaction;
pub(crate) use compaction::difference;
pub use event::{Event, Observers};
pub use gauge::{Anchor, Gauge};
pub use layer::Layer;
pub use outcome::{Blocker, BlockerKind, NotAsked, Outcome, RungReport, RungResult};
pub use rung::{Health, OnError, Rung, When};
pub use spending::{Most, Spending, SpendingLimit, Spent, Tally, UsedUp};
pub use wire::{Limit, Wire, WireChange, WireRoom};
