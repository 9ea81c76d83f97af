//! What the layer clears, what it leaves, and what it says in its place.

use brute_core::Strategy as _;
use brute_core::testing::{TestHost, generate, laws, notation};
use brute_core::truncation::{FullText, Limits, Spill, truncate};
use brute_core::{
    Approximate, Completion, CompletionError, Conversation, Part, Prompt, Protection, Role, Sizes,
    SummarizerLimits, ToolCall, ToolResult,
};
use proptest::prelude::*;

use super::*;

fn layer(options: Options) -> ToolResults {
    ToolResults::build(options).unwrap()
}

fn size(conversation: &Conversation) -> u64 {
    conversation.clone().measure(&Approximate)
}

fn run(layer: &ToolResults, conversation: &Conversation, target: u64) -> Conversation {
    laws::check_strategy(layer, &TestHost::new(), conversation, target).unwrap()
}

fn results(conversation: &Conversation) -> Vec<&ToolResult> {
    let parts = conversation.messages().iter().flat_map(|message| message.parts());
    parts
        .filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
        .collect()
}

/// The calls whose results are cleared.
fn cleared(conversation: &Conversation) -> String {
    let is_cleared = |result: &&&ToolResult| Mark::read(&result.text).is_some();
    let results = results(conversation);
    results.iter().filter(is_cleared).map(|result| &*result.call).collect()
}

fn text_of(conversation: &Conversation, call: &str) -> String {
    let results = results(conversation);
    results.iter().find(|result| result.call == call.into()).unwrap().text.to_string()
}

/// 400 words are 500 tokens.
const FOUR: &str = "
    system sys
    user go
    assistant call:a
    tool a wordx400
    assistant call:b call:c
    tool c wordx400
    tool b wordx400
    assistant call:d
    tool d wordx400
    assistant done";

#[test]
fn oldest_first_and_no_more_than_needed() {
    let start = notation::conversation(FOUR);
    let used = size(&start);
    let layer = ToolResults::default();
    // In the order in which they stand, and never the newest step's.
    for (target, expected) in
        [(used, ""), (used - 1, "a"), (used - 600, "ac"), (used - 1_200, "acb"), (1, "acb")]
    {
        assert_eq!(cleared(&run(&layer, &start, target)), expected, "{target}");
    }
}

#[test]
fn the_stop_is_exact() {
    let start = notation::conversation(FOUR);
    let layer = ToolResults::default();
    let one = size(&run(&layer, &start, size(&start) - 1));
    assert_eq!(cleared(&run(&layer, &start, one)), "a");
    assert_eq!(cleared(&run(&layer, &start, one - 1)), "ac");
}

#[test]
fn the_newest_calling_steps_are_never_touched() {
    let start = notation::conversation(FOUR);
    for (keep_steps, expected) in [(1, "acb"), (2, "a"), (3, ""), (9, "")] {
        let layer = layer(Options { keep_steps, ..Options::default() });
        assert_eq!(cleared(&run(&layer, &start, 1)), expected, "{keep_steps}");
    }
}

#[test]
fn a_step_that_still_waits_for_a_result_is_not_touched() {
    let start = notation::conversation(
        "user go
         assistant call:a
         tool a wordx400
         assistant call:b call:c
         tool b wordx400",
    );
    assert_eq!(cleared(&run(&ToolResults::default(), &start, 1)), "a");
}

#[test]
fn a_newer_huge_result_is_tried_when_the_oldest_are_small() {
    let start = notation::conversation(
        "user go
         assistant call:s
         tool s ok
         assistant call:b
         tool b wordx5000
         assistant call:d
         tool d fine",
    );
    let after = run(&ToolResults::default(), &start, 1_000);
    assert_eq!(cleared(&after), "b");
    assert_eq!(text_of(&after, "s"), "ok");
    assert!(size(&after) <= 1_000);
}

#[test]
fn the_placeholder_names_the_tool_the_size_and_the_way_back() {
    let start = notation::conversation(
        "user go
         assistant call:a:grep call:e:shell call:i:screenshot
         tool a wordx400
         tool e error wordx400
         tool i image image
         assistant call:d
         tool d ok",
    );
    let after = run(&ToolResults::default(), &start, 1);
    for (call, tokens, expected) in [
        ("a", 500, "The result of `grep` (500 tokens) was removed. Read again if needed."),
        ("e", 502, "The failed result of `shell` (502 tokens) was removed. Read again if needed."),
        (
            "i",
            2_003,
            "The result of `screenshot` (2003 tokens, with 2 images or other media) was removed. Read again if needed.",
        ),
    ] {
        let text = text_of(&after, call);
        let mark = Mark { kind: MarkKind::Cleared, count: tokens };
        assert_eq!(Mark::split(&text), Some((mark, expected)));
    }
    let results = results(&after);
    assert!(results[..3].iter().all(|result| result.media.is_empty()));
    assert_eq!(
        results.iter().map(|result| result.is_error).collect::<Vec<_>>(),
        [false, true, false, false]
    );
}

