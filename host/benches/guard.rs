//! What a session costs beside its layers: the check before each call, and events and an archive beside a compaction.

#![expect(
    clippy::expect_used,
    reason = "a bench that cannot make its sessions has nothing to measure"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brute_core::{Approximate, Conversation, Part, Role, ToolCall, ToolResult};
use brute_host::archive::{Archive, ArchiveOptions};
use brute_host::guard::{EventLog, Guard, Policy, Session};
use brute_host::ladder::{Budget, Compactor, Rung};
use brute_host::truncation::{TruncateOptions, Truncator};
use brute_sliding_window::SlidingWindow;
use brute_tool_results::ToolResults;
use divan::Bencher;
use tokio::runtime::{Builder, Runtime};

fn main() {
    divan::main();
}

/// Lengths in messages.
const LENGTHS: [usize; 3] = [200, 2_000, 20_000];

/// Calls with results of one KiB behind one request, none like another.
fn conversation(messages: usize) -> Conversation {
    let mut conversation = Conversation::default();
    conversation.push(Role::User, [Part::text("go on")]).expect("fits");
    while conversation.len() < messages {
        let [call, result] = step(conversation.len());
        conversation.push(Role::Assistant, [call]).expect("fits");
        conversation.push(Role::Tool, [result]).expect("fits");
    }
    conversation.measure(&Approximate);
    conversation
}

fn step(number: usize) -> [Part; 2] {
    let id = format!("call_{number}");
    let (name, arguments) = ("read".into(), format!("{{\"path\":\"src/{number}.rs\"}}"));
    let call = ToolCall { id: id.clone().into(), name, arguments: arguments.into() };
    let text = format!("line {number} of a file\n").repeat(1024 / 22);
    [
        Part::ToolCall(call),
        Part::ToolResult(ToolResult {
            call: id.into(),
            text: text.into(),
            media: Box::default(),
            is_error: false,
        }),
    ]
}

/// One thread for what blocks, so that whoever waits for it has waited for all before.
fn runtime() -> Runtime {
    let mut runtime = Builder::new_current_thread();
    runtime.enable_all().max_blocking_threads(1).build().expect("a runtime")
}

fn policy(budget: Budget) -> Policy {
    let compactor = Compactor::new(Arc::new(Approximate), budget)
        .rung(Rung::new("tool-results", ToolResults::default()))
        .rung(Rung::new("sliding-window", SlidingWindow::default()));
    let options = TruncateOptions { spill: None, ..TruncateOptions::default() };
    Policy::new(compactor, Truncator::new(options).expect("valid"))
}

/// A session that is far from a compaction.
fn far(messages: usize) -> Session {
    let budget = Budget::new(2_000_000_000, 0, 1_900_000_000, 1_000_000_000).expect("room");
    Guard::new(policy(budget)).resume("bench", conversation(messages))
}

/// The check before a call that needs no compaction, after a step was appended. What that step costs to be counted is
/// in it.
#[divan::bench(args = LENGTHS)]
fn check(bencher: Bencher<'_, '_>, messages: usize) {
    let (runtime, session) = (runtime(), far(messages));
    let mut number = messages;
    bencher
        .with_inputs(|| {
            number += 1;
            let [call, result] = step(number);
            session.push(Role::Assistant, [call]).expect("fits");
            session.push(Role::Tool, [result]).expect("fits");
        })
        .bench_local_values(|()| runtime.block_on(session.before_call(None)));
}

/// The same once the provider has said how large it is.
#[divan::bench(args = LENGTHS)]
fn check_anchored(bencher: Bencher<'_, '_>, messages: usize) {
    use brute_host::formats::Usage;
    let (runtime, session) = (runtime(), far(messages));
    let mut number = messages;
    bencher
        .with_inputs(|| {
            number += 1;
            let ready = runtime.block_on(session.before_call(None)).expect("no log");
            let [call, result] = step(number);
            let size = session.size(None) + 20;
            let usage = Usage { input: size, output: 20 };
            session.after_call(&ready, [call], Some(usage)).expect("fits");
            session.push(Role::Tool, [result]).expect("fits");
        })
        .bench_local_values(|()| runtime.block_on(session.before_call(None)));
}

/// Lengths of conversations that are compacted.
const COMPACTED: [usize; 2] = [400, 3_201];

/// For how long the model is called, in which all threads of a guard come to rest.
const MODEL_TAKES: Duration = Duration::from_millis(20);

/// A compaction to a quarter by the free layers, and nobody told.
#[divan::bench(args = COMPACTED)]
fn compaction(bencher: Bencher<'_, '_>, messages: usize) {
    compact(bencher, messages, |policy, _| Guard::new(policy));
}

/// The same with events as lines in a file, and an archive of what goes.
#[divan::bench(args = COMPACTED)]
fn compaction_told_and_archived(bencher: Bencher<'_, '_>, messages: usize) {
    compact(bencher, messages, |policy, folder| {
        let log = EventLog::append(&folder.join("events.jsonl")).expect("opened");
        let archive = Archive::at(folder.join("archive"), ArchiveOptions::default());
        let guard = Guard::new(policy.with_archive(archive));
        guard.subscribe(log).expect("a thread");
        guard
    });
}

/// The last step before is one that a model was called for, as all are in an agent's loop.
fn compact(bencher: Bencher<'_, '_>, messages: usize, guard: impl Fn(Policy, &Path) -> Guard) {
    let runtime = runtime();
    let conversation = conversation(messages);
    let tokens = conversation.clone().measure(&Approximate);
    let budget = Budget::new(2 * tokens, 0, tokens + 64, tokens / 4).expect("room");
    let folder = tempfile::tempdir().expect("a folder");
    let guard = guard(policy(budget), folder.path());
    let mut number = 0;
    bencher
        .with_inputs(|| {
            number += 1;
            let session = guard.resume(format!("bench-{number}"), conversation.clone());
            runtime.block_on(async {
                assert!(
                    session.before_call(None).await.is_ok_and(|ready| ready.compaction.is_none())
                );
                tokio::time::sleep(MODEL_TAKES).await;
                tokio::task::spawn_blocking(|| ()).await.expect("what blocks is done");
            });
            let [call, result] = step(messages);
            session.push(Role::Assistant, [call]).expect("fits");
            session.push(Role::Tool, [result]).expect("fits");
            session
        })
        .bench_local_values(|session: Session| {
            let ready = runtime.block_on(session.before_call(None)).expect("no log");
            assert!(ready.compaction.is_some_and(|done| done.outcome.fits()));
        });
}
