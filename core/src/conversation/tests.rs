//! What a conversation takes, and what it refuses.

use super::*;
use crate::{Approximate, ToolCall, ToolResult};

fn text(words: &str) -> Vec<Part> {
    vec![Part::text(words)]
}

fn call(id: &str) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: "read".into(), arguments: "{}".into() })
}

fn result(id: &str) -> Vec<Part> {
    vec![Part::ToolResult(ToolResult {
        call: id.into(),
        text: "ok".into(),
        media: Box::default(),
        is_error: false,
    })]
}

#[test]
fn pushing_judges_like_a_whole_list() {
    let mut conversation = Conversation::default();
    assert!(conversation.push(Role::Tool, result("a")).is_err());
    conversation.push(Role::User, text("go")).unwrap();
    conversation.push(Role::Assistant, [call("a"), call("b")]).unwrap();
    assert!(conversation.push(Role::Assistant, text("and?")).is_err());
    conversation.push(Role::Tool, result("b")).unwrap();
    assert!(conversation.push(Role::Tool, result("b")).is_err());
    conversation.push(Role::Tool, result("a")).unwrap();
    conversation.push(Role::Assistant, text("done")).unwrap();
    assert!(conversation.push(Role::Assistant, [call("c"), call("c")]).is_err());
    assert!(conversation.push(Role::User, [call("c")]).is_err());
    assert_eq!(conversation.len(), 5);
    assert!(Outline::of(conversation.messages()).is_ok());
}

#[test]
fn what_is_refused_leaves_no_trace() {
    let mut conversation = Conversation::default();
    conversation.push(Role::User, text("go")).unwrap();
    conversation.push(Role::Assistant, [call("a")]).unwrap();
    let beside_text = [result("a"), text("and")].concat();
    assert!(conversation.push(Role::Tool, beside_text).is_err());
    conversation.push(Role::Tool, result("a")).expect("the call is still open");
}

#[test]
fn what_is_not_accepted_is_not_appended() {
    #[derive(Debug, PartialEq)]
    enum No {
        Fit,
        Room(MessageId),
    }
    impl From<InvalidConversation> for No {
        fn from(_: InvalidConversation) -> Self {
            Self::Fit
        }
    }
    let mut conversation = Conversation::default().with_next_id(MessageId(7));
    conversation.push(Role::User, text("go")).unwrap();
    let before = conversation.clone();
    let full = |message: &Message| Err(No::Room(message.id()));
    assert_eq!(conversation.push_if(Role::User, text("on"), full), Err(No::Room(MessageId(8))));
    let unasked = |_: &Message| -> Result<(), No> { unreachable!("it does not fit") };
    assert_eq!(conversation.push_if(Role::Tool, result("x"), unasked), Err(No::Fit));
    assert_eq!((&conversation, conversation.next_id()), (&before, MessageId(8)));
    let pushed = conversation.push_if(Role::User, text("on"), |_| Ok::<(), No>(()));
    assert_eq!(pushed, Ok(MessageId(8)));
    // Ids are left out, never given again.
    assert_eq!(conversation.with_next_id(MessageId(3)).next_id(), MessageId(9));
}

#[test]
fn ids_differ_and_do_not_end() {
    const LAST: u64 = u64::MAX;
    let new = |ids: &[u64]| {
        let messages = ids.iter().map(|id| Message::new(MessageId(*id), Role::User, text("go")));
        Conversation::new(messages).map_err(|invalid| invalid.violations)
    };
    let repeated = |message, id| Violation::RepeatedId { message, id: MessageId(id) };
    let none_left = |message| Violation::NoIdLeft { message };
    for (ids, violations) in [
        (&[][..], vec![]),
        (&[7], vec![]),
        (&[3, 1, 2], vec![]),
        (&[LAST - 1], vec![]),
        (&[1, 1], vec![repeated(1, 1)]),
        (&[1, 2, 1, 1], vec![repeated(2, 1), repeated(3, 1)]),
        (&[LAST], vec![none_left(0)]),
        (&[0, LAST, LAST], vec![none_left(1), repeated(2, LAST)]),
    ] {
        assert_eq!(new(ids).err().unwrap_or_default(), violations, "{ids:?}");
    }
    assert_eq!(new(&[3, 1, 2]).unwrap().next_id(), MessageId(4));
    let mut last = new(&[LAST - 1]).unwrap();
    let refused = last.push(Role::User, text("go")).unwrap_err();
    assert_eq!(refused.violations, [none_left(1)]);
    assert_eq!(last, new(&[LAST - 1]).unwrap());
}

#[test]
fn a_shared_generation_does_not_see_what_is_appended() {
    let mut conversation = Conversation::default();
    conversation.push(Role::User, text("go")).unwrap();
    let before = conversation.clone();
    conversation.push(Role::Assistant, text("done")).unwrap();
    assert_eq!((before.len(), conversation.len()), (1, 2));
    assert!(Arc::ptr_eq(&before.messages()[0], &conversation.messages()[0]));
}

#[test]
fn what_came_meanwhile_stands_behind_what_was_made() {
    let mut now = Conversation::default();
    now.push(Role::User, text("go")).unwrap();
    now.push(Role::Assistant, [call("a")]).unwrap();
    let base = now.clone();
    let mut made = base.fork();
    made.push(Role::Tool, result("a")).unwrap();
    assert!(made.messages()[2].id() > MessageId(1 << 32));
    assert_eq!(made.clone().rebased(&base, &now).as_ref(), Some(&made));
    now.push(Role::Tool, result("a")).unwrap();
    assert_eq!(made.rebased(&base, &now), None, "the call was answered twice");
    let rebased = base.fork().rebased(&base, &now).unwrap();
    assert_eq!(rebased, now);
    assert!(rebased.next_id() >= now.next_id());
    let other = Conversation::new([Message::new(MessageId(0), Role::User, text("go"))]);
    assert_eq!(base.fork().rebased(&base, &other.unwrap()), None);
}

#[test]
fn what_was_counted_is_recalled_as_far_as_the_words_are_the_same() {
    let read = |first: u64, words: &[&str]| {
        let message =
            |(id, words): (u64, &&str)| Message::new(MessageId(id), Role::User, text(words));
        Conversation::new((first..).zip(words).map(message)).unwrap()
    };
    let mut earlier = read(0, &["one", "two", "three"]);
    earlier.measure(&Approximate);
    for (first, words, same) in [
        (0, &["one", "two", "three", "four"][..], 3),
        (7, &["one", "two", "four"], 2),
        (0, &["none"], 0),
        (0, &[], 0),
    ] {
        let fresh = read(first, words);
        let (recalled, found) = fresh.clone().recalling(&earlier);
        assert_eq!((&recalled, found), (&fresh, same));
        let counted = recalled.messages().iter().map(|one| one.is_counted(&Approximate));
        assert!(counted.eq((0..words.len()).map(|index| index < same)));
    }
}

#[test]
fn bounds_and_counts_agree_on_what_exceeds() {
    let mut conversation = Conversation::default();
    for words in ["go", "a much longer message than that", "", "четыре"] {
        conversation.push(Role::User, text(words)).unwrap();
        let size = conversation.clone().measure(&Approximate);
        for limit in [0, size - 1, size, size + 1, 10 * size] {
            assert_eq!(conversation.clone().exceeds(limit, &Approximate), size > limit, "{limit}");
            assert_eq!(conversation.exceeds(limit, &Approximate), size > limit, "{limit}");
        }
    }
}
