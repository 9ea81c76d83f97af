//! `brute truncate`: caps one tool result; a filter.

use std::path::Path;

use brute_core::truncation::FullText;
use brute_host::truncation::Truncator;
use serde::Serialize;

use crate::args::{Global, Truncate};
use crate::exit::{Done, Exit, Failure};
use crate::{output, session, setup};

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Report {
    cut: bool,
    total_lines: Option<u64>,
    total_bytes: Option<u64>,
    kept_bytes: Option<u64>,
    /// Where the full text is.
    full_text: Option<String>,
    /// Why the full text is nowhere, if it was cut and could not be saved.
    not_saved: Option<String>,
}

pub(crate) fn run(global: &Global, args: &Truncate) -> Done {
    let setup = setup::load(global, !args.json)?;
    let truncator =
        Truncator::new(setup.config.truncate.clone()).map_err(Failure::configuration)?;
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    let input = session::open(file)?;
    let result = truncator
        .truncate_reader(args.tool.as_deref(), input)
        .map_err(|error| session::cannot_read(file, &error))?;
    output::data(result.text.as_bytes())?;
    if args.json {
        let (full_text, not_saved) = match result.cut.as_ref().map(|cut| cut.notice.full.clone()) {
            Some(FullText::Saved(place)) => (Some(place), None),
            Some(FullText::NotSaved(reason)) => (None, Some(reason)),
            None => (None, None),
        };
        output::say_json(&Report {
            cut: result.cut.is_some(),
            total_lines: result.cut.as_ref().map(|cut| cut.notice.total_lines),
            total_bytes: result.cut.as_ref().map(|cut| cut.notice.total_bytes),
            kept_bytes: result.cut.as_ref().map(|cut| cut.kept_bytes as u64),
            full_text,
            not_saved,
        });
    }
    Ok(Exit::Fitted)
}
