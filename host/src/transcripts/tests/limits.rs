//! Sizes and depths that no agent writes, and time that grows no faster than they do.

use std::time::Instant;

use super::*;

fn line(role: &str, content: &str) -> String {
    format!(r#"{{"type":"message","message":{{"role":"{role}","content":{content}}}}}"#)
}

fn log(lines: impl Iterator<Item = String>) -> String {
    let head = r#"{"type":"session","id":"s","cwd":"/tmp"}"#.to_owned();
    std::iter::once(head).chain(lines).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_depth_of_nesting_ends_the_stack() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let call =
        format!(r#"[{{"type":"toolCall","id":"1","name":"f","arguments":{{"deep":{deep}}}}}]"#);
    let lines = [
        line("user", "\"go\""),
        line("assistant", &call),
        format!(r#"{{"type":"other","deep":{deep}}}"#),
    ];
    let read = transcript(log(lines.into_iter()).as_bytes(), &Options::default());
    assert!(Document::read(read.request(), &ReadOptions::default()).is_ok());
    // The input itself, in a form that every kind may be written in.
    for kind in Kind::ALL {
        let _ = read_as(kind, &deep);
        let _ = read_as(kind, &format!(r#"{{"messages":{deep},"steps":{deep},"history":{deep}}}"#));
        let _ = read_as(
            kind,
            &deep.replace(
                '1',
                r#"{"type":"user","role":"user","message":{"role":"user","content":"x"}}"#,
            ),
        );
    }
}

fn read_as(kind: Kind, text: &str) -> Result<Input, crate::transcripts::TranscriptError> {
    read(text.as_bytes(), &Options { kind: Some(kind), ..Options::default() })
}

#[test]
fn a_line_may_be_as_long_as_the_log() {
    let text = format!("\"{}\"", "a\\n".repeat(2_000_000));
    let read = transcript(log([line("user", &text)].into_iter()).as_bytes(), &Options::default());
    assert!(read.request().len() > 6_000_000 && read.request().len() < 6_001_000);
}

#[test]
fn a_log_of_many_records_takes_time_by_their_number() {
    let many = |count: usize| {
        let turns = (0..count).flat_map(|turn| {
            let call = format!(r#"[{{"type":"toolCall","id":"{turn}","name":"f","arguments":{{}}}}]"#);
            let result = format!(r#"{{"type":"message","message":{{"role":"toolResult","toolCallId":"{turn}","content":[]}}}}"#);
            let kept = format!(r#"{{"type":"compaction","summary":"s","firstKeptEntryIndex":{}}}"#, turn / 2);
            [line("user", "\"go\""), line("assistant", &call), result, kept]
        });
        let log = log(turns);
        let start = Instant::now();
        let read = transcript(log.as_bytes(), &Options::default());
        assert_eq!(read.compactions().len(), count);
        start.elapsed().as_secs_f64()
    };
    let small = many(2_000);
    // Ten times as much; a hundred times the time would be a walk over all for each.
    assert!(many(20_000) < 40.0 * small.max(0.01));
}

/// Whatever a log counts, its counts add up.
#[test]
fn counts_past_all_bounds_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let text = String::from_utf8(sample(&name)).unwrap();
        // Each number that a colon stands before.
        let mut counted = String::with_capacity(2 * text.len());
        let mut pieces = text.split_inclusive(':');
        counted.extend(pieces.next());
        for piece in pieces {
            let rest = piece
                .trim_start_matches(' ')
                .trim_start_matches(|char: char| char.is_ascii_digit());
            // Of what other version a log is, nobody knows what it counts.
            let is_number = !counted.ends_with("log\",\"version\":")
                && piece.trim_start_matches(' ').starts_with(|char: char| char.is_ascii_digit());
            if is_number {
                counted.push_str("18446744073709551615");
            }
            counted.push_str(if is_number { rest } else { piece });
        }
        let pick = super::pick_of(&name);
        let read = read(counted.as_bytes(), &Options { pick, ..Options::default() });
        assert!(read.is_ok(), "{name}: {read:?}");
    }
}
