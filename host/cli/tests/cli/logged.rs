//! A session log, an archive and a folder of full texts, all written at once by a program that dies anywhere, or
//! whose disk is full.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use brute_core::truncation::{FullText, Notice};
use brute_core::{Conversation, Part, Role, ToolCall, ToolResult};
use brute_host::archive::{Archive, ArchiveError, ArchiveOptions};
use brute_host::config::{Origin, Source, Sources, load};
use brute_host::guard::{Guard, Policy, Session, SessionError, Told};
use brute_host::ladder::Event;
use brute_host::layers::Layers;
use brute_host::session_log::{LogError, Opened, SessionLog};

use super::kill;
use super::place::Place;

/// Says to this test that it is the agent, and where.
const PLACE: &str = "BRUTE_TEST_AGENT_PLACE";
/// Says which run it is.
const RUN: &str = "BRUTE_TEST_AGENT_RUN";
const STEPS: u32 = 8;

/// A program that runs the test of this name in this file as an agent.
fn agent(name: &str, place: &Path, run: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test is a program"));
    command.args(["--exact", &format!("cli::logged::{name}"), "--nocapture", "--test-threads=1"]);
    command.env(PLACE, place).env(RUN, run.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn acknowledge(what: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "acknowledged {what}").and_then(|()| out.flush()).expect("somebody listens");
}

/// What an agent acknowledged.
fn acknowledged(mut child: Child) -> Vec<String> {
    let mut said = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
    // The last line may be the half of one.
    let whole = said.rfind('\n').map_or("", |end| &said[..end]);
    let named = whole.lines().filter_map(|line| line.split_once("acknowledged "));
    named.map(|(_, what)| what.to_owned()).collect()
}

fn log_in(place: &Path) -> std::path::PathBuf {
    place.join("sessions/one.jsonl")
}

fn policy(place: &Path) -> Policy {
    let mut text = "version = 1\n[window]\ncounter = \"approximate\"\nsize = 4000\nreserve = 0\n\
        [trigger]\ncompact-at = 2000\ncompact-to = 1000\n[truncate]\nmax-bytes = \"1KB\"\n"
        .to_owned();
    for (table, key) in [("", "spill"), ("[archive]\n", "folder")] {
        let folder = place.join(key);
        writeln!(text, "{table}{key} = '{}'", folder.display()).expect("it is a string");
    }
    let file = Source::new("brute.toml", text, Origin::Project);
    let loaded = load(&Sources { project: Some(file), ..Sources::default() }, &Layers::built_in());
    let config = loaded.config.expect("it is a configuration");
    Policy::of(&config, None).expect("it is all there")
}

/// What is said or printed in a step: its first line is found nowhere else.
fn text(run: u32, step: u32, what: &str) -> String {
    let lines = match what {
        "result" if step.is_multiple_of(3) => 100,
        "result" => 10,
        _ => 1,
    };
    let rest = (1..lines).map(|line| format!("line {line} of what was printed there\n"));
    format!("{run}.{step} {what}\n{}", rest.collect::<String>())
}

/// Goes on with the session: eight steps of it.
async fn go_on(place: &Path, run: u32, acknowledge: fn(&str)) {
    let Opened { log, recorded, torn } = SessionLog::open(&log_in(place)).expect("it goes on");
    let conversation = recorded.conversation.clone();
    let guard = Guard::new(policy(place));
    let session = guard.logged("one", Opened { log, recorded, torn });
    if conversation.is_empty() {
        session.push(Role::System, [Part::text("Be brief.")]).expect("it fits");
    }
    if !conversation.messages().iter().any(|message| message.is_real_user()) {
        session.push(Role::User, [Part::text("Do it all.")]).expect("it fits");
    }
    // What the one before could not wait for.
    for open in conversation.outline().pending {
        let Part::ToolCall(call) = &conversation.messages()[open.message].parts()[open.part] else {
            continue;
        };
        let (call, text) = (call.id.clone(), "It was killed.".to_owned());
        let result = ToolResult { call, text: text.into(), media: Box::default(), is_error: true };
        session.push(Role::Tool, [Part::ToolResult(result)]).expect("it waits");
    }
    for step in 0..STEPS {
        let ready = session.before_call(None).await.expect("the log takes it");
        let id = format!("c{run}-{step}");
        let call = ToolCall { id: id.clone().into(), name: "shell".into(), arguments: "{}".into() };
        let parts = [Part::text(text(run, step, "call")), Part::ToolCall(call)];
        session.after_call(&ready, parts, None).expect("it fits");
        acknowledge(&format!("{run}.{step} call"));
        let output = text(run, step, "result").into_bytes();
        session.tool_result(&id, "shell", output, false).await.expect("it is open");
        acknowledge(&format!("{run}.{step} result"));
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("there are threads")
}

/// The agent that is killed; nothing unless it is told where.
#[test]
fn an_agent_goes_on() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let run = std::env::var(RUN).expect("it is told").parse().expect("a number");
    runtime().block_on(go_on(Path::new(&place), run, acknowledge));
}

/// All texts of a conversation by their first lines.
fn texts_of(conversation: &Conversation) -> HashMap<String, String> {
    let parts = conversation.messages().iter().flat_map(|message| message.parts());
    let texts = parts.flat_map(Part::texts);
    texts
        .map(|text| (text.lines().next().unwrap_or_default().to_owned(), text.to_owned()))
        .collect()
}

/// Whether `found` is all of `whole`, or its beginning with a notice that names a file with all of it.
fn check_whole(found: &str, whole: &str) {
    if found == whole {
        return;
    }
    let notice = Notice::verify(found).expect(found);
    let saved = match notice.full {
        FullText::Saved(path) => std::fs::read_to_string(path).ok(),
        _ => None,
    };
    assert_eq!(saved.as_deref(), Some(whole));
}

#[test]
fn whatever_a_killed_agent_was_told_is_kept_is_there() {
    const KILLS: u32 = 200;
    let place = Place::new();
    let folder = place.path("").canonicalize().expect("it is there");
    let log = log_in(&folder);
    let archive = Archive::at(folder.join("folder"), ArchiveOptions::default());
    let mut all = Vec::new();
    let (mut in_time, mut compactions) = (0, 0);
    let run = |run| agent("an_agent_goes_on", &folder, run).spawn().expect("it runs");
    kill::at_random(KILLS, run, |number, child| {
        let new = acknowledged(child);
        in_time += u32::from(new.len() == 2 * STEPS as usize);
        let new = new.into_iter().map(|key| (number, key));
        all.extend(new);
        let mut texts = HashMap::new();
        if log.exists() {
            let recorded = SessionLog::read(&log).expect("it is readable");
            compactions = recorded.compactions;
            let original = match archive.original("one", &recorded.conversation) {
                Err(ArchiveError::NoSession { .. }) if compactions == 0 => recorded.conversation,
                original => original.expect("it is whole").conversation,
            };
            texts = texts_of(&original);
        }
        for (run, key) in &all {
            let found = texts.get(key).unwrap_or_else(|| panic!("{key} is lost in run {number}"));
            let (step, what) = key.split_once(' ').expect("a key");
            let step = step.split('.').nth(1).and_then(|step| step.parse().ok()).expect("a step");
            check_whole(found, &text(*run, step, what));
        }
        for file in std::fs::read_dir(folder.join("spill")).into_iter().flatten() {
            let file = file.expect("an entry");
            if !file.file_name().to_string_lossy().starts_with('.') {
                let whole = std::fs::read_to_string(file.path()).expect("it is readable");
                assert!(whole.ends_with("line 99 of what was printed there\n"), "{whole}");
            }
        }
    });
    let runs = KILLS + KILLS / 19 + 1;
    assert!(in_time > KILLS / 20 && in_time < runs, "{in_time} of {runs} came to their end");
    assert!(compactions > 50, "{compactions}");
    runtime().block_on(go_on(&folder, runs + 1, |_| {}));
}

/// The agent whose disk is full.
#[test]
fn an_agent_fills_the_disk() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let place = Path::new(&place);
    let not_logged = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&not_logged);
    let heard = move |what: &Told| {
        if let Event::NotLogged { error, .. } = &*what.event {
            told.lock().expect("nobody panics").push(error.clone());
        }
    };
    let guard = Guard::new(policy(place));
    guard.subscribe(heard).expect("a thread");
    let session = guard.logged("one", SessionLog::open(&log_in(place)).expect("it is made"));
    let say = |session: &Session, length| {
        let role = match session.conversation().len().is_multiple_of(2) {
            true => Role::User,
            false => Role::Assistant,
        };
        session.push(role, [Part::text("word ".repeat(length))])
    };
    // What does not fit is refused, what is smaller fits still.
    let mut refused = 0;
    for length in [500, 50, 5] {
        let error = loop {
            match say(&session, length) {
                Ok(_) => acknowledge("one more"),
                Err(error) => break error,
            }
        };
        let SessionError::Log(LogError::Write { reason, .. }) = error else { panic!("{error}") };
        assert_eq!(reason, "file too large");
        refused += 1;
        let logged = SessionLog::read(&log_in(place)).expect("it is readable");
        assert!(!logged.is_torn && logged.conversation == session.conversation());
    }
    // A compaction that cannot be logged is not made.
    let before = session.conversation();
    let ready = runtime().block_on(session.before_call(None)).expect("there is nothing new");
    assert!(ready.compaction.is_none() && session.conversation() == before);
    let replaced = session.replace(Conversation::default()).expect_err("it is not shorter");
    assert!(session.conversation() == before, "{replaced}");
    let told = || not_logged.lock().expect("nobody panics").clone();
    let begun = Instant::now();
    while told().is_empty() && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let not_logged = told();
    assert!(not_logged.len() == 1 && not_logged[0].contains("file too large"), "{not_logged:?}");
    acknowledge(&format!("{refused} refusals"));
}

/// A limit on the size of files is what a program can have of a full disk. The file system takes the beginning of
/// what is written.
#[cfg(unix)]
#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let place = Place::new();
    let folder = place.path("").canonicalize().expect("it is there");
    let agent = agent("an_agent_fills_the_disk", &folder, 0);
    let mut limited = Command::new("sh");
    limited.arg("-c").arg("trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\"");
    limited.arg(agent.get_program()).args(agent.get_args()).env(PLACE, &folder);
    let child = limited.stdout(Stdio::piped()).spawn().expect("there is a shell");
    let said = acknowledged(child);
    assert_eq!(said.last().map(String::as_str), Some("3 refusals"));
    let recorded = SessionLog::read(&log_in(&folder)).expect("it is readable");
    assert_eq!(recorded.conversation.len(), said.len() - 1);
    runtime().block_on(go_on(&folder, 1, |_| {}));
}
