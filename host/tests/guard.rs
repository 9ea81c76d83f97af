//! An agent's loop under guard: when it compacts, by what measure, and what becomes of what happens meanwhile.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brute_core::testing::notation;
use brute_core::{
    Approximate, Conversation, Message, MessageId, Outline, Part, Role, TokenCounter, ToolCall,
};
use brute_host::archive::{Archive, ArchiveOptions, Digest};
use brute_host::formats::{Document, Format, ReadOptions, Usage};
use brute_host::guard::{Custom, Guard, Policy, Session};
use brute_host::ladder::{Budget, Compactor, Event, Outcome, Rung};
use brute_host::tokens::{Tiktoken, scaled};
use brute_host::truncation::{TruncateOptions, Truncator};
use brute_sliding_window::SlidingWindow;
use brute_tool_results::ToolResults;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

const WINDOW: u64 = 32_000;
const RESERVE: u64 = 4_000;
const TOOLS: &str = r#"[{"name":"shell","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}]"#;

fn truncator() -> Truncator {
    let options = TruncateOptions { spill: None, ..TruncateOptions::default() };
    Truncator::new(options).unwrap()
}

fn policy(window: u64, counter: Arc<dyn TokenCounter>) -> Policy {
    let budget = Budget::new(window, RESERVE, window * 7 / 10, window * 4 / 10).unwrap();
    let compactor = Compactor::new(counter, budget)
        .rung(Rung::new("tool-results", ToolResults::default()))
        .rung(Rung::new("sliding-window", SlidingWindow::default()));
    Policy::new(compactor, truncator())
}

/// What tools printed in the sessions that ship.
fn outputs() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/sessions");
    let names = [
        "openai-chat-fix-parser.json",
        "anthropic-port-storage.json",
        "openai-chat-fix-ranks.json",
    ];
    let mut outputs = Vec::new();
    for name in names {
        let document =
            Document::read(std::fs::read(folder.join(name)).unwrap(), &ReadOptions::default())
                .unwrap();
        let messages = document.conversation().messages().iter();
        outputs.extend(messages.filter_map(|message| Some(message.result()?.1.text.clone())));
    }
    assert!(outputs.len() > 100);
    outputs
}

/// A provider that counts by itself, and adds what nobody else sees.
struct Provider<F> {
    tokens: F,
    hidden: u64,
    /// An edit keeps the id of a message and makes its text shorter.
    known: HashMap<(MessageId, usize), u64>,
}

impl<F: Fn(&str) -> u64> Provider<F> {
    fn new(hidden: u64, tokens: F) -> Self {
        Self { tokens, hidden, known: HashMap::new() }
    }

    fn request(&mut self, conversation: &Conversation) -> u64 {
        let messages = conversation.messages().iter();
        messages.map(|message| self.message(message)).sum::<u64>() + self.hidden
    }

    fn message(&mut self, message: &Message) -> u64 {
        let tokens = &self.tokens;
        let count = || message.parts().iter().flat_map(Part::texts).map(tokens).sum::<u64>() + 4;
        *self.known.entry((message.id(), message.text_bytes())).or_insert_with(count)
    }
}

/// What was found before one call of the model.
struct Checked {
    estimate: u64,
    counted: u64,
    /// The size before what was done about it.
    before: u64,
    compacted: bool,
}

impl Checked {
    fn error(&self) -> f64 {
        (self.estimate as f64 - self.counted as f64).abs() / self.counted as f64
    }
}

