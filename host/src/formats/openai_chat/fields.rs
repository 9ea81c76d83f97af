//! The fields of a message and of a call that are read.

use super::REASONING;
use crate::formats::json::View;

/// The fields of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) role: Option<View<'a>>,
    pub(super) content: Option<View<'a>>,
    pub(super) refusal: Option<View<'a>>,
    pub(super) tool_calls: Option<View<'a>>,
    pub(super) function_call: Option<View<'a>>,
    pub(super) tool_call_id: Option<View<'a>>,
    pub(super) tool_call_ids: Option<View<'a>>,
    pub(super) id: Option<View<'a>>,
    pub(super) name: Option<View<'a>>,
    pub(super) error: Option<View<'a>>,
    pub(super) requestor: Option<View<'a>>,
    /// In the order of [`REASONING`].
    pub(super) reasoning: [Option<View<'a>>; REASONING.len()],
}

impl<'a> Fields<'a> {
    /// The fields of `message`.
    #[rustfmt::skip]
    pub(super) fn of(message: View<'a>) -> Self {
        let [first, second, third, fourth] = REASONING;
        let [
            role, content, refusal, tool_calls, function_call, tool_call_id, tool_call_ids, id, name,
            error, requestor, reasoning @ ..
        ] = message.fields([
            "role", "content", "refusal", "tool_calls", "function_call", "tool_call_id",
            "tool_call_ids", "id", "name", "error", "requestor", first, second, third, fourth,
        ]);
        Self {
            role, content, refusal, tool_calls, function_call, tool_call_id, tool_call_ids, id, name,
            error, requestor, reasoning,
        }
    }
}

/// The fields of a call, or of the function in it. Null says what a field that is not there says.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallFields<'a> {
    pub(super) id: Option<View<'a>>,
    pub(super) function: Option<View<'a>>,
    pub(super) custom: Option<View<'a>>,
    pub(super) name: Option<View<'a>>,
    pub(super) arguments: Option<View<'a>>,
    pub(super) input: Option<View<'a>>,
}

impl<'a> CallFields<'a> {
    /// The fields of `call`.
    pub(super) fn of(call: View<'a>) -> Self {
        let found = call.fields(["id", "function", "custom", "name", "arguments", "input"]);
        let [id, function, custom, name, arguments, input] =
            found.map(|field| field.filter(|value| !value.is_null()));
        Self { id, function, custom, name, arguments, input }
    }
}
