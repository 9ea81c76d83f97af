//! Sessions of Claude Code, and what it prints as `stream-json`.
//!
//! A reply stands in the log in pieces, one record for each block, and results stand between them: so
//! the order of the file counts, pieces are joined by the id of the reply, and results find their call by
//! its id. Who comes before whom (`parentUuid`) only tells what was taken back.

use super::claude_tree::{Node, Tree, Turn};
use super::{Reader, field, number, owned, records};
use crate::formats::json::View;
use crate::formats::{Format, Usage};
use crate::transcripts::Trigger;
use crate::transcripts::entry::{
    Answer, Block, Call, Entry, Part, Speaker, arguments, content_parts, is_blank,
};
use crate::transcripts::log::{Cut, Hidden, Log};

/// What Claude Code puts in the place of a result that it cleared.
const CLEARED: &str = "\"[Old tool result content cleared]\"";

/// How the summary of a compaction begins.
const CONTINUED: &str = "This session is being continued from a previous conversation";

/// Reads a session.
#[derive(Default)]
pub(super) struct Session {
    /// Whether it is what was printed, and not the session's own file.
    is_stream: bool,
    tree: Tree,
    /// What subagents said before the agent itself said anything. If that is all there is, it is the
    /// session of a subagent.
    side: Vec<Entry>,
}

impl Session {
    pub(super) fn of_stream() -> Self {
        Self { is_stream: true, ..Self::default() }
    }
}

impl Reader for Session {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        records(value).for_each(|record| self.record(record, line, log));
    }

    fn end(&mut self, log: &mut Log<'_>) {
        if log.entries.is_empty() && log.cuts.iter().all(|cut| cut.summary.is_none()) {
            std::mem::take(&mut self.side).into_iter().for_each(|entry| log.push(entry));
        } else {
            for entry in &self.side {
                log.skip("message of a subagent", "it has a context of its own", entry.line);
            }
        }
        for at in self.tree.rewound() {
            let line = log.entries[at].line;
            log.skip("message that was taken back", "the session went on from before it", line);
            log.rewound.insert(at);
        }
    }
}

impl Session {
    fn record(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        log.format = Some(Format::Anthropic);
        let kind = field(value, "type").unwrap_or_default();
        self.settle(value, &kind, log);
        if !log.is_wanted() {
            return;
        }
        let first = log.entries.len();
        let turn = match &*kind {
            "user" | "assistant" => self.message(value, &kind, line, log),
            "system" => {
                self.system(value, line, log);
                None
            }
            "" => {
                log.skip("record", "it has no `type`", line);
                None
            }
            other => {
                log.skip(other, "it is told beside the conversation", line);
                None
            }
        };
        let parent = ["parentUuid", "logicalParentUuid"].iter().find_map(|key| field(value, key));
        if let Some(uuid) = field(value, "uuid").filter(|_| !self.is_stream) {
            let node = Node { turn, entries: first..log.entries.len() };
            self.tree.add(&uuid, parent.as_deref(), node);
        }
    }

    /// Says whose a record is. What is printed may be of several sessions; a file of a session has records of those that
    /// it goes on from, and of others only if they were put together: then a person begins anew.
    fn settle(&self, value: View<'_>, kind: &str, log: &mut Log<'_>) {
        let [of_session, of_stream, message, parent, before] =
            value.fields(["sessionId", "session_id", "message", "parentUuid", "logicalParentUuid"]);
        let inner = || message.and_then(|message| message.get("session_id"));
        let name = if self.is_stream { of_stream.or_else(inner) } else { of_session };
        let Some(name) = name.and_then(View::text) else { return };
        let is_message = matches!(kind, "user" | "assistant");
        let is_first = [parent, before].iter().flatten().all(|parent| parent.is_null());
        let is_side = value.get("isSidechain").and_then(View::bool) == Some(true);
        log.within(&name, is_message && (self.is_stream || (is_first && !is_side)));
    }

