//! Files: what comes back, torn, foreign, damaged, shared, full.

use std::fs;
#[cfg(unix)]
use std::io::Write as _;

use brute_core::testing::{TestHost, generate, laws, notation};
use brute_core::{Configure, InvalidConversation, MessageId, Part, Role, Strategy};
use brute_sliding_window::SlidingWindow;
use brute_summarize::Summarize;
use brute_tool_results::ToolResults;
use proptest::prelude::{ProptestConfig, any, prop, prop_oneof, proptest};
use proptest::sample::Index;
use proptest::strategy::Strategy as _;

use super::*;

/// What a history came to, each time that a line was added.
struct Written {
    folder: tempfile::TempDir,
    opened: Opened,
    /// Where each line ends, with what the file says up to there.
    lines: Vec<(u64, Recorded)>,
}

impl Written {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let opened = SessionLog::open(&folder.path().join("s.jsonl")).unwrap();
        let lines = vec![(0, Recorded::default())];
        let mut written = Self { folder, opened, lines };
        written.note();
        written
    }

    fn note(&mut self) {
        let recorded = self.opened.recorded.clone();
        let end = self.opened.log.lines.end();
        if self.lines.last().is_some_and(|(last, _)| *last < end) {
            self.lines.push((end, recorded));
        }
    }

    fn push(&mut self, message: &Message) {
        let Opened { log, recorded, .. } = &mut self.opened;
        let accept = |message: &Message| {
            log.pushed(message).unwrap();
            Ok(())
        };
        // What does not fit is not written.
        let _: Result<_, InvalidConversation> =
            recorded.conversation.push_if(message.role(), message.parts(), accept);
        self.note();
    }

    fn compact(&mut self, made: Conversation) {
        let Opened { log, recorded, .. } = &mut self.opened;
        log.compacted(&recorded.conversation, &made).unwrap();
        if made != recorded.conversation {
            recorded.conversation = made;
            recorded.compactions += 1;
        }
        self.note();
    }

    fn replace(&mut self, made: Conversation) {
        let Opened { log, recorded, .. } = &mut self.opened;
        let before = std::mem::replace(&mut recorded.conversation, made);
        log.turned(&before, &recorded.conversation).unwrap();
        let now = recorded.clone();
        // A file that ends between messages that are written at once says those before.
        let mut end = self.lines.last().unwrap().0;
        for new in change::appended(&before, &now.conversation).unwrap_or_default() {
            end += line_of(new);
            let until = now.conversation.messages().iter().take_while(|one| one.id() <= new.id());
            let conversation = Conversation::new(until.map(|one| (**one).clone())).unwrap();
            self.lines.push((end, Recorded { conversation, ..now.clone() }));
        }
        self.note();
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.opened.log.path()).unwrap()
    }

    /// Cuts the file at byte `end`, and opens what is left.
    fn check_cut(&self, end: usize) {
        let bytes = self.bytes();
        let path = self.folder.path().join("cut.jsonl");
        fs::write(&path, &bytes[..end]).unwrap();
        let at = self.lines.iter().rposition(|(whole, _)| *whole <= end as u64).unwrap();
        let (whole, wanted) = &self.lines[at];
        let Opened { log, recorded, torn } = SessionLog::open(&path).unwrap();
        let aside = torn.map(|torn| fs::read(torn).unwrap()).unwrap_or_default();
        assert_same(&recorded, wanted);
        assert_eq!(aside, &bytes[*whole as usize..end], "{end}");
        assert_eq!(recorded.is_torn, !aside.is_empty());
        // It goes on as if nothing had been.
        drop(log);
        let mut opened = SessionLog::open(&path).unwrap();
        assert_same(&opened.recorded, &recorded);
        assert!(opened.torn.is_none() && !opened.recorded.is_torn);
        let next = opened.recorded.conversation.next_id();
        let record = Message::new(next, Role::Other, [Part::text("on")]);
        opened.log.pushed(&record).unwrap();
        let read = SessionLog::read(&path).unwrap().conversation;
        assert_eq!(read.len(), recorded.conversation.len() + 1);
        fs::remove_file(&path).unwrap();
    }
}

/// How many bytes the line of a message has.
fn line_of(message: &Message) -> u64 {
    let mut line = Vec::new();
    Record::Message(Said::of(message)).write(&mut line);
    line.len() as u64
}

