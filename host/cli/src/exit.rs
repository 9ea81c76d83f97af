//! Exit codes. They are part of the interface: scripts rely on them.

use std::process::ExitCode;

/// How the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; a conversation fits.
    Fitted = 0,
    /// Done, but the conversation is still above target, was not restored byte for byte, could not be
    /// converted without a change, or needs a repair, or a replay broke a law.
    NotFitted = 1,
    /// The command line or `brute.toml` cannot be used.
    Configuration = 2,
    /// The input cannot be read or is no conversation, or the output or the archive cannot be written.
    Input = 3,
    /// The conversation is still above target, and the summarizer failed.
    Summarizer = 4,
    /// A fault of brute itself.
    Bug = 70,
    /// It was interrupted, and has written nothing.
    Interrupted = 130,
}

/// The table for `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
  0   done; the conversation fits (or needed nothing)
  1   done, but the conversation is still above target, was not restored byte for byte, could not
      be converted without a change, or needs a repair (`repair --check`); or a replay broke a
      law, or `replay` sent a request over the window
  2   the command line or brute.toml cannot be used
  3   the input cannot be read or is no conversation, or the output or the archive cannot be
      written; nothing was handed out
  4   still above target, and the summarizer failed
  70  a fault of brute itself (please report it)
  130 interrupted; nothing was written";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An end that needs words on standard error.
#[derive(Debug)]
pub(crate) struct Failure {
    /// How the command ends.
    pub(crate) exit: Exit,
    /// What to say. Empty if everything has been said.
    pub(crate) message: String,
}

impl Failure {
    /// The command line or `brute.toml` cannot be used.
    pub(crate) fn configuration(message: impl ToString) -> Self {
        Self { exit: Exit::Configuration, message: message.to_string() }
    }

    /// The input cannot be read, or the output or the archive cannot be written.
    pub(crate) fn input(message: impl ToString) -> Self {
        Self { exit: Exit::Input, message: message.to_string() }
    }
}

/// What a verb gives back.
pub(crate) type Done = Result<Exit, Failure>;
