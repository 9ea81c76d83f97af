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
    error: cannot write `none/x.json`: no such file or folder

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
    error: cannot write `/dev/full`: no space left on the disk
    ");
    for line in ["compact small.json", "explain small.json", "count small.json --json", "schema"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("a full disk");
        let output = place.command(line).stdout(full).output().expect("the built binary runs");
        assert_eq!(output.status.code(), Some(3), "{line}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("cannot write to standard output: no space left"), "{line}: {said}");
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
fn a_tool_result_loses_its_terminal_sequences_if_it_is_to() {
    let place = Place::new();
    let text = "\u{1b}[31mred\u{1b}[0m \u{1b}]8;;http://e.x\u{1b}\\link\u{1b}]8;;\u{1b}\\\n";
    let line = "truncate --tool shell --json";
    let ended = place.piped(line, text);
    assert_eq!((ended.out.as_str(), &ended.err_json()["stripped"]), (text, &false.into()));
    for set in ["truncate.strip-ansi=true", "truncate.tools.shell.strip-ansi=true"] {
        let ended = place.piped(&format!("{line} --set {set}"), text);
        let report = ended.err_json();
        assert_eq!(ended.out, "red link\n", "{set}");
        assert_eq!((&report["cut"], &report["stripped"]), (&false.into(), &true.into()));
    }
}

#[test]
fn a_full_text_out_of_reach_is_told_and_not_named() {
    let place = Place::with([("brute.toml", "[truncate]\nreadable = [\".\"]\nspill = \"out\"\n")]);
    let text = "a line\n".repeat(5_000);
    let full = |ended: &super::place::Ended| {
        let report = ended.err_json();
        let full = report["full-text"].as_str().expect("it names the file").to_owned();
        assert_eq!(std::fs::read_to_string(&full).expect("the file is there"), text);
        (full, report["readable"].as_bool())
    };
    let ended = place.piped("truncate --json", &text);
    let (file, readable) = full(&ended);
    assert!(ended.out.contains(&file) && readable == Some(true), "{}", ended.out);

    std::fs::create_dir(place.path("work")).expect("a folder can be made");
    place.write("brute.toml", "[truncate]\nreadable = [\"work\"]\nspill = \"out\"\n");
    let ended = place.piped("truncate --json", &text);
    let (_, readable) = full(&ended);
    assert_eq!(readable, Some(false));
    assert!(ended.out.contains("kept for the operator"), "{}", ended.out);
    assert!(!ended.out.contains("/out/"), "{}", ended.out);
    let checked = place.brute("check");
    assert_eq!(checked.code, Some(0));
    assert_eq!(place.brute("check --deny-warnings").code, Some(2));
    insta::assert_snapshot!(checked.stable(&format!("{}{}", checked.err, checked.out)), @r#"
    warning: the model cannot read full texts: `[folder]/out` lies outside of the folders in `readable`
     --> brute.toml:3:9
      |
    3 | spill = "out"
      |         ^^^^^
      |
      = help: set `spill` to a folder below one of them; as it is, notices name no path
    ok  files            brute.toml
    ok  keys and values  1 finding, see above
    ok  ladder           tool-results > sliding-window
    ok  window           by the model that a session names
    ok  tool output      full texts go to [folder]/out, where the model cannot read them
    can be used
    "#);
    // Where the folder is the default, the one for reading is what stands in the file.
    place.write("brute.toml", "[truncate]\nreadable = [\"work\"]\n");
    insta::assert_snapshot!(place.brute("truncate").said(), @r#"
    exit 0
    warning: the model cannot read full texts: `[folder]/brute/tool-output` lies outside of the folders in `readable`
     --> brute.toml:2:12
      |
    2 | readable = ["work"]
      |            ^^^^^^^^
      |
      = help: set `spill` to a folder below one of them; as it is, notices name no path
    "#);
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