    fn message(
        &mut self,
        value: View<'_>,
        kind: &str,
        line: usize,
        log: &mut Log<'_>,
    ) -> Option<Turn> {
        let flag = |key: &str| value.get(key).and_then(View::bool).unwrap_or(false);
        let Some(message) = value.get("message").filter(|message| message.is_object()) else {
            log.skip(kind, "it has no message", line);
            return None;
        };
        let is_side =
            flag("isSidechain") || value.get("parent_tool_use_id").is_some_and(|id| !id.is_null());
        let uuid = field(value, "uuid").filter(|_| !self.is_stream);
        if !is_side && uuid.is_some_and(|uuid| self.tree.knows(&uuid)) {
            log.skip(kind, "it stands in the log twice", line);
            return None;
        }
        if flag("isApiErrorMessage") {
            log.skip("API error", "it is told to the user, not to the model", line);
            return None;
        }
        let is_summary =
            flag("isCompactSummary") || (self.is_stream && is_continuation(message, log));
        if is_summary && !is_side {
            summary(message, line, log);
            return None;
        }
        if flag("isVisibleInTranscriptOnly") {
            log.skip(kind, "it is shown to the user only", line);
            return None;
        }
        let speaker = if kind == "user" { Speaker::User } else { Speaker::Assistant };
        let entries = entries(message, speaker, line, log);
        if is_side {
            match log.entries.is_empty() {
                true => self.side.extend(entries),
                false => log.skip("message of a subagent", "it has a context of its own", line),
            }
            return None;
        }
        if let Some(model) = field(message, "model").filter(|model| !model.starts_with('<')) {
            log.model = Some(model.into_owned());
        }
        let reply = owned(message, "id");
        let is_prompt = entries.iter().any(|entry| entry.speaker == Speaker::User);
        entries.into_iter().for_each(|entry| log.push(entry));
        Some(match (speaker, is_prompt) {
            (Speaker::Assistant, _) => Turn::Reply(reply),
            (_, true) => Turn::Prompt,
            _ => Turn::Result,
        })
    }

    fn system(&self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        // Logs that wrap each event have all but the type in `message`.
        let inner = value.get("message").filter(|message| message.is_object());
        let event = inner.filter(|_| value.get("subtype").is_none()).unwrap_or(value);
        let subtype = field(event, "subtype").unwrap_or_default();
        let meta = |names: [&str; 2]| names.iter().find_map(|name| event.get(name));
        match &*subtype {
            "compact_boundary" => {
                let meta = meta(["compactMetadata", "compact_metadata"]);
                let at = log.entries.len();
                let mut cut = Cut::new(line, at, Hidden::Before(at));
                tell(&mut cut, meta);
                log.cut(cut);
            }
            "microcompact_boundary" => {
                let meta = meta(["microcompactMetadata", "microcompact_metadata"]);
                let mut cut = Cut::new(line, log.entries.len(), Hidden::These(Vec::new()));
                tell(&mut cut, meta);
                let ids = meta.and_then(|meta| {
                    meta.get("compactedToolIds").or_else(|| meta.get("compacted_tool_ids"))
                });
                cut.cleared =
                    ids.into_iter().flat_map(View::items).filter_map(View::string).collect();
                cut.placeholder = CLEARED;
                log.cut(cut);
            }
            _ => {
                if subtype == "init"
                    && let Some(model) = field(event, "model")
                {
                    log.model.get_or_insert(model.into_owned());
                }
                let name =
                    if subtype.is_empty() { "system".into() } else { format!("system/{subtype}") };
                log.skip(&name, "it is told beside the conversation", line);
            }
        }
    }
}

fn tell(cut: &mut Cut, meta: Option<View<'_>>) {
    let Some(meta) = meta else { return };
    let [camel, snake] = meta.fields(["preTokens", "pre_tokens"]);
    cut.tokens_before = camel.or(snake).and_then(View::u64);
    cut.trigger = field(meta, "trigger").and_then(|name| Trigger::named(&name));
}

/// Whether a message of a stream is what the compaction just before left.
fn is_continuation(message: View<'_>, log: &Log<'_>) -> bool {
    let is_next =
        log.cuts.last().is_some_and(|cut| cut.summary.is_none() && cut.at == log.entries.len());
    let content = message.get("content");
    let block = content.into_iter().flat_map(View::items).next();
    let text = block.and_then(|block| block.get("text")).or(content).and_then(View::text);
    is_next && text.is_some_and(|text| text.starts_with(CONTINUED))
}

