//! The ladder: from tables to rungs with strategies.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use brute_core::Strategy;

use super::ConfiguredRung;
use super::amount::Amount;
use super::check::explained;
use super::de::reword;
use super::diagnostic::{Diagnostic, Origin};
use super::document::{RungOptions, TriggerOptions, rung_fields};
use super::node::{Kind, Node};
use super::resolve::{Loader, path_of, said_of, with_key};
use crate::ladder::{Health, Layer};
use crate::layers::{BuildError, LayerKind};
use crate::plugins;

impl Loader {
    /// The rungs, each with its place in the tree.
    pub(super) fn ladder(
        &mut self,
        tree: &Node,
        has_summarizer: bool,
    ) -> Vec<(usize, ConfiguredRung)> {
        let Some(node) = tree.get(&["ladder"]) else { return Vec::new() };
        let Kind::List(items) = &node.kind else { return Vec::new() };
        let by_default = node.origin() == Origin::Default;
        let mut rungs: Vec<(usize, ConfiguredRung)> = Vec::new();
        let mut names: HashMap<String, usize> = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            let Some(layer) = item.get(&["layer"]).and_then(Node::text) else { continue };
            let Some(kind) = self.layers.get(layer).cloned() else { continue };
            let path = format!("ladder[{index}]");
            if kind.needs_summarizer && !has_summarizer {
                if !by_default {
                    let message = format!("`{layer}` needs a summarizer, and none is configured");
                    let help = "add a section `[summarizer]`, or take the rung out";
                    let diagnostic = Diagnostic::error(message, format!("{path}.layer")).help(help);
                    self.report(item, &["layer"], diagnostic);
                }
                continue;
            }
            if let Some(rung) = self.configured(&kind, item, &path) {
                let entry = names.entry(rung.name.clone()).or_default();
                *entry += 1;
                if *entry == 2 {
                    let message = format!("two rungs are called `{}`", rung.name);
                    let diagnostic = Diagnostic::error(message, format!("{path}.name")).help(
                        "give one of them another `name`, so that reports can tell them apart",
                    );
                    let at = if item.get(&["name"]).is_some() { "name" } else { "layer" };
                    self.report(item, &[at], diagnostic);
                }
                rungs.push((index, rung));
            }
        }
        rungs
    }

    fn configured(&mut self, kind: &LayerKind, item: &Node, path: &str) -> Option<ConfiguredRung> {
        let mut own = item.clone();
        let mut options = item.clone();
        let is_own = |key: &str| rung_fields().iter().any(|field| field.name == key);
        own.table_mut()?.retain(|key, _| is_own(key));
        options.table_mut()?.retain(|key, _| !is_own(key));
        let (read, faults) = own.read::<RungOptions>();
        for fault in faults {
            let place = fault.place.unwrap_or((Arc::clone(&item.source), item.span.clone()));
            let (key, name) =
                path_of(item, &place.0, &place.1, path.to_owned()).unwrap_or_default();
            if !self.is_aftermath(&fault.message, &key) {
                let diagnostic = Diagnostic::error(with_key(&fault.message, &name), key);
                self.diagnostics.push(diagnostic.at(&place.0, place.1));
            }
        }
        let mut limit = read.as_ref().and_then(|read| read.timeout).map(Duration::from);
        // None is built within one that is refused: it would fail by that.
        if limit.take_if(|limit| limit.is_zero()).is_some() {
            let message = "`timeout` is 0, which leaves the layer no time";
            let diagnostic = Diagnostic::error(message, format!("{path}.timeout"));
            self.report(item, &["timeout"], diagnostic.help("leave it out for the usual one"));
        }
        // One of a plugin always has a limit.
        let limit = limit.or(kind.plugin.is_some().then_some(plugins::TIME_LIMIT));
        let kind = &limit.map_or_else(|| kind.clone(), |limit| kind.clone().within(limit));
        let strategy = self.strategy(kind, item, &options, path);
        let read = read?;
        let name = read.name.unwrap_or_else(|| kind.name.clone());
        Some(ConfiguredRung {
            strategy: Layer::new(&name, strategy?, kind.plugin.clone()),
            name,
            layer: kind.name.clone(),
            above: read.when.map(|when| when.above),
            on_error: read.on_error,
            timeout: limit,
            plugin: kind.plugin.clone(),
            health: Health::default(),
        })
    }

    fn strategy(
        &mut self,
        kind: &LayerKind,
        item: &Node,
        options: &Node,
        path: &str,
    ) -> Option<Box<dyn Strategy>> {
        let error = match kind.build(options.to_json()) {
            Ok(strategy) => return Some(strategy),
            Err(error) => error,
        };
        let doc = |option: &str| {
            let field = kind.fields().iter().find(|field| field.name == option);
            field.map_or_else(String::new, |field| explained(option, &field.summary()))
        };
        match error {
            BuildError::Option { option, message } => {
                let message = said_of(&option, message);
                let diagnostic = Diagnostic::error(message, format!("{path}.{option}"));
                let at = if item.get(&[&option]).is_some() { &option } else { "layer" };
                self.report(item, &[at], diagnostic.help(doc(&option)));
            }
            BuildError::Failed(reason) => {
                let of = kind
                    .plugin
                    .as_ref()
                    .map_or_else(String::new, |path| format!(" of `{}`", path.display()));
                let message = format!("the layer `{}`{of} cannot be built: {reason}", kind.name);
                self.report(item, &["layer"], Diagnostic::error(message, path));
            }
            BuildError::Form(whole) => {
                // The error does not say which option it is about: try each by itself.
                let mut found = false;
                for (key, entry) in options.table().into_iter().flatten() {
                    let alone = serde_json::json!({ key: entry.node.to_json() });
                    if let Err(BuildError::Form(message)) = kind.build(alone) {
                        let message = with_key(&reword(&message), key);
                        let diagnostic = Diagnostic::error(message, format!("{path}.{key}"));
                        self.diagnostics.push(entry.node.at_value(diagnostic.help(doc(key))));
                        found = true;
                    }
                }
                if !found {
                    let message = format!("`{}` does not take these options: {whole}", kind.name);
                    self.report(item, &["layer"], Diagnostic::error(message, path));
                }
            }
        }
        None
    }

    /// Conditions that make no difference.
    pub(super) fn conditions(
        &mut self,
        tree: &Node,
        rungs: &[(usize, ConfiguredRung)],
        trigger: &TriggerOptions,
        size: Option<u64>,
    ) {
        let Some(Kind::List(items)) = tree.get(&["ladder"]).map(|node| &node.kind) else { return };
        for (index, rung) in rungs {
            let (Some(above), Some(item)) = (rung.above, items.get(*index)) else { continue };
            let (always, never) = match (above, trigger.compact_to, size) {
                (above, to, Some(size)) => {
                    (above.tokens(size) <= to.tokens(size), above.tokens(size) > size)
                }
                (Amount::Share(above), Amount::Share(to), None) => (above <= to, false),
                (Amount::Tokens(above), Amount::Tokens(to), None) => (above <= to, false),
                _ => (false, false),
            };
            let message = if always {
                format!(
                    "`above` ({above}) always holds: a rung is asked only while the request is larger \
                     than `compact-to` ({})",
                    trigger.compact_to
                )
            } else if never {
                format!(
                    "`above` ({above}) is more than the window: it holds only where the request does not fit"
                )
            } else {
                continue;
            };
            let diagnostic = Diagnostic::warning(message, format!("ladder[{index}].when.above"))
                .help("give an amount between `compact-to` and the window, or leave `when` out");
            self.report(item, &["when", "above"], diagnostic);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread;

    use super::super::{Origin, Source, Sources, load};
    use super::*;
    use crate::layers::Layers;

    #[test]
    fn a_time_limit_of_nothing_is_one_error() {
        let slow = |_| -> Result<Box<dyn Strategy>, _> {
            thread::sleep(Duration::from_millis(50));
            Err(BuildError::Form("it was built".to_owned()))
        };
        let kind = LayerKind::new("slow", "", "1", false, serde_json::json!({}), slow);
        let layers = Layers::built_in().with(kind.in_library(Path::new("libslow.so")));
        for timeout in ["0", "\"0s\""] {
            let text = format!("[[ladder]]\nlayer = \"slow\"\ntimeout = {timeout}\n");
            let name = "brute.toml".to_owned();
            let project = Some(Source::new(name, text, Origin::Project));
            let said = load(&Sources { project, ..Sources::default() }, &layers).diagnostics;
            let said: Vec<_> = said.iter().map(|one| one.message.as_str()).collect();
            let built = "`slow` does not take these options: it was built";
            assert_eq!(
                said,
                [built, "`timeout` is 0, which leaves the layer no time"],
                "{timeout}"
            );
        }
    }
}
