//! The checks that a case can name.

mod cuts;
mod lists;
mod pairs;
mod sizes;
mod texts;

use serde_json::Value;

use super::run::{Run, Verdict};
use super::wire::items;

pub(crate) use sizes::blockers;

/// A check, with what the case says about it.
type Check = fn(&Value, &Run) -> Verdict;

/// Looks a check up by the name that cases use.
fn named(name: &str) -> Option<Check> {
    Some(match name {
        "valid_message_list" => lists::valid_message_list,
        "identity" => lists::identity,
        "order_preserved" => lists::order_preserved,
        "unknown_fields_kept" => lists::unknown_fields_kept,
        "ids_unchanged" | "item_ids_unchanged" => lists::ids_unchanged,
        "first_non_system_role" => lists::first_non_system_role,
        "first_message_has_no_tool_result" => lists::first_message_has_no_tool_result,
        "role_count" => lists::role_count,
        "no_adjacent_roles" => lists::no_adjacent_roles,
        "alternation_ignoring_tool_flow" => lists::alternation_ignoring_tool_flow,
        "message_kept_unchanged" => lists::message_kept_unchanged,
        "last_message_unchanged" => lists::last_message_unchanged,
        "messages_suffix_unchanged" => lists::messages_suffix_unchanged,
        "system_unchanged" => lists::system_unchanged,
        "no_orphan_results" => pairs::no_orphan_results,
        "pair_kept" => pairs::pair_kept,
        "pair_kept_or_both_gone" => pairs::pair_kept_or_both_gone,
        "batch_all_or_nothing" => pairs::batch_all_or_nothing,
        "call_ids_subset_of_input" => pairs::call_ids_subset_of_input,
        "item_kept" => pairs::item_kept,
        "kept_blocks_unchanged" | "blocks_subset_of_input" => pairs::blocks_subset_of_input,
        "kept_blocks_keep_fields" => pairs::kept_blocks_keep_fields,
        "kept_parts_keep_fields" => pairs::kept_parts_keep_fields,
        "no_message_of_only" => pairs::no_message_of_only,
        "reasoning_and_follower_together" => pairs::reasoning_and_follower_together,
        "no_empty_tool_result" => pairs::no_empty_tool_result,
        "no_blank_text" => pairs::no_blank_text,
        "json_args_parse" => pairs::json_args_parse,
        "count_le" => sizes::count_le,
        "count_between" => sizes::count_between,
        "anchor_between" => sizes::anchor_between,
        "status_in" => sizes::status_in,
        "triggered" => |_, run| sizes::triggered(run, true),
        "not_triggered" => |_, run| sizes::triggered(run, false),
        "rung_used" => |args, run| sizes::rungs(args, run, true),
        "rung_not_used" => |args, run| sizes::rungs(args, run, false),
        "each_placeholder_count_le" => sizes::each_placeholder_count_le,
        "no_message_grows" => sizes::no_message_grows,
        "covered_or_kept" => texts::covered_or_kept,
        "summariser_calls" => sizes::summariser_calls,
        "summariser_request_valid" => texts::summariser_request_valid,
        "summariser_request_last_role" => texts::summariser_request_last_role,
        "summariser_request_count_le" => sizes::summariser_request_count_le,
        "idempotent" => sizes::idempotent,
        "usage_unchanged_if_output_identical" => lists::usage_unchanged_if_output_identical,
        "text_present" => texts::text_present,
        "contains" => texts::contains,
        "not_contains" => texts::not_contains,
        "text_count" => texts::text_count,
        "text_present_in_any" => texts::text_present_in_any,
        "truncated" => cuts::truncated,
        "total_lines_reported" => cuts::total_lines_reported,
        "shown_range" => cuts::shown_range,
        "body_lines_le" => cuts::body_lines_le,
        "body_bytes_le" => cuts::body_bytes_le,
        "body_is_prefix_of_input" => |_, run| cuts::body_is_part(run, cuts::Part::Prefix),
        "body_is_suffix_of_input" => |_, run| cuts::body_is_part(run, cuts::Part::Suffix),
        "whole_lines_only" => cuts::whole_lines_only,
        "valid_utf8" => cuts::valid_utf8,
        "json_round_trip" => texts::json_round_trip,
        "no_panic" => no_panic,
        "terminates_within_ms" => terminates_within_ms,
        "overflow_file_equals_input" => cuts::overflow_file_equals_input,
        "overflow_file_unchanged_text" => cuts::overflow_file_unchanged_text,
        "hint_path_exists" => cuts::hint_path_exists,
        "hint_path_under" => cuts::hint_path_under,
        _ => return None,
    })
}

/// Judges one entry of `expect`. Sentences are judged by `sentence`.
pub(crate) fn judge(entry: &Value, run: &Run, sentence: &dyn Fn(&str) -> Verdict) -> Verdict {
    if let Some(words) = entry["check"].as_str() {
        return sentence(words);
    }
    let Some(name) = entry["assert"].as_str() else {
        return Verdict::Skip("an expectation has neither `assert` nor `check`".into());
    };
    let together = |entries: &Value| {
        Verdict::all(items(entries).iter().map(|entry| judge(entry, run, sentence)))
    };
    match name {
        "any_of" => any_of(items(&entry["options"]).iter().map(together)),
        "if_output" if run.last().has_output => together(&entry["then"]),
        "if_output" => Verdict::Pass,
        name => match named(name) {
            Some(check) => match check(entry, run) {
                Verdict::Fail(why) => Verdict::Fail(format!("{name}: {why}")),
                other => other,
            },
            None => Verdict::Skip(format!("unknown assertion `{name}`")),
        },
    }
}

/// Holds if one option does. A sentence that nobody knows does not make an option fail.
fn any_of(options: impl Iterator<Item = Verdict>) -> Verdict {
    let mut failures = Vec::new();
    let mut other = None;
    for verdict in options {
        match verdict {
            Verdict::Pass => return Verdict::Pass,
            Verdict::Fail(why) => failures.push(why),
            verdict => other = Some(verdict),
        }
    }
    other.unwrap_or_else(|| Verdict::Fail(format!("none of these: {}", failures.join(" / "))))
}

fn no_panic(_: &Value, run: &Run) -> Verdict {
    Verdict::of(run.panic.is_none(), || run.panic.clone().unwrap_or_default())
}

fn terminates_within_ms(args: &Value, run: &Run) -> Verdict {
    let limit = u128::from(args["limit"].as_u64().unwrap_or(u64::MAX));
    let took = run.elapsed.as_millis();
    Verdict::of(took <= limit, || format!("it took {took} ms, {limit} are allowed"))
}