/// Takes the summary of the compaction just before, or of one that the log tells by its summary alone.
fn summary(message: View<'_>, line: usize, log: &mut Log<'_>) {
    let parts = content_parts(message.get("content"));
    let before = log.entries.len();
    let entry = Entry::new(Speaker::User, parts, line);
    match log
        .cuts
        .last_mut()
        .filter(|cut| cut.summary.is_none() && cut.at == before && cut.cleared.is_empty())
    {
        Some(cut) => cut.summary = Some((before, vec![entry])),
        None => {
            let mut cut = Cut::new(line, before, Hidden::Before(before));
            cut.summary = Some((before, vec![entry]));
            log.cut(cut);
        }
    }
}

/// The entries of a message: results by themselves, then the rest.
fn entries(message: View<'_>, speaker: Speaker, line: usize, log: &mut Log<'_>) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut parts = Vec::new();
    let content = message.get("content");
    if let Some(text) = content.filter(|content| content.is_string()) {
        parts.push(Part::Text(text.raw().to_owned()));
    }
    for block in content.into_iter().flat_map(View::items) {
        match part(block) {
            Some(part) if part.answers().is_some() => {
                entries.push(Entry::new(Speaker::Tool, vec![part], line));
            }
            Some(part) => parts.push(part),
            None => {
                let kind = field(block, "type").unwrap_or("block".into());
                log.skip(&kind, "there is nothing in it", line);
            }
        }
    }
    if !parts.is_empty() || entries.is_empty() {
        let is_reply = speaker == Speaker::Assistant;
        let reply = owned(message, "id").filter(|_| is_reply);
        let usage = message.get("usage").filter(|_| is_reply).and_then(usage);
        entries.push(Entry::new(speaker, parts, line).of_reply(reply).with_usage(usage));
    }
    entries
}

/// A block as it is, or what can be saved of one that no provider would take.
fn part(block: View<'_>) -> Option<Part> {
    let [kind, text, id, answers, name, input, content, is_error, thinking, signature] = block
        .fields([
            "type",
            "text",
            "id",
            "tool_use_id",
            "name",
            "input",
            "content",
            "is_error",
            "thinking",
            "signature",
        ]);
    let kind = kind.and_then(View::text)?;
    let is_text =
        |value: Option<View<'_>>| value.is_none_or(|value| value.is_string() || value.is_null());
    let kind = match &*kind {
        "text" => {
            let text = text.filter(|text| text.is_string() && !is_blank(text.raw()))?;
            // A text with something beside it, a cache mark or citations, is a block of its own.
            if block.members().count() == 2 {
                return Some(Part::Text(text.raw().to_owned()));
            }
            Block::Other
        }
        "thinking" | "redacted_thinking" => {
            [thinking, signature].into_iter().all(is_text).then_some(Block::Thought)?
        }
        "tool_use" => {
            let name = name.filter(|name| name.is_string())?;
            let id = id.and_then(View::string)?;
            if !input.is_some_and(View::is_object) {
                let (name, arguments) = (name.raw().to_owned(), arguments(input));
                return Some(Part::Call(Call { id, name, arguments }));
            }
            Block::Call(id)
        }
        "tool_result" => {
            let call = answers.and_then(View::string)?;
            let flag = is_error.and_then(View::bool);
            let is_sound = content.is_none_or(is_content)
                && (flag.is_some() || is_error.is_none_or(View::is_null));
            if !is_sound {
                let (content, is_error) = (content_parts(content), flag == Some(true));
                return Some(Part::Result(Answer { call, content, is_error }));
            }
            Block::Result(call)
        }
        _ => Block::Other,
    };
    Some(Part::block(block, kind, Format::Anthropic))
}

/// Whether a result may hold it: a text, or blocks.
fn is_content(content: View<'_>) -> bool {
    let is_block = |block: View<'_>| {
        let [kind, text] = block.fields(["type", "text"]);
        let is_string = |value: Option<View<'_>>| value.is_some_and(View::is_string);
        is_string(kind) && (is_string(text) || !kind.is_some_and(|kind| kind.is_text("text")))
    };
    content.is_string()
        || content.is_null()
        || (content.is_array() && content.items().all(is_block))
}

/// What Anthropic counted: what its cache read and wrote fills the window all the same.
fn usage(usage: View<'_>) -> Option<Usage> {
    let input = number(usage, "input_tokens")
        + number(usage, "cache_read_input_tokens")
        + number(usage, "cache_creation_input_tokens");
    (input > 0).then(|| Usage { input, output: number(usage, "output_tokens") })
}
