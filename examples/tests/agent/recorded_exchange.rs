//! A whole session against a recorded exchange: long results are cut, the conversation is compacted and archived, the agent
//! is killed twice and goes on, and its last answer needs what was compacted.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::peer::{Answer, Peer, Request};
use super::program::{KEY, Killed, agent};

const RECORDED: &str = include_str!("recorded_exchange.json");

/// By the count of [`Server`], which the agent is not told.
const WINDOW: usize = 6_000;
const LONGEST_REPLY: usize = 600;

const CONFIGURATION: &str = r#"
version = 1

[window]
size = 6_000
counter = "approximate"

[truncate]
max-bytes = "2KB"

[[ladder]]
layer = "tool-results"
min-tokens = 60

[[ladder]]
layer = "sliding-window"
keep-steps = 4
"#;

/// Plays the recorded side of the exchange, as strictly as a provider and a bit more.
struct Server {
    exchange: Vec<Value>,
    /// How many answers were given.
    at: usize,
    /// The request that was not answered, when the agent was killed.
    unanswered: Option<Vec<u8>>,
    taken: HashMap<String, String>,
    /// The messages of the request before.
    before: Vec<Value>,
    /// How often the messages that were sent before were changed.
    compactions: usize,
    killer: Sender<String>,
}

impl Server {
    fn answer(&mut self, request: &Request) -> Result<Answer, String> {
        let entry = self.exchange.get(self.at).ok_or("more requests than recorded")?.clone();
        let body = request.json();
        let messages = body["messages"].as_array().ok_or("no messages")?;
        let tokens = checked(&body, messages)?;
        self.compare(messages);
        self.expect(&entry, messages).map_err(|error| format!("request {}: {error}", self.at))?;
        if entry["kill"] == "at once" && self.unanswered.is_none() {
            self.unanswered = Some(request.bytes.clone());
            self.killer.send("at once".into()).unwrap();
            return Ok(Answer::None);
        }
        if let Some(bytes) = self.unanswered.take()
            && bytes != request.bytes
        {
            return Err("the session that goes on sends another request".into());
        }
        if let Some(when) = entry["kill"].as_str().filter(|when| *when != "at once") {
            self.killer.send(when.into()).unwrap();
        }
        let message = self.message(&entry);
        let reply = message.to_string().len() / 3;
        self.at += 1;
        Ok(Answer::ok(&json!({
            "object": "chat.completion",
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": tokens, "completion_tokens": reply, "total_tokens": tokens + reply },
        })))
    }

    /// Messages stay as they were sent, for the sake of prompt caches, unless there was a compaction.
    fn compare(&mut self, messages: &[Value]) {
        if !messages.starts_with(&self.before) {
            self.compactions += 1;
        }
        self.before = messages.to_vec();
    }

    fn expect(&mut self, entry: &Value, messages: &[Value]) -> Result<(), String> {
        let newest = messages.last().and_then(|message| message["content"].as_str());
        let newest = newest.ok_or("the newest message says nothing")?;
        let all = Value::from(messages).to_string();
        let texts =
            |key: &str| entry[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        let missing = texts("sees").find(|text| !newest.contains(text));
        let missing = missing.or_else(|| texts("has").find(|text| !all.contains(text)));
        if let Some(text) = missing {
            return Err(format!("no `{text}` in {newest:?}"));
        }
        if let Some(text) = texts("misses").find(|text| all.contains(text)) {
            return Err(format!("`{text}` is in it"));
        }
        for (name, place) in entry["takes"].as_object().into_iter().flatten() {
            let answer = |message: &&Value| message["tool_call_id"] == place["call"];
            let from = match place.get("call") {
                Some(_) => messages.iter().find(answer).and_then(|found| found["content"].as_str()),
                None => Some(newest),
            };
            let (after, until) =
                (place["after"].as_str().unwrap(), place["until"].as_str().unwrap());
            let taken = from.and_then(|text| Some(text.split_once(after)?.1.split_once(until)?.0));
            let taken = taken.ok_or_else(|| format!("nothing to take for {name} in {from:?}"))?;
            self.taken.insert(format!("{{{name}}}"), taken.to_owned());
        }
        Ok(())
    }

    fn message(&self, entry: &Value) -> Value {
        let calls =
            entry["calls"].as_array().into_iter().flatten().enumerate().map(|(index, call)| {
                let mut arguments = call["arguments"].to_string();
                for (name, text) in &self.taken {
                    arguments = arguments.replace(name, text);
                }
                json!({
                    "id": format!("call-{}-{index}", self.at),
                    "type": "function",
                    "function": { "name": call["name"], "arguments": arguments },
                })
            });
        let mut message = json!({ "role": "assistant", "content": entry["says"] });
        let calls: Vec<_> = calls.collect();
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        message
    }
}

/// The size of a request, if a provider would take it: about a quarter more than the agent's counter finds.
fn checked(body: &Value, messages: &[Value]) -> Result<usize, String> {
    if messages[0]["role"] != "system" || body["tools"].as_array().map_or(0, Vec::len) != 3 {
        return Err("no instructions, or no tools".into());
    }
    let mut open: Vec<&Value> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match message["role"].as_str() {
            Some("tool") => {
                let answered = open.iter().position(|id| **id == message["tool_call_id"]);
                open.remove(answered.ok_or(format!("message {index} answers no call"))?);
            }
            _ if !open.is_empty() => return Err(format!("calls before message {index} are open")),
            _ => {}
        }
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.map(|call| &call["id"]));
    }
    let text = |value: &Value| value.as_str().map_or(0, |text| text.chars().count());
    let size = |message: &Value| {
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let calls = calls
            .map(|call| text(&call["function"]["name"]) + text(&call["function"]["arguments"]));
        25 + text(&message["content"]) + calls.sum::<usize>()
    };
    let chars = body["tools"].to_string().len() + messages.iter().map(size).sum::<usize>();
    let tokens = chars * 5 / 16;
    if tokens + LONGEST_REPLY > WINDOW {
        return Err(format!("{tokens} tokens leave no room for a reply"));
    }
    if !open.is_empty() {
        return Err("calls are open".into());
    }
    Ok(tokens)
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(path, to).unwrap();
        }
    }
}

