//! Sizes, triggers, and what the tool says about a run.

use std::time::Duration;

use brute_host::tokens::{CounterKind, counter};
use serde_json::{Value, json};

use super::{Table, result_words};
use crate::support::checks::blockers;
use crate::support::counting::measured;
use crate::support::run::{Run, Verdict};
use crate::support::runner::Lab;
use crate::support::settings::room;
use crate::support::wire;

pub(crate) const TABLE: Table = &[
    ("008", "If repaired, the report names t_dead", |run, _| {
        told_if_repaired(run, "t_dead", &["removed", "added"])
    }),
    ("027", "Counting takes less than 200 ms", counting_is_quick),
    ("033", "An error names the message index", surrogate_is_told),
    ("035", "The report gives the smallest count", |run, _| {
        let refused = run.has_status("error:invalid_config");
        let size = format!("after {}", run.last().tokens);
        Verdict::of(refused || run.report().contains(&size), || run.report())
    }),
    ("037", "The report says that the system prompt", |run, _| {
        let target = run.setting("target").unwrap_or(0);
        let named = blockers(run)
            .iter()
            .any(|(kind, _, tokens)| kind == "the instructions" && *tokens > target);
        Verdict::of(named, || run.report())
    }),
    ("039", "The report does not speak of tool results", |run, _| {
        let report = run.report().to_lowercase();
        Verdict::of(!report.contains("tool"), || report)
    }),
    ("044", "The output is at least 900 tokens smaller", smaller_or_told),
    ("060", "The tool's count of the 440-character", cjk_is_counted),
    ("060", "Counted with a real BPE", cjk_fits),
    ("062", "Each count is between 1", |run, _| {
        Verdict::all(run.counts.iter().map(|count| {
            Verdict::of((1..=count.bytes as u64).contains(&count.tokens), || format!("{count:?}"))
        }))
    }),
    ("063", "Counting 200000 letters", not_quadratic),
    ("063", "If long pieces are split", ordinary_text_is_exact),
    ("065", "Both check_trigger steps", |run, _| {
        let answers: Vec<Option<bool>> = triggers(run);
        Verdict::of(answers == [Some(false), Some(false)], || format!("{answers:?}"))
    }),
    ("067", "A usage of zero", no_usage_is_no_usage),
    ("068", "The estimate used is at least", estimate_is_no_less_than_the_count),
    ("076", "window 16384", small_window),
    ("076", "window 0 or absent", |run, _| match run.settings["window"].as_u64() {
        Some(0) | None => Verdict::of(
            run.has_status("error:invalid_config") || run.has_status("error:window_unknown"),
            || format!("reported {:?}", run.last().statuses),
        ),
        Some(_) => Verdict::Pass,
    }),
    ("076", "No subtraction goes below zero", |run, _| {
        let numbers: Vec<u64> = run
            .report()
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
            .collect();
        let huge = numbers.iter().find(|number| **number > 1 << 31);
        Verdict::of(huge.is_none(), || format!("{huge:?} stands in the report"))
    }),
    ("078", "count(output) <= 0.75", |run, _| {
        let (before, after) = (run.last().tokens_before, run.last().tokens);
        Verdict::of(after * 4 <= before * 3, || format!("{before} became {after}"))
    }),
    ("079", "check_trigger: no for big", |run, _| {
        let answers = triggers(run);
        let unknown = run.last().statuses.iter().any(|status| status == "error:window_unknown");
        Verdict::of(answers == [Some(false), Some(true), None] && unknown, || {
            format!("{answers:?}, {:?}: {}", run.last().statuses, run.last().report)
        })
    }),
    ("079", "After compact with 'mine'", |run, _| {
        let size = run.compactions().last().map_or(u64::MAX, |pass| pass.tokens);
        Verdict::of(size <= 1200, || format!("{size} tokens"))
    }),
    ("080", "Removing the tool list", tools_are_counted),
    ("098", "the result 'big' is cut", |run, _| {
        let words = result_words(run, "big");
        let sized = words.contains("[brute:") && words.chars().any(|c| c.is_ascii_digit());
        Verdict::of(sized, || words.chars().take(80).collect())
    }),
    ("098", "the report names message 3", |run, _| {
        let named = blockers(run).iter().any(|(_, messages, _)| messages.contains(&3));
        Verdict::of(named, || format!("{:?}", blockers(run)))
    }),
];

fn estimate_is_no_less_than_the_count(run: &Run, lab: &Lab<'_>) -> Verdict {
    let mut input = lab.variant.input.clone();
    let reported = input["usage"]["input_tokens"].as_u64().unwrap_or(0);
    if let Some(input) = input.as_object_mut() {
        input.shift_remove("usage");
    }
    let size = |run: &Run| run.passes.first().map_or(0, |pass| pass.tokens_before);
    match lab.rerun(&input, &lab.variant.settings) {
        Ok(counted) => {
            let (estimate, counted) = (size(run), size(&counted));
            let is_larger = counted * 3 > reported * 4;
            Verdict::of(!is_larger || estimate >= counted, || format!("{estimate}, not {counted}"))
        }
        Err(why) => Verdict::Fail(why),
    }
}

fn triggers(run: &Run) -> Vec<Option<bool>> {
    let checks = run.passes.iter().filter(|pass| pass.step == "check_trigger");
    checks.map(|pass| pass.triggered).collect()
}

fn told_if_repaired(run: &Run, id: &str, words: &[&str]) -> Verdict {
    if !run.has_status("repaired") {
        return Verdict::Pass;
    }
    let report = run.report();
    let told = report.contains(id) && words.iter().any(|word| report.contains(word));
    Verdict::of(told, || format!("the report says: {report}"))
}

