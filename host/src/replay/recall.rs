//! Recall: how much of what a session goes on to use is still there after a compaction. `docs/recall.md` says what that
//! does and does not see.

use std::collections::HashSet;
use std::ops::AddAssign;

use serde::Serialize;

use super::names::{Name, Needed, Origin};

/// Identifiers that the session goes on to use, and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Share {
    /// How many are needed.
    pub needed: u64,
    /// How many of them are still there.
    pub kept: u64,
    /// How many are not there, but in a message that the archive gives back by a handle which is.
    pub reachable: u64,
}

/// Recall after one compaction, or after several: then identifiers are counted once for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Recall {
    /// Each identifier once.
    pub all: Share,
    /// Each as often as messages of the model use it.
    pub by_use: Share,
    /// Those that a person named, whoever else did.
    pub said_by_people: Share,
    /// Those that a tool named, and no person.
    pub in_results: Share,
}

impl Share {
    /// The share that is still there, from 0 to 1; none if nothing is needed.
    pub fn kept_share(&self) -> Option<f64> {
        (self.needed > 0).then(|| self.kept as f64 / self.needed as f64)
    }

    /// The same with what the archive gives back.
    pub fn reachable_share(&self) -> Option<f64> {
        (self.needed > 0).then(|| (self.kept + self.reachable) as f64 / self.needed as f64)
    }

    fn count(&mut self, times: u64, is_kept: bool, is_reachable: bool) {
        self.needed += times;
        self.kept += if is_kept { times } else { 0 };
        self.reachable += if is_reachable && !is_kept { times } else { 0 };
    }
}

impl AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.needed += other.needed;
        self.kept += other.kept;
        self.reachable += other.reachable;
    }
}

impl AddAssign for Recall {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.by_use += other.by_use;
        self.said_by_people += other.said_by_people;
        self.in_results += other.in_results;
    }
}

impl Recall {
    /// What became of `needed`, of which `kept` is still there and `reachable` can be had back.
    pub(super) fn of(needed: &[Needed], kept: &HashSet<Name>, reachable: &HashSet<Name>) -> Self {
        let mut recall = Self::default();
        for needed in needed {
            let is_kept = kept.contains(&needed.name);
            let is_reachable = reachable.contains(&needed.name);
            recall.all.count(1, is_kept, is_reachable);
            recall.by_use.count(u64::from(needed.uses), is_kept, is_reachable);
            match needed.origin {
                Origin::Person => recall.said_by_people.count(1, is_kept, is_reachable),
                Origin::Tool => recall.in_results.count(1, is_kept, is_reachable),
                Origin::Model => {}
            }
        }
        recall
    }
}