#[track_caller]
fn assert_same(one: &Recorded, other: &Recorded) {
    assert_eq!(one.conversation, other.conversation);
    assert_eq!(one.compactions, other.compactions);
    let [one, other] = [one, other].map(|recorded| recorded.conversation.clone());
    assert_eq!(one.next_id(), other.next_id());
    let marks = |of: &Conversation| of.messages().iter().map(|one| one.mark()).collect::<Vec<_>>();
    assert_eq!(marks(&one), marks(&other));
}

#[derive(Debug, Clone)]
enum Act {
    Push(Conversation),
    Compact(u8, f64),
    Replace(Conversation),
    /// Goes back to an earlier point.
    Back(Index),
}

fn act() -> impl proptest::strategy::Strategy<Value = Act> {
    prop_oneof![
        3 => generate::conversation(4).prop_map(Act::Push),
        3 => (0u8..3, 0.0..0.9).prop_map(|(layer, target)| Act::Compact(layer, target)),
        1 => generate::conversation(4).prop_map(Act::Replace),
        1 => any::<Index>().prop_map(Act::Back),
    ]
}

/// What a layer makes of it, whose new messages get ids as they do in a session.
fn compacted(now: &Conversation, layer: u8, target: f64) -> Conversation {
    let layers: [&dyn Strategy; 3] = [
        &ToolResults::default(),
        &SlidingWindow::default(),
        &Summarize::build(brute_summarize::Options::default()).unwrap(),
    ];
    let size = now.clone().measure(&brute_core::Approximate);
    let host = TestHost::saying("Objective: go on. Outstanding: all.");
    let target = (size as f64 * target) as u64;
    laws::check_strategy(layers[usize::from(layer)], &host, &now.fork(), target).unwrap()
}

fn written(acts: Vec<Act>) -> Written {
    let mut written = Written::new();
    for act in acts {
        let now = written.opened.recorded.conversation.clone();
        match act {
            Act::Push(new) => new.messages().iter().for_each(|message| written.push(message)),
            Act::Compact(layer, target) => written.compact(compacted(&now, layer, target)),
            Act::Replace(other) => written.replace(other),
            Act::Back(to) => {
                let earlier = to.get(&written.lines).1.conversation.clone();
                written.replace(earlier);
            }
        }
    }
    written
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_history_comes_back_and_cut_anywhere_it_is_one_that_was(
        acts in prop::collection::vec(act(), 0..8),
        cuts in prop::collection::vec(any::<Index>(), 8),
        nearby in prop::collection::vec((any::<Index>(), -2i64..3), 8),
    ) {
        let written = written(acts);
        let read = SessionLog::read(written.opened.log.path()).unwrap();
        assert_same(&read, &written.opened.recorded);
        let length = written.bytes().len();
        for cut in cuts {
            written.check_cut(cut.index(length + 1));
        }
        for (line, by) in nearby {
            let end = line.get(&written.lines).0 as i64 + by;
            written.check_cut(end.clamp(0, length as i64) as usize);
        }
    }
}

#[test]
fn any_byte_may_be_the_last() {
    let mut written = Written::new();
    let history = "system s
        user go \u{e9}
        assistant think:so call:a call:b
        tool b wordsx60
        tool a error
        assistant done
        user again
        assistant call:a
        tool a wordsx40
        assistant done";
    for message in notation::messages(history) {
        written.push(&message);
    }
    let now = written.opened.recorded.conversation.clone();
    written.compact(compacted(&now, 1, 0.5));
    written.push(&Message::new(MessageId(0), Role::User, [Part::text("And now?")]));
    written.replace(notation::conversation("user another\nassistant one"));
    let more = "user another\nassistant one\nuser two\nassistant three";
    written.replace(notation::conversation(more));
    assert_eq!(written.lines.len(), 2 + 10 + 1 + 1 + 1 + 2);
    assert_eq!(written.opened.recorded.compactions, 1);
    for end in 0..=written.bytes().len() {
        written.check_cut(end);
    }
}

