//! What is to be said in another format, in an order that every provider takes: each reply of the model with
//! the results of its calls right behind it.

use std::collections::{HashMap, HashSet};

use brute_core::{Conversation, Message, MessageId, Opaque, Part, Role, ToolCall, ToolResult};

use super::media::Medium;
use super::{Note, Target};

/// Something that is said.
#[derive(Debug)]
pub(super) enum Block {
    /// Instructions.
    System(String),
    /// A person speaks, or shows something.
    User(Vec<Said>),
    /// The model speaks, and asks for tools.
    Model {
        /// What it says.
        said: Vec<Box<str>>,
        /// What it asks for, and what came of it.
        calls: Vec<Asked>,
    },
}

/// A part of what is said.
#[derive(Debug)]
pub(super) enum Said {
    /// Words.
    Text(String),
    /// What is shown.
    Medium(Medium),
}

/// A call, and its result; none, if it still waits for that.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) result: Option<Answer>,
}

/// The result of a call.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) shown: Vec<Medium>,
    pub(super) is_error: bool,
}

/// What stands where a conversation would begin with the model.
const BEGINNING: &str = "[The beginning of this conversation is not here.]";

/// Puts the blocks together.
pub(super) struct Planner<'a> {
    target: &'a Target,
    /// The media of a message, in order, each as far as it can be had.
    media: &'a dyn Fn(MessageId) -> Vec<Medium>,
    /// Where a message stands, for notes.
    place: &'a dyn Fn(usize, MessageId) -> Option<usize>,
    at: Option<usize>,
    blocks: Vec<Block>,
    /// Where each call of the conversation went: block and place in that.
    asked: HashMap<(usize, usize), (usize, usize)>,
    taken: HashSet<String>,
    made: usize,
    notes: Vec<Note>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        target: &'a Target,
        media: &'a dyn Fn(MessageId) -> Vec<Medium>,
        place: &'a dyn Fn(usize, MessageId) -> Option<usize>,
    ) -> Self {
        let (blocks, notes) = (Vec::new(), Vec::new());
        let (asked, taken) = (HashMap::new(), HashSet::new());
        Self { target, media, place, at: None, blocks, asked, taken, made: 0, notes }
    }

    /// The blocks of a conversation, and what was not carried as it is.
    pub(super) fn plan(mut self, conversation: &Conversation) -> (Vec<Block>, Vec<Note>) {
        let outline = conversation.outline();
        for (index, message) in conversation.messages().iter().enumerate() {
            self.at = (self.place)(index, message.id());
            match message.role() {
                Role::System => self.system(message),
                Role::User => self.user(message),
                Role::Assistant => self.model(index, message),
                Role::Tool => {
                    let call = outline.call_of(index);
                    let call = call.and_then(|call| self.asked.get(&(call.message, call.part)));
                    if let (Some(call), Some((_, result))) = (call.copied(), message.result()) {
                        self.result(call, message, result);
                    }
                }
                Role::Other => self.note("left out a record that is no part of the dialogue"),
            }
        }
        self.begin();
        (self.blocks, self.notes)
    }

    /// A user's message where the model would begin, or nobody would say anything: instructions alone are a
    /// conversation only where they are messages.
    fn begin(&mut self) {
        let mut dialogue = self.blocks.iter().filter(|block| !matches!(block, Block::System(_)));
        let why = match dialogue.next() {
            Some(Block::Model { .. }) => {
                "put a user's message before the first, which is the model's"
            }
            None if self.blocks.is_empty() || !self.target.has_system_messages() => {
                "put a user's message where there is none"
            }
            _ => return,
        };
        let before = |block: &Block| matches!(block, Block::System(_));
        let at = self.blocks.iter().take_while(|block| before(block)).count();
        self.blocks.insert(at, Block::User(vec![Said::Text(BEGINNING.to_owned())]));
        self.at = None;
        self.note(why);
    }

    fn note(&mut self, what: impl Into<String>) {
        self.notes.push(Note { message: self.at, what: what.into() });
    }

    fn opaque(&mut self, kind: &str) {
        self.note(format!(
            "left out a part of the kind `{kind}`, which only its provider can read"
        ));
    }

    fn system(&mut self, message: &Message) {
        // Where they may not stand in the middle, none is behind anything else.
        let is_first = matches!(self.blocks.last(), None | Some(Block::System(_)));
        for part in message.parts() {
            match part {
                Part::Text(text) if is_first || self.target.has_system_messages() => {
                    self.blocks.push(Block::System(text.to_string()));
                }
                Part::Text(text) if !text.trim().is_empty() => {
                    self.note("gave instructions in the middle as a user's words");
                    self.blocks.push(Block::User(vec![Said::Text(text.to_string())]));
                }
                Part::Opaque(opaque) => match summary_in(opaque) {
                    Some(summary) => {
                        self.note("gave a summary of the provider's own as a user's words");
                        self.blocks.push(Block::User(vec![Said::Text(summary)]));
                    }
                    None => self.opaque(&opaque.kind),
                },
                _ => {}
            }
        }
    }

    fn user(&mut self, message: &Message) {
        let mut media = (self.media)(message.id()).into_iter();
        let mut said = Vec::new();
        for part in message.parts() {
            match part {
                Part::Text(text) if text.trim().is_empty() => {}
                Part::Text(text) => said.push(Said::Text(text.to_string())),
                Part::Media(kind) => said.push(self.shown(media.next(), &kind.kind)),
                Part::Opaque(opaque) if opaque.kind == "document".into() => {
                    said.push(Said::Text(opaque.text.to_string()));
                    self.note("gave a document as its text");
                }
                Part::Opaque(opaque) => self.opaque(&opaque.kind),
                _ => {}
            }
        }
        if !said.is_empty() {
            self.blocks.push(Block::User(said));
        }
    }

    /// A medium where the target takes it, words that say what it was where not.
    fn shown(&mut self, medium: Option<Medium>, kind: &str) -> Said {
        match medium.filter(|medium| medium.element(self.target.format).is_some()) {
            Some(medium) => Said::Medium(medium),
            None => {
                self.note(format!("named a medium of the kind `{kind}`, which cannot be carried"));
                Said::Text(crate::formats::write::medium_named(kind))
            }
        }
    }

    fn model(&mut self, index: usize, message: &Message) {
        let (mut said, mut calls) = (Vec::new(), Vec::new());
        let mut places = Vec::new();
        for (place, part) in message.parts().iter().enumerate() {
            match part {
                Part::Text(text) if text.trim().is_empty() => {}
                Part::Text(text) => said.push(text.clone()),
                Part::Media(media) => {
                    self.note(format!("named a medium of the model's, `{}`", media.kind));
                    said.push(crate::formats::write::medium_named(&media.kind).into());
                }
                Part::ToolCall(call) => {
                    places.push(place);
                    calls.push(self.asked(call));
                }
                Part::Reasoning(reasoning) => self.note(match reasoning.signed {
                    true => "left out what the model thought: only who signed it takes it",
                    false => "left out what the model thought",
                }),
                Part::Opaque(opaque) => self.opaque(&opaque.kind),
                Part::ToolResult(_) => {}
            }
        }
        if said.is_empty() && calls.is_empty() {
            return;
        }
        // What the model says in a row is one reply, unless a result is between.
        let joined = match self.blocks.last_mut() {
            Some(Block::Model { said: before, calls: open })
                if open.iter().all(|call| call.result.is_none())
                    && (open.is_empty() || said.is_empty()) =>
            {
                before.append(&mut said);
                let first = open.len();
                open.append(&mut calls);
                Some(first)
            }
            _ => None,
        };
        let first = joined.unwrap_or_else(|| {
            self.blocks.push(Block::Model { said, calls });
            0
        });
        let block = self.blocks.len() - 1;
        let asked = places.into_iter().enumerate();
        self.asked.extend(asked.map(|(at, part)| ((index, part), (block, first + at))));
    }

    fn asked(&mut self, call: &ToolCall) -> Asked {
        let name = self.target.name_of(&call.name);
        if *name != *call.name {
            self.note(format!("renamed the tool `{}` to `{name}`", call.name));
        }
        let mut id = call.id.clone();
        let was_made = id.starts_with("function:");
        while !self.target.takes_id(&id) || !self.taken.insert(id.clone().into()) {
            self.made += 1;
            id = format!("call_{}", self.made).into();
        }
        if id != call.id && !was_made {
            self.note(format!("renamed the call `{}` to `{id}`", call.id));
        }
        let arguments = match call.arguments.trim() {
            "" => "{}".to_owned(),
            text if self.target.takes_arguments(text) => text.to_owned(),
            text => {
                self.note(format!("put the arguments of `{}`, no object, into one", call.id));
                serde_json::json!({ "arguments": text }).to_string()
            }
        };
        Asked { id: id.into(), name, arguments, result: None }
    }

    fn result(&mut self, (block, place): (usize, usize), message: &Message, result: &ToolResult) {
        let mut media = (self.media)(message.id()).into_iter();
        let mut answer =
            Answer { text: result.text.to_string(), shown: Vec::new(), is_error: result.is_error };
        for kind in &result.media {
            match self.shown(media.next(), &kind.kind) {
                Said::Medium(medium) => answer.shown.push(medium),
                Said::Text(named) => {
                    if !answer.text.is_empty() {
                        answer.text.push('\n');
                    }
                    answer.text.push_str(&named);
                }
            }
        }
        if result.is_error && !self.target.says_failures() {
            self.note(format!("did not say that the result for `{}` is a failure", result.call));
        }
        if let Some(Block::Model { calls, .. }) = self.blocks.get_mut(block)
            && let Some(call) = calls.get_mut(place)
        {
            call.result = Some(answer);
        }
    }
}

/// What a provider's own compaction says, if it can be read.
fn summary_in(opaque: &Opaque) -> Option<String> {
    let block: serde_json::Value = serde_json::from_str(&opaque.text).ok()?;
    let summary = block.get("content")?.as_str().filter(|text| !text.trim().is_empty())?;
    (opaque.kind == "compaction".into()).then(|| summary.to_owned())
}
