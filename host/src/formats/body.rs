//! What stands beside the messages and matters for sizes.

use super::ReadError;
use super::json::{Kind, View, compact};

/// The object that holds the messages, if one does.
pub(super) struct Body<'a>(pub(super) Option<View<'a>>);

impl Body<'_> {
    /// Refuses fields that are read and do not hold what they should: what is passed over would count
    /// as nothing. Null says what a field that is not there says.
    pub(super) fn check(&self) -> Result<(), ReadError> {
        for (key, value) in self.0.into_iter().flat_map(View::members) {
            let expected = match key.text().as_deref() {
                Some("model") if !value.is_string() => "the name of a model, a string,",
                Some("tools" | "functions") if !value.is_array() => "an array of tools",
                Some("max_tokens" | "max_completion_tokens" | "max_output_tokens")
                    if value.kind() != Kind::Number =>
                {
                    "a number of tokens"
                }
                _ => continue,
            };
            if !value.is_null() {
                return Err(wrong(value, expected));
            }
        }
        Ok(())
    }

    /// `model`; in a trajectory of mini-swe-agent, the model of its configuration.
    pub(super) fn model(&self) -> Option<String> {
        let body = self.0?;
        if let Some(model) = body.get("model").and_then(View::string) {
            return Some(model);
        }
        let configured = body.get("info")?.get("config")?.get("model")?;
        configured.get("model_name").and_then(View::string)
    }

    pub(super) fn tools(&self) -> Option<String> {
        let body = self.0?;
        let tools = ["tools", "functions"].into_iter().filter_map(|key| body.get(key));
        tools
            .into_iter()
            .find(|tools| tools.items().next().is_some())
            .map(|tools| compact(tools.raw()))
    }

    pub(super) fn reply_limit(&self) -> Option<u64> {
        let body = self.0?;
        let names = ["max_completion_tokens", "max_tokens", "max_output_tokens"];
        names.into_iter().find_map(|key| body.get(key)?.u64()).or_else(|| {
            let names = ["generationConfig", "generation_config"];
            let config = names.into_iter().find_map(|key| body.get(key))?;
            let names = ["maxOutputTokens", "max_output_tokens"];
            names.into_iter().find_map(|key| config.get(key)?.u64())
        })
    }
}

/// A field that is not as `expected`.
pub(super) fn wrong(value: View<'_>, expected: &'static str) -> ReadError {
    let pointer = value.source().pointer(value.index());
    ReadError::Field { pointer, expected, found: value.describe() }
}
