//! Whatever the server does, the conversation is what the round before left, and the event says what happened.

use std::time::{Duration, Instant};

use brute_core::{CompletionError, Prompt, Stop};
use serde_json::{Value, json};

use super::ladder::{SUMMARY, config, descend, runtime, session, summarizer};
use super::peer::{Peer, STREAM, Speaks, Turn, http, says, streams};

const JSON: &str = "Content-Type: application/json\r\n";

fn good(speaks: Speaks) -> Turn {
    says("200 OK", &speaks.answer(SUMMARY, "stop"))
}

/// Each way to fail, and what the event says of it.
fn faults(speaks: Speaks) -> Vec<(Turn, &'static str)> {
    let whole = http("200 OK", JSON, speaks.answer(SUMMARY, "stop").to_string());
    let error = |message: &str| json!({ "error": { "message": message } });
    let answer = |text, finish| says("200 OK", &speaks.answer(text, finish));
    let raw = |headers: &str, body: &[u8]| Turn::Say(http("200 OK", headers, body));
    let refused = |status, words| says(status, &error(words));
    vec![
        (Turn::Reset, "` broke off before it answered: "),
        (Turn::Say(Vec::new()), "` broke off before it answered: "),
        (Turn::Say(b"no HTTP at all\r\n\r\n".to_vec()), "` broke off before it answered: "),
        (Turn::Hang, "` did not answer within 1 s; raise `timeout`"),
        (Turn::Say(whole[..whole.len() - 30].to_vec()), "` broke off its answer after "),
        (raw(JSON, b"{\"choices\": ["), "` broke off its answer after 13 bytes"),
        (raw(JSON, b"not json"), "` answered with no JSON (line 1, column 2)"),
        (raw(JSON, b""), "` broke off its answer after 0 bytes"),
        (
            raw("Content-Type: text/html\r\n", b"<p>hello"),
            "` answered with `text/html` and no JSON",
        ),
        (raw(JSON, b"{\"a\": \"\xff\"}"), "` answered with text that is not UTF-8, from byte 7 on"),
        (raw(JSON, &vec![b' '; 2 << 20]), "` answered with more than 1048576 bytes"),
        (says("200 OK", &json!({})), "; see whether `base-url` leads to "),
        (says("200 OK", &error("no credits")), "` answered 200, but with an error: no credits"),
        (
            refused("401 Unauthorized", "bad key"),
            "` answered 401: bad key; see to the key in `CARGO_",
        ),
        (refused("404 Not Found", "no model"), "` answered 404: no model; see to `base-url` and"),
        (refused("422 Unprocessable Entity", "odd"), "` answered 422: odd"),
        (refused("429 Too Many Requests", "slow"), "` answered 429: slow; wait, or take a server"),
        (
            refused("500 Internal Server Error", "oh"),
            "` answered 500: oh; it is the server's fault",
        ),
        (
            Turn::Say(http("503 Busy", "", "<html>no</html>")),
            "` answered 503; it is the server's fault",
        ),
        (
            Turn::Say(http("307 Moved", "Location: https://other.example/v1\r\n", "")),
            "` redirects to `https://other.example` (307), which is not followed",
        ),
        (answer("", "stop"), "` answered nothing"),
        (answer("<think>hm, hm</think>\n", "stop"), "` answered nothing but what it thought"),
        (answer(SUMMARY, "length"), "cut"),
        (answer(SUMMARY, "tool_calls"), "tool"),
        (answer(SUMMARY, "surprise"), "` ended its answer for the reason `surprise`"),
        (
            refused("400 Bad Request", "the maximum context length is 900 tokens"),
            "it takes 900 tokens",
        ),
        (refused("413 Too Large", "no"), "the request is too long for the summarizer"),
    ]
}

/// The same for answers that come piece by piece.
fn streamed_faults(speaks: Speaks) -> Vec<(Turn, &'static str)> {
    let whole = speaks.events(SUMMARY, "stop");
    let event = |data: &str| format!("data: {data}\n\n");
    let with = |more: String| {
        let mut events = whole.clone();
        events.insert(3, more);
        streams(&events)
    };
    let error = match speaks {
        Speaks::Openai => r#"{"error": {"message": "overloaded", "code": 502}}"#,
        Speaks::Anthropic => {
            r#"{"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}"#
        }
    };
    let raw = |bytes: &[u8]| Turn::Say([STREAM.as_bytes(), bytes].concat());
    let finishes = |text: &str, finish: &str| streams(&speaks.events(text, finish));
    let silent = [&[STREAM.to_owned()], &whole[..3]].concat();
    vec![
        (raw(b""), "` broke off its answer after 0 bytes"),
        (raw(b"data: {}"), "` broke off its answer after 8 bytes"),
        (streams(&whole[..whole.len() - 1]), "` broke off its answer after "),
        (streams(&whole[..3]), "` broke off its answer after "),
        (with(event(error)), "` answered 200, but with an error: overloaded"),
        (with(event("{\"choices\": ")), "` answered with an event that is no JSON, before byte "),
        (raw(b"data: {\"\xff\"}\n\n"), "` answered with text that is not UTF-8, before byte "),
        (raw(&b": keep alive\n".repeat(2 << 20)), "` answered with more than 16777216 bytes"),
        (
            Turn::Slowly(silent, Duration::from_millis(1)),
            "` began to answer, and then sent nothing for 1 s; raise `timeout`",
        ),
        (finishes("", "stop"), "` answered nothing"),
        (finishes("<think>hm</think>", "stop"), "` answered nothing but what it thought"),
        (finishes(SUMMARY, "length"), "cut"),
        (finishes(SUMMARY, "tool_calls"), "tool"),
        (finishes(SUMMARY, "surprise"), "` ended its answer for the reason `surprise`"),
    ]
}

