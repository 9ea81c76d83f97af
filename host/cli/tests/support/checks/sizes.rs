//! Sizes, outcomes, rungs, and how often the summarizer was asked.

use serde_json::Value;

use super::lists::passes;
use crate::support::run::{Pass, Run, Verdict};
use crate::support::wire::{self, items};

/// The value of a limit: a number, a setting, `count(input)`, or a sum or difference of these.
fn limit(expression: &Value, run: &Run) -> Option<i64> {
    if let Some(number) = expression.as_f64() {
        return Some(number as i64);
    }
    let mut total = 0.0;
    let mut sign = 1.0;
    let text = expression.as_str()?.replace('+', " + ").replace('-', " - ").replace('*', " * ");
    let mut factor: Option<f64> = None;
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        match word {
            "+" => sign = 1.0,
            "-" => sign = -1.0,
            "*" | "x" => {}
            word => {
                let value = term(word, run)?;
                let value = factor.take().map_or(value, |factor| factor * value);
                if matches!(words.peek(), Some(&"*" | &"x")) {
                    factor = Some(value);
                } else {
                    total += sign * value;
                }
            }
        }
    }
    Some(total as i64)
}

fn term(word: &str, run: &Run) -> Option<f64> {
    match word {
        "count(input)" => run.passes.first().map(|pass| pass.tokens_before as f64),
        "count(output)" => Some(run.last().tokens as f64),
        word => match word.parse::<f64>() {
            Ok(number) => Some(number),
            Err(_) => run.settings[word].as_f64(),
        },
    }
}

pub(crate) fn count_le(args: &Value, run: &Run) -> Verdict {
    let Some(limit) = limit(&args["limit"], run) else {
        return Verdict::Skip(format!("the limit {} is not known", args["limit"]));
    };
    let of_input = args["of"] == "input";
    Verdict::all(passes(args, run).into_iter().map(|pass| {
        let tokens = if of_input { pass.tokens_before } else { pass.tokens };
        Verdict::of(tokens as i64 <= limit, || format!("{tokens} tokens, {limit} are allowed"))
    }))
}

fn within(args: &Value, size: u64) -> Verdict {
    let range = args["min"].as_u64().unwrap_or(0)..=args["max"].as_u64().unwrap_or(u64::MAX);
    Verdict::of(range.contains(&size), || format!("{size} is not within {range:?}"))
}

pub(crate) fn count_between(args: &Value, run: &Run) -> Verdict {
    let of_output = args["of"].as_str().is_some_and(|of| of.starts_with("output"));
    match run.passes.first() {
        Some(_) if of_output => within(args, run.last().tokens),
        Some(first) => within(args, first.tokens_before),
        None => Verdict::all(run.counts.iter().map(|count| within(args, count.tokens))),
    }
}

pub(crate) fn anchor_between(args: &Value, run: &Run) -> Verdict {
    match run.passes.first().and_then(|pass| pass.anchor) {
        Some(anchor) => within(args, anchor),
        None => Verdict::Fail("no size was taken from the reported usage".into()),
    }
}

pub(crate) fn status_in(args: &Value, run: &Run) -> Verdict {
    let wanted: Vec<&str> = items(&args["values"]).iter().filter_map(Value::as_str).collect();
    Verdict::of(wanted.iter().any(|status| run.has_status(status)), || {
        let reported: Vec<&Vec<String>> =
            run.passes.iter().map(|pass| &pass.statuses).filter(|all| !all.is_empty()).collect();
        format!("reported {reported:?}, wanted one of {wanted:?}")
    })
}

pub(crate) fn triggered(run: &Run, wanted: bool) -> Verdict {
    match run.passes.iter().find_map(|pass| pass.triggered) {
        Some(due) => Verdict::of(due == wanted, || {
            let size = run.passes.first().map_or(0, |pass| pass.tokens_before);
            format!("a compaction is {}due (counted: {size})", if due { "" } else { "not " })
        }),
        None => Verdict::Fail("the trigger was not asked".into()),
    }
}

pub(crate) fn rungs(args: &Value, run: &Run, wanted: bool) -> Verdict {
    let used: Vec<&String> = run.passes.iter().flat_map(|pass| &pass.rungs).collect();
    let names = items(&args["values"]).iter().filter_map(Value::as_str);
    Verdict::all(names.map(|name| {
        let name = name.replace('_', "-");
        Verdict::of(used.iter().any(|used| **used == name) == wanted, || {
            format!("`{name}`: rungs that gave something are {used:?}")
        })
    }))
}

/// A rough count for texts whose exact count was not recorded.
fn roughly(text: &str) -> u64 {
    text.chars().count().div_ceil(4) as u64
}

pub(crate) fn each_placeholder_count_le(args: &Value, run: &Run) -> Verdict {
    let Some(limit) = limit(&args["limit"], run) else {
        return Verdict::Skip(format!("the limit {} is not known", args["limit"]));
    };
    let texts = run.output().iter().flat_map(wire::texts);
    let placeholders = texts.filter(|text| text.starts_with("[brute:cleared:"));
    Verdict::all(placeholders.map(|text| {
        Verdict::of(roughly(text) as i64 <= limit, || format!("{} tokens: {text}", roughly(text)))
    }))
}

pub(crate) fn no_message_grows(_: &Value, run: &Run) -> Verdict {
    let edited = run.output().iter().filter_map(|message| {
        wire::original(&run.fed, message).map(|original| (original, message))
    });
    let grown = edited
        .map(|(before, after)| (wire::json(before).len(), wire::json(after).len()))
        .find(|(before, after)| after > before);
    Verdict::of(grown.is_none(), || format!("one grew (bytes before and after: {grown:?})"))
}

pub(crate) fn summariser_calls(args: &Value, run: &Run) -> Verdict {
    let calls = run.requests.len() as u64;
    let least = args["min"].as_u64().unwrap_or(0);
    let most = args["max"].as_u64().unwrap_or(u64::MAX);
    Verdict::of((least..=most).contains(&calls), || format!("{calls} calls, {most} are allowed"))
}

pub(crate) fn summariser_request_count_le(args: &Value, run: &Run) -> Verdict {
    let Some(limit) = limit(&args["limit"], run) else {
        return Verdict::Skip(format!("the limit {} is not known", args["limit"]));
    };
    let largest = run.requests.iter().map(|request| request.tokens).max().unwrap_or(0);
    Verdict::of(largest as i64 <= limit, || format!("{largest} tokens, {limit} are allowed"))
}

pub(crate) fn idempotent(_: &Value, run: &Run) -> Verdict {
    if !run.cuts.is_empty() {
        return Verdict::all(run.cuts.iter().map(|cut| {
            let same = cut.passes.iter().all(|text| *text == cut.text);
            Verdict::of(same, || "a further pass changed the text".into())
        }));
    }
    let Some(again) = &run.again else { return Verdict::Fail("there was no second run".into()) };
    Verdict::all([
        Verdict::of(again.text == run.last().text, || "a second run changed the output".into()),
        Verdict::of(run.again_requests == 0, || {
            format!("a second run asked the summarizer {} times", run.again_requests)
        }),
    ])
}

/// The blockers of the last compaction.
pub(crate) fn blockers(run: &Run) -> &[(String, Vec<usize>, u64)] {
    let last: Option<&Pass> = run.compactions().last();
    last.map_or(&[], |pass| pass.blockers.as_slice())
}
