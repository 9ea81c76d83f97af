//! Drives sessions that are on disk: by the steps of a case, or by several writers at once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

use brute_core::{Part, Role};
use brute_host::guard::{Guard, Policy, Session};
use brute_host::ladder::Outcome;
use brute_host::session_log::{LogError, Opened, SessionLog};
use brute_host::tokens::{CounterKind, counter};
use brute_host::truncation::{TruncateOptions, Truncator};
use serde_json::{Value, json};

use super::run::{Pass, Run, Stored};
use super::session::ladder;
use super::settings;
use super::summarizer::Fake;
use super::wire::items;

type Failed = Box<dyn std::error::Error>;

/// Takes the steps of a case.
///
/// # Errors
/// If there are none that are known, or one fails.
pub(crate) fn run(input: &Value, settings: &Value, kind: CounterKind) -> Result<Run, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join(input["file"].as_str().unwrap_or("session.jsonl"));
    let run = match input["writers"].as_u64() {
        Some(writers) => written_by(writers, input, &path),
        None => Store::new(settings, kind, path).and_then(|store| store.take(input)),
    };
    let mut run = run.map_err(|error| error.to_string())?;
    // A store keeps conversations of all formats alike: lists go in and come out in one of them.
    (run.format, run.settings) = ("openai_chat".into(), settings.clone());
    Ok(run)
}

