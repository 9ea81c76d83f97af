//! `brute compact` with a real, small model behind a real server. What the model says is not looked at: only what
//! becomes of the session. `cargo xtask ci --step model` runs this.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command;

/// A session of four short turns.
fn session() -> String {
    let mut messages = Vec::new();
    for report in 1..5 {
        let words =
            format!("Report {report} says that ship {report} lies at pier {report}. ").repeat(8);
        messages.push(format!(r#"{{"role": "user", "content": "Read report {report}."}}"#));
        messages.push(format!(r#"{{"role": "assistant", "content": "{words}"}}"#));
    }
    messages.push(r#"{"role": "user", "content": "And now?"}"#.to_owned());
    messages.push(r#"{"role": "assistant", "content": "Now we wait."}"#.to_owned());
    format!("[{}]\n", messages.join(",\n"))
}

/// The exit code, what was written and what was said, with the server that this variable names.
fn compact(variable: &str, backend: &str) -> (Option<i32>, String, String) {
    let url = std::env::var(variable).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = format!(
        "[summarizer]\nbackend = \"{backend}\"\nbase-url = \"{url}\"\nmodel = \"smollm2\"\n\
         window = 4096\nretries = 0\n[[ladder]]\nlayer = \"summarize\"\nmax-tokens = 128\n"
    );
    std::fs::write(folder.path().join("own.toml"), config).unwrap();
    std::fs::write(folder.path().join("session.json"), session()).unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_brute"))
        .args(["compact", "session.json", "--window", "8k", "--to", "200", "--config", "own.toml"])
        .current_dir(folder.path())
        .env("BRUTE_CONFIG", "")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
#[ignore = "needs a model server: `cargo xtask ci --step model`"]
fn a_model_whose_context_is_too_small_changes_nothing() {
    for backend in ["openai", "anthropic"] {
        let (code, out, err) = compact("BRUTE_MODEL_SERVER", backend);
        assert_eq!((code, out), (Some(4), session()), "{err}");
        assert!(err.contains("too long for the summarizer (it takes 512 tokens)"), "{err}");
    }
}

/// What such a model writes may be no summary. Then it is refused, and nothing changes either.
#[test]
#[ignore = "needs a model server: `cargo xtask ci --step model`"]
fn a_model_makes_it_smaller_or_changes_nothing() {
    for backend in ["openai", "anthropic"] {
        let (code, out, err) = compact("BRUTE_ROOMY_MODEL_SERVER", backend);
        assert!(!err.contains("too long") && !err.contains("answered 4"), "{err}");
        if out == session() {
            assert_eq!(code, Some(4), "{err}");
            assert!(err.contains("failed `summarize`: "), "{err}");
        } else {
            let messages: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
            assert!(out.len() < session().len() && messages.len() < 10, "{out}");
            assert!(out.contains("And now?"), "{out}");
        }
    }
}
