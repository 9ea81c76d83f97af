//! One compaction of a real session, and the laws that it must keep.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use brute_core::{Conversation, Message, MessageId, Role, TokenCounter};
use brute_host::config::{Origin, Room, Source, Sources, load};
use brute_host::formats::{Document, Format, ReadOptions, WriteOptions};
use brute_host::ladder::{Compaction, Compactor, Outcome};
use brute_host::layers::Layers;
use brute_host::tokens::counter;
use serde_json::Value;

use crate::strict::strict;
use crate::validate::violations;

/// A ladder that needs no network.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ladder {
    /// What there is by default, without a summarizer.
    Free,
    /// Summaries without a model.
    Extract,
}

impl Ladder {
    pub(crate) const ALL: [Self; 2] = [Self::Free, Self::Extract];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Extract => "extract",
        }
    }

    fn toml(self) -> &'static str {
        match self {
            Self::Free => "",
            Self::Extract => {
                "[summarizer]\nbackend = \"extract\"\n[[ladder]]\nlayer = \"tool-results\"\n\
                 [[ladder]]\nlayer = \"summarize\"\n"
            }
        }
    }
}

/// A line of the table.
pub(crate) struct Row {
    /// Tokens of all messages before.
    pub(crate) before: u64,
    /// Tokens of all messages after.
    pub(crate) after: u64,
    /// What came of it, with what stood in the way.
    pub(crate) outcome: String,
}

/// Compacts a session for a window, and says which laws were broken.
pub(crate) fn compact(
    bytes: &[u8],
    options: &ReadOptions,
    window: u64,
    ladder: Ladder,
) -> (Row, Vec<String>) {
    let document = Document::read(bytes, options).unwrap();
    let compactor = compactor(&document, window, ladder);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let compaction = runtime.block_on(compactor.compact(document.conversation().clone()));
    let plain = WriteOptions::default();
    let written = document.write(&compaction.conversation, &plain).into_owned();
    let mut laws = Laws { document: &document, compaction: &compaction, broken: Vec::new() };
    laws.untouched(bytes, &written);
    laws.sizes(&compactor);
    laws.kept();
    laws.asked();
    match Document::read(written.as_slice(), &ReadOptions { repair: false, ..*options }) {
        Ok(output) => {
            laws.output(&output, &compactor);
            let again = runtime.block_on(compactor.compact(output.conversation().clone()));
            let twice = output.write(&again.conversation, &plain).into_owned();
            laws.must(twice == written, || "a second run changes the output".into());
        }
        Err(error) => laws.broken.push(format!("the output cannot be read: {error}")),
    }
    let broken = laws.broken;
    let Compaction { before, after, outcome, .. } = compaction;
    (Row { before, after, outcome: words(&outcome) }, broken)
}

fn words(outcome: &Outcome) -> String {
    let blockers = outcome.blockers().iter().take(2);
    let blockers: Vec<String> =
        blockers.map(|found| format!("{} {}", found.kind, found.tokens)).collect();
    match outcome {
        Outcome::BelowTrigger => "below trigger".into(),
        Outcome::Fitted => "fitted".into(),
        Outcome::Partial { over_by, .. } => format!("over by {over_by}: {}", blockers.join(", ")),
        Outcome::Nothing { over_by, .. } => {
            format!("nothing, over by {over_by}: {}", blockers.join(", "))
        }
    }
}

fn compactor(document: &Document, window: u64, ladder: Ladder) -> Compactor {
    let text = format!("[window]\nsize = {window}\n{}", ladder.toml());
    let file = Source::new("brute.toml", text, Origin::Project);
    let sources = Sources { project: Some(file), ..Sources::default() };
    let loaded = load(&sources, &Layers::built_in());
    let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let Room { budget, counter: kind, rungs, .. } = config.room(None).unwrap();
    let counter = counter(kind);
    let tools = document.tools_text().map_or(0, |tools| u64::from(counter.count(&tools)));
    let mut compactor = Compactor::new(Arc::clone(&counter), budget.with_overhead(tools));
    if let Some(summarizer) = &config.summarizer {
        compactor = compactor
            .summarizer(summarizer.build_all(&config.fallback, &counter, &config.models).unwrap());
    }
    rungs.into_iter().fold(compactor, Compactor::rung)
}