fn guard(settings: &Value, kind: CounterKind, fake: Option<Arc<Fake>>) -> Result<Guard, Failed> {
    let room = settings::room(settings, kind, None).map_err(|(_, words)| words)?;
    let compactor = ladder(&room, room.1.budget, counter(kind), fake);
    let options = TruncateOptions { spill: None, ..TruncateOptions::default() };
    Ok(Guard::new(Policy::new(compactor, Truncator::new(options)?)))
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// A session on disk, and the list that its agent has.
struct Store {
    guard: Guard,
    fake: Option<Arc<Fake>>,
    path: PathBuf,
    session: Option<Session>,
    list: Vec<Value>,
    run: Run,
}

impl Store {
    fn new(settings: &Value, kind: CounterKind, path: PathBuf) -> Result<Self, Failed> {
        let fake = Fake::new(settings, counter(kind)).map(Arc::new);
        let guard = guard(settings, kind, fake.clone())?;
        Ok(Self { guard, fake, path, session: None, list: Vec::new(), run: Run::default() })
    }

    fn take(mut self, input: &Value) -> Result<Run, Failed> {
        self.list = chat(items(&input["store_items"]));
        self.run.given = self.list.clone();
        self.load()?;
        for step in items(&input["do"]).iter().filter_map(Value::as_str) {
            match step {
                "compact" => self.compact()?,
                "append and compact again" => {
                    self.list.extend((1..=8).flat_map(one_more));
                    self.compact()?;
                }
                "save" => self.save()?,
                "load" => self.load()?,
                // Whoever asks counts.
                "count" => {}
                other => return Err(format!("unknown step `{other}`").into()),
            }
        }
        self.run.fed = self.list.clone();
        self.run.requests = self.fake.map(|fake| fake.requests()).unwrap_or_default();
        self.run.stored.file = std::fs::read_to_string(&self.path)?;
        Ok(self.run)
    }

    fn session(&self) -> Result<&Session, Failed> {
        Ok(self.session.as_ref().ok_or("there is no session")?)
    }

    fn compact(&mut self) -> Result<(), Failed> {
        let request = json!({ "messages": self.list }).to_string();
        let before = (request.clone(), self.list.clone());
        let fitted = runtime()?.block_on(self.session()?.fit(request, None))?;
        let body: Value = serde_json::from_slice(&fitted.request)?;
        self.list = items(&body["messages"]).to_vec();
        let status = match fitted.compaction.map(|done| done.outcome) {
            None | Some(Outcome::BelowTrigger) => "noop",
            Some(Outcome::Fitted) => "fitted",
            Some(Outcome::Partial { .. } | Outcome::Nothing { .. }) => "cannot_reach_target",
        };
        self.run.passes.push(Pass {
            step: "compact".into(),
            before_text: before.0,
            before: before.1,
            text: body.to_string(),
            list: self.list.clone(),
            body,
            statuses: vec![status.into()],
            has_output: true,
            ..Pass::default()
        });
        Ok(())
    }

    /// All is saved as it happens: what is in the file now, another reader says.
    fn save(&mut self) -> Result<(), Failed> {
        let logged = SessionLog::read(&self.path)?;
        let pair = (self.session()?.conversation(), logged.conversation);
        self.run.stored.saved.push(pair);
        Ok(())
    }

    /// Begins anew with what is in the file.
    fn load(&mut self) -> Result<(), Failed> {
        self.session = None;
        let session = self.guard.logged("case", SessionLog::open(&self.path)?);
        self.run.stored.loaded = session.conversation();
        self.session = Some(session);
        Ok(())
    }
}

/// Another step, as those that the cases have.
fn one_more(index: u32) -> [Value; 2] {
    let (id, arguments) = (format!("n{index}"), json!({ "path": format!("n{index}.txt") }));
    let function = json!({ "name": "read_file", "arguments": arguments.to_string() });
    let call = json!({ "id": id, "type": "function", "function": function });
    let text = format!("NEW{index} {}", "word ".repeat(150));
    [
        json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
        json!({ "role": "tool", "tool_call_id": id, "content": text }),
    ]
}

/// Messages of OpenAI Chat that say what `items` say, where those are of the Responses format: a store keeps the
/// conversation, whatever its format was.
fn chat(items: &[Value]) -> Vec<Value> {
    let message = |item: &Value| match item["type"].as_str() {
        Some("function_call") => {
            let function = json!({ "name": item["name"], "arguments": item["arguments"] });
            let call = json!({ "id": item["call_id"], "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        }
        Some("function_call_output") => {
            json!({ "role": "tool", "tool_call_id": item["call_id"], "content": item["output"] })
        }
        Some(_) => json!({ "role": item["role"], "content": item["content"] }),
        None => item.clone(),
    };
    items.iter().map(message).collect()
}

/// Lets several append to one file, each for itself as processes do, and compact it now and then, while another
/// reads it.
fn written_by(writers: u64, input: &Value, path: &Path) -> Result<Run, Failed> {
    let each = input["appends_each"].as_u64().unwrap_or(0);
    let wanted = input["compactions"].as_u64().unwrap_or(0) as usize;
    drop(SessionLog::open(path)?);
    let (acknowledged, is_over) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let settings =
        json!({ "window": 2_000, "trigger": 1_000, "target": 500, "ladder": ["sliding_window"] });
    let write = |writer| {
        let guard =
            guard(&settings, CounterKind::Approximate, None).map_err(|error| error.to_string())?;
        let written = (0..each).try_for_each(|index| {
            let said = format!("message {index} of writer {writer}, and some more words behind it");
            append(&guard, path, &said, index % 5 == 0)?;
            acknowledged.lock().unwrap_or_else(PoisonError::into_inner).push(said);
            Ok(())
        });
        is_over.fetch_add(1, Ordering::Relaxed);
        written.map_err(|error: Failed| error.to_string())
    };
    let read = || {
        let mut broken = Vec::new();
        while is_over.load(Ordering::Relaxed) < writers as usize {
            let text = std::fs::read(path).unwrap_or_default();
            let lines = text.split_inclusive(|byte| *byte == b'\n');
            let whole = lines.filter(|line| line.ends_with(b"\n"));
            let wrong = whole.filter(|line| serde_json::from_slice::<Value>(line).is_err());
            broken.extend(wrong.map(|line| String::from_utf8_lossy(line).into_owned()));
            broken.extend(SessionLog::read(path).err().map(|error| error.to_string()));
        }
        broken
    };
    let (results, broken) = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..writers).map(|writer| scope.spawn(move || write(writer))).collect();
        let broken = scope.spawn(read).join();
        (threads.into_iter().map(ScopedJoinHandle::join).collect::<Vec<_>>(), broken)
    });
    for result in results {
        result.map_err(|_| "a writer panicked")??;
    }
    let logged = SessionLog::read(path)?;
    if logged.compactions < wanted {
        return Err(format!("only {} compactions of {wanted}", logged.compactions).into());
    }
    let stored = Stored {
        loaded: logged.conversation,
        file: std::fs::read_to_string(path)?,
        acknowledged: acknowledged.into_inner().unwrap_or_else(PoisonError::into_inner),
        broken: broken.map_err(|_| "the reader panicked")?,
        ..Stored::default()
    };
    Ok(Run { stored, ..Run::default() })
}

/// Appends a message as soon as nobody else has the file, as a process that does nothing else.
fn append(guard: &Guard, path: &Path, said: &str, compact: bool) -> Result<(), Failed> {
    let session = guard.logged("one of several", when_free(path)?);
    session.push(Role::User, [Part::text(said)])?;
    session.push(Role::Assistant, [Part::text("I see.")])?;
    if compact {
        runtime()?.block_on(session.before_call(None))?;
    }
    Ok(())
}

fn when_free(path: &Path) -> Result<Opened, LogError> {
    loop {
        match SessionLog::open(path) {
            Err(LogError::InUse { .. }) => std::thread::yield_now(),
            opened => return opened,
        }
    }
}
