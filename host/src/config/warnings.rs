//! What can be used, and is probably not meant.

use super::Config;
use super::amount::Amount;
use super::diagnostic::{Diagnostic, Origin};
use super::node::{Kind, Node};
use crate::layers::Layers;

impl Config {
    /// What in this configuration has no effect although somebody wrote it. `layers` are those that it
    /// was made of.
    ///
    /// It is for whoever checks a file: in the course of work, these would only be repeated.
    pub fn warnings(&self, layers: &Layers) -> Vec<Diagnostic> {
        let found = [self.no_rung(), self.unused_summarizer(layers), self.capped_trigger()];
        found.into_iter().flatten().chain(self.keys()).collect()
    }

    /// Keys of summarizers that are not there, or that anybody on the way could read.
    fn keys(&self) -> Vec<Diagnostic> {
        let first = self.summarizer.iter().map(|options| ("summarizer".to_owned(), options));
        let others = self.fallback.iter().enumerate();
        let others = others.map(|(index, options)| (format!("fallback[{index}]"), options));
        let mut found = Vec::new();
        for (path, options) in first.chain(others) {
            let Some(server) = options.server() else { continue };
            let Some(variable) = server.key_variable() else { continue };
            let at = |key: &str| match path.as_str() {
                "summarizer" => self.tree.get(&["summarizer", key]),
                _ => self.listed(&path, key),
            };
            let mut warn = |key: &str, message: String, help: String| {
                let warning = Diagnostic::warning(message, format!("{path}.{key}")).help(help);
                found.push(at(key).unwrap_or(&self.tree).at_value(warning));
            };
            if std::env::var_os(variable).is_none_or(|key| key.is_empty()) {
                let message = format!("the environment variable `{variable}` is not set here");
                let help = "set it to the key where brute is to summarize; without it, the server is not asked";
                warn("api-key-env", message, help.to_owned());
            }
            #[cfg(feature = "servers")]
            if let Some(host) = server.open_host() {
                let message = format!(
                    "the key in `{variable}` and the conversation go to `{host}` unencrypted"
                );
                let help = "write `https://`, unless you trust all of the network on the way";
                warn("base-url", message, help.to_owned());
            }
        }
        found
    }

    /// A key of an entry of a list, such as `fallback[1]`.
    fn listed(&self, path: &str, key: &str) -> Option<&Node> {
        let (list, index) = path.strip_suffix(']')?.split_once('[')?;
        let Kind::List(items) = &self.tree.get(&[list])?.kind else { return None };
        items.get(index.parse::<usize>().ok()?)?.get(&[key])
    }

    fn no_rung(&self) -> Option<Diagnostic> {
        let message = "the ladder has no rung, so that nothing can be given up";
        let help = "leave `ladder` out for the default one";
        let warning = || self.at(&["ladder"], Diagnostic::warning(message, "ladder").help(help));
        self.ladder.is_empty().then(warning)
    }

    fn unused_summarizer(&self, layers: &Layers) -> Option<Diagnostic> {
        self.summarizer.as_ref()?;
        let uses = |name: &str| layers.get(name).is_some_and(|kind| kind.needs_summarizer);
        if self.ladder.iter().any(|rung| uses(&rung.layer)) {
            return None;
        }
        let message = "no rung of the ladder asks the summarizer";
        let help = "add a rung: `[[ladder]]` with `layer = \"summarize\"`";
        Some(self.at(&["summarizer"], Diagnostic::warning(message, "summarizer").help(help)))
    }