/// What a reader of the file with other tools finds.
#[test]
fn a_message_is_a_line_and_so_is_a_compaction() {
    const HISTORY: &str =
        "user go\nassistant call:a hm\ntool a wordsx200\nassistant call:b\ntool b";
    let mut written = Written::new();
    for message in notation::messages(HISTORY) {
        written.push(&message);
    }
    let now = written.opened.recorded.conversation.clone();
    written.compact(compacted(&now, 0, 0.1));
    let made = notation::conversation("user go\nassistant ok");
    let next = MessageId(7);
    written.replace(made.with_next_id(next));
    let text = String::from_utf8(written.bytes()).unwrap();
    let text = text.replace(&"words ".repeat(199), "");
    let result = written.lines[7].1.conversation.messages()[2].result().unwrap().1;
    let text = text.replace(&serde_json::to_string(&result.text).unwrap(), "\"[note]\"");
    insta::assert_snapshot!(text, @r#"
    {"format":"brute session log","version":1}
    {"record":"message","id":0,"role":"user","parts":[{"text":"go"}]}
    {"record":"message","id":1,"role":"assistant","parts":[{"text":"hm"},{"tool-call":{"id":"a","name":"read","arguments":"{\"path\":\"a.txt\"}"}}]}
    {"record":"message","id":2,"role":"tool","parts":[{"tool-result":{"call":"a","text":"words","media":[],"is-error":false}}]}
    {"record":"message","id":3,"role":"assistant","parts":[{"tool-call":{"id":"b","name":"read","arguments":"{\"path\":\"b.txt\"}"}}]}
    {"record":"message","id":4,"role":"tool","parts":[{"tool-result":{"call":"b","text":"ok","media":[],"is-error":false}}]}
    {"record":"compaction","went":[2],"came":[{"at":2,"message":{"id":2,"role":"tool","parts":[{"tool-result":{"call":"a","text":"[note]","media":[],"is-error":false}}]}}],"next-id":4294967301}
    {"record":"replacement","went":[1,2,3,4],"came":[{"at":1,"message":{"id":1,"role":"assistant","parts":[{"text":"ok"}]}}],"next-id":7}
    "#);
}

#[test]
fn one_at_a_time_writes_and_anybody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/s.jsonl");
    let Opened { mut log, .. } = SessionLog::open(&path).unwrap();
    let in_use = LogError::InUse { path: path.clone() };
    assert_eq!(SessionLog::open(&path).unwrap_err(), in_use);
    log.pushed(&Message::new(MessageId(0), Role::User, [Part::text("a")])).unwrap();
    assert_eq!(SessionLog::read(&path).unwrap().conversation.len(), 1);
    drop(log);
    assert_eq!(SessionLog::open(&path).unwrap().recorded.conversation.len(), 1);
    #[cfg(unix)]
    for (path, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
    }
}

