//! Small logs of our own with the quirks of real ones. What must come of each is derived here from its
//! JSON alone, by other means than the readers'.

mod brute_session;
mod claude;
mod events;
mod limits;
mod lists;
mod lossless;
mod passed_over;
mod pieces;
mod sessions;

use std::collections::HashSet;

use brute_core::{Message, Part, Role};
use serde_json::Value;

use super::{Input, Kind, Options, Transcript, read};
use crate::formats::{Document, Format, ReadOptions};

/// The log called `name` among our own.
pub(super) fn sample(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

/// The transcript in `bytes`.
pub(super) fn transcript(bytes: &[u8], options: &Options) -> Transcript {
    match read(bytes, options).unwrap() {
        Input::Transcript(transcript) => *transcript,
        Input::Other(_) => panic!("no agent's log"),
    }
}

pub(super) fn live(name: &str) -> (Transcript, Document) {
    of(name, &Options::default())
}

pub(super) fn whole(name: &str) -> (Transcript, Document) {
    of(name, &Options { whole: true, ..Options::default() })
}

/// The transcript in our own log, and its request as it is read without any repair.
pub(super) fn of(name: &str, options: &Options) -> (Transcript, Document) {
    let transcript = transcript(&sample(name), options);
    let format = Some(transcript.format());
    let options = ReadOptions { format, ..ReadOptions::default() };
    let document = Document::read(transcript.request(), &options).unwrap();
    (transcript, document)
}

/// All JSON values of a log, two glued together being two.
pub(super) fn values(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().flat_map(|line| {
        serde_json::Deserializer::from_str(line)
            .into_iter::<Value>()
            .map_while(Result::ok)
            .collect::<Vec<_>>()
    });
    lines.collect()
}

/// Messages, calls and results of a conversation.
pub(super) fn counts(document: &Document) -> (usize, usize, usize) {
    let messages = document.conversation().messages();
    let calls = messages.iter().map(|message| message.calls().count()).sum();
    let results = messages.iter().filter(|message| message.role() == Role::Tool).count();
    (messages.len(), calls, results)
}

/// The texts of all messages of `role`.
pub(super) fn texts(document: &Document, role: Role) -> Vec<String> {
    let messages = document.conversation().messages();
    let of_role = messages.iter().filter(|message| message.role() == role);
    of_role.map(|message| text(message)).collect()
}

fn text(message: &Message) -> String {
    let texts = message.parts().iter().filter_map(|part| match part {
        Part::Text(text) => Some(&**text),
        Part::ToolResult(result) => Some(&*result.text),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("|")
}

#[test]
fn names_are_those_of_the_parser() {
    for kind in Kind::ALL {
        assert_eq!(kind.name().parse::<Kind>(), Ok(kind));
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
    assert!("claude".parse::<Kind>().unwrap_err().to_string().contains("`claude-code`"));
}

#[test]
fn each_log_is_told_by_its_content() {
    for (name, kind) in [
        ("claude-code.jsonl", Kind::ClaudeCode),
        ("claude-code-compacted.jsonl", Kind::ClaudeCode),
        ("claude-stream-json.jsonl", Kind::ClaudeStreamJson),
        ("pi.jsonl", Kind::Pi),
        ("opencode.json", Kind::Opencode),
    ] {
        assert_eq!(live(name).0.kind(), kind, "{name}");
    }
}

/// No call and no result is in two messages, and no fact is in the request.
#[test]
fn what_comes_is_a_request_that_a_provider_takes() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        for whole in [false, true] {
            let options = Options { whole, pick: pick_of(&name), ..Options::default() };
            let (transcript, document) = of(&name, &options);
            assert!(document.repairs().is_empty(), "{name}");
            let request: Value = serde_json::from_str(transcript.request()).unwrap();
            let list = match transcript.format() {
                Format::OpenaiChat | Format::Anthropic => "messages",
                Format::OpenaiResponses => "input",
                Format::Gemini => "contents",
            };
            let messages = request[list].as_array().unwrap();
            for message in messages {
                for fact in ["usage", "uuid", "timestamp", "id"] {
                    assert!(message.get(fact).is_none(), "{name}: {fact}");
                }
            }
            let is_told = |message: &&Value| {
                let role = message["role"].as_str();
                role.is_some_and(|role| !matches!(role, "system" | "developer"))
            };
            let first = messages.iter().find(is_told).unwrap();
            assert_eq!(first["role"], "user", "{name}");
            if matches!(transcript.format(), Format::Anthropic | Format::Gemini) {
                let roles: Vec<_> = messages.iter().map(|message| &message["role"]).collect();
                assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{name}: {roles:?}");
            }
            let ids: Vec<String> = document
                .conversation()
                .messages()
                .iter()
                .flat_map(|message| {
                    message.calls().map(|(_, call)| call.id.to_string()).collect::<Vec<_>>()
                })
                .collect();
            let distinct: HashSet<&String> = ids.iter().collect();
            assert_eq!(distinct.len(), ids.len(), "{name}");
        }
    }
}

/// The conversation to read of a log that has several.
fn pick_of(name: &str) -> Option<usize> {
    ["inspect", "openhands-output", "aider"].iter().any(|many| name.starts_with(many)).then_some(0)
}
