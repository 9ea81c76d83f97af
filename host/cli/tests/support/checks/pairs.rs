//! Calls and their results, and blocks that must stay as they were.

use serde_json::Value;

use crate::support::run::{Run, Verdict};
use crate::support::wire::{self, items, json};

pub(crate) fn no_orphan_results(_: &Value, run: &Run) -> Verdict {
    let mut open: Vec<&str> = Vec::new();
    for message in run.output() {
        for id in wire::results(message) {
            match open.iter().rposition(|open| *open == id) {
                Some(at) => drop(open.remove(at)),
                None => {
                    return Verdict::Fail(format!("the result `{id}` answers no call before it"));
                }
            }
        }
        open.extend(wire::calls(message));
    }
    Verdict::Pass
}

/// How often the call and the result with this id occur.
fn pair(list: &[Value], id: &str) -> (usize, usize) {
    let count = |ids: fn(&Value) -> Vec<&str>| {
        list.iter().flat_map(ids).filter(|other| *other == id).count()
    };
    (count(wire::calls), count(wire::results))
}

fn ids(args: &Value) -> Vec<&str> {
    let many = items(&args["ids"]).iter().filter_map(Value::as_str);
    args["id"].as_str().into_iter().chain(many).collect()
}

pub(crate) fn pair_kept(args: &Value, run: &Run) -> Verdict {
    Verdict::all(ids(args).into_iter().map(|id| {
        let found = pair(run.output(), id);
        Verdict::of(found == (1, 1), || format!("`{id}`: {found:?} calls and results"))
    }))
}

pub(crate) fn pair_kept_or_both_gone(args: &Value, run: &Run) -> Verdict {
    Verdict::all(ids(args).into_iter().map(|id| {
        let (calls, results) = pair(run.output(), id);
        Verdict::of(calls == results, || format!("`{id}`: {calls} calls, {results} results"))
    }))
}

pub(crate) fn batch_all_or_nothing(args: &Value, run: &Run) -> Verdict {
    Verdict::all(items(&args["ids"]).iter().map(|batch| {
        let pairs: Vec<_> = items(batch)
            .iter()
            .filter_map(Value::as_str)
            .map(|id| pair(run.output(), id))
            .collect();
        let whole = pairs.iter().all(|found| *found == (1, 1));
        let gone = pairs.iter().all(|found| *found == (0, 0));
        Verdict::of(whole || gone, || format!("the batch {batch} is split: {pairs:?}"))
    }))
}

pub(crate) fn call_ids_subset_of_input(_: &Value, run: &Run) -> Verdict {
    let known: Vec<&str> = run.fed.iter().flat_map(wire::calls).collect();
    let strange = run.output().iter().flat_map(wire::calls).find(|id| !known.contains(id));
    Verdict::of(strange.is_none(), || format!("`{}` is new", strange.unwrap_or_default()))
}

pub(crate) fn item_kept(args: &Value, run: &Run) -> Verdict {
    let same = |item: &&Value| {
        let wanted = args.as_object().into_iter().flatten().filter(|(key, _)| *key != "assert");
        wanted.into_iter().all(|(key, value)| item[key] == *value)
    };
    let Some(before) = run.fed.iter().find(same) else {
        return Verdict::Fail("the input has no such item".into());
    };
    let kept = run.output().iter().any(|item| json(item) == json(before));
    Verdict::of(kept, || "the item is gone or changed".into())
}

fn types(args: &Value) -> Vec<&str> {
    items(&args["types"]).iter().filter_map(Value::as_str).collect()
}

pub(crate) fn blocks_subset_of_input(args: &Value, run: &Run) -> Verdict {
    let types = types(args);
    let known: Vec<String> =
        run.fed.iter().flat_map(|message| wire::blocks(message, &types)).map(json).collect();
    let mut output =
        run.output().iter().flat_map(|message| wire::blocks(message, &types)).map(json);
    let strange = output.find(|block| !known.contains(block));
    Verdict::of(strange.is_none(), || {
        let block = strange.unwrap_or_default();
        format!("a block is not of the input: {}", block.chars().take(80).collect::<String>())
    })
}

fn fields(args: &Value) -> Vec<&str> {
    items(&args["fields"]).iter().filter_map(Value::as_str).collect()
}

