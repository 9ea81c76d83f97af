//! What the layer shortens, how far, and where the rest is.

use std::fs;
use std::sync::Mutex;

use brute_core::Strategy as _;
use brute_core::testing::{TestHost, generate, laws, notation};
use brute_core::truncation::{Limits, Notice, Outcome, Spill, truncate};
use brute_core::{
    Approximate, Completion, CompletionError, Conversation, Message, Part, Prompt, Protection,
    Role, Sizes, SummarizerLimits, ToolCall, ToolResult,
};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn size(conversation: &Conversation) -> u64 {
    conversation.clone().measure(&Approximate)
}

/// A layer that saves in `root`, for results of more than 256 tokens.
fn layer(root: &TempDir) -> ClipResults {
    build(Options { spill: Some(root.path().display().to_string()), ..small() })
}

fn small() -> Options {
    Options { min_tokens: 256, keep_lines: 2, ..Options::default() }
}

fn build(options: Options) -> ClipResults {
    ClipResults::build(options).unwrap()
}

fn run(layer: &ClipResults, conversation: &Conversation, target: u64) -> Conversation {
    laws::check_strategy(layer, &TestHost::new(), conversation, target).unwrap()
}

/// A session of calls, one a step, with these results.
fn session(results: &[&str]) -> Conversation {
    let mut conversation = notation::conversation("user go");
    for (index, text) in results.iter().enumerate() {
        let (id, name, arguments) = (format!("c{index}"), "read".to_owned(), "{}".to_owned());
        let call =
            ToolCall { id: id.clone().into(), name: name.into(), arguments: arguments.into() };
        conversation.push(Role::Assistant, [Part::ToolCall(call)]).unwrap();
        let (text, media) = ((*text).to_owned(), Vec::new());
        let result =
            ToolResult { call: id.into(), text: text.into(), media: media.into(), is_error: false };
        conversation.push(Role::Tool, [Part::ToolResult(result)]).unwrap();
    }
    conversation
}

fn texts(conversation: &Conversation) -> Vec<String> {
    let results = conversation.messages().iter().filter_map(|message| message.result());
    results.map(|(_, result)| result.text.to_string()).collect()
}

/// Which results carry a notice: `x` does.
fn clipped(conversation: &Conversation) -> String {
    let one = |text: &String| if Notice::verify(text).is_some() { 'x' } else { '.' };
    texts(conversation).iter().map(one).collect()
}

/// Numbered lines of about five tokens each.
fn lines(count: usize) -> String {
    (0..count).map(|line| format!("line number {line:05}\n")).collect()
}

fn tokens(text: &str) -> u32 {
    TestHost::new().count(text)
}

#[test]
fn the_largest_goes_first_the_newest_too_and_no_further_than_needed() {
    let root = tempfile::tempdir().unwrap();
    let (small, large, medium) = (lines(40), lines(2_000), lines(1_000));
    let start = session(&[&medium, &small, &large]);
    let used = size(&start);
    for (cut, expected) in
        [(0, "..."), (1, "..x"), (5_000, "..x"), (8_500, "..x"), (11_000, "x.x"), (used - 1, "x.x")]
    {
        let after = run(&layer(&root), &start, used - cut);
        assert_eq!(clipped(&after), expected, "{cut}");
        if cut < 12_000 {
            assert!(size(&after) <= used - cut, "{cut}: {}", size(&after));
            // Near enough: a sixteenth of what stays, and a notice.
            let kept = used - cut;
            assert!(size(&after) + kept / 8 + 100 >= kept, "{cut}: {} of {kept}", size(&after));
        }
    }
}

#[test]
fn both_ends_stay_and_the_notice_says_where_the_rest_is() {
    let root = tempfile::tempdir().unwrap();
    let text = lines(2_000);
    let after = run(&layer(&root), &session(&[&text]), 1);
    let short = &texts(&after)[0];
    assert!(tokens(short) <= 256 && tokens(short) > 200, "{}", tokens(short));
    assert!(short.starts_with("line number 00000\nline number 00001\n"), "{short}");
    assert!(short.ends_with("line number 01998\nline number 01999\n"), "{short}");
    let notice = Notice::verify(short).unwrap();
    assert_eq!((notice.total_lines, notice.total_bytes), (2_000, text.len() as u64));
    let FullText::Saved(place) = notice.full else { unreachable!("{notice:?}") };
    assert!(place.starts_with(root.path().to_str().unwrap()), "{place}");
    assert_eq!(fs::read_to_string(&place).unwrap(), text);
    // Nothing else was left behind.
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}

