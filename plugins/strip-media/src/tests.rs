//! Which media go, which stay, and what stands in their place.

use brute_core::testing::{TestHost, generate, laws, notation};
use brute_core::truncation::{FullText, Limits, Spill, truncate};
use brute_core::{Approximate, Conversation, MarkKind, Media, Message, Part, ToolResult};
use proptest::prelude::*;

use super::*;

fn layer(options: Options) -> StripMedia {
    StripMedia::build(options).unwrap()
}

fn size(conversation: &Conversation) -> u64 {
    conversation.clone().measure(&Approximate)
}

fn run(layer: &StripMedia, conversation: &Conversation, target: u64) -> Conversation {
    laws::check_strategy(layer, &TestHost::new(), conversation, target).unwrap()
}

/// What there is of media, message by message: `2` where two are left, `-` where some went.
fn media(conversation: &Conversation) -> String {
    let in_part = |part: &Part| match part {
        Part::Media(_) => "1".to_owned(),
        Part::ToolResult(result) if !result.media.is_empty() => result.media.len().to_string(),
        Part::ToolResult(ToolResult { text, .. }) | Part::Text(text)
            if text.contains("removed here.]") =>
        {
            "-".to_owned()
        }
        _ => String::new(),
    };
    conversation.messages().iter().flat_map(|message| message.parts()).map(in_part).collect()
}

/// Each image is 1,000 tokens.
const SESSION: &str = "
    user look image image
    assistant I see
    user image
    assistant call:a call:b
    tool a page one image
    tool b image image
    user go on
    assistant call:c
    tool c image
    assistant call:d
    tool d image";

#[test]
fn oldest_first_and_no_more_than_needed() {
    let start = notation::conversation(SESSION);
    let used = size(&start);
    for (target, expected) in [
        (used, "1111211"),
        (used - 1, "-111211"),
        (used - 1_000, "--11211"),
        (used - 2_000, "---1211"),
        (used - 3_000, "----211"),
        // The newest step's stays.
        (1, "------1"),
    ] {
        assert_eq!(media(&run(&StripMedia::default(), &start, target)), expected, "{target}");
    }
}

#[test]
fn the_note_says_what_it_was() {
    let after = run(&StripMedia::default(), &notation::conversation(SESSION), 1);
    let text = |message: usize, part: usize| match &after.messages()[message].parts()[part] {
        Part::Text(text) | Part::ToolResult(ToolResult { text, .. }) => text,
        _ => "",
    };
    assert_eq!(text(0, 1), "[image/png (1000 tokens) was removed here.]");
    assert_eq!(
        text(4, 0),
        "page one image\n[1 image or other medium (1000 tokens) was removed here.]"
    );
    assert_eq!(
        text(5, 0),
        "image image\n[2 images or other media (2000 tokens) were removed here.]"
    );
    // A person's image was a person's message, and still is.
    assert!(after.messages()[2].is_real_user());
    assert_eq!(after.outline().turns, notation::conversation(SESSION).outline().turns);
}

#[test]
fn options_choose() {
    let start = notation::conversation(SESSION);
    for (options, expected) in [
        (Options { keep_newest: 0, ..Options::default() }, "------1"),
        (Options { keep_newest: 2, ..Options::default() }, "-----11"),
        // One of the two in a result is among the newest three: both stay.
        (Options { keep_newest: 3, ..Options::default() }, "----211"),
        (Options { keep_newest: 5, ..Options::default() }, "---1211"),
        (Options { keep_steps: 2, ..Options::default() }, "-----11"),
        (Options { keep_steps: 3, ..Options::default() }, "---1211"),
        (Options { min_tokens: 1_000, ..Options::default() }, "------1"),
        (Options { min_tokens: 1_001, ..Options::default() }, "1111-11"),
        (Options { kinds: vec![], ..Options::default() }, "111---1"),
        (
            Options { kinds: vec!["IMAGE/*".into()], results: false, ..Options::default() },
            "--11211",
        ),
        (Options { kinds: vec!["image/jpeg".into()], ..Options::default() }, "111---1"),
    ] {
        assert_eq!(media(&run(&layer(options.clone()), &start, 1)), expected, "{options:?}");
    }
}

#[test]
fn kinds_match_as_one_would_think() {
    for (pattern, kind, expected) in [
        ("*", "image/png", true),
        ("*", "", true),
        ("image/*", "image/png", true),
        ("image/*", "image", true),
        ("image/*", "Image/PNG", true),
        ("image/*", "imagery/png", false),
        ("image/png", "image/png", true),
        ("image/png", "image/jpeg", false),
        ("application/pdf", "application/pdf", true),
        ("audio", "audio", true),
        ("audio", "audio/wav", false),
    ] {
        assert_eq!(matches(pattern, kind), expected, "{pattern} {kind}");
    }
}

#[test]
fn what_the_newest_request_shows_stays() {
    let start = notation::conversation(
        "user old image
         assistant yes
         user look image
         user and image now
         assistant call:a
         tool a ok
         assistant call:b
         tool b ok",
    );
    let all = layer(Options { keep_newest: 0, ..Options::default() });
    assert_eq!(media(&run(&all, &start, 1)), "-11");
}

