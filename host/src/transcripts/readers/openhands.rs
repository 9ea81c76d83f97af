//! Events of OpenHands: an action and the observation that it caused are a call and its result.
//!
//! Ids are few and restart with each session; the oldest logs have none at all, and there what follows an
//! action is its observation. A file of an evaluation has a session in each line.

use std::collections::{BTreeMap, HashMap};

use super::{Reader, field, number, owned, records};
use crate::formats::Usage;
use crate::formats::json::{View, compact, quote};
use crate::transcripts::entry::{
    Call, Entry, Image, Part, Speaker, arguments, content_parts, is_blank, text_part,
};
use crate::transcripts::log::{Cut, Hidden, Log};

/// Actions that are no business of the model.
const FILLER: [&str; 5] = ["change_agent_state", "recall", "null", "start", "pause"];

/// Reads events.
#[derive(Default)]
pub(super) struct Events {
    /// The call that each action made, by the id of its event.
    calls: HashMap<u64, String>,
    /// The entries of each event.
    entries: BTreeMap<u64, (usize, usize)>,
    /// The newest call, for observations that name no cause.
    newest: Option<String>,
    count: usize,
    /// Where the first entry stood that was forgotten: the summary stands there.
    place: Option<usize>,
}

impl Reader for Events {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        if let Some(history) = value.get("history").filter(|history| history.is_array()) {
            *self = Self::default();
            log.begin(name(value, log));
            self.events(history, line, log);
            return;
        }
        self.events(value, line, log);
    }
}

impl Events {
    /// An event or a list of them, in which an action and its observation may be a pair.
    fn events(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        for event in records(value).flat_map(records) {
            self.event(event, line, log);
        }
    }

    fn event(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        log.records += 1;
        let first = log.entries.len();
        let [id, action, observation] = value.fields(["id", "action", "observation"]);
        let text = |field: Option<View<'_>>| field.and_then(View::string);
        match (text(action), text(observation)) {
            (Some(action), _) => self.action(&action, value, line, log),
            (None, Some(observation)) => self.observation(&observation, value, line, log),
            (None, None) => log.skip("event", "it is neither an action nor an observation", line),
        }
        if let Some(id) = id.and_then(View::u64) {
            self.entries.insert(id, (first, log.entries.len()));
        }
    }
}

/// What an evaluation calls a session.
fn name(value: View<'_>, log: &Log<'_>) -> String {
    let issue = || value.get("issue").map(|issue| format!("issue {}", number(issue, "number")));
    let id = owned(value, "instance_id");
    id.or_else(issue).unwrap_or_else(|| log.names().len().to_string())
}

impl Events {
    fn action(&mut self, action: &str, event: View<'_>, line: usize, log: &mut Log<'_>) {
        // Older events hold the arguments beside the name of the action.
        let args = event.get("args").unwrap_or(event);
        let source = field(event, "source").unwrap_or_default();
        match action {
            "system" => {
                log.system = args
                    .get("content")
                    .filter(|text| text.is_string())
                    .map(|text| text.raw().to_owned());
                log.tools(args.get("tools"), line);
            }
            "message" => {
                let is_agent = source == "agent"
                    || (source.is_empty() && !log.entries.is_empty() && self.newest.is_some());
                let speaker = if is_agent { Speaker::Assistant } else { Speaker::User };
                let mut parts = content_parts(args.get("content"));
                let images = args.get("image_urls").or_else(|| args.get("images_urls"));
                let images = images.into_iter().flat_map(View::items);
                parts.extend(images.map(|url| match Image::at(url) {
                    Some(image) => Part::Image(image),
                    None => {
                        Part::PassedOver { kind: "image_urls".to_owned(), why: "it has no image" }
                    }
                }));
                let usage = is_agent.then(|| usage(event, log)).flatten();
                log.push(Entry::new(speaker, parts, line).with_usage(usage));
            }
            "condensation" => self.condensation(args, line, log),
            filler if FILLER.contains(&filler) || source == "environment" => {
                log.skip(filler, "it is told beside the conversation", line);
            }
            "finish" | "reject" if event.get("tool_call_metadata").is_none() => {
                let texts = ["final_thought", "thought"].map(|key| text_part(args.get(key)));
                let texts: Vec<Part> = texts.into_iter().flatten().take(1).collect();
                log.push(Entry::new(Speaker::Assistant, texts, line));
            }
            // A person's own command is no call of the model.
            _ if source == "user" => {
                let words = format!("{action}: {}", args.raw());
                log.push(Entry::text(Speaker::User, quote(&words), line));
            }
            _ => self.call(action, args, event, line, log),
        }
    }

