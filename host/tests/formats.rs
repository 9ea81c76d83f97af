//! Laws of reading and writing, over generated wire JSON with every oddity of spelling.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "formats/archive.rs"]
mod archive;
#[path = "formats/convert.rs"]
mod convert;
#[path = "formats/orders.rs"]
mod orders;
#[path = "formats/repair.rs"]
mod repair;
#[path = "formats/strict.rs"]
mod strict;
#[path = "formats/wire.rs"]
mod wire;

use std::collections::HashSet;

use brute_core::testing::TestHost;
use brute_core::{Conversation, Edit, MessageId, Part, Plan, Role};
use brute_host::formats::{Document, Format, ReadOptions, WriteOptions};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use self::strict::strict;
use self::wire::{list_key, wire};

#[derive(Debug, Clone)]
struct Turn {
    user: String,
    image: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Clone)]
struct Step {
    thought: Option<bool>,
    text: Option<String>,
    results: Vec<(String, bool)>,
    /// Whether an image stands beside the results.
    shows: bool,
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,8}( [a-z\"\\\\/\n\té🙂]{1,8}){0,6}",
        1 => (20usize..200).prop_map(|words| format!("w{}", " word".repeat(words))),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let results = prop::collection::vec((words(), any::<bool>()), 0..4);
    let thought = prop::option::weighted(0.3, any::<bool>());
    (thought, prop::option::of(words()), results, prop::bool::weighted(0.3)).prop_map(
        |(thought, text, results, shows)| Step {
            thought,
            text,
            shows: shows && !results.is_empty(),
            results,
        },
    )
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = (words(), prop::bool::weighted(0.2), prop::collection::vec(step(), 0..5))
        .prop_map(|(user, image, steps)| Turn { user, image, steps });
    prop::collection::vec(turn, 1..5)
}

/// Spells JSON in odd ways, the same for the same seed.
struct Speller(u64);

impl Speller {
    fn one_in(&mut self, n: u64) -> bool {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33).is_multiple_of(n)
    }

    fn space(&mut self) -> &'static str {
        if self.one_in(4) {
            " "
        } else if self.one_in(12) {
            "\t "
        } else {
            ""
        }
    }

    fn string(&mut self, text: &str) -> String {
        let mut spelled = String::from("\"");
        for character in text.chars() {
            if self.one_in(20) {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    spelled.push_str(&format!("\\u{unit:04X}"));
                }
            } else if character == '/' && self.one_in(2) {
                spelled.push_str("\\/");
            } else {
                let quoted = serde_json::to_string(&character.to_string()).unwrap();
                spelled.push_str(&quoted[1..quoted.len() - 1]);
            }
        }
        spelled.push('"');
        spelled
    }

    fn value(&mut self, value: &Value) -> String {
        match value {
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                let items: Vec<String> = items
                    .iter()
                    .map(|item| format!("{}{}{}", self.space(), self.value(item), self.space()))
                    .collect();
                format!("[{}]", items.join(","))
            }
            Value::Object(members) => {
                let mut spelled: Vec<String> = members
                    .iter()
                    .map(|(key, value)| {
                        let key = self.string(key);
                        format!(
                            "{}{key}{}:{}{}",
                            self.space(),
                            self.space(),
                            self.space(),
                            self.value(value)
                        )
                    })
                    .collect();
                if self.one_in(3) {
                    spelled.push("\"x_unknown\": [1.50e2, {\"deep\" :null}, -0.0]".to_owned());
                }
                if self.one_in(3) {
                    spelled.reverse();
                }
                format!("{{{}{}}}", spelled.join(","), self.space())
            }
            other => other.to_string(),
        }
    }
}

fn document(format: Format, turns: &[Turn], seed: u64) -> String {
    let mut speller = Speller(seed);
    let messages: Vec<String> =
        wire(format, turns).iter().map(|message| speller.value(message)).collect();
    match seed % 4 {
        0 => messages.join("\n") + "\n",
        1 => format!("[\n  {}\n]\n", messages.join(",\n  ")),
        2 => {
            let (key, list) = (list_key(format), messages.join(" ,"));
            format!("{{\"x\": 1e2, \"{key}\" :[{list}] , \"model\":\"m\"}}")
        }
        _ => format!("\u{feff}[{}]", messages.join(",")),
    }
}

fn read(format: Format, json: impl Into<Vec<u8>>) -> Document {
    let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
    Document::read(json, &options).unwrap()
}

