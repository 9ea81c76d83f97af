//! Which thoughts go, and which stay.

use brute_core::testing::{TestHost, generate, laws, notation};
use brute_core::{Approximate, Conversation, Part};
use proptest::prelude::*;

use super::*;

fn layer(options: Options) -> DropReasoning {
    DropReasoning::build(options).unwrap()
}

fn size(conversation: &Conversation) -> u64 {
    conversation.clone().measure(&Approximate)
}

fn run(layer: &DropReasoning, conversation: &Conversation, target: u64) -> Conversation {
    laws::check_strategy(layer, &TestHost::new(), conversation, target).unwrap()
}

/// The first letters of the thoughts that are still there.
fn thoughts(conversation: &Conversation) -> String {
    let parts = conversation.messages().iter().flat_map(|message| message.parts());
    parts
        .filter_map(|part| match part {
            Part::Reasoning(reasoning) => reasoning.text.chars().next(),
            _ => None,
        })
        .collect()
}

/// Thoughts in small letters are signed. 100 words of four letters are 125 tokens.
const TWO_TURNS: &str = "
    system sys
    user go
    assistant think:Aaaax100 call:a
    tool a ok
    assistant signed:bbbbx100 signed:ccccx100 think:Ddddx100 call:b
    tool b ok
    assistant think:Eeeex100 done
    user and now
    assistant think:Ffffx100 call:c
    tool c ok
    assistant signed:ggggx100 think:Hhhhx100 call:d
    tool d ok
    assistant signed:iiiix100 think:Jjjjx100 call:e
    tool e ok";

#[test]
fn oldest_first_and_no_more_than_needed() {
    let start = notation::conversation(TWO_TURNS);
    let used = size(&start);
    for (target, expected) in [
        (used, "AbcDEFgHiJ"),
        (used - 1, "bcDEFgHiJ"),
        (used - 125, "bcDEFgHiJ"),
        (used - 126, "bcEFgHiJ"),
        (1, "bcgiJ"),
    ] {
        assert_eq!(thoughts(&run(&DropReasoning::default(), &start, target)), expected, "{target}");
    }
}

#[test]
fn signed_thoughts_go_together_and_from_finished_turns_only() {
    let start = notation::conversation(TWO_TURNS);
    let used = size(&start);
    let layer = layer(Options { signed: Signed::DropInFinishedTurns, ..Options::default() });
    for (target, expected) in
        [(used - 126, "bcEFgHiJ"), (used - 251, "EFgHiJ"), (used - 500, "EFgHiJ"), (1, "giJ")]
    {
        assert_eq!(thoughts(&run(&layer, &start, target)), expected, "{target}");
    }
}

#[test]
fn options_choose() {
    let start = notation::conversation(TWO_TURNS);
    let drop = Signed::DropInFinishedTurns;
    for (options, expected) in [
        (Options { keep_steps: 2, ..Options::default() }, "bcgHiJ"),
        (Options { keep_steps: 3, ..Options::default() }, "bcFgHiJ"),
        (Options { keep_steps: 4, ..Options::default() }, "bcDEFgHiJ"),
        (Options { keep_steps: 9, signed: drop, ..Options::default() }, "AbcDEFgHiJ"),
        (Options { unsigned: Unsigned::DropInFinishedTurns, ..Options::default() }, "bcFgHiJ"),
        (Options { min_tokens: 125, ..Options::default() }, "bcgiJ"),
        (Options { min_tokens: 126, ..Options::default() }, "AbcDEFgHiJ"),
        // The signed ones of a message count together.
        (Options { min_tokens: 250, signed: drop, ..Options::default() }, "ADEFgHiJ"),
    ] {
        assert_eq!(thoughts(&run(&layer(options.clone()), &start, 1)), expected, "{options:?}");
    }
}

