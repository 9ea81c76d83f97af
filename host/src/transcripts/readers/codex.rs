//! Rollouts of Codex, and what its app server notifies of.
//!
//! A rollout holds the items of the Responses API, and beside them events that say the same again for
//! those who watch. The items count, each as it is: what is encrypted in them, their provider can read. Of
//! the app server's notifications, `item/completed` has each item whole; a call and its result are one there.

use super::{Reader, field, number, owned};
use crate::formats::json::{View, quote};
use crate::formats::{Format, ItemFields, ItemKind, Usage, is_item};
use crate::transcripts::entry::{
    Answer, Block, Call, Entry, Part, Speaker, arguments, content_parts, is_blank, one_line,
};
use crate::transcripts::log::{Cut, Hidden, Log};

/// So many entries may stand between a reply and its count: the results of its calls.
const MOST_SINCE_REPLY: usize = 256;

/// Reads a rollout.
#[derive(Default)]
pub(super) struct Rollout {
    items: Items,
    /// What the provider counted last.
    counted: Option<Usage>,
}

impl Reader for Rollout {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        log.format = Some(Format::OpenaiResponses);
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
    fn item(&mut self, item: View<'_>, line: usize, log: &mut Log<'_>) {
        let Some(entry) = self.items.entry(item, line, log) else { return };
        if !entry.parts.iter().any(Part::is_compaction) {
            log.push(entry);
            return;
        }
        let at = log.entries.len();
        let mut cut = Cut::new(line, at, Hidden::Before(at));
        cut.tokens_before = self.counted.map(|usage| usage.total());
        cut.summary = Some((at, vec![entry]));
        log.cut(cut);
    }

