//! Orders of a ladder: which there are, which no other beats, and which rungs may change places.

use serde::Serialize;

use super::advice::Measured;

/// Orders beyond which only a sample is tried: those of six rungs.
pub const MOST_ORDERS: usize = 720;

/// The orders of `rungs` rungs: all of them, the given one first, or a sample of [`MOST_ORDERS`] that `seed` decides
/// where there are more.
///
/// ```
/// use brute_host::replay::orders;
/// assert_eq!(orders(2, 0), [[0, 1], [1, 0]]);
/// assert_eq!((orders(3, 0).len(), orders(6, 0).len(), orders(7, 0).len()), (6, 720, 720));
/// assert_eq!(orders(8, 5), orders(8, 5));
/// ```
pub fn orders(rungs: usize, seed: u64) -> Vec<Vec<usize>> {
    let given: Vec<usize> = (0..rungs).collect();
    let mut orders = vec![given.clone()];
    let all: Option<usize> = (1..=rungs).try_fold(1_usize, usize::checked_mul);
    if all.is_some_and(|all| all <= MOST_ORDERS) {
        let mut next = given;
        while to_next_permutation(&mut next) {
            orders.push(next.clone());
        }
        return orders;
    }
    let mut random = SplitMix(seed);
    let mut known = std::collections::HashSet::from([given.clone()]);
    while orders.len() < MOST_ORDERS {
        let mut order = given.clone();
        // Fisher and Yates.
        for last in (1..rungs).rev() {
            order.swap(last, (random.next() % (last as u64 + 1)) as usize);
        }
        if known.insert(order.clone()) {
            orders.push(order);
        }
    }
    orders
}

/// The next in lexicographic order, if there is one.
fn to_next_permutation(order: &mut [usize]) -> bool {
    let Some(at) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else { return false };
    let larger = order.iter().rposition(|item| *item > order[at]).unwrap_or(at);
    order.swap(at, larger);
    order[at + 1..].reverse();
    true
}

/// SplitMix64 of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): the same numbers on
/// every machine.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Which of `all` no other beats: none that costs no more has better recall, and none with no worse recall costs less.
pub fn unbeaten(all: &[Measured]) -> Vec<usize> {
    let beats = |one: &Measured, other: &Measured| {
        let (recall, cost) = (one.totals.recall(), one.cost);
        let over = (one.totals.over_window, other.totals.over_window);
        let no_worse = recall >= other.totals.recall() && cost <= other.cost && over.0 <= over.1;
        let better = recall > other.totals.recall() || cost < other.cost || over.0 < over.1;
        no_worse && better
    };
    let is_unbeaten = |index: &usize| !all.iter().any(|other| beats(other, &all[*index]));
    (0..all.len()).filter(is_unbeaten).collect()
}

/// Whether two rungs may change places where they stand next to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Commute {
    /// Their names.
    pub rungs: [String; 2],
    /// Pairs of runs that differ in nothing but the order of these two.
    pub pairs: u64,
    /// Of these, those that did the same.
    pub same: u64,
}

impl Commute {
    /// Whether every pair did the same.
    pub fn always(&self) -> bool {
        self.same == self.pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Totals;
    use crate::replay::recall::{Recall, Share};

    #[test]
    fn orders_are_all_that_there_are_and_each_once() {
        for rungs in 0..8 {
            let orders = orders(rungs, 7);
            let distinct: std::collections::HashSet<_> = orders.iter().collect();
            assert_eq!(distinct.len(), orders.len());
            assert_eq!(orders[0], (0..rungs).collect::<Vec<_>>());
            for order in &orders {
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, orders[0]);
            }
        }
        assert_ne!(orders(8, 1), orders(8, 2));
    }

    #[test]
    fn an_order_is_beaten_by_one_that_is_no_worse_in_anything() {
        let measured = |cost, kept, over_window| {
            let all = Share { needed: 10, kept, reachable: 0 };
            let recall = Recall { all, ..Recall::default() };
            Measured { totals: Totals { over_window, recall, ..Totals::default() }, cost }
        };
        let all = [(100.0, 5), (90.0, 5), (200.0, 9), (300.0, 9)];
        let all = all.map(|(cost, kept)| measured(cost, kept, 0));
        assert_eq!(unbeaten(&all), [1, 2]);
        // Twins do not beat each other, and a request over the window counts against who makes it.
        assert_eq!(unbeaten(&[all[1], all[1]]), [0, 1]);
        assert_eq!(unbeaten(&[measured(80.0, 9, 1), all[1]]), [0, 1]);
    }
}
