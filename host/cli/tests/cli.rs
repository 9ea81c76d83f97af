//! The command as its users meet it: the built binary, run in a folder of its own.
//!
//! What a run says is kept as a transcript: a heading for the case, the exit code, and standard error.

#![expect(clippy::expect_used, reason = "a test that cannot be set up fails")]

mod cli {
    mod advice;
    mod archive;
    mod bytes;
    mod configuration;
    mod conformance;
    mod files;
    mod formats;
    mod input;
    mod kill;
    mod logged;
    mod output;
    mod own;
    mod page;
    mod place;
    mod plugins;
    mod programs;
    mod recorded;
    mod replays;
    mod reported;
    mod samples;
    mod sizes;
    mod summarizer;
    mod transcripts;
    mod trust;
}
