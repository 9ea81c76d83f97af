//! What of a list stays, and what goes.

use brute_core::{Mark, MarkKind};
use serde_json::{Value, json};

use super::{Table, count_of, marked, result_json, result_words};
use crate::support::run::{Run, Verdict};
use crate::support::runner::Lab;
use crate::support::validate::violations;
use crate::support::wire::{self, items, role};

pub(crate) const TABLE: Table = &[
    ("010", "Appending function_call_output for k1", a_late_answer_finds_its_call),
    ("014", "All ten result ids", ten_answers),
    ("014", "A status of success", success_is_true),
    ("023", "A kept assistant message", thinking_is_whole),
    ("029", "No image block is left", images_are_told),
    ("030", "The content of result g1", |run, _| not_empty(run, "g1")),
    ("038", "The input messages are never lost", nothing_is_lost),
    ("041", "The result of 'small'", |run, _| result_is_unchanged(run, "small")),
    ("048", "With ladder ['summarize'] only", |run, lab| alone_is_identical(run, lab)),
    ("048", "With the full ladder", cheaper_rungs_do),
    ("054", "After the last run at most one", one_note_and_no_nesting),
    ("083", "System and developer messages come first", instructions_first),
    ("089", "With never_prune_tools", named_tools_are_kept),
    ("089", "A result shorter than its placeholder", no_longer_placeholder),
    ("092", "The completed result 'done'", |run, _| {
        let words = result_words(run, "todo:1");
        Verdict::of(words == "done", || format!("it is `{words}`"))
    }),
    ("094", "With 'still_open' naming lr1", open_calls_stay),
    ("101", "If the user text is shortened", user_text_is_whole),
    ("102", "If the call w1 is kept", arguments_keep_their_form),
    ("104", "With ladder ['tool_results'] alone", results_alone_do_not_do),
    ("126", "The result is refused", |run, _| {
        Verdict::of(
            run.last().statuses.iter().any(|status| status == "error:history_changed"),
            || format!("reported {:?}", run.last().statuses),
        )
    }),
    ("138", "Over the 20 added steps", few_changes),
    ("140", "The serialised output", |run, _| {
        Verdict::of(run.last().text == run.last().before_text, || "bytes differ".into())
    }),
    ("150", "No text block is made", no_text_from_results),
    ("151", "The result keep1", |run, _| result_is_unchanged(run, "keep1")),
];

fn a_late_answer_finds_its_call(run: &Run, _: &Lab<'_>) -> Verdict {
    let calls = run.output().iter().flat_map(wire::calls);
    let count = calls.filter(|id| *id == "k1").count();
    Verdict::of(count == 1, || format!("there are {count} calls `k1`"))
}

fn open_calls_stay(run: &Run, lab: &Lab<'_>) -> Verdict {
    let count = |run: &Run| {
        let of = |ids: fn(&Value) -> Vec<&str>| {
            run.output().iter().flat_map(ids).filter(|id| *id == "lr1").count()
        };
        (of(wire::calls), of(wire::results))
    };
    let mut input = lab.variant.input.clone();
    if let Some(input) = input.as_object_mut() {
        input.shift_remove("still_open");
    }
    let told = Verdict::of(count(run) == (1, 1), || format!("there are {:?}", count(run)));
    match lab.rerun(&input, &lab.variant.settings) {
        Ok(other) => told.and(Verdict::of(matches!(count(&other), (0, 0) | (1, 1)), || {
            format!("without being told, {:?}", count(&other))
        })),
        Err(why) => Verdict::Fail(why),
    }
}

fn ten_answers(run: &Run, _: &Lab<'_>) -> Verdict {
    let ids: Vec<&str> = run.output().iter().flat_map(wire::results).collect();
    let wanted: Vec<String> = (0..10).map(|number| format!("r{number}")).collect();
    let each = wanted.iter().all(|id| ids.iter().filter(|other| *other == id).count() == 1);
    Verdict::of(each, || format!("answered are {ids:?}"))
}

