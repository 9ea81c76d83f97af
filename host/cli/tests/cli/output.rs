//! Where the result goes, and what happens when it cannot go there.

use std::io::Read;
use std::process::Stdio;

use super::place::{Place, SMALL};

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let place = Place::with([("small.json", SMALL), ("old.json", "old")]);
    let said = place.transcript([
        ("below a file", "compact small.json -o small.json/sub/x.json", ""),
        ("no such folder", "compact small.json -o none/x.json", ""),
        ("init below a file", "init --config small.json/brute.toml", ""),
    ]);
    insta::assert_snapshot!(said, @"
    ## below a file
    exit 3
    error: cannot write `small.json/sub/x.json`: not a directory

    ## no such folder
    exit 3
    error: cannot write `none/x.json`: entity not found

    ## init below a file
    exit 3
    error: cannot write `small.json/brute.toml`: not a directory
    ");
    assert_eq!(place.brute("compact small.json -o old.json -q").said(), "exit 0\n");
    assert_eq!(place.read("old.json"), SMALL);
    assert_eq!(place.brute("compact broken.json -o old.json").code, Some(3));
    assert_eq!(place.read("old.json"), SMALL, "what was there stays");
    assert_eq!(place.names(), ["old.json", "small.json"], "nothing else is left behind");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let place = Place::with([("small.json", SMALL)]);
    insta::assert_snapshot!(place.brute("compact small.json -o /dev/full").said(), @"
    exit 3
    error: cannot write `/dev/full`: No space left on device (os error 28)
    ");
    for line in ["compact small.json", "explain small.json", "count small.json --json", "schema"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
        let output = place.command(line).stdout(full).output().expect("the built binary runs");
        assert_eq!(output.status.code(), Some(3), "{line}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cannot write to standard output: No space left"), "{line}: {said}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    let mut child = place
        .command("config --reference")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the built binary runs");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
    assert_eq!((child.wait().expect("it ends").code(), said.as_str()), (Some(0), ""));
}

#[test]
fn nothing_is_colored_in_a_pipe() {
    let place = Place::with([("small.json", SMALL), ("brute.toml", "nope = 1")]);
    for line in [
        "explain small.json --no-config --to 1 --diff",
        "compact small.json --no-config --to 1",
        "count small.json --no-config",
        "compact none.json",
        "check",
        "layers",
        "config trigger",
        "--help",
        "nope",
    ] {
        let ended = place.brute(line);
        assert!(!format!("{}{}", ended.out, ended.err).contains('\u{1b}'), "{line}");
    }
}

#[test]
fn quiet_says_nothing_but_errors() {
    let place = Place::with([("small.json", SMALL)]);
    assert_eq!(place.brute("compact small.json -q").said(), "exit 0\n");
    assert_eq!(place.brute("compact small.json -q --to 1").said(), "exit 1\n");
    assert_eq!(place.brute("init -q").said(), "exit 0\n");
    assert!(place.brute("compact none.json -q").err.starts_with("error: "));
}

#[test]
fn a_tool_result_is_capped_and_its_full_text_kept() {
    let place = Place::new();
    let text: String = (1..=5_000).map(|line| format!("line {line} of a long listing\n")).collect();
    place.write("long.txt", &text);
    let ended = place.brute("truncate long.txt --json --set 'truncate.max-bytes=\"4KB\"'");
    assert_eq!(ended.code, Some(0));
    assert!(ended.out.len() <= 4_096 && ended.out.starts_with("line 1 of"), "{}", ended.out);
    let report = ended.err_json();
    assert_eq!((&report["cut"], &report["total-lines"]), (&true.into(), &5_000.into()));
    let full = report["full-text"].as_str().expect("it names the file");
    assert!(ended.out.contains(full), "the notice names it, too");
    assert_eq!(std::fs::read_to_string(full).expect("the file is there"), text);
}

#[test]
fn a_tool_result_comes_back_even_if_its_full_text_cannot_be_kept() {
    let place = Place::with([("file", "")]);
    place.write("long.txt", "a line\n".repeat(5_000));
    let ended = place.brute("truncate long.txt --json --set 'truncate.spill=\"file/sub\"'");
    assert_eq!(ended.code, Some(0));
    assert!(ended.out.starts_with("a line\n") && ended.out.contains("not saved"), "{}", ended.out);
    assert!(ended.err_json()["not-saved"].is_string(), "{}", ended.err);
}

#[test]
fn a_short_tool_result_passes_unchanged() {
    for line in ["truncate", "truncate -", "truncate --tool shell"] {
        for text in ["", "short\r\n", "no end of line"] {
            let ended = Place::new().piped(line, text);
            assert_eq!((ended.code, ended.out.as_str()), (Some(0), text), "{line}");
            assert_eq!(ended.err, "", "{line}");
        }
    }
}
