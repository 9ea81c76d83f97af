//! What is tried again, how often, and for how long.

use std::time::{Duration, Instant};

use brute_core::{Completion, CompletionError, Prompt};
use brute_host::ladder::Event;
use serde_json::json;

use super::ladder::{KEY, SUMMARY, config, descend, runtime, session, summarizer};
use super::peer::{Peer, STREAM, Speaks, Turn, http, says};

fn ask(peer: &Peer, speaks: Speaks, more: &str) -> Result<Completion, CompletionError> {
    let prompt =
        Prompt { instructions: "Sum it up.".into(), input: "A record.".into(), max_tokens: 99 };
    runtime().block_on(summarizer(&config(speaks, peer.port(), more, "stop")).complete(&prompt))
}

fn refused(status: &str, headers: &str) -> Turn {
    Turn::Say(http(status, headers, "{}"))
}

#[test]
fn what_may_pass_is_tried_again_and_nothing_else() {
    for speaks in Speaks::BOTH {
        let good = says("200 OK", &speaks.answer("gist", "stop"));
        for (turn, requests) in [
            (refused("408 X", ""), 2),
            (refused("409 X", ""), 2),
            (refused("425 X", ""), 2),
            (refused("429 X", "Retry-After-Ms: 20\r\n"), 2),
            (refused("500 X", ""), 2),
            (refused("503 X", "Retry-After: 0\r\n"), 2),
            (refused("529 X", ""), 2),
            (Turn::Reset, 2),
            (Turn::Say(Vec::new()), 2),
            (refused("400 X", ""), 1),
            (refused("401 X", ""), 1),
            (refused("404 X", ""), 1),
            (refused("503 X", "X-Should-Retry: false\r\n"), 1),
            (refused("302 X", "Location: /other\r\n"), 1),
            (Turn::Say(http("200 OK", "Content-Type: text/html\r\n", "x")), 1),
        ] {
            let peer = Peer::new(vec![turn.clone(), good.clone()]);
            let answer = ask(&peer, speaks, "");
            assert_eq!(answer.is_ok(), requests == 2, "{turn:?}: {answer:?}");
            assert_eq!(peer.requests().len(), requests, "{turn:?}");
        }
    }
}

#[test]
fn it_is_tried_as_often_as_said() {
    for (more, requests) in [("retries = 0", 1), ("retries = 2", 3)] {
        let peer = Peer::new(vec![refused("429 X", "Retry-After-Ms: 1\r\n")]);
        assert!(ask(&peer, Speaks::Openai, more).is_err());
        assert_eq!(peer.requests().len(), requests);
    }
}