    /// A trigger that never gets its turn, since the reserve is touched before.
    fn capped_trigger(&self) -> Option<Diagnostic> {
        let (at, reserve) = (self.trigger.compact_at, self.window.reserve);
        let start = match (self.size(None), at, reserve) {
            (Ok(size), ..) => {
                let usable = size.saturating_sub(reserve.tokens(size));
                (at.tokens(size) > usable).then_some(Amount::Tokens(usable))
            }
            (Err(_), Amount::Share(at), Amount::Share(reserve)) => {
                // Rounded, since 1 - 0.7 is a hair more than 0.3 in binary.
                let usable = ((1.0 - reserve) * 1e6).round() / 1e6;
                (at > usable).then_some(Amount::Share(usable))
            }
            _ => None,
        }?;
        let is_written = |path: &[&str]| {
            self.tree.get(path).is_some_and(|node| node.origin() != Origin::Default)
        };
        let key = match is_written(&["trigger", "compact-at"]) {
            true => ["trigger", "compact-at"],
            false => ["window", "reserve"],
        };
        let message = format!(
            "a compaction starts at {start} already: `reserve` ({reserve}) comes before `compact-at` ({at})"
        );
        let help = "lower `compact-at`, or give less to `reserve`, which stays free for the reply";
        Some(self.at(&key, Diagnostic::warning(message, key.join(".")).help(help)))
    }

    fn at(&self, path: &[&str], diagnostic: Diagnostic) -> Diagnostic {
        self.tree.get(path).unwrap_or(&self.tree).at_value(diagnostic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Source, Sources, load};

    #[test]
    fn what_has_no_effect_is_told() {
        let summarizer = "[summarizer]\nbackend = \"extract\"\n";
        let server = |url: &str, key: &str| {
            format!(
                "[summarizer]\nbackend = \"openai\"\nbase-url = \"{url}\"\nmodel = \"gpt-4o\"\n\
                 api-key-env = \"{key}\"\n"
            )
        };
        let rung = |layer: &str| format!("[[ladder]]\nlayer = \"{layer}\"\n");
        for (text, expected) in [
            (String::new(), None),
            (summarizer.to_owned(), None),
            (format!("{summarizer}{}", rung("summarize")), None),
            (format!("{summarizer}{}", rung("tool-results")), Some("summarizer")),
            ("ladder = []\n".into(), Some("ladder")),
            ("[trigger]\ncompact-at = 0.9\n".into(), None),
            ("[trigger]\ncompact-at = 0.99\n".into(), Some("trigger.compact-at")),
            ("[trigger]\ncompact-at = 0.7\n[window]\nreserve = 0.3\n".into(), None),
            ("[window]\nreserve = 0.4\n".into(), Some("window.reserve")),
            ("[window]\nreserve = 9_000\n".into(), None),
            ("[window]\nsize = 20_000\nreserve = 9_000\n".into(), Some("window.reserve")),
            (server("http://127.0.0.1:1", "PATH"), None),
            (server("http://[::1]:1/v1", "PATH"), None),
            (server("http://localhost:1", "PATH"), None),
            (server("https://models.example", "PATH"), None),
            (server("http://models.example", ""), None),
            (server("http://models.example", "PATH"), Some("summarizer.base-url")),
            (server("http://192.168.0.7:8080", "PATH"), Some("summarizer.base-url")),
            (server("http://localhost.example", "PATH"), Some("summarizer.base-url")),
            (server("https://models.example", "NOT_SET_ANYWHERE"), Some("summarizer.api-key-env")),
            (
                server("https://models.example", "PATH")
                    + &server("http://models.example", "PATH")
                        .replace("[summarizer]", "[[fallback]]"),
                Some("fallback[0].base-url"),
            ),
            (
                "[window]\nmodel = \"gpt-4o\"\n[trigger]\ncompact-at = 120_000\n".into(),
                Some("trigger.compact-at"),
            ),
        ] {
            let source = Source::new("brute.toml", &text, Origin::Project);
            let sources = Sources { project: Some(source), ..Sources::default() };
            let layers = Layers::built_in();
            let loaded = load(&sources, &layers);
            let warnings = loaded.config.expect(&text).warnings(&layers);
            let keys: Vec<&str> = warnings.iter().map(|warning| warning.key.as_str()).collect();
            assert_eq!(keys, expected.into_iter().collect::<Vec<_>>(), "{text}");
            assert!(
                warnings.iter().all(|warning| warning.place.is_some() && warning.help.is_some())
            );
        }
    }
}
