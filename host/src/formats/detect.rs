//! Which format messages are in, told by what only one of them allows.

use super::Format;
use super::json::View;

/// The format of `messages`, which stand in `body`.
///
/// What the body says decides first, then the first message that only one format allows. Messages of
/// plain text fit both; they are read as OpenAI Chat, which is what most tools write.
pub(super) fn format(body: Option<View<'_>>, messages: &[View<'_>]) -> Format {
    body.and_then(of_body)
        .or_else(|| of_list(body, messages))
        .or_else(|| messages.iter().find_map(|message| of_message(*message)))
        .unwrap_or(Format::OpenaiChat)
}

/// Told by the field that the list stands in, which no two formats share but those with `messages`.
fn of_list(body: Option<View<'_>>, messages: &[View<'_>]) -> Option<Format> {
    let first = messages.first()?.index();
    let holds = |key: &str| {
        let list = body?.get(key)?;
        (list.index() <= first && first < list.end_index()).then_some(())
    };
    let responses = holds("input").map(|()| Format::OpenaiResponses);
    responses.or_else(|| holds("contents").map(|()| Format::Gemini))
}

fn of_body(body: View<'_>) -> Option<Format> {
    for (key, value) in body.members() {
        let is_anthropic = match key.text().as_deref() {
            // An object is no instructions of any kind, but what some log says of its machine.
            Some("system") => !value.is_null() && !value.is_object(),
            Some("anthropic_version") => true,
            Some("thinking") => value.get("type").is_some(),
            Some("tools") => value.items().any(|tool| tool.get("input_schema").is_some()),
            _ => false,
        };
        if is_anthropic {
            return Some(Format::Anthropic);
        }
    }
    let tools = body.get("tools")?;
    tools.items().any(|tool| tool.get("function").is_some()).then_some(Format::OpenaiChat)
}

fn of_message(message: View<'_>) -> Option<Format> {
    let parts = message.get("parts").filter(|parts| parts.is_array());
    if parts.is_some_and(|parts| parts.items().all(|part| part.get("type").is_none())) {
        return Some(Format::Gemini);
    }
    // A message of OpenAI Responses may say that it is one; of the others none has a type.
    let kind = message.get("type").and_then(View::text);
    if kind.is_some_and(|kind| kind == "message" || is_item(&kind)) {
        return Some(Format::OpenaiResponses);
    }
    let role = message.get("role").and_then(View::text)?;
    if !matches!(&*role, "user" | "assistant") {
        return Some(Format::OpenaiChat);
    }
    let has = |key: &str| message.get(key).is_some_and(|value| !value.is_null());
    if has("tool_calls") || has("function_call") || has("tool_call_id") {
        return Some(Format::OpenaiChat);
    }
    message.get("content")?.items().find_map(|block| {
        match block.get("type").and_then(View::text).as_deref()? {
            "text" => None,
            "input_text" | "output_text" | "input_image" | "input_file" => {
                Some(Format::OpenaiResponses)
            }
            "image_url" | "input_audio" | "file" | "refusal" => Some(Format::OpenaiChat),
            _ => Some(Format::Anthropic),
        }
    })
}

/// Whether this is what an item of OpenAI Responses calls itself that is no message.
pub(super) fn is_item(kind: &str) -> bool {
    let known = [
        "reasoning",
        "item_reference",
        "compaction",
        "compaction_summary",
        "mcp_list_tools",
        "mcp_approval_request",
        "mcp_approval_response",
        "tool_search_output",
    ];
    known.contains(&kind) || kind.ends_with("_call") || kind.ends_with("_call_output")
}
