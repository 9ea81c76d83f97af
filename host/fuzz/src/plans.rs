//! Any messages, and plans that no layer would make: what is not refused keeps the laws.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use brute_core::testing::{TestHost, laws};
use brute_core::{
    Applied, Approximate, Configure, Conversation, Edit, Mark, MarkKind, Media, Message, MessageId,
    Opaque, Outline, Part, Plan, Reasoning, Role, Strategy, ToolCall, ToolResult,
};
use brute_sliding_window::SlidingWindow;
use brute_summarize::Summarize;
use brute_tool_results::ToolResults;

use super::told;

/// The most messages, and the most edits of a plan: what is wrong with many is wrong with few.
const MOST: usize = 24;

/// Messages fit together or it is told why; a plan is made whole, by the laws, or told why not; the layers that ship
/// keep the laws on whatever comes of that.
pub fn check(bytes: &[u8]) {
    // Running out of choices ends it.
    let _ = run(&mut Unstructured::new(bytes));
}

fn run(choices: &mut Unstructured<'_>) -> Result<()> {
    let messages = messages(choices)?;
    let arcs: Vec<_> = messages.iter().cloned().map(Arc::new).collect();
    let mut now = match Conversation::new(messages) {
        Ok(conversation) => conversation,
        Err(error) => {
            told(&error);
            assert!(error.violations.iter().all(|found| found.message() < arcs.len()));
            return Ok(());
        }
    };
    assert!(Outline::of(&arcs).is_ok());
    let keep: &[&str] = if choices.arbitrary()? { &["tool_1"] } else { &[] };
    let host = TestHost::saying("In short.").keeping(keep);
    layers(&host, &now, choices.int_in_range(0..=110)?);
    while !choices.is_empty() {
        if choices.arbitrary()? {
            pushed(&mut now, choices)?;
            continue;
        }
        let plan = Plan::of(edits(choices, now.len())?);
        let base = now.clone();
        match host.apply(&base.fork(), &plan) {
            Err(refusal) => told(&refusal),
            Ok(applied) => {
                made(&host, &base, &plan, &applied);
                for _ in 0..choices.int_in_range(0..=2)? {
                    pushed(&mut now, choices)?;
                }
                if let Some(rebased) = applied.conversation.rebased(&base, &now) {
                    now = rebased;
                }
                assert!(Outline::of(now.messages()).is_ok());
                assert_eq!(now.measure(&Approximate), laws::recount(&now, &Approximate));
            }
        }
    }
    layers(&host, &now, 30);
    Ok(())
}

/// What a plan made is what it was to make, and nothing went without being told.
fn made(host: &TestHost, before: &Conversation, plan: &Plan, applied: &Applied) {
    let after = &applied.conversation;
    let protection = host.protection(before);
    assert_eq!(laws::check_step(before, after, &protection), Ok(()), "{plan:?} on {before:?}");
    assert_eq!(*applied.outline, after.outline());
    if applied.keeps_shape {
        assert_eq!(host.protection(after), protection);
    }
    // By what they are: an edit may leave a message that says the same.
    let is_in = |message: &Arc<Message>, list: &[Arc<Message>]| {
        list.iter().any(|other| Arc::ptr_eq(message, other))
    };
    for message in before.messages() {
        let stands = is_in(message, after.messages());
        assert!(stands != is_in(message, &applied.removed), "{message:?}");
    }
    for message in after.messages() {
        let was_there = is_in(message, before.messages());
        assert!(was_there != is_in(message, &applied.added), "{message:?}");
    }
    assert!(after.messages().iter().all(|message| message.id() < after.next_id()));
}

/// The layers that ship, with a target of so many percent.
fn layers(host: &TestHost, conversation: &Conversation, share: u64) {
    let target = conversation.clone().measure(&Approximate) * share / 100;
    let layers: [Box<dyn Strategy>; 3] = [
        Box::new(ToolResults::default()),
        Box::new(SlidingWindow::default()),
        Box::new(Summarize::build(Default::default()).expect("the defaults are options")),
    ];
    for layer in layers {
        let after = laws::check_strategy(&*layer, host, conversation, target);
        if let Err(law) = after {
            panic!("{law}, with a target of {target} on {conversation:?}");
        }
    }
}

fn pushed(now: &mut Conversation, choices: &mut Unstructured<'_>) -> Result<()> {
    let (role, parts) = said(choices)?;
    let before = now.clone();
    match now.push(role, parts) {
        Ok(id) => {
            assert_eq!(now.messages().last().map(|message| message.id()), Some(id));
            assert!(Outline::of(now.messages()).is_ok(), "{now:?}");
        }
        Err(error) => {
            told(&error);
            assert_eq!(*now, before);
        }
    }
    Ok(())
}

