//! What the layer gives up, what it leaves, and what the note says.

use brute_core::testing::{TestHost, generate, laws, notation};
use brute_core::{Approximate, Conversation, Message, MessageId, Outline, Part};
use proptest::prelude::*;

use super::*;

fn layer(keep_steps: u32) -> SlidingWindow {
    SlidingWindow::build(Options { keep_steps }).unwrap()
}

fn size(conversation: &Conversation) -> u64 {
    conversation.clone().measure(&Approximate)
}

fn run(keep_steps: u32, conversation: &Conversation, target: u64) -> Conversation {
    laws::check_strategy(&layer(keep_steps), &TestHost::new(), conversation, target).unwrap()
}

/// A word a message: what an earlier compaction left, the first word, or which call.
fn shape(conversation: &Conversation) -> String {
    let word = |message: &Message| match (message.mark(), message.parts().first()) {
        (Some(mark), _) => format!("{}:{}", mark.kind, mark.count),
        (None, Some(Part::Text(text))) => text.split(' ').next().unwrap_or_default().to_owned(),
        (None, Some(Part::ToolCall(call))) => format!("call:{}", call.id),
        (None, Some(Part::ToolResult(result))) => format!("result:{}", result.call),
        (None, _) => message.role().to_string(),
    };
    let words: Vec<_> = conversation.messages().iter().map(|message| word(message)).collect();
    words.join(" ")
}

/// What is left of `text` when everything that may go has gone.
fn all(keep_steps: u32, text: &str) -> String {
    shape(&run(keep_steps, &notation::conversation(text), 1))
}

const TURNS: &str = "
    system sys
    user u1 wordx100
    assistant call:a
    tool a wordx100
    assistant a1 wordx100
    user u2 wordx100
    assistant a2 wordx100
    user task wordx100
    assistant call:b
    tool b wordx100
    assistant call:c
    tool c wordx100
    assistant call:d
    tool d wordx100";

#[test]
fn turns_go_first_and_then_steps_and_no_more_than_needed() {
    let start = notation::conversation(TURNS);
    let table = [
        "sys note:4 u2 a2 task call:b result:b call:c result:c call:d result:d",
        "sys note:6 task call:b result:b call:c result:c call:d result:d",
        "sys note:8 task call:c result:c call:d result:d",
        "sys note:10 task call:d result:d",
    ];
    let mut target = size(&start) - 1;
    for expected in table {
        let after = run(1, &start, target);
        assert_eq!(shape(&after), expected);
        let least = size(&after);
        // Up to its very size the same is enough; a token less asks for one piece more.
        assert_eq!(run(1, &start, least), after);
        target = least - 1;
    }
    // Nothing is left to give: what can be given is given all the same.
    assert_eq!(shape(&run(1, &start, target)), table[3]);
    assert_eq!(shape(&run(2, &start, 1)), "sys note:8 task call:c result:c call:d result:d");
    assert_eq!(run(1, &start, size(&start)), start);
}

#[test]
fn one_request_with_many_steps_gives_up_the_oldest() {
    assert_eq!(
        all(
            2,
            "user task
             assistant call:a
             tool a wordx100
             assistant call:b call:c
             tool c wordx100
             tool b wordx100
             assistant call:d
             tool d ok
             assistant done"
        ),
        "task note:5 call:d result:d done"
    );
}

#[test]
fn the_note_says_how_many_went() {
    let after = run(1, &notation::conversation(TURNS), 1);
    let Some(Part::Text(text)) = after.messages()[1].parts().first() else { unreachable!() };
    assert_eq!(after.messages()[1].role(), Role::User);
    assert_eq!(
        Mark::split(text).unwrap(),
        (
            Mark { kind: MarkKind::Note, count: 10 },
            "10 earlier messages were removed to save room. Look up again what you need from there."
        )
    );
    assert!(note(1, None).contains("1 earlier message was removed"));
}

