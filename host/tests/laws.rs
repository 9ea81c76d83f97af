//! The laws, for every order of the built-in layers, over generated conversations and targets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex};

use brute_core::testing::{generate, laws};
use brute_core::{
    Approximate, Completion, CompletionError, Configure, Conversation, Outline, Prompt, Protection,
    Stop, SummarizerLimits, TokenCounter,
};
use brute_host::ladder::{Budget, Compaction, Compactor, Event, Outcome, Rung};
use brute_host::summarizers::{BoxFuture, Summarizer};
use brute_sliding_window::SlidingWindow;
use brute_summarize::Summarize;
use brute_tool_results::ToolResults;
use proptest::prelude::*;

/// Answers with the length of what it was asked, so that the same request gets the same answer, and
/// different ones do not.
struct Echo;

impl Summarizer for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    fn limits(&self) -> SummarizerLimits {
        SummarizerLimits { window: 16_000 }
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        assert!(
            u64::from(Approximate.count(&prompt.instructions) + Approximate.count(&prompt.input))
                <= self.limits().window,
            "the request does not fit the summarizer"
        );
        let text = format!("Objective: as asked. Work done: {} characters.", prompt.input.len());
        Box::pin(async { Ok(Completion::new(text, Stop::End)) })
    }
}

fn rungs(order: &[usize]) -> Vec<Rung> {
    let all = [
        Rung::new("tool-results", ToolResults::build(Default::default()).unwrap()),
        Rung::new("sliding-window", SlidingWindow::build(Default::default()).unwrap()),
        Rung::new("summarize", Summarize::build(Default::default()).unwrap()),
    ];
    order.iter().map(|&index| all[index].clone()).collect()
}

/// Every order of every choice of the three.
fn orders() -> Vec<Vec<usize>> {
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    let mut grown = orders.clone();
    for _ in 0..3 {
        grown = (grown.iter())
            .flat_map(|order| {
                let free = (0..3).filter(|next| !order.contains(next));
                free.map(|next| [order.as_slice(), &[next]].concat()).collect::<Vec<_>>()
            })
            .collect();
        orders.extend(grown.iter().cloned());
    }
    orders
}

fn run(compactor: &Compactor, conversation: &Conversation) -> Compaction {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(compactor.compact(conversation.clone()))
}

fn compactor(order: &[usize], target: u64, keep: &[&str]) -> Compactor {
    let budget = Budget::new(10_000_000, 0, target + 1, target).unwrap();
    let compactor = Compactor::new(Arc::new(Approximate), budget)
        .keeping(keep.iter().map(|tool| (*tool).to_owned()))
        .summarizer(Arc::new(Echo));
    rungs(order).into_iter().fold(compactor, Compactor::rung)
}

#[test]
fn there_are_sixteen_orders() {
    assert_eq!(orders().len(), 16);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_order_keeps_the_laws(
        conversation in generate::conversation(16),
        share in 0.0f64..1.2,
        keep in prop::sample::select(vec![&[][..], &["tool_1"][..]]),
    ) {
        let size = conversation.clone().measure(&Approximate);
        let target = ((size as f64 * share) as u64).max(1);
        for order in orders() {
            let told = Arc::new(Mutex::new(Vec::new()));
            let sink = Arc::clone(&told);
            let compactor = compactor(&order, target, keep)
                .on(move |event| sink.lock().unwrap().push(event.clone()));
            let done = run(&compactor, &conversation);
            let told = std::mem::take(&mut *told.lock().unwrap());

            // Valid out, never larger, protected pieces equal, order kept.
            let outline = Outline::of(conversation.messages()).unwrap();
            let keep: Vec<String> = keep.iter().map(|tool| (*tool).to_owned()).collect();
            let protection = Protection::of(conversation.messages(), &outline, &keep);
            let checked = laws::check_step(&conversation, &done.conversation, &protection);
            prop_assert_eq!(checked, Ok(()), "{:?}", order);

            // The figures are what a fresh count finds.
            prop_assert_eq!(done.before, laws::recount(&conversation, &Approximate));
            prop_assert_eq!(done.after, laws::recount(&done.conversation, &Approximate));

            // It fits, or names what stands in the way.
            match &done.outcome {
                Outcome::BelowTrigger => prop_assert!(size <= target),
                Outcome::Fitted => prop_assert!(done.after <= target),
                Outcome::Partial { over_by, blockers, .. }
                | Outcome::Nothing { over_by, blockers, .. } => {
                    prop_assert_eq!(done.after - target, *over_by);
                    prop_assert!(!blockers.is_empty());
                }
            }

            // Deterministic; a second run changes nothing.
            let again = run(&compactor, &conversation);
            prop_assert_eq!(&again.conversation, &done.conversation, "{:?}", order);
            let second = run(&compactor, &done.conversation);
            prop_assert_eq!(&second.conversation, &done.conversation, "second run of {:?}", order);

            // Events add up, and carry whatever went.
            let saved: u64 = told.iter().map(|event| match event {
                Event::LayerApplied { before, after, .. } => before - after,
                _ => 0,
            }).sum();
            prop_assert_eq!(saved, done.before - done.after);
            let carried = told.iter().find_map(|event| match event {
                Event::Compacted { removed, .. } => Some(removed.clone()),
                _ => None,
            }).unwrap_or_default();
            for message in conversation.messages() {
                let stands = done.conversation.messages().contains(message);
                prop_assert!(stands || carried.contains(message), "{:?} went silently", message);
            }
        }
    }

    #[test]
    fn a_request_with_hundreds_of_steps_fits(steps in 100usize..400, target in 500u64..4_000) {
        let mut text = String::from("system s\nuser do it all\n");
        for step in 0..steps {
            text.push_str(&format!("assistant call:c{}\ntool c{} wordx60\n", step % 7, step % 7));
        }
        let conversation = brute_core::testing::notation::conversation(&text);
        for order in orders().into_iter().filter(|order| order.len() == 3) {
            let done = run(&compactor(&order, target, &[]), &conversation);
            prop_assert!(done.outcome.fits(), "{:?}: {:?}", order, done.outcome);
        }
    }
}
