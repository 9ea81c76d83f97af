//! The four tiers, what an answer must be, and how requests are made to fit.

use brute_core::testing::{TestHost, generate, laws, notation};
use brute_core::{
    Completion, CompletionError, Configure, Conversation, Flow, LayerErrorKind, Mark, Part, Prompt,
    Role, Stop,
};
use proptest::prelude::*;

use super::*;
use crate::record::{Record, Speaker};

mod fenced;
mod kept;

const ANSWER: &str = "## Objective\nbuild it\n## Decisions\nNone\n## Work done\nread\n## Identifiers\nNone\n## Outstanding\nNone";

fn layer(keep_steps: u32) -> Summarize {
    Summarize::build(Options { keep_steps, ..Options::default() }).unwrap()
}

fn ends(text: &str) -> Result<Completion, CompletionError> {
    Ok(Completion::new(text, Stop::End))
}

/// A line a message: role and first word, or what an earlier compaction left.
fn shape(conversation: &Conversation) -> Vec<String> {
    let line = |message: &brute_core::Message| match (message.mark(), message.parts().first()) {
        (Some(mark), _) => format!("{} {}", mark.kind, mark.count),
        (None, Some(Part::Text(text))) => {
            format!("{} {}", message.role(), text.split(' ').next().unwrap_or_default())
        }
        (None, Some(Part::ToolCall(call))) => format!("call {}", call.id),
        (None, Some(Part::ToolResult(result))) => format!("result {}", result.call),
        (None, _) => message.role().to_string(),
    };
    conversation.messages().iter().map(|message| line(message)).collect()
}

/// One round, applied.
fn round(
    layer: &Summarize,
    host: &TestHost,
    conversation: &Conversation,
    target: u64,
) -> Conversation {
    let plan = host.plan(layer, conversation, target).unwrap();
    assert!(plan.is_empty() || plan.flow == Flow::Again);
    host.apply(conversation, &plan).unwrap().conversation
}

fn size(conversation: &Conversation) -> u64 {
    conversation.clone().measure(&brute_core::Approximate)
}

/// Four tiers, one after the other, in one conversation. 300 words are 375 tokens.
const LONG: &str = "
    system sys
    user first wordx300
    assistant a1 wordx300
    user second wordx300
    assistant a2 wordx300
    user task
    assistant call:a
    tool a wordx300
    assistant call:b
    tool b wordx300
    assistant call:c
    tool c wordx300";

#[test]
fn each_round_gives_up_as_little_as_it_can() {
    let start = notation::conversation(LONG);
    let used = size(&start);
    let host = TestHost::saying(ANSWER);
    let layer = layer(1);
    // A little over: the oldest turn is enough.
    let slightly = round(&layer, &host, &start, used - 10);
    assert_eq!(
        shape(&slightly),
        [
            "system sys",
            "summary 2",
            "user second",
            "assistant a2",
            "user task",
            "call a",
            "result a",
            "call b",
            "result b",
            "call c",
            "result c"
        ]
    );
    // More over than one turn has: both.
    let both = round(&layer, &host, &start, used - 800);
    assert_eq!(shape(&both)[..3], ["system sys", "summary 4", "user task"]);
    // No turn is left: the oldest steps, and as few of them as will do.
    let step = round(&layer, &host, &both, size(&both) - 10);
    assert_eq!(
        shape(&step)[1..],
        ["summary 4", "user task", "summary 2", "call b", "result b", "call c", "result c"]
    );
    // The newest step stays, whatever the target. The next step is worked into the summary that is there.
    let last = round(&layer, &host, &step, 1);
    assert_eq!(shape(&last)[1..], ["summary 4", "user task", "summary 4", "call c", "result c"]);
    let mut rounds = last.clone();
    for _ in 0..4 {
        rounds = round(&layer, &host, &rounds, 1);
    }
    assert_eq!(shape(&rounds), shape(&last), "small summaries are not worth a call");
}

