//! The `command` backend: any program.

use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use brute_core::{Completion, CompletionError, OptionsError, Prompt, Stop, SummarizerLimits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process;

use super::{BoxFuture, BudgetOptions, LEAST_WINDOW, MOST_OUTPUT, Summarizer};
use crate::quantity::Span;
use crate::system::words_of;
use crate::truncation::sequences;

/// Bytes that are read at once.
const BUFFER: usize = 8 * 1024;

/// How long a program that has ended may leave its output unfinished.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// What of a failed program's standard error is told: so many lines, so many bytes.
const ERROR_LINES: usize = 5;
const ERROR_BYTES: usize = 1_000;

/// What `[summarizer]` says with `backend = "command"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CommandOptions {
    /// The program and its arguments, as a list: `["llm", "--model", "…"]`. No shell stands in between.
    /// It finds the instructions, an empty line and the record on its standard input, and the longest
    /// summary in tokens in the environment variable `BRUTE_MAX_TOKENS`. It writes the summary and
    /// nothing else to its standard output. Any exit status but 0 means that it failed.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// How long it may take before it is stopped.
    #[serde(default = "default_timeout")]
    pub timeout: Span,
    /// How much its model takes in one request, the summary included, in tokens. At least 1024.
    #[serde(default = "default_window")]
    #[schemars(range(min = 1024))]
    pub window: u32,
    /// The most that summaries may take, those of its fallbacks included.
    #[serde(default, skip_serializing_if = "BudgetOptions::is_empty")]
    pub budget: BudgetOptions,
}

fn default_timeout() -> Span {
    Span::from_secs(60)
}

fn default_window() -> u32 {
    32_000
}

/// Asks a program. It is stopped when its time is over or nobody waits for the answer any more, on Unix with all
/// that it started itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    program: String,
    arguments: Vec<String>,
    timeout: Span,
    window: u32,
}

impl Command {
    /// A summarizer that runs this command.
    ///
    /// # Errors
    /// If an option is out of range.
    pub fn build(options: CommandOptions) -> Result<Self, OptionsError> {
        let wrong = |option, message: &str| Err(OptionsError { option, message: message.into() });
        let mut words = options.command.into_iter();
        let Some(program) = words.next().filter(|program| !program.trim().is_empty()) else {
            return wrong("command", "`command` names no program; write `command = [\"program\"]`");
        };
        if options.timeout.as_secs() == 0 {
            return wrong("timeout", "`timeout` is 0, which leaves no time to answer");
        }
        if options.window < LEAST_WINDOW {
            return wrong("window", "`window` must be at least 1024 tokens");
        }
        let (timeout, window) = (options.timeout, options.window);
        Ok(Self { program, arguments: words.collect(), timeout, window })
    }

