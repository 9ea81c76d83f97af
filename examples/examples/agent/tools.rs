//! What the model can do: read, search, and run commands.
//!
//! No tool looks after the length of what it answers: that is what truncation is for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use brute_host::archive::Archive;
use brute_host::core::ToolCall;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

use super::Options;
use super::memory::say;

/// How paths begin that mean what a compaction gave up.
pub(super) const ARCHIVED: &str = "archive:";

/// How long a command may take.
const LONGEST: Duration = Duration::from_secs(120);

/// The most that is read of what a command prints. Nobody listens to the rest, which ends it.
const MOST_BYTES: u64 = 64 << 20;

pub(super) struct Tools {
    folder: PathBuf,
    archive: Option<Archive>,
    /// The variable with the server's key, which is no business of a command.
    secret: Option<String>,
    /// Whether commands run unasked.
    yes: bool,
}

impl Tools {
    pub(super) fn new(options: Options, archive: Option<Archive>) -> Self {
        Self { folder: options.folder, archive, secret: options.key_from, yes: options.yes }
    }

    /// What a call yields, and whether it failed. A failure is for the model to deal with.
    pub(super) async fn run(&self, call: &ToolCall) -> (Vec<u8>, bool) {
        say(&format!("{} {}", call.name, call.arguments));
        let done = match serde_json::from_str(&call.arguments) {
            Err(error) => Err(format!("the arguments are no JSON: {error}")),
            Ok(arguments) => self.dispatch(&call.name, &arguments).await,
        };
        done.map_or_else(|error| (error.into_bytes(), true), |output| (output, false))
    }

    async fn dispatch(&self, name: &str, arguments: &Value) -> Result<Vec<u8>, String> {
        let text = |key: &str| arguments[key].as_str();
        let needed = |key: &str| text(key).ok_or_else(|| format!("`{key}` is missing"));
        match name {
            "read" => {
                let number = |key: &str| arguments[key].as_u64().and_then(|n| n.try_into().ok());
                let whole = self.text_of(needed("path")?)?;
                let from = number("from").unwrap_or(1).max(1) - 1;
                let lines = whole.split_inclusive('\n').skip(from);
                Ok(lines.take(number("lines").unwrap_or(usize::MAX)).collect::<String>().into())
            }
            "search" => self.search(needed("text")?, text("path").unwrap_or(".")),
            "shell" => self.shell(needed("command")?).await,
            _ => Err(format!("there is no tool `{name}`; there are `read`, `search` and `shell`")),
        }
    }

    /// The text of a file, or of what a compaction gave up.
    fn text_of(&self, path: &str) -> Result<String, String> {
        if let (Some(handle), Some(archive)) = (path.strip_prefix(ARCHIVED), &self.archive) {
            let found = archive.find(handle, None).map_err(|error| error.to_string())?;
            // A note in the place of many messages names the first; each leads to the one after it.
            let next = found.next.map(|next| format!("\n(next: `{ARCHIVED}{}`)\n", next.handle()));
            return Ok(found.text + &next.unwrap_or_default());
        }
        let bytes = fs::read(self.inside(path)?).map_err(|error| format!("`{path}`: {error}"))?;
        String::from_utf8(bytes).map_err(|_| format!("`{path}` is no text"))
    }

    /// The path of something in the working folder. Nobody is asked before a file is read, so it must not be any.
    fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let full = self.folder.join(path).canonicalize();
        let full = full.map_err(|error| format!("`{path}`: {error}"))?;
        if full.starts_with(&self.folder) {
            Ok(full)
        } else {
            Err(format!("`{path}` is outside of the working folder"))
        }
    }

    fn search(&self, text: &str, path: &str) -> Result<Vec<u8>, String> {
        let mut files = Vec::new();
        if path.starts_with(ARCHIVED) {
            files.push(path.to_owned());
        } else {
            self.list(&self.inside(path)?, &mut files);
        }
        let mut found = String::new();
        for file in &files {
            let whole = self.text_of(file).unwrap_or_default();
            for (number, line) in (1..).zip(whole.lines()).filter(|(_, line)| line.contains(text)) {
                found += &format!("{file}:{number}: {line}\n");
            }
        }
        if found.is_empty() {
            found = format!("No line of {} files has it.\n", files.len());
        }
        Ok(found.into())
    }

    /// All files in `path`, as the model names them, but those that are hidden.
    fn list(&self, path: &Path, files: &mut Vec<String>) {
        let Ok(entries) = fs::read_dir(path) else {
            files.extend(path.strip_prefix(&self.folder).map(|path| path.display().to_string()));
            return;
        };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let is_hidden = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'.')
        };
        for path in paths.into_iter().filter(|path| !path.is_symlink() && !is_hidden(path)) {
            self.list(&path, files);
        }
    }

    async fn shell(&self, command: &str) -> Result<Vec<u8>, String> {
        if !self.yes && !is_allowed().await {
            return Err("the user did not allow it".to_owned());
        }
        let mut sh = Command::new("sh");
        // Both of its streams are one, so that they come in the order of what happened.
        sh.arg("-c").arg(format!("exec 2>&1\n{command}")).current_dir(&self.folder);
        if let Some(variable) = &self.secret {
            sh.env_remove(variable);
        }
        #[cfg(unix)]
        sh.process_group(0);
        let sh = sh.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn();
        let mut running = Running(sh.map_err(|error| format!("no `sh`: {error}"))?);
        let mut output = Vec::new();
        let end = async {
            if let Some(stdout) = running.0.stdout.take() {
                stdout.take(MOST_BYTES).read_to_end(&mut output).await?;
            }
            running.0.wait().await
        };
        let status = match tokio::time::timeout(LONGEST, end).await {
            Ok(ended) => ended.map_err(|error| format!("lost it: {error}"))?.to_string(),
            Err(_) => format!("stopped after {} s", LONGEST.as_secs()),
        };
        output.extend_from_slice(format!("({status})\n").as_bytes());
        Ok(output)
    }
}

/// Asks whoever sits at the terminal.
async fn is_allowed() -> bool {
    say("run it? [y/N]");
    let line = tokio::task::spawn_blocking(|| std::io::stdin().lines().next()).await;
    matches!(line, Ok(Some(Ok(line))) if line.trim() == "y")
}

/// A command that is stopped with all that it started, once nobody waits for it any more.
struct Running(Child);

#[cfg(unix)]
impl Drop for Running {
    fn drop(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        // One that has ended has no id any more.
        let group = self.0.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        // It may end right now.
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    }
}
