//! What a summary has whatever its author leaves out, and what it has not whatever its author puts in.

use proptest::strategy::Strategy as _;

use super::*;
use crate::sections::section;

fn summaries(conversation: &Conversation) -> Vec<&str> {
    let texts = conversation.messages().iter().flat_map(|message| message.parts());
    let texts = texts.filter_map(|part| match part {
        Part::Text(text) => Some(&**text),
        _ => None,
    });
    texts
        .filter(|text| Mark::read(text).is_some_and(|mark| mark.kind == MarkKind::Summary))
        .collect()
}

/// A turn with a correction and a call, and the next.
fn corrected() -> Conversation {
    notation::conversation(
        "user Build the parser. It is for us. wordx200
         assistant call:src/a:write_file
         tool src/a okx300
         user No, not that. Never touch Cargo.lock.
         assistant call:src/b
         tool src/b error[E0308]x100
         assistant done
         user now the docs
         assistant call:c",
    )
}

/// The one summary that `answer` becomes, of a turn with a correction and a call.
fn summary_of(answer: &str) -> String {
    let after = round(&layer(1), &TestHost::saying(answer), &corrected(), 1);
    summaries(&after)[0].to_owned()
}

/// Later summaries could not say it again; the ledger gets what room the target leaves.
#[test]
fn what_the_user_laid_down_is_given_up_for_no_target() {
    let host = TestHost::saying(ANSWER);
    let whole = round(&layer(1), &host, &corrected(), 1);
    let mut ledgers = Vec::new();
    for target in size(&whole) - 80..=size(&whole) {
        let after = round(&layer(1), &host, &corrected(), target);
        let text = summaries(&after)[0];
        for words in ["Build the parser.", "No, not that.", "Never touch Cargo.lock."] {
            assert!(text.contains(words), "{target}: {text}");
        }
        ledgers.push(section(text, "Ledger").map_or(0, str::len));
    }
    ledgers.dedup();
    assert!(ledgers.len() > 2, "{ledgers:?}");
}

#[test]
fn what_the_user_laid_down_is_kept_in_the_users_words() {
    for answer in ["part", ANSWER, "## The user said\n- do as you like\n## Work done\nit"] {
        let text = summary_of(answer);
        let said = section(&text, "The user said").unwrap();
        for words in ["Build the parser.", "No, not that.", "Never touch Cargo.lock."] {
            assert!(text.contains(words), "{text}");
        }
        assert!(said.contains("No, not that.") && !text.contains("as you like"), "{text}");
        let ledger = section(&text, "Ledger").unwrap();
        assert!(ledger.contains("changed: src/a.txt\n") && ledger.contains("E0308"), "{text}");
    }
    let named =
        summary_of("## Objective\nBuild the parser. Never touch Cargo.lock.\n## Work done\nit");
    assert_eq!(section(&named, "The user said"), Some("- No, not that."));
}

#[test]
fn an_objective_is_there_whatever_the_answer_says() {
    for (answer, objective) in [
        (ANSWER, "build it"),
        ("part", "- Build the parser."),
        ("## Objective\nNone\n## Decisions\ntabs", "- Build the parser."),
        ("## Objective\n\n## Work done\nall", "- Build the parser."),
        ("**Objective:**\nship\n**Work done**\nall", "ship"),
    ] {
        let text = summary_of(answer);
        assert_eq!(section(&text, "Objective").unwrap().lines().next(), Some(objective), "{text}");
    }
    let prose = summary_of("part");
    assert_eq!(crate::missing_sections(&prose), crate::SECTIONS[1..], "prose stays prose");
    let begun = summary_of("## Work done\nparts");
    assert!(crate::missing_sections(&begun).is_empty(), "{begun}");
    assert_eq!(section(&begun, "Outstanding"), Some("(not stated)"), "{begun}");
    let decided = summary_of("## Objective\nNone\n## Decisions\ntabs");
    assert_eq!(section(&decided, "Decisions"), Some("tabs"));
}

#[test]
fn a_path_that_nobody_named_is_struck_out() {
    let text = summary_of("## Work done\nsrc/a.txt is done, src/helper.py is next");
    assert!(
        text.contains("src/a.txt is done, (a path that the record does not have) is next"),
        "{text}"
    );
}

/// A session that grows by turns, or by steps of one turn.
fn grown(start: &Conversation, round: usize, by_turns: bool) -> Conversation {
    let mut conversation = start.clone();
    let more = (0..6).map(|step| {
        let user = match by_turns && step == 0 {
            true => format!("user go on with part {round}\n"),
            false => String::new(),
        };
        format!("{user}assistant call:f{round}_{step}\ntool f{round}_{step} wordx120\n")
    });
    for message in notation::messages(&more.collect::<String>()) {
        conversation.push(message.role(), message.parts().to_vec()).unwrap();
    }
    conversation
}

