//! What `brute.toml` may say, what it may not, and what is in force.

use super::*;
use proptest::prelude::{
    ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};

fn layers() -> Layers {
    Layers::built_in()
}

fn project(text: &str) -> Sources {
    let text = text.to_owned();
    let source = Source { name: "brute.toml".into(), text, origin: Origin::Project };
    Sources { project: Some(source), ..Sources::default() }
}

fn user(text: &str) -> Option<Source> {
    let text = text.to_owned();
    Some(Source { name: "~/brute.toml".into(), text, origin: Origin::User })
}

/// All that is said about a file, by whoever truncates too.
fn said(text: &str) -> String {
    let Loaded { config, mut diagnostics, .. } = load(&project(text), &layers());
    diagnostics.extend(config.as_ref().and_then(Config::out_of_reach));
    without_blanks(&render(&diagnostics, false))
}

/// The text without the blanks at the ends of its lines.
fn without_blanks(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The configuration of sources that are as they should be, or may be warned about.
fn good(sources: &Sources) -> Config {
    let loaded = load(sources, &layers());
    loaded.config.unwrap_or_else(|| panic!("{}", render(&loaded.diagnostics, false)))
}

mod defaults;
mod messages;
mod precedence;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever a file says, it gives a configuration or a reason, and every reason can be shown.
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,80}|([a-z\\[\\]=\"'.,#{}0-9_\\n -]{0,120})") {
        let loaded = load(&project(&text), &layers());
        let errors = loaded.diagnostics.iter().any(|d| d.severity == Severity::Error);
        prop_assert_eq!(loaded.config.is_none(), errors);
        render(&loaded.diagnostics, true);
    }

    /// Likewise where the text is nearly right.
    #[test]
    fn no_wrong_value_makes_it_panic(lines in prop::collection::vec(line(), 0..12)) {
        let text = lines.join("\n");
        let loaded = load(&project(&text), &layers());
        let errors = loaded.diagnostics.iter().any(|d| d.severity == Severity::Error);
        prop_assert_eq!(loaded.config.is_none(), errors);
        for diagnostic in &loaded.diagnostics {
            prop_assert!(!diagnostic.render(false).is_empty());
            prop_assert!(!diagnostic.message.is_empty());
        }
        if let Some(config) = loaded.config {
            let shown = config.resolved_toml(&layers());
            let again = load(&project(&shown), &layers());
            prop_assert!(again.config.is_some(), "{shown}\n{}", render(&again.diagnostics, false));
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    let header = prop::sample::select(vec![
        "[window]",
        "[trigger]",
        "[truncate]",
        "[truncate.tools.sh]",
        "[keep]",
        "[summarizer]",
        "[models.x]",
        "[[ladder]]",
        "[ladder]",
        "[plugins]",
        "[window.size]",
    ]);
    let key = prop::sample::select(vec![
        "version",
        "window",
        "model",
        "size",
        "counter",
        "reserve",
        "compact-at",
        "compact-to",
        "max-bytes",
        "keep",
        "tools",
        "layer",
        "name",
        "when",
        "timeout",
        "on-error",
        "keep-steps",
        "backend",
        "command",
        "keep_steps",
        "ladder",
        "trigger.compact-at",
        "ratio",
    ]);
    let value = prop::sample::select(vec![
        "1",
        "0",
        "-1",
        "0.5",
        "1e400",
        "nan",
        "99999999999999999999",
        "\"\"",
        "\"70%\"",
        "\"50KB\"",
        "\"head\"",
        "\"tool-results\"",
        "\"sliding-window\"",
        "\"summarize\"",
        "\"extract\"",
        "true",
        "[]",
        "[1]",
        "[\"x\"]",
        "{}",
        "{ above = 0.6 }",
        "{ input = 1 }",
        "1979-05-27",
        "\"90s\"",
        "",
        "[{ layer = \"tool-results\" }]",
    ]);
    prop_oneof![
        header.prop_map(str::to_owned),
        (key, value).prop_map(|(key, value)| format!("{key} = {value}"))
    ]
}

#[test]
fn a_file_that_came_with_a_repository_runs_no_program() {
    let text = "[summarizer]\nbackend = \"command\"\ncommand = [\"rm\", \"-rf\", \".\"]\n";
    let from = |origin| Source { name: "brute.toml".into(), text: text.into(), origin };
    let refused = |sources: &Sources| load(sources, &Layers::built_in()).config.is_none();
    let found = Sources { project: Some(from(Origin::Found)), ..Sources::default() };
    assert!(refused(&found));
    assert!(!refused(&Sources { project: Some(from(Origin::Project)), ..Sources::default() }));
    assert!(!refused(&Sources { user: Some(from(Origin::User)), ..Sources::default() }));
    // What the user says on top of the file is the user's.
    let own = Sources { set: vec!["summarizer.command = [\"cat\"]".into()], ..found };
    assert!(!refused(&own));
}
