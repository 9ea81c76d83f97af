//! A rung: a layer in its place in the ladder.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use brute_core::Strategy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A layer in its place in the ladder.
#[derive(Clone)]
pub struct Rung {
    /// How events and errors call it: the `name` in `brute.toml`, or the layer's.
    pub name: String,
    /// The strategy that plans, with its options.
    pub strategy: Arc<dyn Strategy>,
    /// Asked only when this holds.
    pub when: Option<When>,
    /// What happens when the layer fails, or is not asked because it kept failing.
    pub on_error: OnError,
    /// How long it may take, all rounds together. No limit if there is none.
    pub timeout: Option<Duration>,
    /// The library that its layer comes from, if it does not ship.
    pub plugin: Option<Arc<Path>>,
    /// How its layer has fared so far.
    pub health: Health,
}

impl Rung {
    /// A rung that is always asked, without a time limit, and passed over when it fails.
    pub fn new(name: impl Into<String>, strategy: impl Strategy + 'static) -> Self {
        Self {
            name: name.into(),
            strategy: Arc::new(strategy),
            when: None,
            on_error: OnError::Next,
            timeout: None,
            plugin: None,
            health: Health::default(),
        }
    }
}

/// How a layer has fared, for all copies of its rung together.
///
/// A layer that fails three times in a row, or that overran its time and may still be at work, is not
/// asked again. A summarizer that fails is not the layer's fault.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<AtomicU32>);

impl Health {
    /// Failures in a row after which a layer is given up.
    const MOST_FAILURES: u32 = 3;

    /// Whether the layer is not asked any more.
    pub fn is_given_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= Self::MOST_FAILURES
    }

    pub(super) fn worked(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    pub(super) fn failed(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn overran(&self) {
        self.0.store(Self::MOST_FAILURES, Ordering::Relaxed);
    }
}

/// When a rung is asked, beside the target not being met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct When {
    /// Only if the request is still larger than this many tokens.
    pub above: u64,
}

/// What happens when a layer fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// The next rung is asked.
    #[default]
    Next,
    /// The descent ends.
    Stop,
}
