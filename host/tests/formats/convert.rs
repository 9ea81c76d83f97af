//! Conversations in another format say what they said, and providers of that take them.

use super::*;
use brute_host::formats::{Note, Rendered, render};
use serde_json::json;

/// What is said, asked and answered, in order. Ids may change, and arguments that are no object stand in one.
fn essence(conversation: &Conversation) -> Vec<(Role, String)> {
    let arguments = |text: &str| -> Value {
        let json: Option<Value> = serde_json::from_str(text).ok();
        json.filter(Value::is_object).unwrap_or_else(|| json!({ "arguments": text }))
    };
    let part = |(role, part): (Role, Part)| match part {
        Part::Text(text) => Some((role, text.into())),
        Part::ToolCall(call) => {
            Some((role, format!("{} {}", call.name, arguments(&call.arguments))))
        }
        Part::ToolResult(result) => {
            Some((role, format!("{} +{}", result.text, result.media.len())))
        }
        Part::Media(_) => Some((role, "medium".to_owned())),
        Part::Reasoning(_) | Part::Opaque(_) => None,
    };
    flat(conversation).into_iter().filter_map(part).collect()
}

fn thoughts(conversation: &Conversation) -> usize {
    let is_lost = |part: &Part| matches!(part, Part::Reasoning(_) | Part::Opaque(_));
    flat(conversation).iter().filter(|(_, part)| is_lost(part)).count()
}

/// All notes but of what the model thought, of which there is one each.
fn other_notes(rendered: &Rendered) -> Vec<String> {
    let notes = rendered.notes.iter().map(ToString::to_string);
    notes.filter(|note| !note.contains("thought") && !note.contains("`reasoning`")).collect()
}

proptest! {
    #[test]
    fn there_and_back_says_the_same(from in formats(), to in formats(), turns in turns(), seed: u64) {
        let json = document(from, &turns, seed);
        let source = read(from, json.clone());
        let there = source.convert(to);
        if from == to {
            prop_assert_eq!(there.json, json);
            prop_assert!(there.notes.is_empty());
            return Ok(());
        }
        prop_assert_eq!(strict(to, &list(there.json.clone().into_bytes())), Vec::<String>::new(), "{}", there.json);
        let middle = read(to, there.json.clone());
        prop_assert_eq!(essence(middle.conversation()), essence(source.conversation()), "{}", there.json);
        let told = there.notes.len() - other_notes(&there).len();
        prop_assert_eq!(told, thoughts(source.conversation()));
        let lost = other_notes(&there);
        prop_assert!(
            lost.iter().all(|note| note.contains("arguments") || note.contains("the field `")),
            "{lost:?}"
        );
        let back = middle.convert(from);
        prop_assert_eq!(strict(from, &list(back.json.clone().into_bytes())), Vec::<String>::new(), "{}", back.json);
        let back = read(from, back.json);
        prop_assert_eq!(essence(back.conversation()), essence(source.conversation()));
    }

    /// Without a document there are no media: each is named, and nothing else is lost.
    #[test]
    fn a_conversation_is_written_from_scratch(from in formats(), to in formats(), turns in turns()) {
        let source = read(from, Value::from(wire(from, &turns)).to_string());
        let rendered = render(source.conversation(), to);
        prop_assert_eq!(strict(to, &list(rendered.json.clone().into_bytes())), Vec::<String>::new(), "{}", rendered.json);
        let read = read(to, rendered.json.clone());
        let calls = |conversation: &Conversation| {
            conversation.messages().iter().flat_map(|message| message.calls().map(|(_, call)| call.name.clone()).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        prop_assert_eq!(calls(read.conversation()), calls(source.conversation()));
        let media = flat(source.conversation()).iter().map(|(_, part)| match part {
            Part::Media(_) => 1,
            Part::ToolResult(result) => result.media.len(),
            _ => 0,
        }).sum::<usize>();
        let named = rendered.notes.iter().filter(|note| note.what.contains("medium")).count();
        prop_assert_eq!(named, media);
    }
}

#[test]
fn what_another_provider_does_not_take_is_told() {
    let anthropic = r#"{"model":"claude","system":"Be brief.","max_tokens":9,"temperature":1,
        "tools":[{"name":"f","description":"d","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search"}],
        "messages":[
        {"role":"user","content":[{"type":"text","text":"go"},{"type":"image","source":{"type":"file","file_id":"file_1"}}]},
        {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"tool_use","id":"a b","name":"f.g","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a b","is_error":true,"content":"no"}]}]}"#;
    let options = ReadOptions { format: Some(Format::Anthropic), ..ReadOptions::default() };
    let document = Document::read(anthropic, &options).unwrap();
    let rendered = document.convert(Format::OpenaiChat);
    let notes: Vec<String> = rendered.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "message 0: named a medium of the kind `image`, which cannot be carried",
            "message 1: left out what the model thought: only who signed it takes it",
            "message 1: left out a part of the kind `server_tool_use`, which only its provider can read",
            "message 1: renamed the tool `f.g` to `f_g`",
            "message 1: renamed the call `a b` to `call_1`",
            "message 2: did not say that the result for `a b` is a failure",
            "left out the field `model` of the request",
            "left out the field `temperature` of the request",
            "left out the tool `web_search_20250305`, which is the provider's own",
        ]
    );
    let body: Value = serde_json::from_str(&rendered.json).unwrap();
    assert_eq!(
        body,
        json!({
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "text", "text": "[image]"}]},
                {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "f_g", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "call_1", "content": "no"},
            ],
            "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}],
            "max_completion_tokens": 9,
        })
    );
}