#[test]
fn protected_results_and_the_texts_that_a_code_covers_stay() {
    struct Disk;
    impl Spill for Disk {
        fn save(&self, _: &[u8]) -> FullText {
            FullText::Saved("/spill/0f3a.txt".into())
        }
        fn holds(&self, _: &str) -> bool {
            true
        }
    }
    let full = "line\n".repeat(5_000);
    let cut = truncate(full.as_bytes(), &Limits::default(), &Disk).into_text().into_owned();
    let cleared = Mark { kind: MarkKind::Cleared, count: 9 }.write("gone");
    let start = notation::conversation(
        "user go
         assistant call:a:keep call:b call:c call:e
         tool a image
         tool b CUT image
         tool c CLEARED image
         tool e [brute: image
         assistant signed:hmm image
         assistant call:d
         tool d ok",
    );
    let messages = start.messages().iter().map(|message| match message.result() {
        Some((_, result)) => {
            let text = result.text.replace("CUT image", &cut).replace("CLEARED image", &cleared);
            let result = ToolResult { text: text.into(), ..result.clone() };
            Message::new(message.id(), message.role(), [Part::ToolResult(result)])
        }
        None => (**message).clone(),
    });
    let start = Conversation::new(messages).unwrap();
    let all = layer(Options { keep_newest: 0, ..Options::default() });
    let host = TestHost::new().keeping(&["keep"]);
    let after = laws::check_strategy(&all, &host, &start, 1).unwrap();
    let left: Vec<usize> = after
        .messages()
        .iter()
        .filter_map(|message| message.result())
        .map(|result| result.1.media.len())
        .collect();
    // Words that look like a notice are no notice.
    assert_eq!(left, [1, 1, 1, 0, 0]);
    // Beside the signed thought.
    assert!(media(&after).ends_with('1'));
}

#[test]
fn never_larger_and_never_twice() {
    let start = notation::conversation(
        "user look image\nassistant yes\nuser go\nassistant call:a\ntool a ok",
    );
    let tiny = start.messages().iter().map(|message| {
        let part = |part: &Part| match part {
            Part::Media(media) => Part::Media(Media { tokens: 5, ..media.clone() }),
            part => part.clone(),
        };
        Message::new(
            message.id(),
            message.role(),
            message.parts().iter().map(part).collect::<Vec<_>>(),
        )
    });
    let all = layer(Options { keep_newest: 0, min_tokens: 0, ..Options::default() });
    assert_eq!(media(&run(&all, &Conversation::new(tiny).unwrap(), 1)), "1");
    let once = run(&all, &start, 1);
    assert_eq!(media(&once), "-");
    assert!(TestHost::new().plan(&all, &once, 1).unwrap().is_empty());
}

#[test]
fn options_are_checked() {
    let refused = |options| {
        let error = StripMedia::build(options).unwrap_err();
        (error.option, error.to_string())
    };
    for (options, option, message) in [
        (
            Options { keep_steps: 0, ..Options::default() },
            "keep-steps",
            "`keep-steps` is 0, and must be at least 1 step, which the model has not acted on yet",
        ),
        (
            Options { kinds: vec![], results: false, ..Options::default() },
            "kinds",
            "`kinds` is empty and `results` is false, so nothing could go (for all media, say `kinds = [\"*\"]`)",
        ),
        (
            Options { kinds: vec!["*/png".into()], ..Options::default() },
            "kinds",
            "`kinds` has \"*/png\", and must name kinds such as `image/png`, `image/*` or `*`",
        ),
        (
            Options { kinds: vec!["".into()], ..Options::default() },
            "kinds",
            "`kinds` has \"\", and must name kinds such as `image/png`, `image/*` or `*`",
        ),
    ] {
        assert_eq!(refused(options), (option, message.to_owned()));
    }
    let read = serde_json::from_str::<Options>;
    let all = read(
        r#"{"keep-steps":2,"keep-newest":3,"min-tokens":4,"kinds":["audio"],"results":false}"#,
    );
    assert_eq!(all.unwrap().kinds, ["audio"]);
    assert_eq!(read("{}").unwrap(), Options::default());
    assert!(read(r#"{"keep_steps":2}"#).is_err());
}

#[test]
fn every_option_has_a_word_for_its_reader() {
    let schema = schemars::schema_for!(Options);
    let properties = schema.get("properties").and_then(|value| value.as_object()).unwrap();
    assert_eq!(properties.len(), 5);
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
        keep_newest in 0u32..4,
        min_tokens in 0u32..1_200,
        results: bool,
        share in 0u64..12,
        keeping in any::<bool>(),
    ) {
        let kinds = vec!["image/*".to_owned()];
        let layer = layer(Options { keep_steps, keep_newest, min_tokens, kinds, results });
        let host = TestHost::new().keeping(if keeping { &["tool_0"] } else { &[] });
        let used = size(&conversation);
        let target = (used * share / 10).max(1);
        let after = laws::check_strategy(&layer, &host, &conversation, target)
            .map_err(TestCaseError::fail)?;
        let again = laws::check_strategy(&layer, &host, &after, target)
            .map_err(TestCaseError::fail)?;
        prop_assert_eq!(&again, &after, "a second run changes nothing");
        let outline = conversation.outline();
        prop_assert_eq!(&after.outline(), &outline);
        let kept = outline.newest_steps(keep_steps as usize, true);
        prop_assert_eq!(&after.messages()[kept..], &conversation.messages()[kept..]);
        let left = |conversation: &Conversation| -> u32 {
            let parts = conversation.messages().iter().flat_map(|message| message.parts());
            parts.map(|part| u32::from(part.media_tokens() > 0)).sum()
        };
        prop_assert!(left(&after) >= left(&conversation).min(keep_newest));
        let plan = host.plan(&layer, &conversation, target).unwrap();
        if let Some((_, fewer)) = plan.edits.split_last().filter(|(_, fewer)| !fewer.is_empty()) {
            let fewer = host.apply(&conversation, &Plan::of(fewer.to_vec())).unwrap();
            prop_assert!(used - size(&fewer.conversation) < used - target);
        }
    }
}