#[test]
fn the_note_says_how_the_first_is_had_back() {
    let host = TestHost::new().archiving();
    let start = notation::conversation(TURNS);
    let after = laws::check_strategy(&layer(1), &host, &start, 1).unwrap();
    let Some(Part::Text(text)) = after.messages()[1].parts().first() else { unreachable!() };
    assert_eq!(
        Mark::split(text).unwrap().1,
        "10 earlier messages were removed to save room. To have them back one by one, the first: `restore 1`"
    );
}

#[test]
fn what_stays_and_what_goes() {
    let table = [
        (
            "messages before the first user message are the oldest turn and are counted",
            "system sys
             assistant hello wordx100
             other record
             user task
             assistant done",
            "sys note:2 task done",
        ),
        (
            "an earlier note is folded into the new one",
            "note 7 gone
             user u1 wordx100
             assistant a1
             user task
             assistant done",
            "note:9 task done",
        ),
        (
            "notes wherever they are become one",
            "note 7 gone
             user u1 wordx100
             note 3 gone
             assistant a1
             user task
             note 5 gone
             assistant call:a
             tool a wordx100
             note 2 gone
             assistant done",
            "note:21 task done",
        ),
        (
            "a note of turns and steps of the task come together in one note",
            "note 7 gone
             user task
             assistant call:a
             tool a wordx100
             assistant done",
            "note:9 task done",
        ),
        (
            "a summary stays, and the note of what goes around it is one",
            "user u1 wordx100
             summary 30 gist
             assistant a1 wordx100
             user task
             summary 4 gist
             assistant call:a
             tool a wordx100
             assistant done",
            "note:4 summary:30 task summary:4 done",
        ),
        (
            "a step that answers no tool goes like one that does",
            "user task
             assistant a1 wordx100
             assistant a2
             assistant done",
            "task note:2 done",
        ),
        (
            "a turn that the newest step reaches into keeps its request",
            "user u0 wordx100
             assistant a0
             user u1
             assistant call:a
             tool a wordx100
             assistant done
             user task",
            "note:4 u1 done task",
        ),
        (
            "several messages of a user in a row stay together",
            "user first
             user task
             assistant call:a
             tool a wordx100
             assistant done",
            "first task note:2 done",
        ),
        (
            "records between the steps go with the steps, and stay without",
            "user task
             other r1
             assistant call:a
             tool a wordx100
             other r2
             assistant done
             other r3",
            "task note:4 done r3",
        ),
        (
            "a system message in the middle stays",
            "user u1 wordx100
             assistant a1
             system rule
             assistant a2
             user task
             assistant done",
            "note:3 rule task done",
        ),
        (
            "what a user said between a call and its result goes with the step",
            "user task
             assistant call:a
             user wait
             tool a wordx100
             user go
             assistant done",
            "note:4 go done",
        ),
        (
            "calls that wait for their results stay",
            "user task
             assistant call:a
             tool a wordx100
             assistant call:b call:c
             tool b wordx100",
            "task note:2 call:b result:b",
        ),
        (
            "signed reasoning goes with its step",
            "user task
             assistant signed:thought call:a
             tool a wordx100
             assistant done",
            "task note:2 done",
        ),
    ];
    for (claim, text, expected) in table {
        assert_eq!(all(1, text), expected, "{claim}");
    }
}

#[test]
fn nothing_to_give_is_no_plan() {
    for (claim, text) in [
        ("no message", ""),
        ("the task alone", "user task wordx900"),
        ("the newest steps", "user task\nassistant call:a\ntool a wordx900"),
        ("a note", "note 4 gone wordx900\nuser task\nassistant done"),
        ("notes", "note 4 gone\nuser task\nnote 4 gone\nassistant done"),
        ("a summary", "summary 4 gist wordx900\nuser task\nassistant done"),
        ("a note would be larger", "user hi\nassistant ok\nuser task\nassistant done"),
        ("a record without a step", "user task\nother exit wordx900"),
    ] {
        let start = notation::conversation(text);
        let plan = TestHost::new().plan(&layer(1), &start, 1).unwrap();
        assert!(plan.is_empty(), "{claim}: {plan:?}");
    }
}

