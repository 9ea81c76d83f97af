//! Summarizers that hang, fail or talk nonsense: exit code 4, and the conversation as it was.

use super::place::{Ended, Place};

/// A request, thirty steps that say a lot, and a second request.
pub(crate) fn long() -> String {
    let mut messages = vec![r#"{"role": "user", "content": "Look at all reports."}"#.to_owned()];
    for report in 0..30 {
        let words = "The report has nothing new to say about the harbor. ".repeat(4);
        messages.push(format!(r#"{{"role": "assistant", "content": "Report {report}: {words}"}}"#));
    }
    messages.push(r#"{"role": "user", "content": "And now?"}"#.to_owned());
    messages.push(r#"{"role": "assistant", "content": "Now we wait."}"#.to_owned());
    format!("[{}]", messages.join(",\n"))
}

fn summarize(place: &Place, summarizer: &str, more: &str) -> Ended {
    let ladder = "[[ladder]]\nlayer = \"summarize\"\n";
    place.write("own.toml", format!("version = 1\n[summarizer]\n{summarizer}\n{ladder}"));
    place.write("long.json", long());
    place.brute(&format!("compact long.json --window 8k --to 500 --config own.toml {more}"))
}

fn command(words: &str) -> String {
    format!("backend = \"command\"\ncommand = [{words}]")
}

#[cfg(unix)]
#[test]
fn a_summarizer_that_fails_costs_nothing() {
    let place = Place::new();
    let said = [
        ("fails", command(r#""sh", "-c", "echo no quota left >&2; exit 3""#)),
        ("is not there", command(r#""nonesuch-program""#)),
        ("answers nothing", command(r#""true""#)),
        ("answers more than it was given", command(r#""cat""#)),
        ("hangs", format!("{}\ntimeout = \"1s\"", command(r#""sleep", "60""#))),
    ]
    .map(|(name, summarizer)| {
        let ended = summarize(&place, &summarizer, "");
        assert_eq!((ended.code, ended.out.as_str()), (Some(4), long().as_str()), "{name}");
        assert_eq!(summarize(&place, &summarizer, "--json").err_json()["outcome"], "nothing");
        let failed = ended.err.lines().filter(|line| line.starts_with("failed"));
        format!("{name}\n  {}\n", failed.collect::<Vec<_>>().join("\n  "))
    });
    insta::assert_snapshot!(said.concat(), @"
    fails
      failed `summarize`: the summarizer failed: `sh` ended with exit status: 3: no quota left
    is not there
      failed `summarize`: the summarizer failed: `nonesuch-program` could not be started: no such file or folder
    answers nothing
      failed `summarize`: the summarizer answered nothing
    answers more than it was given
      failed `summarize`: the summarizer wrote its request down instead of a summary
    hangs
      failed `summarize`: the summarizer did not answer within 1 s
    ");
    insta::assert_snapshot!(summarize(&place, &command(r#""true""#), "").said(), @"
    exit 4
    long.json: 33 messages, 1,584 tokens
    openai-chat (bare array), counted by o200k
    window 8,000, compaction at 501, down to 500, tool schemas and framing take 3

        rung       result  before  after  saved  edits  calls time
     1  summarize  failed   1,584  1,584      0      0      1 [time]
    asked `summarize`: 1 call of the summarizer, 1,978 tokens in, 0 out (estimated), [time]
    failed `summarize`: the summarizer answered nothing

    not fitted: no layer could give anything, 1,084 over
    in the way:
          1,516  older turns that no layer gave up (messages 0 to 29): the rungs
                 that give up turns and steps failed or were not asked: see to that
             59  the newest steps (messages 30, 32): the rungs that give up turns
                 and steps failed or were not asked: see to that
    ");
}

#[cfg(unix)]
#[test]
fn what_only_a_terminal_reads_stays_out_of_the_conversation() {
    let place = Place::new();
    let script = r"printf '\\033[1mSaid\\033[0m\\000 nothing\\a\\tabout the harbor.\\r\\n'";
    let ended = summarize(&place, &command(&format!(r#""sh", "-c", "{script}""#)), "");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains(r"Said nothing\tabout the harbor."), "{}", ended.out);
    assert!(!ended.out.contains(r"\u00") && !ended.out.contains(r"\r"), "{}", ended.out);
    let script = r"printf '\\033[31mno quota\\033[0m left\\n' >&2; exit 3";
    let ended = summarize(&place, &command(&format!(r#""sh", "-c", "{script}""#)), "");
    assert!(ended.err.contains("exit status: 3: no quota left"), "{}", ended.err);
}

#[cfg(unix)]
#[test]
fn a_summarizer_that_works_makes_it_fit() {
    let place = Place::new();
    let summarizer = command(r#""echo", "All reports were read; none had news.""#);
    let ended = summarize(&place, &summarizer, "");
    insta::assert_snapshot!(ended.said(), @"
    exit 0
    long.json: 33 messages, 1,584 tokens
    openai-chat (bare array), counted by o200k
    window 8,000, compaction at 501, down to 500, tool schemas and framing take 3

        rung       result   before  after  saved  edits  calls time
     1  summarize  applied   1,584    141  1,443      1      1 [time]
    asked `summarize`: 1 call of the summarizer, 1,978 tokens in, 9 out (estimated), [time]

    fitted: 141 tokens, 1,443 saved
    ");
    assert!(ended.out.contains("none had news"), "{}", ended.out);
    assert!(ended.out.contains("And now?"), "{}", ended.out);
}

#[cfg(unix)]
#[test]
fn a_run_may_be_about_something() {
    let place = Place::new();
    let summarizer = command(r#""sh", "-c", "cat >asked.txt; echo so""#);
    for (verb, focus) in [("compact", "the harbor"), ("explain", "the boats")] {
        place.write(
            "own.toml",
            format!("[summarizer]\n{summarizer}\n[[ladder]]\nlayer = \"summarize\"\n"),
        );
        place.write("long.json", long());
        let words = focus.replace(' ', "-");
        let run = format!("{verb} long.json --window 8k --to 500 --config own.toml");
        let ended = place.brute(&format!("{run} --focus {words}"));
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(!ended.err.contains("--focus"), "{}", ended.err);
        let asked = place.read("asked.txt");
        assert!(asked.contains(&format!("dwell on this above all:\n\n{words}\n")), "{asked}");
        place.brute(&run);
        assert!(!place.read("asked.txt").contains("above all"));
        let ended = place
            .brute(&format!("{verb} long.json --window 8k --to 500 --no-config --focus {words}"));
        let note = "note: `--focus` has no use: no rung of this ladder is `summarize`";
        assert!(ended.err.contains(note), "{}", ended.err);
    }
}

#[cfg(unix)]
#[test]
fn what_a_summary_cost_is_told() {
    let report =
        summarize(&Place::new(), &command(r#""echo", "All were read.""#), "--json").err_json();
    let rung = &report["rungs"][0];
    assert_eq!(rung["summarizer-calls"], 1);
    assert!(rung["summarizer-input-tokens"].as_u64().unwrap() > 1_500, "{rung}");
    assert_eq!(rung["summarizer-output-tokens"], 4);
    assert!(rung["summarizer-duration-ms"].as_f64().unwrap() > 0.0, "{rung}");
}

#[test]
fn no_model_is_needed_to_extract() {
    let ended = summarize(&Place::new(), "backend = \"extract\"", "");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.len() < long().len() / 2);
}

#[test]
fn a_summarizer_that_names_no_program_is_a_mistake() {
    insta::assert_snapshot!(summarize(&Place::new(), &command(""), "").said(), @r#"
    exit 2
    error: `command` names no program; write `command = ["program"]`
     --> own.toml:4:11
      |
    4 | command = []
      |           ^^
    "#);
}

#[test]
fn a_file_that_came_with_a_folder_runs_no_program() {
    let place = Place::with([("long.json", &long())]);
    let summarizer = format!("[summarizer]\n{}\n", command(r#""touch", "ran""#));
    place.write("brute.toml", summarizer);
    let ended = place.brute("compact long.json --window 8k --to 500");
    insta::assert_snapshot!(ended.said(), @r#"
    exit 2
    error: a file that was only found here cannot name a program to run
     --> brute.toml:3:11
      |
    3 | command = ["touch", "ran"]
      |           ^^^^^^^^^^^^^^^^
      |
      = help: put `[summarizer]` into your own file, or name this one by `--config`
    "#);
    assert_eq!(place.names(), ["brute.toml", "long.json"]);
}

#[cfg(unix)]
#[test]
fn a_file_that_came_with_a_folder_grants_no_budget() {
    let place = Place::with([("long.json", &long())]).with_own_file();
    place.write("own.toml", format!("[summarizer]\n{}\n", command(r#""echo", "so""#)));
    place.write("brute.toml", "[summarizer.budget]\nmax-calls = 1_000\n");
    let ended = place.brute("compact long.json --window 8k --to 500");
    insta::assert_snapshot!(ended.said(), @"
    exit 2
    error: a file that was only found here cannot say how much summaries may take
     --> brute.toml:1:1
      |
    1 | [summarizer.budget]
      | ^^^^^^^^^^^^^^^^^^^
      |
      = help: put `[summarizer]` into your own file, or name this one by `--config`
    ");
}

#[cfg(unix)]
#[test]
fn a_budget_that_is_used_up_is_said() {
    let place = Place::new();
    let summarizer = command(r#""echo", "All reports were read; none had news.""#);
    let budget = "window = 1_500\n[summarizer.budget]\nmax-calls = 1";
    let ended = summarize(&place, &format!("{summarizer}\n{budget}"), "");
    insta::assert_snapshot!(ended.said(), @"
    exit 1
    long.json: 33 messages, 1,584 tokens
    openai-chat (bare array), counted by o200k
    window 8,000, compaction at 501, down to 500, tool schemas and framing take 3

        rung       result         before  after  saved  edits  calls time
     1  summarize  out of budget   1,584  1,178    406      1      1 [time]
    asked `summarize`: 1 call of the summarizer, 942 tokens in, 9 out (estimated), [time]
    ended `summarize`: the summarizer's budget is used up: `max-calls` allows 1 call

    not fitted: 1,178 tokens, 406 saved, still 678 over
    in the way:
          1,048  older turns that no layer gave up (messages 0, 10 to 29): the
                 summarizer's budget is used up: raise `[summarizer.budget]`, or add
                 `sliding-window` to the ladder
             62  summaries of earlier compactions: lower `max-tokens` of `summarize`
             59  the newest steps (messages 30, 32): the summarizer's budget is used
                 up: raise `[summarizer.budget]`, or add `sliding-window` to the
                 ladder
    ");
    let report = summarize(&place, &format!("{summarizer}\n{budget}"), "--json").err_json();
    let result = &report["rungs"][0]["result"];
    assert_eq!((&result["kind"], &result["limit"]), (&"out-of-budget".into(), &"max-calls".into()));
}

#[test]
fn a_file_that_came_with_a_folder_sends_nothing_anywhere() {
    let place = Place::with([("long.json", &long())]);
    let summarizer = "backend = \"openai\"\nbase-url = \"https://s.example\"\nmodel = \"gpt-4o\"\napi-key-env = \"HOME\"\n";
    place.write("brute.toml", format!("[summarizer]\n{summarizer}"));
    let ended = place.brute("compact long.json --window 8k --to 500");
    insta::assert_snapshot!(ended.said(), @r#"
    exit 2
    error: a file that was only found here cannot say who reads the conversation
     --> brute.toml:3:12
      |
    3 | base-url = "https://s.example"
      |            ^^^^^^^^^^^^^^^^^^^
      |
      = help: put `[summarizer]` into your own file, or name this one by `--config`
    "#);
}

#[test]
fn a_key_is_told_to_nobody_who_reads_what_the_command_says() {
    use std::io::{Read as _, Write as _};
    const KEY: &str = "sk-planted-0123456789";

    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("an address").port();
    let asked = std::thread::spawn(move || {
        let mut seen = String::new();
        for stream in server.incoming().take(2) {
            let mut stream = stream.expect("a connection");
            let mut head = vec![0; 2_048];
            let read = stream.read(&mut head).expect("a request");
            seen += &String::from_utf8_lossy(&head[..read]);
            let body = format!("{{\"error\": {{\"message\": \"bad key {KEY}\"}}}}");
            let length = body.len();
            let answer = format!("HTTP/1.1 401 No\r\nContent-Length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).expect("somebody listens");
            // Read on, so that what was not read does not reset the connection.
            while matches!(stream.read(&mut head), Ok(1..)) {}
        }
        seen
    });
    let place = Place::new();
    let summarizer = format!(
        "backend = \"openai\"\nbase-url = \"http://127.0.0.1:{port}\"\nmodel = \"x\"\nwindow = 8_000\napi-key-env = \"PLANTED_KEY\""
    );
    let ladder = "[[ladder]]\nlayer = \"summarize\"\n";
    place.write("own.toml", format!("version = 1\n[summarizer]\n{summarizer}\n{ladder}"));
    place.write("long.json", long());
    let line = "long.json --window 8k --to 500 --config own.toml";
    for verb in ["compact", "explain --json"] {
        let mut command = place.command(&format!("{verb} {line}"));
        let ended = command.env("PLANTED_KEY", KEY).output().expect("the built binary runs");
        let (out, err) = (ended.stdout, ended.stderr);
        let told = String::from_utf8([out, err].concat()).expect("text");
        assert!(told.contains("bad key [key]; see to the key in `PLANTED_KEY`"), "{told}");
        assert!(!told.contains("planted-0123"), "{told}");
    }
    assert_eq!(asked.join().expect("it ends").matches(KEY).count(), 2);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_stops_its_summarizer_and_writes_nothing() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let place = Place::new();
    let program = command(r#""sh", "-c", "echo $$ > began; mv began pid; exec sleep 60""#);
    let ladder = "[[ladder]]\nlayer = \"summarize\"\n";
    place.write("own.toml", format!("[summarizer]\n{program}\n{ladder}"));
    place.write("long.json", long());
    let line = "compact long.json --window 8k --to 500 --config own.toml -o out.json";
    let mut brute =
        place.command(line).stderr(Stdio::piped()).spawn().expect("the built binary runs");
    let begun = Instant::now();
    while !place.path("pid").exists() && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let signal = |how: &str, pid: &str| {
        let sent = Command::new("kill").args([how, pid]).stderr(Stdio::null()).status();
        sent.expect("there is `kill`").success()
    };
    assert!(signal("-TERM", &brute.id().to_string()));
    assert_eq!(brute.wait().expect("it ends").code(), Some(130));
    assert!(!place.path("out.json").exists());
    let pid = place.read("pid").trim().to_owned();
    let begun = Instant::now();
    while signal("-0", &pid) && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!signal("-0", &pid), "the summarizer is still there");
}
