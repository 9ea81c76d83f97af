//! What a model costs.

use brute_core::CompletionUsage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Price {
    /// What a million tokens cost that are sent, in US dollars. Left out, what is known about the model, or nothing.
    #[schemars(range(min = 0), example = 0.15)]
    pub input: f64,
    /// What those of them cost that the provider has in its cache. Left out, as much as the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), example = 0.075)]
    pub cached: Option<f64>,
    /// What a million tokens of replies cost, in US dollars.
    #[schemars(range(min = 0), example = 0.6)]
    pub output: f64,
}

/// Dollars for a million tokens are so many billionths of a dollar for one.
const BILLIONTHS: f64 = 1_000.0;

/// More than any model will ever cost, in dollars for a million tokens.
const MOST: f64 = 1e6;

impl Price {
    /// What `usage` costs, in billionths of a US dollar.
    ///
    /// ```
    /// use brute_host::core::CompletionUsage;
    /// use brute_host::models::Price;
    ///
    /// let price = Price { input: 0.15, cached: Some(0.075), output: 0.6 };
    /// let usage = CompletionUsage { input: 2_000, cached: 1_000, output: 500, cost: None };
    /// assert_eq!(price.of(&usage), 525_000); // 0.000525 dollars
    /// ```
    #[must_use]
    pub fn of(&self, usage: &CompletionUsage) -> u64 {
        let cached = usage.cached.min(usage.input);
        let fresh = (usage.input - cached) as f64 * self.input;
        let cached = cached as f64 * self.cached.unwrap_or(self.input);
        ((fresh + cached + usage.output as f64 * self.output) * BILLIONTHS).round() as u64
    }

    /// The first of its numbers that is no price.
    pub(super) fn fault(&self) -> Option<(&'static str, f64)> {
        let cached = self.cached.unwrap_or_default();
        let all = [("input", self.input), ("cached", cached), ("output", self.output)];
        all.into_iter().find(|(_, price)| !(0.0..=MOST).contains(price))
    }
}