#[test]
fn what_is_no_log_of_this_version_is_refused_in_words_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let header = String::from_utf8(header()).unwrap();
    let said = |id: u64| format!(r#"{{"record":"message","id":{id},"role":"user","parts":[]}}"#);
    let with = |lines: &[&str]| format!("{header}{}\n", lines.join("\n"));
    let change = |rest: &str| format!(r#"{{"record":"compaction",{rest}}}"#);
    let came = r#"{"at":3,"message":{"id":4,"role":"user","parts":[]}}"#;
    let orphan = r#"{"tool-result":{"call":"x","text":"","media":[],"is-error":false}}"#;
    let orphan = format!(r#"{{"record":"message","id":1,"role":"tool","parts":[{orphan}]}}"#);
    let cases = [
        ("notes", "milk\n".to_owned()),
        ("notes without a line break", "milk".to_owned()),
        ("JSON", "{\"messages\": []}\n".to_owned()),
        ("lines of a conversation", r#"{"role": "user", "content": "hi"}"#.to_owned() + "\n"),
        ("later", header.replace(":1}", ":2,\"of\":\"more\"}")),
        ("never", header.replace(":1}", ":0}")),
        ("broken", with(&[&said(0), "{\"record\":\"mess", &said(1)])),
        ("broken at the end", with(&[&said(0), "\0\0\0"])),
        ("no record", with(&[&said(0), "[1]"])),
        ("an unknown record", with(&[r#"{"record":"branch","of":1}"#])),
        ("an unknown field", with(&[&said(0).replace("]", "],\"time\":1")])),
        ("a header again", with(&[&said(0), header.trim()])),
        ("an id twice", with(&[&said(0), &said(0)])),
        (
            "an id of one that is gone",
            with(&[&change(r#""went":[],"came":[],"next-id":5"#), &said(3)]),
        ),
        (
            "what went was not there",
            with(&[&said(0), &change(r#""went":[7],"came":[],"next-id":8"#)]),
        ),
        (
            "a place that is none",
            with(&[&change(&format!(r#""went":[],"came":[{came}],"next-id":8"#))]),
        ),
        ("an id to come", with(&[&said(3), &change(r#""went":[],"came":[],"next-id":2"#)])),
        ("no conversation", with(&[&said(0), &orphan, &said(2)])),
    ];
    let mut words = String::new();
    for (name, text) in cases {
        fs::write(&path, &text).unwrap();
        let error = SessionLog::open(&path).expect_err(name);
        assert_eq!(SessionLog::read(&path).expect_err(name), error, "{name}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{name}");
        words += &format!("{name}: {error}\n");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let words = words.replace(&folder.path().display().to_string(), "");
    insta::assert_snapshot!(words, @r"
    notes: `/s.jsonl` is no session log, and stays as it is: take another file
    notes without a line break: `/s.jsonl` is no session log, and stays as it is: take another file
    JSON: `/s.jsonl` is no session log, and stays as it is: take another file
    lines of a conversation: `/s.jsonl` is no session log, and stays as it is: take another file
    later: the session log `/s.jsonl` is of version 2, and this brute knows version 1: take the brute that wrote it
    never: the session log `/s.jsonl` is of version 0, and this brute knows version 1: take the brute that wrote it
    broken: line 3 of the session log `/s.jsonl` is broken: control character (\u0000-\u001F) found while parsing a string; to go on with what stands before it, keep a copy and cut the file before that line
    broken at the end: line 3 of the session log `/s.jsonl` is broken: expected value (column 1); to go on with what stands before it, keep a copy and cut the file before that line
    no record: line 3 of the session log `/s.jsonl` is broken: invalid type: integer `1`, expected variant identifier (column 2); to go on with what stands before it, keep a copy and cut the file before that line
    an unknown record: line 2 of the session log `/s.jsonl` is broken: unknown variant `branch`, expected one of `message`, `compaction`, `replacement` (column 18); to go on with what stands before it, keep a copy and cut the file before that line
    an unknown field: line 2 of the session log `/s.jsonl` is broken: unknown field `time`, expected one of `id`, `role`, `parts`; to go on with what stands before it, keep a copy and cut the file before that line
    a header again: line 3 of the session log `/s.jsonl` is broken: missing field `record` (column 42); to go on with what stands before it, keep a copy and cut the file before that line
    an id twice: line 3 of the session log `/s.jsonl` is broken: the id 0 is taken; to go on with what stands before it, keep a copy and cut the file before that line
    an id of one that is gone: line 3 of the session log `/s.jsonl` is broken: the id 3 is taken; to go on with what stands before it, keep a copy and cut the file before that line
    what went was not there: line 3 of the session log `/s.jsonl` is broken: it takes out the message 7, which is not there; to go on with what stands before it, keep a copy and cut the file before that line
    a place that is none: line 2 of the session log `/s.jsonl` is broken: it puts the message 4 at place 3 of 0; to go on with what stands before it, keep a copy and cut the file before that line
    an id to come: line 3 of the session log `/s.jsonl` is broken: the next message is to have the id 2, and there is 3; to go on with what stands before it, keep a copy and cut the file before that line
    no conversation: line 3 of the session log `/s.jsonl` is broken: the tool result for `x` answers no call before it; to go on with what stands before it, keep a copy and cut the file before that line
    ");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_opened_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let in_folder = |name: &str| folder.path().join(name);
    fs::write(in_folder("file"), "").unwrap();
    fs::create_dir(in_folder("folder")).unwrap();
    std::os::unix::fs::symlink("file", in_folder("link")).unwrap();
    let taken = "something else of this name is there";
    let no_name = "no file can have this name";
    let below = format!("its folder `{}` cannot be made: {taken}", in_folder("file").display());
    for (path, why) in [
        (in_folder("file/s.jsonl"), &*below),
        (in_folder("folder"), taken),
        (in_folder("link"), taken),
        (in_folder("a\0b"), no_name),
        (in_folder("a\0b/s.jsonl"), no_name),
        (in_folder(&"long".repeat(100)), no_name),
        ("/".into(), no_name),
        ("".into(), no_name),
        ("..".into(), no_name),
    ] {
        let error = SessionLog::open(&path).unwrap_err();
        assert!(matches!(&error, LogError::Open { reason, .. } if reason == why), "{error:?}");
        let words = error.to_string();
        assert!(words.ends_with("; nothing was changed") && !words.contains('\0'), "{words}");
    }
    let missing = SessionLog::read(&in_folder("none")).unwrap_err();
    assert!(matches!(missing, LogError::Read { .. }), "{missing}");
}

#[test]
fn a_reader_in_a_loop_sees_nothing_but_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut log = SessionLog::open(&path).unwrap().log;
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for id in 0..400 {
                // Longer than what a system moves at once.
                let text = "word ".repeat(if id % 7 == 0 { 40_000 } else { 20 });
                log.pushed(&Message::new(MessageId(id), Role::User, [Part::text(text)])).unwrap();
            }
        });
        let mut seen = 0;
        while !writer.is_finished() {
            let bytes = fs::read(&path).unwrap();
            let whole = memchr::memrchr(b'\n', &bytes).unwrap() + 1;
            for line in bytes[..whole].split_inclusive(|byte| *byte == b'\n') {
                serde_json::from_slice::<serde::de::IgnoredAny>(line).unwrap();
            }
            let now = SessionLog::read(&path).unwrap().conversation.len();
            assert!(now >= seen);
            seen = now;
        }
    });
    assert_eq!(SessionLog::read(&path).unwrap().conversation.len(), 400);
}

#[test]
fn after_a_disk_that_failed_nothing_is_added_until_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut log = SessionLog::open(&path).unwrap().log;
    let said = |id| Message::new(MessageId(id), Role::User, [Part::text("a")]);
    let what = log.unsynced().unwrap().unwrap();
    what.sync().unwrap();
    log.note_synced(&what, Ok(())).unwrap();
    assert!(log.unsynced().unwrap().is_none());
    log.pushed(&said(0)).unwrap();
    let what = log.unsynced().unwrap().unwrap();
    let error = log.note_synced(&what, Err(io::Error::other("Unplugged"))).unwrap_err();
    drop(what);
    assert!(error.to_string().contains("could not be brought to the disk: unplugged"), "{error}");
    assert_eq!(log.pushed(&said(1)), Err(error.clone()));
    assert_eq!(log.unsynced().unwrap_err(), error);
    drop(log);
    let mut opened = SessionLog::open(&path).unwrap();
    assert_eq!(opened.recorded.conversation.len(), 1);
    opened.log.pushed(&said(1)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_log_that_others_harm_is_not_gone_on_with() {
    type Harm = fn(&Path);
    let gone: &[(&str, Harm)] = &[
        ("removed", |path| fs::remove_file(path).unwrap()),
        ("moved", |path| fs::rename(path, path.with_extension("old")).unwrap()),
        ("another file at its path", |path| {
            fs::copy(path, path.with_extension("new")).unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        }),
        ("without its folder", |path| fs::remove_dir_all(path.parent().unwrap()).unwrap()),
    ];
    fn resized(path: &Path, by: i64) {
        let file = File::options().write(true).open(path).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(length.saturating_add_signed(by)).unwrap();
    }
    let changed: &[(&str, Harm)] = &[
        ("emptied", |path| resized(path, i64::MIN)),
        ("cut by a byte", |path| resized(path, -1)),
        ("cut by much", |path| resized(path, -30)),
        ("added to", |path| resized(path, 1)),
        ("written to", |path| {
            let mut file = File::options().append(true).open(path).unwrap();
            file.write_all(b"{}\n").unwrap();
        }),
    ];
    let said = |id| Message::new(MessageId(id), Role::User, [Part::text("a")]);
    for (is_gone, harms) in [(true, gone), (false, changed)] {
        for (name, harm) in harms {
            // What is known to be on the disk may go as well as what is not.
            for is_synced in [false, true] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("logs/s.jsonl");
                let mut log = SessionLog::open(&path).unwrap().log;
                log.pushed(&said(0)).unwrap();
                if is_synced {
                    let what = log.unsynced().unwrap().unwrap();
                    log.note_synced(&what, what.sync()).unwrap();
                }
                harm(&path);
                let there = fs::read(&path).ok();
                let error = log.unsynced().expect_err(name);
                let is_said = match &error {
                    LogError::Gone { .. } => is_gone,
                    LogError::Changed { .. } => !is_gone,
                    _ => false,
                };
                assert!(is_said, "{name}: {error}");
                assert_eq!(log.pushed(&said(1)), Err(error), "{name}");
                assert_eq!(fs::read(&path).ok(), there, "{name}");
            }
        }
    }
    // One that was moved, and is back.
    let folder = tempfile::tempdir().unwrap();
    let (path, away) = (folder.path().join("s.jsonl"), folder.path().join("away"));
    let mut log = SessionLog::open(&path).unwrap().log;
    fs::rename(&path, &away).unwrap();
    assert!(log.pushed(&said(0)).is_err());
    fs::rename(&away, &path).unwrap();
    log.pushed(&said(0)).unwrap();
    assert_eq!(SessionLog::read(&path).unwrap().conversation.len(), 1);
}
