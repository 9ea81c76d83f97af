//! How large the guard takes a request to be, against a provider that counts by itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use brute_core::{
    Approximate, Conversation, Message, MessageId, Outline, Part, Role, TokenCounter, ToolCall,
};
use brute_host::archive::{Archive, ArchiveOptions};
use brute_host::formats::{Document, Format, ReadOptions, Usage};
use brute_host::guard::{Guard, Session, Told};
use brute_host::ladder::Event;
use brute_host::tokens::{Tiktoken, scaled};
use serde_json::{Value, json};

use super::{RESERVE, TOOLS, WINDOW, outputs, policy, steps};

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

/// Takes `steps` steps: a call of the model, which calls a tool. With all that was said.
async fn run(
    session: &Session,
    steps: usize,
    provider: &mut Provider<impl Fn(&str) -> u64>,
) -> (Vec<Checked>, Vec<Arc<Message>>) {
    let outputs = outputs();
    let mut said = Vec::new();
    let last = |now: &Conversation| now.messages().last().cloned();
    session.push(Role::System, [Part::text("You mend things.")]).unwrap();
    said.extend(session.read(last));
    session.push(Role::User, [Part::text("Make all tests pass.")]).unwrap();
    said.extend(session.read(last));
    let mut all = Vec::new();
    for index in 0..steps {
        let before = session.read(|conversation| provider.request(conversation));
        let call = session.before_call(Some(TOOLS)).await.unwrap();
        let estimate = session.size(Some(TOOLS));
        let counted = session.read(|conversation| {
            assert!(Outline::of(conversation.messages()).is_ok());
            provider.request(conversation)
        });
        all.push(Checked { estimate, counted, before, compacted: call.compaction.is_some() });
        let id = format!("call_{index}");
        let arguments = format!(r#"{{"command":"make test-{index}"}}"#);
        let parts = [
            Part::text("The next one."),
            Part::ToolCall(ToolCall {
                id: id.clone().into(),
                name: "shell".into(),
                arguments: arguments.into(),
            }),
        ];
        let reply =
            Message::new(MessageId(u64::MAX - index as u64), Role::Assistant, parts.clone());
        let usage = Usage { input: counted, output: provider.message(&reply) };
        session.after_call(&call, parts, Some(usage)).unwrap();
        said.extend(session.read(last));
        let output = outputs[index % outputs.len()].clone().into_bytes();
        session.tool_result(&id, "shell", output, false).await.unwrap();
        said.extend(session.read(last));
    }
    (all, said)
}

#[tokio::test]
async fn a_long_run_stays_in_its_window_and_compacts_when_it_is_due_and_only_then() {
    let events = Arc::new(Mutex::new(Vec::new()));
    let anchors = Arc::new(AtomicUsize::new(0));
    let (told, anchored) = (Arc::clone(&events), Arc::clone(&anchors));
    let subscriber = move |happened: &Told| {
        assert_eq!(&*happened.session, "long");
        match &*happened.event {
            Event::Compacted { removed, .. } => {
                told.lock().unwrap().extend(removed.iter().cloned());
            }
            Event::CompactStart { anchor: Some(anchor), .. } => {
                assert!(
                    anchor.reports() > 1 && (0.9..=1.1).contains(&anchor.ratio()),
                    "{anchor:?}"
                );
                anchored.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let archive = Archive::at(folder.path(), ArchiveOptions::default());
    let guard = Guard::new(policy(WINDOW, Arc::new(Approximate)).with_archive(archive.clone()));
    guard.subscribe(subscriber).unwrap();
    let session = guard.session("long");
    let mut provider = Provider::new(1_185, |text| u64::from(Approximate.count(text)));
    let (run, said) = run(&session, 2_000, &mut provider).await;
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
    assert!(guard.flush(Duration::from_secs(60)));
    assert_eq!(anchors.load(Ordering::Relaxed), compactions);
    let mut known: Vec<MessageId> = events.lock().unwrap().iter().map(|gone| gone.id()).collect();
    known.extend(
        session.read(|now| now.messages().iter().map(|here| here.id()).collect::<Vec<_>>()),
    );
    known.sort_unstable();
    known.dedup();
    assert!(known.len() >= 2 + 2 * 2_000, "{}", known.len());
    // And the archive gives back all that was said.
    session.sync().await.unwrap();
    let original = archive.original("long", &session.conversation()).unwrap();
    assert_eq!(
        (original.compactions, original.flaws, original.damage),
        (compactions, vec![], vec![])
    );
    assert!(original.conversation.messages() == said);
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
        let (run, _) = run(&session, 800, &mut provider).await;
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
    session.push(Role::User, [Part::text("Make all tests pass.")]).unwrap();
    let outputs = outputs();
    let (mut silent, mut size, steps) = (0, 1_000, 400);
    for index in 0..steps {
        let before = counter.0.load(Ordering::Relaxed);
        let call = session.before_call(Some(TOOLS)).await.unwrap();
        silent += usize::from(counter.0.load(Ordering::Relaxed) == before);
        if let Some(compaction) = &call.compaction {
            size = compaction.after;
        }
        let id = format!("call_{index}");
        let name = "shell".to_owned();
        let parts = [Part::ToolCall(ToolCall {
            id: id.clone().into(),
            name: name.into(),
            arguments: "{}".into(),
        })];
        session.after_call(&call, parts, Some(Usage { input: size, output: 8 })).unwrap();
        // Of the length that results have in sessions where they are capped.
        let output = &outputs[index % outputs.len()];
        let output = &output.as_bytes()[..output.len().min(6_000)];
        session.tool_result(&id, "shell", output.to_vec(), false).await.unwrap();
        size += 12 + output.len() as u64 / 4;
    }
    assert!(silent * 10 >= steps * 9, "{silent} of {steps}");
}

/// A counter that says how often it was asked on this thread.
struct OnThis(ThreadId, AtomicUsize);

impl TokenCounter for OnThis {
    fn id(&self) -> &'static str {
        "on this thread"
    }

    fn count(&self, text: &str) -> u32 {
        let here = std::thread::current().id() == self.0;
        self.1.fetch_add(usize::from(here), Ordering::Relaxed);
        Approximate.count(text)
    }

    fn bounds(&self, bytes: usize) -> (u32, u32) {
        Approximate.bounds(bytes)
    }
}

#[tokio::test]
async fn a_session_that_goes_on_is_counted_where_it_holds_nobody_up() {
    let counter = Arc::new(OnThis(std::thread::current().id(), AtomicUsize::new(0)));
    let session =
        Guard::new(policy(1_000_000, Arc::clone(&counter) as _)).resume("long", steps(300));
    assert!(session.before_call(Some(TOOLS)).await.unwrap().compaction.is_none());
    assert!(session.size(Some(TOOLS)) > 20_000);
    // The schemas of the tools.
    assert_eq!(counter.1.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_agent_that_keeps_json_is_guarded_alike() {
    let guard = Guard::new(policy(WINDOW, Arc::new(Approximate)));
    let (outputs, name) = (outputs(), "shell");
    for format in Format::ALL {
        let session = guard.session(format.name());
        let mut provider = Provider::new(700, |text| u64::from(Approximate.count(text)));
        let (key, request) = ("messages", "Make all tests pass.");
        let (key, first) = match format {
            Format::OpenaiResponses => ("input", json!({"role": "user", "content": request})),
            Format::Gemini => ("contents", json!({"role": "user", "parts": [{"text": request}]})),
            _ => (key, json!({"role": "user", "content": request})),
        };
        let mut messages = vec![first];
        let (mut usage, mut compactions) = (None, 0);
        for index in 0..150 {
            let request = json!({"model": "m", key: messages}).to_string();
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
            messages = body[key].as_array().unwrap().clone();
            let id = format!("call_{index}");
            let output = outputs[index % outputs.len()].clone().into_bytes();
            let text = session.capped(name, output).await;
            let (call, result) = match format {
                Format::OpenaiChat => (
                    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id,
                        "type": "function", "function": {"name": name, "arguments": "{}"}}]}),
                    json!({"role": "tool", "tool_call_id": id, "content": text}),
                ),
                Format::OpenaiResponses => (
                    json!({"type": "function_call", "call_id": id, "name": name, "arguments": "{}"}),
                    json!({"type": "function_call_output", "call_id": id, "output": text}),
                ),
                Format::Gemini => (
                    json!({"role": "model",
                        "parts": [{"functionCall": {"name": name, "args": {}}}]}),
                    json!({"role": "user", "parts": [{"functionResponse":
                        {"name": name, "response": {"output": text}}}]}),
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
