//! `cargo xtask sample`: the main job, done on a session that ships.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::{Result, project};

/// A session that outgrows the window of the model that it names.
const SESSION: &str = "examples/sessions/openai-chat-fix-parser.json";
/// Where the compacted session goes.
const RESULT: &str = "target/sample.json";

/// Compacts the sample, or the file that is named, and explains how.
pub(crate) fn run(args: &[String]) -> Result {
    let root = project::root();
    let session = match args {
        [] => root.join(SESSION),
        [file] => {
            Path::new(file).canonicalize().map_err(|error| format!("file `{file}`: {error}"))?
        }
        _ => return Err("usage: cargo xtask sample [FILE]".to_owned()),
    };
    // Shown, and passed, as one would type it at the root.
    let session = session.strip_prefix(&root).unwrap_or(&session);
    let brute = project::build_brute(&["--release"])?;
    fs::create_dir_all(root.join("target"))
        .map_err(|error| format!("could not make the folder of `{RESULT}`: {error}"))?;

    let mut compact = Command::new(&brute);
    compact.arg("compact").arg(session).args(["--quiet", "-o", RESULT]);
    let mut explain = Command::new(&brute);
    explain.arg("explain").arg(session);
    for command in [&mut compact, &mut explain] {
        eprintln!("$ {}", project::shown(command).trim_matches('`'));
        project::run(command.current_dir(&root))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_ships() {
        assert!(project::root().join(SESSION).is_file());
    }
}
