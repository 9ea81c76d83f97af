//! Real sessions, replayed under the ladders that ship.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use brute_core::Approximate;
use brute_host::formats::Document;
use serde_json::Value;

use crate::{Found, Reading, files, folder, read, say};

/// From so many tokens on, by a quarter of the characters, a session is a long one.
const LONG: u64 = 30_000;

/// What some of the ladders keep free for the reply, whatever the window. A window of half a session beside it leaves
/// each of them something to do, and what a single step needs.
const RESERVE: u64 = 16_384;

/// The ladders that ship.
fn ladders() -> Vec<PathBuf> {
    files(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/ladders"))
}

/// The size of the only conversation in a file, all of it; none where it has none or several.
fn size(file: &Path) -> Option<u64> {
    let Reading::Conversations(found, _) = read(&std::fs::read(file).ok()?).0 else { return None };
    let sizes = found.into_iter().filter(|found| !found.name.contains('#'));
    let size = |found: Found| {
        let document = Document::read(found.bytes, &found.options).ok()?;
        Some(document.conversation().clone().measure(&Approximate))
    };
    sizes.filter_map(size).max()
}

/// The name of a ladder's file.
fn shown(ladder: &Value) -> String {
    let path = Path::new(ladder.as_str().unwrap_or_default());
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn figure(of: &Value, key: &str) -> u64 {
    of[key].as_u64().unwrap()
}

#[test]
fn long_sessions_are_replayed_under_every_ladder_that_ships() {
    let (root, ladders) = (folder(), ladders());
    if !root.is_dir() {
        say(&format!("SKIPPED: no real sessions in `{}` (set BRUTE_CORPUS)", root.display()));
        return;
    }
    assert!(ladders.len() >= 6);
    let begun = Instant::now();
    let (mut sessions, mut replays, mut compactions, mut failed) = (0, 0, 0, 0);
    for file in files(&root) {
        let Some(size) = size(&file).filter(|size| *size >= LONG) else { continue };
        let mut command = Command::new(env!("CARGO_BIN_EXE_brute"));
        command.arg("replay").arg(&file).args(["--json", "-q"]);
        command.args(["--window", &(size / 2 + RESERVE).to_string()]);
        for ladder in &ladders {
            command.arg("--ladder").arg(ladder);
        }
        let output = command.output().unwrap();
        let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
        let Ok(runs) = serde_json::from_slice::<Value>(&output.stdout) else {
            say(&format!("FAILED: {name}: {}", String::from_utf8_lossy(&output.stderr)));
            failed += 1;
            continue;
        };
        sessions += 1;
        let runs = runs.as_array().unwrap().iter();
        for run in runs.filter(|run| !run["run"]["order"].as_array().unwrap().is_empty()) {
            let totals = &run["totals"];
            replays += 1;
            compactions += figure(totals, "compactions");
            let broken = figure(totals, "violations");
            if broken > 0 || figure(totals, "over-window") > 0 {
                say(&format!(
                    "{name} under {}, window {}: {broken} laws broken, {} requests over the window, {} compactions \
                     above target",
                    shown(&run["ladder"]),
                    run["window"],
                    totals["over-window"],
                    totals["misses"],
                ));
            }
            failed += broken + figure(totals, "over-window");
        }
    }
    say(&format!(
        "replays: {sessions} sessions, {replays} replays, {compactions} compactions, {failed} failures, {:.0} s",
        begun.elapsed().as_secs_f64()
    ));
    assert_eq!(failed, 0, "laws were broken, or requests did not fit the window; see above");
}
