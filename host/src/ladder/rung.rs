//! A rung: a layer in its place in the ladder.

use std::sync::Arc;
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
    /// What happens when the layer fails.
    pub on_error: OnError,
    /// How long it may take, all rounds together. No limit if there is none.
    pub timeout: Option<Duration>,
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
        }
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