#[test]
fn nothing_is_saved_where_nothing_is_shortened() {
    let root = tempfile::tempdir().unwrap();
    for text in [lines(40), "short".to_owned()] {
        run(&layer(&root), &session(&[&text]), 1);
    }
    run(&layer(&root), &session(&[&lines(2_000)]), 1_000_000);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn lines_are_kept_whatever_they_take() {
    let root = tempfile::tempdir().unwrap();
    let spill = Some(root.path().display().to_string());
    let text = lines(2_000);
    for keep_lines in [0, 1, 40, 101, 400] {
        let layer = build(Options { keep_lines, spill: spill.clone(), ..small() });
        let short = texts(&run(&layer, &session(&[&text]), 1)).remove(0);
        let notice = Notice::verify(&short).unwrap();
        let half = |upward: u64| (u64::from(keep_lines) + upward) / 2;
        let shown: Vec<u64> =
            notice.shown.iter().map(|range| range.last - range.first + 1).collect();
        assert!(shown[0] >= half(1) && shown[1] >= half(0), "{keep_lines}: {shown:?}");
        assert!(tokens(&short) < 256 + keep_lines * 6, "{keep_lines}: {}", tokens(&short));
    }
    let layer = build(Options { keep_lines: 4_000, spill, ..small() });
    assert_eq!(clipped(&run(&layer, &session(&[&text]), 1)), ".");
}

#[test]
fn one_endless_line_is_cut_between_clusters() {
    let root = tempfile::tempdir().unwrap();
    for (piece, part) in
        [("e\u{301}", "e\u{301}"), ("👩‍👩‍👧", "👩‍👩‍👧"), ("\u{1b}[31m\u{1b}[0m", "m"), ("a\r\n", "a\r\n")]
    {
        let text = piece.repeat(20_000);
        let short = texts(&run(&layer(&root), &session(&[&text]), 1)).remove(0);
        assert!(tokens(&short) < tokens(&text) / 4, "{piece}");
        let at = Notice::locate(&short).unwrap().at;
        let (before, after) = (&short[..at.start], &short[at.end..]);
        // One line has its own mark at the cut.
        let (head, tail) = match before.split_once("[...") {
            Some((head, rest)) => (head, rest.split_once("cut...]").unwrap().1.trim_end()),
            None => (before, after.trim_start()),
        };
        for end in [head, tail] {
            assert!(end.starts_with(piece) && end.ends_with(part), "{end:?}");
        }
    }
}

#[test]
fn what_truncation_cut_is_shortened_further_under_its_own_notice() {
    struct Disk(Folder);
    impl Spill for Disk {
        fn save(&self, whole: &[u8]) -> FullText {
            let text = std::str::from_utf8(whole).unwrap();
            self.0.save(text).unwrap();
            FullText::Saved(self.0.place_of(text).unwrap())
        }
        fn holds(&self, _: &str) -> bool {
            true
        }
    }
    let root = tempfile::tempdir().unwrap();
    let full = lines(20_000);
    let disk = Disk(Folder::new(root.path().to_str()));
    let Outcome::Cut(first) = truncate(full.as_bytes(), &Limits::default(), &disk) else {
        unreachable!()
    };
    let start = session(&[&first.text]);
    let half = run(&layer(&root), &start, size(&start) / 2);
    let least = run(&layer(&root), &half, 1);
    for after in [&half, &least] {
        let notice = Notice::verify(&texts(after)[0]).unwrap();
        assert_eq!((notice.total_lines, &notice.full), (20_000, &first.notice.full));
    }
    assert!(tokens(&texts(&least)[0]) <= 256 && size(&half) <= size(&start) / 2);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "saved once");
    // Where the full text is gone, what there is of it is saved.
    let elsewhere = tempfile::tempdir().unwrap();
    let after = run(&layer(&elsewhere), &start, 1);
    let notice = Notice::verify(&texts(&after)[0]).unwrap();
    let FullText::Saved(place) = notice.full else { unreachable!() };
    assert_eq!(fs::read_to_string(place).unwrap(), first.text);
}