/// Takes `steps` steps: a call of the model, which calls a tool.
async fn run(
    session: &Session,
    steps: usize,
    provider: &mut Provider<impl Fn(&str) -> u64>,
) -> Vec<Checked> {
    let outputs = outputs();
    session.push(Role::System, [Part::Text("You mend things.".into())]).unwrap();
    session.push(Role::User, [Part::Text("Make all tests pass.".into())]).unwrap();
    let mut all = Vec::new();
    for index in 0..steps {
        let before = session.read(|conversation| provider.request(conversation));
        let call = session.before_call(Some(TOOLS)).await;
        let estimate = session.size(Some(TOOLS));
        let counted = session.read(|conversation| {
            assert!(Outline::of(conversation.messages()).is_ok());
            provider.request(conversation)
        });
        all.push(Checked { estimate, counted, before, compacted: call.compaction.is_some() });
        let id = format!("call_{index}");
        let arguments = format!(r#"{{"command":"make test-{index}"}}"#);
        let parts = [
            Part::Text("The next one.".into()),
            Part::ToolCall(ToolCall { id: id.clone(), name: "shell".into(), arguments }),
        ];
        let reply =
            Message::new(MessageId(u64::MAX - index as u64), Role::Assistant, parts.clone());
        let usage = Usage { input: counted, output: provider.message(&reply) };
        session.after_call(&call, parts, Some(usage)).unwrap();
        let output = outputs[index % outputs.len()].clone().into_bytes();
        session.tool_result(&id, "shell", output, false).await.unwrap();
    }
    all
}

#[tokio::test]
async fn a_long_run_stays_in_its_window_and_compacts_when_it_is_due_and_only_then() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&events);
    let observer = move |session: &str, event: &Event| {
        assert_eq!(session, "long");
        if let Event::Compacted { removed, .. } = event {
            told.lock().unwrap().extend(removed.iter().cloned());
        }
    };
    let guard = Guard::observed(policy(WINDOW, Arc::new(Approximate)), vec![Arc::new(observer)]);
    let session = guard.session("long");
    let mut provider = Provider::new(1_185, |text| u64::from(Approximate.count(text)));
    let run = run(&session, 2_000, &mut provider).await;
    let compactions = run.iter().filter(|checked| checked.compacted).count();
    assert!(compactions > 20, "{compactions}");
    for (index, checked) in run.iter().enumerate() {
        assert!(checked.counted <= WINDOW - RESERVE, "call {index}: {}", checked.counted);
        let due = checked.before >= WINDOW * 7 / 10;
        assert_eq!(checked.compacted, due, "call {index}: {} before", checked.before);
        // Nothing is reported before the first reply.
        assert!(index == 0 || checked.error() <= 0.02, "call {index}: {}", checked.estimate);
    }
    // Nothing went that nobody was told of.
    let mut known: Vec<MessageId> = events.lock().unwrap().iter().map(|gone| gone.id()).collect();
    known.extend(
        session.read(|now| now.messages().iter().map(|here| here.id()).collect::<Vec<_>>()),
    );
    known.sort_unstable();
    known.dedup();
    assert!(known.len() >= 2 + 2 * 2_000, "{}", known.len());
}

/// Tokens of a vocabulary that is further from o200k for some texts than for others. The ratios are those that were
/// measured between Claude's vocabulary and o200k for logs, JSON, prose, code, and other scripts.
fn other_tokens(text: &str, scale: f64) -> u64 {
    let of_line = |line: &str| {
        let letters = line.chars().filter(|char| char.is_alphabetic());
        let (ascii, others): (Vec<_>, Vec<_>) = letters.partition(char::is_ascii);
        let marks = line.chars().filter(char::is_ascii_punctuation).count();
        let ratio = match line.trim_start().chars().next() {
            _ if others.len() > ascii.len() => 1.79,
            Some('"' | '{' | '[') => 1.12,
            Some(first) if first.is_ascii_digit() => 1.06,
            _ if 8 * marks > line.len() => 1.26,
            _ => 1.22,
        };
        f64::from(Tiktoken::o200k().count(line)) * ratio
    };
    (text.split_inclusive('\n').map(of_line).sum::<f64>() * scale) as u64
}

#[tokio::test]
async fn sizes_follow_a_tokenizer_that_nobody_knows() {
    // What is known beforehand of the family of the model, older and newer.
    for (scale, prior) in [(1.0, 1.25), (1.3, 1.6)] {
        let counter = scaled(Arc::new(Tiktoken::o200k()), prior);
        let guard = Guard::new(policy(200_000, counter));
        let session = guard.session("unknown");
        let mut provider = Provider::new(1_185, |text: &str| other_tokens(text, scale));
        let run = run(&session, 800, &mut provider).await;
        let (after, others): (Vec<_>, Vec<_>) =
            run.iter().skip(1).partition(|checked| checked.compacted);
        let mut errors: Vec<f64> = others.iter().map(|checked| checked.error()).collect();
        errors.sort_by(f64::total_cmp);
        let p99 = errors[errors.len() * 99 / 100];
        let worst = after.iter().map(|checked| checked.error()).fold(0.0, f64::max);
        let ratio = session.anchor().map(|anchor| anchor.ratio()).unwrap();
        println!(
            "× {scale}: p99 {p99:.4}, after one of {} compactions {worst:.4}, ratio {ratio:.3}",
            after.len()
        );
        assert!(p99 <= 0.03 && worst <= 0.10 && after.len() >= 5);
        assert!((ratio * prior / scale - 1.2).abs() < 0.1, "{ratio}");
    }
}

