//! What `brute.toml` says, and what comes of it.

use brute_host::config::{Config, Origin, Source, Sources, load};
use brute_host::layers::Layers;
use serde_json::json;

use super::Table;
use crate::support::run::{Run, Verdict};
use crate::support::runner::Lab;
use crate::support::session::Session;
use crate::support::settings::config;
use crate::support::truncator;
use crate::support::wire::items;

pub(crate) const TABLE: Table = &[
    ("133", "For every key of the documented configuration", every_key_has_an_effect),
    ("133", "The same key in the file and on the command line", command_line_wins),
    ("135", "Unknown keys give an error", mistakes_are_told),
    ("135", "The last two variants", marks_and_line_ends_are_fine),
    ("136", "The window in force is 32768", stated_window_wins),
    // Layers get a window and report none.
    ("136", "A plugin that reports another window", stated_window_wins),
];

fn must(text: &str) -> Result<Config, Verdict> {
    config(text, true).map_err(|words| Verdict::Fail(format!("{text:?} is refused: {words}")))
}

/// The words of the cases for the keys that this tool has.
fn in_our_words(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let bare = line.trim_start_matches('\u{feff}');
        let mark = &line[..line.len() - bare.len()];
        let ours = match bare.split_once(" = ") {
            Some(("keep_steps", value)) => format!("keep-steps = {value}"),
            Some(("keep_step", value)) => format!("keep-step = {value}"),
            Some(("KEEP_STEPS", value)) => format!("KEEP-STEPS = {value}"),
            _ => bare.replace("[[plugin]]", "[[plugins]]"),
        };
        let first = !out.contains("[[ladder]]") && ours.to_lowercase().starts_with("keep-step");
        let header = if first && !text.contains("[comp") {
            "[[ladder]]\nlayer = \"sliding-window\"\n"
        } else {
            ""
        };
        out.push_str(mark);
        out.push_str(header);
        out.push_str(&ours);
    }
    out
}

fn mistakes_are_told(_: &Run, lab: &Lab<'_>) -> Verdict {
    let variants = items(&lab.variant.input["toml_variants"]);
    let wrong = &variants[..variants.len().saturating_sub(2)];
    Verdict::all(wrong.iter().filter_map(|text| text.as_str()).map(|text| {
        let ours = in_our_words(text);
        match config(&ours, true) {
            Ok(_) => Verdict::Fail(format!("{ours:?} is taken")),
            Err(words) => {
                // A key that is there twice is at the place that is named.
                let named = words.contains('`') || words.contains("duplicate key");
                let placed = words.contains("brute.toml:") && named;
                let nearest = !text.contains("keep_step = ") || words.contains("keep-steps");
                Verdict::of(placed && nearest, || format!("{ours:?}: {words}"))
            }
        }
    }))
}

fn marks_and_line_ends_are_fine(_: &Run, lab: &Lab<'_>) -> Verdict {
    let variants = items(&lab.variant.input["toml_variants"]);
    let fine = &variants[variants.len().saturating_sub(2)..];
    Verdict::all(
        fine.iter().filter_map(|text| text.as_str()).map(|text| {
            must(&in_our_words(text)).map_or_else(|verdict| verdict, |_| Verdict::Pass)
        }),
    )
}

fn stated_window_wins(_: &Run, _: &Lab<'_>) -> Verdict {
    let text = "[window]\nmodel = \"some-flash-model\"\nsize = 32768\nreserve = 4096\n\
                [models.some-flash-model]\nwindow = 1000000\n";
    let config = match must(text) {
        Ok(config) => config,
        Err(verdict) => return verdict,
    };
    let shown = config.resolved_toml(&Layers::built_in());
    let told = shown.lines().any(|line| line.contains("32") && line.contains("brute.toml"));
    match config.room(None) {
        Ok(room) => Verdict::all([
            Verdict::of(room.size == 32768, || format!("the window is {}", room.size)),
            Verdict::of(config.window.reserve.tokens(room.size) == 4096, || {
                "another reserve".into()
            }),
            Verdict::of(told, || format!("where it comes from is not shown: {shown}")),
        ]),
        Err(error) => Verdict::Fail(error.to_string()),
    }
}

fn command_line_wins(_: &Run, _: &Lab<'_>) -> Verdict {
    let text = "[window]\nsize = 8000\n".to_owned();
    let file = Source::new("brute.toml", text, Origin::Project);
    let set = vec!["window.size = 9000".to_owned()];
    let sources = Sources { project: Some(file), set, ..Sources::default() };
    let layers = Layers::built_in();
    let Some(config) = load(&sources, &layers).config else {
        return Verdict::Fail("it is refused".into());
    };
    let shown = config.resolved_toml(&layers);
    let line = shown.lines().find(|line| line.starts_with("size")).unwrap_or_default();
    Verdict::all([
        Verdict::of(config.window.size == Some(9000), || format!("{:?}", config.window.size)),
        Verdict::of(line.contains("--set"), || format!("shown is `{line}`")),
    ])
}

/// The keys that the case names, each with another value: what comes out must differ.
fn every_key_has_an_effect(_: &Run, lab: &Lab<'_>) -> Verdict {
    let compacted = |key: &str, value: u64| {
        let call = |n: usize| {
            json!([
                {"role": "assistant", "content": null, "tool_calls": [{"id": format!("c{n}"),
                    "type": "function", "function": {"name": "sh", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": format!("c{n}"), "content": "word ".repeat(400)},
            ])
        };
        let mut list = vec![json!({"role": "user", "content": "go"})];
        list.extend((0..10).flat_map(|n| items(&call(n)).to_vec()));
        let input = json!({"format": "openai_chat", "messages": list});
        let mut settings = json!({"window": 8000, "trigger": 3000, "target": 2000,
            "keep_steps": 2, "ladder": ["tool_results"]});
        settings[key] = value.into();
        let session = Session::new(&input, &settings, lab.kind, false)?;
        let run = session.take(&input).ok()?;
        Some((run.last().text.clone(), run.last().statuses.clone()))
    };
    let cut = |key: &str, value: u64| {
        let mut settings = json!({"max_lines": 100, "max_bytes": 4000, "max_line_chars": 200,
            "overflow_dir": "$TMP/effects"});
        settings[key] = value.into();
        let text = format!("{}\n{}", "x".repeat(900), "a line of text\n".repeat(120));
        let ours = truncator::truncator(&settings, &lab.folders, "head").ok()?;
        Some(truncator::cut(&ours, "head", text.as_bytes()).text)
    };
    let compactions = [("trigger", 7000), ("target", 2900), ("keep_steps", 6), ("window", 2500)];
    let cuts = [("max_lines", 50), ("max_bytes", 1500), ("max_line_chars", 50)];
    let idle = |key: &str| Verdict::Fail(format!("`{key}` has no effect"));
    let compactions = compactions.map(|(key, value)| {
        let same = compacted(key, value) == compacted("none", 0);
        if same { idle(key) } else { Verdict::Pass }
    });
    let cuts = cuts.map(
        |(key, value)| {
            if cut(key, value) == cut("none", 0) { idle(key) } else { Verdict::Pass }
        },
    );
    Verdict::all(compactions.into_iter().chain(cuts))
}
