//! Sessions of pi.
//!
//! The first versions are a list in the order of the file, and a compaction counts the entries that it
//! keeps; newer ones are a tree, and name them.

use std::collections::HashMap;

use super::{Reader, field, number, owned};
use crate::formats::Usage;
use crate::formats::json::{View, quote};
use crate::transcripts::entry::{
    Call, Entry, Part, Speaker, arguments, content_parts, inner, is_blank, text_part,
};
use crate::transcripts::log::{Cut, Hidden, Log};

/// What pi puts around a summary when it sends it.
const HEAD: &str = "The conversation history before this point was compacted into the following summary:\\n\\n<summary>\\n";
const TAIL: &str = "\\n</summary>";

/// Reads a session.
#[derive(Default)]
pub(super) struct Session {
    /// How many entries of the conversation there were before each value of the log.
    before: Vec<usize>,
    /// The value of each id, with the one before it.
    ids: HashMap<String, (usize, Option<String>)>,
    newest: Option<String>,
}

impl Reader for Session {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        let kind = field(value, "type").unwrap_or_default();
        if kind == "session" {
            log.begin(field(value, "id").unwrap_or_default());
        }
        if !log.is_wanted() {
            return;
        }
        let place = self.before.len();
        self.before.push(log.entries.len());
        if let Some(id) = field(value, "id").filter(|_| kind != "session") {
            let parent = owned(value, "parentId");
            self.newest = Some(id.clone().into_owned());
            self.ids.insert(id.into_owned(), (place, parent));
        }
        match &*kind {
            "message" => match value.get("message").filter(|message| message.is_object()) {
                Some(message) => self.message(message, line, log),
                None => log.skip("message", "there is nothing in it", line),
            },
            "compaction" => self.compaction(value, line, log),
            "branch_summary" => match text_part(value.get("summary")) {
                Some(summary) => log.push(Entry::new(Speaker::User, vec![summary], line)),
                None => log.skip("branch_summary", "there is nothing in it", line),
            },
            "custom_message" => {
                log.push(Entry::new(Speaker::User, content_parts(value.get("content")), line));
            }
            "session" | "model_change" => {
                if let Some(model) = field(value, "modelId") {
                    log.model = Some(model.into_owned());
                }
                log.skip(&kind, "it is told beside the conversation", line);
            }
            "" => log.skip("record", "it has no `type`", line),
            other => log.skip(other, "it is told beside the conversation", line),
        }
    }

    fn end(&mut self, log: &mut Log<'_>) {
        self.rewind(log);
    }
}

impl Session {
    fn message(&mut self, message: View<'_>, line: usize, log: &mut Log<'_>) {
        let [role, content, id, is_error, command, output, excluded] = message.fields([
            "role",
            "content",
            "toolCallId",
            "isError",
            "command",
            "output",
            "excludeFromContext",
        ]);
        let role = role.and_then(View::text).unwrap_or_default();
        match &*role {
            "user" => log.push(Entry::new(Speaker::User, content_parts(content), line)),
            "assistant" => assistant(message, content, line, log),
            "toolResult" => match id.and_then(View::string) {
                Some(id) => {
                    let is_error = is_error.and_then(View::bool).unwrap_or(false);
                    log.push(Entry::result(id, content_parts(content), is_error, line));
                }
                None => log.skip("toolResult", "it names no call", line),
            },
            "bashExecution" if excluded.and_then(View::bool) == Some(true) => {
                log.skip("bashExecution", "its user kept it from the model", line);
            }
            "bashExecution" => {
                let [command, output] =
                    [command, output].map(|text| text.and_then(View::text).unwrap_or_default());
                let said = format!("Ran `{command}`\n```\n{output}\n```");
                log.push(Entry::text(Speaker::User, quote(&said), line));
            }
            other => log.skip(other, "it is of no role that is sent", line),
        }
    }

