//! What a plan may do, and what it may not.

use proptest::prelude::*;

use super::*;
use crate::Approximate;
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
        ("arguments of another kind", vec![rewrite(6, 1, "[1]")], "must stay one"),
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
fn nothing_is_made_blank_but_a_result() {
    let start = "user u image more
        assistant think:aaaaaaaa call:x:read sayx9
        tool x wordsx50
        assistant think:bbbbbbbb sayx9
        other exitx9
        user u2";
    let remove = |message, part| Edit::Remove { message, part };
    let cases: [(&str, Vec<Edit>, Option<&str>); 13] = [
        ("text", vec![rewrite(3, 1, "")], Some("remove the part instead")),
        ("image", vec![rewrite(0, 1, " ")], Some("remove the part instead")),
        ("text beside an image", vec![rewrite(0, 0, "\n")], Some("remove the part instead")),
        ("text beside a call", vec![rewrite(1, 1, "\t \u{a0}")], Some("remove the part instead")),
        ("record", vec![rewrite(4, 0, "")], Some("remove the part instead")),
        ("all but reasoning", vec![remove(3, 1)], Some("drop it instead")),
        ("all", vec![remove(0, 0), remove(0, 1)], Some("drop it instead")),
        ("result", vec![rewrite(2, 0, "")], None),
        ("blank result", vec![rewrite(2, 0, " \n")], None),
        ("arguments", vec![rewrite(1, 2, "")], Some("must be JSON")),
        ("reasoning beside text", vec![remove(3, 0)], None),
        ("text beside a call", vec![remove(1, 1)], None),
        ("image beside text", vec![remove(0, 1)], None),
    ];
    for (name, edits, reason) in cases {
        match (apply(start, Plan::of(edits)), reason) {
            (Ok(_), None) => {}
            (Err(refusal), Some(reason)) => {
                assert!(refusal.to_string().contains(reason), "{name}: {refusal}");
            }
            (done, _) => panic!("{name}: {done:?}"),
        }
    }
}

#[test]
fn a_message_that_says_something_does_not_end_up_blank() {
    let of = |parts: Vec<Part>| {
        let message = |id, parts: Vec<Part>| Message::new(MessageId(id), Role::User, parts);
        let task = message(1, vec![Part::text("task")]);
        Conversation::new([message(0, parts), task]).unwrap()
    };
    let text = |text: &str| Part::text(text);
    let image = || Part::Media(crate::Media { kind: "image/png".into(), tokens: 9, bytes: 0 });
    let remove = |part| Plan::of(vec![Edit::Remove { message: 0, part }]);
    let apply = |parts, plan| TestHost::new().apply(&of(parts), &plan);
    let refusal = |parts| apply(parts, remove(0)).unwrap_err().to_string();
    assert!(refusal(vec![image(), text("")]).contains("nothing but blank text"));
    assert!(refusal(vec![text("say"), text(" \n"), text("")]).contains("nothing but blank text"));
    // What came blank is not this plan's doing.
    assert!(apply(vec![text("     "), text(" ")], remove(0)).is_ok());
    assert!(apply(vec![text("say"), text(" "), text("more")], remove(0)).is_ok());
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
    assert_eq!(after[8].result().unwrap().1.text, "short".into());
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

#[test]
fn another_conversations_outline_is_refused() {
    let conversation = notation::conversation(WORK);
    let protection = TestHost::new().protection(&conversation);
    for other in
        ["", "user a", &format!("{WORK}\nuser call?"), &format!("{WORK}\nassistant call:a")]
    {
        let outline = Arc::new(notation::conversation(other).outline());
        for edit in [rewrite(3, 0, "short"), drop(9..10)] {
            let refusal =
                conversation.apply(Plan::of(vec![edit]), &outline, &protection, &Approximate);
            let outline = outline.len;
            assert_eq!(refusal.unwrap_err(), Refusal::OtherOutline { outline, len: 10 }, "{other}");
        }
    }
}

#[test]
fn no_message_comes_when_no_id_is_left() {
    let text = || [Part::text("word ".repeat(90))];
    let ids = [0, 1, u64::MAX - 1];
    let messages = ids.map(|id| Message::new(MessageId(id), Role::User, text()));
    let conversation = Conversation::new(messages).unwrap();
    let note = Edit::Replace { span: 0..1, role: Role::User, text: "gone".into() };
    let refusal = TestHost::new().apply(&conversation, &Plan::of(vec![note])).unwrap_err();
    let violation = Violation::NoIdLeft { message: 0 };
    assert_eq!(refusal, Refusal::Invalid { violation });
    assert!(TestHost::new().apply(&conversation, &Plan::of(vec![drop(0..1)])).is_ok());
}

#[test]
fn thousands_of_edits_of_one_message_each_find_their_part() {
    const PARTS: usize = 60_000;
    let parts: Vec<Part> = (0..PARTS)
        .map(|part| match part % 3 {
            0 => {
                Part::Reasoning(crate::Reasoning { text: "thought".into(), signed: part % 2 == 0 })
            }
            _ => Part::text(format!("many words that say {part}")),
        })
        .collect();
    let conversation = Conversation::new([
        Message::new(MessageId(0), Role::Assistant, parts),
        Message::new(MessageId(1), Role::User, [Part::text("task")]),
    ])
    .unwrap();
    let edits = (0..PARTS).rev().filter_map(|part| match part % 3 {
        0 => Some(Edit::Remove { message: 0, part }),
        1 => Some(rewrite(0, part, &format!("says {part}"))),
        _ => None,
    });
    let applied = TestHost::new().apply(&conversation, &Plan::of(edits.collect())).unwrap();
    let after = applied.conversation.messages()[0].parts();
    let expected: Vec<Part> = (0..PARTS)
        .filter(|part| part % 3 != 0)
        .map(|part| match part % 3 {
            1 => Part::text(format!("says {part}")),
            _ => Part::text(format!("many words that say {part}")),
        })
        .collect();
    assert!(after == expected);
    assert!(!applied.keeps_shape);
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
        mut conversation in generate::conversation(12),
        edits in prop::collection::vec(edit(), 0..5),
    ) {
        let host = TestHost::new().keeping(&["tool_1"]);
        // Known before, so that what is handed on is what was kept of it.
        conversation.wire_bytes();
        if let Ok(applied) = host.apply(&conversation, &Plan::of(edits)) {
            let protection = host.protection(&conversation);
            let checked = laws::check_step(&conversation, &applied.conversation, &protection);
            prop_assert_eq!(checked, Ok(()));
            let outline = Outline::of(applied.conversation.messages()).unwrap();
            prop_assert_eq!(&outline, &*applied.outline);
            let figure = applied.conversation.clone().measure(&Approximate);
            prop_assert_eq!(figure, laws::recount(&applied.conversation, &Approximate));
            let fresh = applied.conversation.messages().iter().map(|message| message.wire_bytes());
            prop_assert_eq!(applied.conversation.clone().wire_bytes(), fresh.sum::<u64>());
            if applied.keeps_shape {
                prop_assert_eq!(host.protection(&applied.conversation), protection);
                prop_assert_eq!(outline, conversation.outline());
            }
        }
    }
}
