//! The agent as a program that runs.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// The variable that the agent is told to find its key in.
pub(crate) const KEY_VARIABLE: &str = "AGENT_TEST_KEY";
/// What it finds there.
pub(crate) const KEY: &str = "sk-the-key-of-this-test";

/// `agent`, set to work in `folder` with the server at `url`. No configuration but that of the folder holds.
pub(crate) fn agent(folder: &Path, url: &str) -> Command {
    let mut command = Command::new(path());
    command
        .args(["--url", url, "--model", "test-model", "--key-from", KEY_VARIABLE, "--folder"])
        .arg(folder)
        .env(KEY_VARIABLE, KEY)
        .env("BRUTE_CONFIG", "")
        .env("NO_PROXY", "*")
        .stdin(Stdio::null());
    command
}

/// Where cargo puts examples: beside the folder of tests.
fn path() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(2).unwrap();
    let path = target.join("examples").join(format!("agent{}", std::env::consts::EXE_SUFFIX));
    assert!(path.is_file(), "first: cargo build -p brute-examples --example agent");
    path
}

/// How it ended: its exit code, standard output, standard error.
pub(crate) fn ended(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A process that does not outlive its test.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
