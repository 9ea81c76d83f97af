//! Recordings that are sound, and all the ways in which one is not.

use std::sync::Arc;
use std::time::Duration;

use brute_core::{Completion, CompletionError, CompletionUsage, Prompt, Stop, SummarizerLimits};
use tempfile::TempDir;

use super::*;
use crate::summarizers::{BoxFuture, Summarizer};

type Answer = Result<Completion, CompletionError>;

/// Answers by the number that stands in the request; never, if it has none.
struct Scripted(Vec<Answer>);

impl Summarizer for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn limits(&self) -> SummarizerLimits {
        SummarizerLimits { window: 4_321 }
    }

    fn complete<'a>(&'a self, prompt: &'a Prompt) -> BoxFuture<'a, Answer> {
        Box::pin(async {
            match prompt.input.lines().last().and_then(|line| line.parse::<usize>().ok()) {
                Some(number) => self.0[number].clone(),
                None => std::future::pending().await,
            }
        })
    }
}

fn prompt(input: &str) -> Prompt {
    Prompt { instructions: "Sum it up.\n".into(), input: format!("äh\n{input}"), max_tokens: 99 }
}

fn answers() -> Vec<Answer> {
    let usage = CompletionUsage { input: 900, cached: 128, output: 40, cost: Some(12) };
    let billed =
        Completion { usage: Some(usage), ..Completion::new("gist \u{1f980}\n", Stop::End) };
    let free = CompletionUsage { cost: None, ..usage };
    vec![
        Ok(billed),
        Ok(Completion { usage: Some(free), ..Completion::new("ha", Stop::Length) }),
        Ok(Completion::new("", Stop::ToolCall)),
        Err(CompletionError::NotConfigured),
        Err(CompletionError::TooLong { limit: Some(512) }),
        Err(CompletionError::TooLong { limit: None }),
        Err(CompletionError::TimedOut { seconds: 60 }),
        Err(CompletionError::Failed { reason: "`x` answered 500".into() }),
    ]
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A recording of all answers, and its text.
fn recorded() -> (TempDir, std::path::PathBuf, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let recorder = Recorder::create(&path, Arc::new(Scripted(answers()))).unwrap();
    for number in 0..answers().len() {
        assert_eq!(run(recorder.complete(&prompt(&number.to_string()))), answers()[number]);
    }
    assert_eq!(recorder.fault(), None);
    let text = std::fs::read_to_string(&path).unwrap();
    (folder, path, text)
}

#[test]
fn every_answer_comes_back_as_it_was() {
    let (_folder, path, text) = recorded();
    assert_eq!(text.lines().count(), 1 + answers().len());
    let replay = Replay::open(&path).unwrap();
    assert_eq!((replay.name(), replay.limits().window), ("scripted", 4_321));
    for (number, answer) in answers().into_iter().enumerate() {
        assert!(
            matches!(replay.finish(), Err(RecordingError::LeftOver { asked, .. }) if asked == number)
        );
        assert_eq!(run(replay.complete(&prompt(&number.to_string()))), answer);
    }
    assert_eq!(replay.finish(), Ok(()));
    let more = run(replay.complete(&prompt("0"))).unwrap_err().to_string();
    assert!(more.contains("has run out: this run asks for exchange 9"), "{more}");
    assert!(matches!(replay.finish(), Err(RecordingError::RanOut { exchanges: 8, .. })));
}

#[test]
fn another_request_is_told_where_it_parts_and_ends_the_replay() {
    let with = |change: fn(&mut Prompt)| {
        let mut prompt = prompt("1");
        change(&mut prompt);
        prompt
    };
    let words = "exchange 2 of the recording `";
    for (prompt, says, excerpts) in [
        (
            with(|prompt| prompt.input.insert(3, '!')),
            "contents differ from line 1, column 3 on",
            Some(("\n1", "!\n1")),
        ),
        (
            with(|prompt| prompt.input.push('0')),
            "contents differ from line 2, column 2 on",
            Some(("", "0")),
        ),
        (
            with(|prompt| prompt.input.truncate(3)),
            "contents differ from line 1, column 3 on",
            Some(("\n1", "")),
        ),
        (
            with(|prompt| prompt.instructions = "Sum".into()),
            "instructions differ from line 1, column 4 on",
            Some((" it up.\n", "")),
        ),
        (
            with(|prompt| prompt.max_tokens = 98),
            "allows 99 tokens for the answer, and this run 98",
            None,
        ),
    ] {
        let (_folder, path, _) = recorded();
        let replay = Replay::open(&path).unwrap();
        assert!(run(replay.complete(&self::prompt("0"))).is_ok());
        let error = run(replay.complete(&prompt)).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(says), "{error}");
        // The right one comes too late.
        let later = run(replay.complete(&self::prompt("1"))).unwrap_err().to_string();
        assert_eq!(later, error);
        let fault = replay.finish().unwrap_err();
        assert_eq!(fault.excerpts(), excerpts);
        assert!(error.ends_with(&fault.to_string()), "{error}");
    }
}

