//! What guarding the window costs: the check before each call, and a whole descent by the free layers.
//!
//! Messages are calls with results of one KiB, counted beforehand as they are in an agent's loop.

use std::sync::Arc;

use brute_core::{Approximate, Conversation, Part, Role, ToolCall, ToolResult};
use brute_host::ladder::{Budget, Compactor, Rung, Trigger};
use brute_sliding_window::SlidingWindow;
use brute_tool_results::ToolResults;
use divan::Bencher;

fn main() {
    divan::main();
}

/// Lengths in messages; the odd one is 1,600 calls with their results behind one request.
const LENGTHS: [usize; 4] = [200, 2_000, 3_201, 20_000];

fn conversation(messages: usize) -> Conversation {
    let mut conversation = Conversation::default();
    let said = conversation.push(Role::User, [Part::text("go on")]);
    assert!(said.is_ok());
    while conversation.len() < messages {
        step(&mut conversation);
    }
    conversation.measure(&Approximate);
    conversation
}

fn step(conversation: &mut Conversation) {
    let id = format!("call_{}", conversation.len());
    let call = ToolCall { id: id.clone().into(), name: "read".into(), arguments: "{}".into() };
    let text = "words ".repeat(171);
    let result =
        ToolResult { call: id.into(), text: text.into(), media: Box::default(), is_error: false };
    let asked = conversation.push(Role::Assistant, [Part::ToolCall(call)]);
    let answered = conversation.push(Role::Tool, [Part::ToolResult(result)]);
    assert!(asked.is_ok() && answered.is_ok());
}

/// The check before a call, after one step was appended.
#[divan::bench(args = LENGTHS)]
fn check_after_append(bencher: Bencher<'_, '_>, messages: usize) {
    let grown = std::cell::RefCell::new(conversation(messages));
    let tokens = grown.borrow_mut().measure(&Approximate);
    let budget = budget(2 * tokens + 1_000_000_000, tokens + 900_000_000);
    let trigger = Trigger::default();
    bencher
        .with_inputs(|| step(&mut grown.borrow_mut()))
        .bench_local_values(|()| trigger.is_due(&budget, &mut grown.borrow_mut(), &Approximate));
}

/// A whole descent to a quarter of the size, `tool-results` and then `sliding-window`.
#[divan::bench(args = LENGTHS)]
fn free_layers(bencher: Bencher<'_, '_>, messages: usize) {
    let rungs = [
        Rung::new("tool-results", ToolResults::default()),
        Rung::new("sliding-window", SlidingWindow::default()),
    ];
    descend(bencher, 1, messages, rungs.into());
}

/// The same where no conversation is in a cache when its turn comes, since a call of a model lies between
/// two descents of an agent. Here it is descents of other conversations, as many as it takes for all
/// lengths to be alike: this is the one to compare lengths by.
#[divan::bench(args = LENGTHS)]
fn free_layers_apart(bencher: Bencher<'_, '_>, messages: usize) {
    let rungs = [
        Rung::new("tool-results", ToolResults::default()),
        Rung::new("sliding-window", SlidingWindow::default()),
    ];
    let others = LENGTHS.iter().max().unwrap_or(&0) / messages;
    descend(bencher, others.max(1) + 1, messages, rungs.into());
}

/// A descent by `sliding-window` alone.
#[divan::bench(args = LENGTHS)]
fn sliding_window(bencher: Bencher<'_, '_>, messages: usize) {
    descend(bencher, 1, messages, vec![Rung::new("sliding-window", SlidingWindow::default())]);
}

fn descend(bencher: Bencher<'_, '_>, conversations: usize, messages: usize, rungs: Vec<Rung>) {
    let starts: Vec<Conversation> = (0..conversations).map(|_| conversation(messages)).collect();
    let mut next = starts.iter().cycle();
    let tokens = starts[0].clone().measure(&Approximate);
    let compactor = Compactor::new(Arc::new(Approximate), budget(tokens, tokens / 4));
    let compactor = rungs.into_iter().fold(compactor, Compactor::rung);
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else {
        return;
    };
    bencher
        .with_inputs(|| next.next().cloned().unwrap_or_default())
        .bench_local_values(|start| runtime.block_on(compactor.compact_now(start)));
}

fn budget(window: u64, target: u64) -> Budget {
    match Budget::new(window, 0, window, target) {
        Ok(budget) => budget,
        Err(error) => unreachable!("{error}"),
    }
}
