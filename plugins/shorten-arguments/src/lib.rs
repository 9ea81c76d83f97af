//! The `shorten-arguments` layer: shortens long texts in old tool-call arguments to their head and tail,
//! oldest first, until the conversation is under target. It asks no model.
//!
//! For agents that write files and patches: every file that the model wrote stands in the conversation
//! once more, as an argument, and most layers leave calls alone.
//!
//! The arguments stay JSON of the same shape: the same keys in the same order, the same numbers, lists
//! and objects. Only texts of more than `max-chars` characters lose their middle, and a note in it says
//! how much went and that the call was made with all of it, so that the model does not take the
//! shortened text for what it did. Everything else stays byte for byte. Arguments that are not JSON
//! stay as they are: there is no telling what in them may go.
//!
//! ```toml
//! [[ladder]]
//! layer = "shorten-arguments"
//! keep-steps = 3
//! max-chars = 800
//! except = ["todo_write"]
//! ```

mod arguments;
#[cfg(test)]
mod tests;

use brute_core::{
    Configure, Host, LayerError, OptionsError, PartView, Plan, Relief, Strategy, Window,
    old_messages,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The least `max-chars`: the note takes some 80 characters of it.
const LEAST_CHARS: u32 = 200;

/// What `brute.toml` may say about the layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// How many of the newest steps that call tools keep their arguments as they are, at least 1. A step is a
    /// reply of the model with the results of the tools that it called.
    #[schemars(range(min = 1))]
    pub keep_steps: u32,
    /// Calls of fewer tokens than this stay as they are. 0 looks at every call. Arguments are never replaced
    /// by something larger, whatever this says.
    pub min_tokens: u32,
    /// How many characters of one text stay, half from its beginning and half from its end, the note between
    /// them included; at least 200. A text of no more characters than this stays whole.
    #[schemars(range(min = 200))]
    pub max_chars: u32,
    /// Tools whose arguments stay as they are, by the name that the model calls them.
    pub except: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { keep_steps: 1, min_tokens: 200, max_chars: 400, except: Vec::new() }
    }
}

/// The layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShortenArguments {
    options: Options,
}

impl Configure for ShortenArguments {
    type Options = Options;

    const NAME: &'static str = "shorten-arguments";
    const SUMMARY: &'static str = "shortens long texts in old tool-call arguments, oldest first";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn build(options: Options) -> Result<Self, OptionsError> {
        brute_core::check_keep_steps(options.keep_steps)?;
        if options.max_chars < LEAST_CHARS {
            let message = format!(
                "`max-chars` is {}, and must be at least {LEAST_CHARS}, so that the note has room",
                options.max_chars
            );
            return Err(OptionsError { option: "max-chars", message });
        }
        Ok(Self { options })
    }
}

impl Strategy for ShortenArguments {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        let mut relief = Relief::of(window, host);
        let most = usize::try_from(self.options.max_chars).unwrap_or(usize::MAX);
        for message in old_messages(window, self.options.keep_steps) {
            for (part, view) in message.parts().enumerate() {
                if relief.is_enough() {
                    return Ok(relief.into_plan());
                }
                let PartView::ToolCall { name, arguments, .. } = view else { continue };
                let stays = message.part_tokens(part) < self.options.min_tokens
                    || self.options.except.iter().any(|except| except == name);
                if !stays && let Some(text) = arguments::shortened(arguments, most) {
                    relief.rewrite(&message, part, text);
                }
            }
        }
        Ok(relief.into_plan())
    }
}

#[cfg(feature = "export")]
brute_core::export_plugin!(ShortenArguments);
