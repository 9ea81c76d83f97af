//! What the boundary costs: the same strategy built in and in a dynamic library.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::sync::Arc;

use brute_core::{
    Approximate, Configure, Conversation, Part, Role, Strategy, ToolCall, ToolResult,
};
use brute_host::ladder::{Budget, Compactor, Rung};
use brute_host::plugins::load_file;
use brute_sliding_window::SlidingWindow;
use divan::Bencher;

fn main() {
    divan::main();
}

/// Lengths in messages.
const LENGTHS: [usize; 3] = [200, 2_000, 20_000];

fn conversation(messages: usize) -> Conversation {
    let mut conversation = Conversation::default();
    let said = conversation.push(Role::User, [Part::text("go on")]);
    assert!(said.is_ok());
    while conversation.len() < messages {
        let id = format!("call_{}", conversation.len());
        let call = ToolCall { id: id.clone().into(), name: "read".into(), arguments: "{}".into() };
        let text = "words ".repeat(171);
        let result = ToolResult {
            call: id.into(),
            text: text.into(),
            media: Box::default(),
            is_error: false,
        };
        let asked = conversation.push(Role::Assistant, [Part::ToolCall(call)]);
        let answered = conversation.push(Role::Tool, [Part::ToolResult(result)]);
        assert!(asked.is_ok() && answered.is_ok());
    }
    conversation.measure(&Approximate);
    conversation
}

/// The layer `name` of a fixture, which cargo builds beside the bench.
fn plugin(library: &str, name: &str) -> Option<Box<dyn Strategy>> {
    let bench = std::env::current_exe().ok()?;
    let path = bench.parent()?.join(format!("{DLL_PREFIX}brute_{library}{DLL_SUFFIX}"));
    let kinds = load_file(path).ok()?;
    let kind = kinds.iter().find(|kind| kind.name == name)?;
    kind.build(serde_json::json!({})).ok()
}

/// A whole rung that brings the conversation down to a quarter, by the strategy that ships. For so long, because at 200
/// messages the way to another thread and back is most of it, and takes now three times as long and now a third.
#[divan::bench(args = LENGTHS, min_time = 2)]
fn rung_built_in(bencher: Bencher<'_, '_>, messages: usize) {
    let Ok(strategy) = SlidingWindow::build(Default::default()) else { return };
    rung(bencher, messages, strategy);
}

/// The same by the same strategy in a library.
#[divan::bench(args = LENGTHS, min_time = 2)]
fn rung_in_a_plugin(bencher: Bencher<'_, '_>, messages: usize) {
    let Some(strategy) = plugin("mirror", "mirror") else { return };
    rung(bencher, messages, strategy);
}

fn rung(bencher: Bencher<'_, '_>, messages: usize, strategy: impl Strategy + 'static) {
    let mut start = conversation(messages);
    let tokens = start.measure(&Approximate);
    let Ok(budget) = Budget::new(tokens, 0, tokens, tokens / 4) else { return };
    let rung = Rung::new("rung", strategy);
    let compactor = Compactor::new(Arc::new(Approximate), budget).rung(rung);
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else {
        return;
    };
    bencher
        .with_inputs(|| start.clone())
        .bench_local_values(|start| runtime.block_on(compactor.compact_now(start)));
}

/// A plan of a plugin that gives nothing, with the view that it is lent.
#[divan::bench(args = LENGTHS)]
fn plan_of_nothing(bencher: Bencher<'_, '_>, messages: usize) {
    let Some(strategy) = plugin("faulty", "idle") else { return };
    planned(bencher, messages, &*strategy);
}

/// The same on a conversation without messages: the call itself.
#[divan::bench]
fn plan_of_nothing_without_a_view(bencher: Bencher<'_, '_>) {
    let Some(strategy) = plugin("faulty", "idle") else { return };
    planned(bencher, 0, &*strategy);
}

fn planned(bencher: Bencher<'_, '_>, messages: usize, strategy: &dyn Strategy) {
    use brute_core::{Protection, Sizes, Window};
    let mut conversation = conversation(messages);
    let used = conversation.measure(&Approximate);
    let outline = conversation.outline();
    let protection = Protection::of(conversation.messages(), &outline, &[]);
    let sizes = Sizes { window: used, used, target: used / 4 };
    let window = Window::new(conversation.messages(), &outline, &protection, &Approximate, sizes);
    bencher.bench_local(|| strategy.plan(&window, &Silent));
}

/// A host that nobody asks.
struct Silent;

impl brute_core::Host for Silent {
    fn count(&self, _: &str) -> u32 {
        0
    }

    fn summarizer(&self) -> Option<brute_core::SummarizerLimits> {
        None
    }

    fn complete(
        &self,
        _: &brute_core::Prompt,
    ) -> Result<brute_core::Completion, brute_core::CompletionError> {
        Err(brute_core::CompletionError::NotConfigured)
    }

    fn log(&self, _: brute_core::LogLevel, _: &str) {}
}
