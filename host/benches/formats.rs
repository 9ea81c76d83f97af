//! Reading a conversation of 10 MB, against checking that it is JSON (`IgnoredAny`) and against parsing it into
//! a JSON value; and reading and writing it untouched, against the same.

#[path = "support/listing.rs"]
mod listing;

use std::time::{Duration, Instant};

use brute_host::formats::{Document, Format, ReadOptions, WriteOptions};
use divan::Bencher;
use divan::counter::BytesCount;
use serde::de::IgnoredAny;

use self::listing::listing;

const SIZE: usize = 10 * 1024 * 1024;

fn main() {
    for format in Format::ALL {
        ratio(format);
    }
    divan::main();
}

/// A session of tool calls: source code, build logs, some prose, as JSON of about [`SIZE`] bytes.
fn session(format: Format) -> Vec<u8> {
    let mut json = String::with_capacity(SIZE + 8_192);
    json.push_str(match format {
        Format::OpenaiChat | Format::Anthropic => {
            r#"{"model":"m","messages":[{"role":"user","content":"Fix the build."}"#
        }
        Format::OpenaiResponses => {
            r#"{"model":"m","input":[{"type":"message","role":"user","content":"Fix the build."}"#
        }
        Format::Gemini => {
            r#"{"model":"m","contents":[{"role":"user","parts":[{"text":"Fix the build."}]}"#
        }
    });
    let mut step = 0;
    while json.len() < SIZE {
        step += 1;
        let result = listing(step);
        json.push_str(&match format {
            Format::OpenaiChat => format!(
                r#",{{"role":"assistant","content":"Looking at file {step}.","tool_calls":[{{"id":"call_{step}","type":"function","function":{{"name":"read","arguments":"{{\"path\":\"src/file_{step}.rs\"}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{step}","content":{result}}}"#
            ),
            Format::OpenaiResponses => format!(
                r#",{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"Looking at file {step}."}}]}},{{"type":"function_call","call_id":"call_{step}","name":"read","arguments":"{{\"path\":\"src/file_{step}.rs\"}}"}},{{"type":"function_call_output","call_id":"call_{step}","output":{result}}}"#
            ),
            Format::Gemini => format!(
                r#",{{"role":"model","parts":[{{"text":"Looking at file {step}."}},{{"functionCall":{{"name":"read","args":{{"path":"src/file_{step}.rs"}}}}}}]}},{{"role":"user","parts":[{{"functionResponse":{{"name":"read","response":{{"output":{result}}}}}}}]}}"#
            ),
            Format::Anthropic => format!(
                r#",{{"role":"assistant","content":[{{"type":"text","text":"Looking at file {step}."}},{{"type":"tool_use","id":"call_{step}","name":"read","input":{{"path":"src/file_{step}.rs"}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"call_{step}","content":{result}}}]}}"#
            ),
        });
    }
    json.push_str("]}");
    json.into_bytes()
}

/// Reads the session and hands what is written of it to nobody.
fn read_and_write(input: Vec<u8>) -> Document {
    match Document::read(input, &ReadOptions::default()) {
        Ok(document) => {
            let written = document.write(document.conversation(), &WriteOptions::default());
            assert!(divan::black_box(written).len() >= SIZE);
            document
        }
        Err(error) => unreachable!("{error}"),
    }
}

/// How long `work` takes.
fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let made = divan::black_box(work());
    let elapsed = start.elapsed();
    drop(made);
    elapsed
}

/// Prints the ratios, each of the best of several runs that take turns.
#[expect(clippy::print_stdout, reason = "a benchmark reports its result")]
fn ratio(format: Format) {
    let input = session(format);
    let [mut read, mut both, mut checked, mut parsed] = [Duration::MAX; 4];
    for _ in 0..10 {
        let (one, other) = (input.clone(), input.clone());
        read = read.min(timed(|| match Document::read(one, &ReadOptions::default()) {
            Ok(document) => document,
            Err(error) => unreachable!("{error}"),
        }));
        both = both.min(timed(|| {
            let document = read_and_write(other);
            assert_eq!(document.format(), format);
            document
        }));
        checked = checked.min(timed(|| serde_json::from_slice::<IgnoredAny>(&input)));
        parsed = parsed.min(timed(|| serde_json::from_slice::<serde_json::Value>(&input)));
    }
    let of = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    println!(
        "{format}: read {read:?}, {:.2} of the speed of `IgnoredAny` ({checked:?}); read and write {both:?}, \
         {:.2} of the time to parse into a value ({parsed:?})",
        of(checked, read),
        of(both, parsed),
    );
}

#[divan::bench(args = Format::ALL)]
fn read_and_write_untouched(bencher: Bencher<'_, '_>, format: Format) {
    let input = session(format);
    bencher
        .counter(BytesCount::new(input.len()))
        .with_inputs(|| input.clone())
        .bench_values(read_and_write);
}

#[divan::bench(args = Format::ALL)]
fn parse_into_a_value(bencher: Bencher<'_, '_>, format: Format) {
    let input = session(format);
    bencher
        .counter(BytesCount::new(input.len()))
        .bench_local(|| serde_json::from_slice::<serde_json::Value>(&input));
}
