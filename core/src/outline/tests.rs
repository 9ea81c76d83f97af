//! Turns, steps, pairs, and what is wrong with messages that do not fit together.

use super::*;
use crate::testing::notation;

fn outline(text: &str) -> Outline {
    Outline::of(&notation::messages(text)).unwrap()
}

fn violations(text: &str) -> Vec<String> {
    let found = Outline::of(&notation::messages(text)).unwrap_err();
    found.iter().map(|found| format!("{}: {found}", found.message())).collect()
}

#[test]
fn turns_steps_and_the_task() {
    let outline = outline(
        "system s
             user u1
             assistant a1
             user u2
             assistant call:x call:y
             tool x
             tool y
             assistant done
             user u3",
    );
    assert_eq!(outline.instructions, 0..1);
    let turns: Vec<_> = outline.turns.iter().map(|turn| (turn.span.clone(), turn.user)).collect();
    assert_eq!(turns, [(1..3, Some(1)), (3..8, Some(3)), (8..9, Some(8))]);
    let steps: Vec<_> = outline.steps.iter().map(|step| (step.span.clone(), step.calls)).collect();
    assert_eq!(steps, [(2..3, 0), (4..7, 2), (7..8, 0)]);
    assert_eq!(outline.task, Some(8));
    assert_eq!(outline.history().len(), 2);
    assert_eq!(outline.newest_steps(1, true), 4);
    assert_eq!(outline.newest_steps(1, false), 7);
    assert_eq!(outline.newest_steps(0, false), 9);
    assert_eq!(outline.newest_steps(9, false), 2);
}

#[test]
fn an_id_means_the_nearest_open_call_before_it() {
    let outline = outline(
        "user go
             assistant call:x
             tool x
             assistant call:x
             tool x",
    );
    let call = |message| Place { message, part: 0 };
    assert_eq!(outline.call_of(2), Some(call(1)));
    assert_eq!(outline.call_of(4), Some(call(3)));
    assert_eq!(outline.result_of(call(1)), Some(call(2)));
}

#[test]
fn what_stands_between_a_call_and_its_result_belongs_to_the_step() {
    let outline = outline(
        "user go
             assistant call:x
             assistant call:y
             user wait
             tool x
             tool y
             assistant done",
    );
    let steps: Vec<_> = outline.steps.iter().map(|step| step.span.clone()).collect();
    assert_eq!(steps, [1..6, 6..7]);
    assert_eq!(outline.turns.len(), 1);
    assert_eq!(outline.task, Some(3));
}

#[test]
fn messages_before_the_first_user_message_are_a_turn_without_one() {
    let outline = outline(
        "system s
assistant hello
user go
user on",
    );
    let turns: Vec<_> = outline.turns.iter().map(|turn| (turn.span.clone(), turn.user)).collect();
    assert_eq!(turns, [(1..2, None), (2..4, Some(2))]);
    assert_eq!(outline.task, Some(3));
}

#[test]
fn calls_at_the_end_are_pending() {
    let outline = outline(
        "user go
assistant call:x call:y
tool x
other exit",
    );
    assert_eq!(outline.pending, [Place { message: 1, part: 1 }]);
    assert_eq!(outline.steps[0].span, 1..4);
}

#[test]
fn many_open_calls_are_paired_like_few() {
    let ids = || (0..100).map(|id| format!("c{id}"));
    let calls: String = ids().map(|id| format!(" call:{id}")).collect();
    let results: String = ids().rev().map(|id| format!("\ntool {id}")).collect();
    let outline = outline(&format!("user go\nassistant{calls}{results}"));
    for part in 0..100 {
        assert_eq!(outline.call_of(101 - part), Some(Place { message: 1, part }));
    }
    assert_eq!(violations(&format!("user go\nassistant call:c0{calls}{results}")).len(), 1);
}

#[test]
fn every_violation_is_told() {
    assert_eq!(
        violations(
            "tool z
user go
assistant call:x call:x
tool x
user on
user call:y"
        ),
        [
            "0: the tool result for `z` answers no call before it",
            "2: two tool calls in one message have the id `x`",
            "2: the tool call `x` has no result",
            "5: a message of role user holds a tool call",
        ]
    );
}
