//! A folder to run the command in, and how a run ended.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A small request body that names its model.
pub(crate) const SMALL: &str = r#"{"model": "gpt-4o", "messages": [
  {"role": "system", "content": "Be brief."},
  {"role": "user", "content": "List the files."},
  {"role": "assistant", "content": null, "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
  {"role": "tool", "tool_call_id": "c1", "content": "a.txt b.txt"},
  {"role": "assistant", "content": "Two files."}
]}"#;

/// A temporary folder that is current folder and home in one.
pub(crate) struct Place {
    folder: TempDir,
    /// The user's own file, if there is one.
    own: &'static str,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { folder: TempDir::new().expect("a temporary folder can be made"), own: "" }
    }

    /// A place with these files.
    pub(crate) fn with<const N: usize>(files: [(&str, &str); N]) -> Self {
        let place = Self::new();
        for (name, text) in files {
            place.write(name, text);
        }
        place
    }

    /// The same place, with an empty configuration of the user's own.
    pub(crate) fn with_own_file(self) -> Self {
        self.write("own.toml", "");
        Self { own: "own.toml", ..self }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).expect("a file can be written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("the file is there")
    }

    /// The names of what is in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).expect("the folder is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The command, set up to see nothing of the machine but this folder.
    pub(crate) fn command(&self, line: &str) -> Command {
        let own = Some(self.own).filter(|own| !own.is_empty());
        let own = own.map_or_else(PathBuf::new, |own| self.path(own));
        let mut command = Command::new(env!("CARGO_BIN_EXE_brute"));
        command
            .args(words(line))
            .current_dir(self.folder.path())
            .env("BRUTE_CONFIG", own)
            .env_remove("BRUTE_TRUST_PLUGINS")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE");
        for home in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "USERPROFILE"] {
            command.env(home, self.folder.path());
        }
        command
    }

    /// Runs `brute` with nothing on standard input.
    pub(crate) fn brute(&self, line: &str) -> Ended {
        self.piped(line, "")
    }

    /// Runs `brute` with `input` on standard input.
    pub(crate) fn piped(&self, line: &str, input: impl AsRef<[u8]>) -> Ended {
        let mut child = self
            .command(line)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the built binary runs");
        // Inputs here fit in a pipe, so that writing all before reading cannot block. Who refuses its
        // arguments does not read.
        let _ = child.stdin.take().expect("it is piped").write_all(input.as_ref());
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("brute writes UTF-8");
        Ended {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
            folder: self.folder.path().to_owned(),
        }
    }

    /// The transcript of a table of cases: what they are called, the command line, standard input.
    pub(crate) fn transcript<const N: usize>(&self, cases: [(&str, &str, &str); N]) -> String {
        let said = cases
            .map(|(name, line, input)| format!("## {name}\n{}", self.piped(line, input).said()));
        said.join("\n")
    }
}

/// The words of a command line; quotes hold one together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().expect("there is always one").push(character),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
    folder: PathBuf,
}

impl Ended {
    /// The exit code and standard error, without what differs from run to run.
    pub(crate) fn said(&self) -> String {
        let code = self.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        format!("exit {code}\n{}", self.stable(&self.err))
    }

    /// `text` without the names of folders and without times.
    pub(crate) fn stable(&self, text: &str) -> String {
        let text = without_folder(text, &self.folder);
        let lines = text.lines().map(|line| without_time(line).trim_end().to_owned());
        lines.map(|line| format!("{line}\n")).collect()
    }

    pub(crate) fn json(text: &str) -> serde_json::Value {
        serde_json::from_str(text).expect(text)
    }

    /// Standard output as JSON.
    pub(crate) fn out_json(&self) -> serde_json::Value {
        Self::json(&self.out)
    }

    /// Standard error as JSON.
    pub(crate) fn err_json(&self) -> serde_json::Value {
        Self::json(&self.err)
    }
}

fn without_folder(text: &str, folder: &Path) -> String {
    let real = folder.canonicalize().expect("the folder is there");
    text.replace(&real.display().to_string(), "[folder]")
        .replace(&folder.display().to_string(), "[folder]")
}

/// A row of the table of rungs ends in a duration, whose heading is `time`.
fn without_time(line: &str) -> String {
    let word = line.trim_start().split(' ').next().unwrap_or_default();
    let rung = word == "asked" || word.parse::<u8>().is_ok();
    let Some((row, unit)) = line.rsplit_once(' ').filter(|_| rung) else {
        // The heading moves with the width of the column.
        return match line.strip_suffix("time") {
            Some(heading) => format!("{} time", heading.trim_end()),
            None => line.to_owned(),
        };
    };
    match (unit, row.rsplit_once(' ')) {
        ("µs" | "ms" | "s", Some((row, _))) => format!("{} [time]", row.trim_end()),
        _ => line.to_owned(),
    }
}
