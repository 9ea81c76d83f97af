//! What supersedes what, and what the layer leaves.

use brute_core::testing::{TestHost, generate, laws, notation};
use brute_core::{Approximate, Conversation, Media, Part, Role, ToolCall, ToolResult};
use proptest::prelude::*;

use super::*;

fn layer(options: Options) -> StaleReads {
    StaleReads::build(options).unwrap()
}

fn size(conversation: &Conversation) -> u64 {
    conversation.clone().measure(&Approximate)
}

fn run(layer: &StaleReads, conversation: &Conversation, target: u64) -> Conversation {
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

/// Which results are cleared, counted from 0, and the end of what stands there instead.
fn cleared(conversation: &Conversation) -> Vec<(usize, &str)> {
    let results = results(conversation).into_iter().enumerate();
    results
        .filter_map(|(index, result)| {
            let (mark, body) = Mark::split(&result.text)?;
            assert_eq!(mark.kind, MarkKind::Cleared);
            Some((index, body.split_once("removed: ")?.1.strip_suffix('.')?))
        })
        .collect()
}

/// A session of calls, one a step: tool, arguments, result. A last step that no rule is about follows.
fn session(steps: &[(&str, &str, &str)]) -> Conversation {
    let mut conversation = notation::conversation("user go");
    let last = ("bash", r#"{"command":"true"}"#, "ok");
    for (index, (tool, arguments, text)) in steps.iter().chain([&last]).enumerate() {
        let (id, name, arguments) =
            (format!("c{index}"), (*tool).to_owned(), (*arguments).to_owned());
        conversation.push(Role::Assistant, [call(&id, &name, &arguments)]).unwrap();
        let is_error = text.starts_with('!');
        let result =
            ToolResult { call: id.into(), text: (*text).into(), media: Box::default(), is_error };
        conversation.push(Role::Tool, [Part::ToolResult(result)]).unwrap();
    }
    conversation
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
}

/// The numbered lines of a file.
fn lines(from: usize, to: usize) -> String {
    (from..to).map(|line| format!("{line:4} some words of a line\n")).collect()
}

const AGAIN: &str = "a later call of `read` shows this file again";
const WROTE: &str = "a later call of `edit` wrote to this file";
const REPEATED: &str = "a later call gave the same result again";

#[test]
fn reads_give_way_to_later_reads_and_writes_of_their_file() {
    let start = notation::conversation(
        "user go
         assistant call:a call:b call:c:grep
         tool a wordx400
         tool b wordx400
         tool c wordx400
         assistant call:a
         tool a wordx390
         assistant call:b:edit
         tool b done
         assistant call:d
         tool d wordx400",
    );
    let after = run(&StaleReads::default(), &start, 1);
    assert_eq!(cleared(&after), [(0, AGAIN), (1, WROTE)]);
    let text = &results(&after)[0].text;
    assert!(text.ends_with("The result of `read` (500 tokens) was removed: a later call of `read` shows this file again."), "{text}");
    // Oldest first, and no more than is needed.
    for (target, expected) in [(size(&start), 0), (size(&start) - 1, 1), (size(&start) - 480, 2)] {
        assert_eq!(cleared(&run(&StaleReads::default(), &start, target)).len(), expected);
    }
}

#[test]
fn ranges_are_superseded_by_what_covers_them() {
    let whole = lines(0, 100);
    let part = lines(10, 60);
    let short = lines(0, 40);
    let failed = format!("Error: {whole}");
    let all = r#"{"path":"src/a.rs"}"#;
    let some = r#"{"path":"./src/a.rs","offset":10,"limit":50}"#;
    let fewer = r#"{"path":"src/a.rs","offset":20,"limit":20}"#;
    let other = r#"{"path":"src/a.rs","offset":40,"limit":50}"#;
    let read = |arguments, text| ("read", arguments, text);
    let edit = ("edit", r#"{"file_path":"src/x/../a.rs"}"#, "done");
    for (what, steps, expected) in [
        ("the same", [read(all, &*whole), read(all, &short)], &[][..]),
        ("the same, and not much less", [read(all, &*part), read(all, &short)], &[(0, AGAIN)]),
        ("the whole after a part", [read(some, &part), read(all, &whole)], &[(0, AGAIN)]),
        ("a part after the whole", [read(all, &whole), read(some, &part)], &[]),
        ("a whole that was capped", [read(some, &part), read(all, &short)], &[]),
        ("a part in a part", [read(fewer, "x\ny"), read(some, &part)], &[]),
        ("another part", [read(some, &part), read(other, &part)], &[]),
        ("the same part", [read(some, &part), read(some, &part)], &[(0, AGAIN)]),
        ("a write after a part", [read(some, &part), edit], &[(0, WROTE)]),
        ("a write before a read", [edit, read(some, &part)], &[]),
        (
            "another way to read",
            [read(all, &whole), read(r#"{"path":"src/a.rs","outline":true}"#, &whole)],
            &[],
        ),
        ("another file", [read(all, &whole), read(r#"{"path":"src/b.rs"}"#, &whole)], &[]),
        ("unchanged", [read(all, &whole), read(all, "The file is unchanged.")], &[]),
        ("a failed read", [read(all, &whole), read(all, "!no such file")], &[]),
        ("a failure without a flag", [read(all, &whole), read(all, &failed)], &[]),
        ("a failed write", [read(all, &whole), ("edit", all, "!not found")], &[]),
        ("a tool that does neither", [read(all, &whole), ("bash", all, "done")], &[]),
        ("another tool, the whole", [("cat", all, &*whole), read(all, &whole)], &[(0, AGAIN)]),
        ("another tool, a part", [("cat", some, &*part), read(some, &part)], &[]),
    ] {
        assert_eq!(cleared(&run(&StaleReads::default(), &session(&steps), 1)), expected, "{what}");
    }
    // Long enough to hold it, and inside.
    let long = format!("{}\n", lines(20, 40));
    let start = session(&[read(fewer, &long), read(some, &part)]);
    assert_eq!(cleared(&run(&StaleReads::default(), &start, 1)), [(0, AGAIN)]);
}

#[test]
fn the_same_result_is_kept_once() {
    let text = lines(0, 50);
    let other = lines(1, 51);
    let grep = |arguments, text| ("grep", arguments, text);
    let start = session(&[
        grep("{}", &*text),
        grep("{}", &other),
        grep(r#"{"a":1}"#, &text),
        ("find", "{}", &text),
        grep("{}", &text),
        grep("{}", &text),
        grep("{}", "!failed"),
        grep("{}", "!failed"),
    ]);
    assert_eq!(cleared(&run(&StaleReads::default(), &start, 1)), [(0, REPEATED), (4, REPEATED)]);
}

#[test]
fn images_are_not_told_by_their_text() {
    let start = notation::conversation(
        "user go
         assistant call:a:screenshot
         tool a image
         assistant call:a:screenshot
         tool a image
         assistant call:p
         tool p image
         assistant call:p
         tool p wordx900
         assistant call:d
         tool d ok",
    );
    assert_eq!(cleared(&run(&StaleReads::default(), &start, 1)), []);
    let mut start = session(&[("read", r#"{"path":"a.png"}"#, "image"); 2]);
    let media = vec![Media { kind: "image/png".into(), tokens: 900, bytes: 0 }];
    let with_media = start.messages().iter().map(|message| match message.result() {
        Some((_, result)) if result.text == "image".into() => {
            let result = ToolResult { media: media.clone().into(), ..result.clone() };
            brute_core::Message::new(message.id(), Role::Tool, [Part::ToolResult(result)])
        }
        _ => (**message).clone(),
    });
    start = Conversation::new(with_media).unwrap();
    assert_eq!(cleared(&run(&StaleReads::default(), &start, 1)), [(0, AGAIN)]);
}

#[test]
fn calls_in_one_step_have_no_order() {
    let start = notation::conversation(
        "user go
         assistant call:a call:b:edit call:c
         tool a wordx400
         tool b done
         tool c wordx400
         assistant call:d
         tool d ok",
    );
    let both = start.messages().iter().map(|message| {
        let parts: Vec<Part> = message
            .parts()
            .iter()
            .cloned()
            .map(|part| match part {
                Part::ToolCall(call) => {
                    Part::ToolCall(ToolCall { arguments: r#"{"path":"a.txt"}"#.into(), ..call })
                }
                part => part,
            })
            .collect();
        brute_core::Message::new(message.id(), message.role(), parts)
    });
    let start = Conversation::new(both).unwrap();
    // The same text is the same, whichever came first.
    assert_eq!(cleared(&run(&StaleReads::default(), &start, 1)), [(0, REPEATED)]);
}

#[test]
fn several_files_are_superseded_together() {
    let both = r#"{"paths":["a","b"]}"#;
    let (one, two) = (r#"{"path":"a"}"#, r#"{"path":"b"}"#);
    let text = lines(0, 50);
    let read = |arguments| ("read", arguments, &*text);
    for (steps, expected) in [
        (vec![read(both), ("edit", one, "done")], &[][..]),
        (vec![read(both), ("edit", one, "done"), ("edit", two, "done")], &[(0, WROTE)]),
        (
            vec![read(one), ("apply_patch", "*** Update File: b\n*** Update File: ./a", "done")],
            &[(0, "a later call of `apply_patch` wrote to this file")],
        ),
    ] {
        assert_eq!(cleared(&run(&StaleReads::default(), &session(&steps), 1)), expected);
    }
}

#[test]
fn options_choose() {
    let text = lines(0, 50);
    let (a, b) = (r#"{"path":"a"}"#, r#"{"path":"b"}"#);
    let start = session(&[
        ("read", a, &*text),
        ("read", a, &lines(0, 49)),
        ("read", b, &text),
        ("edit", b, "done"),
        ("grep", "{}", &text),
        ("grep", "{}", &text),
    ]);
    for (options, expected) in [
        (Options::default(), &[(0, AGAIN), (2, WROTE), (4, REPEATED)][..]),
        (Options { by: vec![Cause::Read], ..Options::default() }, &[(0, AGAIN)]),
        (Options { by: vec![Cause::Write], ..Options::default() }, &[(2, WROTE)]),
        (Options { by: vec![Cause::Repeat], ..Options::default() }, &[(4, REPEATED)]),
        (Options { min_tokens: 10_000, ..Options::default() }, &[]),
        (Options { keep_steps: 4, ..Options::default() }, &[(0, AGAIN), (2, WROTE)]),
        (Options { keep_steps: 6, ..Options::default() }, &[(0, AGAIN)]),
    ] {
        assert_eq!(cleared(&run(&layer(options), &start, 1)), expected);
    }
    let host = TestHost::new().keeping(&["read"]);
    let after = laws::check_strategy(&StaleReads::default(), &host, &start, 1).unwrap();
    assert_eq!(cleared(&after), [(4, REPEATED)]);
}

#[test]
fn never_twice_and_never_larger() {
    let text = lines(0, 50);
    let a = r#"{"path":"a"}"#;
    let start =
        session(&[("read", a, &*text), ("read", a, &text), ("read", a, &text), ("read", a, "x\n")]);
    let all = layer(Options { min_tokens: 0, ..Options::default() });
    let once = run(&all, &start, 1);
    assert_eq!(cleared(&once), [(0, AGAIN), (1, AGAIN)]);
    assert!(TestHost::new().plan(&all, &once, 1).unwrap().is_empty());
    let short = session(&[("read", a, "some words"), ("read", a, "some words")]);
    assert_eq!(cleared(&run(&all, &short, 1)), []);
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
            Options { by: vec![], ..Options::default() },
            "by",
            "`by` is empty, and must name at least one of `read`, `write` and `repeat`",
        ),
        (
            Options { path_keys: vec![], ..Options::default() },
            "path-keys",
            "`path-keys` is empty, so no read and no write would be known (for repeated results alone, say `by = [\"repeat\"]`)",
        ),
    ] {
        let error = StaleReads::build(options).unwrap_err();
        assert_eq!((error.option, error.to_string().as_str()), (option, message));
    }
    let repeats = Options { path_keys: vec![], by: vec![Cause::Repeat], ..Options::default() };
    assert!(StaleReads::build(repeats).is_ok());
    let read = serde_json::from_str::<Options>;
    let all = read(r#"{"keep-steps":2,"min-tokens":3,"by":["write"],"tools":{"x":"by-command","y":"neither"},"path-keys":["p"]}"#).unwrap();
    assert_eq!(
        all.tools.values().copied().collect::<Vec<_>>(),
        [ToolUse::ByCommand, ToolUse::Neither]
    );
    assert_eq!(read("{}").unwrap(), Options::default());
    assert!(read(r#"{"keep_steps":2}"#).is_err());
    assert!(read(r#"{"tools":{"x":"delete"}}"#).is_err());
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

fn options() -> impl proptest::strategy::Strategy<Value = Options> {
    let tools = prop::collection::btree_map(
        prop::sample::select(["tool_0", "tool_1", "tool_2"].map(str::to_owned).to_vec()),
        prop::sample::select(vec![ToolUse::Read, ToolUse::Write, ToolUse::ByCommand]),
        0..4,
    );
    let by = prop::sample::subsequence(vec![Cause::Read, Cause::Write, Cause::Repeat], 1..4);
    // Two traits of that name are at hand.
    proptest::strategy::Strategy::prop_map(
        (1u32..4, 0u32..200, by, tools),
        |(keep_steps, min_tokens, by, tools)| Options {
            keep_steps,
            min_tokens,
            by,
            tools,
            ..Options::default()
        },
    )
}

/// The same conversation with few files and few texts, so that much is superseded.
fn with_few_files(conversation: &Conversation) -> Conversation {
    let few = |text: &str| ["a", "b", "./a"][text.len() % 3];
    let messages = conversation.messages().iter().map(|message| {
        let part = |part: &Part| match part {
            Part::ToolCall(call) => {
                let offset = ["", r#","offset":5"#, r#","offset":5,"limit":9"#]
                    [call.arguments.len() % 7 % 3];
                let arguments = format!("{{\"path\":{:?}{offset}}}", few(&call.arguments));
                Part::ToolCall(ToolCall { arguments: arguments.into(), ..call.clone() })
            }
            Part::ToolResult(result) if result.text.len() < 3_000 => {
                let text = lines(0, 20 + result.text.len() % 3);
                Part::ToolResult(ToolResult { text: text.into(), ..result.clone() })
            }
            part => part.clone(),
        };
        let parts: Vec<Part> = message.parts().iter().map(part).collect();
        brute_core::Message::new(message.id(), message.role(), parts)
    });
    Conversation::new(messages).unwrap()
}

/// Whether the result in message `later` is there and is about the same file as the one in `earlier`.
fn supersedes(conversation: &Conversation, later: usize, earlier: usize) -> bool {
    let outline = conversation.outline();
    let file = |message: usize| {
        let call = outline.call_of(message)?;
        let part = &conversation.messages()[call.message].parts()[call.part];
        let Part::ToolCall(call) = part else { return None };
        let arguments: serde_json::Value = serde_json::from_str(&call.arguments).ok()?;
        arguments["path"].as_str().map(crate::path::normal)
    };
    let result = conversation.messages()[later].result();
    let stands = result.is_some_and(|(_, result)| Mark::read(&result.text).is_none());
    stands && file(later) == file(earlier)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn the_laws_hold(
        conversation in generate::conversation(24),
        few in prop::bool::weighted(0.8),
        options in options(),
        share in 0u64..12,
        keeping in any::<bool>(),
    ) {
        let conversation = if few { with_few_files(&conversation) } else { conversation };
        let layer = layer(options.clone());
        let host = TestHost::new().keeping(if keeping { &["tool_0"] } else { &[] });
        let used = size(&conversation);
        let target = (used * share / 10).max(1);
        let after = laws::check_strategy(&layer, &host, &conversation, target)
            .map_err(TestCaseError::fail)?;
        let again = laws::check_strategy(&layer, &host, &after, target)
            .map_err(TestCaseError::fail)?;
        prop_assert_eq!(&again, &after, "a second run changes nothing");
        let outline = conversation.outline();
        let kept = outline.newest_steps(options.keep_steps as usize, true);
        prop_assert_eq!(&after.messages()[kept..], &conversation.messages()[kept..]);
        let plan = host.plan(&layer, &conversation, target).unwrap();
        for edit in &plan.edits {
            let stands = (edit.start() + 1..after.len()).any(|later| supersedes(&after, later, edit.start()));
            prop_assert!(stands, "what supersedes message {} is gone", edit.start());
        }
        if let Some((_, fewer)) = plan.edits.split_last().filter(|(_, fewer)| !fewer.is_empty()) {
            let fewer = host.apply(&conversation, &Plan::of(fewer.to_vec())).unwrap();
            prop_assert!(used - size(&fewer.conversation) < used - target);
        }
    }
}
