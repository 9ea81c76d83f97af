//! Reading what the command line names.

use std::io::Read;
use std::path::Path;

use brute_host::config::Config;
use brute_host::formats::{Document, ReadOptions};
use brute_host::shown::shown;
use brute_host::system::words_of;

use crate::args;
use crate::exit::{Exit, Failure};
use crate::output;

/// How messages call an input.
pub(crate) fn name(file: &Path) -> String {
    match is_stdin(file) {
        true => "standard input".to_owned(),
        false => shown(file.display()),
    }
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// An open input.
pub(crate) fn open(file: &Path) -> Result<Box<dyn Read>, Failure> {
    if is_stdin(file) {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let opened = std::fs::File::open(file).and_then(|opened| match opened.metadata()?.is_dir() {
        true => Err(std::io::ErrorKind::IsADirectory.into()),
        false => Ok(opened),
    });
    match opened {
        Ok(opened) => Ok(Box::new(opened)),
        Err(error) => Err(cannot_read(file, &error)),
    }
}

/// The end of a command whose input cannot be read.
pub(crate) fn cannot_read(file: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot read `{}`: {}", name(file), words_of(error)))
}

/// The conversation that the command line names.
pub(crate) fn read(config: &Config, session: &args::Session) -> Result<Document, Failure> {
    parse(config, bytes(&session.file)?, session)
}

/// All that an input holds.
pub(crate) fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open(file)?.read_to_end(&mut bytes).map_err(|error| cannot_read(file, &error))?;
    Ok(bytes)
}

/// The conversation in what was read.
pub(crate) fn parse(
    config: &Config,
    bytes: Vec<u8>,
    session: &args::Session,
) -> Result<Document, Failure> {
    config.read(bytes, &options(session)).map_err(|error| {
        Failure::input(format!("`{}`: {}", name(&session.file), with_flags(&error.to_string())))
    })
}

/// What the library says, which names its options, in the words of the command line.
pub(crate) fn with_flags(error: &str) -> String {
    let mends = "`ReadOptions::repair` makes the least change that mends this";
    let flag =
        "`--repair` makes the least change that mends this, and `brute repair --check` says which";
    let flags = [
        ("`ReadOptions::pick`", "`--pick`"),
        (mends, flag),
        ("`ReadOptions::repair`", "`--repair`"),
    ];
    flags.into_iter().fold(error.to_owned(), |words, (option, flag)| words.replace(option, flag))
}

fn options(session: &args::Session) -> ReadOptions {
    ReadOptions {
        pick: session.pick,
        format: session.format,
        repair: session.repair,
        ..ReadOptions::default()
    }
}

/// How many messages there are in what `document` was written as.
///
/// Only the writer knows: it may join messages that a compaction made neighbors.
pub(crate) fn messages_in(
    written: &[u8],
    document: &Document,
    session: &args::Session,
) -> Result<usize, Failure> {
    // What was written may no longer look like its format.
    let options = ReadOptions { format: Some(document.format()), ..options(session) };
    Document::read(written.to_vec(), &options).map(|written| written.wire_len()).map_err(|error| {
        let message = format!("brute cannot read what it wrote: {error}; please report it");
        Failure { exit: Exit::Bug, message }
    })
}

/// Says what was mended on standard error.
pub(crate) fn say_repairs(document: &Document) {
    for repair in document.repairs() {
        output::say(&format!("repaired: {}", shown(repair)));
    }
}
