//! The `sliding-window` layer: gives up the oldest turns, then the oldest steps of the task, and leaves a
//! note that says how many messages went. It asks no model.
//!
//! It gives up the least that meets the target, in pieces that stay valid on their own.
//! Instructions, the task, the newest steps and the summaries of earlier compactions always stay.

mod stretch;
#[cfg(test)]
mod tests;

use brute_core::{
    Configure, Edit, Host, LayerError, Mark, MarkKind, OptionsError, Plan, Role, Strategy, Window,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stretch::{Droppable, Size};

/// What `brute.toml` may say about the layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// How many of the newest steps stay, at least 1. A step is a reply of the model with the results of the
    /// tools that it called.
    #[schemars(range(min = 1))]
    pub keep_steps: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { keep_steps: 2 }
    }
}

/// The layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlidingWindow {
    options: Options,
}

impl Configure for SlidingWindow {
    type Options = Options;

    const NAME: &'static str = "sliding-window";
    const SUMMARY: &'static str =
        "drops the oldest turns, then the oldest steps, and leaves a note";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn build(options: Options) -> Result<Self, OptionsError> {
        brute_core::check_keep_steps(options.keep_steps)?;
        Ok(Self { options })
    }
}

impl Strategy for SlidingWindow {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        if window.excess() == 0 {
            return Ok(Plan::decline());
        }
        let keep_steps = usize::try_from(self.options.keep_steps).unwrap_or(usize::MAX);
        let droppable = Droppable::of(window, keep_steps);
        let Some((pieces, note)) = smallest(window, host, &droppable) else {
            return Ok(Plan::decline());
        };
        let edit = |(index, span)| match index {
            0 => Edit::Replace { span, role: Role::User, text: note.clone() },
            _ => Edit::Drop { span },
        };
        Ok(Plan::of(droppable.spans(pieces).into_iter().enumerate().map(edit).collect()))
    }
}

/// How many of the oldest pieces meet the target, and the note that takes their place. All of them if
/// that is not enough; nothing if the note would not be smaller.
fn smallest(
    window: &Window<'_>,
    host: &dyn Host,
    droppable: &Droppable,
) -> Option<(usize, String)> {
    let excess = window.excess();
    let framing = framing(window);
    let mut gone = Size::default();
    for (index, piece) in droppable.pieces().iter().enumerate() {
        gone += *piece;
        let is_last = index + 1 == droppable.pieces().len();
        // A note is written and counted only where it can settle something.
        if gone.tokens < excess && !is_last {
            continue;
        }
        let spans = droppable.spans(index + 1);
        let back = spans.into_iter().flatten().find_map(|message| host.retrieval(message));
        let note = note(gone.messages, back.as_deref());
        let saved = gone.tokens.saturating_sub(framing + u64::from(host.count(&note)));
        if saved >= excess || (is_last && saved > 0) {
            return Some((index + 1, note));
        }
    }
    None
}

/// What the counter charges for a message beside its parts.
fn framing(window: &Window<'_>) -> u64 {
    window.get(0).map_or(0, |message| {
        let parts = (0..message.parts().len()).map(|part| u64::from(message.part_tokens(part)));
        u64::from(message.tokens()).saturating_sub(parts.sum())
    })
}

fn note(messages: u64, back: Option<&str>) -> String {
    let were = if messages == 1 { "message was" } else { "messages were" };
    let body = format!("{messages} earlier {were} removed to save room. ");
    let body = match back {
        // Each that is had back names the next.
        Some(back) => format!("{body}To have them back one by one, the first: {back}"),
        None => format!("{body}Look up again what you need from there."),
    };
    Mark { kind: MarkKind::Note, count: messages }.write(&body)
}
