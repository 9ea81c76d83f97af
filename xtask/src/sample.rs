//! `cargo xtask sample`: the main job, done on a session that ships.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::{Result, project};

/// Where the sessions that ship are.
const SESSIONS: &str = "examples/sessions";
/// The first session by name that is larger than this is the sample: large enough to outgrow [`WINDOW`].
const MORE_THAN_BYTES: u64 = 100_000;
/// The window to compact for.
const WINDOW: &str = "32k";
/// Where the compacted session goes.
const RESULT: &str = "target/sample.json";

/// Compacts the sample, or the file that is named, and explains how.
pub(crate) fn run(args: &[String]) -> Result {
    let root = project::root();
    let session = match args {
        [] => choose(&root)?,
        [file] => {
            Path::new(file).canonicalize().map_err(|error| format!("file `{file}`: {error}"))?
        }
        _ => return Err("usage: cargo xtask sample [FILE]".to_owned()),
    };
    // Shown, and passed, as one would type it at the root.
    let session = session.strip_prefix(&root).unwrap_or(&session);
    let brute = project::build_brute(true)?;
    fs::create_dir_all(root.join("target"))
        .map_err(|error| format!("could not make the folder of `{RESULT}`: {error}"))?;

    let mut compact = Command::new(&brute);
    compact.arg("compact").arg(session).args(["--window", WINDOW, "-o", RESULT]);
    let mut explain = Command::new(&brute);
    explain.arg("explain").arg(session).args(["--window", WINDOW]);
    for command in [&mut compact, &mut explain] {
        eprintln!("$ {}", project::shown(command).trim_matches('`'));
        project::run(command.current_dir(&root))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The first session by name that is large enough.
fn choose(root: &Path) -> Result<PathBuf> {
    let folder = root.join(SESSIONS);
    let entries =
        fs::read_dir(&folder).map_err(|error| format!("could not read `{SESSIONS}`: {error}"))?;
    entries
        .filter_map(std::result::Result::ok)
        .filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json"))
        .filter(|entry| entry.metadata().is_ok_and(|meta| meta.len() > MORE_THAN_BYTES))
        .map(|entry| entry.path())
        .min()
        .ok_or_else(|| format!("no `*.json` over {MORE_THAN_BYTES} bytes in `{SESSIONS}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_the_first_session_that_is_large_enough() {
        let root = tempfile::tempdir().unwrap();
        assert!(choose(root.path()).unwrap_err().contains(SESSIONS));
        let folder = root.path().join(SESSIONS);
        fs::create_dir_all(&folder).unwrap();
        for (name, size) in
            [("a.json", 100_000), ("b.jsonl", 100_001), ("d.json", 100_001), ("c.json", 100_001)]
        {
            fs::write(folder.join(name), vec![b' '; size]).unwrap();
        }
        assert_eq!(choose(root.path()).unwrap(), folder.join("c.json"));
        fs::remove_file(folder.join("c.json")).unwrap();
        fs::remove_file(folder.join("d.json")).unwrap();
        assert!(choose(root.path()).unwrap_err().contains("100000 bytes"));
    }
}
