//! Exports of opencode: messages with their parts. A call and its result are one part.

use std::collections::HashMap;

use super::{Reader, field, number, records};
use crate::formats::Usage;
use crate::formats::json::{View, quote};
use crate::transcripts::Trigger;
use crate::transcripts::entry::{
    Call, Entry, Image, Part, Speaker, arguments, is_blank, text_part,
};
use crate::transcripts::log::{Cut, Hidden, Log};

/// What opencode puts in the place of a result that it pruned.
const PRUNED: &str = "\"[Old tool result content cleared]\"";

/// What opencode asks when it has the context summarized.
const ASKED: &str = "\"What did we do so far?\"";

/// Reads an export.
#[derive(Default)]
pub(super) struct Export {
    /// The compaction that a summary is still to come for.
    asked: Option<Asked>,
    /// The first entry of each message, by its id.
    first: HashMap<String, usize>,
    rows: usize,
}

struct Asked {
    line: usize,
    /// What was asked.
    parts: Vec<Part>,
    is_auto: bool,
    /// The message that the kept tail begins with.
    tail: Option<String>,
}

impl Reader for Export {
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        let messages = value.get("messages").filter(|list| list.is_array());
        for message in records(messages.unwrap_or(value)) {
            log.records += 1;
            if let Some(info) = message.get("info") {
                if let Some(session) = field(info, "sessionID") {
                    log.within(&session, true);
                }
                if log.is_wanted() {
                    self.message(message, line, log);
                }
                continue;
            }
            self.rows += 1;
            let kind = field(message, "type");
            log.skip(kind.as_deref().unwrap_or("row"), "it is a row of opencode's database", line);
        }
    }

    fn end(&mut self, log: &mut Log<'_>) {
        self.give_up(log);
        if self.rows > 0 && log.entries.is_empty() {
            log.unreadable = Some(
                "it holds rows of opencode's database, where the parts of messages are in a table of \
                 their own; `opencode export` writes whole sessions"
                    .to_owned(),
            );
        }
    }
}

impl Export {
    fn message(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>) {
        let Some(info) = value.get("info") else { return };
        if let Some(id) = field(info, "id") {
            self.first.insert(id.into_owned(), log.entries.len());
        }
        let role = field(info, "role").unwrap_or_default();
        let parts = value.get("parts").into_iter().flat_map(View::items);
        match &*role {
            "user" => self.user(parts, line, log),
            "assistant" => self.assistant(info, parts, line, log),
            other => log.skip(other, "it is of no role that is sent", line),
        }
    }

    fn user<'a>(&mut self, parts: impl Iterator<Item = View<'a>>, line: usize, log: &mut Log<'_>) {
        self.give_up(log);
        let mut said = Vec::new();
        let mut asked = None;
        for part in parts {
            let [kind, text, ignored, url, auto, tail, mime] =
                part.fields(["type", "text", "ignored", "url", "auto", "tail_start_id", "mime"]);
            match kind.and_then(View::text).as_deref() {
                Some("text") if ignored.and_then(View::bool) == Some(true) => {
                    log.skip("text", "it is shown to the user only", line);
                }
                Some("text") => said.extend(text_part(text)),
                Some("file") => {
                    let is_image =
                        mime.and_then(View::text).is_some_and(|mime| mime.starts_with("image/"));
                    match url.filter(|_| is_image).and_then(Image::at) {
                        Some(image) => said.push(Part::Image(image)),
                        None => log.skip("file", not_shown(mime), line),
                    }
                }
                Some("compaction") => {
                    let is_auto = auto.and_then(View::bool).unwrap_or(false);
                    let tail = tail.and_then(View::string);
                    asked = Some(Asked { line, parts: Vec::new(), is_auto, tail });
                    said.push(Part::Text(ASKED.to_owned()));
                }
                other => {
                    log.skip(other.unwrap_or("part"), "it is told beside the conversation", line);
                }
            }
        }
        match asked {
            // It is in the context only with the summary.
            Some(asked) => self.asked = Some(Asked { parts: said, ..asked }),
            None => log.push(Entry::new(Speaker::User, said, line)),
        }
    }

    /// A compaction that no summary came of.
    fn give_up(&mut self, log: &mut Log<'_>) {
        if let Some(asked) = self.asked.take() {
            log.skip("compaction", "no summary came of it", asked.line);
        }
    }

    fn assistant<'a>(
        &mut self,
        info: View<'_>,
        parts: impl Iterator<Item = View<'a>>,
        line: usize,
        log: &mut Log<'_>,
    ) {
        if let Some(model) = field(info, "modelID") {
            log.model = Some(model.into_owned());
        }
        let is_summary = info.get("summary").and_then(View::bool).unwrap_or(false);
        let mut said = Said::default();
        let mut steps = Vec::new();
        for part in parts {
            match field(part, "type").as_deref() {
                // One message is several requests where the model called tools between.
                Some("step-start") => steps.extend(said.take()),
                kind => said.part(kind, part, line, log),
            }
        }
        steps.extend(said.take());
        let usage = usage(info);
        if is_summary {
            self.summary(usage, steps, line, log);
            return;
        }
        let last = steps.len().saturating_sub(1);
        if steps.is_empty() {
            log.skip("message", "there is nothing in it", line);
        }
        for (place, Said { parts, results, cleared }) in steps.into_iter().enumerate() {
            let usage = usage.filter(|_| place == last);
            log.push(Entry::new(Speaker::Assistant, parts, line).with_usage(usage));
            results.into_iter().for_each(|result| log.push(result));
            if !cleared.is_empty() {
                let mut cut = Cut::new(line, log.entries.len(), Hidden::These(Vec::new()));
                cut.cleared = cleared;
                cut.placeholder = PRUNED;
                log.cut(cut);
            }
        }
    }

    /// Takes the summary that was asked for in the message before.
    fn summary(&mut self, usage: Option<Usage>, steps: Vec<Said>, line: usize, log: &mut Log<'_>) {
        let parts: Vec<Part> = steps.into_iter().flat_map(|step| step.parts).collect();
        let Some(asked) = self.asked.take() else {
            log.push(Entry::new(Speaker::Assistant, parts, line).with_usage(usage));
            return;
        };
        let at = log.entries.len();
        let tail = asked.tail.and_then(|tail| self.first.get(&tail).copied());
        let first = tail.unwrap_or(at);
        let mut cut = Cut::new(asked.line, at, Hidden::Before(first));
        cut.tokens_before = usage.map(|usage| usage.input);
        cut.trigger = Some(if asked.is_auto { Trigger::Auto } else { Trigger::Manual });
        let asked = Entry::new(Speaker::User, asked.parts, asked.line);
        cut.summary = Some((first, vec![asked, Entry::new(Speaker::Assistant, parts, line)]));
        log.cut(cut);
    }
}