struct Laws<'a> {
    document: &'a Document,
    compaction: &'a Compaction,
    broken: Vec<String>,
}

impl Laws<'_> {
    fn must(&mut self, holds: bool, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.broken.push(otherwise());
        }
    }

    /// What is not compacted leaves as it came; what was mended cannot.
    fn untouched(&mut self, bytes: &[u8], written: &[u8]) {
        let mended = !self.document.repairs().is_empty();
        let document = self.document;
        let same = document.write(document.conversation(), &WriteOptions::default());
        self.must(mended || *same == *bytes, || {
            "an untouched list does not leave as it came".into()
        });
        let below = self.compaction.outcome == Outcome::BelowTrigger;
        self.must(mended || !below || written == bytes, || {
            "a run below the trigger changes the input".into()
        });
    }

    fn sizes(&mut self, compactor: &Compactor) {
        let Compaction { before, after, outcome, .. } = self.compaction;
        let target = compactor.budget().target();
        self.must(after <= before, || format!("it grew from {before} to {after}"));
        match outcome {
            Outcome::BelowTrigger => {}
            Outcome::Fitted => self.must(*after <= target, || format!("{after} is above {target}")),
            Outcome::Partial { over_by, blockers, .. }
            | Outcome::Nothing { over_by, blockers, .. } => {
                self.must(*over_by > 0 && *after == target + over_by, || {
                    format!("over by {over_by}, with {after} tokens and target {target}")
                });
                self.must(!blockers.is_empty(), || "nothing is named as in the way".into());
            }
        }
    }

    /// The instructions, the task and the newest step are there as they were.
    fn kept(&mut self) {
        let before = self.document.conversation();
        let outline = before.outline();
        let newest = outline.newest_steps(1, false);
        let there = by_id(&self.compaction.conversation);
        for (index, message) in before.messages().iter().enumerate() {
            let name = match message.role() {
                Role::System => "an instruction",
                _ if outline.task == Some(index) => "the task",
                _ if outline.step_of(index).is_some() && index >= newest => "the newest step",
                _ => continue,
            };
            let same = there.get(&message.id()).is_some_and(|now| Arc::ptr_eq(now, message));
            self.must(same, || format!("{name} (message {index}) is gone or changed"));
        }
    }

    /// The task is the newest message in which a person asks for something, where the input says so.
    fn asked(&mut self) {
        let messages: Vec<Value> =
            wires(self.document).map(|raw| serde_json::from_str(raw).unwrap_or_default()).collect();
        let conversation = self.document.conversation();
        let task = conversation.outline().task.map(|task| conversation.messages()[task].id());
        let task = task.and_then(|task| self.document.wire_index(task));
        let asked = newest_request(&messages);
        self.must(task == asked, || {
            format!("the task is message {task:?}, but the newest request is message {asked:?}")
        });
    }

    fn output(&mut self, output: &Document, compactor: &Compactor) {
        let size =
            output.conversation().clone().measure(&**compactor.counter() as &dyn TokenCounter);
        let after = self.compaction.after;
        self.must(size <= after, || format!("read again it has {size} tokens, not {after}"));
        self.valid(output);
        self.same_bytes(output);
        self.elsewhere(output);
    }

    /// No rule is broken that the input kept.
    fn valid(&mut self, output: &Document) {
        let format = match output.format() {
            Format::OpenaiChat => "openai_chat",
            Format::OpenaiResponses => "responses",
            Format::Anthropic => "anthropic",
            Format::Gemini => "gemini",
        };
        let list = |document: &Document| -> Vec<Value> {
            wires(document).map(|raw| serde_json::from_str(raw).unwrap_or_default()).collect()
        };
        let words = |found: String| match found.split_once(": ") {
            Some((place, words)) if place == "end" || place.parse::<usize>().is_ok() => {
                words.to_owned()
            }
            _ => found,
        };
        let before: Vec<String> =
            violations(format, &list(self.document)).into_iter().map(words).collect();
        let after = violations(format, &list(output));
        let new: Vec<&String> =
            after.iter().filter(|found| !before.contains(&words((*found).clone()))).collect();
        self.must(new.is_empty(), || format!("no longer valid: {new:?}"));
    }

    /// In every other format it is what the strictest provider of that takes, but for the calls that wait.
    fn elsewhere(&mut self, output: &Document) {
        let waits = !output.conversation().outline().pending.is_empty();
        for format in Format::ALL.into_iter().filter(|format| *format != output.format()) {
            let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
            match Document::read(output.convert(format).json.into_bytes(), &options) {
                Ok(there) => {
                    let list =
                        wires(&there).map(|raw| serde_json::from_str(raw).unwrap_or_default());
                    let list: Vec<Value> = list.collect();
                    let mut broken = strict(format, &list);
                    broken.retain(|rule| !(waits && rule == "calls without results at the end"));
                    self.must(broken.is_empty(), || format!("not valid as {format}: {broken:?}"));
                }
                Err(error) => self.broken.push(format!("cannot be read as {format}: {error}")),
            }
        }
    }

    /// Every message on the wire of which nothing was touched is in the output, byte for byte and in
    /// order; or, where a neighbor was merged with it, its blocks are.
    fn same_bytes(&mut self, output: &Document) {
        let mended = !self.document.repairs().is_empty();
        let there = by_id(&self.compaction.conversation);
        // An image alone behind a tool's result belongs to that: no message stands in it.
        let mut whole = vec![None; self.document.wire_len()];
        for message in self.document.conversation().messages() {
            if let Some(wire) = self.document.wire_index(message.id()) {
                *whole[wire].get_or_insert(true) &=
                    there.get(&message.id()).is_some_and(|now| Arc::ptr_eq(now, message));
            }
        }
        let output: Vec<&str> = wires(output).collect();
        let mut from = 0;
        for (index, raw) in
            wires(self.document).enumerate().filter(|(index, _)| whole[*index] == Some(true))
        {
            match output[from..].iter().position(|other| *other == raw) {
                Some(at) => from += at + 1,
                None => {
                    let merged = output.iter().any(|other| holds_blocks(other, raw));
                    self.must(merged || mended, || {
                        format!(
                            "message {index} was not touched, but its bytes are not in the output"
                        )
                    });
                }
            }
        }
    }
}

