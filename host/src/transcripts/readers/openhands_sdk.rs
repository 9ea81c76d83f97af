//! Events of OpenHands' agent SDK, one JSON file each, or joined in an array.

use std::collections::HashMap;

use super::openhands::condensed;
use super::{Reader, field, owned, records};
use crate::formats::json::View;
use crate::transcripts::entry::{
    Call, Entry, Json, Part, Speaker, arguments, content_parts, is_blank, joined, redacted, thought,
};
use crate::transcripts::log::Log;

/// Reads events.
#[derive(Default)]
pub(super) struct Events {
    /// The entries of each event, by its id.
    entries: HashMap<String, (usize, usize)>,
    /// Where the first entry stood that was forgotten: the summary stands there.
    place: Option<usize>,
}

impl Reader for Events {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        records(value).for_each(|event| self.event(event, line, log));
    }
}

impl Events {
    fn event(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        log.records += 1;
        let first = log.entries.len();
        let kind = field(value, "kind").unwrap_or_default();
        match &*kind {
            "SystemPromptEvent" => system(value, line, log),
            // The newest system prompt is the one that is sent.
            "SystemPromptUpdateEvent" => {
                system(value, line, log);
                log.skip(&kind, "it stands in the place of the system prompt before", line);
            }
            "MessageEvent" => message(value, line, log),
            "ActionEvent" => action(value, line, log),
            "ObservationEvent" => observation(value, line, log),
            "AgentErrorEvent" => failed(value, line, log, "error"),
            "UserRejectObservation" => failed(value, line, log, "rejection_reason"),
            "Condensation" => self.condensation(value, line, log),
            "" => log.skip("event", "it has no `kind`", line),
            other => log.skip(other, "it is told beside the conversation", line),
        }
        if let Some(id) = field(value, "id") {
            self.entries.insert(id.into_owned(), (first, log.entries.len()));
        }
    }

    fn condensation(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        let at = log.entries.len();
        let [ids, summary] = value.fields(["forgotten_event_ids", "summary"]);
        let ids = ids.into_iter().flat_map(View::items).filter_map(View::text);
        // What is forgotten once is not looked at again.
        let spans = ids.filter_map(|id| self.entries.remove(&*id));
        let mut hides: Vec<usize> = spans.flat_map(|(from, to)| from..to).collect();
        hides.sort_unstable();
        let place = self.place.into_iter().chain(hides.first().copied()).min();
        self.place = place;
        log.cut(condensed(line, at, hides, place, summary));
    }
}

fn system(value: View<'_>, line: usize, log: &mut Log<'_>) {
    log.tools(value.get("tools"), line);
    let texts: Vec<Json> = ["system_prompt", "dynamic_context"]
        .into_iter()
        .filter_map(|key| value.get(key)?.get("text"))
        .filter(|text| text.is_string() && !is_blank(text.raw()))
        .map(|text| text.raw().to_owned())
        .collect();
    if !texts.is_empty() {
        log.system = Some(joined(&texts));
    }
}

fn message(value: View<'_>, line: usize, log: &mut Log<'_>) {
    let Some(said) = value.get("llm_message") else {
        log.skip("MessageEvent", "there is nothing in it", line);
        return;
    };
    let speaker = match field(said, "role").as_deref() {
        Some("assistant") => Speaker::Assistant,
        Some("system") => Speaker::System,
        _ => Speaker::User,
    };
    let mut parts = thoughts(said);
    parts.extend(content_parts(said.get("content")));
    parts.extend(content_parts(value.get("extended_content")));
    log.push(Entry::new(speaker, parts, line));
}

/// What the model thought before it said or did what the event is about.
fn thoughts(value: View<'_>) -> Vec<Part> {
    let blocks = value.get("thinking_blocks").into_iter().flat_map(View::items);
    let mut parts: Vec<Part> = blocks
        .map(|block| {
            let found = thought(block).or_else(|| redacted(block));
            found.unwrap_or_else(|| passed_over("thinking_blocks"))
        })
        .collect();
    if value.get("responses_reasoning_item").is_some_and(|item| !item.is_null()) {
        parts.push(passed_over("responses_reasoning_item"));
    }
    let text =
        value.get("reasoning_content").filter(|text| text.is_string() && !is_blank(text.raw()));
    if let Some(text) = text.filter(|_| !parts.iter().any(Part::is_thought)) {
        parts.push(Part::Thought { text: text.raw().to_owned(), signature: None });
    }
    parts
}

fn passed_over(kind: &str) -> Part {
    Part::PassedOver { kind: kind.to_owned(), why: "only the provider can read it" }
}

fn action(value: View<'_>, line: usize, log: &mut Log<'_>) {
    let [id, name, call, thought] =
        value.fields(["tool_call_id", "tool_name", "tool_call", "thought"]);
    let mut parts = thoughts(value);
    parts.extend(content_parts(thought));
    match (id.and_then(View::string), name.filter(|name| name.is_string())) {
        (Some(id), Some(name)) => {
            let given = call.and_then(|call| {
                call.get("arguments").or_else(|| call.get("function")?.get("arguments"))
            });
            let (name, arguments) = (name.raw().to_owned(), arguments(given));
            parts.push(Part::Call(Call { id, name, arguments }));
        }
        _ => log.problem(line, "passed over a call without an id or a name"),
    }
    let reply = owned(value, "llm_response_id");
    log.push(Entry::new(Speaker::Assistant, parts, line).of_reply(reply));
}

fn observation(value: View<'_>, line: usize, log: &mut Log<'_>) {
    let [id, seen] = value.fields(["tool_call_id", "observation"]);
    let Some(id) = id.and_then(View::string) else {
        log.skip("ObservationEvent", "it names no call", line);
        return;
    };
    let content = content_parts(seen.and_then(|seen| seen.get("content")));
    let is_error = seen.and_then(|seen| seen.get("is_error")?.bool()).unwrap_or(false);
    log.push(Entry::result(id, content, is_error, line));
}

fn failed(value: View<'_>, line: usize, log: &mut Log<'_>, key: &str) {
    match value.get("tool_call_id").and_then(View::string) {
        Some(id) => {
            let content = content_parts(value.get(key));
            log.push(Entry::result(id, content, true, line));
        }
        None => log.skip("error", "it names no call", line),
    }
}
