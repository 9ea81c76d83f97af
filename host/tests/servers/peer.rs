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
