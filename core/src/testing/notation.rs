//! Conversations as they are drawn on a whiteboard, one message a line.
//!
//! ```text
//! system You help.
//! user Fix the build.
//! assistant think:… call:a call:b I will look.
//! tool a error[E0308]: mismatched types
//! tool b
//! note 12 (a note of an earlier compaction, of 12 messages)
//! summary 30 (a summary of an earlier compaction, of 30 messages)
//! other exit
//! ```
//!
//! `call:ID` calls the tool `read`, `call:ID:NAME` another one; `think:` and `signed:` begin a reasoning
//! part of one word; `image` is a medium of 1,000 tokens. `xN` behind a word repeats it N times.

use std::sync::Arc;

use crate::{
    Conversation, Mark, MarkKind, Media, Message, MessageId, Part, Reasoning, Role, ToolCall,
    ToolResult,
};

/// The conversation that `text` draws.
///
/// # Panics
/// If a line is not in the notation or the messages do not fit together: this is for tests.
#[track_caller]
pub fn conversation(text: &str) -> Conversation {
    let messages = messages(text).into_iter().map(|message| (*message).clone());
    match Conversation::new(messages) {
        Ok(conversation) => conversation,
        Err(invalid) => unreachable!("{invalid}"),
    }
}

/// The messages that `text` draws, whether they fit together or not.
pub fn messages(text: &str) -> Vec<Arc<Message>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().map(|(index, line)| Arc::new(message(index as u64, line))).collect()
}

fn message(id: u64, line: &str) -> Message {
    let (head, rest) = line.split_once(' ').unwrap_or((line, ""));
    let (role, parts) = match head {
        "system" => (Role::System, parts(rest)),
        "user" => (Role::User, parts(rest)),
        "assistant" => (Role::Assistant, parts(rest)),
        "other" => (Role::Other, parts(rest)),
        "note" => (Role::User, vec![marked(MarkKind::Note, rest)]),
        "summary" => (Role::User, vec![marked(MarkKind::Summary, rest)]),
        "tool" => (Role::Tool, vec![result(rest)]),
        _ => unreachable!("`{head}` begins no line of the notation"),
    };
    Message::new(MessageId(id), role, parts)
}

fn marked(kind: MarkKind, rest: &str) -> Part {
    let (count, body) = rest.split_once(' ').unwrap_or((rest, ""));
    let count = count.parse().unwrap_or_default();
    Part::text(Mark { kind, count }.write(&repeated(body)))
}

fn result(rest: &str) -> Part {
    let (call, text) = rest.split_once(' ').unwrap_or((rest, "ok"));
    let image = text.split(' ').filter(|word| *word == "image");
    let media =
        image.map(|_| Media { kind: "image/png".into(), tokens: 1000, bytes: 200_000 }).collect();
    let is_error = text.starts_with("error");
    Part::ToolResult(ToolResult { call: call.into(), text: repeated(text).into(), media, is_error })
}

fn parts(rest: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut words = Vec::new();
    for word in rest.split(' ').filter(|word| !word.is_empty()) {
        if let Some(call) = word.strip_prefix("call:") {
            let (id, name) = call.split_once(':').unwrap_or((call, "read"));
            let arguments = format!("{{\"path\":\"{id}.txt\"}}");
            parts.push(Part::ToolCall(ToolCall {
                id: id.into(),
                name: name.into(),
                arguments: arguments.into(),
            }));
        } else if let Some(thought) = word.strip_prefix("think:") {
            parts
                .push(Part::Reasoning(Reasoning { text: repeated(thought).into(), signed: false }));
        } else if let Some(thought) = word.strip_prefix("signed:") {
            parts.push(Part::Reasoning(Reasoning { text: repeated(thought).into(), signed: true }));
        } else if word == "image" {
            parts.push(Part::Media(Media {
                kind: "image/png".into(),
                tokens: 1000,
                bytes: 200_000,
            }));
        } else {
            words.push(repeated(word));
        }
    }
    if !words.is_empty() {
        // Reasoning comes first in real messages, calls last.
        let at = parts.iter().take_while(|part| matches!(part, Part::Reasoning(_))).count();
        parts.insert(at, Part::text(words.join(" ")));
    }
    parts
}

/// `wordx300` is the word 300 times.
fn repeated(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.rsplit_once('x') {
        Some((word, times)) if !word.is_empty() => match times.parse::<usize>() {
            Ok(times) => vec![word; times].join(" "),
            Err(_) => format!("{word}x{times}"),
        },
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}