/// Every block that carries one of the fields in the kept messages still does.
fn keep_fields(args: &Value, run: &Run, key: &str) -> Verdict {
    let (fields, types) = (fields(args), types(args));
    let of_type = |block: &&Value| {
        types.is_empty() || block["type"].as_str().is_some_and(|kind| types.contains(&kind))
    };
    let kept = run.output().iter().filter_map(|message| {
        wire::original(&run.fed, message).map(|original| (original, message))
    });
    for (before, after) in kept {
        for (index, block) in items(&before[key]).iter().filter(of_type).enumerate() {
            let Some(now) = items(&after[key]).iter().filter(of_type).nth(index) else { continue };
            for field in &fields {
                if block.get(*field) != now.get(*field) {
                    return Verdict::Fail(format!("`{field}` is lost or changed"));
                }
            }
        }
    }
    Verdict::Pass
}

pub(crate) fn kept_blocks_keep_fields(args: &Value, run: &Run) -> Verdict {
    keep_fields(args, run, "content")
}

pub(crate) fn kept_parts_keep_fields(args: &Value, run: &Run) -> Verdict {
    keep_fields(args, run, "parts")
}

pub(crate) fn no_message_of_only(args: &Value, run: &Run) -> Verdict {
    let types = types(args);
    let only = run.output().iter().position(|message| {
        let all = items(&message["content"]);
        !all.is_empty() && all.len() == wire::blocks(message, &types).len()
    });
    Verdict::of(only.is_none(), || format!("message {} is", only.unwrap_or_default()))
}

pub(crate) fn reasoning_and_follower_together(_: &Value, run: &Run) -> Verdict {
    let follower = |list: &[Value], index: usize| -> Option<String> {
        list[index + 1..].iter().find(|item| item["type"] != "reasoning").map(json)
    };
    for (index, item) in run.fed.iter().enumerate().filter(|(_, item)| item["type"] == "reasoning")
    {
        let wanted = follower(&run.fed, index);
        let now = run.output().iter().position(|other| json(other) == json(item));
        let kept = wanted
            .as_ref()
            .is_some_and(|wanted| run.output().iter().any(|other| json(other) == *wanted));
        let together = match now {
            Some(now) => follower(run.output(), now) == wanted,
            None => !kept,
        };
        if !together {
            return Verdict::Fail(format!("`{}` and what follows it were parted", item["id"]));
        }
    }
    Verdict::Pass
}

pub(crate) fn no_empty_tool_result(args: &Value, run: &Run) -> Verdict {
    let mut wanted = ids(args);
    if wanted.is_empty() {
        wanted = run.output().iter().flat_map(wire::results).collect();
    }
    Verdict::all(wanted.into_iter().map(|id| match wire::result(run.output(), id) {
        Some(content) => {
            let empty = match content {
                Value::Array(blocks) => blocks.is_empty(),
                Value::String(text) => text.is_empty(),
                _ => true,
            };
            Verdict::of(!empty, || format!("the result `{id}` is empty"))
        }
        None => Verdict::Pass,
    }))
}

pub(crate) fn no_blank_text(_: &Value, run: &Run) -> Verdict {
    let is_blank = |message: &&Value| {
        message["content"].as_str().is_some_and(|text| text.trim().is_empty())
            || wire::blocks(message, &["text"])
                .iter()
                .any(|block| block["text"].as_str().is_none_or(|text| text.trim().is_empty()))
    };
    let blank = run.output().iter().position(|message| is_blank(&message));
    Verdict::of(blank.is_none(), || format!("message {} has one", blank.unwrap_or_default()))
}

pub(crate) fn json_args_parse(_: &Value, run: &Run) -> Verdict {
    let calls = run.output().iter().flat_map(|message| items(&message["tool_calls"]));
    let own = calls.map(|call| &call["function"]["arguments"]);
    let all = own.chain(run.output().iter().filter_map(|item| item.get("arguments")));
    let mut texts = all.filter_map(Value::as_str);
    let broken = texts.find(|text| serde_json::from_str::<Value>(text).is_err());
    Verdict::of(broken.is_none(), || {
        format!("not JSON: {}", broken.unwrap_or_default().chars().take(80).collect::<String>())
    })
}
