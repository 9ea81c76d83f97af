//! What holds for any bytes: the checks that fuzzers run, and that a plain test runs over the seeds.
//!
//! Each check panics if what it is about does not hold. None says what an input means: only what has to be true of any
//! that is taken, and that any other is refused in words.

pub mod archive;
pub mod config;
pub mod formats;
pub mod plans;
pub mod session_log;
pub mod transcripts;
pub mod truncation;

use std::path::PathBuf;
use std::sync::OnceLock;

use brute_core::{Conversation, Part, Role};

/// A check, and where its seeds are.
pub struct Target {
    /// What it is called, as a fuzzer and as a folder in `seeds`.
    pub name: &'static str,
    /// The check.
    pub check: fn(&[u8]),
    /// A folder of the repository whose files are seeds too.
    pub more_seeds: Option<&'static str>,
}

/// All checks.
pub const TARGETS: [Target; 7] = [
    Target { name: "formats", check: formats::check, more_seeds: None },
    Target {
        name: "transcripts",
        check: transcripts::check,
        more_seeds: Some("host/tests/transcripts"),
    },
    Target { name: "session-log", check: session_log::check, more_seeds: None },
    Target { name: "archive", check: archive::check, more_seeds: None },
    Target { name: "plans", check: plans::check, more_seeds: None },
    Target { name: "truncation", check: truncation::check, more_seeds: None },
    Target { name: "config", check: config::check, more_seeds: Some("examples/ladders") },
];

/// The input without its last byte, if that is a choice: 0x0e is 1, 0x0f is 2, up to 18. No text ends with such a byte,
/// so files of others are inputs that choose nothing.
fn choice(bytes: &[u8]) -> (usize, &[u8]) {
    match bytes.split_last() {
        Some((last @ 0x0e..=0x1f, rest)) => (usize::from(last - 0x0d), rest),
        _ => (0, bytes),
    }
}

/// A file of this process that holds `bytes`, for readers of files.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder"));
    // Tests run beside each other.
    let thread = format!("{:?}", std::thread::current().id());
    let own = folder.path().join(thread.replace(['(', ')'], ""));
    std::fs::create_dir_all(&own).expect("a folder");
    let path = own.join(name);
    std::fs::write(&path, bytes).expect("a file");
    path
}

/// All parts in order, whatever messages they stand in.
fn flat(conversation: &Conversation) -> Vec<(Role, Part)> {
    let parts = conversation
        .messages()
        .iter()
        .flat_map(|message| message.parts().iter().map(|part| (message.role(), part.clone())));
    parts.collect()
}

/// Whoever is refused is told why.
fn told(error: &impl std::fmt::Display) {
    assert!(!error.to_string().trim().is_empty(), "refused without a word");
}