#[test]
fn a_protected_step_stays_where_its_turn_goes() {
    let start = notation::conversation(
        "user u1 wordx100
         assistant call:t:todo call:a
         tool t plan
         tool a wordx100
         assistant a1
         user task
         assistant done",
    );
    let host = TestHost::new().keeping(&["todo"]);
    let after = laws::check_strategy(&layer(1), &host, &start, 1).unwrap();
    assert_eq!(shape(&after), "note:2 call:t result:t result:a task done");
}

#[test]
fn every_second_pass_folds_the_note_of_the_first() {
    let mut conversation = notation::conversation("system sys\nuser task");
    let mut pushed = 0;
    for _ in 0..40 {
        for _ in 0..3 {
            let text = format!("step{pushed} {}", "word ".repeat(80));
            conversation.push(Role::Assistant, [Part::text(text)]).unwrap();
            pushed += 1;
        }
        conversation = run(2, &conversation, 500);
        assert!(size(&conversation) <= 500);
        let marks: Vec<_> =
            conversation.messages().iter().filter_map(|message| message.mark()).collect();
        let stand = conversation.messages().iter().skip(2).filter(|one| one.mark().is_none());
        let stand = stand.count() as u64;
        assert!(marks.len() <= 1);
        assert_eq!(marks.iter().map(|mark| mark.count).sum::<u64>() + stand, pushed);
    }
}

#[test]
fn a_count_that_overflows_is_the_largest() {
    let note = Mark { kind: MarkKind::Note, count: u64::MAX }.write("gone");
    let mut conversation =
        Conversation::new([Message::new(MessageId(0), Role::User, [Part::text(note)])]).unwrap();
    for (role, text) in [
        (Role::User, "word ".repeat(100)),
        (Role::Assistant, "ok".into()),
        (Role::User, "task".into()),
        (Role::Assistant, "done".into()),
    ] {
        conversation.push(role, [Part::text(text)]).unwrap();
    }
    let after = run(1, &conversation, 1);
    assert_eq!(shape(&after), format!("note:{} task done", u64::MAX));
}