    async fn ask(&self, prompt: &Prompt) -> Result<Completion, CompletionError> {
        let answered = tokio::time::timeout(Duration::from(self.timeout), self.run(prompt)).await;
        let seconds = self.timeout.as_secs();
        let output = answered.map_err(|_| CompletionError::TimedOut { seconds })??;
        let text = String::from_utf8(output).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            self.failed(format_args!("wrote something that is not UTF-8, from byte {at} on"))
        })?;
        Ok(Completion::new(text, Stop::End))
    }

    async fn run(&self, prompt: &Prompt) -> Result<Vec<u8>, CompletionError> {
        let mut command = process::Command::new(&self.program);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command
            .args(&self.arguments)
            .env("BRUTE_MAX_TOKENS", prompt.max_tokens.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                self.failed(format_args!("could not be started: {}", words_of(&error)))
            })?;
        #[cfg(unix)]
        let group = Group::of(&child);
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                let text = format!("{}\n\n{}", prompt.instructions.trim_end(), prompt.input);
                // A program that needs no input, or not all of it, may close it.
                let _ = stdin.write_all(text.as_bytes()).await;
            }
            Ok(())
        };
        let (output, complaints) = (Mutex::new(Vec::new()), Mutex::new(VecDeque::new()));
        let read = async {
            let read = self.output(stdout, &output).await;
            read.map_err(|error| {
                self.failed(format_args!("could not be read: {}", words_of(&error)))
            })?;
            match locked(&output).len() > MOST_OUTPUT {
                true => Err(self.failed(format_args!("wrote more than {MOST_OUTPUT} bytes"))),
                false => Ok(()),
            }
        };
        let talk = async { tokio::try_join!(write, read, tail(stderr, &complaints)) };
        tokio::pin!(talk);
        let status = tokio::select! {
            biased;
            said = &mut talk => {
                said?;
                child.wait().await
            }
            // What it started itself may hold its pipes open for as long as it likes.
            status = child.wait() => {
                if let Ok(said) = tokio::time::timeout(LAST_WORDS, &mut talk).await {
                    said?;
                }
                status
            }
        };
        #[cfg(unix)]
        group.leave();
        let status = status.map_err(|error| {
            self.failed(format_args!("cannot be waited for: {}", words_of(&error)))
        })?;
        match status.success() {
            true => Ok(std::mem::take(&mut *locked(&output))),
            false => Err(self.unsuccessful(status, locked(&complaints).make_contiguous())),
        }
    }

    /// Reads what the program writes, a little more than is allowed at most.
    async fn output(
        &self,
        stdout: Option<impl AsyncRead + Unpin>,
        output: &Mutex<Vec<u8>>,
    ) -> io::Result<()> {
        let Some(mut stdout) = stdout else { return Ok(()) };
        let mut buffer = vec![0; BUFFER];
        while let read @ 1.. = stdout.read(&mut buffer).await? {
            let mut output = locked(output);
            output.extend(&buffer[..read]);
            if output.len() > MOST_OUTPUT {
                break;
            }
        }
        Ok(())
    }

    fn unsuccessful(&self, status: ExitStatus, complaints: &[u8]) -> CompletionError {
        let text = sequences::plain(&String::from_utf8_lossy(complaints)).into_owned();
        let mut last: Vec<&str> =
            text.lines().rev().filter(|line| !line.trim().is_empty()).take(ERROR_LINES).collect();
        last.reverse();
        match last.is_empty() {
            true => self.failed(format_args!("ended with {status}")),
            false => self.failed(format_args!("ended with {status}: {}", last.join("\n"))),
        }
    }

    fn failed(&self, what: std::fmt::Arguments<'_>) -> CompletionError {
        CompletionError::Failed { reason: format!("`{}` {what}", self.program) }
    }
}

/// A program and what it started: a wrapper script, say, with the client of a model that goes on costing money. It is
/// killed when this is dropped.
#[cfg(unix)]
struct Group(Option<rustix::process::Pid>);

#[cfg(unix)]
impl Group {
    /// The group of a child that began one of its own.
    fn of(child: &process::Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(rustix::process::Pid::from_raw))
    }

    /// Lets what is left of it live: the program ended by itself.
    fn leave(mut self) {
        self.0 = None;
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // There may be nobody left to kill.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// The last bytes of a stream, which is read to its end so that the program is never held up.
async fn tail(
    stream: Option<impl AsyncRead + Unpin>,
    kept: &Mutex<VecDeque<u8>>,
) -> Result<(), CompletionError> {
    if let Some(mut stream) = stream {
        let mut buffer = vec![0; BUFFER];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            let mut kept = locked(kept);
            kept.extend(&buffer[..read]);
            let past = kept.len().saturating_sub(ERROR_BYTES);
            kept.drain(..past);
        }
    }
    Ok(())
}

