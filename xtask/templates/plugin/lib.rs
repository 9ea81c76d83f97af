//! The `{{name}}` layer: shortens the results of old tool calls to their first characters.

use brute_core::{
    Configure, Edit, Host, LayerError, Mark, MarkKind, OptionsError, Plan, Strategy, Window,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `brute.toml` may say about the layer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Options {
    /// How many characters of a result stay, at least 1.
    #[schemars(range(min = 1))]
    pub max_chars: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_chars: 200 }
    }
}

/// The layer.
#[derive(Debug, Clone)]
pub struct Layer {
    options: Options,
}

impl Configure for Layer {
    type Options = Options;

    const NAME: &'static str = "{{name}}";
    const SUMMARY: &'static str = "shortens old tool results to their first characters";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn build(options: Options) -> Result<Self, OptionsError> {
        if options.max_chars == 0 {
            let message = "`max-chars` is 0, and must be at least 1".to_owned();
            return Err(OptionsError { option: "max-chars", message });
        }
        Ok(Self { options })
    }
}

impl Strategy for Layer {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        let mut excess = window.excess();
        let mut edits = Vec::new();
        // The model has not acted on the results of the newest step yet.
        for message in window.messages(0..window.outline().newest_steps(1, true)) {
            if excess == 0 {
                break;
            }
            let index = message.index();
            let Some((part, result)) = message.result() else { continue };
            let is_shortened = Mark::read(result.text).is_some();
            if is_shortened || result.media > 0 || window.is_protected(index) {
                continue;
            }
            let tokens = message.part_tokens(part);
            let start: String = result.text.chars().take(self.options.max_chars).collect();
            let mark = Mark { kind: MarkKind::Cleared, count: tokens.into() };
            let text = mark.write(&format!("{start} … (the start of {tokens} tokens)"));
            let saved = tokens.saturating_sub(host.count(&text));
            if saved > 0 {
                edits.push(Edit::Rewrite { message: index, part, text });
                excess = excess.saturating_sub(saved.into());
            }
        }
        Ok(Plan::of(edits))
    }
}

brute_core::export_plugin!(Layer);

#[cfg(test)]
mod tests {
    use brute_core::testing::{TestHost, conformance, notation};

    use super::*;

    fn layer(max_chars: usize) -> Layer {
        Layer::build(Options { max_chars }).unwrap()
    }

    #[test]
    fn old_results_are_shortened_and_the_newest_stays() {
        let talk = notation::conversation(
            "user task
             assistant call:a
             tool a wordx500
             assistant call:b
             tool b wordx500",
        );
        let host = TestHost::new();
        let plan = host.plan(&layer(8), &talk, 700).unwrap();
        let after = host.apply(&talk, &plan).unwrap().conversation;
        let (_, result) = after.messages()[2].result().unwrap();
        assert!(result.text.ends_with("] word wor … (the start of 625 tokens)"));
        assert_eq!(after.messages()[4], talk.messages()[4]);
    }

    #[test]
    fn the_option_has_a_default_and_a_least_value() {
        assert!(Layer::build(Options::default()).is_ok());
        assert_eq!(Layer::build(Options { max_chars: 0 }).unwrap_err().option, "max-chars");
    }

    #[test]
    fn the_laws_hold() {
        conformance::check(&layer(200), 64).unwrap_or_else(|found| panic!("{found}"));
    }
}