#[test]
fn a_wait_is_as_long_as_the_server_asks_and_no_longer_than_there_is_time() {
    let good = says("200 OK", &Speaks::Openai.answer("gist", "stop"));
    let peer = Peer::new(vec![refused("429 X", "Retry-After: 1\r\n"), good]);
    let begun = Instant::now();
    assert!(ask(&peer, Speaks::Openai, "").is_ok());
    assert!(begun.elapsed() >= Duration::from_secs(1));

    let peer = Peer::new(vec![refused("429 X", "Retry-After: 120\r\n")]);
    let begun = Instant::now();
    let error = ask(&peer, Speaks::Openai, "timeout = \"20s\"").unwrap_err().to_string();
    assert!(error.contains("it asks to wait 120 s, more than `timeout` has left"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10));

    // All tries share one limit.
    let peer = Peer::new(vec![refused("503 X", ""), Turn::Hang]);
    let begun = Instant::now();
    let error = ask(&peer, Speaks::Openai, "timeout = \"2s\"").unwrap_err().to_string();
    assert!(error.contains("did not answer within 2 s"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn whoever_goes_on_sending_is_waited_for() {
    for speaks in Speaks::BOTH {
        let mut pieces = vec![STREAM.to_owned()];
        pieces.extend(speaks.events("a long gist", "stop"));
        let gap = Duration::from_millis(300);
        let least = gap * pieces.len() as u32;
        let peer = Peer::new(vec![Turn::Slowly(pieces, gap)]);
        let begun = Instant::now();
        let answer = ask(&peer, speaks, "timeout = \"1s\"").unwrap();
        assert_eq!(answer.text, "a long gist");
        assert!(least > Duration::from_secs(2) && begun.elapsed() >= least, "{speaks:?}");
        assert!(begun.elapsed() < Duration::from_secs(20), "the line that stays open is left");
    }
}

#[test]
fn who_watches_sees_the_answer_grow() {
    for speaks in Speaks::BOTH {
        let mut pieces = vec![STREAM.to_owned()];
        pieces.extend(speaks.events(SUMMARY, "stop"));
        let peer = Peer::new(vec![Turn::Slowly(pieces, Duration::from_millis(250))]);
        let descent = descend(&config(speaks, peer.port(), "timeout = \"5s\"", "stop"), &session());
        let written: Vec<u64> = (descent.events.iter())
            .filter_map(|event| match event {
                Event::SummarizerWrites { rung, output } if rung == "summarize" => Some(*output),
                _ => None,
            })
            .collect();
        assert!(written.iter().any(|tokens| (5..40).contains(tokens)), "{written:?}");
        assert_eq!(descent.done.rungs[0].result.name(), "applied", "{:?}", descent.done.rungs);
    }
}

#[test]
fn requests_are_what_each_interface_wants() {
    let sent = |speaks: Speaks, more: &str| {
        let peer = Peer::new(vec![says("200 OK", &speaks.answer("<think>hm</think>gist", "stop"))]);
        assert_eq!(ask(&peer, speaks, more).unwrap().text.trim(), "gist");
        let request = peer.requests().remove(0);
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        (head.to_owned(), body)
    };
    let (head, body) = sent(Speaks::Openai, "");
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("\r\nauthorization: Bearer {KEY}\r\n")), "{head}");
    assert_eq!(
        body,
        json!({ "model": "small", "stream": true, "max_tokens": 99,
            "stream_options": { "include_usage": true }, "messages": [
            { "role": "system", "content": "Sum it up." }, { "role": "user", "content": "A record." },
        ] })
    );
    let (_, whole) = sent(Speaks::Openai, "stream = false");
    assert_eq!((&whole["stream"], &whole["stream_options"]), (&json!(false), &json!(null)));
    let (head, body) = sent(Speaks::Anthropic, "max-tokens = 640");
    assert!(head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("\r\nx-api-key: {KEY}\r\n")), "{head}");
    assert!(head.contains("\r\nanthropic-version: 2023-06-01\r\n"), "{head}");
    assert_eq!(
        body,
        json!({ "model": "small", "max_tokens": 640, "stream": true, "system": "Sum it up.",
            "messages": [{ "role": "user", "content": "A record." }] })
    );
}

#[test]
fn the_limit_has_another_name_where_the_server_asks_for_it() {
    let words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.";
    let refusal = json!({ "error": { "message": words, "code": "unsupported_parameter" } });
    let good = says("200 OK", &Speaks::Openai.answer("gist", "stop"));
    let peer = Peer::new(vec![says("400 Bad Request", &refusal), good]);
    assert!(ask(&peer, Speaks::Openai, "retries = 0").is_ok());
    assert!(peer.requests()[1].contains("\"max_completion_tokens\":99"));
    // The same for what else it may not know.
    let unknown = json!({ "detail": "stream_options: extra inputs are not permitted" });
    let good = says("200 OK", &Speaks::Openai.answer("gist", "stop"));
    let peer = Peer::new(vec![says("422 X", &unknown), good]);
    assert!(ask(&peer, Speaks::Openai, "retries = 0").is_ok());
    assert!(!peer.requests()[1].contains("stream_options"));
    // Once: a server that goes on asking is told so.
    let peer = Peer::new(vec![says("400 Bad Request", &refusal)]);
    assert!(ask(&peer, Speaks::Openai, "").unwrap_err().to_string().contains(words));
    assert_eq!(peer.requests().len(), 2);
}