#[test]
fn the_conversation_is_what_the_round_before_left() {
    let document = session();
    let before =
        String::from_utf8_lossy(&document.write(document.conversation(), &Default::default()))
            .into_owned();
    for speaks in Speaks::BOTH {
        // What the first round leaves, where the second one's server is out of order.
        let broken = says("422 No", &json!({}));
        let peer = Peer::new(vec![good(speaks), broken]);
        let first = descend(&config(speaks, peer.port(), "retries = 0", "stop"), &document);
        assert_ne!(first.written, before);
        for (fault, words) in faults(speaks).into_iter().chain(streamed_faults(speaks)) {
            let options = "retries = 0\ntimeout = \"1s\"";
            for (turns, left) in [
                (vec![fault.clone()], &before),
                (vec![good(speaks), fault.clone()], &first.written),
            ] {
                let peer = Peer::new(turns);
                let descent = descend(&config(speaks, peer.port(), options, "stop"), &document);
                let said = descent.failure();
                assert!(said.contains(words), "{speaks:?} {words}: {said}");
                let server = format!("127.0.0.1:{}", peer.port());
                let is_layers =
                    ["cut", "tool", "too long", "it takes"].iter().any(|w| words.contains(w));
                assert!(is_layers || said.contains(&server), "{said}");
                assert_eq!(&descent.written, left, "{speaks:?} {words}");
                assert_eq!(descent.done.rungs[1].result.name(), "not-asked", "{words}");
                assert!(peer.requests().len() < 6, "{words}: {}", peer.requests().len());
            }
        }
    }
}

#[test]
fn the_ladder_goes_on_where_it_is_told_to() {
    let document = session();
    let mut options = config(Speaks::Openai, Peer::nobody(), "retries = 0", "next");
    let descent = descend(&options, &document);
    assert!(
        descent.failure().contains("cannot be reached: connection refused; see whether it runs")
    );
    assert_eq!(descent.done.rungs[1].result.name(), "applied");
    // With somebody to fall back to, it need not.
    options.fallback = vec![toml::from_str("backend = \"extract\"").unwrap()];
    let descent = descend(&options, &document);
    assert_eq!(
        descent.done.rungs[0].result.name(),
        "applied",
        "{:?}",
        descent.done.rungs[0].result
    );
}

fn prompt() -> Prompt {
    Prompt { instructions: "Sum it up.".into(), input: "A record.".into(), max_tokens: 99 }
}

#[test]
fn an_answer_is_whole_or_none_wherever_it_is_cut() {
    for speaks in Speaks::BOTH {
        let stream = [STREAM, &speaks.events("gist", "stop").concat()].concat();
        for whole in
            [http("200 OK", JSON, speaks.answer("gist", "stop").to_string()), stream.into_bytes()]
        {
            let cuts = (0..whole.len()).map(|at| Turn::Say(whole[..at].to_vec()));
            let peer = Peer::new(cuts.chain([Turn::Dribble(whole.clone())]).collect());
            let summarizer = summarizer(&config(speaks, peer.port(), "retries = 0", "stop"));
            let runtime = runtime();
            for at in 0..whole.len() {
                let answer = runtime.block_on(summarizer.complete(&prompt()));
                assert!(matches!(answer, Err(CompletionError::Failed { .. })), "{at}: {answer:?}");
            }
            let answer = runtime.block_on(summarizer.complete(&prompt())).unwrap();
            assert_eq!((answer.text.as_str(), answer.stop), ("gist", Stop::End));
            assert_eq!(answer.usage.unwrap().tokens(), 940);
        }
    }
}

#[test]
fn the_limit_that_the_server_names_is_passed_on() {
    let llama = json!({ "error": { "code": 400, "type": "exceed_context_size_error", "n_ctx": 512,
        "message": "request (900 tokens) exceeds the available context size (512 tokens)" } });
    let odd = json!({ "error": { "message": "context_length_exceeded" } });
    for (status, body, limit) in [
        ("400 Bad Request", &llama, Some(512)),
        ("200 OK", &llama, Some(512)),
        ("413 Too Large", &odd, None),
        ("413 Too Large", &Value::Null, None),
    ] {
        for speaks in Speaks::BOTH {
            let peer = Peer::new(vec![says(status, body)]);
            let summarizer = summarizer(&config(speaks, peer.port(), "", "stop"));
            let answer = runtime().block_on(summarizer.complete(&prompt()));
            assert_eq!(answer, Err(CompletionError::TooLong { limit }), "{status}");
            assert_eq!(peer.requests().len(), 1);
        }
    }
}

#[test]
fn whoever_gives_up_leaves_no_connection_behind() {
    let document = session();
    for speaks in Speaks::BOTH {
        let peer = Peer::new(vec![Turn::Hang]);
        let compactor = config(speaks, peer.port(), "", "stop").compactor(&document).unwrap();
        let conversation = document.conversation().clone();
        runtime().block_on(async {
            let wait = Duration::from_millis(300);
            let given_up = tokio::time::timeout(wait, compactor.compact_now(conversation)).await;
            assert!(given_up.is_err());
            // Time for the layer's thread to hear of it.
            let begun = Instant::now();
            while peer.gone() == 0 && begun.elapsed() < Duration::from_secs(20) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        assert_eq!((peer.requests().len(), peer.gone()), (1, 1));
    }
}
