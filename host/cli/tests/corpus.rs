//! Sessions of agents, compacted for several windows: those that ship, and real ones when the folder with them is there.
//!
//! `BRUTE_CORPUS` names the folder (`../shared/corpus` beside the repository if it is not set).

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up fails")]

#[path = "corpus/laws.rs"]
mod laws;
#[path = "corpus/plugins.rs"]
mod plugins;
#[path = "corpus/replays.rs"]
mod replays;
#[path = "../../tests/formats/strict.rs"]
mod strict;
#[path = "support/validate.rs"]
mod validate;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use brute_host::formats::{Document, ReadError, ReadOptions};
use brute_host::transcripts::{self, Input, Kind, TranscriptError};

use laws::{Ladder, Row, compact};
use plugins::Plugins;

/// The folders whose files are to be read, with the kind of log if they hold logs of agents. Some files
/// hold no message, and are to be refused with the reason.
const READ: [(&str, Option<Kind>); 19] = [
    ("anthropic-messages", None),
    ("gemini-api", None),
    ("openai-chat", None),
    ("openai-responses", None),
    ("swe-agent", None),
    ("tau2", None),
    ("atif", Some(Kind::Atif)),
    ("atif-like", Some(Kind::Atif)),
    ("claude-code", Some(Kind::ClaudeCode)),
    ("claude-stream-json", Some(Kind::ClaudeStreamJson)),
    ("codex-app-server", Some(Kind::CodexAppServer)),
    ("codex-rollout", Some(Kind::CodexRollout)),
    ("gemini-cli", Some(Kind::GeminiCli)),
    ("inspect-eval", Some(Kind::InspectEval)),
    ("langchain", Some(Kind::Langchain)),
    ("opencode", Some(Kind::Opencode)),
    ("openhands", Some(Kind::Openhands)),
    ("openhands-sdk", Some(Kind::OpenhandsSdk)),
    ("pi", Some(Kind::Pi)),
];

/// Of a file with several conversations, so many are compacted.
const MOST_PICKED: usize = 5;

const WINDOWS: [u64; 3] = [8_000, 32_000, 128_000];

/// Says `line` even when the output of tests is captured.
fn say(line: &str) {
    // Whether or not anybody reads it is no matter of this test.
    let _ = writeln!(io::stdout().lock(), "{line}");
}

fn folder() -> PathBuf {
    std::env::var_os("BRUTE_CORPUS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    )
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let (folders, files): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.is_dir());
    folders.iter().flat_map(|folder| self::files(folder)).chain(files).collect()
}

/// A conversation of a file: what it is read from, and how.
struct Found {
    bytes: Vec<u8>,
    options: ReadOptions,
    /// Which one, for people.
    name: String,
}

/// What came of reading a file.
enum Reading {
    /// Its conversations, and whether something in them had to be mended.
    Conversations(Vec<Found>, bool),
    /// Why it was refused.
    Refused(String),
}

/// Reads a file: as the log of an agent, if it is one. What kind of log it is comes with it.
fn read(bytes: &[u8]) -> (Reading, Option<Kind>) {
    let of = |pick: Option<usize>, whole: bool| {
        transcripts::read(bytes, &transcripts::Options { pick, whole, kind: None })
    };
    let picks: Vec<Option<usize>> = match of(None, false) {
        Ok(Input::Other(_)) => return (read_document(bytes), None),
        Ok(Input::Transcript(_)) => vec![None],
        Err(TranscriptError::Several { count, .. }) => {
            (0..count.min(MOST_PICKED)).map(Some).collect()
        }
        Err(error) => return (Reading::Refused(error.to_string()), None),
    };
    let (mut found, mut kind) = (Vec::new(), None);
    for (pick, whole) in picks.into_iter().flat_map(|pick| [(pick, false), (pick, true)]) {
        let transcript = match of(pick, whole) {
            Ok(Input::Transcript(transcript)) => transcript,
            other => return (Reading::Refused(format!("pick {pick:?}: {other:?}")), kind),
        };
        kind = Some(transcript.kind());
        let options = ReadOptions { format: Some(transcript.format()), ..ReadOptions::default() };
        let bytes = transcript.request().as_bytes().to_vec();
        // Compactions that leave nothing to tell apart are read once.
        if whole && found.last().is_some_and(|live: &Found| live.bytes == bytes) {
            continue;
        }
        let pick = pick.map_or_else(String::new, |pick| format!("#{pick}"));
        let name = if whole { format!("{pick} whole") } else { pick };
        found.push(Found { bytes, options, name });
    }
    (Reading::Conversations(found, false), kind)
}

