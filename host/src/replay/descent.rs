//! One compaction under many orders of the same rungs: what a beginning of rungs does, it does once for all orders
//! that begin so.

use brute_core::Conversation;

use crate::archive::way_back;
use crate::ladder::{Budget, Compactor, RungReport};

/// What became of a conversation under some orders, all of which led to it in the same way.
#[derive(Debug)]
pub(super) struct Descended {
    pub conversation: Conversation,
    /// What each rung that was asked left of it, from the top.
    pub stages: Vec<Conversation>,
    /// Whether the target was met.
    pub fits: bool,
    /// Whether a rung ended the descent though it was not.
    is_stopped: bool,
    /// What each rung did that was asked, from the top.
    pub rungs: Vec<RungReport>,
    /// The orders, by number.
    pub orders: Vec<usize>,
}

/// The rungs of one ladder, and the orders to ask them in.
pub(super) struct Rungs {
    ladder: Compactor,
    orders: Vec<Vec<usize>>,
    /// Whether what goes can be had back by its handle.
    is_archived: bool,
}

impl Rungs {
    pub(super) fn new(ladder: Compactor, orders: Vec<Vec<usize>>, is_archived: bool) -> Self {
        Self { ladder, orders, is_archived }
    }

    pub(super) fn ladder(&self) -> &Compactor {
        &self.ladder
    }

    pub(super) fn is_archived(&self) -> bool {
        self.is_archived
    }

    pub(super) fn orders(&self) -> &[Vec<usize>] {
        &self.orders
    }

    /// The names of the rungs of an order, from the top.
    pub(super) fn names(&self, order: usize) -> Vec<String> {
        let name = |rung: &usize| self.ladder.rungs()[*rung].name.clone();
        self.orders[order].iter().map(name).collect()
    }

    /// Brings `start` down the ladder under each of `orders`.
    pub(super) async fn descend(
        &self,
        start: &Conversation,
        budget: Budget,
        orders: Vec<usize>,
    ) -> Vec<Descended> {
        let begun = Descended {
            conversation: start.fork(),
            stages: Vec::new(),
            fits: false,
            is_stopped: false,
            rungs: Vec::new(),
            orders,
        };
        let (mut open, mut done) = (vec![begun], Vec::new());
        while let Some(now) = open.pop() {
            let asked = now.rungs.len();
            let has_ended = now.fits || now.is_stopped;
            let mut nexts: Vec<(usize, Vec<usize>)> = Vec::new();
            for order in &now.orders {
                match self.orders[*order].get(asked).filter(|_| !has_ended) {
                    None => {}
                    Some(rung) => match nexts.iter_mut().find(|(next, _)| next == rung) {
                        Some((_, orders)) => orders.push(*order),
                        None => nexts.push((*rung, vec![*order])),
                    },
                }
            }
            if nexts.is_empty() {
                done.push(now);
                continue;
            }
            for (rung, orders) in nexts {
                // Were it given up after failures, what it does would hang on which orders came before.
                let rung = self.ladder.rungs()[rung].afresh();
                let mut compactor = self.ladder.clone().with_rungs([rung]).with_budget(budget);
                if self.is_archived {
                    // What a rung above made is no message that an archive has.
                    let first_made = start.next_id();
                    compactor = compactor.retrieving(move |message| {
                        (message.id() < first_made).then(|| way_back(message, ""))
                    });
                }
                let compaction = compactor.compact_now(now.conversation.clone()).await;
                let mut rungs = now.rungs.clone();
                rungs.extend(compaction.rungs);
                let (fits, is_stopped) = (compaction.outcome.fits(), compaction.is_stopped);
                let conversation = compaction.conversation;
                let mut stages = now.stages.clone();
                stages.push(conversation.clone());
                open.push(Descended { conversation, stages, fits, is_stopped, rungs, orders });
            }
        }
        done
    }
}
