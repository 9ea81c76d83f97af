//! What any order of layers leaves is what the strictest provider of the format takes.

use std::sync::Arc;

use brute_core::{
    Approximate, Completion, CompletionError, Configure, Prompt, Stop, SummarizerLimits,
};
use brute_host::ladder::{Budget, Compactor, Rung};
use brute_host::summarizers::{BoxFuture, Summarizer};
use brute_sliding_window::SlidingWindow;
use brute_summarize::Summarize;
use brute_tool_results::ToolResults;

use super::*;

/// Says that something was done.
struct Done;

impl Summarizer for Done {
    fn name(&self) -> &str {
        "done"
    }

    fn limits(&self) -> SummarizerLimits {
        SummarizerLimits { window: 16_000 }
    }

    fn complete<'a>(&'a self, _: &'a Prompt) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        let text = "Objective: as asked. Work done: some.".to_owned();
        Box::pin(async { Ok(Completion::new(text, Stop::End)) })
    }
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

fn compacted(document: &Document, order: [usize; 3], share: u64) -> Conversation {
    let mut conversation = document.conversation().clone();
    let target = (conversation.measure(&Approximate) / share).max(1);
    let budget = Budget::new(1 << 40, 0, target + 1, target).unwrap();
    let compactor = Compactor::new(Arc::new(Approximate), budget).summarizer(Arc::new(Done));
    let rungs = [
        Rung::new("tool-results", ToolResults::build(Default::default()).unwrap()),
        Rung::new("sliding-window", SlidingWindow::build(Default::default()).unwrap()),
        Rung::new("summarize", Summarize::build(Default::default()).unwrap()),
    ];
    let compactor =
        order.into_iter().fold(compactor, |compactor, rung| compactor.rung(rungs[rung].clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(compactor.compact_now(conversation)).conversation
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_order_leaves_what_providers_take(
        format in formats(),
        turns in turns(),
        seed: u64,
        share in 1u64..8,
    ) {
        let before = read(format, document(format, &turns, seed));
        for order in ORDERS {
            let after = compacted(&before, order, share);
            let written = before.write(&after, &WriteOptions::default()).into_owned();
            let broken = strict(format, &list(written.clone()));
            prop_assert_eq!(broken, Vec::<String>::new(), "{:?}: {}", order, String::from_utf8_lossy(&written));
            let again = read(format, written.clone());
            prop_assert_eq!(flat(again.conversation()), flat(&after), "{:?}", order);
            check_untouched(&before, &after, &String::from_utf8(written).unwrap())?;
        }
    }
}