/// A host that keeps what it is told.
#[derive(Default)]
struct Listening {
    host: TestHost,
    told: Mutex<Vec<(LogLevel, String)>>,
}

impl Host for Listening {
    fn count(&self, text: &str) -> u32 {
        self.host.count(text)
    }
    fn summarizer(&self) -> Option<SummarizerLimits> {
        None
    }
    fn complete(&self, prompt: &Prompt) -> Result<Completion, CompletionError> {
        self.host.complete(prompt)
    }
    fn log(&self, level: LogLevel, message: &str) {
        self.told.lock().unwrap().push((level, message.to_owned()));
    }
}

#[test]
fn a_disk_that_refuses_is_told_of_and_the_result_is_shortened_or_stays() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, b"").unwrap();
    let spill = Some(file.join("deeper").display().to_string());
    let start = session(&[&lines(900), &lines(1_000)]);
    for (on_spill_failure, edits) in [(OnSpillFailure::Clip, 2), (OnSpillFailure::Skip, 0)] {
        let layer = build(Options { spill: spill.clone(), on_spill_failure, ..small() });
        let host = Listening::default();
        let outline = start.outline();
        let protection = Protection::of(start.messages(), &outline, &[]);
        let sizes = Sizes { window: 100_000, used: size(&start), target: 1 };
        let window = Window::new(start.messages(), &outline, &protection, &Approximate, sizes);
        let plan = layer.plan(&window, &host).unwrap();
        assert_eq!(plan.edits.len(), edits);
        let told = host.told.lock().unwrap().clone();
        let expected = "the full texts of 2 results were not saved: not a directory";
        assert_eq!(told, [(LogLevel::Warn, expected.to_owned())]);
        let after = run(&layer, &start, 1);
        for text in texts(&after) {
            let full = Notice::verify(&text).map(|notice| notice.full);
            let lost = FullText::NotSaved("not a directory".into());
            assert_eq!(full, (edits > 0).then_some(lost));
        }
    }
    // Nowhere to save is a reason like others.
    let layer = build(Options { spill: Some(String::new()), ..small() });
    let text = texts(&run(&layer, &start, 1)).remove(0);
    assert!(text.contains("full text not saved: no folder for full texts is configured"), "{text}");
    // What was lost once is shortened further under the same notice, or not at all.
    let once = run(&layer, &start, size(&start) / 2);
    assert_eq!(clipped(&run(&layer, &once, 1)), "xx");
    let root = tempfile::tempdir().unwrap();
    let skip = build(Options {
        on_spill_failure: OnSpillFailure::Skip,
        spill: Some(root.path().display().to_string()),
        ..small()
    });
    let after = run(&skip, &once, 1);
    let is_lost = |text: &String| text.contains("not saved");
    assert_eq!(
        texts(&after).iter().map(is_lost).collect::<Vec<_>>(),
        texts(&once).iter().map(is_lost).collect::<Vec<_>>()
    );
}

#[test]
fn media_placeholders_and_protected_results_stay() {
    let root = tempfile::tempdir().unwrap();
    let start = notation::conversation(
        "user go
         assistant call:a call:b:keep call:c
         tool a wordx4000 image
         tool b wordx4000
         tool c wordx4000
         assistant call:d
         tool d wordx4000",
    );
    let cleared = Mark { kind: MarkKind::Cleared, count: 9 }.write(&lines(1_000));
    let messages = start.messages().iter().map(|message| match message.result() {
        Some((_, result)) if result.call == "d".into() => {
            let result = ToolResult { text: cleared.clone().into(), ..result.clone() };
            Message::new(message.id(), Role::Tool, [Part::ToolResult(result)])
        }
        _ => (**message).clone(),
    });
    let start = Conversation::new(messages).unwrap();
    let host = TestHost::new().keeping(&["keep"]);
    // The protected call protects its whole message, and no other result.
    let after = laws::check_strategy(&layer(&root), &host, &start, 1).unwrap();
    assert_eq!(clipped(&after), "..x.");
}

