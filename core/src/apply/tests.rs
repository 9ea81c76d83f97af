//! What a plan may do, and what it may not.

use proptest::prelude::*;

use super::*;
use crate::testing::{TestHost, generate, laws, notation};

fn apply(conversation: &str, plan: Plan) -> Result<Applied, Refusal> {
    let host = TestHost::new().keeping(&["todo"]);
    host.apply(&notation::conversation(conversation), &plan)
}

fn drop(span: Range<usize>) -> Edit {
    Edit::Drop { span }
}

fn rewrite(message: usize, part: usize, text: &str) -> Edit {
    Edit::Rewrite { message, part, text: text.into() }
}

const WORK: &str = "system s
    user u1
    assistant signed:aaaaaaaa call:x call:t:todo thinkingx50
    tool x wordsx50
    tool t
    user u2
    assistant signed:bbbbbbbb call:y call:z
    tool z wordsx50
    tool y wordsx50
    assistant donex50";

#[test]
fn each_kind_of_bad_plan_is_refused_whole() {
    let placeholder = "p".to_owned();
    let note = |role| Edit::Replace { span: 1..2, role, text: placeholder.clone() };
    let cases: Vec<(&str, Vec<Edit>, &str)> = vec![
        ("empty span", vec![drop(3..3)], "3..3"),
        ("past the end", vec![drop(9..11)], "only 10"),
        ("rewrite past the end", vec![rewrite(10, 0, "")], "only 10"),
        ("no such part", vec![rewrite(3, 1, "")], "no such part"),
        ("same span twice", vec![drop(9..10), drop(9..10)], "two edits"),
        ("spans overlap", vec![drop(6..9), drop(8..10)], "two edits"),
        ("part in a span", vec![drop(6..9), rewrite(7, 0, "")], "two edits"),
        ("same part twice", vec![rewrite(7, 0, ""), rewrite(7, 0, "p")], "two edits"),
        ("instructions", vec![rewrite(0, 0, "")], "protected"),
        ("task", vec![drop(5..6)], "protected"),
        ("protected tool", vec![drop(2..5)], "protected"),
        ("call without result", vec![drop(7..8)], "has no result"),
        ("result without call", vec![drop(6..7)], "answers no call"),
        ("half a batch", vec![Edit::Remove { message: 6, part: 1 }], "go with their step"),
        ("signed rewrite", vec![rewrite(6, 0, "")], "signed reasoning"),
        ("signed removal", vec![Edit::Remove { message: 6, part: 0 }], "signed reasoning"),
        ("broken arguments", vec![rewrite(6, 1, "{")], "must be JSON"),
        ("system note", vec![note(Role::System)], "role system"),
        ("tool note", vec![note(Role::Tool)], "role tool"),
        ("grows", vec![rewrite(9, 0, &"p".repeat(999))], "not become smaller"),
        ("same size", vec![rewrite(7, 0, &"words ".repeat(50))], "not become smaller"),
    ];
    for (name, edits, reason) in cases {
        let refusal = apply(WORK, Plan::of(edits)).expect_err(name).to_string();
        assert!(refusal.contains(reason), "{name}: {refusal}");
    }
    let refusal = apply("user a\nassistant b\nuser c", Plan::of(vec![drop(0..1)]));
    assert_eq!(refusal.unwrap_err(), Refusal::BeginsWithAssistant);
}

#[test]
fn a_plan_is_applied_in_place() {
    let plan = Plan::of(vec![
        rewrite(8, 0, "short"),
        Edit::Replace { span: 1..2, role: Role::User, text: String::new() },
        drop(9..10),
    ]);
    let before = notation::conversation(&WORK.replace("user u1", "user u1x50"));
    let applied = TestHost::new().apply(&before, &plan).unwrap();
    let after = applied.conversation.messages();
    assert_eq!(after.len(), 9);
    assert_eq!(after[1].mark(), Some(Mark { kind: MarkKind::Note, count: 1 }));
    assert!(after[1].id() > before.messages()[9].id());
    assert!(Arc::ptr_eq(&after[2], &before.messages()[2]));
    assert_eq!(after[8].id(), before.messages()[8].id());
    assert_eq!(after[8].result().unwrap().1.text, "short");
    assert_eq!(applied.removed.len(), 3);
    assert_eq!(applied.added.len(), 2);
}

#[test]
fn signed_reasoning_of_a_turn_that_is_over_may_go_whole() {
    let two = "user a\nassistant signed:one signed:two sayx9\nuser b";
    let remove = |part| Edit::Remove { message: 1, part };
    assert!(apply(two, Plan::of(vec![remove(0)])).is_err());
    assert!(apply(two, Plan::of(vec![remove(0), remove(1)])).is_ok());
    assert!(apply(two, Plan::of(vec![remove(2)])).is_err());
}

fn edit() -> impl proptest::strategy::Strategy<Value = Edit> {
    let at = 0usize..24;
    let text = prop_oneof![Just(String::new()), Just("{}".to_owned()), ".{0,30}"];
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant), Just(Role::System)];
    prop_oneof![
        (at.clone(), 0usize..6).prop_map(|(start, len)| drop(start..start + len)),
        (at.clone(), 0usize..6, role, text.clone()).prop_map(|(start, len, role, text)| {
            Edit::Replace { span: start..start + len, role, text }
        }),
        (at.clone(), 0usize..3, text).prop_map(|(message, part, text)| Edit::Rewrite {
            message,
            part,
            text
        }),
        (at, 0usize..3).prop_map(|(message, part)| Edit::Remove { message, part }),
    ]
}

proptest! {
    #[test]
    fn whatever_the_plan_the_conversation_stays_whole(
        conversation in generate::conversation(12),
        edits in prop::collection::vec(edit(), 0..5),
    ) {
        let host = TestHost::new().keeping(&["tool_1"]);
        if let Ok(applied) = host.apply(&conversation, &Plan::of(edits)) {
            let protection = host.protection(&conversation);
            let checked = laws::check_step(&conversation, &applied.conversation, &protection);
            prop_assert_eq!(checked, Ok(()));
            let outline = Outline::of(applied.conversation.messages()).unwrap();
            prop_assert_eq!(&outline, &*applied.outline);
        }
    }
}