#[test]
fn the_media_of_a_short_result_count() {
    let start = notation::conversation(
        "user go
         assistant call:i
         tool i image
         assistant call:d
         tool d ok",
    );
    let after = run(&ToolResults::default(), &start, 100);
    assert!(text_of(&after, "i").contains("with 1 image or other medium"));
    assert!(size(&after) <= 100);
}

/// A host with an archive.
struct Archive(TestHost);

impl Host for Archive {
    fn count(&self, text: &str) -> u32 {
        self.0.count(text)
    }
    fn summarizer(&self) -> Option<SummarizerLimits> {
        None
    }
    fn complete(&self, prompt: &Prompt) -> Result<Completion, CompletionError> {
        self.0.complete(prompt)
    }
    fn retrieval(&self, message: usize) -> Option<String> {
        (message != 2).then(|| format!("brute restore {message}"))
    }
    fn log(&self, _: brute_core::LogLevel, _: &str) {}
}

fn texts(conversation: &Conversation, host: &dyn Host) -> Vec<String> {
    let outline = conversation.outline();
    let protection = Protection::of(conversation.messages(), &outline, &[]);
    let sizes = Sizes { window: 100_000, used: size(conversation), target: 1 };
    let window = Window::new(conversation.messages(), &outline, &protection, &Approximate, sizes);
    let plan = ToolResults::default().plan(&window, host).unwrap();
    let text = |edit: Edit| match edit {
        Edit::Rewrite { text, .. } => text,
        other => unreachable!("{other:?}"),
    };
    plan.edits.into_iter().map(text).collect()
}

#[test]
fn the_archive_is_the_way_back_where_there_is_one() {
    let texts = texts(&notation::conversation(FOUR), &Archive(TestHost::new()));
    assert!(texts[0].ends_with(" To have it back: brute restore 3"), "{}", texts[0]);
    assert!(texts[1].ends_with(" To have it back: brute restore 5"), "{}", texts[1]);
}

#[test]
fn the_place_of_the_full_text_of_a_truncated_result_is_not_lost() {
    struct Disk;
    impl Spill for Disk {
        fn save(&self, _: &[u8]) -> FullText {
            FullText::Saved("/spill/0f3a.txt".into())
        }
        fn holds(&self, _: &str) -> bool {
            true
        }
    }
    let text = "line\n".repeat(5_000);
    let text = truncate(text.as_bytes(), &Limits::default(), &Disk).into_text().into_owned();
    let call = |id: &str| {
        let (id, name) = (id.to_owned(), "read".to_owned());
        vec![Part::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments: "{}".into() })]
    };
    let result = |id: &str, text: &str| {
        let (call, text) = (id.to_owned(), text.to_owned());
        vec![Part::ToolResult(ToolResult {
            call: call.into(),
            text: text.into(),
            media: Box::default(),
            is_error: false,
        })]
    };
    let mut conversation = Conversation::default();
    for (role, parts) in [
        (Role::User, vec![Part::text("go")]),
        (Role::Assistant, call("a")),
        (Role::Tool, result("a", &text)),
        (Role::Assistant, call("b")),
        (Role::Tool, result("b", "ok")),
    ] {
        conversation.push(role, parts).unwrap();
    }
    let texts = texts(&conversation, &TestHost::new());
    assert!(texts[0].ends_with(" Its full text is in /spill/0f3a.txt"), "{}", texts[0]);
}

#[test]
fn never_twice_and_a_look_alike_is_a_result_like_others() {
    let start = notation::conversation(FOUR);
    for keep in [Keep::Nothing, Keep::Head, Keep::Tail, Keep::Ends] {
        let layer = layer(Options { keep, min_tokens: 0, ..Options::default() });
        let once = run(&layer, &start, 1);
        assert_eq!(cleared(&once), "acb");
        assert!(TestHost::new().plan(&layer, &once, 1).unwrap().is_empty());
    }
    let typed = notation::conversation(
        "user go
         assistant call:a
         tool a [brute:cleared:9:5c1e0a77] wordx400
         assistant call:b
         tool b ok",
    );
    assert_eq!(cleared(&run(&ToolResults::default(), &typed, 1)), "a");
}

