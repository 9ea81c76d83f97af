//! The agent against a real model. What a small model says is not looked at: only that it says something, that it is
//! counted, and what is left of it. `cargo xtask ci --step model` runs this.

use std::path::Path;

use super::program::{agent, ended};

fn run(folder: &Path, options: &[&str]) -> (Option<i32>, String, String) {
    let url = std::env::var("BRUTE_MODEL_SERVER").unwrap();
    let small = ["--max-tokens", "40"];
    ended(agent(folder, &url).args(small).args(options).output().unwrap())
}

/// The number before `word`.
fn number_before(text: &str, word: &str) -> u64 {
    let before = text.split(word).next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
#[ignore = "needs a model server: `cargo xtask ci --step model`"]
fn a_session_with_a_real_model() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("brute.toml"), "version = 1\n").unwrap();
    let (code, out, err) =
        run(folder.path(), &["--window", "512", "What is the capital of France?"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(!out.trim().is_empty());
    let (sent, reply) = (number_before(&err, " and "), number_before(&err, "; ratio"));
    assert!(sent > 20 && reply > 0 && sent + reply < 512, "{err}");
    // What is full is what the server counted, not what was guessed.
    assert_eq!(number_before(&err, " of 512 tokens"), sent + reply, "{err}");
    assert!(err.contains("; ratio "), "{err}");

    // It goes on, with the first answer in it.
    let name = err.split("session ").nth(1).unwrap().lines().next().unwrap();
    let (code, out, err) =
        run(folder.path(), &["--window", "512", "--resume", name, "And of Spain?"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(!out.trim().is_empty());
    assert!(number_before(&err, " and ") > sent + reply, "{err}");
}

#[test]
#[ignore = "needs a model server: `cargo xtask ci --step model`"]
fn a_window_that_is_smaller_than_said_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let long = "Repeat these words. ".repeat(200);
    let (code, _, err) = run(folder.path(), &["--window", "32768", &long]);
    assert_eq!(code, Some(1), "{err}");
    assert!(
        err.contains("the model's window is smaller than it is said to be: request ("),
        "{err}"
    );
    assert!(err.contains("(512 tokens)"), "{err}");
}
