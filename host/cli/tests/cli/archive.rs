//! `--archive` and `restore`: what was compacted comes back, also after a process was killed.

use std::path::Path;
use std::process::Stdio;

use super::kill;
use super::place::{Ended, Place};

/// A session of `steps` calls whose results have lines of their own.
fn session(name: &str, steps: usize) -> String {
    let mut messages = vec![
        format!(r#"{{"role": "system", "content": "Be brief. {name}"}}"#),
        r#"{"role": "user", "content": "Read it all."}"#.to_owned(),
    ];
    for step in 0..steps {
        let lines: String = (1..=80).map(|line| format!("{name} {step} line {line}\\n")).collect();
        messages.push(format!(
            r#"{{"role": "assistant", "content": null, "tool_calls": [{{"id": "c{step}", "type": "function", "function": {{"name": "read", "arguments": "{{}}"}}}}]}}"#
        ));
        messages.push(format!(
            r#"{{"role": "tool", "tool_call_id": "c{step}", "content": "{lines}"}}"#
        ));
    }
    format!("[\n{}\n]\n", messages.join(",\n"))
}

const COMPACT: &str = "--no-config --set window.counter='\"approximate\"' --window 1m";

/// The handles that a conversation names, in order.
fn handles(text: &str) -> Vec<&str> {
    let named = text.split("brute restore ").skip(1);
    named.map(|rest| &rest[..rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(12)]).collect()
}

#[test]
fn a_conversation_comes_back_whole_and_in_pieces() {
    let place = Place::with([("s.json", &session("a", 12))]);
    let ended = place.brute(&format!("compact s.json {COMPACT} --to 1500 --archive arch -o once"));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("\narchived: "), "{}", ended.err);
    let once = place.read("once");
    let line = r#"{"role": "user", "content": "And now?"}"#;
    place.write("grown", once.replace("\n]\n", &format!(",\n{line}\n]\n")));
    let ended = place.brute(&format!("compact grown {COMPACT} --to 200 --archive arch -o twice"));
    assert!(ended.code <= Some(1), "{}", ended.err);
    let whole = session("a", 12).replace("\n]\n", &format!(",\n{line}\n]\n"));
    for (file, original) in [("once", session("a", 12)), ("grown", whole.clone()), ("twice", whole)]
    {
        let ended = place.brute(&format!("restore {file} --archive arch --no-config"));
        assert_eq!(
            (ended.code, ended.out, ended.err),
            (Some(0), original, String::new()),
            "{file}"
        );
    }
    // One of its messages, three ways.
    let message = place.brute("restore twice --message 3 --archive arch --no-config").out;
    assert!(session("a", 12).contains(&message) && message.contains("a 0 line 1"), "{message}");
    let pointed = place.brute("restore twice --message /3/content --archive arch --no-config");
    assert_eq!(pointed.out, message);
    // A result by its handle: all of it, some lines, those with a word.
    let handle = handles(&once)[0];
    let text =
        |rest: &str| place.brute(&format!("restore {handle} --archive arch --no-config {rest}"));
    let all: String = (1..=80).map(|line| format!("a 0 line {line}\n")).collect();
    assert_eq!(text("").out, all);
    assert_eq!(text("--lines 2-3").out, "a 0 line 2\na 0 line 3\n");
    assert_eq!(text("--lines 80-").out, "a 0 line 80\n");
    assert_eq!(text("--grep 'line 1'").out.lines().next(), Some("1:a 0 line 1"));
    assert_eq!(text("--grep 'line 1' --lines 19-30").out, "19:a 0 line 19\n");
    assert_eq!(text("--grep nothing").out, "");
}

