//! Reading and writing a conversation of 10 MB untouched, against parsing it into a JSON value.

use std::time::{Duration, Instant};

use brute_host::formats::{Document, Format, ReadOptions, WriteOptions};
use divan::Bencher;
use divan::counter::BytesCount;

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
    json.push_str(r#"{"model":"m","messages":[{"role":"user","content":"Fix the build."}"#);
    let mut step = 0;
    while json.len() < SIZE {
        step += 1;
        let lines: Vec<String> = (0..40)
            .map(|line| {
                let at = line * 7 + step;
                format!("{at}\t    let value_{line} = parse(\"field {at}\")?; // {step}")
            })
            .collect();
        let result = serde_json::Value::from(lines.join("\n"));
        json.push_str(&match format {
            Format::OpenaiChat => format!(
                r#",{{"role":"assistant","content":"Looking at file {step}.","tool_calls":[{{"id":"call_{step}","type":"function","function":{{"name":"read","arguments":"{{\"path\":\"src/file_{step}.rs\"}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{step}","content":{result}}}"#
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

/// Prints the ratio of the two, each the best of several runs that take turns.
#[expect(clippy::print_stdout, reason = "a benchmark reports its result")]
fn ratio(format: Format) {
    let input = session(format);
    let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
    for _ in 0..10 {
        let copy = input.clone();
        let start = Instant::now();
        let document = divan::black_box(read_and_write(copy));
        ours = ours.min(start.elapsed());
        assert_eq!(document.format(), format);
        drop(document);
        let start = Instant::now();
        let value = divan::black_box(serde_json::from_slice::<serde_json::Value>(&input));
        theirs = theirs.min(start.elapsed());
        drop(value);
    }
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("{format}: read and write {ours:?}, parse into a value {theirs:?}: ratio {ratio:.2}");
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
