//! What is picked, in which section, and how much of it.

use brute_core::testing::{TestHost, generate, laws};
use brute_core::{
    Approximate, Configure, Conversation, Host, Message, MessageId, Part, Role, ToolCall,
    ToolResult,
};
use brute_summarize::{Options, Summarize, identifiers, missing_sections};
use proptest::prelude::*;

use super::*;

fn extract() -> Extract {
    Extract::new(Arc::new(Approximate))
}

/// A host whose summarizer is the one under test.
fn host() -> TestHost {
    let extract = extract();
    let window = extract.limits().window;
    TestHost::answering(window, move |prompt| {
        Ok(Completion::new(extract.summary(prompt)?, Stop::End))
    })
}

fn layer(max_tokens: u32) -> Summarize {
    Summarize::build(Options { keep_steps: 1, max_tokens, ..Options::default() }).unwrap()
}

#[derive(Default)]
struct Session(Vec<Message>);

impl Session {
    fn say(mut self, role: Role, part: Part) -> Self {
        self.0.push(Message::new(MessageId(self.0.len() as u64), role, [part]));
        self
    }

    fn user(self, text: &str) -> Self {
        self.say(Role::User, Part::text(text))
    }

    fn assistant(self, text: &str) -> Self {
        self.say(Role::Assistant, Part::text(text))
    }

    fn call(self, name: &str, arguments: &str, text: &str, is_error: bool) -> Self {
        let call = ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() };
        let result =
            ToolResult { call: "c".into(), text: text.into(), media: Box::default(), is_error };
        self.say(Role::Assistant, Part::ToolCall(call)).say(Role::Tool, Part::ToolResult(result))
    }

    fn conversation(self) -> Conversation {
        Conversation::new(self.0).unwrap()
    }
}

fn build_session() -> Conversation {
    let source = "pub fn parse_line(text: &str) -> Token {\n    match text.len() {\n".repeat(60);
    let log = format!(
        "   Compiling lantern v0.3.1\n{}error[E0308]: mismatched types\n  --> src/parser.rs:41:18\ncould not \
         compile `lantern` due to 1 previous error",
        "   Compiling dependency v1.0.0\n".repeat(80)
    );
    Session::default()
        .user("Make the parser in src/parser.rs accept tabs. Do not touch Cargo.lock. Thank you so much.")
        .assistant("I will have a look at the parser first.")
        .call("read", "{\"path\":\"src/parser.rs\"}", &source, false)
        .call("shell", "{\"command\":\"cargo build --release\"}", &log, true)
        .assistant("We go with a char iterator instead of bytes because tabs are one column wide.")
        .call("edit", "{\"path\":\"src/parser.rs\",\"new\":\"chars()\"}", "ok", false)
        .call("shell", "{\"command\":\"cargo test\"}", &format!("{}test result: FAILED. 11 passed; 1 failed", "test ok\n".repeat(90)), true)
        .assistant("The test tabs_in_comments still fails at 9f0cb7b375.")
        .user("Which columns does it report?")
        .assistant("Looking.")
        .conversation()
}

/// The summary that the layer leaves, without the layer's own words.
fn summarized(conversation: &Conversation, max_tokens: u32) -> String {
    let host = host();
    let plan = host.plan(&layer(max_tokens), conversation, 1).unwrap();
    assert!(!plan.is_empty());
    let prompt = host.prompts().remove(0);
    host.complete(&prompt).unwrap().text
}