#[test]
fn a_note_leads_from_each_message_to_the_next() {
    let place = Place::with([("s.json", &session("a", 6))]);
    place.brute(&format!(
        "compact s.json {COMPACT} --to 700 --archive arch -o o --set ladder='[{{layer=\"sliding-window\"}}]'"
    ));
    let text = place.read("o");
    let (mut handle, mut read) = (handles(&text)[0].to_owned(), Vec::new());
    loop {
        let ended = place.brute(&format!("restore {handle} --archive arch --no-config"));
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        read.push(ended.out);
        match ended.err.strip_prefix("the next that went: ") {
            Some(next) => next.trim().clone_into(&mut handle),
            None => break,
        }
    }
    // Calls and results take turns, from the oldest on.
    assert_eq!(read.len() % 2, 0);
    assert!(read[0].starts_with("read {}") && read[1].starts_with("a 0 line 1\n"), "{read:?}");
    assert!(read[3].starts_with("a 1 line 1\n"));
}

#[test]
fn what_the_configuration_names_needs_no_option() {
    let place = Place::with([
        ("s.json", session("a", 12).as_str()),
        ("brute.toml", "[archive]\nfolder = \"kept\"\n[window]\ncounter = \"approximate\"\n"),
    ]);
    let ended = place.brute("compact s.json --to 1500 -o o --session mine");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(place.path("kept/mine.jsonl").is_file());
    let text = place.read("o");
    assert!(text.contains("To have it back: `brute restore ") && !text.contains("--archive"));
    assert_eq!(place.brute("restore o -q").out, session("a", 12));
    assert_eq!(place.brute("restore o -q --session mine").out, session("a", 12));
    // What `explain` shows is what `compact` does.
    let size = |verb: &str| {
        let ended = place.brute(&format!("{verb} s.json --to 1500 --json"));
        let report = if verb == "explain" { ended.out_json() } else { ended.err_json() };
        report["after"].clone()
    };
    assert_eq!(size("explain"), size("compact"));
}