fn messages(choices: &mut Unstructured<'_>) -> Result<Vec<Message>> {
    let mut messages = Vec::new();
    let step: u64 = if choices.ratio(1, 16)? { 1 << 62 } else { 1 };
    for number in 0..choices.int_in_range(0..=MOST)? {
        let (role, parts) = said(choices)?;
        messages.push(Message::new(MessageId((number as u64).wrapping_mul(step)), role, parts));
    }
    Ok(messages)
}

fn said(choices: &mut Unstructured<'_>) -> Result<(Role, Vec<Part>)> {
    const ROLES: [Role; 5] = [Role::User, Role::Assistant, Role::Tool, Role::System, Role::Other];
    let role = *choices.choose(&ROLES)?;
    // Any part in any place is seldom valid.
    let is_usual = choices.ratio(7, 8)?;
    let mut parts = Vec::new();
    for _ in 0..choices.int_in_range(0..=3)? {
        let kind = match (is_usual, role) {
            (false, _) => choices.int_in_range(0..=5)?,
            (true, Role::Tool) => 4,
            (true, Role::Assistant) => *choices.choose(&[0, 1, 3, 3, 5])?,
            (true, _) => *choices.choose(&[0, 0, 2])?,
        };
        parts.push(part(choices, kind)?);
        if is_usual && role == Role::Tool {
            break;
        }
    }
    Ok((role, parts))
}

fn part(choices: &mut Unstructured<'_>, kind: u8) -> Result<Part> {
    const IDS: [&str; 4] = ["a", "b", "c", ""];
    Ok(match kind {
        0 => Part::text(text(choices)?),
        1 => {
            Part::Reasoning(Reasoning { text: text(choices)?.into(), signed: choices.arbitrary()? })
        }
        2 => Part::Media(media(choices)?),
        3 => Part::ToolCall(ToolCall {
            id: (*choices.choose(&IDS)?).into(),
            name: format!("tool_{}", choices.int_in_range(0..=2)?).into(),
            arguments: text(choices)?.into(),
        }),
        4 => Part::ToolResult(ToolResult {
            call: (*choices.choose(&IDS)?).into(),
            text: text(choices)?.into(),
            media: if choices.ratio(1, 8)? { vec![media(choices)?].into() } else { Box::default() },
            is_error: choices.arbitrary()?,
        }),
        _ => Part::Opaque(Opaque { kind: "compaction".into(), text: text(choices)?.into() }),
    })
}

fn media(choices: &mut Unstructured<'_>) -> Result<Media> {
    let tokens = *choices.choose(&[0, 1000, u32::MAX])?;
    let bytes = *choices.choose(&[0, 200_000, u64::MAX])?;
    Ok(Media { kind: "image/png".into(), tokens, bytes })
}

fn text(choices: &mut Unstructured<'_>) -> Result<String> {
    Ok(match choices.int_in_range(0..=7)? {
        0 => String::new(),
        1 => " \n".to_owned(),
        2 => "{\"path\": \"a.txt\"}".to_owned(),
        3 => "word ".repeat(choices.int_in_range(1..=2000)?),
        4 => {
            let kind = if choices.arbitrary()? { MarkKind::Note } else { MarkKind::Summary };
            let count = choices.arbitrary()?;
            Mark { kind, count }.write(&"said ".repeat(choices.int_in_range(0..=40)?))
        }
        5 => "line\n".repeat(choices.int_in_range(1..=300)?),
        _ => choices.arbitrary::<&str>()?.to_owned(),
    })
}

/// Edits about messages that are there, mostly.
fn edits(choices: &mut Unstructured<'_>, len: usize) -> Result<Vec<Edit>> {
    let mut edits = Vec::new();
    for _ in 0..choices.int_in_range(0..=4)? {
        let start = choices.int_in_range(0..=len)?;
        let span = match choices.ratio(1, 32)? {
            true => choices.arbitrary()?..choices.arbitrary()?,
            false => start..choices.int_in_range(start..=len + 1)?,
        };
        let (message, part) = (span.start, choices.int_in_range(0..=3)?);
        let role = *choices.choose(&[Role::User, Role::Assistant, Role::System])?;
        edits.push(match choices.int_in_range(0..=3)? {
            0 => Edit::Drop { span },
            1 => Edit::Replace { span, role, text: text(choices)? },
            2 => Edit::Rewrite { message, part, text: text(choices)? },
            _ => Edit::Remove { message, part },
        });
    }
    Ok(edits)
}