#[test]
fn options_are_checked() {
    for (options, option, message) in [
        (
            Options { min_tokens: 255, ..Options::default() },
            "min-tokens",
            "`min-tokens` is 255, and must be at least 256, so that the notice has room",
        ),
        (
            Options {
                spill: Some(String::new()),
                on_spill_failure: OnSpillFailure::Skip,
                ..Options::default()
            },
            "spill",
            "`spill` is empty and `on-spill-failure` is `skip`, so nothing could be shortened",
        ),
    ] {
        let error = ClipResults::build(options).unwrap_err();
        assert_eq!((error.option, error.to_string().as_str()), (option, message));
    }
    let read = serde_json::from_str::<Options>;
    let all = read(r#"{"min-tokens":300,"keep-lines":4,"spill":"/x","on-spill-failure":"skip"}"#)
        .unwrap();
    assert_eq!(all.on_spill_failure, OnSpillFailure::Skip);
    assert_eq!(read("{}").unwrap(), Options::default());
    assert!(read(r#"{"min_tokens":300}"#).is_err());
    assert!(read(r#"{"on-spill-failure":"stop"}"#).is_err());
}

#[test]
fn every_option_has_a_word_for_its_reader() {
    let schema = schemars::schema_for!(Options);
    let properties = schema.get("properties").and_then(|value| value.as_object()).unwrap();
    assert_eq!(properties.len(), 4);
    for (name, property) in properties {
        assert!(property["description"].is_string(), "{name}");
        // Where `spill` leads by default depends on the system.
        assert_eq!(property["default"].is_null(), name == "spill", "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn the_laws_hold(
        conversation in generate::conversation(24),
        min_tokens in 256u32..2_000,
        keep_lines in 0u32..60,
        saves in prop::bool::weighted(0.8),
        share in 0u64..12,
        keeping in any::<bool>(),
    ) {
        let root = tempfile::tempdir().unwrap();
        let spill = Some(if saves { root.path().display().to_string() } else { String::new() });
        let layer = build(Options { min_tokens, keep_lines, spill, ..Options::default() });
        let host = TestHost::new().keeping(if keeping { &["tool_0"] } else { &[] });
        let used = size(&conversation);
        let target = (used * share / 10).max(1);
        let after = laws::check_strategy(&layer, &host, &conversation, target)
            .map_err(TestCaseError::fail)?;
        let again = laws::check_strategy(&layer, &host, &after, target)
            .map_err(TestCaseError::fail)?;
        prop_assert_eq!(&again, &after, "a second run changes nothing");
        prop_assert_eq!(after.len(), conversation.len());
        for (before, after) in texts(&conversation).iter().zip(texts(&after)) {
            if *before != after {
                let notice = Notice::verify(&after).unwrap();
                match notice.full {
                    FullText::Saved(place) => {
                        prop_assert_eq!(&fs::read_to_string(place).unwrap(), before);
                    }
                    _ => prop_assert!(!saves),
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn a_cut_is_as_near_as_it_can_be_and_final(
        text in prop_oneof!["(\\PC{0,90}\n){30,200}", "(.{0,20}\n){200,500}", "\\PC{2000,4000}", "(a{0,900}\n){1,30}"],
        keep_lines in 0u32..40,
        share in 0u64..10,
    ) {
        let root = tempfile::tempdir().unwrap();
        let spill = Some(root.path().display().to_string());
        let layer = build(Options { keep_lines, spill, ..small() });
        let start = session(&[&text]);
        let target = (size(&start) * share / 10).max(1);
        let after = run(&layer, &start, target);
        prop_assert_eq!(&run(&layer, &after, target), &after);
        // What was cut in two goes is cut like in one, and the first place stays.
        let least = run(&layer, &after, 1);
        prop_assert_eq!(&run(&layer, &least, 1), &least);
        if let Some(notice) = Notice::verify(&texts(&least)[0]) {
            let FullText::Saved(place) = notice.full else { unreachable!() };
            prop_assert_eq!(fs::read_to_string(place).unwrap(), text);
        }
    }
}
