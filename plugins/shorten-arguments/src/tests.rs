//! Which calls the layer shortens, and which it leaves.

use brute_core::testing::{TestHost, generate, laws, notation};
use brute_core::{Approximate, Conversation, Message, Part, ToolCall};
use proptest::prelude::*;

use super::*;

fn layer(options: Options) -> ShortenArguments {
    ShortenArguments::build(options).unwrap()
}

fn size(conversation: &Conversation) -> u64 {
    conversation.clone().measure(&Approximate)
}

fn run(layer: &ShortenArguments, conversation: &Conversation, target: u64) -> Conversation {
    laws::check_strategy(layer, &TestHost::new(), conversation, target).unwrap()
}

fn calls(conversation: &Conversation) -> Vec<&ToolCall> {
    conversation.messages().iter().flat_map(|message| message.calls()).map(|call| call.1).collect()
}

/// The calls whose arguments are shortened.
fn shortened(conversation: &Conversation) -> String {
    let is_short = |call: &&&ToolCall| call.arguments.contains("characters left out here");
    calls(conversation).iter().filter(is_short).map(|call| &*call.id).collect()
}

/// A conversation in the notation, where the call with an id in `large` writes a file.
fn drawn(text: &str, large: &str) -> Conversation {
    let start = notation::conversation(text);
    let messages = start.messages().iter().map(|message| {
        let part = |part: &Part| match part {
            Part::ToolCall(call) if large.contains(&*call.id) => {
                let content = "some words of a file\\n".repeat(200);
                let arguments = format!(r#"{{"path":"a.rs","content":"{content}","mode":1.0}}"#);
                Part::ToolCall(ToolCall { arguments: arguments.into(), ..call.clone() })
            }
            part => part.clone(),
        };
        let parts: Vec<Part> = message.parts().iter().map(part).collect();
        Message::new(message.id(), message.role(), parts)
    });
    Conversation::new(messages).unwrap()
}

const FOUR: &str = "
    user go
    assistant call:a:write
    tool a ok
    assistant call:b:write call:c:write call:s:write
    tool b ok
    tool c ok
    tool s ok
    assistant call:d:write
    tool d ok";

#[test]
fn oldest_first_and_no_more_than_needed() {
    let start = drawn(FOUR, "abcd");
    let used = size(&start);
    let layer = ShortenArguments::default();
    let one = used - size(&run(&layer, &start, used - 1));
    assert!((900..1_100).contains(&one), "{one}");
    for (target, expected) in [
        (used, ""),
        (used - 1, "a"),
        (used - one, "a"),
        (used - one - 1, "ab"),
        (used - 2 * one - 1, "abc"),
        (1, "abc"),
    ] {
        assert_eq!(shortened(&run(&layer, &start, target)), expected, "{target}");
    }
}

#[test]
fn the_rest_of_the_arguments_is_as_it_was() {
    let after = run(&ShortenArguments::default(), &drawn(FOUR, "a"), 1);
    let text = &calls(&after)[0].arguments;
    assert!(text.starts_with(r#"{"path":"a.rs","content":"some words of a file\nsome"#), "{text}");
    assert!(text.ends_with(r#"words of a file\n","mode":1.0}"#), "{text}");
    let json: serde_json::Value = serde_json::from_str(text).unwrap();
    let content = json["content"].as_str().unwrap();
    assert!(content.chars().count() <= 400);
    assert!(content.contains(" characters left out here; the call was made with all of them ...]"));
}

#[test]
fn options_and_protection_hold() {
    let start = drawn(FOUR, "abcd");
    let except = vec!["write".to_owned()];
    for (options, expected) in [
        (Options { keep_steps: 2, ..Options::default() }, "a"),
        (Options { keep_steps: 3, ..Options::default() }, ""),
        (Options { min_tokens: 2_000, ..Options::default() }, ""),
        (Options { max_chars: 5_000, ..Options::default() }, ""),
        (Options { except, ..Options::default() }, ""),
    ] {
        assert_eq!(shortened(&run(&layer(options), &start, 1)), expected);
    }
    let host = TestHost::new().keeping(&["write"]);
    let after = laws::check_strategy(&ShortenArguments::default(), &host, &start, 1).unwrap();
    assert_eq!(after.messages(), start.messages());
}

#[test]
fn a_call_that_waits_for_its_result_is_not_touched() {
    let start = drawn("user go\nassistant call:a:write call:b:write\ntool a ok", "ab");
    assert_eq!(shortened(&run(&ShortenArguments::default(), &start, 1)), "");
}

#[test]
fn never_twice() {
    let layer = ShortenArguments::default();
    let once = run(&layer, &drawn(FOUR, "abcd"), 1);
    assert!(TestHost::new().plan(&layer, &once, 1).unwrap().is_empty());
}

#[test]
fn options_are_checked() {
    for (options, option, message) in [
        (
            Options { keep_steps: 0, ..Options::default() },
            "keep-steps",
            "`keep-steps` is 0, and must be at least 1 step, which the model has not acted on yet",
        ),
        (
            Options { max_chars: 199, ..Options::default() },
            "max-chars",
            "`max-chars` is 199, and must be at least 200, so that the note has room",
        ),
    ] {
        let error = ShortenArguments::build(options).unwrap_err();
        assert_eq!((error.option, error.to_string().as_str()), (option, message));
    }
    let read = serde_json::from_str::<Options>;
    let all = read(r#"{"keep-steps":2,"min-tokens":3,"max-chars":4,"except":["a"]}"#).unwrap();
    assert_eq!(all.except, ["a"]);
    assert_eq!(read("{}").unwrap(), Options::default());
    assert!(read(r#"{"max_chars":2}"#).is_err());
}

#[test]
fn every_option_has_a_word_for_its_reader() {
    let schema = schemars::schema_for!(Options);
    let properties = schema.get("properties").and_then(|value| value.as_object()).unwrap();
    assert_eq!(properties.len(), 4);
    for (name, property) in properties {
        assert!(property["description"].is_string(), "{name}");
        assert!(!property["default"].is_null(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn the_laws_hold(
        conversation in generate::conversation(24),
        keep_steps in 1u32..4,
        min_tokens in 0u32..400,
        max_chars in 200u32..900,
        share in 0u64..12,
        keeping in any::<bool>(),
    ) {
        let except = vec!["tool_1".to_owned()];
        let layer = layer(Options { keep_steps, min_tokens, max_chars, except });
        let host = TestHost::new().keeping(if keeping { &["tool_0"] } else { &[] });
        let used = size(&conversation);
        let target = (used * share / 10).max(1);
        let after = laws::check_strategy(&layer, &host, &conversation, target)
            .map_err(TestCaseError::fail)?;
        let again = laws::check_strategy(&layer, &host, &after, target)
            .map_err(TestCaseError::fail)?;
        prop_assert_eq!(&again, &after, "a second run changes nothing");
        let kept = conversation.outline().newest_steps(keep_steps as usize, true);
        prop_assert_eq!(&after.messages()[kept..], &conversation.messages()[kept..]);
        for (before, after) in calls(&conversation).into_iter().zip(calls(&after)) {
            let shape = |call: &ToolCall| -> Vec<String> {
                let json: serde_json::Value = serde_json::from_str(&call.arguments).unwrap();
                json.as_object().unwrap().keys().cloned().collect()
            };
            prop_assert_eq!(shape(before), shape(after));
            prop_assert!(before.name != "tool_1".into() || before == after);
        }
        let plan = host.plan(&layer, &conversation, target).unwrap();
        if let Some((_, fewer)) = plan.edits.split_last().filter(|(_, fewer)| !fewer.is_empty()) {
            let fewer = host.apply(&conversation, &Plan::of(fewer.to_vec())).unwrap();
            prop_assert!(used - size(&fewer.conversation) < used - target);
        }
    }
}