    fn compaction(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        let at = log.entries.len();
        let [summary, index, id, tokens] =
            value.fields(["summary", "firstKeptEntryIndex", "firstKeptEntryId", "tokensBefore"]);
        let kept =
            id.and_then(View::text).and_then(|id| self.ids.get(&*id).map(|(place, _)| *place));
        let kept = kept.or_else(|| index.and_then(View::u64).map(|index| index as usize));
        // What is kept is said by the place of a value, not of a line: two may be glued together.
        let first = kept.map_or(at, |kept| match self.before.get(kept) {
            Some(before) => *before,
            None => {
                let what = format!(
                    "the compaction keeps entries from {kept} on, of {} there are",
                    self.before.len()
                );
                log.problem(line, what);
                at
            }
        });
        let mut cut = Cut::new(line, at, Hidden::Before(first));
        cut.tokens_before = tokens.and_then(View::u64);
        if let Some(text) = summary.filter(|text| text.is_string() && !is_blank(text.raw())) {
            let said = format!("\"{HEAD}{}{TAIL}\"", inner(text.raw()));
            cut.summary = Some((first, vec![Entry::text(Speaker::User, said, line)]));
        }
        log.cut(cut);
    }

    /// Where the log is a tree: what is on no branch that leads to the newest record was taken back.
    fn rewind(&self, log: &mut Log<'_>) {
        let is_tree = self.ids.values().any(|(_, parent)| parent.is_some());
        let Some(mut at) = self.newest.as_ref().filter(|_| is_tree) else { return };
        let mut is_on = vec![false; self.before.len()];
        // No more steps than records, so that a ring of parents has an end.
        for _ in 0..self.before.len() {
            let Some((place, parent)) = self.ids.get(at) else { break };
            is_on[*place] = true;
            let Some(parent) = parent else { break };
            at = parent;
        }
        for (place, _) in self.ids.values().filter(|(place, _)| !is_on[*place]) {
            let end = self.before.get(place + 1).copied().unwrap_or(log.entries.len());
            for entry in self.before[*place]..end {
                let line = log.entries[entry].line;
                log.skip("message that was taken back", "the session went on from before it", line);
                log.rewound.insert(entry);
            }
        }
    }
}

fn assistant(message: View<'_>, content: Option<View<'_>>, line: usize, log: &mut Log<'_>) {
    if let Some(model) = field(message, "model") {
        log.model = Some(model.into_owned());
    }
    let mut parts = content_parts(content.filter(|content| !content.is_array()));
    for block in content.into_iter().flat_map(View::items) {
        let [kind, text, thinking, signature, id, name, given] = block.fields([
            "type",
            "text",
            "thinking",
            "thinkingSignature",
            "id",
            "name",
            "arguments",
        ]);
        match kind.and_then(View::text).as_deref() {
            Some("text") => parts.extend(text_part(text)),
            Some("thinking") => {
                let signature = signature.filter(|signature| signature.is_string());
                let signature = signature.map(|signature| signature.raw().to_owned());
                let signature = signature.filter(|signature| signature != "\"\"");
                let text = thinking.filter(|text| text.is_string());
                if text.is_some_and(|text| !is_blank(text.raw())) || signature.is_some() {
                    let text = text.map_or("\"\"", View::raw).to_owned();
                    parts.push(Part::Thought { text, signature });
                }
            }
            Some("toolCall") => match (id.and_then(View::string), name) {
                (Some(id), Some(name)) if name.is_string() => {
                    let (name, arguments) = (name.raw().to_owned(), arguments(given));
                    parts.push(Part::Call(Call { id, name, arguments }));
                }
                _ => log.skip("toolCall", "it has no id or no name", line),
            },
            _ => parts.extend(content_parts(Some(block))),
        }
    }
    let usage = message.get("usage").and_then(|usage| {
        let sum = ["input", "cacheRead", "cacheWrite"].map(|key| number(usage, key)).iter().sum();
        (sum > 0).then(|| Usage { input: sum, output: number(usage, "output") })
    });
    log.push(Entry::new(Speaker::Assistant, parts, line).with_usage(usage));
}
