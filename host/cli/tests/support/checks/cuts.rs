//! Truncated texts, their notices, and the files with the full texts.

use std::path::Path;

use serde_json::Value;

use crate::support::run::{Cut, CutReport, Run, Verdict};

fn each(run: &Run, check: impl Fn(&Cut) -> Verdict) -> Verdict {
    if run.cuts.is_empty() {
        return Verdict::Fail("nothing was truncated".into());
    }
    Verdict::all(run.cuts.iter().map(check))
}

/// Every text that was cut satisfies `check`, and one was.
fn each_cut(run: &Run, check: impl Fn(&Cut, &CutReport) -> Verdict) -> Verdict {
    each(run, |cut| match &cut.report {
        Some(report) => check(cut, report),
        None => Verdict::Fail("the text was not cut".into()),
    })
}

pub(crate) fn truncated(args: &Value, run: &Run) -> Verdict {
    let wanted = args["value"].as_bool().unwrap_or(true);
    each(run, |cut| Verdict::of(cut.report.is_some() == wanted, || format!("it is {}", !wanted)))
}

pub(crate) fn total_lines_reported(args: &Value, run: &Run) -> Verdict {
    each_cut(run, |_, report| {
        let lines = report.total_lines;
        Verdict::of(Some(lines) == args["value"].as_u64(), || format!("{lines} are reported"))
    })
}

pub(crate) fn shown_range(args: &Value, run: &Run) -> Verdict {
    let (first, last) = (args["first"].as_u64().unwrap_or(0), args["last"].as_u64().unwrap_or(0));
    // A case gives all its lines to the text. Here the notice takes one of them: the limit is for both.
    let is_full = run.settings["max_lines"].as_u64() == Some((last + 1).saturating_sub(first));
    each_cut(run, |_, report| {
        let wanted = match (is_full, report.notice_at.start) {
            (true, 0) => (first + 1, last),
            (true, _) => (first, last - 1),
            (false, _) => (first, last),
        };
        Verdict::of(report.shown == [wanted], || format!("{:?} are shown", report.shown))
    })
}

pub(crate) fn body_lines_le(args: &Value, run: &Run) -> Verdict {
    let limit = args["limit"].as_u64().unwrap_or(u64::MAX) as usize;
    each(run, |cut| {
        let lines = cut.body().lines().count();
        Verdict::of(lines <= limit, || format!("{lines} lines"))
    })
}

pub(crate) fn body_bytes_le(args: &Value, run: &Run) -> Verdict {
    let limit = args["limit"].as_u64().unwrap_or(u64::MAX) as usize;
    let later = args["after"].is_string();
    each(run, |cut| {
        let bytes = match cut.passes.first() {
            // A later limit is about all of the text.
            Some(first) if later => cut.passes.get(1).unwrap_or(first).len(),
            _ => cut.body().len(),
        };
        Verdict::of(bytes <= limit, || format!("{bytes} bytes"))
    })
}

/// Which end of the input a body is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Prefix,
    Suffix,
}

/// Whether `line` is `whole`, or part of it around a mark that says how much is missing.
pub(crate) fn is_shown(line: &str, whole: &str) -> bool {
    if line == whole || whole.starts_with(line) || whole.ends_with(line) {
        return true;
    }
    let start = line.bytes().zip(whole.bytes()).take_while(|(a, b)| a == b).count();
    let end = line.bytes().rev().zip(whole.bytes().rev()).take_while(|(a, b)| a == b).count();
    let end = end.min(line.len() - start);
    let mark = String::from_utf8_lossy(&line.as_bytes()[start..line.len() - end]);
    mark.contains(" characters cut") && mark.chars().any(|c| c.is_ascii_digit())
}

pub(crate) fn body_is_part(run: &Run, part: Part) -> Verdict {
    each(run, |cut| {
        let input = String::from_utf8_lossy(&cut.input).into_owned();
        let input = cut.redacted.clone().unwrap_or(input);
        let body = cut.body();
        let body = body.trim_end_matches('\n').trim_start_matches('\n');
        let (shown, whole): (Vec<&str>, Vec<&str>) =
            (body.lines().collect(), input.lines().collect());
        if shown.len() > whole.len() {
            return Verdict::Fail("the body has more lines than the input".into());
        }
        let from = if part == Part::Prefix { 0 } else { whole.len() - shown.len() };
        let strange =
            shown.iter().zip(&whole[from..]).position(|(line, whole)| !is_shown(line, whole));
        Verdict::of(strange.is_none(), || {
            format!("line {} of the body is not that of the input", strange.unwrap_or_default())
        })
    })
}

pub(crate) fn whole_lines_only(_: &Value, run: &Run) -> Verdict {
    each(run, |cut| {
        let input = String::from_utf8_lossy(&cut.input).into_owned();
        let whole: std::collections::HashSet<&str> = input.lines().collect();
        let body = cut.body();
        let part = body.trim_matches('\n').lines().find(|line| !whole.contains(line));
        Verdict::of(part.is_none(), || {
            let part: String = part.unwrap_or_default().chars().take(60).collect();
            format!("this line is only part of one: {part}")
        })
    })
}

/// What goes on is a `String`; the bytes that make it one must be there.
pub(crate) fn valid_utf8(_: &Value, run: &Run) -> Verdict {
    each(run, |cut| {
        Verdict::of(std::str::from_utf8(cut.text.as_bytes()).is_ok(), || "it is not".into())
    })
}

pub(crate) fn overflow_file_equals_input(args: &Value, run: &Run) -> Verdict {
    let conditional = args["when"].is_string();
    each(run, |cut| {
        let intact = cut.report.is_none() && cut.text.as_bytes() == cut.input;
        match cut.saved() {
            // A text that goes on as it is needs no file.
            None if intact || (conditional && cut.report.is_none()) => Verdict::Pass,
            None => Verdict::Fail(format!("there is no file; the notice says: {}", cut.notice())),
            Some(saved) => {
                Verdict::of(saved == cut.input, || "the file is not the whole text".into())
            }
        }
    })
}

pub(crate) fn overflow_file_unchanged_text(_: &Value, run: &Run) -> Verdict {
    each(run, |cut| match cut.saved() {
        Some(saved) => Verdict::of(saved == cut.input, || "the file is not the whole text".into()),
        None => Verdict::Pass,
    })
}

pub(crate) fn hint_path_exists(_: &Value, run: &Run) -> Verdict {
    each_cut(run, |cut, _| {
        let there = cut.file.as_ref().is_some_and(|path| path.is_file());
        Verdict::of(there, || format!("{:?} is no file", cut.file))
    })
}

pub(crate) fn hint_path_under(args: &Value, run: &Run) -> Verdict {
    let name = args["dir"].as_str().unwrap_or_default().trim_start_matches('$');
    let folder = run.settings["folders"][name].as_str().unwrap_or(name).to_owned();
    each_cut(run, |cut, _| {
        let under = cut.file.as_ref().is_some_and(|path| path.starts_with(Path::new(&folder)));
        Verdict::of(under, || format!("{:?} is not under {folder}", cut.file))
    })
}
