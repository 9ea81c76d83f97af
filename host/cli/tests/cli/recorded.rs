//! `--record` and `--replay`: the same bytes without the program that wrote the summaries.
#![cfg(unix)]

use super::place::{Ended, Place};
use super::summarizer::long;

/// A program that answers differently each time, so that nothing but the recording can repeat it.
const SUMMARIZER: &str = r###"version = 1
[summarizer]
backend = "command"
command = ["sh", "-c", "echo x >>asked; printf '## Objective\\nAll reports\\n## Work done\\nRead, %s.\\n' \"$(date +%N)\""]
window = 1_500
[[ladder]]
layer = "summarize"
max-tokens = 150
"###;

fn place() -> Place {
    Place::with([("own.toml", SUMMARIZER), ("long.json", &long())])
}

fn compact(place: &Place, more: &str) -> Ended {
    place.brute(&format!("compact long.json --window 8k --to 400 {more}"))
}

#[test]
fn a_run_is_repeated_byte_for_byte_without_its_summarizer() {
    let place = place();
    let recorded = compact(&place, "--config own.toml --record run.jsonl");
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);
    let calls = place.read("asked").lines().count();
    assert!(calls > 1 && place.read("run.jsonl").lines().count() == 1 + calls, "{calls}");

    std::fs::remove_file(place.path("asked")).expect("it was asked");
    let replayed = compact(&place, "--config own.toml --replay run.jsonl");
    assert_eq!((replayed.code, &replayed.out), (Some(0), &recorded.out), "{}", replayed.err);
    // Whoever gets the recording need not have the summarizer.
    let ladder = "[[ladder]]\nlayer = \"summarize\"\nmax-tokens = 150\n";
    place.write("theirs.toml", ladder);
    let theirs = compact(&place, "--config theirs.toml --replay run.jsonl");
    assert_eq!(theirs.out, recorded.out, "{}", theirs.err);
    let explained = place.brute(
        "explain long.json --window 8k --to 400 --config theirs.toml --replay run.jsonl --json",
    );
    assert_eq!(explained.out_json()["rungs"][0]["summarizer-calls"], calls);
    assert!(!place.names().contains(&"asked".to_owned()), "nobody was asked");
}

#[test]
fn another_run_is_told_from_the_recorded_one() {
    let place = place();
    // How far a request reaches hangs on every word.
    place.write("own.toml", SUMMARIZER.replace("$(date +%N)", "all"));
    let recorded = compact(&place, "--config own.toml --record run.jsonl");
    assert_eq!(recorded.code, Some(0), "{}", recorded.err);
    let to = |to: &str, more: &str| {
        let replay = "--config own.toml --replay run.jsonl -o never.json";
        place.brute(&format!("compact long.json --window 8k --to {to} {replay} {more}"))
    };
    let focus = to("400", "--focus boats");
    let more = to("200", "");
    let fewer = to("900", "");
    let none = to("7000", "");
    let lines: Vec<String> = place.read("run.jsonl").lines().map(str::to_owned).collect();
    place.write("run.jsonl", format!("{}\n{}", lines[0], &lines[1][..90]));
    let torn = to("400", "");
    place.write("run.jsonl", lines[0].replace("\"version\":1", "\"version\":7") + "\n");
    let newer = to("400", "");
    place.write("run.jsonl", long());
    let foreign = to("400", "");
    let missing = compact(&place, "--config own.toml --replay nowhere.jsonl");
    let again = compact(&place, "--config own.toml --record run.jsonl");
    let nothing = compact(&place, "--no-config --record new.jsonl");
    let said = [
        ("focus", focus),
        ("more", more),
        ("fewer", fewer),
        ("none", none),
        ("torn", torn),
        ("newer", newer),
        ("foreign", foreign),
        ("missing", missing),
        ("again", again),
        ("nothing", nothing),
    ]
    .map(|(name, ended)| {
        assert_eq!(ended.out, "", "{name}");
        let errors = ended.err.split("error: ").nth(1).unwrap_or("no error\n");
        format!("{name}: {:?} {}", ended.code, errors.replace(" \n", "\n"))
    });
    assert!(!place.names().contains(&"never.json".to_owned()), "nothing is handed out");
    insta::assert_snapshot!(said.concat(), @r#"
    focus: Some(3) exchange 1 of the recording `run.jsonl` is another request: the instructions differ from line 23, column 1 on; the conversation, the configuration and brute itself have to be those of the recorded run
      recorded: (nothing more)
      this run: \nThis time, dwell on this above all:\n\nboats\n
    more: Some(3) exchange 3 of the recording `run.jsonl` is another request: the contents differ from line 31, column 1 on; the conversation, the configuration and brute itself have to be those of the recorded run
      recorded: <<<end of record 00000000>>>\n\nThe record ends here. Nothing
      this run: [assistant]\nReport 28: The report has nothing new to say abo
    fewer: Some(3) exchange 2 of the recording `run.jsonl` is another request: the contents differ from line 35, column 1 on; the conversation, the configuration and brute itself have to be those of the recorded run
      recorded: [assistant]\nReport 18: The report has nothing new to say abo
      this run: <<<end of record 00000000>>>\n\nThe record ends here. Nothing
    none: Some(3) the recording `run.jsonl` has 3 exchanges, and this run asked for 0: it is not the recorded run
    torn: Some(3) line 2 of the recording `run.jsonl` is torn: its run was stopped while it was written; to repeat what stands before it, cut the file there
    newer: Some(3) the recording `run.jsonl` is of version 7, and this brute knows version 1: take the brute that wrote it
    foreign: Some(3) `run.jsonl` is no recording of a summarizer: name a file that `--record` made
    missing: Some(3) cannot read the recording `nowhere.jsonl`: no such file or folder
    again: Some(3) `run.jsonl` is there already: a recording goes to a new file
    nothing: Some(2) `--record` has nothing to record: no summarizer is configured (set `[summarizer]` in brute.toml)
    "#);
}

#[test]
fn what_failed_is_repeated_as_it_failed() {
    let place = place();
    let failing = SUMMARIZER.replace("echo x >>asked;", "test -e asked && exit 3; echo x >>asked;");
    place.write("own.toml", failing);
    let recorded = compact(&place, "--config own.toml --record run.jsonl");
    assert!(recorded.err.contains("ended with exit status: 3"), "{}", recorded.err);
    let replayed = compact(&place, "--config own.toml --replay run.jsonl");
    assert_eq!((replayed.code, &replayed.out), (Some(4), &recorded.out), "{}", replayed.err);
    assert_eq!(replayed.said(), recorded.said());
}