#[test]
fn summaries_of_history_are_combined_before_the_task_loses_a_step() {
    let conversation = notation::conversation(
        "system sys
         summary 10 oldx200
         summary 20 newerx200
         summary 30 newestx200
         user task
         assistant call:a
         tool a wordx300
         assistant call:b
         tool b wordx300",
    );
    let host = TestHost::saying(ANSWER);
    let layer = layer(1);
    let two = round(&layer, &host, &conversation, size(&conversation) - 10);
    assert_eq!(shape(&two)[..4], ["system sys", "summary 30", "summary 30", "user task"]);
    let all = round(&layer, &host, &conversation, 1);
    assert_eq!(shape(&all)[..4], ["system sys", "summary 60", "user task", "call a"]);
    let step = round(&layer, &host, &all, 1);
    assert_eq!(shape(&step)[2..], ["user task", "summary 2", "call b", "result b"]);
}

#[test]
fn a_summary_says_how_the_first_is_had_back_and_no_summarizer_reads_that() {
    let host = TestHost::saying(ANSWER).archiving();
    let mut conversation = notation::conversation(LONG);
    for _ in 0..2 {
        conversation = round(&layer(1), &host, &conversation, size(&conversation) - 10);
    }
    let mut texts = conversation.messages().iter().flat_map(|message| message.parts());
    let said = "; to have them back one by one, the first: `restore 1`.\n\n";
    assert!(texts.any(|part| matches!(part, Part::Text(text) if text.contains(said))));
    round(&layer(1), &host, &conversation, 1);
    assert!(host.prompts().iter().all(|prompt| !prompt.input.contains("`restore")));
}

#[test]
fn summaries_of_the_task_are_combined_when_nothing_else_is_left() {
    let conversation = notation::conversation(
        "user task
         summary 10 oldx200
         summary 20 newerx200
         assistant call:b
         tool b wordx300",
    );
    let host = TestHost::saying(ANSWER);
    let after = round(&layer(1), &host, &conversation, 1);
    assert_eq!(shape(&after), ["user task", "summary 30", "call b", "result b"]);
    let prompt = &host.prompts()[0];
    assert!(!prompt.input.contains("[brute:"), "no mark gets into a summary: {}", prompt.input);
    let record = Record::read(&prompt.input).unwrap();
    assert_eq!(record.goal, "task");
    let speakers: Vec<_> = record.entries.iter().map(|entry| entry.speaker).collect();
    assert_eq!(speakers, [Speaker::Summary, Speaker::Summary]);
}

#[test]
fn steps_of_a_turn_that_the_newest_steps_reach_into_go_and_its_request_stays() {
    let conversation = notation::conversation(
        "user first
         assistant call:a
         tool a wordx300
         assistant call:b
         tool b wordx300
         assistant ok
         user next",
    );
    let after = round(&layer(2), &TestHost::saying(ANSWER), &conversation, 1);
    assert_eq!(
        shape(&after),
        ["user first", "summary 2", "call b", "result b", "assistant ok", "user next"]
    );
}

#[test]
fn what_is_protected_stays_and_the_rest_goes_in_one_summary() {
    let conversation = notation::conversation(
        "note 7 7 earlier messages were removed.
         user first wordx300
         assistant call:t:todo
         tool t plan
         assistant a1 wordx300
         user task
         assistant done",
    );
    let host = TestHost::saying(ANSWER).keeping(&["todo"]);
    let after = round(&layer(1), &host, &conversation, 1);
    // The note is folded in, and the dialogue still begins with the user's side.
    assert_eq!(shape(&after), ["summary 9", "call t", "result t", "user task", "assistant done"]);
    assert!(host.prompts()[0].input.contains("[note]\n7 earlier messages were removed."));
}

#[test]
fn an_earlier_summary_is_updated() {
    let conversation = notation::conversation(
        "user first wordx300
         summary 12 gist
         assistant a1 wordx300
         user task
         assistant done",
    );
    let after = round(&layer(1), &TestHost::saying(ANSWER), &conversation, 1);
    assert_eq!(shape(&after), ["summary 14", "user task", "assistant done"]);
}