#[test]
fn a_session_is_told_by_its_own_lines() {
    insta::assert_snapshot!(summarized(&build_session(), 400), @r"
    ## Objective
    - Which columns does it report?
    - Make the parser in src/parser.rs accept tabs.
    - Do not touch Cargo.lock.
    - Thank you so much.
    ## Decisions
    - We go with a char iterator instead of bytes because tabs are one column wide.
    ## Work done
    - read: src/parser.rs
    - shell: cargo build --release
    - edit: src/parser.rs
    - edit: ok
    - shell: cargo test
    ## Identifiers
    src/parser.rs
    9f0cb7b375
    tabs_in_comments
    cargo test
    cargo build --release
    Cargo.lock
    E0308
    ## Outstanding
    - I will have a look at the parser first.
    - shell: error[E0308]: mismatched types
    - shell: could not compile `lantern` due to 1 previous error
    - shell: test result: FAILED. 11 passed; 1 failed
    - The test tabs_in_comments still fails at 9f0cb7b375.
    ");
}

#[test]
fn little_room_goes_to_what_matters() {
    // What the user forbids, the layer keeps.
    let plan = host().plan(&layer(90), &build_session(), 1).unwrap();
    let Some(brute_core::Edit::Replace { text: summary, .. }) = plan.edits.first() else {
        unreachable!()
    };
    assert!(summary.contains("Do not touch Cargo.lock."), "{summary}");
    assert!(summary.contains("E0308") || summary.contains("src/parser.rs"), "{summary}");
}

#[test]
fn an_earlier_summary_keeps_its_sections() {
    let first = "## Objective\n- Ship by 14 March\n## Decisions\n- tabs, not spaces\n## Work done\nNone\n## \
                 Identifiers\nTASK-77\n## Outstanding\n- ask about the license";
    let mark = brute_core::Mark { kind: brute_core::MarkKind::Summary, count: 9 };
    let padding = "word ".repeat(300);
    let conversation = Session::default()
        .user("Go on.")
        .user("task")
        .say(Role::User, Part::text(mark.write(&format!("{first}\n{padding}"))))
        .say(Role::User, Part::text(mark.write(&format!("## Decisions\n- no network\n{padding}"))))
        .assistant("Done.")
        .conversation();
    let summary = summarized(&conversation, 300);
    let section = |name: &str| {
        let (_, rest) = summary.split_once(&format!("## {name}\n")).unwrap();
        rest.split("\n## ").next().unwrap().to_owned()
    };
    assert!(section("Objective").contains("- Ship by 14 March"), "{summary}");
    assert!(section("Decisions").contains("- tabs, not spaces\n- no network"), "{summary}");
    assert!(section("Identifiers").contains("TASK-77"), "{summary}");
    assert!(section("Outstanding").contains("- ask about the license"), "{summary}");
}

#[test]
fn too_little_room_is_an_error() {
    let prompt = Prompt { instructions: String::new(), input: "x".into(), max_tokens: 5 };
    let error = extract().summary(&prompt).unwrap_err();
    assert!(error.to_string().contains("5 tokens are too few"), "{error}");
}

#[test]
fn a_prompt_without_a_record_is_read_as_it_is() {
    let input = "We decided to use tabs.\nerror: src/a.rs is missing";
    let prompt = Prompt { instructions: String::new(), input: input.into(), max_tokens: 200 };
    let summary = extract().summary(&prompt).unwrap();
    assert!(summary.contains("## Decisions\n- We decided to use tabs."), "{summary}");
    assert!(summary.contains("## Identifiers\nsrc/a.rs"), "{summary}");
}

#[test]
fn time_grows_with_the_record() {
    let time = |lines: usize| {
        let line = |line: usize| {
            format!("[tool result of shell]\nerror {line} in src/file{line}.rs: failed\n")
        };
        let input: String = (0..lines).map(line).collect();
        let prompt = Prompt { instructions: String::new(), input, max_tokens: 2_000 };
        let extract = extract();
        let once = || {
            let began = std::time::Instant::now();
            extract.summary(&prompt).unwrap();
            began.elapsed()
        };
        (0..3).map(|_| once()).min().unwrap()
    };
    let (short, long) = (time(2_000), time(20_000));
    // Ten times as much; the square would be a hundred times.
    assert!(long < short * 40, "{short:?} {long:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_laws_hold_with_it(conversation in generate::conversation(20), share in 0u64..10, max_tokens in 64u32..600) {
        let target = (conversation.clone().measure(&Approximate) * share / 10).max(1);
        let layer = layer(max_tokens);
        let host = host();
        laws::check_strategy(&layer, &host, &conversation, target).map_err(TestCaseError::fail)?;
        for prompt in host.prompts() {
            // The layer asks for no less than 4/5 of 64 tokens, and the headings take half of that.
            let summary = host.complete(&prompt).unwrap().text;
            prop_assert!(Approximate.count(&summary) <= prompt.max_tokens);
            prop_assert!(missing_sections(&summary).is_empty());
            let (_, found) = summary.split_once("## Identifiers\n").unwrap();
            for line in found.lines().take_while(|line| !line.starts_with("## ")) {
                prop_assert!(line == "None" || prompt.input.contains(line), "{line}");
            }
            prop_assert_eq!(extract().summary(&prompt).unwrap(), summary);
        }
    }
}

/// The identifiers that a tail of the session would use again.
#[test]
fn identifiers_survive() {
    let summary = summarized(&build_session(), 400);
    let kept: Vec<_> =
        identifiers::identifiers([summary.as_str()]).iter().map(|found| found.text).collect();
    for text in ["src/parser.rs", "E0308", "Cargo.lock", "9f0cb7b375"] {
        assert!(kept.contains(&text), "{text} {kept:?}");
    }
}