fn success_is_true(run: &Run, _: &Lab<'_>) -> Verdict {
    let target = run.setting("target").unwrap_or(u64::MAX);
    let over = run.last().tokens > target;
    let told = run.has_status("cannot_reach_target");
    Verdict::of(over == told, || {
        format!(
            "{} tokens with target {target}, reported {:?}",
            run.last().tokens,
            run.last().statuses
        )
    })
}

fn thinking_is_whole(run: &Run, _: &Lab<'_>) -> Verdict {
    let types = ["thinking", "redacted_thinking"];
    let thoughts = |message: &Value| -> Vec<String> {
        wire::blocks(message, &types).into_iter().map(wire::json).collect()
    };
    let assistants: Vec<&Value> =
        run.output().iter().filter(|message| role(message) == "assistant").collect();
    Verdict::all(assistants.iter().enumerate().map(|(index, message)| {
        let Some(before) = wire::original(&run.fed, message) else { return Verdict::Pass };
        let (now, then) = (thoughts(message), thoughts(before));
        let first =
            items(&message["content"]).iter().take(now.len()).map(wire::json).eq(now.clone());
        let none = now.is_empty() && index + 1 < assistants.len();
        Verdict::of((now == then && first) || none, || format!("{then:?} became {now:?}"))
    }))
}

fn images_are_told(run: &Run, _: &Lab<'_>) -> Verdict {
    Verdict::all((1..=6).map(|number| {
        let id = format!("b{number}");
        let content = wire::result(run.output(), &id).cloned().unwrap_or_default();
        let images = items(&content).iter().filter(|block| block["type"] == "image").count();
        let words = result_words(run, &id).to_lowercase();
        let told = words.contains("image") || words.contains("media");
        Verdict::of(images == 0 && told && words.len() < 600, || {
            format!("`{id}` has {images} images and says `{words}`")
        })
    }))
}

fn not_empty(run: &Run, id: &str) -> Verdict {
    let (before, after) = (result_json(&run.fed, id), result_json(run.output(), id));
    let words = result_words(run, id);
    Verdict::of(after == before || !words.trim().is_empty(), || format!("it is {after:?}"))
}

fn nothing_is_lost(run: &Run, _: &Lab<'_>) -> Verdict {
    Verdict::of(run.output() == run.fed.as_slice(), || "some messages are gone or changed".into())
}

fn result_is_unchanged(run: &Run, id: &str) -> Verdict {
    let (before, after) = (result_json(&run.fed, id), result_json(run.output(), id));
    Verdict::of(after == before, || format!("it is {after:?}"))
}

fn alone_is_identical(run: &Run, _: &Lab<'_>) -> Verdict {
    Verdict::of(run.last().text == run.last().before_text, || "the output is another".into())
}

fn cheaper_rungs_do(_: &Run, lab: &Lab<'_>) -> Verdict {
    let full = json!(["tool_results", "sliding_window", "summarize"]);
    let without = |settings: &mut Value| settings["ladder"] = full;
    match lab.with_settings(without) {
        Ok(run) => {
            let found = violations(&run.format, run.output());
            let told = run.has_status("error:summariser") || run.has_status("degraded");
            Verdict::all([
                Verdict::of(found.is_empty(), || found.join("; ")),
                Verdict::of(!run.last().rungs.is_empty(), || "no rung gave anything".into()),
                Verdict::of(told, || format!("reported {:?}", run.last().statuses)),
            ])
        }
        Err(why) => Verdict::Fail(why),
    }
}

fn one_note_and_no_nesting(run: &Run, _: &Lab<'_>) -> Verdict {
    let count = count_of(run, &[MarkKind::Note, MarkKind::Summary]);
    let nested = marked(run).iter().any(|(_, text)| text.matches("[brute:").count() > 1);
    Verdict::all([
        Verdict::of(count <= 1, || format!("there are {count}")),
        Verdict::of(!nested, || "a mark stands inside another text with a mark".into()),
    ])
}

