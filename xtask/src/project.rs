//! The repository as seen by every verb: its root, the cargo to call, the `brute` binary to run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Result;

/// The root of the workspace.
///
/// `cargo run` sets the variable anew each time, so a checkout that was moved, or two that share a target folder, do
/// not end up with the path that was compiled in.
pub(crate) fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| here.clone(), Path::to_path_buf)
}

/// The cargo that started this program, set to run at the root of the workspace.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(root());
    command
}

/// Runs a command with this program's own standard streams.
///
/// # Errors
///
/// It could not be started, or it did not succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status =
        command.status().map_err(|error| format!("could not start {}: {error}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", shown(command))) }
}

/// A command as one would type it, for messages.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str()).to_string_lossy();
    let mut line = format!("`{name}");
    for arg in command.get_args() {
        line.push(' ');
        line.push_str(&arg.to_string_lossy());
    }
    line.push('`');
    line
}

/// Builds `brute`, with these options of `cargo build`, and says where it is.
///
/// Cargo names the file itself, so target folders and build targets from the environment or a configuration are
/// followed.
///
/// # Errors
///
/// The build failed (the compiler has then said why on standard error), or it made no such binary.
pub(crate) fn build_brute(options: &[&str]) -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["build", "--package", "brute-cli", "--bin", "brute"]).args(options);
    let line = shown(&command);
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("could not start {line}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{line} failed, and this verb runs `brute`: mend the build first"));
    }
    executable(&String::from_utf8_lossy(&output.stdout), "brute")
        .ok_or_else(|| format!("{line} succeeded but made no binary `brute`"))
}

/// The executable named `bin` among cargo's build messages, one JSON object a line.
fn executable(messages: &str, bin: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == bin)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_names_the_executable() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"brute_core"},"executable":null}"#,
            "\nnot json\n",
            r#"{"reason":"compiler-artifact","target":{"name":"brute"},"executable":"/t/debug/brute"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(executable(messages, "brute"), Some(PathBuf::from("/t/debug/brute")));
        assert_eq!(executable(messages, "other"), None);
        assert_eq!(executable(messages, "brute_core"), None);
    }

    #[test]
    fn a_command_is_shown_as_typed() {
        let mut command = Command::new("/opt/bin/cargo");
        command.args(["test", "--workspace"]);
        assert_eq!(shown(&command), "`cargo test --workspace`");
    }

    #[test]
    fn the_root_holds_this_crate() {
        assert!(root().join("xtask").join("Cargo.toml").is_file());
    }
}
