//! `brute truncate`: caps one tool result; a filter.

use std::path::Path;
use std::time::SystemTime;

use brute_core::truncation::FullText;
use brute_host::truncation::Truncator;
use serde::Serialize;

use crate::args::{Global, Truncate};
use crate::exit::{Done, Exit, Failure};
use crate::{output, session, setup, warnings};

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Report {
    cut: bool,
    /// Whether terminal sequences were taken out, which is no cut.
    stripped: bool,
    total_lines: Option<u64>,
    total_bytes: Option<u64>,
    kept_bytes: Option<u64>,
    /// Where the full text is: as the notice says, or, if it may not say it, on this machine.
    full_text: Option<String>,
    /// Whether the model can read it there, as far as is known.
    readable: Option<bool>,
    /// Why the full text is nowhere, if it was cut and could not be saved.
    not_saved: Option<String>,
}

pub(crate) fn run(global: &Global, args: &Truncate) -> Done {
    let config = setup::load(global, !args.json)?;
    if let Some(warning) = config.out_of_reach().filter(|_| !args.json && !global.quiet) {
        setup::show(&[warning]);
    }
    let truncator = Truncator::new(config.truncate).map_err(Failure::configuration)?;
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    let input = session::open(file)?;
    let result = truncator
        .truncate_reader(args.tool.as_deref(), input)
        .map_err(|error| session::cannot_read(file, &error))?;
    output::data(result.text.as_bytes())?;
    let talks = !args.json && !global.quiet;
    if let Some(cut) = &result.cut {
        // Whoever wants full texts saved nowhere need not be told that they are not.
        let is_wanted = truncator.spill().path().is_some();
        if let FullText::NotSaved(reason) = &cut.notice.full
            && is_wanted
            && talks
        {
            warnings::warn(&format!("the full text was not saved: {reason}"));
        }
        // Of all conversations, only this result is known here.
        let live = || cut.file_name().into_iter().collect();
        let swept = truncator.sweep_if_due(SystemTime::now(), live);
        let error = swept.and_then(|swept| swept.errors.into_iter().next());
        if let Some(error) = error.filter(|_| talks) {
            warnings::warn(&error.to_string());
        }
    }
    if args.json {
        let full = result.cut.as_ref().map(|cut| &cut.notice.full);
        let (full_text, not_saved) = match full {
            Some(FullText::Saved(place)) => (Some(place.clone()), None),
            Some(kept @ FullText::Kept(_)) => {
                (truncator.spill().file(kept).map(|file| file.display().to_string()), None)
            }
            Some(FullText::NotSaved(reason)) => (None, Some(reason.clone())),
            None => (None, None),
        };
        output::say_json(&Report {
            cut: result.cut.is_some(),
            stripped: result.stripped,
            total_lines: result.cut.as_ref().map(|cut| cut.notice.total_lines),
            total_bytes: result.cut.as_ref().map(|cut| cut.notice.total_bytes),
            kept_bytes: result.cut.as_ref().map(|cut| cut.kept_bytes as u64),
            readable: full_text.as_ref().map(|_| truncator.spill().is_readable()),
            full_text,
            not_saved,
        });
    }
    Ok(Exit::Fitted)
}