/// A counter that says how often it was asked to tokenize.
struct Asked(AtomicUsize);

impl TokenCounter for Asked {
    fn id(&self) -> &'static str {
        "asked"
    }

    fn count(&self, text: &str) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed);
        Approximate.count(text)
    }

    fn bounds(&self, bytes: usize) -> (u32, u32) {
        (0, u32::try_from(bytes).unwrap_or(u32::MAX))
    }
}

#[tokio::test]
async fn most_checks_count_nothing() {
    let counter = Arc::new(Asked(AtomicUsize::new(0)));
    let guard = Guard::new(policy(200_000, Arc::clone(&counter) as _));
    let session = guard.session("long");
    session.push(Role::User, [Part::Text("Make all tests pass.".into())]).unwrap();
    let outputs = outputs();
    let (mut silent, mut size, steps) = (0, 1_000, 400);
    for index in 0..steps {
        let before = counter.0.load(Ordering::Relaxed);
        let call = session.before_call(Some(TOOLS)).await;
        silent += usize::from(counter.0.load(Ordering::Relaxed) == before);
        if let Some(compaction) = &call.compaction {
            size = compaction.after;
        }
        let id = format!("call_{index}");
        let name = "shell".to_owned();
        let parts = [Part::ToolCall(ToolCall { id: id.clone(), name, arguments: "{}".into() })];
        session.after_call(&call, parts, Some(Usage { input: size, output: 8 })).unwrap();
        // Of the length that results have in sessions where they are capped.
        let output = &outputs[index % outputs.len()];
        let output = &output.as_bytes()[..output.len().min(6_000)];
        session.tool_result(&id, "shell", output.to_vec(), false).await.unwrap();
        size += 12 + output.len() as u64 / 4;
    }
    assert!(silent * 10 >= steps * 9, "{silent} of {steps}");
}

/// A conversation of so many steps of about 100 tokens.
fn steps(count: usize) -> Conversation {
    let steps = (0..count).map(|step| format!("assistant call:c{step}\ntool c{step} wordx80\n"));
    notation::conversation(&format!("system s\nuser go\n{}", steps.collect::<String>()))
}

/// A policy under which a conversation of 40 such steps is due, with a compactor that begins when it is let.
fn gated(gate: &Arc<Semaphore>, begun: &Arc<AtomicUsize>) -> Policy {
    let (gate, begun) = (Arc::clone(gate), Arc::clone(begun));
    let budget = Budget::new(4_000, 0, 2_000, 1_000).unwrap();
    let ladder = Compactor::new(Arc::new(Approximate), budget)
        .rung(Rung::new("sliding-window", SlidingWindow::default()));
    let policy = Policy::new(ladder.clone(), truncator());
    policy.with_compactor(Custom::new(move |conversation, _target| {
        begun.fetch_add(1, Ordering::Relaxed);
        let (gate, ladder) = (Arc::clone(&gate), ladder.clone());
        async move {
            gate.acquire().await.map_err(|closed| closed.to_string())?.forget();
            Ok::<_, String>(ladder.compact_now(conversation).await.conversation)
        }
    }))
}

#[tokio::test]
async fn what_is_appended_during_a_compaction_is_kept_and_a_second_call_waits_for_it() {
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::default());
    let session = Guard::new(gated(&gate, &begun)).resume("one", steps(40));
    let calls = [session.clone(), session.clone()]
        .map(|session| tokio::spawn(async move { session.before_call(None).await }));
    while begun.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    let more = session.push(Role::User, [Part::Text("And the docs.".into())]).unwrap();
    gate.add_permits(2);
    let mut compactions = 0;
    for call in calls {
        compactions += usize::from(call.await.unwrap().compaction.is_some());
    }
    assert_eq!((compactions, begun.load(Ordering::Relaxed)), (1, 1));
    let now = session.conversation();
    assert!(now.len() < 40 && Outline::of(now.messages()).is_ok());
    assert_eq!(now.messages().last().map(|message| message.id()), Some(more));
    session.push(Role::Assistant, [Part::Text("I see.".into())]).unwrap();
}