/// All parts in order, whatever messages they stand in.
fn flat(conversation: &Conversation) -> Vec<(Role, Part)> {
    let of = |message: &std::sync::Arc<brute_core::Message>| {
        let role = message.role();
        message.parts().iter().map(move |part| (role, part.clone())).collect::<Vec<_>>()
    };
    conversation.messages().iter().flat_map(of).collect()
}

/// Edits that often make a valid plan: whole steps and turns, results, reasoning.
fn plan(conversation: &Conversation, choices: &[(u8, Index, Index)]) -> Plan {
    let outline = conversation.outline();
    let messages = conversation.messages();
    let mut edits: Vec<Edit> = Vec::new();
    for (kind, which, length) in choices {
        let steps = &outline.steps;
        match kind % 5 {
            0 | 1 if !steps.is_empty() => {
                let first = which.index(steps.len());
                let last = (first + length.index(3)).min(steps.len() - 1);
                let span = steps[first].span.start..steps[last].span.end;
                edits.push(if kind % 5 == 0 {
                    Edit::Drop { span }
                } else {
                    Edit::Replace { span, role: Role::User, text: "gone".to_owned() }
                });
            }
            2 if outline.turns.len() > 1 => {
                let turn = which.index(outline.turns.len() - 1);
                edits.push(Edit::Drop { span: outline.turns[turn].span.clone() });
            }
            _ if !messages.is_empty() => {
                let message = which.index(messages.len());
                if messages[message].parts().is_empty() {
                    continue;
                }
                let part = length.index(messages[message].parts().len());
                edits.push(match messages[message].parts()[part] {
                    Part::Reasoning(_) => Edit::Remove { message, part },
                    Part::ToolCall(_) => Edit::Rewrite { message, part, text: "{}".to_owned() },
                    _ => Edit::Rewrite { message, part, text: "x".to_owned() },
                });
            }
            _ => {}
        }
    }
    Plan::of(edits)
}

fn formats() -> impl Strategy<Value = Format> {
    prop::sample::select(&Format::ALL[..])
}

/// The newest message on the wire in which a person says something.
fn newest_request(messages: &[Value]) -> Option<usize> {
    messages.iter().rposition(|message| {
        let parts = ["content", "parts"].into_iter().filter_map(|key| message[key].as_array());
        let mut parts = parts.flatten();
        let is_text = |part: &Value| part["text"].is_string();
        message["role"] == "user" && (message["content"].is_string() || parts.any(is_text))
    })
}

proptest! {
    #[test]
    fn the_task_is_what_a_person_said_last(format in formats(), turns in turns(), seed: u64) {
        let json = document(format, &turns, seed);
        let read = read(format, json.clone());
        let conversation = read.conversation();
        let task = conversation.outline().task.map(|task| conversation.messages()[task].id());
        prop_assert_eq!(task.and_then(|id| read.wire_index(id)), newest_request(&list(json.into_bytes())));
    }

    #[test]
    fn untouched_comes_back_byte_for_byte(format in formats(), turns in turns(), seed: u64) {
        let json = document(format, &turns, seed);
        let read = read(format, json.clone());
        prop_assert_eq!(read.write(read.conversation(), &WriteOptions::default()), json.as_bytes());
        let same = Conversation::new(read.conversation().messages().iter().map(|message| (**message).clone())).unwrap();
        prop_assert_eq!(read.write(&same, &WriteOptions::default()), json.as_bytes());
    }

    #[test]
    fn what_is_written_is_what_was_made(
        format in formats(),
        turns in turns(),
        seed: u64,
        choices in prop::collection::vec((any::<u8>(), any::<Index>(), any::<Index>()), 1..4),
        alternate_roles: bool,
    ) {
        let json = document(format, &turns, seed);
        let before = read(format, json);
        prop_assert_eq!(strict(format, &list(before.write(before.conversation(), &WriteOptions::default()).into_owned())), Vec::<String>::new());
        let host = TestHost::new();
        let plan = plan(before.conversation(), &choices);
        let Ok(applied) = host.apply(before.conversation(), &plan) else { return Ok(()); };
        let written = before.write(&applied.conversation, &WriteOptions::default()).into_owned();
        let after = read(format, written.clone());
        prop_assert_eq!(flat(after.conversation()), flat(&applied.conversation));
        prop_assert_eq!(strict(format, &list(written.clone())), Vec::<String>::new(), "{}", String::from_utf8_lossy(&written));
        check_untouched(&before, &applied.conversation, &String::from_utf8(written).unwrap())?;
        let options = WriteOptions { alternate_roles };
        let alternating = list(before.write(&applied.conversation, &options).into_owned());
        prop_assert_eq!(strict(format, &alternating), Vec::<String>::new());
    }

    #[test]
    fn broken_input_is_survived(format in formats(), turns in turns(), seed: u64, cut: Index, byte: u8, repair: bool) {
        let mut bytes = document(format, &turns, seed).into_bytes();
        let at = cut.index(bytes.len());
        bytes[at] = byte;
        let options = ReadOptions { repair, ..ReadOptions::default() };
        if let Ok(read) = Document::read(bytes.clone(), &options)
            && read.repairs().is_empty()
        {
            prop_assert_eq!(&*read.write(read.conversation(), &WriteOptions::default()), &*bytes);
        }
        bytes.truncate(at);
        let _ = Document::read(bytes, &options);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Document::read(bytes, &ReadOptions { repair: true, ..ReadOptions::default() });
    }

    #[test]
    fn lost_and_doubled_messages_are_repaired(
        format in formats(),
        turns in turns(),
        lost in prop::collection::vec(any::<Index>(), 0..3),
        doubled in prop::collection::vec(any::<Index>(), 0..3),
    ) {
        let mut messages = wire(format, &turns);
        for at in doubled {
            let at = at.index(messages.len());
            messages.insert(at, messages[at].clone());
        }
        for at in lost {
            if messages.len() > 1 {
                messages.remove(at.index(messages.len()));
            }
        }
        let json = Value::from(messages).to_string();
        let options = ReadOptions { format: Some(format), repair: true, ..ReadOptions::default() };
        let repaired = match Document::read(json.clone(), &options) {
            // Nothing is left of results alone.
            Err(_) if !json.contains("\"user\"") || !has_reply(&json) => return Ok(()),
            read => read.unwrap(),
        };
        let written = repaired.write(repaired.conversation(), &WriteOptions::default()).into_owned();
        let again = Document::read(written.clone(), &ReadOptions { repair: false, ..options });
        prop_assert!(again.is_ok(), "{}\n{}\n{}", again.unwrap_err(), json, String::from_utf8_lossy(&written));
    }
}

