//! A server on this machine that does what a test says, well or badly.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What the server does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Turn {
    /// Answers with these bytes, and hangs up.
    Say(Vec<u8>),
    /// The same, a few bytes at a time.
    Dribble(Vec<u8>),
    /// Says one after the other with so much time before each, and keeps the line open.
    Slowly(Vec<String>, Duration),
    /// Resets the connection before the request was read.
    Reset,
    /// Reads the request, and nothing more until the other side is gone.
    Hang,
}

/// The interface that a test speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Openai,
    Anthropic,
}

impl Speaks {
    pub(crate) const BOTH: [Self; 2] = [Self::Openai, Self::Anthropic];

    pub(crate) fn backend(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// An answer with this text, which ended for this reason (in OpenAI's words). It bills 900 tokens, 300 of them from
    /// a cache, and 40.
    pub(crate) fn answer(self, text: &str, finish: &str) -> Value {
        match self {
            Self::Openai => {
                let calls = match finish {
                    "tool_calls" => {
                        json!([{ "id": "1", "type": "function", "function": { "name": "x", "arguments": "{}" } }])
                    }
                    _ => Value::Null,
                };
                let message = json!({ "role": "assistant", "content": text, "tool_calls": calls });
                let usage = json!({ "prompt_tokens": 900, "completion_tokens": 40,
                    "prompt_tokens_details": { "cached_tokens": 300 } });
                let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
                json!({ "choices": [choice], "usage": usage })
            }
            Self::Anthropic => {
                let reason = match finish {
                    "stop" => "end_turn",
                    "length" => "max_tokens",
                    "tool_calls" => "tool_use",
                    other => other,
                };
                let content = json!([
                    { "type": "thinking", "thinking": "hm", "signature": "x" },
                    { "type": "text", "text": text },
                ]);
                let usage = json!({ "input_tokens": 600, "cache_read_input_tokens": 300, "output_tokens": 40 });
                json!({ "type": "message", "role": "assistant", "content": content, "stop_reason": reason,
                    "usage": usage })
            }
        }
    }
}

impl Speaks {
    /// The same answer as its events, each whole with its empty line. Ends as each interface ends it.
    pub(crate) fn events(self, text: &str, finish: &str) -> Vec<String> {
        let whole = self.answer(text, finish);
        let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        let halves = [&text[..middle], &text[middle..]];
        match self {
            Self::Openai => openai_events(&whole, halves, finish),
            Self::Anthropic => anthropic_events(&whole, halves, finish),
        }
    }
}

fn openai_events(whole: &Value, halves: [&str; 2], finish: &str) -> Vec<String> {
    let data = |data: Value| format!("data: {data}\n\n");
    let choice = |delta: Value, finish: Value| {
        data(json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }))
    };
    let calls = &whole["choices"][0]["message"]["tool_calls"];
    let begins = json!({ "role": "assistant", "content": "" });
    let mut events = vec![": processing\n\n".to_owned(), choice(begins, Value::Null)];
    events.extend(halves.map(|half| choice(json!({ "content": half }), Value::Null)));
    events.push(choice(json!({ "tool_calls": calls }), finish.into()));
    events.push(data(json!({ "choices": [], "usage": whole["usage"] })));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn anthropic_events(whole: &Value, halves: [&str; 2], finish: &str) -> Vec<String> {
    let event =
        |body: Value| format!("event: {}\r\ndata: {body}\r\n\r\n", body["type"].as_str().unwrap());
    let delta =
        |delta: Value| event(json!({ "type": "content_block_delta", "index": 1, "delta": delta }));
    let begins = |kind: &str| {
        let block = json!({ "type": kind, "text": "" });
        event(json!({ "type": "content_block_start", "index": 1, "content_block": block }))
    };
    let usage = &whole["usage"];
    let start = json!({ "input_tokens": usage["input_tokens"], "output_tokens": 1,
        "cache_read_input_tokens": usage["cache_read_input_tokens"] });
    let mut events = vec![
        event(json!({ "type": "message_start", "message": { "usage": start } })),
        event(json!({ "type": "ping" })),
        begins("thinking"),
        delta(json!({ "type": "thinking_delta", "thinking": "hm" })),
        begins("text"),
    ];
    events.extend(halves.map(|half| delta(json!({ "type": "text_delta", "text": half }))));
    events.extend((finish == "tool_calls").then(|| begins("tool_use")));
    events.push(event(json!({ "type": "content_block_stop", "index": 1 })));
    events.push(event(json!({ "type": "message_delta",
        "delta": { "stop_reason": whole["stop_reason"] },
        "usage": { "output_tokens": usage["output_tokens"] } })));
    events.push(event(json!({ "type": "message_stop" })));
    events
}

/// The head of a response in pieces, whose end is the end of the connection.
pub(crate) const STREAM: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n";

/// These events, and then hangs up.
pub(crate) fn streams(events: &[String]) -> Turn {
    Turn::Say([STREAM, &events.concat()].concat().into_bytes())
}

/// A whole response.
pub(crate) fn http(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let length = body.len();
    let mut bytes =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A response with this JSON.
pub(crate) fn says(status: &str, body: &Value) -> Turn {
    Turn::Say(http(status, "Content-Type: application/json\r\n", body.to_string()))
}

/// A server, which does one turn after the other, the last one from then on.
pub(crate) struct Peer {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    gone: Arc<Mutex<usize>>,
}

impl Peer {
    pub(crate) fn new(turns: Vec<Turn>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, gone) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
        let (requests, hung_up) = (Arc::clone(&seen), Arc::clone(&gone));
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let turn = turns[number.min(turns.len() - 1)].clone();
                let (requests, hung_up) = (Arc::clone(&requests), Arc::clone(&hung_up));
                std::thread::spawn(move || take(stream.unwrap(), turn, &requests, &hung_up));
            }
        });
        Self { port, seen, gone }
    }

    /// A port that nobody listens on.
    pub(crate) fn nobody() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.local_addr().unwrap().port()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The requests so far, as they came.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// How many connections the other side gave up while nothing was said.
    pub(crate) fn gone(&self) -> usize {
        *self.gone.lock().unwrap()
    }
}

fn take(mut stream: TcpStream, turn: Turn, seen: &Mutex<Vec<String>>, gone: &Mutex<usize>) {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    if matches!(turn, Turn::Reset) {
        // What was not read when a socket is closed makes the system reset the connection.
        let _ = stream.peek(&mut [0; 1]);
        seen.lock().unwrap().push(String::new());
        return;
    }
    seen.lock().unwrap().push(request(&mut stream));
    match turn {
        // The client may have heard enough.
        Turn::Say(bytes) => drop(stream.write_all(&bytes)),
        Turn::Dribble(bytes) => {
            for piece in bytes.chunks(7) {
                if stream.write_all(piece).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        Turn::Slowly(pieces, gap) => {
            for piece in pieces {
                std::thread::sleep(gap);
                if stream.write_all(piece.as_bytes()).is_err() {
                    return;
                }
            }
            let _ = stream.read(&mut [0; 1]);
        }
        Turn::Hang | Turn::Reset => {
            if let Ok(0) | Err(_) = stream.read(&mut [0; 1]) {
                *gone.lock().unwrap() += 1;
            }
        }
    }
}

fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length =
                length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text.into_owned();
            }
        }
        match stream.read(&mut buffer) {
            Ok(read @ 1..) => bytes.extend_from_slice(&buffer[..read]),
            _ => return text.into_owned(),
        }
    }
}
