//! Whose log a record is of, by what only that agent writes.

use super::Kind;
use crate::formats::json::View;

/// So many elements of an array are looked at.
const MOST_ELEMENTS: usize = 16;

/// The kind of log that `value` is, or is a record of.
pub(super) fn kind(value: View<'_>) -> Option<Kind> {
    if value.is_array() {
        return value.items().take(MOST_ELEMENTS).find_map(element).or_else(|| cline(value));
    }
    element(value).or_else(|| whole(value))
}

/// A record by itself.
fn element(value: View<'_>) -> Option<Kind> {
    if !value.is_object() {
        // OpenHands wrote pairs of an action and its observation once; LangChain has lists of lists.
        return value.items().take(1).find_map(|inner| element_of_list(inner));
    }
    let [kind, payload, message, method, params, lc, uuid, session] =
        value.fields(["type", "payload", "message", "method", "params", "lc", "uuid", "sessionId"]);
    let name = kind.and_then(View::text).unwrap_or_default();
    let has = |key: &str| value.get(key).is_some();
    let is_object = |value: Option<View<'_>>| value.is_some_and(View::is_object);
    let method_of =
        |value: View<'_>| value.get("method").is_some() && value.get("params").is_some();
    if value.get("format").is_some_and(|format| format.is_text(crate::session_log::FORMAT)) {
        return Some(Kind::BruteSession);
    }
    if lc.is_some() && name == "constructor" {
        return Some(Kind::Langchain);
    }
    if (method.is_some_and(View::is_string) && params.is_some() && is_app_server(method))
        || message.is_some_and(|message| message.is_object() && method_of(message))
    {
        return Some(Kind::CodexAppServer);
    }
    match &*name {
        "session_meta" | "response_item" | "turn_context" | "event_msg" | "compacted"
            if is_object(payload) =>
        {
            return Some(Kind::CodexRollout);
        }
        "user" | "assistant" | "system" | "progress" | "attachment"
            if uuid.is_some() && (session.is_some() || has("parentUuid")) =>
        {
            return Some(Kind::ClaudeCode);
        }
        "summary" if has("leafUuid") => return Some(Kind::ClaudeCode),
        "file-history-snapshot" if has("messageId") => return Some(Kind::ClaudeCode),
        "queue-operation" if session.is_some() => return Some(Kind::ClaudeCode),
        "user" | "assistant" if is_object(message) => return Some(Kind::ClaudeStreamJson),
        "result" if is_object(message) || has("subtype") => return Some(Kind::ClaudeStreamJson),
        "system" if has("subtype") || is_object(message) => return Some(Kind::ClaudeStreamJson),
        "session" if has("cwd") || has("version") => return Some(Kind::Pi),
        "message" if message.is_some_and(|message| message.get("role").is_some()) => {
            return Some(Kind::Pi);
        }
        _ => {}
    }
    event(value).or_else(|| export(value))
}

/// Methods of Codex's app server begin with what they are about.
fn is_app_server(method: Option<View<'_>>) -> bool {
    let method = method.and_then(View::text).unwrap_or_default();
    ["codex/", "thread/", "turn/", "item/", "account/", "app/"]
        .iter()
        .any(|head| method.starts_with(head))
}

fn element_of_list(value: View<'_>) -> Option<Kind> {
    let is_constructor = value.get("type").is_some_and(|kind| kind.is_text("constructor"));
    if is_constructor && value.get("lc").is_some() {
        return Some(Kind::Langchain);
    }
    event(value).filter(|kind| *kind == Kind::Openhands)
}

