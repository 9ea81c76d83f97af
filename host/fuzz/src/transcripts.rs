//! Logs of agents, told by their content or read as a kind that is named.

use std::io::{self, Read};

use brute_host::formats::{Document, ReadOptions, WriteOptions};
use brute_host::transcripts::{Input, Kind, Options, Transcript, TranscriptError, read};

use super::{choice, formats, told};

/// What a log gives is a request that is valid as it is, its facts are about that request, and it does not matter in
/// which pieces the log comes.
pub fn check(bytes: &[u8]) {
    let (choice, input) = choice(bytes);
    let kind = choice.checked_sub(1).map(|index| Kind::ALL[index % Kind::ALL.len()]);
    for whole in [false, true] {
        let mut options = Options { whole, kind, pick: None };
        let mut found = read(input, &options);
        if let Err(error @ TranscriptError::Several { .. }) = &found {
            told(error);
            options.pick = Some(0);
            found = read(input, &options);
        }
        let dripped = read(Drips(input), &options);
        assert_eq!(format!("{found:?}"), format!("{dripped:?}"), "it comes in other pieces");
        match found {
            Err(error) => told(&error),
            Ok(Input::Other(same)) => assert_eq!(same, input),
            Ok(Input::Transcript(transcript)) => fits(&transcript, input),
        }
    }
}

fn fits(transcript: &Transcript, input: &[u8]) {
    let format = Some(transcript.format());
    let options = ReadOptions { format, ..ReadOptions::default() };
    let document = match Document::read(transcript.request(), &options) {
        Ok(document) => document,
        Err(error) => panic!("{error}: {}", transcript.request()),
    };
    let written = document.write(document.conversation(), &WriteOptions::default());
    assert_eq!(*written, *transcript.request().as_bytes());
    let lines = 1 + input.iter().filter(|byte| **byte == b'\n').count();
    let is_line = |line: usize| (1..=lines).contains(&line);
    let messages = document.wire_len();
    for compaction in transcript.compactions() {
        assert!(compaction.at.is_none_or(|at| at <= messages), "{compaction:?} of {messages}");
        assert!(is_line(compaction.line), "{compaction:?} of {lines} lines");
    }
    for report in transcript.reports() {
        assert!(report.message < messages, "{report:?} of {messages}");
    }
    for problem in transcript.problems() {
        assert!(is_line(problem.line), "{problem:?} of {lines} lines");
        told(problem);
    }
    for skipped in transcript.skipped() {
        assert!(skipped.count > 0 && is_line(skipped.first_line), "{skipped:?}");
        told(skipped);
    }
    formats::converted(&document);
}

/// Gives a few bytes at a time.
struct Drips<'a>(&'a [u8]);

impl Read for Drips<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let few = buffer.len().min(7);
        self.0.read(&mut buffer[..few])
    }
}