#[test]
fn refusals_say_what_to_do() {
    let marked = session("a", 12);
    let place = Place::with([("s.json", marked.as_str()), ("file", "")]);
    place.brute(&format!("compact s.json {COMPACT} --to 1500 --archive arch -o o"));
    let said = place.transcript([
        ("no archive", "restore o --no-config", ""),
        ("no archive for a session", "compact s.json --no-config --window 1m --session x", ""),
        ("another archive", "restore o --archive other --no-config", ""),
        ("no such session", "restore o --archive arch --session x --no-config", ""),
        ("a bad name", "restore o --archive arch --session ../x --no-config", ""),
        ("no such handle", "restore 0123456789ab --archive arch --no-config", ""),
        ("no such file", "restore nothing.json --archive arch --no-config", ""),
        ("no such message", "restore o --message 99 --archive arch --no-config -q", ""),
        ("lines of what", "restore o --lines 1-2 --archive arch --no-config", ""),
        ("never compacted", "restore s.json --archive arch --no-config", ""),
        ("no conversation", "restore - --archive arch --no-config", "{}"),
        (
            "cannot be written",
            "compact s.json --no-config --window 1m --to 1500 --archive file/x -o out",
            "",
        ),
    ]);
    assert!(!place.path("out").exists());
    insta::assert_snapshot!(said, @"
    ## no archive
    exit 2
    error: `restore` needs an archive: say `--archive DIR`, or set `[archive] folder`

    ## no archive for a session
    exit 2
    error: `--session` needs an archive: say `--archive DIR`, or set `[archive] folder`

    ## another archive
    exit 3
    error: `o`: the archive at `other` knows none of the compactions that left texts in the conversation (8): was it another archive, or was the session removed for its age?

    ## no such session
    exit 3
    error: `o`: there is no session `x` in the archive at `arch`

    ## a bad name
    exit 2
    error: `o`: `../x` cannot name a session: take 1 to 100 letters, digits, `-`, `_` and `.`, and no `.` first

    ## no such handle
    exit 3
    error: no message of the archive at `arch` has the handle `0123456789ab`

    ## no such file
    exit 3
    error: cannot read `nothing.json`: no such file or folder

    ## no such message
    exit 3
    error: there is no message `99`: the conversation has 26, counted from 0

    ## lines of what
    exit 2
    error: `--lines` and `--grep` want a handle, which placeholders name

    ## never compacted
    exit 0
    no compaction of it is archived: it is given back as it came

    ## no conversation
    exit 3
    error: `standard input`: no conversation found: the input is an empty object; accepted are a request body of OpenAI Chat or Anthropic Messages (an object with `messages`), of OpenAI Responses (`input`) or Gemini (`contents`), a bare array of messages, JSON lines with one message a line, a trajectory of mini-swe-agent, SWE-agent (`history`), tau-bench (`traj`) or tau2 (`simulations`), a session log of brute, or the log of an agent: Claude Code, Codex, opencode, pi, OpenHands, Gemini CLI, Cline, Inspect, ATIF, LangChain or aider

    ## cannot be written
    exit 3
    error: cannot write to the archive at `file/x`: not a directory; nothing was written out, since it could not be restored
    ");
}

#[test]
fn another_spelling_is_told() {
    let place = Place::with([("s.json", &session("a", 12))]);
    place.brute(&format!("compact s.json {COMPACT} --to 1500 --archive arch -o o"));
    let spelled = Ended::json(&place.read("o")).to_string();
    place.write("spelled", spelled);
    let ended = place.brute("restore spelled --archive arch --no-config");
    assert_eq!(ended.code, Some(1));
    assert!(ended.err.contains("spelled otherwise"), "{}", ended.err);
    assert_eq!(Ended::json(&ended.out), Ended::json(&session("a", 12)));
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_a_readable_archive_and_hands_out_nothing() {
    let place = Place::with([("a.json", &session("a", 12)), ("b.json", &session("b", 60))]);
    place.brute(&format!("compact a.json {COMPACT} --to 1500 --archive arch --session s -o a"));
    let before = place.read("arch/s.jsonl");
    // A limit on the size of files is what a program can have of a full disk. The file system takes the
    // beginning of what is written.
    let line = format!("compact b.json {COMPACT} --to 1500 --archive arch --session s -o b");
    let brute = place.command(&line);
    let mut limited = std::process::Command::new("sh");
    limited.arg("-c").arg("trap '' XFSZ; ulimit -f 60; exec \"$0\" \"$@\"");
    limited.arg(brute.get_program()).args(brute.get_args());
    limited.current_dir(place.path("."));
    let ended = limited.output().expect("there is a shell");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot write to the archive at `arch/s.jsonl`"), "{said}");
    assert!(!place.path("b").exists());
    assert_eq!(place.read("arch/s.jsonl"), before);
    assert_eq!(place.brute("restore a --archive arch --no-config").out, session("a", 12));
}

/// A process may die anywhere; what was handed out can be restored, whatever it was.
#[test]
fn whatever_a_killed_process_handed_out_comes_back() {
    const KILLS: u32 = 200;
    let place = Place::new();
    let run = |number: u32| {
        place.write(&format!("{number}.json"), session(&number.to_string(), 30));
        let line =
            format!("compact {number}.json -q {COMPACT} --to 1500 --archive arch --session s");
        let mut command = place.command(&format!("{line} -o {number}"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the built binary runs")
    };
    let (mut all, mut acknowledged) = (0, Vec::new());
    kill::at_random(KILLS, run, |number, _| {
        all += 1;
        if Path::exists(&place.path(&number.to_string())) {
            acknowledged.push(number.to_string());
        }
    });
    for name in &acknowledged {
        let ended = place.brute(&format!("restore {name} --archive arch --no-config -q"));
        assert_eq!((ended.code, ended.out == session(name, 30)), (Some(0), true), "{name}");
    }
    let kept = acknowledged.len();
    assert!(kept > 1 && kept < all, "{kept} of {all} were handed out");
}
