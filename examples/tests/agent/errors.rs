//! What a person is told when there is no answer, and what is never told.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;

use super::peer::{Answer, Peer};
use super::program::{KEY, agent, ended};

/// The answers of a server, one after the other; what the agent prints, or says of it.
type Case =
    (&'static [(&'static str, &'static str, &'static str)], Result<&'static str, &'static str>);

const HELLO: &str = r#"{"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}"#;
const BUSY: &str = r#"{"error": {"message": "slow down", "type": "rate_limit_exceeded"}}"#;

const CASES: &[Case] = &[
    (&[("200 OK", "", HELLO)], Ok("Hello.\n")),
    (&[("429 Too Many", "Retry-After: 1\r\n", BUSY), ("200 OK", "", HELLO)], Ok("Hello.\n")),
    (
        &[("429 Too Many", "Retry-After: 1\r\n", BUSY), ("429 Too Many", "", BUSY)],
        Err("the server is still busy: slow down"),
    ),
    (
        // A server that says too much of what it got.
        &[("401 Unauthorized", "", r#"{"error": {"message": "wrong: sk-the-key-of-this-test"}}"#)],
        Err("the server takes no such key (401 Unauthorized); `--key-from` names"),
    ),
    (
        &[(
            "400 Bad Request",
            "",
            r#"{"error": {"code": 400, "message":
            "request (12030 tokens) exceeds the available context size (8192 tokens), try increasing it",
            "type": "exceed_context_size_error", "n_prompt_tokens": 12030, "n_ctx": 8192}}"#,
        )],
        Err("the model's window is smaller than it is said to be: request (12030 tokens) exceeds"),
    ),
    (
        &[(
            "400 Bad Request",
            "",
            r#"{"error": {"message": "This model's maximum context length is 8192 tokens.",
            "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}"#,
        )],
        Err("give its size as `--window`"),
    ),
    (
        &[("400 Bad Request", "", r#"{"error": {"message": "no such model"}}"#)],
        Err("the server refused (400 Bad Request): no such model"),
    ),
    (&[("502 Bad Gateway", "", "<html>")], Err("the server refused (502 Bad Gateway): <html>")),
    (
        &[("200 OK", "", "<html>")],
        Err("answered what is no JSON: expected value at line 1 column 1"),
    ),
    (&[("200 OK", "", r#"{"error": "what?"}"#)], Err("answered no chat completion")),
];

/// A working folder, for a model of which nobody has a tokenizer.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = "version = 1\n[window]\nsize = 8192\ncounter = \"approximate\"\n";
    std::fs::write(folder.path().join("brute.toml"), text).unwrap();
    folder
}

#[test]
fn what_goes_wrong_is_told_in_words_and_the_key_is_not() {
    for (answers, expected) in CASES {
        let folder = folder();
        let mut answers = answers.iter();
        let peer = Peer::start(move |request| {
            let key = request.headers.get("authorization").map(String::as_str);
            if key != Some(&format!("Bearer {KEY}")) {
                return Err(format!("the key is {key:?}"));
            }
            let (status, headers, body) = answers.next().ok_or("asked once more")?;
            Ok(Answer::Is(status, headers, (*body).to_owned()))
        });
        let mut agent = agent(folder.path(), &peer.url);
        let (code, out, err) = ended(agent.args(["hello"]).output().unwrap());
        peer.check();
        match expected {
            Ok(answer) => assert_eq!((code, out.as_str()), (Some(0), *answer), "{err}"),
            Err(words) => assert!(code == Some(1) && err.contains(words), "{err}"),
        }
        assert!(!err.contains(KEY) && !err.contains("panicked"), "{err}");
    }
}

#[test]
fn a_server_that_is_not_there_is_told() {
    let folder = folder();
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1");
    let mut agent = agent(folder.path(), &url);
    let (code, _, err) = ended(agent.args(["hello"]).output().unwrap());
    let words = format!("cannot reach `{url}/chat/completions`: Connection refused");
    assert!(code == Some(1) && err.contains(&words), "{err}");
}

#[test]
fn a_command_runs_only_if_it_is_allowed() {
    for (options, runs) in [(&[][..], false), (&["--yes"], true)] {
        let folder = folder();
        let mut asked = 0;
        let peer = Peer::start(move |request| {
            asked += 1;
            let function =
                json!({ "name": "shell", "arguments": r#"{"command": "echo ran > ran"}"# });
            let call = json!({ "id": "c", "type": "function", "function": function });
            let message = match asked {
                1 => json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
                _ => {
                    let request = request.json();
                    json!({ "role": "assistant", "content": request["messages"][3]["content"] })
                }
            };
            Ok(Answer::ok(&json!({ "choices": [{ "message": message }] })))
        });
        let mut agent = agent(folder.path(), &peer.url);
        let ended = ended(agent.args(["go"]).args(options).output().unwrap());
        peer.check();
        let answer = if runs { "(exit status: 0)\n\n" } else { "the user did not allow it\n" };
        assert_eq!((ended.0, ended.1.as_str()), (Some(0), answer), "{}", ended.2);
        assert_eq!(folder.path().join("ran").exists(), runs);
    }
}

#[test]
fn a_command_ends_with_its_agent() {
    let folder = folder();
    let function = json!({ "name": "shell", "arguments": r#"{"command": "sleep 1000 & echo $! > pid; wait"}"# });
    let call = json!({ "id": "c", "type": "function", "function": function });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let answer = json!({ "choices": [{ "message": message }] });
    let peer = Peer::start(move |_| Ok(Answer::ok(&answer)));
    let mut agent = agent(folder.path(), &peer.url);
    let mut child =
        super::program::Killed(agent.args(["--yes", "go"]).stderr(Stdio::null()).spawn().unwrap());
    let pid = loop {
        let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
        if pid.ends_with('\n') {
            break pid.trim().to_owned();
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let interrupt = ["-s", "INT", &child.0.id().to_string()];
    assert!(std::process::Command::new("kill").args(interrupt).status().unwrap().success());
    assert_eq!(child.0.wait().unwrap().code(), Some(1));
    let begun = Instant::now();
    let is_alive =
        || std::process::Command::new("kill").args(["-0", &pid]).output().unwrap().status.success();
    while is_alive() {
        assert!(begun.elapsed() < Duration::from_secs(5), "the command goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}
