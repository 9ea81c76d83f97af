//! Rollouts of Codex, and what its app server notifies of.
//!
//! A rollout holds the items of the Responses API, and beside them events that say the same again for
//! those who watch. The items count. Of the app server's notifications, `item/completed` has each item
//! whole; a call and its result are one there.

use super::{Reader, field, number, owned};
use crate::formats::Usage;
use crate::formats::json::{View, quote};
use crate::transcripts::entry::{
    Answer, Call, Entry, Json, Part, Speaker, arguments, content_parts, is_blank, joined, one_line,
};
use crate::transcripts::log::{Cut, Hidden, Log};

/// So many entries may stand between a reply and its count: the results of its calls.
const MOST_SINCE_REPLY: usize = 256;

/// Why what is encrypted is passed over.
const ENCRYPTED: &str = "only the provider can read it, beside items of its own";

/// Reads a rollout.
#[derive(Default)]
pub(super) struct Rollout {
    items: Items,
    /// What the provider counted last.
    counted: Option<Usage>,
}

impl Reader for Rollout {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log) {
        let [kind, payload, message, method] =
            value.fields(["type", "payload", "message", "method"]);
        let notification = message.filter(|message| message.get("method").is_some());
        if let Some(notification) = notification.or_else(|| method.map(|_| value)) {
            self.notification(notification, line, log);
            return;
        }
        let Some(payload) = payload.filter(|payload| payload.is_object()) else {
            // The first versions wrote items bare, behind a line about the session.
            return match kind {
                Some(_) => self.item(value, line, log),
                None if value.get("instructions").is_some() => session(value, line, log),
                None => log.skip("state", "it is told beside the conversation", line),
            };
        };
        match kind.and_then(View::text).as_deref() {
            Some("response_item") => self.item(payload, line, log),
            Some("session_meta") => session(payload, line, log),
            Some("turn_context") => {
                if let Some(model) = field(payload, "model") {
                    log.model = Some(model.into_owned());
                }
                log.skip("turn_context", "it is told beside the conversation", line);
            }
            Some("event_msg") => self.event(payload, line, log),
            Some("compacted") => self.compacted(payload, line, log),
            other => {
                log.skip(other.unwrap_or("record"), "it is told beside the conversation", line);
            }
        }
    }
}

impl Rollout {
    fn item(&mut self, item: View<'_>, line: usize, log: &mut Log) {
        if let Some(entry) = self.items.entry(item, line, log) {
            log.push(entry);
        }
    }

    /// Notes what the provider counted for the newest reply, which is among the newest entries.
    fn count(&mut self, input: u64, output: u64, log: &mut Log) {
        if input == 0 {
            return;
        }
        let usage = Usage { input, output };
        self.counted = Some(usage);
        let newest = log.entries.iter_mut().rev().take(MOST_SINCE_REPLY);
        let mut replies = newest.filter(|entry| entry.speaker == Speaker::Assistant);
        if let Some(reply) = replies.next() {
            reply.usage = Some(usage);
        }
    }

    fn event(&mut self, event: View<'_>, line: usize, log: &mut Log) {
        let kind = field(event, "type").unwrap_or_default();
        let info = event.get("info").filter(|_| kind == "token_count");
        if let Some(last) = info.and_then(|info| info.get("last_token_usage")) {
            self.count(number(last, "input_tokens"), number(last, "output_tokens"), log);
        }
        let why = match &*kind {
            "user_message"
            | "agent_message"
            | "agent_reasoning"
            | "agent_reasoning_raw_content" => "an item says the same",
            _ => "it is told beside the conversation",
        };
        log.skip(&kind, why, line);
    }

