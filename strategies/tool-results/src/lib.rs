//! The `tool-results` layer: replaces the text of old tool results by a short placeholder, oldest first,
//! until the conversation is under target. It asks no model.
//!
//! Every call keeps its result, so the dialogue stays valid and the model still sees what it did. Only
//! what it read is gone, and the placeholder says how to get that back.

mod excerpt;
mod placeholder;
#[cfg(test)]
mod tests;

use brute_core::{
    Configure, Edit, Host, LayerError, Mark, MarkKind, MessageView, OptionsError, Plan, ResultView,
    Strategy, Window,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::placeholder::Placeholder;

/// What `brute.toml` may say about the layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// How many of the newest steps that call tools keep their results as they are, at least 1: the model
    /// has not acted on the newest results yet. A step is a reply of the model with the results of the
    /// tools that it called.
    #[schemars(range(min = 1))]
    pub keep_steps: u32,
    /// Results of fewer tokens than this, images included, stay as they are. 0 looks at every result. A
    /// result is never replaced by something larger, whatever this says.
    pub min_tokens: u32,
    /// Which part of an old result stays behind the placeholder.
    pub keep: Keep,
    /// How much of an old result stays, in tokens, at least 1. Whole lines stay where lines are short enough.
    /// Has no effect with `keep = "nothing"`.
    #[schemars(range(min = 1))]
    pub max_tokens: u32,
    /// Tools whose results stay as they are, by the name that the model calls them.
    pub except: Vec<String>,
    /// The least that one run of this layer must free, in tokens, to be worth a change: an edit in the middle
    /// of a conversation makes the provider's prompt cache useless from there on. If the target is met with
    /// less, the layer goes on past it until so much is freed; if so much cannot be freed, it changes
    /// nothing. 0 turns this off.
    pub clear_at_least: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keep_steps: 1,
            min_tokens: 200,
            keep: Keep::Nothing,
            max_tokens: 100,
            except: Vec::new(),
            clear_at_least: 0,
        }
    }
}

/// Which part of an old result stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Nothing but the placeholder.
    #[default]
    Nothing,
    /// The beginning.
    Head,
    /// The end.
    Tail,
    /// The beginning and the end, half of `max-tokens` each.
    Ends,
}

/// The layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResults {
    options: Options,
}

impl Configure for ToolResults {
    type Options = Options;

    const NAME: &'static str = "tool-results";
    const SUMMARY: &'static str = "replaces old tool results by placeholders, oldest first";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn build(options: Options) -> Result<Self, OptionsError> {
        brute_core::check_keep_steps(options.keep_steps)?;
        if options.max_tokens == 0 {
            let message = "`max-tokens` is 0, and must be at least 1 token (to keep nothing, say \
                           `keep = \"nothing\"`)";
            return Err(OptionsError { option: "max-tokens", message: message.to_owned() });
        }
        Ok(Self { options })
    }
}

impl Strategy for ToolResults {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        if window.excess() == 0 {
            return Ok(Plan::decline());
        }
        let least = u64::from(self.options.clear_at_least);
        let wanted = window.excess().max(least);
        let keep_steps = usize::try_from(self.options.keep_steps).unwrap_or(usize::MAX);
        let kept = window.outline().newest_steps(keep_steps, true);
        let mut edits = Vec::new();
        let mut freed = 0;
        let mut body = String::new();
        for message in window.messages(0..kept) {
            if freed >= wanted {
                break;
            }
            if let Some((edit, saved)) = self.cleared(window, host, &message, &mut body) {
                edits.push(edit);
                freed += u64::from(saved);
            }
        }
        Ok(if freed < least { Plan::decline() } else { Plan::of(edits) })
    }
}

impl ToolResults {
    /// The edit that clears the result in `message`, and the tokens that it saves. `body` is where the
    /// placeholder is put together.
    fn cleared(
        &self,
        window: &Window<'_>,
        host: &dyn Host,
        message: &MessageView<'_>,
        body: &mut String,
    ) -> Option<(Edit, u32)> {
        let (part, result) = message.result()?;
        let tokens = message.part_tokens(part);
        let tool = window.tool_of(message.index()).unwrap_or("a tool");
        let stays = tokens < self.options.min_tokens
            || window.is_protected(message.index())
            || self.options.except.iter().any(|except| except == tool)
            || is_cleared(&result);
        if stays {
            return None;
        }
        let retrieval = host.retrieval(message.index());
        let text = Placeholder { tool, tokens, result, retrieval }.write(
            self.options.keep,
            self.options.max_tokens,
            &|text| host.count(text),
            body,
        );
        let saved = tokens.checked_sub(host.count(&text)).filter(|saved| *saved > 0)?;
        Some((Edit::Rewrite { message: message.index(), part, text }, saved))
    }
}

fn is_cleared(result: &ResultView<'_>) -> bool {
    Mark::read(result.text).is_some_and(|mark| mark.kind == MarkKind::Cleared)
}