#[test]
fn never_larger_and_nothing_below_min_tokens() {
    let start = notation::conversation(
        "user go
         assistant call:a
         tool a wordx10
         assistant call:b
         tool b wordx100
         assistant call:c
         tool c wordx400
         assistant call:d
         tool d ok",
    );
    // 10, 100 and 400 words are 12, 125 and 500 tokens; a placeholder has about 30.
    for (min_tokens, expected) in [(0, "bc"), (125, "bc"), (126, "c"), (500, "c"), (501, "")] {
        let layer = layer(Options { min_tokens, ..Options::default() });
        assert_eq!(cleared(&run(&layer, &start, 1)), expected, "{min_tokens}");
    }
}

#[test]
fn excepted_and_protected_tools_keep_their_results() {
    let start = notation::conversation(
        "user go
         assistant call:a:read call:t:todo call:m:memory
         tool a wordx400
         tool t wordx400
         tool m wordx400
         assistant call:d
         tool d ok",
    );
    let layer = layer(Options { except: vec!["todo".into()], ..Options::default() });
    let host = TestHost::new().keeping(&["memory"]);
    let after = laws::check_strategy(&layer, &host, &start, 1).unwrap();
    assert_eq!(cleared(&after), "a");
}

#[test]
fn clear_at_least_goes_past_the_target_or_declines() {
    let start = notation::conversation(FOUR);
    let target = size(&start) - 1;
    for (clear_at_least, expected) in
        [(0, "a"), (400, "a"), (600, "ac"), (1_000, "acb"), (2_000, "")]
    {
        let layer = layer(Options { clear_at_least, ..Options::default() });
        let after = run(&layer, &start, target);
        assert_eq!(cleared(&after), expected, "{clear_at_least}");
        assert!(expected.is_empty() || size(&start) - size(&after) >= u64::from(clear_at_least));
    }
}

#[test]
fn a_part_of_the_result_can_stay() {
    let lines = (0..100).map(|line| format!("line_{line}")).collect::<Vec<_>>().join("\n");
    let start = notation::conversation(
        "user go\nassistant call:a\ntool a TEXT\nassistant call:b\ntool b ok",
    );
    let messages = start.messages().iter().map(|message| match message.result() {
        Some((_, result)) if result.text == "TEXT".into() => {
            let text = lines.clone();
            let part = Part::ToolResult(ToolResult { text: text.into(), ..result.clone() });
            brute_core::Message::new(message.id(), Role::Tool, [part])
        }
        _ => (**message).clone(),
    });
    let start = Conversation::new(messages).unwrap();
    let shown = |keep| {
        let layer = layer(Options { keep, max_tokens: 8, min_tokens: 100, ..Options::default() });
        let text = text_of(&run(&layer, &start, 1), "a");
        let (mark, body) = Mark::split(&text).unwrap();
        let (sentence, kept) = body.split_once('\n').unwrap_or((body, ""));
        (mark.count, sentence.to_owned(), kept.to_owned())
    };
    let again = "Read again if needed.";
    let (gone, sentence, kept) = shown(Keep::Head);
    assert_eq!(kept, "line_0\nline_1\nline_2\nline_3");
    assert_eq!(
        sentence,
        format!(
            "{gone} of 198 tokens of the result of `read` were removed; \
             its beginning is below. {again}"
        )
    );
    assert_eq!(gone, 198 - 7);
    assert_eq!(shown(Keep::Tail).2, "line_96\nline_97\nline_98\nline_99");
    let (gone, sentence, kept) = shown(Keep::Ends);
    assert_eq!(kept, "line_0\nline_1\n[...]\nline_98\nline_99");
    assert!(sentence.contains("its beginning and its end are below"), "{sentence}");
    assert_eq!(gone, 198 - 8);
}

#[test]
fn the_text_beside_an_image_can_stay() {
    let start = notation::conversation(
        "user go
         assistant call:i
         tool i page one image
         assistant call:d
         tool d ok",
    );
    let layer = layer(Options { keep: Keep::Head, ..Options::default() });
    let text = text_of(&run(&layer, &start, 1), "i");
    assert!(text.ends_with("\npage one image"), "{text}");
    assert!(text.contains("removed, with 1 image or other medium; its text is below."), "{text}");
}