    /// All that is in the context from here on, in the place of what was.
    fn compacted(&mut self, payload: View<'_>, line: usize, log: &mut Log) {
        let at = log.entries.len();
        let mut cut = Cut::new(line, at, Hidden::Before(at));
        let history = payload.get("replacement_history").filter(|history| history.is_array());
        let mut left = Vec::new();
        match history {
            Some(history) => {
                for item in history.items() {
                    left.extend(self.items.entry(item, line, log));
                }
            }
            None => {
                let parts = content_parts(payload.get("message"));
                left.push(Entry::new(Speaker::Assistant, parts, line));
            }
        }
        left.retain(|entry| !entry.parts.is_empty());
        self.items.replies += 1;
        cut.tokens_before = self.counted.map(|usage| usage.total());
        cut.summary = Some((at, left)).filter(|(_, left)| !left.is_empty());
        log.cut(cut);
    }

    fn notification(&mut self, notification: View<'_>, line: usize, log: &mut Log) {
        let method = field(notification, "method").unwrap_or_default();
        let Some(params) = notification.get("params") else {
            log.skip(&method, "there is nothing in it", line);
            return;
        };
        match &*method {
            "item/completed" => match params.get("item") {
                Some(item) => self.completed(item, line, log),
                None => log.skip(&method, "there is nothing in it", line),
            },
            "thread/tokenUsage/updated" => {
                let usage = params.get("tokenUsage").and_then(|usage| usage.get("last"));
                if let Some(last) = usage {
                    self.count(number(last, "inputTokens"), number(last, "outputTokens"), log);
                }
                log.skip(&method, "it is told beside the conversation", line);
            }
            "thread/compacted" => {
                let at = log.entries.len();
                log.cut(Cut::new(line, at, Hidden::Before(at)));
            }
            _ => log.skip(&method, "it is told beside the conversation", line),
        }
    }

    fn completed(&mut self, item: View<'_>, line: usize, log: &mut Log) {
        let kind = field(item, "type").unwrap_or_default();
        let text = |key: &str| {
            item.get(key).filter(|text| text.is_string()).map(|text| text.raw().to_owned())
        };
        let (name, arguments, result, is_error) = match &*kind {
            "userMessage" => {
                self.items.replies += 1;
                log.push(Entry::new(Speaker::User, content_parts(item.get("content")), line));
                return;
            }
            "agentMessage" => {
                log.push(self.items.reply(content_parts(item.get("text")), line));
                return;
            }
            "reasoning" => {
                let texts = item.get("summary").into_iter().flat_map(View::items);
                let texts = texts.filter(|text| text.is_string()).map(|text| text.raw().to_owned());
                let texts: Vec<Json> = texts.collect();
                match texts.is_empty() {
                    true => log.skip("reasoning", "only the provider can read it", line),
                    false => log.push(self.items.reply(
                        vec![Part::Thought { text: joined(&texts), signature: None }],
                        line,
                    )),
                }
                return;
            }
            "commandExecution" => {
                let command = text("command").unwrap_or_else(|| "\"\"".to_owned());
                let code = item.get("exitCode").and_then(View::u64);
                (
                    quote("shell"),
                    format!("{{\"command\":{command}}}"),
                    text("aggregatedOutput"),
                    code.is_some_and(|code| code > 0),
                )
            }
            "fileChange" => {
                let changes =
                    item.get("changes").map_or("[]".to_owned(), |changes| one_line(changes.raw()));
                (quote("apply_patch"), format!("{{\"changes\":{changes}}}"), text("status"), false)
            }
            "mcpToolCall" => {
                let [tool, given, result, error] =
                    item.fields(["tool", "arguments", "result", "error"]);
                let is_error = error.is_some_and(|error| !error.is_null());
                let found =
                    result.filter(|result| !result.is_null()).or(error.filter(|_| is_error));
                let name = tool
                    .filter(|tool| tool.is_string())
                    .map_or_else(|| quote("mcp"), |tool| tool.raw().to_owned());
                (name, arguments(given), found.map(|found| quote(&one_line(found.raw()))), is_error)
            }
            other => {
                log.skip(other, "it is told beside the conversation", line);
                return;
            }
        };
        let Some(id) = owned(item, "id") else {
            log.skip(&kind, "it has no id", line);
            return;
        };
        log.push(
            self.items.reply(vec![Part::Call(Call { id: id.clone(), name, arguments })], line),
        );
        self.items.replies += 1;
        let content = result.into_iter().filter(|text| !is_blank(text)).map(Part::Text).collect();
        log.push(Entry::result(id, content, is_error, line));
    }
}