#[tokio::test]
async fn a_compaction_that_is_given_up_or_comes_too_late_leaves_everything_as_it_is() {
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::default());
    let session = Guard::new(gated(&gate, &begun)).resume("one", steps(40));
    let before = session.conversation();
    let given_up = tokio::time::timeout(Duration::from_millis(20), session.before_call(None)).await;
    assert!(given_up.is_err());
    assert_eq!(session.conversation(), before);
    let late = {
        let session = session.clone();
        tokio::spawn(async move { session.before_call(None).await })
    };
    while begun.load(Ordering::Relaxed) < 2 {
        tokio::task::yield_now().await;
    }
    session.replace(steps(2));
    gate.add_permits(1);
    assert!(late.await.unwrap().compaction.is_none());
    assert_eq!(session.conversation(), steps(2));
    assert!(session.before_call(None).await.compaction.is_none());
}

#[tokio::test]
async fn another_compactor_is_believed_only_where_it_keeps_the_laws() {
    type Made = fn(Conversation) -> Result<Conversation, String>;
    let without_task: Made = |now| {
        let rest = now.messages().iter().filter(|message| !message.is_real_user());
        Conversation::new(rest.map(|message| (**message).clone()))
            .map_err(|error| error.to_string())
    };
    let cases: [(Made, &str); 4] = [
        (|_| Ok(Conversation::default()), "message 0, which no compaction may touch"),
        (without_task, "message 1, which no compaction may touch"),
        (Ok, "its result is not smaller"),
        (|_| Err("out of ideas".into()), "out of ideas"),
    ];
    for (made, why) in cases {
        let failures = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&failures);
        let observer = move |_: &str, event: &Event| {
            if let Event::LayerFailed { error, .. } = event {
                told.lock().unwrap().push(error.clone());
            }
        };
        let custom = Custom::new(move |now, _target| async move { made(now) });
        let policy = gated(&Arc::new(Semaphore::new(0)), &Arc::default()).with_compactor(custom);
        let session = Guard::observed(policy, vec![Arc::new(observer)]).resume("one", steps(40));
        let call = session.before_call(None).await;
        assert!(matches!(call.compaction.map(|done| done.outcome), Some(Outcome::Nothing { .. })));
        assert_eq!(session.conversation(), steps(40));
        let failures = std::mem::take(&mut *failures.lock().unwrap());
        assert!(failures.len() == 1 && failures[0].starts_with(why), "{failures:?}");
        // It is not asked again until there is something new.
        assert!(session.before_call(None).await.compaction.is_none());
    }
}