#[test]
fn cleared_results_leave_room_for_more_steps_than_one() {
    // The trigger at 4,200 and the target at 2,500 tokens; 160 words are 200 tokens.
    let layer = layer(Options { keep_steps: 3, min_tokens: 100, ..Options::default() });
    let mut conversation = notation::conversation("user go");
    let mut changes = 0;
    for step in 0..40 {
        let id = format!("c{step}");
        let (name, arguments) = ("read_file".to_owned(), "{}".to_owned());
        let call = Part::ToolCall(ToolCall {
            id: id.clone().into(),
            name: name.into(),
            arguments: arguments.into(),
        });
        let text = "word ".repeat(160);
        let result = ToolResult {
            call: id.into(),
            text: text.into(),
            media: Box::default(),
            is_error: false,
        };
        conversation.push(Role::Assistant, [call]).unwrap();
        conversation.push(Role::Tool, [Part::ToolResult(result)]).unwrap();
        if size(&conversation) > 4_200 {
            conversation = run(&layer, &conversation, 2_500);
            changes += 1;
            assert!(size(&conversation) <= 2_500, "{}", size(&conversation));
        }
    }
    assert!((1..=4).contains(&changes), "{changes}");
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
            Options { max_tokens: 0, ..Options::default() },
            "max-tokens",
            "`max-tokens` is 0, and must be at least 1 token (to keep nothing, say `keep = \"nothing\"`)",
        ),
    ] {
        let error = ToolResults::build(options).unwrap_err();
        assert_eq!((error.option, error.to_string().as_str()), (option, message));
    }
    let read = serde_json::from_str::<Options>;
    let read_all = read(
        r#"{"keep-steps":2,"min-tokens":3,"keep":"ends","max-tokens":4,"except":["a"],"clear-at-least":5}"#,
    );
    assert_eq!(read_all.unwrap().keep, Keep::Ends);
    assert_eq!(read("{}").unwrap(), Options::default());
    assert!(read(r#"{"keep_steps":2}"#).is_err());
    assert!(read(r#"{"keep":"middle"}"#).is_err());
}

#[test]
fn every_option_has_a_word_for_its_reader() {
    let schema = schemars::schema_for!(Options);
    let properties = schema.get("properties").and_then(|value| value.as_object()).unwrap();
    assert_eq!(properties.len(), 6);
    for (name, property) in properties {
        assert!(property["description"].is_string(), "{name}");
        assert!(!property["default"].is_null(), "{name}");
    }
}

fn options() -> impl proptest::strategy::Strategy<Value = Options> {
    let keep = prop::sample::select(vec![Keep::Nothing, Keep::Head, Keep::Tail, Keep::Ends]);
    let except = prop_oneof![Just(Vec::new()), Just(vec!["tool_1".to_owned()])];
    let least = prop_oneof![Just(0u32), 1u32..5_000];
    let all = (1u32..5, 0u32..400, keep, 1u32..300, except, least);
    // Two traits of that name are at hand.
    proptest::strategy::Strategy::prop_map(
        all,
        |(keep_steps, min_tokens, keep, max_tokens, except, clear_at_least)| Options {
            keep_steps,
            min_tokens,
            keep,
            max_tokens,
            except,
            clear_at_least,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn the_laws_hold(
        conversation in generate::conversation(24),
        options in options(),
        share in 0u64..12,
        keeping in any::<bool>(),
    ) {
        let layer = layer(options.clone());
        let host = TestHost::new().keeping(if keeping { &["tool_0"] } else { &[] });
        let used = size(&conversation);
        let target = (used * share / 10).max(1);
        let after = laws::check_strategy(&layer, &host, &conversation, target)
            .map_err(TestCaseError::fail)?;
        prop_assert_eq!(after.len(), conversation.len());
        let again = laws::check_strategy(&layer, &host, &after, target)
            .map_err(TestCaseError::fail)?;
        prop_assert_eq!(&again, &after, "a second run changes nothing");
        // The newest calling steps are as they were, and so is every excepted tool.
        let outline = conversation.outline();
        let kept = outline.newest_steps(options.keep_steps as usize, true);
        prop_assert_eq!(&after.messages()[kept..], &conversation.messages()[kept..]);
        let plan = host.plan(&layer, &conversation, target).unwrap();
        let saved = used - size(&after);
        prop_assert!(plan.is_empty() || saved >= u64::from(options.clear_at_least));
        // One edit less would not do.
        if let Some((_, fewer)) = plan.edits.split_last().filter(|(_, fewer)| !fewer.is_empty()) {
            let fewer = host.apply(&conversation, &Plan::of(fewer.to_vec())).unwrap();
            let freed = used - size(&fewer.conversation);
            let wanted = (used - target).max(u64::from(options.clear_at_least));
            prop_assert!(freed < wanted, "{} of {}", freed, wanted);
        }
        // Every edit makes its own result smaller.
        for edit in plan.edits {
            let one = host.apply(&conversation, &Plan::of(vec![edit]));
            prop_assert!(one.is_ok(), "{:?}", one);
        }
    }
}
