//! Reading what the command line names.

use std::io::Read;
use std::path::Path;

use brute_host::formats::{Document, ReadOptions};

use crate::args;
use crate::exit::Failure;
use crate::output;

/// How messages call an input.
pub(crate) fn name(file: &Path) -> String {
    match is_stdin(file) {
        true => "standard input".to_owned(),
        false => file.display().to_string(),
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
    Failure::input(format!("cannot read `{}`: {error}", name(file)))
}

/// The conversation that the command line names.
pub(crate) fn read(session: &args::Session) -> Result<Document, Failure> {
    let mut bytes = Vec::new();
    open(&session.file)?
        .read_to_end(&mut bytes)
        .map_err(|error| cannot_read(&session.file, &error))?;
    let options = ReadOptions {
        pick: session.pick,
        format: session.format,
        repair: session.repair,
        ..ReadOptions::default()
    };
    Document::read(bytes, &options)
        .map_err(|error| Failure::input(format!("`{}`: {error}", name(&session.file))))
}

/// Says what was mended on standard error.
pub(crate) fn say_repairs(document: &Document) {
    for repair in document.repairs() {
        output::say(&format!("repaired: {repair}"));
    }
}
