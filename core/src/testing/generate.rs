//! Generators of conversations as they really occur, quirks included.
//!
//! Parallel calls, results out of order, ids used again, messages between a call and its result, a
//! pending call at the end, empty content, several system messages, messages before the first user
//! message, one request followed by hundreds of steps, marks of earlier compactions, signed reasoning,
//! media, a single message that dwarfs the rest.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::{
    Conversation, Mark, MarkKind, Media, Message, MessageId, Opaque, Part, Reasoning, Role,
    ToolCall, ToolResult,
};

/// A conversation of up to about `blocks` steps and turns.
pub fn conversation(blocks: usize) -> impl Strategy<Value = Conversation> {
    let head = prop::collection::vec(text(), 0..3);
    let body = prop::collection::vec(block(), 0..blocks.max(1));
    (head, body, prop::bool::weighted(0.2)).prop_map(|(instructions, blocks, pending)| {
        let mut writer = Writer::default();
        for text in instructions {
            writer.say(Role::System, vec![Part::text(text)]);
        }
        let last = blocks.len().saturating_sub(1);
        for (index, block) in blocks.into_iter().enumerate() {
            writer.block(block, pending && index == last);
        }
        match Conversation::new(writer.messages) {
            Ok(conversation) => conversation,
            Err(invalid) => unreachable!("the generator made {invalid}"),
        }
    })
}

/// A stretch of a conversation.
#[derive(Debug, Clone)]
enum Block {
    User(String),
    System(String),
    Other(String),
    Say {
        thought: Option<(String, bool)>,
        text: String,
    },
    Step {
        thought: Option<(String, bool)>,
        text: Option<String>,
        calls: Vec<Call>,
        between: Option<String>,
    },
    Mark(MarkKind, u64, String),
    Media,
    Opaque(String),
}

#[derive(Debug, Clone)]
struct Call {
    /// From a small pool, so that ids repeat.
    id: u8,
    tool: u8,
    argument: String,
    result: String,
    order: Index,
    is_error: bool,
    media: bool,
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just(String::new()),
        6 => "[a-z ]{1,60}",
        2 => "\\PC{1,40}",
        2 => (100usize..2_000).prop_map(|words| "word ".repeat(words)),
        1 => (5_000usize..20_000).prop_map(|words| "huge ".repeat(words)),
        1 => "(a/[a-z]{1,8}\\.rs:[0-9]{1,3}: error\n){1,20}",
    ]
}

fn thought() -> impl Strategy<Value = Option<(String, bool)>> {
    prop::option::weighted(0.3, (text(), any::<bool>()))
}

fn call() -> impl Strategy<Value = Call> {
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    (0u8..6, 0u8..4, text(), text(), any::<Index>(), flags).prop_map(
        |(id, tool, argument, result, order, (is_error, media))| Call {
            id,
            tool,
            argument,
            result,
            order,
            is_error,
            media,
        },
    )
}

fn block() -> impl Strategy<Value = Block> {
    let between = prop::option::weighted(0.05, text());
    let calls = prop::collection::vec(call(), 1..4);
    let step = (thought(), prop::option::of(text()), calls, between)
        .prop_map(|(thought, text, calls, between)| Block::Step { thought, text, calls, between });
    let kind = prop_oneof![Just(MarkKind::Note), Just(MarkKind::Summary)];
    prop_oneof![
        4 => text().prop_map(Block::User),
        10 => step,
        3 => (thought(), text()).prop_map(|(thought, text)| Block::Say { thought, text }),
        1 => text().prop_map(Block::System),
        1 => text().prop_map(Block::Other),
        1 => (kind, 1u64..100, text()).prop_map(|(kind, count, body)| Block::Mark(kind, count, body)),
        1 => Just(Block::Media),
        1 => text().prop_map(Block::Opaque),
    ]
}

#[derive(Default)]
struct Writer {
    messages: Vec<Message>,
}

impl Writer {
    fn say(&mut self, role: Role, parts: Vec<Part>) {
        let id = MessageId(self.messages.len() as u64);
        self.messages.push(Message::new(id, role, parts));
    }

    fn block(&mut self, block: Block, pending: bool) {
        match block {
            Block::User(text) => self.say(Role::User, vec![Part::text(text)]),
            Block::System(text) => self.say(Role::System, vec![Part::text(text)]),
            Block::Other(text) => self.say(Role::Other, vec![Part::text(text)]),
            Block::Mark(kind, count, body) => {
                self.say(Role::User, vec![Part::text(Mark { kind, count }.write(&body))]);
            }
            Block::Media => {
                let image =
                    Part::Media(Media { kind: "image/png".into(), tokens: 1_100, bytes: 200_000 });
                self.say(Role::User, vec![Part::text("look"), image]);
            }
            Block::Opaque(text) => {
                let opaque =
                    Part::Opaque(Opaque { kind: "server_tool_use".into(), text: text.into() });
                self.say(Role::Assistant, vec![opaque, Part::text("so")]);
            }
            Block::Say { thought, text } => {
                let parts = reasoning(thought).chain([Part::text(text)]).collect();
                self.say(Role::Assistant, parts);
            }
            Block::Step { thought, text, mut calls, between } => {
                let mut seen = [false; 6];
                calls.retain(|call| !std::mem::replace(&mut seen[usize::from(call.id)], true));
                let asked = calls.iter().map(|call| {
                    Part::ToolCall(ToolCall {
                        id: format!("call_{}", call.id).into(),
                        name: format!("tool_{}", call.tool).into(),
                        arguments: serde_json::json!({ "path": call.argument }).to_string().into(),
                    })
                });
                let parts = reasoning(thought).chain(text.map(Part::text)).chain(asked).collect();
                self.say(Role::Assistant, parts);
                calls.sort_by_key(|call| call.order.index(16));
                if pending {
                    calls.pop();
                } else if let Some(text) = between {
                    self.say(Role::User, vec![Part::text(text)]);
                }
                for call in calls {
                    let image = Media { kind: "image/png".into(), tokens: 1_100, bytes: 200_000 };
                    let result = ToolResult {
                        call: format!("call_{}", call.id).into(),
                        text: call.result.into(),
                        media: call.media.then_some(image).into_iter().collect(),
                        is_error: call.is_error,
                    };
                    self.say(Role::Tool, vec![Part::ToolResult(result)]);
                }
            }
        }
    }
}

fn reasoning(thought: Option<(String, bool)>) -> impl Iterator<Item = Part> {
    thought
        .into_iter()
        .map(|(text, signed)| Part::Reasoning(Reasoning { text: text.into(), signed }))
}
