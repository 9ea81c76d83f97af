//! What stands beside the messages and matters for sizes.

use super::json::{View, compact};

/// The object that holds the messages, if one does.
pub(super) struct Body<'a>(pub(super) Option<View<'a>>);

impl Body<'_> {
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
        ["max_completion_tokens", "max_tokens"].into_iter().find_map(|key| body.get(key)?.u64())
    }
}
