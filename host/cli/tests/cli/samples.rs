//! The sample sessions and ladders that ship.

use std::path::{Path, PathBuf};

use super::place::{Ended, Place};

/// The files in `examples/FOLDER` whose names end so.
fn shipped(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(folder);
    let entries = std::fs::read_dir(folder).expect("the examples ship");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| endings.iter().any(|end| path.extension().is_some_and(|is| is == *end)))
        .collect();
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    files
}

fn sessions() -> Vec<PathBuf> {
    shipped("sessions", &["json", "jsonl"])
}

#[test]
fn sessions_get_smaller_and_stay_conversations() {
    let place = Place::new();
    for session in sessions() {
        let name = session.display();
        let before = place.brute(&format!("count '{name}' --json")).out_json();
        let size = before["tokens"].as_u64().expect("a number");
        let ended = place
            .brute(&format!("compact '{name}' --window 1m --to {} -o smaller --json", size / 2));
        assert_eq!(ended.code, Some(0), "{name}: {}", ended.err);
        let report = ended.err_json();
        let after = place.brute("count smaller --json").out_json();
        assert_eq!(after["format"], before["format"], "{name}");
        assert!(after["tokens"].as_u64() <= Some(size / 2), "{name}: {after}");
        // As people count them: what stands in the files.
        assert_eq!(report["messages-before"], before["messages"], "{name}");
        assert_eq!(report["messages-after"], after["messages"], "{name}");
        let written = place.read("smaller");
        let texts = match session.extension().is_some_and(|ending| ending == "jsonl") {
            true => written.lines().collect(),
            false => vec![written.as_str()],
        };
        for text in texts {
            Ended::json(text);
        }
        // What it made is known again, and nothing more is given up.
        let again = place.brute(&format!("compact smaller --window 1m --to {} -q", size / 2));
        assert_eq!((again.code, again.out == written), (Some(0), true), "{name}");
    }
}

#[test]
fn sessions_below_the_trigger_are_copied_byte_for_byte() {
    for session in sessions() {
        let ended = Place::new().brute(&format!("compact '{}' --window 2m -q", session.display()));
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        let bytes = std::fs::read_to_string(&session).expect("the session is text");
        assert!(ended.out == bytes, "{}", session.display());
    }
}

#[test]
fn sessions_get_smaller_in_every_format() {
    let place = Place::new();
    let is_small = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| file.len() < 100_000);
    for session in sessions().into_iter().filter(is_small) {
        let name = session.display();
        for format in ["openai-chat", "openai-responses", "anthropic", "gemini"] {
            let converted = place.brute(&format!("convert '{name}' --to {format} -q -o converted"));
            assert!(matches!(converted.code, Some(0 | 1)), "{name} {format}: {}", converted.err);
            let before = place.brute(&format!("count converted --json {QUICK}")).out_json();
            assert_eq!(before["format"], format, "{name}");
            let size = before["tokens"].as_u64().expect("a number");
            let line = format!("--window 1m --to {} {QUICK} -q", size / 2);
            let smaller = place.brute(&format!("compact converted {line} -o smaller"));
            // Images count otherwise elsewhere, and the newest ones stay.
            assert!(matches!(smaller.code, Some(0 | 1)), "{name} {format}: {}", smaller.err);
            let valid = place.brute("repair smaller --check");
            assert_eq!(
                (valid.code, valid.err.as_str()),
                (Some(0), "nothing to repair\n"),
                "{name}"
            );
            let again = place.brute(&format!("compact smaller {line}"));
            assert!(again.out == place.read("smaller"), "{name} {format}");
        }
    }
}

#[test]
fn explain_tells_rungs_and_differences() {
    let place = Place::new();
    for session in sessions() {
        let line = format!("explain '{}' --window 8k --to 2k --diff", session.display());
        let ended = place.brute(&line);
        assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.err);
        for piece in ["tool-results", "sliding-window", "saved", "fitted"] {
            assert!(ended.out.contains(piece), "{piece} in {}", ended.out);
        }
        assert!(ended.out.lines().any(|line| line.starts_with(['-', '~'])), "{}", ended.out);
    }
}

#[test]
fn ladders_can_be_used() {
    let place = Place::new();
    for ladder in shipped("ladders", &["toml"]) {
        let name = ladder.display();
        let checked = place.brute(&format!("check --deny-warnings --config '{name}'"));
        assert_eq!(checked.code, Some(0), "{name}: {}{}", checked.out, checked.err);
    }
}

/// How large things are means nothing here, and no vocabulary has to be loaded for each run.
const QUICK: &str = r#"--set window.counter="approximate""#;

/// The window sees whole requests, and so do people, whatever they ask and whoever reads the answer.
#[test]
fn all_sizes_are_of_the_whole_request() {
    let place = Place::new();
    for session in sessions() {
        let name = session.display();
        let counted = place.brute(&format!("count '{name}' --json {QUICK}")).out_json();
        let number = |value: &serde_json::Value, key: &str| value[key].as_u64().expect("a number");
        let tokens = number(&counted, "tokens");
        let roles = counted["roles"].as_object().expect("an object");
        let messages: u64 = roles.values().map(|role| number(role, "tokens")).sum();
        assert_eq!(tokens, messages + number(&counted, "overhead"), "{name}");
        let least = number(&counted, "overhead") + 1;
        for to in [tokens / 2, least.max(tokens / 50), least] {
            let line = format!("explain '{name}' --window 2m --to {to} {QUICK}");
            let ended = place.brute(&format!("{line} --json"));
            let report = ended.out_json();
            assert_eq!(number(&report, "before"), tokens, "{name} {to}");
            assert_eq!(number(&report, "target"), to, "{name} {to}");
            let after = number(&report, "after");
            match report["over-by"].as_u64() {
                Some(over) => assert_eq!(after, to + over, "{name} {to}"),
                None => assert!(after <= to, "{name} {to}"),
            }
            let rungs = report["rungs"].as_array().expect("a list");
            assert_eq!(number(&rungs[0], "before"), tokens, "{name} {to}");
            assert_eq!(number(rungs.last().expect("a rung"), "after"), after, "{name} {to}");
            // The same figures in words.
            let said = place.brute(&line).out;
            let grouped = |number: u64| {
                let digits = number.to_string();
                let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().collect();
                String::from_utf8(groups.join(&b',')).expect("digits")
            };
            assert!(said.contains(&format!("messages, {} tokens\n", grouped(tokens))), "{said}");
            assert!(said.contains(&format!("fitted: {} tokens", grouped(after))), "{said}");
        }
    }
}

#[test]
fn lines_stay_within_the_terminal() {
    let place = Place::new();
    for session in sessions() {
        let name = session.display();
        for columns in [72, 132] {
            for line in [
                format!("explain '{name}' --window 1m --to 8k --diff {QUICK}"),
                format!("explain '{name}' --window 1m --to 1k {QUICK}"),
                format!("count '{name}' {QUICK}"),
            ] {
                let output = place
                    .command(&line)
                    .env("COLUMNS", columns.to_string())
                    .output()
                    .expect("it runs");
                let text = String::from_utf8(output.stdout).expect("text");
                assert!(text.contains("counted by"), "{line}: {text}");
                // The first line is the name of the file, which is as long as it is.
                for shown in text.lines().skip_while(|line| !line.contains("counted by")) {
                    assert!(
                        console::measure_text_width(shown) <= columns,
                        "{line} in {columns}: {shown}"
                    );
                }
            }
        }
    }
}