/// The newest message on the wire in which a person asks for something: not what a harness says of
/// itself, and not an image alone beside or behind a tool's result.
fn newest_request(messages: &[Value]) -> Option<usize> {
    let is_true = |message: &Value, key: &str| message[key].as_bool().unwrap_or(false);
    let acts = |message: &Value| {
        message["role"] == "assistant"
            && message["action"].is_string()
            && !is_true(message, "is_demo")
    };
    let first_action = messages.iter().position(acts).unwrap_or(messages.len());
    (0..messages.len()).rev().find(|&index| {
        let message = &messages[index];
        let by_harness =
            is_true(message, "is_demo") || (index > first_action && message["agent"].is_string());
        if message["role"] != "user" || by_harness {
            return false;
        }
        let blocks = ["content", "parts"].into_iter().find_map(|key| message[key].as_array());
        let blocks = blocks.map_or(&[][..], Vec::as_slice);
        let texts = blocks.iter().filter_map(|block| block["text"].as_str());
        let mut texts = texts.chain(message["content"].as_str());
        let behind_result = index > 0
            && (messages[index - 1]["role"] == "tool"
                || messages[index - 1]["type"] == "function_call_output");
        let has_result = blocks
            .iter()
            .any(|block| block["type"] == "tool_result" || block.get("functionResponse").is_some());
        texts.any(|text| !text.trim().is_empty()) || !(behind_result || has_result)
    })
}

fn by_id(conversation: &Conversation) -> HashMap<MessageId, &Arc<Message>> {
    conversation.messages().iter().map(|message| (message.id(), message)).collect()
}

fn wires(document: &Document) -> impl Iterator<Item = &str> {
    (0..document.wire_len()).filter_map(|index| document.wire_json(index))
}

/// Whether the content of `part` is in the content of `whole`.
fn holds_blocks(whole: &str, part: &str) -> bool {
    let blocks = |raw: &str| -> Vec<Value> {
        let message: Value = serde_json::from_str(raw).unwrap_or_default();
        let key = if message.get("parts").is_some() { "parts" } else { "content" };
        match &message[key] {
            Value::Array(blocks) => blocks.clone(),
            Value::String(text) => vec![serde_json::json!({"type": "text", "text": text})],
            _ => Vec::new(),
        }
    };
    let (whole, part) = (Cow::from(blocks(whole)), blocks(part));
    !part.is_empty() && part.iter().all(|block| whole.contains(block))
}