#[test]
fn twenty_compactions_leave_one_summary_with_goal_and_constraints() {
    let forgetful: fn(&Prompt) -> String = |_| "## Work done\nparts".to_owned();
    // Says what it reads again, and more.
    let nesting: fn(&Prompt) -> String = |prompt| {
        let record = Record::read(&prompt.input).unwrap();
        let earlier = record.entries.iter().find(|entry| entry.speaker == Speaker::Summary);
        let most = prompt.max_tokens as usize * 2;
        let all: String = earlier.map_or("", |entry| entry.text).chars().take(most).collect();
        format!("{all}\n## Outstanding\nmore")
    };
    for (answer, by_turns, window) in [
        (forgetful, true, 100_000),
        (forgetful, false, 100_000),
        (nesting, true, 100_000),
        (nesting, false, 100_000),
        (forgetful, true, 6_000),
    ] {
        let host = TestHost::answering(window, move |prompt| ends(&answer(prompt)));
        let layer =
            Summarize::build(Options { keep_steps: 1, max_tokens: 600, ..Options::default() })
                .unwrap();
        let mut now = notation::conversation(
            "system sys
             user Port the storage to SQLite. Never touch schema.sql. Keep the old API.
             assistant call:first
             tool first wordx50",
        );
        if by_turns {
            now = grown(&now, 99, true);
        }
        let mut largest = Vec::new();
        for count in 0..20 {
            now = grown(&now, count, by_turns);
            now = laws::check_strategy(&layer, &host, &now, 800).unwrap();
            let found = summaries(&now);
            // One of history, and one of the turn that is not over.
            let most = if by_turns { 2 } else { 1 };
            assert!((1..=most).contains(&found.len()), "{count}: {found:?}");
            let text = found[0];
            assert_eq!(text.matches("[brute:").count(), 1, "{text}");
            assert_eq!(text.matches("This is a summary of earlier talk").count(), 1, "{text}");
            assert!(!text.contains("[summary of"), "{text}");
            let all: String = now
                .messages()
                .iter()
                .flat_map(|message| message.parts())
                .filter_map(|part| match part {
                    Part::Text(text) => Some(&**text),
                    _ => None,
                })
                .collect();
            for words in
                ["Port the storage to SQLite.", "Never touch schema.sql.", "Keep the old API."]
            {
                assert!(all.contains(words), "{count}: {words}: {text}");
            }
            assert!(section(text, "Objective").is_some());
            let record = host.prompts();
            assert!(record.iter().all(|prompt| cost(prompt) <= window));
            largest
                .push(u64::from(brute_core::TokenCounter::count(&brute_core::Approximate, text)));
        }
        assert!(largest.iter().all(|size| *size <= 700), "{largest:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn whatever_is_answered_a_summary_is_bounded_and_keeps_its_parts(
        conversation in generate::conversation(16),
        answer in prop_oneof![
            "(?s)\\PC{0,200}",
            prop::collection::vec(prop::sample::select(vec![
                "## Objective\n", "## Decisions\n", "## Ledger\n", "## The user said\n", "None\n", "src/made/up.rs ", "word ",
                "<think>x</think>\n", "**Outstanding:**\n", "- ",
            ]), 1..30).prop_map(|pieces| pieces.concat()),
            (1usize..3_000).prop_map(|words| "word ".repeat(words)),
        ],
        max_tokens in 64u32..800,
    ) {
        let host = TestHost::answering(50_000, move |_| ends(&answer));
        let layer = Summarize::build(Options { keep_steps: 1, max_tokens, ..Options::default() }).unwrap();
        let Ok(plan) = host.plan(&layer, &conversation, 1) else { return Ok(()) };
        let Some(text) = plan.edits.iter().find_map(|edit| match edit {
            Edit::Replace { text, .. } => Some(text),
            _ => None,
        }) else { return Ok(()) };
        let (_, body) = Mark::split(text).unwrap();
        let body = crate::answer::without_introduction(body);
        // Counted piece by piece, it may be a few tokens more.
        let size = u64::from(brute_core::TokenCounter::count(&brute_core::Approximate, body));
        prop_assert!(size <= u64::from(max_tokens) + 8, "{size}: {body}");
        prop_assert!(section(body, "Objective").is_some(), "{body}");
        prop_assert!(!body.contains("src/made/up.rs"));
    }
}

#[test]
fn a_summary_of_nothing_but_its_objective_is_refused() {
    let conversation = notation::conversation(super::LONG);
    let host = TestHost::saying("## Objective\nBuild the parser.");
    let error = host.plan(&layer(1), &conversation, 1).unwrap_err();
    assert_eq!(error.kind(), LayerErrorKind::Summarizer);
    assert!(error.to_string().contains("says nothing but the objective"), "{error}");
}