fn session(meta: View<'_>, line: usize, log: &mut Log) {
    let base = meta.get("base_instructions").and_then(|base| base.get("text"));
    let text = base.or_else(|| meta.get("instructions"));
    if let Some(text) = text.filter(|text| text.is_string() && !is_blank(text.raw())) {
        log.system = Some(text.raw().to_owned());
    }
    log.skip("session_meta", "it is told beside the conversation", line);
}

/// Items of the Responses API. Those that the model wrote in a row are one reply.
#[derive(Default)]
struct Items {
    replies: usize,
}

impl Items {
    fn reply(&self, parts: Vec<Part>, line: usize) -> Entry {
        Entry::new(Speaker::Assistant, parts, line)
            .of_reply(Some(format!("reply {}", self.replies)))
    }

    fn entry(&mut self, item: View<'_>, line: usize, log: &mut Log) -> Option<Entry> {
        let kind = field(item, "type");
        let has_role = item.get("role").is_some();
        let kind = kind.unwrap_or(if has_role { "message".into() } else { "".into() });
        Some(match &*kind {
            "message" => self.message(item, line),
            "reasoning" => {
                let texts = item.get("summary").into_iter().flat_map(View::items);
                let texts =
                    texts.filter_map(|part| part.get("text")).filter(|text| text.is_string());
                let texts: Vec<Json> = texts.map(|text| text.raw().to_owned()).collect();
                // The summary is all that anybody else can read of it.
                if item.get("encrypted_content").is_some_and(|content| !content.is_null()) {
                    log.skip("encrypted_content", ENCRYPTED, line);
                }
                if texts.is_empty() {
                    log.skip("reasoning", "only the provider can read it", line);
                    return None;
                }
                self.reply(vec![Part::Thought { text: joined(&texts), signature: None }], line)
            }
            "function_call" | "custom_tool_call" | "local_shell_call" => {
                let [id, name, given, input, action] =
                    item.fields(["call_id", "name", "arguments", "input", "action"]);
                let Some(id) = id.and_then(View::string) else {
                    log.problem(line, format!("passed over a `{kind}` without a `call_id`"));
                    return None;
                };
                let name = name.filter(|name| name.is_string());
                let name = name.map_or_else(|| quote("local_shell"), |name| name.raw().to_owned());
                let arguments = arguments(given.or(input).or(action));
                self.reply(vec![Part::Call(Call { id, name, arguments })], line)
            }
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                self.replies += 1;
                let [id, output] = item.fields(["call_id", "output"]);
                let Some(id) = id.and_then(View::string) else {
                    log.problem(line, format!("passed over a `{kind}` without a `call_id`"));
                    return None;
                };
                let answer = Answer { call: id, content: content_parts(output), is_error: false };
                Entry::new(Speaker::Tool, vec![Part::Result(answer)], line)
            }
            "compaction" | "compaction_summary" => {
                log.problem(line, "passed over a compaction that only the provider can read");
                log.skip(&kind, ENCRYPTED, line);
                return None;
            }
            other => {
                log.skip(other, "it has no place in the request", line);
                return None;
            }
        })
    }

    fn message(&mut self, item: View<'_>, line: usize) -> Entry {
        let parts = content_parts(item.get("content"));
        match field(item, "role").as_deref() {
            Some("assistant") => self.reply(parts, line),
            role => {
                self.replies += 1;
                let is_system = matches!(role, Some("system" | "developer"));
                Entry::new(if is_system { Speaker::System } else { Speaker::User }, parts, line)
            }
        }
    }
}