#[test]
fn options_are_checked() {
    let error = SlidingWindow::build(Options { keep_steps: 0 }).unwrap_err();
    assert_eq!(error.option, "keep-steps");
    assert_eq!(
        error.to_string(),
        "`keep-steps` is 0, and must be at least 1 step, which the model has not acted on yet"
    );
    let read = serde_json::from_str::<Options>;
    assert_eq!(read("{}").unwrap(), Options { keep_steps: 2 });
    assert_eq!(read(r#"{"keep-steps":5}"#).unwrap(), Options { keep_steps: 5 });
    assert!(read(r#"{"keep_steps":5}"#).is_err());
    let schema = schemars::schema_for!(Options);
    let keep_steps = &schema.get("properties").unwrap()["keep-steps"];
    assert!(keep_steps["description"].is_string());
    assert_eq!((&keep_steps["default"], &keep_steps["minimum"]), (&2.into(), &1.into()));
}

/// How many notes there are, how many messages they stand for, and how many other messages there are.
fn tally(conversation: &Conversation) -> (usize, u64, u64) {
    let mut tally = (0, 0, 0);
    for message in conversation.messages() {
        match message.mark() {
            Some(Mark { kind: MarkKind::Note, count }) => {
                tally.0 += 1;
                tally.1 += count;
            }
            _ => tally.2 += 1,
        }
    }
    tally
}

/// Messages of turns that are over that nothing but the target keeps, read as plainly as the rules are said.
fn may_go(conversation: &Conversation, outline: &Outline, index: usize) -> bool {
    let held = |index: usize| {
        let message = &conversation.messages()[index];
        let is_summary = message.mark().is_some_and(|mark| mark.kind == MarkKind::Summary);
        message.role() == Role::System || is_summary || outline.task == Some(index)
    };
    let is_note = conversation.messages()[index].mark().is_some();
    match outline.steps.iter().find(|step| step.span.contains(&index)) {
        Some(step) => !step.span.clone().any(held),
        None => !held(index) && !is_note,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn the_laws_hold(
        conversation in generate::conversation(24),
        keep_steps in 1u32..5,
        share in 0u64..12,
        keeping in any::<bool>(),
    ) {
        let layer = layer(keep_steps);
        let host = TestHost::new().keeping(if keeping { &["tool_0"] } else { &[] });
        let run = |target| laws::check_strategy(&layer, &host, &conversation, target)
            .map_err(TestCaseError::fail);
        let used = size(&conversation);
        let target = (used * share / 10).max(1);
        let after = run(target)?;
        let again = laws::check_strategy(&layer, &host, &after, target)
            .map_err(TestCaseError::fail)?;
        prop_assert_eq!(&again, &after, "a second run changes nothing");

        // Summaries, the task, the instructions and the newest steps stay.
        let outline = conversation.outline();
        let kept = outline.newest_steps(keep_steps as usize, false);
        for (index, message) in conversation.messages().iter().enumerate() {
            let is_summary = message.mark().is_some_and(|mark| mark.kind == MarkKind::Summary);
            let stays = index >= kept || is_summary || outline.task == Some(index);
            prop_assert!(!stays || after.messages().contains(message), "{:?} went", message);
        }

        // Nothing goes uncounted, and at most one note more is there than was.
        let (before, now) = (tally(&conversation), tally(&after));
        prop_assert_eq!(now.1 + now.2, before.1 + before.2);
        prop_assert!(now.0 <= before.0 + 1);

        // Of all sizes that can be had, from the whole to the smallest, the largest that is enough.
        let mut sizes = vec![used];
        loop {
            let last = sizes[sizes.len() - 1];
            let next = if last > 1 { size(&run(last - 1)?) } else { last };
            if next == last {
                break;
            }
            sizes.push(next);
        }
        let enough = sizes.iter().copied().find(|size| *size <= target);
        prop_assert_eq!(Some(size(&after)), enough.or(sizes.last().copied()), "{:?}", sizes);
    }

    #[test]
    fn turns_go_whole_and_oldest_first(
        conversation in generate::conversation(24),
        share in 1u64..10,
    ) {
        let target = (size(&conversation) * share / 10).max(1);
        let plan = TestHost::new().plan(&layer(1), &conversation, target).unwrap();
        let dropped: Vec<usize> = plan.edits.iter().flat_map(|edit| match edit {
            Edit::Drop { span } | Edit::Replace { span, .. } => span.clone(),
            other => unreachable!("{other:?}"),
        }).collect();
        let is_dropped = |index: &usize| dropped.binary_search(index).is_ok();
        let outline = conversation.outline();
        let kept = outline.newest_steps(1, false);
        let mut whole = true;
        for turn in outline.history().iter().filter(|turn| turn.span.end <= kept) {
            let free = turn.span.clone().filter(|index| may_go(&conversation, &outline, *index));
            let (gone, left): (Vec<_>, Vec<_>) = free.partition(is_dropped);
            prop_assert!(gone.is_empty() || left.is_empty(), "a turn is split");
            prop_assert!(gone.is_empty() || whole, "a newer turn went before an older one");
            whole &= left.is_empty();
        }
        let current = outline.current().map_or(0, |turn| turn.span.start);
        for step in &outline.steps {
            let gone = step.span.clone().filter(is_dropped).count();
            prop_assert!(gone == 0 || gone == step.span.len(), "a step is split");
            let in_task = step.span.start >= current;
            prop_assert!(gone == 0 || !in_task || whole, "a step of the task went before a turn");
        }
    }
}
