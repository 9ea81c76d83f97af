//! The fields of a message and of a call that are read, each found in one walk over the members.
//! Where there are several of one name, the last one counts.

use super::REASONING;
use crate::formats::json::View;

/// The fields of a message.
#[derive(Debug, Clone, Copy, Default)]
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
    pub(super) fn of(message: View<'a>) -> Self {
        let mut fields = Self::default();
        for (key, value) in message.members() {
            let key = key.text().unwrap_or_default();
            let field = match &*key {
                "role" => &mut fields.role,
                "content" => &mut fields.content,
                "refusal" => &mut fields.refusal,
                "tool_calls" => &mut fields.tool_calls,
                "function_call" => &mut fields.function_call,
                "tool_call_id" => &mut fields.tool_call_id,
                "tool_call_ids" => &mut fields.tool_call_ids,
                "id" => &mut fields.id,
                "name" => &mut fields.name,
                "error" => &mut fields.error,
                "requestor" => &mut fields.requestor,
                other => match REASONING.iter().position(|name| *name == other) {
                    Some(place) => &mut fields.reasoning[place],
                    None => continue,
                },
            };
            *field = Some(value);
        }
        fields
    }
}

/// The fields of a call, or of the function in it.
#[derive(Debug, Clone, Copy, Default)]
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
        let mut fields = Self::default();
        for (key, value) in call.members() {
            let field = match key.text().as_deref() {
                Some("id") => &mut fields.id,
                Some("function") => &mut fields.function,
                Some("custom") => &mut fields.custom,
                Some("name") => &mut fields.name,
                Some("arguments") => &mut fields.arguments,
                Some("input") => &mut fields.input,
                _ => continue,
            };
            *field = Some(value);
        }
        fields
    }
}
