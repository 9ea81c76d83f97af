//! Fault cases made from public bug reports, run when the folder with them is there.
//!
//! `BRUTE_CASES` names the folder (`../shared/cases` beside the repository if it is not set), and
//! `BRUTE_CASES_ONLY` picks cases by the start of their file names, separated by commas.

#![expect(clippy::expect_used, reason = "a test that cannot be set up fails")]

mod support;

#[path = "cases/mod.rs"]
mod sentences;

use std::io::{self, Write};
use std::path::PathBuf;

use support::runner::{Outcome, run_folder};

/// The folder with the cases.
fn folder() -> PathBuf {
    std::env::var_os("BRUTE_CASES").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases"),
        PathBuf::from,
    )
}

/// Says `line` even when the output of tests is captured.
fn say(line: &str) {
    // Whether or not anybody reads it is no matter of this test.
    let _ = writeln!(io::stdout().lock(), "{line}");
}

#[test]
fn no_known_fault_is_inherited() {
    let folder = folder();
    if !folder.is_dir() {
        say(&format!(
            "SKIPPED: no fault cases, because `{}` is not there (set BRUTE_CASES)",
            folder.display()
        ));
        return;
    }
    let only = std::env::var("BRUTE_CASES_ONLY").ok();
    let results = run_folder(&folder, only.as_deref(), sentences::find).unwrap();
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, outcome) in &results {
        match outcome {
            Outcome::Passed { notes } => {
                passed += 1;
                if !notes.is_empty() {
                    say(&format!("passed  {name}: {}", notes.join("; ")));
                }
            }
            Outcome::Failed(reasons) => {
                failed += 1;
                say(&format!("FAILED  {name}"));
                let shown = 8;
                for reason in reasons.iter().take(shown) {
                    say(&format!("        {reason}"));
                }
                if reasons.len() > shown {
                    say(&format!("        and {} more", reasons.len() - shown));
                }
            }
            Outcome::Skipped(reasons) => {
                skipped += 1;
                say(&format!("skipped {name}: {}", reasons.join("; ")));
            }
        }
    }
    say(&format!("cases: {passed} passed, {failed} failed, {skipped} skipped"));
    assert_eq!(failed, 0, "cases failed; see the list above");
}
