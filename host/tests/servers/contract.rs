//! The same against a server of others, which answers as each provider does.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use brute_core::{CompletionError, Prompt, Stop};
use serde_json::Value;

use super::ladder::{SUMMARY, config, descend, runtime, session, summarizer};
use super::peer::Speaks;

fn port() -> u16 {
    std::env::var("BRUTE_MOCK_SERVER").unwrap().parse().unwrap()
}

/// What the server was asked.
fn journal() -> Vec<Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port())).unwrap();
    let request = "GET /__aimock/journal HTTP/1.0\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (from, to) = (text.find('[').unwrap(), text.rfind(']').unwrap());
    serde_json::from_str(&text[from..=to]).unwrap()
}

#[test]
#[ignore = "needs a mock server: `cargo xtask ci --step contract`"]
fn every_kind_of_answer_is_understood() {
    for speaks in Speaks::BOTH {
        let summarizer =
            summarizer(&config(speaks, port(), "retries = 1\ntimeout = \"20s\"", "stop"));
        let ask = |input: &str| {
            let prompt =
                Prompt { instructions: "Sum it up.".into(), input: input.into(), max_tokens: 99 };
            runtime().block_on(summarizer.complete(&prompt))
        };
        let answer = ask("plain").unwrap();
        assert_eq!((answer.text.as_str(), answer.stop), (SUMMARY, Stop::End), "{speaks:?}");
        assert_eq!(ask("calls").unwrap().stop, Stop::ToolCall, "{speaks:?}");
        assert_eq!(ask("cut").unwrap().stop, Stop::Length, "{speaks:?}");
        let long = ask("too long");
        assert_eq!(long, Err(CompletionError::TooLong { limit: Some(8_192) }), "{speaks:?}");
        for (input, words) in
            [("key", "answered 401: no such key"), ("busy", "answered 429: too many")]
        {
            let error = ask(input).unwrap_err().to_string();
            assert!(error.contains(words), "{speaks:?}: {error}");
        }
        // One try more where that may help.
        let path = match speaks {
            Speaks::Openai => "/v1/chat/completions",
            Speaks::Anthropic => "/v1/messages",
        };
        let asked = |input: &str| {
            let is_it = |entry: &&Value| {
                entry["path"] == path && entry["body"].to_string().contains(&format!("\"{input}\""))
            };
            journal().iter().filter(is_it).count()
        };
        assert_eq!((asked("plain"), asked("key"), asked("busy")), (1, 1, 2), "{speaks:?}");
    }
}

#[test]
#[ignore = "needs a mock server: `cargo xtask ci --step contract`"]
fn a_conversation_is_summarized() {
    for speaks in Speaks::BOTH {
        let descent = descend(&config(speaks, port(), "", "stop"), &session());
        assert_eq!(descent.done.rungs[0].result.name(), "applied", "{:?}", descent.done.rungs);
        assert!(descent.written.contains("Reports were read."), "{}", descent.written);
    }
}