#[test]
fn a_session_outgrows_its_window_is_killed_and_goes_on() {
    let around = tempfile::tempdir().unwrap();
    std::fs::write(around.path().join("outside"), "none of the model's business").unwrap();
    let folder = &around.path().join("work");
    copy(&brute_examples::sessions().join("workbench"), folder);
    std::fs::write(folder.join("brute.toml"), CONFIGURATION).unwrap();
    let recorded: Value = serde_json::from_str(RECORDED).unwrap();
    let exchange = recorded["exchange"].as_array().unwrap().clone();
    let (killer, kills) = channel();
    let mut server = Server {
        exchange,
        at: 0,
        unanswered: None,
        taken: HashMap::new(),
        before: Vec::new(),
        compactions: 0,
        killer,
    };
    let (count, counted) = channel();
    let peer = Peer::start(move |request| {
        let answer = server.answer(request);
        count.send((server.at, server.compactions)).unwrap();
        answer
    });

    let options = ["--yes", "--max-tokens", "600"];
    let begin = |more: &[&str]| {
        let mut agent = agent(folder, &peer.url);
        Killed(
            agent
                .args(options)
                .args(more)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        )
    };
    let mut running = begin(&[recorded["prompt"].as_str().unwrap()]);
    for _ in 0..2 {
        let begun = Instant::now();
        let when = loop {
            peer.check();
            assert!(begun.elapsed() < Duration::from_secs(60), "the agent got stuck");
            if let Ok(when) = kills.recv_timeout(Duration::from_millis(20)) {
                break when;
            }
        };
        while when != "at once" && !folder.join("begun").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(running);
        let sessions: Vec<_> = folder.join(".agent/sessions").read_dir().unwrap().collect();
        assert_eq!(sessions.len(), 1);
        let name = sessions[0].as_ref().unwrap().path();
        running = begin(&["--resume", name.file_stem().unwrap().to_str().unwrap()]);
    }
    let mut child = running;
    let (mut out, mut err) = (String::new(), String::new());
    std::io::Read::read_to_string(child.0.stdout.as_mut().unwrap(), &mut out).unwrap();
    std::io::Read::read_to_string(child.0.stderr.as_mut().unwrap(), &mut err).unwrap();
    peer.check();
    assert_eq!(out, "A `LexError` has the code E101; `lantern/tokens.py` raises it.\n", "{err}");
    assert_eq!(child.0.wait().unwrap().code(), Some(0));

    // All that was to happen did, and is written down.
    let events = std::fs::read_to_string(folder.join(".agent/events.jsonl")).unwrap();
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    let (answers, changes) = counted.try_iter().last().unwrap();
    assert_eq!(answers, recorded["exchange"].as_array().unwrap().len());
    assert!(told("truncated") >= 4 && told("compacted") >= 2, "{events:?}");
    assert_eq!((told("compacted"), told("not-archived")), (changes, 0), "{events:?}");
    assert!(err.contains("; ratio 1.2"), "{err}");
    for file in walk(folder) {
        let text = std::fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains(KEY), "the key is in `{}`", file.display());
    }
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
