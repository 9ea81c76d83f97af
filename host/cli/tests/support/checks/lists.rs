//! The shape of a list, and what of it is as it was.

use serde_json::Value;

use crate::support::run::{Pass, Run, Verdict};
use crate::support::validate::violations;
use crate::support::wire::{self, items, json, role};

/// The passes that `after` is about; the last one if it says nothing.
pub(crate) fn passes<'r>(args: &Value, run: &'r Run) -> Vec<&'r Pass> {
    let Some(after) = args["after"].as_str() else { return vec![run.last()] };
    if after.contains("first") {
        run.passes.iter().take(1).collect()
    } else if after.contains("did something") {
        let done = |pass: &&Pass| pass.text != pass.before_text;
        run.compactions().filter(done).collect()
    } else if after.contains("compact") || after.contains("run") {
        run.compactions().collect()
    } else {
        run.passes.iter().collect()
    }
}

pub(crate) fn valid_message_list(args: &Value, run: &Run) -> Verdict {
    Verdict::all(passes(args, run).into_iter().map(|pass| {
        let found = violations(&run.format, &pass.list);
        Verdict::of(found.is_empty(), || format!("after `{}`: {}", pass.step, found.join("; ")))
    }))
}

pub(crate) fn identity(_: &Value, run: &Run) -> Verdict {
    let (output, input) = (run.output(), &run.fed);
    Verdict::of(output == input.as_slice(), || "the output is not the input".into())
}

pub(crate) fn order_preserved(_: &Value, run: &Run) -> Verdict {
    let fed: Vec<String> = run.fed.iter().map(json).collect();
    let mut from = 0;
    for (index, message) in run.output().iter().map(json).enumerate() {
        match fed[from..].iter().position(|other| *other == message) {
            Some(at) => from += at + 1,
            None if fed.contains(&message) => {
                return Verdict::Fail(format!("message {index} of the output is out of order"));
            }
            None => {}
        }
    }
    Verdict::Pass
}

/// Fields whose values an edit may change.
const EDITABLE: [&str; 4] = ["content", "arguments", "output", "text"];

pub(crate) fn unknown_fields_kept(_: &Value, run: &Run) -> Verdict {
    let edited = run.output().iter().filter_map(|message| {
        wire::original(&run.fed, message).map(|original| (original, message))
    });
    let lost = edited.filter_map(|(before, after)| lost_field(before, after)).next();
    Verdict::of(lost.is_none(), || {
        format!("the field `{}` is lost or changed", lost.unwrap_or_default())
    })
}

fn lost_field(before: &Value, after: &Value) -> Option<String> {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => before.iter().find_map(|(key, value)| {
            if EDITABLE.contains(&key.as_str()) && after.contains_key(key) {
                return None;
            }
            match after.get(key) {
                Some(now) => lost_field(value, now),
                None => Some(key.clone()),
            }
        }),
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            before.iter().zip(after).find_map(|(before, after)| lost_field(before, after))
        }
        _ => (before != after).then(|| json(before).chars().take(40).collect()),
    }
}

pub(crate) fn ids_unchanged(_: &Value, run: &Run) -> Verdict {
    let known: Vec<&str> = run.fed.iter().flat_map(ids).collect();
    let strange = run.output().iter().flat_map(ids).find(|id| !known.contains(id));
    Verdict::of(strange.is_none(), || {
        format!("the id `{}` is not of the input", strange.unwrap_or_default())
    })
}

fn ids(message: &Value) -> Vec<&str> {
    let own = message["id"].as_str();
    own.into_iter().chain(wire::calls(message)).chain(wire::results(message)).collect()
}

fn dialogue(list: &[Value]) -> impl Iterator<Item = &Value> {
    list.iter().filter(|message| !matches!(role(message), "system" | "developer"))
}

pub(crate) fn first_non_system_role(args: &Value, run: &Run) -> Verdict {
    let first = dialogue(run.output()).next().map(role).unwrap_or_default();
    let wanted = args["role"].as_str().unwrap_or_default();
    Verdict::of(first == wanted, || format!("it is `{first}`, not `{wanted}`"))
}

pub(crate) fn first_message_has_no_tool_result(_: &Value, run: &Run) -> Verdict {
    let holds = dialogue(run.output()).next().is_some_and(|first| !wire::has_result(first));
    Verdict::of(holds, || "the first message holds a result, or there is none".into())
}

