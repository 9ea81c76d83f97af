//! The verbs that make a conversation valid, or another provider's.

use std::path::PathBuf;

use brute_host::formats::Format;
use brute_host::transcripts::Kind;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::Session;

#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// The conversation; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Its format, if what it looks like is not what it is
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: Option<Reading>,

    /// Which conversation, if the file holds several: its place (from 0), or the name that the file has for it
    #[arg(long, value_name = "N|NAME")]
    pub(crate) pick: Option<Pick>,

    /// Only say what would be done: write nothing, and exit with 1 if there is something to do
    #[arg(long, conflicts_with = "output")]
    pub(crate) check: bool,

    /// Where to write the conversation, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write what was done to standard error as JSON, instead of words
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(crate) session: Session,

    /// The format to write; what it cannot carry is told, and exits with 1
    #[arg(long, value_name = "FORMAT", value_parser = providers())]
    pub(crate) to: Format,

    /// Where to write the conversation, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write what was changed to standard error as JSON, instead of words
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which conversation of a file.
#[derive(Debug, Clone)]
pub(crate) enum Pick {
    /// By its place, from 0.
    At(usize),
    /// By the name that the file has for it.
    Named(String),
}

impl std::str::FromStr for Pick {
    type Err = std::convert::Infallible;

    /// Digits are a place: no file names its conversations by others.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.parse().map_or_else(|_| Self::Named(text.to_owned()), Self::At))
    }
}

/// What an input is to be read as.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reading {
    /// A conversation in the format of a provider.
    Provider(Format),
    /// The log of an agent.
    Log(Kind),
}

/// The formats of providers and the kinds of logs, by name.
pub(super) fn formats() -> impl TypedValueParser<Value = Reading> {
    let names = Format::ALL.map(Format::name).into_iter().chain(Kind::ALL.map(Kind::name));
    PossibleValuesParser::new(names).try_map(|name| match name.parse::<Format>() {
        Ok(format) => Ok(Reading::Provider(format)),
        Err(_) => name.parse::<Kind>().map(Reading::Log),
    })
}

fn providers() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| name.parse::<Format>())
}
