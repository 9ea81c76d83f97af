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
    let source = Source::new("brute.toml", text, Origin::Project);
    Sources { project: Some(source), ..Sources::default() }
}

fn user(text: &str) -> Option<Source> {
    let text = text.to_owned();
    Some(Source::new("~/brute.toml", text, Origin::User))
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
        "[[fallback]]",
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
        "base-url",
        "api-key-env",
        "retries",
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
        "\"openai\"",
        "\"http://x/v1\"",
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

/// A file of this origin.
fn file(origin: Origin, text: &str) -> Option<Source> {
    Some(Source::new("brute.toml", text, origin))
}

/// What is wrong with these sources, in short.
fn refused(sources: &Sources) -> Vec<String> {
    let diagnostics = load(sources, &layers()).diagnostics;
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors.map(|diagnostic| format!("{}: {}", diagnostic.key, diagnostic.message)).collect()
}

const SERVER: &str =
    "backend = \"openai\"\nbase-url = \"https://s.example/v1\"\nmodel = \"gpt-4o\"\n";

#[test]
fn a_file_that_came_with_a_repository_runs_no_program_and_sends_nothing() {
    let program = "backend = \"command\"\ncommand = [\"rm\", \"-rf\", \".\"]\n";
    for (summarizer, key) in [(program, "command"), (SERVER, "base-url")] {
        let extract = "[summarizer]\nbackend = \"extract\"\n";
        for (text, path) in [
            (format!("[summarizer]\n{summarizer}"), "summarizer"),
            (format!("{extract}[[fallback]]\n{summarizer}"), "fallback[0]"),
        ] {
            let from = |origin| Sources { project: file(origin, &text), ..Sources::default() };
            let said = refused(&from(Origin::Found));
            let [only] = said.as_slice() else { panic!("{text}: {said:?}") };
            assert!(
                only.starts_with(&format!("{path}.{key}: a file that was only found")),
                "{only}"
            );
            assert_eq!(refused(&from(Origin::Project)), [""; 0]);
            let user = Sources { user: file(Origin::User, &text), ..Sources::default() };
            assert_eq!(refused(&user), [""; 0]);
        }
    }
    // What the user says on top of the file is the user's.
    let found = file(Origin::Found, &format!("[summarizer]\n{program}"));
    let set = vec!["summarizer.command = [\"cat\"]".into()];
    assert_eq!(refused(&Sources { project: found, set, ..Sources::default() }), [""; 0]);
}

#[test]
fn a_file_that_came_with_a_repository_has_no_say_in_who_reads_the_conversation() {
    let own = format!("[summarizer]\n{SERVER}api-key-env = \"OWN_KEY\"\n");
    let under = |text: &str| Sources {
        user: file(Origin::User, &own),
        project: file(Origin::Found, &format!("[summarizer]\n{text}\n")),
        ..Sources::default()
    };
    for (text, what) in [
        ("base-url = \"https://other.example\"", "summarizer.base-url: a file that was only found"),
        ("api-key-env = \"OTHER_SECRET\"", "summarizer.api-key-env: a file that was only found"),
        ("model = \"gpt-4\"", "summarizer.model: a file that was only found"),
        ("backend = \"openai\"", "summarizer.backend: a file that was only found"),
        // Another backend is another summarizer, with nothing of the user's.
        ("backend = \"anthropic\"", "summarizer: `summarizer` needs `base-url`"),
    ] {
        let said = refused(&under(text));
        assert!(said.iter().any(|said| said.starts_with(what)), "{text}: {said:?}");
    }
    for text in ["timeout = \"5s\"", "retries = 0", "window = 2_000", "backend = \"extract\""] {
        assert_eq!(refused(&under(text)), [""; 0], "{text}");
    }
}

#[test]
fn a_key_goes_to_the_server_that_it_was_written_for() {
    let own = format!("[summarizer]\n{SERVER}api-key-env = \"OWN_KEY\"\n");
    let other = "summarizer.base-url = \"https://other.example\"";
    let key = |name: &str| format!("summarizer.api-key-env = \"{name}\"");
    let said = |set: &[String]| {
        refused(&Sources {
            user: file(Origin::User, &own),
            set: set.to_vec(),
            ..Sources::default()
        })
    };
    let words = "summarizer.base-url: `base-url` names another server than `api-key-env` (brute.toml:5) is for";
    assert_eq!(said(&[other.into()]), [words]);
    for set in [&[][..], &[other.into(), key("OTHER_KEY")], &[key("X"), other.into()]] {
        assert_eq!(said(set), [""; 0], "{set:?}");
    }
    assert_eq!(said(&[other.into(), key("")]), [""; 0]);
}

#[test]
fn a_key_in_a_file_is_refused_and_not_repeated() {
    const KEY: &str = "sk-planted-0123";
    for line in [
        format!("api-key-env = \"{KEY}\""),
        format!("api-key = \"{KEY}\""),
        format!("api_key = '{KEY}'"),
        format!("api-key-env = {KEY}"),
        format!("api-key-env = [\"{KEY}\"]"),
        format!("base-url = \"https://me:{KEY}@s.example\""),
        format!("base-url = \"https://s.example/?key={KEY}\""),
    ] {
        let server = match line.starts_with("base-url") {
            true => "backend = \"openai\"\nmodel = \"gpt-4o\"\n",
            false => SERVER,
        };
        let text = format!("[summarizer]\n{server}{line}\n");
        let loaded = load(&project(&text), &layers());
        assert!(loaded.config.is_none(), "{line}");
        let one_line: String = loaded.diagnostics.iter().map(ToString::to_string).collect();
        let json = serde_json::to_string(&loaded.diagnostics).unwrap();
        for told in [render(&loaded.diagnostics, true), one_line, json] {
            assert!(!told.contains("planted"), "{line}: {told}");
        }
    }
}