#[test]
fn results_stand_behind_their_calls_and_a_user_speaks_first() {
    // Two replies whose calls are open together, words in between, an answer in another order.
    let chat = r#"[{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},
        {"role":"assistant","tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"b","content":"two"},
        {"role":"user","content":"wait"},
        {"role":"tool","tool_call_id":"a","content":"one"},
        {"role":"system","content":"Be brief."},
        {"role":"user","content":"more"}]"#;
    let document = Document::read(chat, &ReadOptions::default()).unwrap();
    for format in Format::ALL.into_iter().filter(|format| *format != Format::OpenaiChat) {
        let rendered = document.convert(format);
        assert_eq!(
            strict(format, &list(rendered.json.clone().into_bytes())),
            Vec::<String>::new(),
            "{}",
            rendered.json
        );
        assert!(rendered.notes.iter().any(|note| note.what.contains("before the first")));
    }
}

#[test]
fn what_a_provider_compacted_is_given_as_it_was_or_as_its_summary() {
    let read = |json: &str| Document::read(json, &ReadOptions::default()).unwrap();
    let responses = r#"{"input":[{"role":"user","content":"go"},{"role":"assistant","content":"old"},
        {"type":"compaction","encrypted_content":"Z0FBQUFBQnA="},{"role":"user","content":"more"}]}"#;
    let anthropic = r#"{"system":"s","messages":[
        {"role":"assistant","content":[{"type":"compaction","content":"A summary."},{"type":"text","text":"new"}]},
        {"role":"user","content":"more"}]}"#;
    for (json, said, note) in [
        (responses, vec!["go", "old", "more"], "gave 2 messages instead of a compaction"),
        (anthropic, vec!["s", "A summary.", "new", "more"], "as a user's words"),
    ] {
        let rendered = read(json).convert(Format::OpenaiChat);
        let texts: Vec<Value> = list(rendered.json.into_bytes())
            .into_iter()
            .map(|mut message| message["content"].take())
            .collect();
        assert_eq!(texts, said);
        let notes: Vec<&Note> = rendered.notes.iter().collect();
        assert!(matches!(&notes[..], [only] if only.what.contains(note)), "{notes:?}");
    }
}