#[test]
fn nothing_to_give_is_no_call() {
    let host = TestHost::saying(ANSWER);
    for (keep, text) in [
        (2, "user task wordx900"),
        (2, "user task\nassistant call:a\ntool a wordx300\nassistant done"),
        (1, "user hi\nassistant hello\nuser how\nassistant well\nuser task"),
        (1, "note 3 gone wordx400\nuser task"),
        (1, "summary 3 gist wordx400\nuser task"),
    ] {
        let plan = host.plan(&layer(keep), &notation::conversation(text), 1).unwrap();
        assert!(plan.is_empty(), "{text}");
    }
    let met = host.plan(&layer(1), &notation::conversation(LONG), 100_000).unwrap();
    assert!(met.is_empty());
    assert!(host.prompts().is_empty());
}

#[test]
fn an_unusable_answer_is_an_error_that_says_why() {
    let huge = "word ".repeat(9_000);
    let stopped = |stop| move |_: &Prompt| Ok(Completion::new("Goal: half", stop));
    let saying = |text: &str| TestHost::saying(text);
    let failing =
        |error: CompletionError| TestHost::answering(100_000, move |_| Err(error.clone()));
    for (host, part) in [
        (TestHost::new(), "no summarizer is configured"),
        (saying(" \n"), "answered nothing"),
        (saying("<tool_call>{}</tool_call>"), "wrote a tool call"),
        (saying(&huge), "not smaller"),
        (TestHost::answering(100_000, stopped(Stop::Length)), "cut at its length limit"),
        (TestHost::answering(100_000, stopped(Stop::ToolCall)), "called a tool"),
        (failing(CompletionError::TimedOut { seconds: 60 }), "within 60 s"),
        (failing(CompletionError::Failed { reason: "503".into() }), "failed: 503"),
        (failing(CompletionError::TooLong { limit: None }), "too long"),
        (TestHost::answering(200, |_| ends("x")), "too small"),
        (TestHost::answering(400, |_| ends("x")), "no room for a record"),
    ] {
        let error = host.plan(&layer(1), &notation::conversation(LONG), 1).unwrap_err();
        assert_eq!(error.kind(), LayerErrorKind::Summarizer);
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_failing_round_leaves_the_round_before() {
    let start = notation::conversation(LONG);
    let host = TestHost::answering(100_000, |prompt| match prompt.input.contains("call") {
        true => Err(CompletionError::Failed { reason: "429".into() }),
        false => ends(ANSWER),
    });
    let after = laws::check_strategy(&layer(1), &host, &start, 1).unwrap();
    assert_eq!(shape(&after)[..4], ["system sys", "summary 4", "user task", "call a"]);
}

/// What the summarizer would have to read and write.
fn cost(prompt: &Prompt) -> u64 {
    let texts = [&prompt.instructions, &prompt.input];
    let read: u64 = texts
        .iter()
        .map(|text| u64::from(brute_core::TokenCounter::count(&brute_core::Approximate, text)))
        .sum();
    read + u64::from(prompt.max_tokens)
}

fn many_steps(steps: usize, words: usize) -> Conversation {
    let steps = (0..steps).map(|step| {
        format!("assistant call:c{step}\ntool c{step} begin{step} wordx{words} end{step}\n")
    });
    notation::conversation(&format!("user PLAN\n{}user next", steps.collect::<String>()))
}

#[test]
fn a_request_fits_the_summarizers_window() {
    for (window, steps, words) in
        [(10_000, 40, 500), (3_000, 20, 500), (4_000, 30, 300), (1_500, 6, 3_000)]
    {
        let host = TestHost::answering(window, |_| ends("part summary"));
        let start = many_steps(steps, words);
        let after = laws::check_strategy(&layer(2), &host, &start, size(&start) / 4).unwrap();
        assert!(size(&after) <= size(&start) / 2, "{window}: {}", size(&after));
        for prompt in host.prompts() {
            assert!(cost(&prompt) <= window, "{window}: {}", cost(&prompt));
            assert!(prompt.input.contains("next"), "the goal is always in it");
        }
        // Nothing is skipped: head and tail of every step that went were read.
        let read: String = host.prompts().into_iter().map(|prompt| prompt.input).collect();
        let gone = steps - shape(&after).iter().filter(|line| line.starts_with("call")).count();
        for step in 0..gone {
            assert!(
                read.contains(&format!("begin{step} ")) && read.contains(&format!(" end{step}\n"))
            );
        }
    }
}

#[test]
fn whole_turns_are_preferred_over_parts_of_one() {
    let turn = |name: &str| format!("user {name}1 wordx300\nassistant {name}2 wordx300\n");
    let text = ["a", "b", "c", "d"].map(turn).concat();
    let conversation = notation::conversation(&format!("{text}user task"));
    // Room for about five messages of 380 tokens beside 1,000 of instructions and answer.
    let host = TestHost::answering(3_600, |_| ends("part"));
    let after = round(&layer(1), &host, &conversation, 1);
    assert_eq!(shape(&after)[..2], ["summary 4", "user c1"]);
}

#[test]
fn a_summarizer_that_finds_the_request_too_long_gets_a_shorter_one() {
    let start = many_steps(20, 500);
    for said in [Some(4_000), None] {
        let host = TestHost::answering(50_000, move |prompt| match cost(prompt) > 4_000 {
            true => Err(CompletionError::TooLong { limit: said }),
            false => ends("part"),
        });
        let after = round(&layer(2), &host, &start, 1);
        assert!(after.len() < start.len());
        let calls = host.prompts().len();
        assert_eq!(calls, if said.is_some() { 2 } else { 3 }, "{said:?}");
    }
    let never =
        TestHost::answering(50_000, |_| Err(CompletionError::TooLong { limit: Some(90_000) }));
    assert!(never.plan(&layer(2), &start, 1).is_err());
    assert_eq!(never.prompts().len(), 1 + RETRIES);
}

#[test]
fn the_summary_says_what_it_is_and_carries_identifiers() {
    let conversation = notation::conversation(
        "user first
         assistant I see error E0308 in src/main.rs and src/lib.rs, see https://example.org/x?y=1 wordx300
         user task src/lib.rs
         assistant done",
    );
    let host = TestHost::saying("## Objective\nfix src/lib.rs\n## Work done\nread");
    let after = round(&layer(1), &host, &conversation, 1);
    let Some(Part::Text(text)) = after.messages()[0].parts().first() else { unreachable!() };
    assert_eq!(after.messages()[0].role(), Role::User);
    let (mark, body) = Mark::split(text).unwrap();
    assert_eq!(mark.count, 2);
    assert_eq!(
        body,
        "This is a summary of earlier talk: a record of what was said and done, not a new request. \
         Messages that it stands for: 2.\n\n## Objective\nfix src/lib.rs\n\n## Decisions\n(not stated)\n\n\
         ## Work done\nread\n\n## Identifiers\n(not stated)\n\n## Outstanding\n(not stated)\n\n\
         ## The user said\n- first\n\n## Ledger\nE0308\nhttps://example.org/x?y=1\nsrc/main.rs"
    );
}

#[test]
fn an_answer_much_longer_than_asked_is_clipped_if_that_meets_the_target() {
    let start = many_steps(3, 600);
    let long = format!("FIRST {}LAST", "word ".repeat(900));
    let host = TestHost::saying(&long);
    let after = round(&layer(1), &host, &start, 1_700);
    assert!(size(&after) <= 1_700);
    let Some(Part::Text(text)) = after.messages()[1].parts().first() else { unreachable!() };
    assert!(text.contains("FIRST") && text.contains("LAST") && text.contains("left out here"));
    // Where it would not help, the words stay.
    let after = round(&layer(1), &host, &start, 1);
    let Some(Part::Text(text)) = after.messages()[1].parts().first() else { unreachable!() };
    assert!(text.contains(&long));
}

#[test]
fn the_operators_instructions_follow_ours_or_replace_them() {
    let ours = "You write the summary that takes the place";
    let added = "The operator adds:\n\nKeep\nbooking codes.\n";
    let this_time = "\nThis time, dwell on this above all:\n\nthe tests\n";
    use InstructionsMode::{Extend, Replace};
    for (mode, focus, begins, end) in [
        (Extend, "", ours, added.to_owned()),
        (Extend, "the tests", ours, format!("{added}{this_time}")),
        (Replace, "", "Keep\nbooking codes.\n", "Keep\nbooking codes.\n".to_owned()),
        (Replace, "the tests", "Keep", format!("codes.\n{this_time}")),
    ] {
        let host = TestHost::saying(ANSWER).focusing(focus);
        let options = Options {
            instructions: "Keep\nbooking codes.".into(),
            instructions_mode: mode,
            ..Options::default()
        };
        round(&Summarize::build(options).unwrap(), &host, &notation::conversation(LONG), 1);
        let Prompt { instructions, input, .. } = &host.prompts()[0];
        assert!(instructions.starts_with(begins) && instructions.ends_with(&end), "{instructions}");
        assert!(!instructions.contains("{max-tokens}"));
        assert!(input.contains("under the headings Objective, Decisions"), "what is asked stays");
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let defaults = Options::default;
    for (options, option, message) in [
        (
            Options { max_tokens: 10, ..defaults() },
            "max-tokens",
            "`max-tokens` is 10, and a summary needs at least 64 tokens",
        ),
        (
            Options { keep_steps: 0, ..defaults() },
            "keep-steps",
            "`keep-steps` is 0, and must be at least 1 step, which the model has not acted on yet",
        ),
        (
            Options {
                instructions_mode: InstructionsMode::Replace,
                instructions: " ".into(),
                ..defaults()
            },
            "instructions-mode",
            "`instructions-mode` is `replace`, and there are no `instructions`",
        ),
    ] {
        let error = Summarize::build(options).unwrap_err();
        assert_eq!((error.option, error.to_string().as_str()), (option, message));
    }
    let schema = schemars::schema_for!(Options);
    let properties = schema.get("properties").unwrap();
    assert_eq!(properties["keep-steps"]["minimum"], 1);
    assert_eq!(properties["max-tokens"]["minimum"], 64);
}

fn hosts() -> impl proptest::strategy::Strategy<Value = (&'static str, fn() -> TestHost)> {
    prop::sample::select(vec![
        ("short", (|| TestHost::saying("part")) as fn() -> TestHost),
        ("sections", || TestHost::saying(ANSWER)),
        ("empty", || TestHost::saying("")),
        ("huge", || TestHost::answering(50_000, |_| ends(&"word ".repeat(30_000)))),
        ("failing", || {
            TestHost::answering(50_000, |_| Err(CompletionError::Failed { reason: "no".into() }))
        }),
        ("narrow", || {
            TestHost::answering(1_600, |prompt| match cost(prompt) > 1_600 {
                true => Err(CompletionError::Failed { reason: "the request does not fit".into() }),
                false => ends("part"),
            })
        }),
        ("refusing", || {
            TestHost::answering(30_000, |prompt| match cost(prompt) > 5_000 {
                true => Err(CompletionError::TooLong { limit: Some(5_000) }),
                false => ends("part"),
            })
        }),
        ("uneven", || {
            TestHost::answering(20_000, |prompt| ends(&"word ".repeat(prompt.input.len() % 1_500)))
        }),
        ("keeping", || TestHost::saying("part").keeping(&["tool_0"])),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_laws_hold(
        conversation in generate::conversation(20),
        (name, host) in hosts(),
        share in 0u64..12,
        keep in 1u32..4,
    ) {
        let layer = layer(keep);
        let target = (size(&conversation) * share / 10).max(1);
        let host = host();
        let after = laws::check_strategy(&layer, &host, &conversation, target)
            .map_err(|broken| TestCaseError::fail(format!("{name}: {broken}")))?;
        // The newest steps stay.
        let kept = conversation.outline().newest_steps(keep as usize, false);
        for message in &conversation.messages()[kept..] {
            prop_assert!(after.messages().contains(message));
        }
        // A second run changes nothing.
        let again = laws::check_strategy(&layer, &host, &after, target)
            .map_err(|broken| TestCaseError::fail(format!("{name}: {broken}")))?;
        prop_assert_eq!(&again, &after);
        for prompt in host.prompts() {
            prop_assert!(Record::read(&prompt.input).is_some());
            prop_assert!(name != "narrow" || cost(&prompt) <= 1_600);
        }
        prop_assert!(name != "short" || size(&after) <= size(&conversation));
    }
}