pub(crate) fn role_count(args: &Value, run: &Run) -> Verdict {
    let wanted = args["role"].as_str().unwrap_or_default();
    let count = run.output().iter().filter(|message| role(message) == wanted).count() as u64;
    let least = args["min"].as_u64().unwrap_or(0);
    let most = args["max"].as_u64().unwrap_or(u64::MAX);
    let exact = args["value"].as_u64().is_none_or(|value| value == count);
    Verdict::of(exact && (least..=most).contains(&count), || format!("{count} are `{wanted}`"))
}

pub(crate) fn no_adjacent_roles(args: &Value, run: &Run) -> Verdict {
    let wanted = args["role"].as_str();
    let twins = run.output().windows(2).position(|pair| {
        role(&pair[0]) == role(&pair[1]) && wanted.is_none_or(|wanted| role(&pair[0]) == wanted)
    });
    Verdict::of(twins.is_none(), || format!("messages {} and the next", twins.unwrap_or_default()))
}

pub(crate) fn alternation_ignoring_tool_flow(_: &Value, run: &Run) -> Verdict {
    let spoken = dialogue(run.output())
        .filter(|message| !wire::is_results_only(message) && wire::calls(message).is_empty());
    let roles: Vec<&str> = spoken.map(role).collect();
    let twins = roles.windows(2).find(|pair| pair[0] == pair[1]);
    Verdict::of(twins.is_none(), || format!("two `{}` in a row", roles.first().unwrap_or(&"")))
}

/// An index of the input, counted from the end if negative.
fn at(list: &[Value], index: i64) -> Option<&Value> {
    let index = if index < 0 { list.len() as i64 + index } else { index };
    list.get(usize::try_from(index).ok()?)
}

pub(crate) fn message_kept_unchanged(args: &Value, run: &Run) -> Verdict {
    let indices = match &args["index"] {
        Value::Array(indices) => indices.iter().filter_map(Value::as_i64).collect(),
        index => vec![index.as_i64().unwrap_or(0)],
    };
    let output: Vec<String> = run.output().iter().map(json).collect();
    Verdict::all(indices.into_iter().map(|index| match at(&run.fed, index).map(json) {
        Some(message) => Verdict::of(output.contains(&message), || {
            format!("message {index} is not in the output as it was")
        }),
        None => Verdict::Fail(format!("the input has no message {index}")),
    }))
}

pub(crate) fn last_message_unchanged(_: &Value, run: &Run) -> Verdict {
    let last = |list: &[Value]| list.last().map(json);
    Verdict::of(last(run.output()) == last(&run.fed), || "the last message is another".into())
}

pub(crate) fn messages_suffix_unchanged(args: &Value, run: &Run) -> Verdict {
    let count = args["n"].as_u64().unwrap_or(0) as usize;
    let end = |list: &[Value]| -> Vec<String> {
        list[list.len().saturating_sub(count)..].iter().map(json).collect()
    };
    let (before, after) = (end(&run.fed), end(run.output()));
    let differs = before.iter().zip(&after).position(|(before, after)| before != after);
    Verdict::of(before == after, || {
        format!("of the last {count} messages, number {differs:?} is another, or some are missing")
    })
}

pub(crate) fn system_unchanged(_: &Value, run: &Run) -> Verdict {
    let first = run.passes.first().map(|pass| &pass.before_text);
    let before: Value = first.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let before = wire::instructions(&before, &run.fed);
    let after = wire::instructions(&run.last().body, run.output());
    let same = before.iter().map(json).eq(after.iter().map(json));
    Verdict::of(same, || "the instructions are not as they were".into())
}

pub(crate) fn usage_unchanged_if_output_identical(_: &Value, run: &Run) -> Verdict {
    let Some(first) = run.passes.first() else { return Verdict::Pass };
    if first.list != first.before {
        return Verdict::Pass;
    }
    let usage = |list: &[Value]| -> Vec<String> {
        list.iter().filter_map(|message| message.get("usage")).map(json).collect()
    };
    let body: Value = serde_json::from_str(&first.before_text).unwrap_or_default();
    let same = usage(&first.before) == usage(&first.list) && body["usage"] == first.body["usage"];
    Verdict::of(
        same && items(&body["messages"]).len() == items(&first.body["messages"]).len(),
        || "a run that changed nothing changed a usage record".into(),
    )
}
