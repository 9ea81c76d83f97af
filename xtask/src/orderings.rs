//! `cargo xtask orderings`: what each order of a ladder does to the sessions that ship, or to those of a folder.

use std::ffi::OsStr;
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::{Result, first_look, metadata, plugins, project};

const USAGE: &str = "\
usage: cargo xtask orderings [SESSION|DIR]… [options of `brute orderings`]
       cargo xtask orderings --first-look [SESSION|DIR]… [--ladder FILE]

Builds all plugins and a release `brute`, and runs `brute orderings` with them: with the sessions in
`examples/sessions` and the ladder `xtask/src/orderings.toml`, where none are named. On a clone where these are not
built yet, which takes minutes, a small `brute` is built first, in less than one, and shows a first table on
standard error: without plugins (rungs that need one are left out and named), at one size, tokens estimated. There is no
first table with options beside `--ladder`. `--first-look` shows the first table alone, at any time.";

/// The ladder where none is named.
const LADDER: &str = "xtask/src/orderings.toml";

/// The sessions where none is named.
const SESSIONS: &str = "examples/sessions";

/// What `brute orderings` is called with, beside the plugins.
pub(crate) fn arguments(args: &[String]) -> Vec<String> {
    let mut arguments = args.to_vec();
    let is_named = |option: &str| args.iter().any(|arg| arg.split('=').next() == Some(option));
    if !is_named("--ladder") {
        arguments.extend(["--ladder".to_owned(), LADDER.to_owned()]);
    }
    // What stands before the first option names sessions.
    if args.first().is_none_or(|first| first.starts_with('-')) {
        arguments.insert(0, SESSIONS.to_owned());
    }
    arguments
}

/// Builds `brute` and the plugins, and calls `brute orderings`.
pub(crate) fn run(args: &[String]) -> Result {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    if args.iter().any(|arg| arg == first_look::OPTION) {
        return first_look::alone(args);
    }
    let root = project::root();
    let target = metadata::workspace(&root)?.target;
    if first_look::is_due(&target) {
        first_look::show(args);
    }
    let (_, folder) = plugins::make(true, None)?;
    let brute = project::build_brute(&["--release"])?;
    let path = Value::from(vec![folder.to_string_lossy()]);
    let mut command = Command::new(brute);
    command
        .current_dir(&root)
        .arg("orderings")
        .args(arguments(args))
        .arg("--set")
        .arg(format!("plugins.path={path}"))
        .args([OsStr::new("--trust-plugins"), folder.as_os_str()]);
    let status = command
        .status()
        .map_err(|error| format!("could not start {}: {error}", project::shown(&command)))?;
    Ok(match status.code() {
        Some(0) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_is_what_ships() {
        let called = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            arguments(&words).join(" ")
        };
        let table = [
            ("", "examples/sessions --ladder xtask/src/orderings.toml"),
            ("mine", "mine --ladder xtask/src/orderings.toml"),
            ("mine --ladder l.toml", "mine --ladder l.toml"),
            ("--ladder=l.toml", "examples/sessions --ladder=l.toml"),
            ("--json", "examples/sessions --json --ladder xtask/src/orderings.toml"),
        ];
        for (line, expected) in table {
            assert_eq!(called(line), expected, "{line}");
        }
    }

    #[test]
    fn both_are_there() {
        assert!(project::root().join(LADDER).is_file() && project::root().join(SESSIONS).is_dir());
    }
}