#[test]
fn what_would_be_empty_stays() {
    let start = notation::conversation(
        "user go
         assistant think:Aaaax100
         assistant signed:bbbbx100 think:Ccccx100
         assistant think:Ddddx100 image
         user go on
         assistant call:a
         tool a ok",
    );
    let layer = layer(Options { signed: Signed::DropInFinishedTurns, ..Options::default() });
    assert_eq!(thoughts(&run(&layer, &start, 1)), "AbC");
    let blank = start.messages().iter().map(|message| {
        let mut parts = message.parts().to_vec();
        if let [Part::Reasoning(_)] = parts[..] {
            parts.push(Part::text(" \n"));
        }
        brute_core::Message::new(message.id(), message.role(), parts)
    });
    let start = Conversation::new(blank).unwrap();
    assert_eq!(thoughts(&run(&layer, &start, 1)), "AbC");
}

#[test]
fn protected_steps_and_those_that_still_run_keep_theirs() {
    let start = notation::conversation(TWO_TURNS);
    let host = TestHost::new().keeping(&["read"]);
    let after = laws::check_strategy(&DropReasoning::default(), &host, &start, 1).unwrap();
    assert_eq!(thoughts(&after), "AbcDFgHiJ");
    let pending = notation::conversation("user go\nassistant think:Aaaax100 call:a");
    assert_eq!(thoughts(&run(&DropReasoning::default(), &pending, 1)), "A");
    let talk = notation::conversation(
        "user hi
         assistant think:Aaaax100 hello
         user and
         assistant think:Bbbbx100 well",
    );
    assert_eq!(thoughts(&run(&DropReasoning::default(), &talk, 1)), "B");
}

#[test]
fn options_are_checked() {
    let error = DropReasoning::build(Options { keep_steps: 0, ..Options::default() }).unwrap_err();
    assert_eq!(error.option, "keep-steps");
    assert_eq!(
        error.to_string(),
        "`keep-steps` is 0, and must be at least 1 step, which the model has not acted on yet"
    );
    let read = serde_json::from_str::<Options>;
    let all = read(
        r#"{"keep-steps":2,"min-tokens":3,"unsigned":"drop-in-finished-turns","signed":"drop-in-finished-turns"}"#,
    );
    assert_eq!(all.unwrap().signed, Signed::DropInFinishedTurns);
    assert_eq!(read("{}").unwrap(), Options::default());
    assert!(read(r#"{"signed":"drop"}"#).is_err());
    assert!(read(r#"{"keep_steps":2}"#).is_err());
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
        min_tokens in 0u32..50,
        unsigned in prop::sample::select(vec![Unsigned::Drop, Unsigned::DropInFinishedTurns]),
        signed in prop::sample::select(vec![Signed::Keep, Signed::DropInFinishedTurns]),
        share in 0u64..12,
        keeping in any::<bool>(),
    ) {
        let layer = layer(Options { keep_steps, min_tokens, unsigned, signed });
        let host = TestHost::new().keeping(if keeping { &["tool_0"] } else { &[] });
        let used = size(&conversation);
        let target = (used * share / 10).max(1);
        let after = laws::check_strategy(&layer, &host, &conversation, target)
            .map_err(TestCaseError::fail)?;
        let again = laws::check_strategy(&layer, &host, &after, target)
            .map_err(TestCaseError::fail)?;
        prop_assert_eq!(&again, &after, "a second run changes nothing");
        prop_assert_eq!(after.len(), conversation.len());
        let kept = conversation.outline().newest_steps(keep_steps as usize, true);
        prop_assert_eq!(&after.messages()[kept..], &conversation.messages()[kept..]);
        for (before, after) in conversation.messages().iter().zip(after.messages()) {
            // Nothing but reasoning goes, and never all that a message says.
            let rest = |parts: &[Part]| -> Vec<Part> {
                parts.iter().filter(|part| !matches!(part, Part::Reasoning(_))).cloned().collect()
            };
            prop_assert_eq!(rest(before.parts()), rest(after.parts()));
            prop_assert!(!after.parts().is_empty() || before.parts().is_empty());
        }
    }
}
