//! Why an input could not be read, in words that say where and what to do.

use std::fmt::{self, Write as _};

use super::Format;
use super::json::Fault;

/// Why an input could not be read as a conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// There is nothing but white space.
    #[error("the input is empty; a conversation in JSON is needed")]
    Empty,
    /// There is a list of messages, with nothing in it.
    #[error("the list of messages{} is empty", at(.pointer))]
    NoMessages {
        /// The list, as a JSON pointer.
        pointer: String,
    },
    /// The text is longer than this reader can tell places in.
    #[error(
        "the input is too large: it has {bytes} bytes, and at most {most} can be read; split it into files of fewer conversations"
    )]
    TooLarge {
        /// How long it is.
        bytes: usize,
        /// The longest that can be read.
        most: usize,
    },
    /// The text is not UTF-8.
    #[error("line {line}, column {column}: the input is not UTF-8 ({found}); convert it first")]
    Encoding {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What it seems to be instead.
        found: &'static str,
    },
    /// The text stops in the middle of a value.
    #[error(
        "line {line}, column {column}: the input ends inside `{pointer}`, where {expected} should come; is it complete?"
    )]
    Truncated {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The value that is not complete, as a JSON pointer.
        pointer: String,
        /// What is missing first.
        expected: &'static str,
    },
    /// The text is not JSON.
    #[error("line {line}, column {column}: not JSON: expected {expected}, found `{found}`{}", inside(.pointer))]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The value that holds the mistake, as a JSON pointer.
        pointer: String,
        /// What would have been right.
        expected: &'static str,
        /// The text that stands there instead.
        found: String,
    },
    /// It is JSON, but no conversation in a known format.
    #[error("no conversation found: the input is {found}; accepted are {ACCEPTED}")]
    Unrecognized {
        /// What it is instead.
        found: String,
    },
    /// There is a list of messages, or what should be one, with something else in it.
    #[error("no conversation found: expected {expected} at `{pointer}`, found {found}")]
    NotMessages {
        /// The value, as a JSON pointer.
        pointer: String,
        /// What would have been right.
        expected: &'static str,
        /// What is there instead.
        found: String,
    },
    /// Several conversations, and none was chosen.
    #[error("the input holds {count} conversations ({carrier}{}{names}); choose one with `ReadOptions::pick`, from 0 to {}", if .names.is_empty() { "" } else { ": " }, .count - 1)]
    Several {
        /// How many.
        count: usize,
        /// What they come in.
        carrier: &'static str,
        /// What the first ones are called, if they have names.
        names: String,
    },
    /// The chosen conversation is not there.
    #[error("there is no conversation {pick}: the input holds {count}, counted from 0")]
    NoSuchPick {
        /// The one that was asked for.
        pick: usize,
        /// How many there are.
        count: usize,
    },
    /// A message speaks for a role that the format does not have.
    #[error("message {index} has the unknown role `{role}` (at `{pointer}`); {format} knows {known}{}", hint(*.format, .role))]
    UnknownRole {
        /// The message, from 0.
        index: usize,
        /// The role, as a JSON pointer.
        pointer: String,
        /// The role.
        role: String,
        /// The format that the input was read as.
        format: Format,
        /// All roles that would do.
        known: &'static str,
    },
    /// A value is not of the kind that the format wants there.
    #[error("message {index}: expected {expected} at `{pointer}`, found {found}")]
    Shape {
        /// The message, from 0.
        index: usize,
        /// The value, as a JSON pointer.
        pointer: String,
        /// What would have been right.
        expected: &'static str,
        /// What is there instead.
        found: String,
    },
    /// A field beside the messages is not of the kind that the format wants there.
    #[error("expected {expected} at `{pointer}`, found {found}")]
    Field {
        /// The value, as a JSON pointer.
        pointer: String,
        /// What would have been right.
        expected: &'static str,
        /// What is there instead.
        found: String,
    },
    /// The messages do not fit together.
    #[error("the messages do not fit together:{}\n`ReadOptions::repair` makes the least change that mends this", list(.problems))]
    Invalid {
        /// Everything that is wrong, in the order of the messages.
        problems: Vec<Problem>,
    },
}

const ACCEPTED: &str = "a request body of OpenAI Chat or Anthropic Messages (an object with `messages`), \
    of OpenAI Responses (`input`) or Gemini (`contents`), a bare array of messages, JSON lines with one message a line, \
    a trajectory of mini-swe-agent, SWE-agent (`history`), tau-bench (`traj`) or tau2 (`simulations`), \
    a session log of brute, or the log of an agent: Claude Code, Codex, opencode, pi, OpenHands, Gemini CLI, Cline, Inspect, ATIF, LangChain or aider";

/// A pointer that a person can still read: of very deep ones, both ends.
fn shortened(pointer: String) -> String {
    const END: usize = 60;
    let length = pointer.chars().count();
    if length <= 3 * END {
        return pointer;
    }
    let head: String = pointer.chars().take(END).collect();
    let tail: String = pointer.chars().skip(length - END).collect();
    format!("{head}…{tail}")
}

fn at(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" at `{pointer}`") }
}

fn inside(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" (in `{pointer}`)") }
}

fn hint(format: Format, role: &str) -> &'static str {
    match (format, role) {
        (Format::Anthropic, "system") => "; instructions go into the `system` field of the body",
        (Format::Gemini, "system") => "; instructions go into the field `systemInstruction`",
        (Format::Gemini, "assistant") => "; the model is called `model`",
        _ => "",
    }
}

/// The first problems, and how many more there are: nobody reads ten thousand.
fn list(problems: &[Problem]) -> String {
    const MOST: usize = 50;
    let mut shown = String::new();
    for problem in problems.iter().take(MOST) {
        // Writing to a string cannot fail.
        let _ = write!(shown, "\n  {problem}");
    }
    if problems.len() > MOST {
        let _ = write!(shown, "\n  and {} more", with_commas(problems.len() - MOST));
    }
    shown
}

/// A number with a comma behind every thousand.
fn with_commas(number: usize) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

impl From<Fault> for ReadError {
    fn from(fault: Fault) -> Self {
        let Fault { position, pointer, expected, excerpt } = fault;
        let pointer = shortened(pointer);
        let (line, column) = (position.line, position.column);
        if excerpt.is_empty() {
            let pointer = if pointer.is_empty() { "/".to_owned() } else { pointer };
            return Self::Truncated { line, column, pointer, expected };
        }
        Self::NotJson { line, column, pointer, expected, found: excerpt }
    }
}

/// Something in a conversation that a provider would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The message as it stands in the input, from 0; none for the `system` field.
    pub index: Option<usize>,
    /// The value at fault, as a JSON pointer.
    pub pointer: String,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "message {index} (`{}`): {}", self.pointer, self.what),
            None => write!(f, "`{}`: {}", self.pointer, self.what),
        }
    }
}

/// A change that made a conversation valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// The message as it stands in the input, from 0; none for the `system` field.
    pub index: Option<usize>,
    /// The value that was at fault, as a JSON pointer.
    pub pointer: String,
    /// What was done, with the ids it is about.
    pub what: String,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "message {index} (`{}`): {}", self.pointer, self.what),
            None => write!(f, "`{}`: {}", self.pointer, self.what),
        }
    }
}