fn instructions_first(run: &Run, _: &Lab<'_>) -> Verdict {
    let roles: Vec<&str> = run.output().iter().map(role).collect();
    let count = roles.iter().filter(|role| matches!(**role, "system" | "developer")).count();
    Verdict::of(roles.starts_with(&["system", "developer"]) && count == 2, || {
        format!("the roles are {roles:?}")
    })
}

fn named_tools_are_kept(run: &Run, lab: &Lab<'_>) -> Verdict {
    let alone = |name: &str| {
        let name = name.to_owned();
        lab.with_settings(move |settings| settings["ladder"] = json!([name]))
    };
    let rungs = ["tool_results", "sliding_window", "summarize"].into_iter().map(alone);
    Verdict::all(rungs.map(|other| match other {
        Ok(other) => result_is_unchanged(&other, "ask1"),
        Err(why) => Verdict::Fail(why),
    }))
    .and(result_is_unchanged(run, "ask1"))
}

impl Verdict {
    fn and(self, other: Self) -> Self {
        Self::all([self, other])
    }
}

fn no_longer_placeholder(run: &Run, _: &Lab<'_>) -> Verdict {
    let ids = run.output().iter().flat_map(wire::results);
    Verdict::all(ids.map(|id| {
        let length = |list: &[Value]| result_json(list, id).map_or(0, |content| content.len());
        let (before, after) = (length(&run.fed), length(run.output()));
        Verdict::of(after <= before, || format!("`{id}` went from {before} to {after} bytes"))
    }))
}

/// The task is never given up, so nothing of it is missing.
fn user_text_is_whole(run: &Run, _: &Lab<'_>) -> Verdict {
    let whole = wire::texts(&run.last().body).iter().any(|text| text.contains("END-TASK"));
    let told = marked(run).iter().any(|(mark, _)| mark.kind == MarkKind::Cleared);
    Verdict::of(whole || told, || "the text is shortened without a mark".into())
}

fn arguments_keep_their_form(run: &Run, _: &Lab<'_>) -> Verdict {
    let calls = run.output().iter().flat_map(|message| items(&message["tool_calls"]));
    let Some(call) = calls.into_iter().find(|call| call["id"] == "w1") else {
        return Verdict::Pass;
    };
    let text = call["function"]["arguments"].as_str().unwrap_or_default();
    let now: Value = serde_json::from_str(text).unwrap_or_default();
    let content = now["content"].as_str().unwrap_or_default();
    let whole = content.len() == "word ".len() * 3000;
    Verdict::all([
        Verdict::of(now["path"] == "guide.md" && now["mode"] == 420, || format!("{now}")),
        Verdict::of(now["tags"] == json!(["a", "b"]), || format!("the tags are {}", now["tags"])),
        Verdict::of(whole || content.chars().any(|c| c.is_ascii_digit()), || {
            format!("the content is `{content}`, without a number")
        }),
    ])
}

fn results_alone_do_not_do(_: &Run, lab: &Lab<'_>) -> Verdict {
    match lab.with_settings(|settings| settings["ladder"] = json!(["tool_results"])) {
        Ok(run) => Verdict::of(run.has_status("cannot_reach_target"), || {
            format!("reported {:?}", run.last().statuses)
        }),
        Err(why) => Verdict::Fail(why),
    }
}

fn few_changes(run: &Run, _: &Lab<'_>) -> Verdict {
    let changed = run.compactions().filter(|pass| pass.text != pass.before_text).count();
    Verdict::of(changed <= 4, || format!("it changes {changed} times"))
}

fn no_text_from_results(run: &Run, _: &Lab<'_>) -> Verdict {
    let said = |list: &[Value]| -> Vec<String> {
        let mut said = Vec::new();
        for message in list {
            said.extend(message["content"].as_str().map(str::to_owned));
            let texts = wire::blocks(message, &["text"]);
            said.extend(texts.iter().filter_map(|block| block["text"].as_str()).map(str::to_owned));
        }
        said
    };
    let known = said(&run.fed);
    let strange = said(run.output())
        .into_iter()
        .find(|text| !known.contains(text) && Mark::read(text).is_none());
    Verdict::of(strange.is_none(), || format!("this is new: {}", strange.unwrap_or_default()))
}
