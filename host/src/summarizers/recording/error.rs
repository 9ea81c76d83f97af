//! What can go wrong with a recording, in words that say where and what to do.

use std::io;
use std::path::{Path, PathBuf};

use super::line::VERSION;
use crate::system::words_of;

/// Why a recording could not be made, or does not repeat what it recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// Something of this name is there already.
    #[error("`{}` is there already: a recording goes to a new file", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file system refuses to write.
    #[error(
        "cannot write the recording `{}`: {reason}; it ends before exchange {exchange}",
        path.display()
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// The first exchange that is not in it, from 1.
        exchange: usize,
        /// Why.
        reason: String,
    },
    /// The file system refuses to read.
    #[error("cannot read the recording `{}`: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file that is something else.
    #[error("`{}` is no recording of a summarizer: name a file that `--record` made", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A file of a version that this brute does not know.
    #[error(
        "the recording `{}` is of version {version}, and this brute knows version {VERSION}: take the brute that wrote it",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
    /// The last line has no end.
    #[error(
        "line {line} of the recording `{}` is torn: its run was stopped while it was written; to repeat what stands \
         before it, cut the file there", path.display()
    )]
    Torn {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A whole line that says nothing that can be.
    #[error("line {line} of the recording `{}` is broken: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The request is not the one that was recorded.
    #[error(
        "exchange {exchange} of the recording `{}` is another request: {difference}; the conversation, the \
         configuration and brute itself have to be those of the recorded run", path.display()
    )]
    Other {
        /// The file.
        path: PathBuf,
        /// The exchange, from 1.
        exchange: usize,
        /// Where the two part.
        difference: Difference,
    },
    /// There are more requests than were recorded.
    #[error(
        "the recording `{}` has run out: this run asks for exchange {}, and the recorded one ended before it",
        path.display(), exchanges + 1
    )]
    RanOut {
        /// The file.
        path: PathBuf,
        /// How many exchanges it has.
        exchanges: usize,
    },
    /// There are fewer requests than were recorded.
    #[error(
        "the recording `{}` has {exchanges} exchanges, and this run asked for {asked}: it is not the recorded run",
        path.display()
    )]
    LeftOver {
        /// The file.
        path: PathBuf,
        /// How many exchanges it has.
        exchanges: usize,
        /// How many were asked for.
        asked: usize,
    },
}

impl RecordingError {
    pub(super) fn read(path: &Path, error: &io::Error) -> Self {
        Self::Read { path: path.into(), reason: words_of(error) }
    }

    /// The words of both requests where they part, for whoever may read the conversation: these are no part of the
    /// message, which events and logs repeat.
    pub fn excerpts(&self) -> Option<(&str, &str)> {
        match self {
            Self::Other { difference: Difference::Text { recorded, asked, .. }, .. } => {
                Some((recorded, asked))
            }
            _ => None,
        }
    }
}

/// Where two requests part.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// In one of their texts.
    #[error("the {part} differ from line {line}, column {column} on")]
    Text {
        /// `instructions` or `contents`.
        part: &'static str,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The recorded words from there on.
        recorded: String,
        /// The words of this run from there on.
        asked: String,
    },
    /// In how long the answer may be.
    #[error("it allows {recorded} tokens for the answer, and this run {asked}")]
    MaxTokens {
        /// Then.
        recorded: u32,
        /// Now.
        asked: u32,
    },
}

/// So many characters are told of a text that is another one.
const EXCERPT: usize = 60;

impl Difference {
    /// Where the texts part, if they do.
    pub(super) fn of(part: &'static str, recorded: &str, asked: &str) -> Option<Self> {
        if recorded == asked {
            return None;
        }
        let pairs = recorded.char_indices().zip(asked.chars());
        let shorter = recorded.len().min(asked.len());
        let at = pairs.into_iter().find(|((_, one), other)| one != other);
        let at = at.map_or(shorter, |((at, _), _)| at);
        let before = &recorded[..at];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let excerpt = |text: &str| text[at..].chars().take(EXCERPT).collect();
        Some(Self::Text {
            part,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            recorded: excerpt(recorded),
            asked: excerpt(asked),
        })
    }
}
