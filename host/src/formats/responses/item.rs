//! What an item is, and the fields of it that are read.

use crate::formats::json::View;

/// What an item is to a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Somebody speaks.
    Message,
    /// What the model thought; what it then did follows.
    Reasoning,
    /// The model asks for a tool, whose result is an item of its own.
    Call,
    /// What a tool answered.
    Output,
    /// What stands for everything before it.
    Compaction,
    /// Anything else: what the provider's own tools did, references to what it keeps.
    Trace,
}

/// The fields of an item. Null says what a field that is not there says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) kind: Option<View<'a>>,
    pub(crate) role: Option<View<'a>>,
    pub(crate) content: Option<View<'a>>,
    pub(crate) id: Option<View<'a>>,
    pub(crate) call_id: Option<View<'a>>,
    pub(crate) name: Option<View<'a>>,
    pub(crate) output: Option<View<'a>>,
    pub(crate) encrypted_content: Option<View<'a>>,
    /// In the order of [`ARGUMENTS`].
    arguments: [Option<View<'a>>; ARGUMENTS.len()],
}

/// The fields that hold what a tool is asked, by the kind of call.
const ARGUMENTS: [&str; 4] = ["arguments", "input", "action", "operation"];

impl<'a> Fields<'a> {
    pub(crate) fn of(item: View<'a>) -> Self {
        let [one, two, three, four] = ARGUMENTS;
        let found = item.fields([
            "type",
            "role",
            "content",
            "id",
            "call_id",
            "name",
            "output",
            "encrypted_content",
            one,
            two,
            three,
            four,
        ]);
        let found = found.map(|field| field.filter(|value| !value.is_null()));
        let [kind, role, content, id, call_id, name, output, encrypted_content, arguments @ ..] =
            found;
        Self { kind, role, content, id, call_id, name, output, encrypted_content, arguments }
    }

    /// What the tool is asked, and the field that says it.
    pub(crate) fn arguments(&self) -> Option<(&'static str, View<'a>)> {
        let named = ARGUMENTS.into_iter().zip(self.arguments);
        named.into_iter().find_map(|(key, value)| Some((key, value?)))
    }

    /// The name of a tool whose calls are a kind of item.
    pub(crate) fn built_in(&self) -> Option<String> {
        self.kind?.text()?.strip_suffix("_call").map(str::to_owned)
    }
}

impl Kind {
    /// What an item with these fields is; none, if it is no item.
    pub(crate) fn of(fields: &Fields<'_>) -> Option<Self> {
        let Some(kind) = fields.kind.and_then(View::text) else {
            return fields.role.filter(|role| role.is_string()).map(|_| Self::Message);
        };
        let names_call = fields.call_id.is_some_and(View::is_string);
        Some(match &*kind {
            "message" => Self::Message,
            "reasoning" => Self::Reasoning,
            "compaction" | "compaction_summary" => Self::Compaction,
            "function_call" | "custom_tool_call" | "local_shell_call" => Self::Call,
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                Self::Output
            }
            // Of the provider's own tools, those that somebody else runs name their calls.
            kind if kind.ends_with("_call") && names_call => Self::Call,
            kind if kind.ends_with("_output") && names_call => Self::Output,
            _ => Self::Trace,
        })
    }
}
