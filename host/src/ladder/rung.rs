//! A rung: a layer in its place in the ladder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use brute_core::Strategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Layer;

/// A layer in its place in the ladder.
#[derive(Clone)]
pub struct Rung {
    /// How events and errors call it: the `name` in `brute.toml`, or the layer's.
    pub name: String,
    /// The strategy that plans, with its options.
    pub strategy: Layer,
    /// Asked only when this holds.
    pub when: Option<When>,
    /// What happens when the layer fails, is not asked because it kept failing, or ends for want of budget.
    pub on_error: OnError,
    /// How long it may take, all rounds together. No limit if there is none.
    pub timeout: Option<Duration>,
    /// How its layer has fared so far.
    pub health: Health,
}

impl Rung {
    /// A rung that is always asked, without a time limit, and passed over when it fails.
    pub fn new(name: impl Into<String>, strategy: impl Strategy + 'static) -> Self {
        let name = name.into();
        let strategy = Layer::new(&name, Box::new(strategy), None);
        Self {
            name,
            strategy,
            when: None,
            on_error: OnError::Next,
            timeout: None,
            health: Health::default(),
        }
    }

    /// The same rung, whose layer has not failed yet.
    #[must_use]
    pub fn afresh(&self) -> Self {
        Self { health: Health::default(), ..self.clone() }
    }
}

/// How a layer has fared, for all copies of its rung together.
///
/// A layer that fails three times in a row, or that overran its time and may still be at work, is not
/// asked again. A summarizer that fails is not the layer's fault.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Marks>);

#[derive(Debug, Default)]
struct Marks {
    /// Failures in a row.
    failures: AtomicU32,
    /// It stays so, whatever another descent sees of the layer.
    overran: AtomicBool,
}

impl Health {
    /// Failures in a row after which a layer is given up.
    const MOST_FAILURES: u32 = 3;

    /// Whether the layer is not asked any more.
    pub fn is_given_up(&self) -> bool {
        let failures = self.0.failures.load(Ordering::Relaxed);
        failures >= Self::MOST_FAILURES || self.0.overran.load(Ordering::Relaxed)
    }

    pub(super) fn worked(&self) {
        if !self.is_given_up() {
            self.0.failures.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn failed(&self) {
        self.0.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn overran(&self) {
        self.0.overran.store(true, Ordering::Relaxed);
    }
}

/// When a rung is asked, beside the target not being met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct When {
    /// Only if the request is still larger than this many tokens, or does not fit.
    pub above: u64,
}

/// What happens when a layer fails, or the budget of its summarizer is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// The next rung is asked.
    #[default]
    Next,
    /// The descent ends.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_was_given_up_stays_so_whatever_another_descent_sees() {
        let overran = Health::default();
        overran.overran();
        let failed = Health::default();
        (0..3).for_each(|_| failed.failed());
        for health in [overran, failed] {
            health.clone().worked();
            assert!(health.is_given_up());
        }
        let unsteady = Health::default();
        for _ in 0..5 {
            unsteady.failed();
            unsteady.failed();
            unsteady.worked();
        }
        assert!(!unsteady.is_given_up());
    }
}