/// An event of OpenHands.
fn event(value: View<'_>) -> Option<Kind> {
    let [kind, action, observation, source, args, extras, content, timestamp, thought, role] =
        value.fields([
            "kind",
            "action",
            "observation",
            "source",
            "args",
            "extras",
            "content",
            "timestamp",
            "thought",
            "role",
        ]);
    // A message of some provider, with what its agent adds.
    if role.is_some() {
        return None;
    }
    if let Some(kind) = kind.and_then(View::text)
        && timestamp.is_some()
        && (kind.ends_with("Event") || kind.starts_with("Condensation"))
    {
        return Some(Kind::OpenhandsSdk);
    }
    let is_action = action.is_some_and(View::is_string)
        && (args.is_some() || source.is_some() || thought.is_some() || content.is_some());
    let is_observation = observation.is_some_and(View::is_string)
        && content.is_some()
        && (extras.is_some() || source.is_some());
    // SWE-agent's trajectories have both in one object.
    let is_both = action.is_some_and(View::is_string) && observation.is_some_and(View::is_string);
    ((is_action || is_observation) && !is_both).then_some(Kind::Openhands)
}

/// A message of an export of opencode, whole or as a row of its database.
fn export(value: View<'_>) -> Option<Kind> {
    let [info, parts, id, data] = value.fields(["info", "parts", "id", "data"]);
    let is_message = info.is_some_and(View::is_object) && parts.is_some_and(View::is_array);
    let is_row = data.is_some_and(View::is_string)
        && id
            .and_then(View::text)
            .is_some_and(|id| id.starts_with("msg_") || id.starts_with("prt_"));
    (is_message || is_row).then_some(Kind::Opencode)
}

/// A file that is one value.
fn whole(value: View<'_>) -> Option<Kind> {
    let [messages, history, info, version, project, steps, eval, schema, record_type] = value
        .fields([
            "messages",
            "history",
            "info",
            "version",
            "projectHash",
            "steps",
            "eval",
            "schema_version",
            "record_type",
        ]);
    let has = |key: &str| value.get(key).is_some();
    if schema.and_then(View::text).is_some_and(|schema| schema.starts_with("ATIF")) {
        return Some(Kind::Atif);
    }
    if let Some(steps) = steps.filter(|steps| steps.is_array())
        && (has("session_id") || has("agent"))
        && steps.items().all(|step| step.get("step_id").is_some())
    {
        return Some(Kind::Atif);
    }
    if project.is_some() && has("sessionId") {
        return Some(Kind::GeminiCli);
    }
    if eval.is_some_and(View::is_object) && (has("samples") || version.is_some() && has("plan")) {
        return Some(Kind::InspectEval);
    }
    if record_type.is_some() || (has("id") && has("instructions") && has("timestamp")) {
        return Some(Kind::CodexRollout);
    }
    let [message, event] = [messages, history].map(|list| list?.items().next());
    if let Some(message) = message {
        if info.is_some() && message.get("info").is_some() {
            return Some(Kind::Opencode);
        }
        if element(message) == Some(Kind::Langchain) {
            return Some(Kind::Langchain);
        }
    }
    let event = event.and_then(element);
    event.filter(|kind| *kind == Kind::Openhands)
}

/// Messages that look like Anthropic's, but answer calls in plain text: `[name of the tool for …] Result:`.
fn cline(list: View<'_>) -> Option<Kind> {
    let mut called: Vec<String> = Vec::new();
    for message in list.items().take(MOST_ELEMENTS) {
        let is = |role: &str| message.get("role").is_some_and(|of| of.is_text(role));
        let blocks = || message.get("content").into_iter().flat_map(View::items);
        let named =
            |block: View<'_>, name: &str| block.get("type").is_some_and(|of| of.is_text(name));
        if is("user") && blocks().any(|block| named(block, "tool_result")) {
            return None;
        }
        if is("user") && !called.is_empty() {
            let texts = blocks().filter_map(|block| block.get("text").and_then(View::text));
            let mut texts = texts.filter(|text| {
                let rest = text.strip_prefix('[');
                rest.is_some_and(|rest| called.iter().any(|name| rest.starts_with(name.as_str())))
            });
            return texts.next().map(|_| Kind::Cline);
        }
        let calls = blocks().filter(|block| is("assistant") && named(*block, "tool_use"));
        called.extend(calls.filter_map(|call| call.get("name").and_then(View::string)));
    }
    None
}