    fn call(
        &mut self,
        action: &str,
        args: View<'_>,
        event: View<'_>,
        line: usize,
        log: &mut Log<'_>,
    ) {
        self.count += 1;
        let meta = event.get("tool_call_metadata").filter(|meta| meta.is_object());
        let response = meta.and_then(|meta| meta.get("model_response"));
        let id =
            meta.and_then(|meta| field(meta, "tool_call_id")).map(std::borrow::Cow::into_owned);
        let id = id.unwrap_or_else(|| format!("call_{}", self.count));
        let name = meta.and_then(|meta| meta.get("function_name")).filter(|name| name.is_string());
        let name = name.map_or_else(|| quote(action), |name| name.raw().to_owned());
        let said = response.and_then(said);
        let given = said.and_then(|said| given(said, &id));
        let arguments = match given {
            Some(given) => arguments(Some(given)),
            None => own_arguments(args),
        };
        // What the model said stands with the first of its calls, and in each response as a whole.
        let text = match said {
            Some(said) => content_parts(said.get("content")),
            None => content_parts(args.get("thought")),
        };
        let reply =
            response.and_then(|response| field(response, "id")).map(std::borrow::Cow::into_owned);
        let is_first =
            reply.is_none() || log.entries.iter().rev().take(64).all(|entry| entry.reply != reply);
        for key in ["reasoning_content", "thinking_blocks"].into_iter().filter(|_| is_first) {
            if said.and_then(|said| said.get(key)).is_some_and(|thought| !thought.is_null()) {
                log.skip(key, "its agent does not send it again", line);
            }
        }
        let mut parts = if is_first { text } else { Vec::new() };
        parts.push(Part::Call(Call { id: id.clone(), name, arguments }));
        let usage = usage(event, log);
        log.push(Entry::new(Speaker::Assistant, parts, line).of_reply(reply).with_usage(usage));
        if let Some(event) = event.get("id").and_then(View::u64) {
            self.calls.insert(event, id.clone());
        }
        self.newest = Some(id);
    }

    fn observation(&mut self, kind: &str, event: View<'_>, line: usize, log: &mut Log<'_>) {
        let cause = event.get("cause").and_then(View::u64);
        let by_cause = cause.and_then(|cause| self.calls.get(&cause).cloned());
        let meta = event.get("tool_call_metadata").filter(|meta| meta.is_object());
        let named =
            meta.and_then(|meta| field(meta, "tool_call_id")).map(std::borrow::Cow::into_owned);
        let has_ids = event.get("id").is_some();
        let call = by_cause.or(named).or_else(|| self.newest.take().filter(|_| !has_ids));
        shown(event, line, log);
        let is_filler = matches!(kind, "agent_state_changed" | "null" | "recall" | "condense");
        match call {
            Some(call) if !is_filler => {
                let content = content_parts(event.get("content"));
                let is_error = kind == "error";
                log.push(Entry::result(call, content, is_error, line));
            }
            // What a person did, or an error that no call is to blame for, is told to the model.
            _ if !is_filler && matches!(kind, "error" | "run" | "user_rejected") => {
                let parts = content_parts(event.get("content"));
                log.push(Entry::new(Speaker::User, parts, line));
            }
            _ => log.skip(kind, "it is told beside the conversation", line),
        }
    }

