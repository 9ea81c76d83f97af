//! Windows and targets: absurd ones, unknown ones, and ones that cannot be met.

use std::time::{Duration, SystemTime};

use super::place::{Place, SMALL};

#[test]
fn windows_that_make_no_sense() {
    let unnamed = r#"[{"role": "user", "content": "x"}]"#;
    let said = Place::new().transcript([
        ("nothing", "compact - --window 0", SMALL),
        ("one token", "compact - --window 1", SMALL),
        ("beyond all numbers", "compact - --window 99999999999999999999999", SMALL),
        ("no number", "compact - --window large", SMALL),
        ("nothing, configured", "compact - --set window.size=0", SMALL),
        ("all of it reserved", "compact - --set window.reserve=1.0", SMALL),
        ("a model that nobody knows", "compact - --model nonesuch", SMALL),
        ("no model", "compact -", unnamed),
        ("target above trigger", "compact - --set trigger.compact-to=0.9", SMALL),
        ("target above window", "compact - --to 500k", SMALL),
    ]);
    insta::assert_snapshot!(said, @"
    ## nothing
    exit 2
    error: invalid value '0' for '--window <TOKENS>': expected a number of tokens like 32000, 32_000 or 32k, not `0`

    For more information, try '--help'.

    ## one token
    exit 2
    error: a window of 1 is too small for `reserve`, `compact-at` and `compact-to`: the least is 3 tokens; take a larger window, or ask for less: amounts such as 0.7 follow its size

    ## beyond all numbers
    exit 2
    error: invalid value '99999999999999999999999' for '--window <TOKENS>': expected a number of tokens like 32000, 32_000 or 32k, not `99999999999999999999999`

    For more information, try '--help'.

    ## no number
    exit 2
    error: invalid value 'large' for '--window <TOKENS>': expected a number of tokens like 32000, 32_000 or 32k, not `large`

    For more information, try '--help'.

    ## nothing, configured
    exit 2
    error: `size` is 0, expected a whole number of at least 1
     --> --set:1:13
      |
    1 | window.size=0
      |             ^
      |
      = help: `size`: the window in tokens, which input and reply share

    ## all of it reserved
    exit 2
    error: `reserve` (1.0) leaves nothing of a window
     --> --set:1:16
      |
    1 | window.reserve=1.0
      |                ^^^
      |
      = help: it is what stays free for the reply: give less, such as `0.1`

    ## a model that nobody knows
    exit 2
    error: no window is known for the model `nonesuch`; set `window.size` (or say `--window 128k`)

    ## no model
    exit 2
    error: the size of the window is not known: set `window.size` or `window.model`, or name the model in the session (or say `--window 128k` or `--model NAME`)

    ## target above trigger
    exit 2
    error: `compact-to` (0.9) must be below `compact-at` (0.7, the default)
     --> --set:1:20
      |
    1 | trigger.compact-to=0.9
      |                    ^^^
      |
      = help: a compaction starts at `compact-at` and aims for `compact-to`: 0 < `compact-to` < `compact-at` ≤ 1

    ## target above window
    exit 2
    error: `--to 500000` must be below the window (128,000 tokens)
    ");
}

#[test]
fn what_cannot_fit_says_what_is_in_the_way() {
    let place = Place::new();
    let ended = place.piped("compact - --to 1", SMALL);
    assert_eq!(ended.out, SMALL, "no layer could give anything");
    insta::assert_snapshot!(ended.said(), @"
    exit 1
    standard input: 5 messages, 34 tokens
    openai-chat (request body), counted by o200k
    window 128,000 (gpt-4o), compaction at 2, down to 4, tool schemas and framing
    take 3

        rung            result           before  after  saved  edits  calls time
     1  tool-results    nothing to give      34     34      0      0      0 [time]
     2  sliding-window  nothing to give      34     34      0      0      0 [time]

    not fitted: no layer could give anything, 30 over
    in the way:
             18  the newest steps (messages 2 to 4): lower `keep-steps`, or cap tool
                 results by `[truncate]`
              7  the task (message 1): shorten the newest user message: put long
                 material in a file
              6  the instructions (message 0): shorten the system prompt, or use a
                 larger window
              3  tool schemas and framing: send fewer tool schemas, or use a larger
                 window
    ");
    let report = place.piped("explain - --to 1 --json", SMALL);
    assert_eq!(report.code, Some(1));
    let report = report.out_json();
    assert_eq!(report["outcome"], "nothing");
    assert!(report["blockers"].as_array().is_some_and(|blockers| !blockers.is_empty()));
}

#[test]
fn a_conversation_below_the_trigger_is_copied_byte_for_byte() {
    let lines = "{\"role\":\"user\",\"content\":\"x\"}\r\n{\"role\": \"assistant\", \"content\": \"y\"}\r\n";
    for input in [SMALL, lines] {
        for window in ["8k", "8e15"] {
            let ended = Place::new().piped(&format!("compact - --window {window}"), input);
            assert_eq!((ended.code, ended.out.as_str()), (Some(0), input));
            assert!(ended.err.contains("below the trigger"), "{}", ended.err);
        }
    }
}

/// What `seq 1 10` prints.
fn ten() -> String {
    (1..=10).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_notice_has_a_line_of_its_own() {
    let whole = ten();
    for (keep, above, below) in
        [("head", "1\n2\n", "\n"), ("tail", "", "\n9\n10\n"), ("ends", "1\n", "\n10\n")]
    {
        for text in [whole.as_str(), whole.trim_end()] {
            let line =
                format!("truncate --set truncate.max-lines=3 --set truncate.keep=\"{keep}\"");
            let ended = Place::new().piped(&line, text);
            let (start, end) = (ended.out.find("[brute:truncated: "), ended.out.find(']'));
            let (start, end) = (start.expect("a notice"), end.expect("a notice") + 1);
            assert_eq!(&ended.out[..start], above, "{keep}: {}", ended.out);
            let below = if text.ends_with('\n') { below } else { below.trim_end() };
            assert_eq!(&ended.out[end..], below, "{keep}: {}", ended.out);
            assert!(ended.out.lines().count() <= 3);
        }
    }
}

#[test]
fn a_relative_folder_begins_where_it_is_written() {
    let place = Place::with([("brute.toml", "[truncate]\nmax-lines = 3\nspill = \"out\"\n")]);
    std::fs::create_dir(place.path("src")).expect("a folder");
    let run = |folder: &str, line: &str| {
        let mut command = place.command(line);
        let input = std::fs::File::open(place.path("ten.txt")).expect("it is there");
        let ended = command.current_dir(place.path(folder)).stdin(input).output().expect("it runs");
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stderr).expect("text")
    };
    place.write("ten.txt", ten());
    for (folder, line, out) in [
        ("", "truncate", "out"),
        ("src", "truncate", "out"),
        ("src", "truncate --config ../brute.toml", "out"),
        ("src", "truncate --set 'truncate.spill=\"out\"'", "src/out"),
    ] {
        run(folder, line);
        let files = std::fs::read_dir(place.path(out)).map(Iterator::count);
        // The text and the stamp of the sweep.
        assert_eq!(files.ok(), Some(2), "{folder} {line}");
        std::fs::remove_dir_all(place.path(out)).expect("it can be removed");
    }
    // What is readable goes by the same rule, and only who truncates is warned.
    let text = "[truncate]\nmax-lines = 3\nspill = \"out\"\nreadable = [\"src\"]\n";
    place.write("brute.toml", text);
    place.write("small.json", SMALL);
    for (line, warned) in [
        ("truncate", true),
        ("check", true),
        ("truncate --set 'truncate.readable=[\"..\"]'", false),
        ("truncate --set 'truncate.spill=\"out\"'", false),
        ("count ../small.json", false),
        ("explain ../small.json", false),
        ("compact ../small.json", false),
        ("config", false),
    ] {
        let said = run("src", line);
        assert_eq!(said.contains("the model cannot read full texts"), warned, "{line}: {said}");
    }
}

#[test]
fn old_full_texts_go_once_an_hour() {
    let place = Place::with([("brute.toml", "[truncate]\nmax-lines = 3\nspill = \"out\"\n")]);
    let hours = |hours: u64| SystemTime::now() - Duration::from_secs(hours * 3600);
    let age = |name: &str, time: SystemTime| {
        let file = std::fs::File::options().append(true).open(place.path(name)).expect("a file");
        file.set_modified(time).expect("a time");
    };
    let old = format!("out/{}.txt", "0".repeat(32));
    let young = format!("out/{}.txt", "1".repeat(32));
    let is_there = |name: &str| place.path(name).exists();
    std::fs::create_dir(place.path("out")).expect("a folder");
    let fill = || {
        for (name, hours_ago) in [(&old, 8 * 24), (&young, 6 * 24)] {
            place.write(name, "text");
            age(name, hours(hours_ago));
        }
        place.write("out/notes.txt", "mine");
        age("out/notes.txt", hours(1000));
    };
    fill();
    // A text that fits is nothing to do.
    assert_eq!(place.piped("truncate", "short\n").out, "short\n");
    assert!(is_there(&old));
    assert_eq!(place.piped("truncate", ten()).err, "");
    assert!(!is_there(&old) && is_there(&young) && is_there("out/notes.txt"));
    fill();
    place.piped("truncate", ten());
    assert!(is_there(&old), "within the hour");
    age("out/.swept", hours(2));
    // Its own text stays, whatever the limit.
    let ended = place.piped("truncate --json --set truncate.max-total=0", ten());
    let full = ended.err_json()["full-text"].as_str().expect("it names the file").to_owned();
    assert!(std::path::Path::new(&full).is_file());
    assert!(!is_there(&old) && !is_there(&young) && is_there("out/notes.txt"));
}

#[test]
fn a_full_text_that_cannot_be_saved_is_said() {
    let place = Place::with([("file", "in place of a folder")]);
    let rows = "row\n".repeat(5_000);
    for (line, is_said) in [
        ("truncate --set 'truncate.spill=\"file\"'", true),
        ("truncate -q --set 'truncate.spill=\"file\"'", false),
        ("truncate --set 'truncate.spill=\"\"'", false),
        ("truncate --set 'truncate.spill=\"out\"'", false),
    ] {
        let ended = place.piped(line, &rows);
        assert_eq!(ended.code, Some(0), "{line}");
        assert_eq!(
            ended.err.contains("the full text was not saved: "),
            is_said,
            "{line}: {}",
            ended.err
        );
    }
}