#[test]
fn what_is_no_recording_is_refused() {
    let (_folder, path, text) = recorded();
    let second = text.match_indices('\n').nth(1).unwrap().0 + 1;
    let newer = text.replacen("\"version\":1", "\"version\":2", 1);
    let more = text.replacen("\"exchange\":1", "\"exchange\":1,\"mood\":\"fine\"", 1);
    let swapped = text.replacen("\"exchange\":2", "\"exchange\":3", 1);
    for (text, says) in [
        ("", "is no recording of a summarizer"),
        ("{}\n", "is no recording of a summarizer"),
        ("{\"format\":\"brute session log\",\"version\":1}\n", "is no recording of a summarizer"),
        ("[1, 2]\n", "is no recording of a summarizer"),
        ("hello\nworld\n", "is no recording of a summarizer"),
        (&text[..40], "is no recording of a summarizer"),
        (&newer, "is of version 2, and this brute knows version 1"),
        (&text[..text.len() - 1], "line 9 of the recording"),
        (&text[..second + 20], "line 3 of the recording"),
        (&more, "line 2 of the recording"),
        (&swapped, "it is exchange 3, and should be 2"),
        (&text.replace("\"stop\":\"end\"", "\"stop\":end"), "is no JSON from column"),
    ] {
        std::fs::write(&path, text).unwrap();
        let error = Replay::open(&path).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
        assert!(!error.contains("gist"), "{error}");
    }
    assert!(Replay::open(path.with_extension("none")).unwrap_err().to_string().contains("no such"));
    // What stands before a torn line is there.
    std::fs::write(&path, &text[..second]).unwrap();
    let replay = Replay::open(&path).unwrap();
    assert_eq!(run(replay.complete(&prompt("0"))), answers()[0]);
}

#[test]
fn what_is_there_is_not_written_over() {
    let (_folder, path, text) = recorded();
    let again = Recorder::create(&path, Arc::new(Scripted(answers())));
    assert!(matches!(again.err(), Some(RecordingError::Exists { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[cfg(unix)]
#[test]
fn only_its_owner_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path, _) = recorded();
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_was_given_up_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let recorder = Recorder::create(&path, Arc::new(Scripted(answers()))).unwrap();
    run(async {
        let prompt = prompt("never");
        let asked = recorder.complete(&prompt);
        assert!(tokio::time::timeout(Duration::from_millis(10), asked).await.is_err());
    });
    assert!(run(recorder.complete(&prompt("0"))).is_ok());
    let replay = Replay::open(&path).unwrap();
    let error = run(replay.complete(&prompt("never"))).unwrap_err().to_string();
    assert!(error.contains("nobody waited for its answer"), "{error}");
    assert_eq!(run(replay.complete(&prompt("0"))), answers()[0]);
    assert_eq!(replay.finish(), Ok(()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_nobody_an_answer() {
    let (_folder, path, _) = recorded();
    let recorder =
        Recorder::create(path.with_extension("new"), Arc::new(Scripted(answers()))).unwrap();
    // The device that is always full, in the place of the file.
    let full = std::fs::File::options().append(true).open("/dev/full").unwrap();
    recorder.written.lock().unwrap().file = full;
    assert_eq!(run(recorder.complete(&prompt("0"))), answers()[0]);
    let fault = recorder.fault().unwrap().to_string();
    assert!(fault.contains("no space left on the disk; it ends before exchange 1"), "{fault}");
}
