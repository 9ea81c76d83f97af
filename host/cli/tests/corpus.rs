//! Real sessions of agents, compacted for several windows, when the folder with them is there.
//!
//! `BRUTE_CORPUS` names the folder (`../shared/corpus` beside the repository if it is not set).

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot be set up fails")]

#[path = "corpus/laws.rs"]
mod laws;
#[path = "corpus/plugins.rs"]
mod plugins;
#[path = "support/validate.rs"]
mod validate;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use brute_host::formats::{Document, ReadError, ReadOptions};

use laws::{Ladder, Row, compact};
use plugins::Plugins;

/// The folders whose files are to be read.
const READ: [&str; 6] =
    ["anthropic-messages", "gemini-api", "openai-chat", "openai-responses", "swe-agent", "tau2"];

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

/// What came of reading a file.
enum Reading {
    /// Its conversations, and whether something in them had to be mended.
    Conversations(Vec<ReadOptions>, bool),
    /// Why it was refused.
    Refused(String),
}

fn read(bytes: &[u8]) -> Reading {
    let picks = match Document::read(bytes, &ReadOptions::default()) {
        Err(ReadError::Several { count, .. }) => (0..count.min(MOST_PICKED)).map(Some).collect(),
        _ => vec![None],
    };
    let (mut found, mut mended) = (Vec::new(), false);
    for pick in picks {
        let asis = ReadOptions { pick, ..ReadOptions::default() };
        match Document::read(bytes, &asis) {
            Ok(_) => found.push(asis),
            Err(ReadError::Invalid { .. }) => {
                mended = true;
                found.push(ReadOptions { repair: true, ..asis });
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
    fn compacted(&mut self, name: &str, bytes: &[u8], options: &ReadOptions, mended: bool) {
        for ladder in Ladder::ALL {
            for window in WINDOWS {
                let (row, broken) = compact(bytes, options, window, ladder);
                let pick = options.pick.map_or_else(String::new, |pick| format!("#{pick}"));
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
        let is_wanted = READ.iter().any(|folder| name.starts_with(folder));
        let bytes = std::fs::read(&path).unwrap();
        match read(&bytes) {
            Reading::Conversations(found, mended) if is_wanted => {
                for options in &found {
                    tally.compacted(&name, &bytes, options, mended);
                    for law in tried(&mut plugins, &bytes, options) {
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