fn counting_is_quick(run: &Run, _: &Lab<'_>) -> Verdict {
    // Reading is in it, and this may be a build that is not optimized.
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 2_000 } else { 200 });
    Verdict::of(run.elapsed <= limit, || format!("the run took {:?}", run.elapsed))
}

fn surrogate_is_told(run: &Run, _: &Lab<'_>) -> Verdict {
    let report = run.report();
    if run.has_status("repaired") {
        let mended = run.last().text.contains('\u{fffd}') || run.last().text.contains("\\ufffd");
        return Verdict::of(mended && !report.is_empty(), || format!("the report says: {report}"));
    }
    if run.last().has_output {
        return Verdict::Pass;
    }
    Verdict::of(report.contains("message 2"), || format!("the error says: {report}"))
}

fn smaller_or_told(run: &Run, _: &Lab<'_>) -> Verdict {
    let (before, after) = (run.last().tokens_before, run.last().tokens);
    let fixed = blockers(run)
        .iter()
        .any(|(kind, _, _)| kind == "the instructions" || kind == "tool schemas and framing");
    let told = run.has_status("cannot_reach_target") && fixed;
    Verdict::of(after + 900 <= before || told, || format!("{before} became {after}"))
}

/// The rule of thumb prices all scripts alike, and says so; what counts by default does not.
fn is_rule_of_thumb(lab: &Lab<'_>) -> bool {
    lab.counter.id() == CounterKind::Approximate.name()
}

fn cjk_is_counted(_: &Run, lab: &Lab<'_>) -> Verdict {
    let tokens = lab.counter.count(&"東京の天気は晴れです。".repeat(40));
    Verdict::of(tokens >= 200 || is_rule_of_thumb(lab), || format!("{tokens} tokens"))
}

fn cjk_fits(run: &Run, lab: &Lab<'_>) -> Verdict {
    let bpe = counter(CounterKind::O200k);
    let words: Vec<String> = run.output().iter().map(wire::words).collect();
    let tokens: u64 = words.iter().map(|words| u64::from(bpe.count(words))).sum();
    let target = run.setting("target").unwrap_or(0);
    Verdict::of(tokens * 10 <= target * 13 || is_rule_of_thumb(lab), || format!("{tokens} tokens"))
}

fn not_quadratic(_: &Run, lab: &Lab<'_>) -> Verdict {
    // The best of three: other programs run, too.
    let best = |letters: usize| {
        let text = "a".repeat(letters);
        (0..3).map(|_| measured(&text, &*lab.counter).elapsed).min().unwrap_or_default()
    };
    let (half, whole) = (best(100_000), best(200_000));
    Verdict::of(whole <= 3 * half + Duration::from_millis(20), || {
        format!("{half:?} for one half, {whole:?} for both")
    })
}

fn ordinary_text_is_exact(_: &Run, lab: &Lab<'_>) -> Verdict {
    let paragraph = "The parser reads one line at a time, and it never looks back; what it has \
                     seen is on the stack. If a line does not end, it stops and says where.\n";
    let one = u64::from(lab.counter.count(&paragraph.repeat(10))) * 50;
    let all = u64::from(lab.counter.count(&paragraph.repeat(500)));
    Verdict::of(one.abs_diff(all) * 100 <= all, || format!("{one} in pieces, {all} at once"))
}

fn no_usage_is_no_usage(run: &Run, lab: &Lab<'_>) -> Verdict {
    let size = |usage: Value| {
        let mut input = lab.variant.input.clone();
        input["usage"] = usage;
        lab.rerun(&input, &lab.variant.settings).map(|run| {
            let first = run.passes.first().cloned().unwrap_or_default();
            (first.tokens_before, first.triggered)
        })
    };
    let own = run.passes.first().map(|pass| (pass.tokens_before, pass.triggered));
    let others = [
        json!({"prompt_tokens": 0, "completion_tokens": 0, "at_message": -2}),
        json!({"completion_tokens": 0, "at_message": -2}),
        json!({"prompt_tokens": null, "completion_tokens": null, "at_message": -2}),
        Value::Null,
    ];
    Verdict::all(others.map(|usage| {
        let other = size(usage.clone()).ok();
        Verdict::of(other == own, || format!("{other:?} with {usage}, {own:?} with zeros"))
    }))
}

fn small_window(run: &Run, lab: &Lab<'_>) -> Verdict {
    if run.setting("window") != Some(16384) {
        return Verdict::Pass;
    }
    let usable =
        room(&run.settings, lab.kind, None).map_or(0, |(_, room)| room.budget.compact_at());
    Verdict::all([
        Verdict::of(run.has_status("noop"), || format!("reported {:?}", run.last().statuses)),
        Verdict::of(usable * 2 >= 16384, || format!("{usable} tokens are usable")),
    ])
}

fn tools_are_counted(run: &Run, lab: &Lab<'_>) -> Verdict {
    let mut input = lab.variant.input.clone();
    input.as_object_mut().map(|input| input.shift_remove("tools"));
    match lab.rerun(&input, &lab.variant.settings) {
        Ok(without) => {
            let size = |run: &Run| run.passes.first().map_or(0, |pass| pass.tokens_before);
            let (with, without) = (size(run), size(&without));
            Verdict::of(with >= without + 3000, || format!("{with} with, {without} without"))
        }
        Err(why) => Verdict::Fail(why),
    }
}
