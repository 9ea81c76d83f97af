//! Texts as `brute.toml`: the user's, the project's, one that was found, or a setting of the command line.

use std::sync::OnceLock;

use brute_host::config::{Config, Loaded, Origin, Severity, Source, Sources, load};
use brute_host::layers::Layers;

use super::{choice, told};

/// What is wrong is told where it is, and what is taken is shown as a file that gives the same.
pub fn check(bytes: &[u8]) {
    let (choice, input) = choice(bytes);
    let Ok(text) = std::str::from_utf8(input) else { return };
    // Which libraries there are is this machine's business.
    if text.contains("plugins") && text.contains("path") {
        return;
    }
    let origin = [Origin::Project, Origin::User, Origin::Found, Origin::Set(0)][choice % 4];
    let Some(config) = loaded(text, origin) else { return };
    for model in [None, Some("gpt-4o"), Some("claude-sonnet-4-5")] {
        let _ = config.room(model).map_err(|error| told(&error));
    }
    let shown = config.resolved_toml(layers());
    // What only the user may say is shown to the user.
    let again = match loaded(&shown, Origin::User) {
        Some(again) => again,
        None => panic!("it is shown as what is refused:\n{text}\n---\n{shown}"),
    };
    let twice = again.resolved_toml(layers());
    assert_eq!(values(&shown), values(&twice), "{text}\n---\n{shown}\n---\n{twice}");
}

/// The configuration, if it is one.
fn loaded(text: &str, origin: Origin) -> Option<Config> {
    let source = Source::new("brute.toml", text, origin);
    let sources = match origin {
        Origin::User => Sources { user: Some(source), ..Sources::default() },
        Origin::Set(_) => Sources { set: vec![text.to_owned()], ..Sources::default() },
        _ => Sources { project: Some(source), ..Sources::default() },
    };
    let Loaded { config, diagnostics, .. } = load(&sources, layers());
    for diagnostic in &diagnostics {
        told(diagnostic);
        told(&diagnostic.render(false));
    }
    let failed = diagnostics.iter().any(|found| found.severity == Severity::Error);
    assert_eq!(failed, config.is_none(), "{diagnostics:?}");
    config
}

fn values(text: &str) -> toml::Table {
    text.parse().expect("it is read as TOML")
}

fn layers() -> &'static Layers {
    static LAYERS: OnceLock<Layers> = OnceLock::new();
    LAYERS.get_or_init(Layers::built_in)
}
