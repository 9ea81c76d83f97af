//! What the summarizer was asked, and what became of its answers.

use std::collections::HashSet;

use brute_core::MarkKind;
use serde_json::json;

use super::{Table, count_of, marked};
use crate::support::run::{Request, Run, Verdict};
use crate::support::runner::Lab;
use crate::support::wire;

pub(crate) const TABLE: Table = &[
    ("020", "The words of the summary", |run, _| {
        Verdict::all([contains(run, "Goal: see the first user message"), contains(run, "four")])
    }),
    ("038", "Each failed run reports", failures_are_told),
    ("039", "No two requests", no_twins),
    ("045", "The oversized summary text", |run, _| {
        Verdict::of(!holds(run, &"word ".repeat(3000)), || "it is".into())
    }),
    ("047", "At most one summary", |run, _| {
        let count = count_of(run, &[MarkKind::Summary]);
        Verdict::of(count <= 1, || format!("there are {count}"))
    }),
    ("050", "The first reply is not used", |run, _| {
        let used = holds(run, "Goal: whole summary.");
        let told = run.has_status("degraded") || run.has_status("error:summariser");
        Verdict::all([
            Verdict::of(!holds(run, "half a sent"), || "the first reply is used".into()),
            Verdict::of(used || told, || format!("reported {:?}", run.last().statuses)),
        ])
    }),
    // A prompt is instructions and a text: there is no place in it for tools.
    ("051", "The request to the summariser offers no tools", |run, _| {
        Verdict::of(!run.requests.is_empty(), || "there was no request".into())
    }),
    ("051", "A reply with tool calls and no text", |run, _| {
        let first = run.report().contains("summarize failed");
        let used = holds(run, "Goal: fine.");
        Verdict::of(first || used, || format!("the report says: {}", run.report()))
    }),
    ("053", "The report names both models", both_models),
    ("088", "Over all summariser requests", |run, _| {
        let seen = |text: &str| run.requests.iter().any(|request| request.input.contains(text));
        Verdict::all(["PLAN:", "B is finished."].map(|text| {
            Verdict::of(seen(text) || holds(run, text), || format!("`{text}` was not seen"))
        }))
    }),
    ("141", "In the summariser request the history", fence_holds),
    ("141", "The instruction to summarise", instruction_stands_outside),
    ("141", "The summary message in the output", |run, _| {
        let summaries = marked(run).into_iter().filter(|(mark, _)| mark.kind == MarkKind::Summary);
        let texts: Vec<String> = summaries.map(|(_, text)| text).collect();
        let told = texts.iter().all(|text| text.contains("summary"));
        Verdict::of(!texts.is_empty() && told, || format!("the summaries are {texts:?}"))
    }),
];

fn holds(run: &Run, text: &str) -> bool {
    wire::texts(&run.last().body).iter().any(|other| other.contains(text))
}

fn contains(run: &Run, text: &str) -> Verdict {
    Verdict::of(holds(run, text), || format!("`{text}` is missing"))
}

fn failures_are_told(run: &Run, _: &Lab<'_>) -> Verdict {
    let mut asked = 0;
    Verdict::all(run.compactions().map(|pass| {
        let asks = pass.requests > asked;
        asked = pass.requests;
        if asks {
            Verdict::of(pass.report.contains("HTTP 400"), || {
                format!("a run that asked says: {}", pass.report)
            })
        } else {
            Verdict::of(pass.statuses.iter().any(|status| status == "backing_off"), || {
                format!("a run that did not ask reports {:?}", pass.statuses)
            })
        }
    }))
}

fn no_twins(run: &Run, _: &Lab<'_>) -> Verdict {
    let different: HashSet<String> = run.requests.iter().map(Request::text).collect();
    Verdict::of(different.len() == run.requests.len(), || {
        format!("{} requests, {} of them different", run.requests.len(), different.len())
    })
}

/// The cheaper rungs may do, and then no model is asked; so the summarizer is asked alone, too.
fn both_models(_: &Run, lab: &Lab<'_>) -> Verdict {
    match lab.with_settings(|settings| settings["ladder"] = json!(["summarize"])) {
        Ok(run) => {
            let report = run.report();
            let told = ["weak", "HTTP 500", "main", "did not answer"];
            Verdict::of(told.iter().all(|words| report.contains(words)), || {
                format!("the report says: {report}")
            })
        }
        Err(why) => Verdict::Fail(why),
    }
}

/// The last line before our closing words ends the record, and no line of the data is like it.
fn fence_holds(run: &Run, _: &Lab<'_>) -> Verdict {
    Verdict::all(run.requests.iter().map(|request| {
        let ends: Vec<&str> = request
            .input
            .lines()
            .filter(|line| line.starts_with("<<<end of") && line.ends_with(">>>"))
            .collect();
        let different: HashSet<&&str> = ends.iter().collect();
        let after = ends.last().and_then(|end| request.input.rsplit_once(*end));
        let data_inside = after.is_some_and(|(_, after)| !after.contains("</conversation>"));
        let code = ends.last().is_some_and(|end| end.chars().any(|c| c.is_ascii_digit()));
        Verdict::of(different.len() == ends.len() && data_inside && code, || {
            format!("the ends of the fences are {ends:?}")
        })
    }))
}

fn instruction_stands_outside(run: &Run, _: &Lab<'_>) -> Verdict {
    Verdict::all(run.requests.iter().map(|request| {
        let ours = !request.instructions.contains("PWNED");
        let last = request.input.trim_end().lines().last().unwrap_or_default().to_lowercase();
        Verdict::of(ours && last.contains("summary"), || format!("the last line is `{last}`"))
    }))
}