fn read_document(bytes: &[u8]) -> Reading {
    let picks = match Document::read(bytes, &ReadOptions::default()) {
        Err(ReadError::Several { count, .. }) => (0..count.min(MOST_PICKED)).map(Some).collect(),
        _ => vec![None],
    };
    let (mut found, mut mended) = (Vec::new(), false);
    for pick in picks {
        let asis = ReadOptions { pick, ..ReadOptions::default() };
        let name = pick.map_or_else(String::new, |pick| format!("#{pick}"));
        let mut push =
            |options| found.push(Found { bytes: bytes.to_vec(), options, name: name.clone() });
        match Document::read(bytes, &asis) {
            Ok(_) => push(asis),
            Err(ReadError::Invalid { .. }) => {
                mended = true;
                push(ReadOptions { repair: true, ..asis });
            }
            Err(error) => return Reading::Refused(error.to_string()),
        }
    }
    Reading::Conversations(found, mended)
}

/// How many passed, failed and were skipped.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Tally {
    fn compacted(&mut self, name: &str, found: &Found, mended: bool) {
        let Found { bytes, options, name: pick } = found;
        for ladder in Ladder::ALL {
            for window in WINDOWS {
                let (row, broken) = compact(bytes, options, window, ladder);
                let Row { before, after, outcome } = row;
                let note = if mended { " (mended)" } else { "" };
                say(&format!(
                    "{:<46} {window:>7} {:<9} {before:>8} {after:>8}  {outcome}{note}",
                    shortened(&format!("{name}{pick}")),
                    ladder.name(),
                ));
                for law in &broken {
                    say(&format!("    FAILED: {law}"));
                }
                if broken.is_empty() { self.passed += 1 } else { self.failed += 1 }
            }
        }
    }
}

/// Layers of plugins on the conversation that `options` read.
fn tried(plugins: &mut Plugins, bytes: &[u8], options: &ReadOptions) -> Vec<String> {
    match Document::read(bytes, options) {
        Ok(document) => plugins.try_on(document.conversation()),
        Err(error) => vec![error.to_string()],
    }
}

/// The end of a name that is too long for the table.
fn shortened(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    chars[chars.len().saturating_sub(46)..].iter().collect()
}

#[test]
fn real_sessions_stay_whole() {
    let root = folder();
    if !root.is_dir() {
        say(&format!(
            "SKIPPED: no real sessions, because `{}` is not there (set BRUTE_CORPUS)",
            root.display()
        ));
        return;
    }
    say(&format!("{:<46} {:>7} {:<9} {:>8} {:>8}", "file", "window", "ladder", "before", "after"));
    let mut tally = Tally::default();
    let spill = tempfile::tempdir().unwrap();
    let mut plugins = Plugins::load(spill.path());
    for path in files(&root) {
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
        let folder = name.split('/').next().unwrap_or_default();
        let wanted = READ.iter().find(|(of, _)| *of == folder);
        let is_wanted = wanted.is_some();
        let bytes = std::fs::read(&path).unwrap();
        let (reading, kind) = read(&bytes);
        if let (Some((_, wanted)), Reading::Conversations(..)) = (wanted, &reading)
            && *wanted != kind
        {
            say(&format!("    FAILED: {name} was read as {kind:?}"));
            tally.failed += 1;
        }
        match reading {
            Reading::Conversations(found, mended) if is_wanted => {
                for found in &found {
                    tally.compacted(&name, found, mended);
                    for law in tried(&mut plugins, &found.bytes, &found.options) {
                        say(&format!("    FAILED: {name}: {law}"));
                        tally.failed += 1;
                    }
                }
            }
            // Read, though its folder promises nothing.
            Reading::Conversations(..) => tally.passed += 1,
            Reading::Refused(why) if why.trim().is_empty() => {
                say(&format!("    FAILED: {name} was refused without a word"));
                tally.failed += 1;
            }
            Reading::Refused(why) if is_wanted => {
                say(&format!("refused {name}: {why}"));
                tally.skipped += 1;
            }
            // Another format, and told so.
            Reading::Refused(_) => tally.passed += 1,
        }
    }
    plugins.told().iter().for_each(|line| say(line));
    say(&format!(
        "corpus: {} passed, {} failed, {} skipped",
        tally.passed, tally.failed, tally.skipped
    ));
    assert_eq!(tally.failed, 0, "laws were broken; see the table above");
}

/// The same for the sessions that are always there.
#[test]
fn sessions_that_ship_stay_whole() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/sessions");
    let mut tally = Tally::default();
    for path in files(&root) {
        let bytes = std::fs::read(&path).unwrap();
        let Reading::Conversations(found, mended) = read(&bytes).0 else { continue };
        let name = path.file_name().unwrap().to_string_lossy();
        found.iter().for_each(|found| tally.compacted(&name, found, mended));
    }
    assert_eq!(tally.failed, 0, "laws were broken; see the table above");
    assert!(tally.passed >= 6 * WINDOWS.len() * Ladder::ALL.len(), "{}", tally.passed);
}