#[tokio::test]
async fn a_changed_policy_holds_from_the_next_call_on() {
    let (tight, wide) =
        (policy(WINDOW, Arc::new(Approximate)), policy(1_000_000, Arc::new(Approximate)));
    let guard = Guard::new(wide);
    let (one, other) = (guard.resume("one", steps(300)), guard.resume("other", steps(300)));
    assert!(one.before_call(None).await.compaction.is_none());
    guard.reload(tight);
    assert!(one.before_call(None).await.compaction.is_some());
    other.use_policy(policy(1_000_000, Arc::new(Approximate)));
    assert!(other.before_call(None).await.compaction.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_conversations_at_once_come_out_as_they_do_alone() {
    let guard = Guard::new(policy(WINDOW, Arc::new(Approximate)));
    let alone = |count| {
        let guard = guard.clone();
        async move {
            let session = guard.resume(format!("{count} steps"), steps(count));
            session.before_call(Some(TOOLS)).await;
            session.conversation()
        }
    };
    let together: Vec<_> = (0..64).map(|more| tokio::spawn(alone(260 + more))).collect();
    for (more, one) in together.into_iter().enumerate() {
        let made = one.await.unwrap();
        assert!(made.len() < 2 * (260 + more));
        assert_eq!(made, alone(260 + more).await, "{more}");
    }
}

#[tokio::test]
async fn an_agent_that_keeps_json_is_guarded_alike() {
    let guard = Guard::new(policy(WINDOW, Arc::new(Approximate)));
    let (outputs, name) = (outputs(), "shell");
    for format in Format::ALL {
        let session = guard.session(format.name());
        let mut provider = Provider::new(700, |text| u64::from(Approximate.count(text)));
        let mut messages = vec![json!({"role": "user", "content": "Make all tests pass."})];
        let (mut usage, mut compactions) = (None, 0);
        for index in 0..150 {
            let request = json!({"model": "m", "messages": messages}).to_string();
            let fitted = session.fit(request.clone(), usage).await.unwrap();
            let estimate = session.size(None);
            compactions += usize::from(fitted.compaction.is_some());
            assert_eq!(fitted.compaction.is_none(), fitted.request == request.as_bytes());
            let read = Document::read(fitted.request.clone(), &ReadOptions::default()).unwrap();
            let counted = provider.request(read.conversation());
            assert!(counted <= WINDOW - RESERVE, "{format} {index}: {counted}");
            let error = estimate.abs_diff(counted);
            assert!(index == 0 || error * 50 <= counted, "{format} {index}: {estimate} {counted}");
            let body: Value = serde_json::from_slice(&fitted.request).unwrap();
            messages = body["messages"].as_array().unwrap().clone();
            let id = format!("call_{index}");
            let output = outputs[index % outputs.len()].clone().into_bytes();
            let text = session.capped(name, output).await;
            let (call, result) = match format {
                Format::OpenaiChat => (
                    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id,
                        "type": "function", "function": {"name": name, "arguments": "{}"}}]}),
                    json!({"role": "tool", "tool_call_id": id, "content": text}),
                ),
                Format::Anthropic => (
                    json!({"role": "assistant",
                        "content": [{"type": "tool_use", "id": id, "name": name, "input": {}}]}),
                    json!({"role": "user",
                        "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
                ),
            };
            // A call of `shell` with `{}`, and its framing.
            usage = Some(Usage { input: counted, output: 2 + 1 + 4 });
            messages.extend([call, result]);
        }
        assert!(compactions >= 3, "{format}: {compactions}");
        // A history that is another one begins anew.
        let other = json!({"messages": [{"role": "user", "content": "hi"}]}).to_string();
        assert_eq!(session.fit(other.clone(), usage).await.unwrap().request, other.as_bytes());
        assert!(session.anchor().is_none());
    }
}

#[tokio::test]
async fn what_is_given_up_is_in_the_archive_before_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path().join("archive"), ArchiveOptions::default());
    let archived = || policy(WINDOW, Arc::new(Approximate)).with_archive(archive.clone());
    let mut messages = vec![json!({"role": "user", "content": "Make all tests pass."})];
    for (index, output) in outputs().iter().enumerate().take(40) {
        let id = format!("call_{index}");
        let function = json!({"name": "shell", "arguments": "{}"});
        let call = json!({"id": id, "type": "function", "function": function});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": output}));
    }
    let request = json!({"messages": messages}).to_string();
    // A name that no file can have.
    let session = Guard::new(archived()).session("user 7/chat: 1");
    let fitted = session.fit(request.clone(), None).await.unwrap();
    assert!(fitted.compaction.is_some_and(|done| done.removed.len() > 5));
    let restored = archive.restore(&fitted.request, None, None).unwrap();
    assert!(restored.is_exact());
    assert_eq!(restored.text, request);

    // In code, each message is there by itself.
    let session = Guard::new(archived()).resume("code", steps(300));
    let removed = session.before_call(None).await.compaction.unwrap().removed;
    let results = removed.iter().filter_map(|message| Some((message, message.result()?.1)));
    for (message, result) in results {
        let handle = Digest::of_message(message).handle();
        assert_eq!(archive.find(&handle, Some("code")).unwrap().text, result.text);
    }

    // Where nothing can be kept, nothing is given up.
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "a file").unwrap();
    let full = Archive::at(&taken, ArchiveOptions::default());
    let failures = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&failures);
    let observer = move |_: &str, event: &Event| {
        if let Event::NotArchived { error, .. } = event {
            told.lock().unwrap().push(error.clone());
        }
    };
    let policy = policy(WINDOW, Arc::new(Approximate)).with_archive(full);
    let session = Guard::observed(policy, vec![Arc::new(observer)]).resume("full", steps(300));
    for _ in 0..3 {
        assert!(session.before_call(None).await.compaction.is_none());
        assert_eq!(session.conversation(), steps(300));
    }
    let failures = std::mem::take(&mut *failures.lock().unwrap());
    assert!(failures.len() == 1 && failures[0].contains("taken"), "{failures:?}");
}
