//! A server on loopback that answers as it is told to.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// What an agent sent.
pub(crate) struct Request {
    pub(crate) headers: HashMap<String, String>,
    pub(crate) bytes: Vec<u8>,
}

impl Request {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }
}

pub(crate) enum Answer {
    /// A status with what may follow the number, further headers, a body.
    Is(&'static str, &'static str, String),
    /// None, ever.
    None,
}

impl Answer {
    pub(crate) fn ok(body: &Value) -> Self {
        Self::Is("200 OK", "", body.to_string())
    }
}

pub(crate) struct Peer {
    pub(crate) url: String,
    /// What went wrong on this side; a test asks for it at its end.
    wrong: Arc<Mutex<Option<String>>>,
}

impl Peer {
    /// Answers one request after the other, each by a call of `answer`. What that refuses with words fails the test.
    pub(crate) fn start(
        mut answer: impl FnMut(&Request) -> Result<Answer, String> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let wrong = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&wrong);
        std::thread::spawn(move || {
            let mut unanswered = Vec::new();
            for stream in listener.incoming().flatten() {
                let Some(request) = read(&stream) else { continue };
                match answer(&request) {
                    Ok(Answer::None) => unanswered.push(stream),
                    Ok(Answer::Is(status, headers, body)) => write(stream, status, headers, &body),
                    Err(error) => {
                        write(stream, "500 Test Failed", "", &error);
                        noted.lock().unwrap().get_or_insert(error);
                    }
                }
            }
        });
        Self { url, wrong }
    }

    pub(crate) fn check(&self) {
        let wrong = self.wrong.lock().unwrap().take();
        assert_eq!(wrong, None);
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().map(|_| line.trim_end().to_owned())
    };
    assert_eq!(line()?, "POST /v1/chat/completions HTTP/1.1");
    let mut headers = HashMap::new();
    while let Some((name, value)) = line()?.split_once(": ") {
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    let mut bytes = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut bytes).ok()?;
    Some(Request { headers, bytes })
}

fn write(mut stream: TcpStream, status: &str, headers: &str, body: &str) {
    let length = body.len();
    // An agent that was killed meanwhile does not listen any more.
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
}
