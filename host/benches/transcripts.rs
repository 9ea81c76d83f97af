//! Reading logs of agents of 10 MB, against what it takes to see that they are JSON at all.

#[path = "support/listing.rs"]
mod listing;

use std::time::{Duration, Instant};

use brute_host::transcripts::{Input, Kind, Options, read};
use divan::Bencher;
use divan::counter::BytesCount;
use serde::de::IgnoredAny;

use self::listing::listing;

const SIZE: usize = 10 * 1024 * 1024;

/// A log of lines, one of events in one value, and one that nests what it says.
const KINDS: [Kind; 3] = [Kind::ClaudeCode, Kind::OpenhandsSdk, Kind::Opencode];

fn main() {
    for kind in KINDS {
        ratio(kind);
    }
    divan::main();
}

/// A session of tool calls, as a log of about [`SIZE`] bytes.
fn session(kind: Kind) -> String {
    let mut log = String::with_capacity(SIZE + 8_192);
    log.push_str(match kind {
        Kind::OpenhandsSdk => {
            r#"[{"kind":"MessageEvent","timestamp":"t","id":"m","llm_message":{"role":"user","content":"Fix the build."}}"#
        }
        Kind::Opencode => {
            r#"{"info":{"id":"ses"},"messages":[{"info":{"role":"user"},"parts":[{"type":"text","text":"Fix the build."}]}"#
        }
        _ => {
            r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","isSidechain":false,"message":{"role":"user","content":"Fix the build."}}"#
        }
    });
    let mut step = 0;
    while log.len() < SIZE {
        step += 1;
        let result = listing(step);
        log.push_str(&match kind {
            Kind::OpenhandsSdk => format!(
                r#",{{"kind":"ActionEvent","timestamp":"t","id":"a{step}","tool_call_id":"c{step}","tool_name":"read","tool_call":{{"arguments":"{{\"path\":\"src/file_{step}.rs\"}}"}},"thought":[{{"type":"text","text":"Looking at file {step}."}}]}},{{"kind":"ObservationEvent","timestamp":"t","id":"o{step}","tool_call_id":"c{step}","observation":{{"content":[{{"type":"text","text":{result}}}]}}}}"#
            ),
            Kind::Opencode => format!(
                r#",{{"info":{{"role":"assistant"}},"parts":[{{"type":"text","text":"Looking at file {step}."}},{{"type":"tool","callID":"c{step}","tool":"read","state":{{"status":"completed","input":{{"path":"src/file_{step}.rs"}},"output":{result}}}}}]}}"#
            ),
            _ => format!(
                "\n{{\"type\":\"assistant\",\"uuid\":\"a{step}\",\"parentUuid\":\"{0}\",\"sessionId\":\"s\",\"isSidechain\":false,\"message\":{{\"role\":\"assistant\",\"id\":\"m{step}\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"c{step}\",\"name\":\"read\",\"input\":{{\"path\":\"src/file_{step}.rs\"}}}}]}}}}\n{{\"type\":\"user\",\"uuid\":\"r{step}\",\"parentUuid\":\"a{step}\",\"sessionId\":\"s\",\"isSidechain\":false,\"toolUseResult\":{{\"file\":{result}}},\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"c{step}\",\"content\":{result}}}]}}}}",
                if step == 1 { "u".to_owned() } else { format!("r{}", step - 1) }
            ),
        });
    }
    log.push_str(match kind {
        Kind::OpenhandsSdk => "]",
        Kind::Opencode => "]}",
        _ => "\n",
    });
    log
}

fn read_session(log: &str, kind: Kind) -> usize {
    match read(log.as_bytes(), &Options::default()) {
        Ok(Input::Transcript(transcript)) => {
            assert_eq!(transcript.kind(), kind);
            transcript.request().len()
        }
        other => unreachable!("{other:?}"),
    }
}

/// Prints the ratio of the two, each the best of several runs that take turns.
#[expect(clippy::print_stdout, reason = "a benchmark reports its result")]
fn ratio(kind: Kind) {
    let log = session(kind);
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..10 {
        let start = Instant::now();
        divan::black_box(read_session(&log, kind));
        ours = ours.min(start.elapsed());
        let start = Instant::now();
        let values = serde_json::Deserializer::from_str(&log).into_iter::<IgnoredAny>();
        assert!(divan::black_box(values.filter(Result::is_ok).count()) > 0);
        theirs = theirs.min(start.elapsed());
    }
    let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
    let speed = log.len() as f64 / 1e6 / ours.as_secs_f64();
    println!(
        "{kind}: read {ours:?} ({speed:.0} MB/s), seen to be JSON {theirs:?}: {ratio:.2} of that speed"
    );
}

#[divan::bench(args = KINDS)]
fn read_a_log(bencher: Bencher<'_, '_>, kind: Kind) {
    let log = session(kind);
    bencher.counter(BytesCount::new(log.len())).bench(|| read_session(&log, kind));
}
