//! The `drop-reasoning` layer: gives up what the model thought long ago, oldest first, until the
//! conversation is under target. It asks no model.
//!
//! For sessions with models that think aloud. What they thought is in what they did and said next, and
//! most providers do not show a model its earlier thoughts anyway, so this is as cheap as a rung gets.
//!
//! **What is never given up.** Reasoning that a provider checks against a signature stays in the turn
//! that is going on, where the provider still needs it beside the calls that it led to. In turns that
//! are over it goes if `signed` says so, and then all of it from a message, never a part. A message of
//! which nothing but reasoning would be left, or nothing at all, stays as it is.
//!
//! ```toml
//! [[ladder]]
//! layer = "drop-reasoning"
//! keep-steps = 3
//! signed = "drop-in-finished-turns"
//! ```

#[cfg(test)]
mod tests;

use brute_core::{
    Configure, Host, LayerError, MessageView, OptionsError, PartView, Plan, Relief, Strategy,
    Window, old_messages,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `brute.toml` may say about the layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// How many of the newest steps that call tools keep their reasoning, at least 1. A step is a reply of
    /// the model with the results of the tools that it called.
    #[schemars(range(min = 1))]
    pub keep_steps: u32,
    /// Reasoning of fewer tokens than this stays. 0 looks at all of it.
    pub min_tokens: u32,
    /// What becomes of old reasoning that no provider checks.
    pub unsigned: Unsigned,
    /// What becomes of old reasoning that the provider checks against a signature. In the turn that is
    /// going on it always stays.
    pub signed: Signed,
}

impl Default for Options {
    fn default() -> Self {
        Self { keep_steps: 1, min_tokens: 0, unsigned: Unsigned::Drop, signed: Signed::Keep }
    }
}

/// What becomes of old reasoning that no provider checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unsigned {
    /// It goes.
    #[default]
    Drop,
    /// It goes from turns that are over. For models that want all of the current turn's reasoning back.
    DropInFinishedTurns,
}

/// What becomes of old reasoning with a signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Signed {
    /// It stays.
    #[default]
    Keep,
    /// It goes from turns that are over, all of it from a message.
    DropInFinishedTurns,
}

/// The layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DropReasoning {
    options: Options,
}

impl Configure for DropReasoning {
    type Options = Options;

    const NAME: &'static str = "drop-reasoning";
    const SUMMARY: &'static str = "gives up what the model thought long ago, oldest first";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn build(options: Options) -> Result<Self, OptionsError> {
        brute_core::check_keep_steps(options.keep_steps)?;
        Ok(Self { options })
    }
}

impl Strategy for DropReasoning {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        let mut relief = Relief::of(window, host);
        let current = window.outline().current().map_or(0, |turn| turn.span.start);
        for message in old_messages(window, self.options.keep_steps) {
            for group in self.droppable(&message, message.index() < current) {
                if relief.is_enough() {
                    return Ok(relief.into_plan());
                }
                relief.remove(&message, &group);
            }
        }
        Ok(relief.into_plan())
    }
}

impl DropReasoning {
    /// The reasoning parts of `message` that may go: each group as a whole.
    fn droppable(&self, message: &MessageView<'_>, is_over: bool) -> Vec<Vec<usize>> {
        if !message.parts().any(|part| says_something(&part)) {
            return Vec::new();
        }
        let reasoning = |of_kind: bool| {
            message.parts().enumerate().filter_map(move |(index, part)| match part {
                PartView::Reasoning { signed, .. } if signed == of_kind => Some(index),
                _ => None,
            })
        };
        let mut groups: Vec<Vec<usize>> = Vec::new();
        if is_over || self.options.unsigned == Unsigned::Drop {
            groups.extend(reasoning(false).map(|part| vec![part]));
        }
        if is_over && self.options.signed == Signed::DropInFinishedTurns {
            groups.push(reasoning(true).collect());
        }
        let tokens = |group: &[usize]| -> u64 {
            group.iter().map(|part| u64::from(message.part_tokens(*part))).sum()
        };
        groups.retain(|group| tokens(group) >= u64::from(self.options.min_tokens));
        groups
    }
}

/// Whether a message with this part may go without its reasoning: providers refuse an empty one.
fn says_something(part: &PartView<'_>) -> bool {
    match part {
        PartView::Text(text) => !text.trim().is_empty(),
        PartView::Reasoning { .. } => false,
        _ => true,
    }
}

#[cfg(feature = "export")]
brute_core::export_plugin!(DropReasoning);