/// What one request brought.
#[derive(Default)]
struct Said {
    parts: Vec<Part>,
    results: Vec<Entry>,
    /// Calls whose results were pruned.
    cleared: Vec<String>,
}

impl Said {
    fn take(&mut self) -> Option<Self> {
        let said = std::mem::take(self);
        (!said.parts.is_empty()).then_some(said)
    }

    fn part(&mut self, kind: Option<&str>, part: View<'_>, line: usize, log: &mut Log<'_>) {
        match kind {
            Some("text") => self.parts.extend(text_part(part.get("text"))),
            Some("reasoning") => {
                let text = part.get("text").filter(|text| text.is_string());
                let provider = part.get("metadata").and_then(|metadata| metadata.get("anthropic"));
                let signature = provider.and_then(|provider| provider.get("signature"));
                let signature = signature.filter(|signature| signature.is_string());
                let signature = signature.map(|signature| signature.raw().to_owned());
                if let Some(text) = text.filter(|text| signature.is_some() || !is_blank(text.raw()))
                {
                    self.parts.push(Part::Thought { text: text.raw().to_owned(), signature });
                }
            }
            Some("tool") => self.tool(part, line, log),
            other => log.skip(other.unwrap_or("part"), "it is told beside the conversation", line),
        }
    }

    fn tool(&mut self, part: View<'_>, line: usize, log: &mut Log<'_>) {
        let [id, name, state] = part.fields(["callID", "tool", "state"]);
        let (Some(id), Some(name)) =
            (id.and_then(View::string), name.filter(|name| name.is_string()))
        else {
            log.skip("tool", "it has no id or no name", line);
            return;
        };
        let given = state.and_then(|state| state.get("input"));
        let call =
            Call { id: id.clone(), name: name.raw().to_owned(), arguments: arguments(given) };
        self.parts.push(Part::Call(call));
        let Some(state) = state else { return };
        let text = |key: &str| state.get(key).filter(|text| text.is_string());
        match field(state, "status").as_deref() {
            Some("completed") => {
                let mut content: Vec<Part> = text_part(text("output")).into_iter().collect();
                let files = state.get("attachments").into_iter().flat_map(View::items);
                content.extend(files.map(attached));
                let time = state.get("time").and_then(|time| time.get("compacted"));
                if time.is_some_and(|time| !time.is_null()) {
                    self.cleared.push(id.clone());
                }
                self.results.push(Entry::result(id, content, false, line));
            }
            Some("error") => {
                let said =
                    text("error").map_or_else(|| quote("error"), |error| error.raw().to_owned());
                self.results.push(Entry::result(id, vec![Part::Text(said)], true, line));
            }
            // Still at work when the log was written.
            _ => {}
        }
    }
}

/// Why a file that is no image is not sent.
fn not_shown(mime: Option<View<'_>>) -> &'static str {
    let is_read = |mime: &str| mime.starts_with("text/") || mime == "application/x-directory";
    match mime.and_then(View::text).is_some_and(|mime| is_read(&mime)) {
        // Its text stands in a part of its own.
        true => "what it says stands beside it",
        false => "no request has a place for it",
    }
}

/// A file that a tool returned, which is an image unless it says otherwise.
fn attached(file: View<'_>) -> Part {
    let [url, mime] = file.fields(["url", "mime"]);
    let is_image = mime.and_then(View::text).is_none_or(|mime| mime.starts_with("image/"));
    let image = url.filter(|_| is_image).and_then(Image::at).map(Part::Image);
    let kind = "file".to_owned();
    image.unwrap_or(Part::PassedOver { kind, why: "no request has a place for it" })
}

fn usage(info: View<'_>) -> Option<Usage> {
    let tokens = info.get("tokens")?;
    let cache = tokens.get("cache");
    let cached = cache.map_or(0, |cache| number(cache, "read") + number(cache, "write"));
    let input = number(tokens, "input") + cached;
    let output = number(tokens, "output") + number(tokens, "reasoning");
    (input > 0).then_some(Usage { input, output })
}