    /// Notes what the provider counted for the newest reply, which is among the newest entries.
    fn count(&mut self, input: u64, output: u64, log: &mut Log<'_>) {
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

    fn event(&mut self, event: View<'_>, line: usize, log: &mut Log<'_>) {
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
    fn compacted(&mut self, payload: View<'_>, line: usize, log: &mut Log<'_>) {
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

    fn notification(&mut self, notification: View<'_>, line: usize, log: &mut Log<'_>) {
        let method = field(notification, "method").unwrap_or_default();
        let Some(params) = notification.get("params") else {
            log.skip(&method, "there is nothing in it", line);
            return;
        };
        if let Some(thread) = field(params, "threadId") {
            log.within(&thread, method == "item/completed");
        }
        if !log.is_wanted() {
            return;
        }
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

    fn completed(&mut self, item: View<'_>, line: usize, log: &mut Log<'_>) {
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
                match thoughts(item) {
                    Some(part) => log.push(self.items.reply(vec![part], line)),
                    None => log.skip("reasoning", "there is nothing in it", line),
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

/// What the model thought, as an item: the app server has its texts alone.
fn thoughts(item: View<'_>) -> Option<Part> {
    let list = |key: &str, kind: &str| {
        let texts = item.get(key).into_iter().flat_map(View::items);
        let texts = texts.filter(|text| text.is_string() && !is_blank(text.raw()));
        let parts = texts.map(|text| format!("{{\"type\":\"{kind}\",\"text\":{}}}", text.raw()));
        parts.collect::<Vec<_>>().join(",")
    };
    let (summary, content) = (list("summary", "summary_text"), list("content", "reasoning_text"));
    let raw = match content.is_empty() {
        true if summary.is_empty() => return None,
        true => format!("{{\"type\":\"reasoning\",\"summary\":[{summary}]}}"),
        false => {
            format!("{{\"type\":\"reasoning\",\"summary\":[{summary}],\"content\":[{content}]}}")
        }
    };
    Some(Part::Block { raw, kind: Block::Thought, of: Format::OpenaiResponses })
}

fn session(meta: View<'_>, line: usize, log: &mut Log<'_>) {
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

    /// An item as it is, or what can be saved of one that no provider would take.
    fn entry(&mut self, item: View<'_>, line: usize, log: &mut Log<'_>) -> Option<Entry> {
        let fields = ItemFields::of(item);
        let name = fields.kind.and_then(View::text).unwrap_or_default();
        let Some(kind) = ItemKind::of(&fields) else {
            log.skip("record", "it has no place in the request", line);
            return None;
        };
        let as_it_is = |kind| Part::block(item, kind, Format::OpenaiResponses);
        let is_sound = || is_item(item);
        match kind {
            ItemKind::Message => Some(self.message(item, &fields, line, log)),
            ItemKind::Reasoning if !is_sound() => {
                log.skip("reasoning", "its thoughts are no text", line);
                None
            }
            ItemKind::Reasoning if !holds_thoughts(item) => {
                log.skip("reasoning", "there is nothing in it", line);
                None
            }
            ItemKind::Reasoning => Some(self.reply(vec![as_it_is(Block::Thought)], line)),
            ItemKind::Call | ItemKind::Output => {
                let Some(id) = fields.call_id.and_then(View::string) else {
                    log.problem(line, format!("passed over a `{name}` without a `call_id`"));
                    return None;
                };
                Some(match kind {
                    ItemKind::Call => {
                        let is_sound = is_sound() && is_asked_well(&name, &fields);
                        let part = match is_sound {
                            true => as_it_is(Block::Call(id)),
                            false => called(id, &fields),
                        };
                        self.reply(vec![part], line)
                    }
                    _ => {
                        self.replies += 1;
                        let part = match is_sound() {
                            true => as_it_is(Block::Result(id)),
                            false => {
                                let content = content_parts(fields.output);
                                Part::Result(Answer { call: id, content, is_error: false })
                            }
                        };
                        Entry::new(Speaker::Tool, vec![part], line)
                    }
                })
            }
            ItemKind::Compaction => {
                self.replies += 1;
                Some(Entry::new(Speaker::System, vec![as_it_is(Block::Compaction)], line))
            }
            // What the provider's own tools did. Codex keeps items of its own that it does not send.
            ItemKind::Trace if name.ends_with("_call") || name.ends_with("_output") => {
                Some(self.reply(vec![as_it_is(Block::Other)], line))
            }
            ItemKind::Trace => {
                log.skip(&name, "it has no place in the request", line);
                None
            }
        }
    }

    fn message(
        &mut self,
        item: View<'_>,
        fields: &ItemFields<'_>,
        line: usize,
        log: &mut Log<'_>,
    ) -> Entry {
        let role = fields.role.and_then(View::text).unwrap_or_default();
        let is_known = matches!(&*role, "user" | "assistant" | "system" | "developer");
        if !is_known {
            log.problem(line, format!("read a message of the role `{role}` as a user's"));
        }
        let parts = match is_known && says_something(fields.content) && is_item(item) {
            true => vec![Part::block(item, Block::Said, Format::OpenaiResponses)],
            false => content_parts(fields.content),
        };
        match &*role {
            "assistant" => self.reply(parts, line),
            role => {
                self.replies += 1;
                let is_system = matches!(role, "system" | "developer");
                Entry::new(if is_system { Speaker::System } else { Speaker::User }, parts, line)
            }
        }
    }
}

/// Whether a message has more than blank texts in it.
fn says_something(content: Option<View<'_>>) -> bool {
    let Some(content) = content else { return false };
    let is_said = |part: View<'_>| match part.get("text") {
        Some(text) if text.is_string() => !is_blank(text.raw()),
        _ => part.is_object(),
    };
    match content.is_string() {
        true => !is_blank(content.raw()),
        false => content.items().any(is_said),
    }
}

/// Whether there is anything in a reasoning item, readable or not.
fn holds_thoughts(item: View<'_>) -> bool {
    let [summary, content, encrypted] = item.fields(["summary", "content", "encrypted_content"]);
    let holds = |list: Option<View<'_>>| list.is_some_and(|list| list.items().next().is_some());
    encrypted.is_some_and(View::is_string) || holds(summary) || holds(content)
}

/// Whether the arguments of a call are what the provider takes: those of functions are text.
fn is_asked_well(name: &str, fields: &ItemFields<'_>) -> bool {
    let is_named = fields.name.is_none_or(View::is_string);
    let is_function = matches!(name, "function_call" | "custom_tool_call");
    let is_text = fields.arguments().is_some_and(|(_, given)| given.is_string());
    is_named && (!is_function || (is_text && fields.name.is_some()))
}

/// A call of a function, of what there is.
fn called(id: String, fields: &ItemFields<'_>) -> Part {
    let name = fields.name.filter(|name| name.is_string());
    let name = name.map_or_else(|| quote("local_shell"), |name| name.raw().to_owned());
    let arguments = arguments(fields.arguments().map(|(_, given)| given));
    Part::Call(Call { id, name, arguments })
}
