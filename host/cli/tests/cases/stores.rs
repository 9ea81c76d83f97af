//! What a session on disk has to be.

use std::collections::HashMap;

use brute_core::{Conversation, MarkKind, Part};
use brute_host::session_log::{LogError, SessionLog};
use serde_json::json;

use super::Table;
use crate::support::run::{Run, Stored, Verdict};
use crate::support::runner::Lab;

pub(super) const TABLE: Table = &[
    ("124", "Every appended message is in the file", each_append_is_there_once),
    ("124", "Each line of the file is whole JSON", lines_are_whole),
    ("143", "Each of K1..K12 is in the summary", nothing_is_gone_unseen),
    ("145", "For each ladder count(load(save(output)))", counts_are_kept),
    ("145", "load(save(output)) is identical to output", what_is_loaded_is_what_was_saved),
    ("146", "After load 'OLD1' does not occur", a_summary_stands_for_what_it_replaced),
    ("146", "A file of an older or newer version", other_versions_are_refused),
];

fn each_append_is_there_once(run: &Run, _: &Lab<'_>) -> Verdict {
    let Stored { acknowledged, file, loaded, .. } = &run.stored;
    let lines = file.lines().filter(|line| line.contains(r#""record":"message""#));
    let mut times: HashMap<&str, usize> = HashMap::new();
    let texts = |line: &str| -> Option<String> {
        let line: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(line["parts"][0]["text"].as_str()?.to_owned())
    };
    let texts: Vec<String> = lines.filter_map(texts).collect();
    texts.iter().for_each(|text| *times.entry(text).or_default() += 1);
    let wrong = acknowledged.iter().find(|said| times.get(said.as_str()) != Some(&1));
    let now = words(loaded);
    let twice = acknowledged.iter().find(|said| now.matches(said.as_str()).count() > 1);
    Verdict::all([
        Verdict::of(!acknowledged.is_empty(), || "nothing was appended".into()),
        Verdict::of(wrong.is_none(), || format!("not there once: {wrong:?}")),
        Verdict::of(twice.is_none(), || format!("loaded twice: {twice:?}")),
    ])
}

fn lines_are_whole(run: &Run, _: &Lab<'_>) -> Verdict {
    Verdict::of(run.stored.broken.is_empty(), || run.stored.broken.join("\n"))
}

/// All that is said in a conversation.
fn words(conversation: &Conversation) -> String {
    let parts = conversation.messages().iter().flat_map(|message| message.parts());
    parts.flat_map(Part::texts).collect::<Vec<_>>().join("\n")
}

/// There is no limit on what is read of a store here, and nothing is ever taken out of the file.
fn nothing_is_gone_unseen(run: &Run, _: &Lab<'_>) -> Verdict {
    let Stored { loaded, file, .. } = &run.stored;
    let loaded = words(loaded);
    let verdicts = (1..=12).map(|number| {
        let name = format!("K{number} ");
        let is_asked = run.requests.iter().any(|request| request.text().contains(&name));
        let is_kept = loaded.contains(&name) || file.contains(&name);
        Verdict::of(is_kept || is_asked, || format!("{name}is gone"))
    });
    let is_compacted = run.passes.iter().any(|pass| pass.statuses != ["noop"]);
    Verdict::all(verdicts.chain([Verdict::of(is_compacted, || "nothing was compacted".into())]))
}

/// Not every rung gets there alone. One that does not has to say so.
fn counts_are_kept(run: &Run, lab: &Lab<'_>) -> Verdict {
    let count = |of: &Conversation| of.clone().measure(&*lab.counter);
    let Some((saved, logged)) = run.stored.saved.last() else {
        return Verdict::Fail("nothing was saved".into());
    };
    let [saved, logged, loaded] = [saved, logged, &run.stored.loaded].map(count);
    let target = run.setting("target").unwrap_or_default();
    Verdict::all([
        Verdict::of(saved == logged && saved == loaded, || format!("{saved} became {loaded}")),
        Verdict::of(loaded <= target || run.has_status("cannot_reach_target"), || {
            format!("{loaded} with a target of {target}")
        }),
    ])
}

fn what_is_loaded_is_what_was_saved(run: &Run, _: &Lab<'_>) -> Verdict {
    let Stored { saved, loaded, .. } = &run.stored;
    let is_same =
        |one: &Conversation, other: &Conversation| one == other && one.next_id() == other.next_id();
    let each = saved.iter().all(|(saved, logged)| is_same(saved, logged));
    let last = saved.last().is_some_and(|(saved, _)| is_same(saved, loaded));
    Verdict::of(each && last, || format!("{saved:?}\nbecame\n{loaded:?}"))
}

/// The places of summaries.
fn summaries(of: &Conversation) -> Vec<usize> {
    let kinds = of.messages().iter().map(|message| message.mark().map(|mark| mark.kind));
    let places = kinds.enumerate().filter(|(_, kind)| *kind == Some(MarkKind::Summary));
    places.map(|(place, _)| place).collect()
}

/// The ladder of the case ends above its summarizer: so it is run with that alone as well. A stretch is summarized
/// before summaries are combined, so that there is one after the first compaction, and maybe another later.
fn a_summary_stands_for_what_it_replaced(run: &Run, lab: &Lab<'_>) -> Verdict {
    let alone = match lab.with_settings(|settings| settings["ladder"] = json!(["summarize"])) {
        Ok(alone) => alone,
        Err(why) => return Verdict::Fail(why),
    };
    let first = alone.stored.saved.first().map(|(_, logged)| summaries(logged).len());
    let of_one = |run: &Run| {
        let Stored { saved, loaded, .. } = &run.stored;
        let before = saved.last().map(|(saved, _)| summaries(saved));
        let there = words(loaded);
        Verdict::all([
            Verdict::of(!there.contains("OLD1"), || "OLD1 is there again".into()),
            Verdict::of(before.as_ref() == Some(&summaries(loaded)), || format!("{before:?}")),
            what_is_loaded_is_what_was_saved(run, lab),
        ])
    };
    let has_one = Verdict::of(first == Some(1), || format!("{first:?} summaries at first"));
    Verdict::all([of_one(run), of_one(&alone), has_one])
}

fn other_versions_are_refused(run: &Run, _: &Lab<'_>) -> Verdict {
    let refusal = |text: String| {
        let file = tempfile::NamedTempFile::new().expect("there is a folder for such files");
        std::fs::write(file.path(), text).expect("it can be written");
        SessionLog::open(file.path()).err()
    };
    let (header, rest) = run.stored.file.split_once('\n').unwrap_or_default();
    let mut verdicts = Vec::new();
    for version in [0, 2, 99] {
        let header = header.replace("\"version\":1", &format!("\"version\":{version}"));
        let error = refusal(format!("{header}\n{rest}")).map(|error| error.to_string());
        let is_named =
            error.as_ref().is_some_and(|words| words.contains(&format!("version {version}")));
        verdicts.push(Verdict::of(is_named, || format!("{error:?}")));
    }
    for line in [r#"{"record":"boundary","at":3}"#, r#"{"type":"message"}"#] {
        let error = refusal(format!("{header}\n{line}\n{rest}"));
        let is_said = matches!(error, Some(LogError::Line { line: 2, .. }));
        verdicts.push(Verdict::of(is_said, || format!("{error:?}")));
    }
    Verdict::all(verdicts)
}