fn locked<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Summarizer for Command {
    fn name(&self) -> &str {
        "command"
    }

    fn limits(&self) -> SummarizerLimits {
        SummarizerLimits { window: u64::from(self.window) }
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(self.ask(prompt))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn prompt() -> Prompt {
        Prompt { instructions: "do it\n".into(), input: "with this".into(), max_tokens: 77 }
    }

    fn command(words: &[&str], timeout: u64) -> Command {
        let command = words.iter().map(|word| (*word).to_owned()).collect();
        let timeout = Span::from_secs(timeout);
        let budget = BudgetOptions::default();
        Command::build(CommandOptions { command, timeout, window: 2_000, budget }).unwrap()
    }

    fn ask(command: &Command, prompt: &Prompt) -> Result<Completion, CompletionError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(command.complete(prompt))
    }

    fn sh(script: &str) -> Result<Completion, CompletionError> {
        ask(&command(&["sh", "-c", script], 20), &prompt())
    }

    #[test]
    fn the_prompt_goes_in_and_the_summary_comes_out() {
        assert_eq!(sh("cat; printf \" $BRUTE_MAX_TOKENS\"").unwrap().text, "do it\n\nwith this 77");
        let plain = ask(&command(&["echo", "$HOME; exit 1"], 20), &prompt()).unwrap();
        assert_eq!(plain.text, "$HOME; exit 1\n", "no shell stands in between");
    }

    #[test]
    fn a_program_that_does_not_read_is_fine() {
        let long = Prompt { input: "word ".repeat(200_000), ..prompt() };
        let answer = ask(&command(&["sh", "-c", "echo gist"], 20), &long).unwrap();
        assert_eq!(answer, Completion::new("gist\n", Stop::End));
    }

    #[test]
    fn every_failure_says_what_happened() {
        for (script, part) in [
            (
                "echo half; echo one >&2; echo two >&2; exit 3",
                "`sh` ended with exit status: 3: one\ntwo",
            ),
            ("exit 1", "`sh` ended with exit status: 1"),
            ("kill -9 $$", "signal: 9"),
            ("printf 'ab\\377'", "not UTF-8, from byte 2 on"),
            ("head -c 1100000 /dev/zero; sleep 60", "wrote more than 1048576 bytes"),
        ] {
            let error = sh(script).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let missing = ask(&command(&["no-such-program-here"], 20), &prompt()).unwrap_err();
        assert!(missing.to_string().contains("`no-such-program-here` could not be started"));
    }

    #[test]
    fn long_complaints_are_told_by_their_end() {
        let error = sh("seq 1 100000 >&2; exit 2").unwrap_err().to_string();
        assert!(error.ends_with("99996\n99997\n99998\n99999\n100000"), "{error}");
        assert!(error.len() < 200);
        let error = sh("head -c 5000 /dev/zero | tr '\\0' x >&2; exit 2").unwrap_err().to_string();
        assert!(error.len() < ERROR_BYTES + 100, "{}", error.len());
    }

    #[test]
    fn what_a_program_leaves_behind_is_not_waited_for() {
        for script in ["sleep 20 & echo gist", "(sleep 20 >/dev/null) & echo gist"] {
            let begun = Instant::now();
            assert_eq!(sh(script).unwrap().text, "gist\n", "{script}");
            assert!(begun.elapsed().as_secs() < 5, "{script}");
        }
        let error = sh("sleep 20 & echo sorry >&2; exit 3").unwrap_err().to_string();
        assert!(error.contains("exit status: 3") && error.contains("sorry"), "{error}");
    }

    #[test]
    fn a_program_that_hangs_is_stopped() {
        let began = Instant::now();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alive");
        let goes_on = format!("sleep 2; touch {}", file.display());
        for script in [goes_on.clone(), format!("sh -c '{goes_on}' & wait")] {
            let error = ask(&command(&["sh", "-c", &script], 1), &prompt()).unwrap_err();
            assert_eq!(error, CompletionError::TimedOut { seconds: 1 });
        }
        assert!(began.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1_800));
        assert!(!file.exists(), "it would have gone on");
    }
}
