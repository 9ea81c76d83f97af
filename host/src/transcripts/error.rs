//! Why a log of an agent could not be read.

use super::{Kind, Problem, Skipped};

/// Why a log of an agent could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranscriptError {
    /// The input itself could not be read.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// A record is longer than places can be told in.
    #[error("line {line} has {bytes} bytes, and a record can have at most {most}")]
    TooLarge {
        /// The line, from 1.
        line: usize,
        /// How long it is.
        bytes: usize,
        /// The longest that can be read.
        most: usize,
    },
    /// The log holds no message, or none that is in the agent's context any more.
    #[error("the {kind} log holds no message: {}", told(.skipped, .problems))]
    NoMessages {
        /// What it is.
        kind: Kind,
        /// What it holds instead.
        skipped: Vec<Skipped>,
        /// What did not fit together.
        problems: Vec<Problem>,
    },
    /// The log is of an agent that is known, in a form that cannot be read.
    #[error("the {kind} log cannot be read: {why}")]
    Unreadable {
        /// What it is.
        kind: Kind,
        /// What is missing, and where to get it.
        why: String,
    },
    /// Several conversations, and none was chosen.
    #[error("the {kind} log holds {count} conversations ({names}); choose one with `Options::pick`, from 0 to {}, or by its name", .count - 1)]
    Several {
        /// What it is.
        kind: Kind,
        /// How many.
        count: usize,
        /// What the first ones are called.
        names: String,
    },
    /// The chosen conversation is not there.
    #[error("there is no conversation {pick}: the {kind} log holds {count}, counted from 0")]
    NoSuchPick {
        /// What it is.
        kind: Kind,
        /// The one that was asked for.
        pick: usize,
        /// How many there are.
        count: usize,
    },
    /// No conversation of the log has the name.
    #[error("there is no conversation `{name}` in the {kind} log{}", match .names.as_str() { "" => ", which has one without a name".to_owned(), names => format!(": it holds {names}") })]
    NoSuchName {
        /// What it is.
        kind: Kind,
        /// The name that was asked for.
        name: String,
        /// What the first ones are called.
        names: String,
    },
    /// The format was said, and the input is not in it.
    #[error("this is no log of the kind `{kind}`: {why}")]
    NotThat {
        /// What it was said to be.
        kind: Kind,
        /// What it is instead.
        why: String,
    },
}

fn told(skipped: &[Skipped], problems: &[Problem]) -> String {
    const MOST: usize = 6;
    let all =
        skipped.iter().map(ToString::to_string).chain(problems.iter().map(ToString::to_string));
    let mut shown: Vec<String> = all.take(MOST).collect();
    match skipped.len() + problems.len() {
        0 => return "it has no records".to_owned(),
        count if count > MOST => shown.push(format!("and {} things more", count - MOST)),
        _ => {}
    }
    shown.join("; ")
}