/// Whether the model says or does something.
fn has_reply(json: &str) -> bool {
    ["assistant", "\"model\"", "function_call\""].iter().any(|of| json.contains(of))
}

/// What stands between the same neighbors as before is there byte for byte.
fn check_untouched(
    before: &Document,
    after: &Conversation,
    written: &str,
) -> Result<(), TestCaseError> {
    let ids = |conversation: &Conversation| -> Vec<MessageId> {
        conversation.messages().iter().map(|message| message.id()).collect()
    };
    let neighbors = |ids: &[MessageId]| -> HashSet<[Option<MessageId>; 3]> {
        let at = |index: Option<usize>| index.and_then(|index| ids.get(index)).copied();
        (0..ids.len())
            .map(|index| [at(index.checked_sub(1)), at(Some(index)), at(Some(index + 1))])
            .collect()
    };
    let new = neighbors(&ids(after));
    let kept: HashSet<MessageId> = before
        .conversation()
        .messages()
        .iter()
        .filter(|message| after.messages().iter().any(|kept| kept == *message))
        .map(|message| message.id())
        .collect();
    let olds = neighbors(&ids(before.conversation()));
    // An image behind a result is no message: it goes and stays with that.
    let mut owner = 0;
    for wire in 0..before.wire_len() {
        let has_messages = before
            .conversation()
            .messages()
            .iter()
            .any(|message| before.wire_index(message.id()) == Some(wire));
        if has_messages {
            owner = wire;
        }
        let of_wire = |around: &&[Option<MessageId>; 3]| {
            around[1].and_then(|id| before.wire_index(id)) == Some(owner)
        };
        let is_same = olds
            .iter()
            .filter(of_wire)
            .all(|around| new.contains(around) && around[1].is_some_and(|id| kept.contains(&id)));
        if is_same {
            let json = before.wire_json(wire).unwrap();
            prop_assert!(written.contains(json), "{json}\nis not in\n{written}");
        }
    }
    Ok(())
}

/// The key that the list of a request has.
fn values_key(body: &Value) -> Option<&'static str> {
    Format::ALL.map(list_key).into_iter().find(|key| body.get(key).is_some())
}

fn list(bytes: Vec<u8>) -> Vec<Value> {
    let text = String::from_utf8(bytes).unwrap();
    let mut values: Vec<Value> =
        serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'))
            .into_iter()
            .map(|value| value.unwrap())
            .collect();
    match values.first_mut() {
        Some(Value::Array(items)) => std::mem::take(items),
        Some(body) if values_key(body).is_some() => {
            body[values_key(body).unwrap()].as_array().unwrap().clone()
        }
        _ => values,
    }
}