    fn condensation(&mut self, args: View<'_>, line: usize, log: &mut Log<'_>) {
        let at = log.entries.len();
        let [ids, start, end, summary] = args.fields([
            "forgotten_event_ids",
            "forgotten_events_start_id",
            "forgotten_events_end_id",
            "summary",
        ]);
        let ids: Vec<u64> = match (start.and_then(View::u64), end.and_then(View::u64)) {
            (Some(start), Some(end)) => {
                let end = end.max(start);
                self.entries.range(start..=end).map(|(id, _)| *id).collect()
            }
            _ => ids.into_iter().flat_map(View::items).filter_map(View::u64).collect(),
        };
        // What is forgotten once is not looked at again.
        let spans = ids.iter().filter_map(|id| self.entries.remove(id));
        let mut hides: Vec<usize> = spans.flat_map(|(from, to)| from..to).collect();
        hides.sort_unstable();
        let place = self.place.into_iter().chain(hides.first().copied()).min();
        self.place = place;
        log.cut(condensed(line, at, hides, place, summary));
    }
}

/// Tells of what an observation shows: whether the model can see is a setting of the agent.
fn shown(event: View<'_>, line: usize, log: &mut Log<'_>) {
    let is_image = |value: View<'_>| value.text().is_some_and(|text| text.starts_with("data:"));
    for (key, value) in event.get("extras").into_iter().flat_map(View::members) {
        let images = value.items().filter(|item| is_image(*item)).count();
        for _ in 0..images + usize::from(is_image(value)) {
            let key = key.text().unwrap_or_default();
            log.skip(&key, "the log does not tell whether the model saw it", line);
        }
    }
}

/// A condensation that forgets the entries `hides`. The summary stands where they stood: `place`.
pub(super) fn condensed(
    line: usize,
    at: usize,
    hides: Vec<usize>,
    place: Option<usize>,
    summary: Option<View<'_>>,
) -> Cut {
    let before = place.unwrap_or(at);
    let mut cut = Cut::new(line, at, Hidden::These(hides));
    if let Some(text) = summary.filter(|text| text.is_string() && !is_blank(text.raw())) {
        cut.summary = Some((before, vec![Entry::text(Speaker::User, text.raw().to_owned(), line)]));
    }
    cut
}

/// The message in a response that the event repeats.
fn said(response: View<'_>) -> Option<View<'_>> {
    response.get("choices")?.items().next()?.get("message")
}

/// The arguments of the call `id`, as the model wrote them.
fn given<'a>(said: View<'a>, id: &str) -> Option<View<'a>> {
    let mut calls = said.get("tool_calls")?.items();
    let call = calls.find(|call| call.get("id").is_some_and(|of| of.is_text(id)))?;
    call.get("function")?.get("arguments")
}

/// The arguments that an action itself holds, without what the agent adds.
fn own_arguments(args: View<'_>) -> String {
    const ADDED: [&str; 10] = [
        "thought",
        "action",
        "is_confirmed",
        "confirmation_state",
        "action_risk",
        "keep_prompt",
        "id",
        "kernel_init_code",
        "source",
        "timestamp",
    ];
    let kept = args.members().filter_map(|(key, value)| {
        let is_added = ADDED.contains(&&*key.text()?) || value.is_null();
        (!is_added).then(|| format!("{}:{}", key.raw(), compact(value.raw())))
    });
    format!("{{{}}}", kept.collect::<Vec<_>>().join(","))
}

fn usage(event: View<'_>, log: &mut Log<'_>) -> Option<Usage> {
    let response = event.get("tool_call_metadata")?.get("model_response")?;
    if let Some(model) = field(response, "model") {
        log.model = Some(model.into_owned());
    }
    let usage = response.get("usage")?;
    let input = number(usage, "prompt_tokens");
    (input > 0).then(|| Usage { input, output: number(usage, "completion_tokens") })
}
