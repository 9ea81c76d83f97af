//! `[plugins]`: which libraries a configuration leads to, and what is said of each.
//!
//! It is read before everything else: the layers of plugins have to be known before a ladder that names
//! them can be checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Sources;
use super::diagnostic::{Diagnostic, Severity, Source};
use super::document::rung_fields;
use super::node::{Kind, Node};
use super::resolve::Loader;
use crate::layers::{LayerKind, Layers};
use crate::plugins::{Plugin, Plugins, Status};
use crate::truncation::expand;

/// The key of the list.
const KEY: &str = "plugins.path";

/// Libraries in one folder that are told of one by one, if the same is to be said of each.
const MOST_ALIKE: usize = 3;

impl Loader {
    /// A loader that knows `layers` and those of the plugins that the texts lead to. Beside it, the place
    /// of each path in the list.
    pub(super) fn with_plugins(
        texts: &[Arc<Source>],
        sources: &Sources,
        layers: &Layers,
    ) -> (Self, Vec<Node>) {
        let listed = listed(texts);
        let paths: Vec<PathBuf> = listed.iter().filter_map(Node::path).collect();
        let mut loader = Self {
            layers: layers.clone(),
            plugins: Plugins::find(&paths, &sources.trust),
            own_summarizer: sources.own_summarizer,
            known_only: sources.known_only,
            diagnostics: Vec::new(),
        };
        for plugin in &mut loader.plugins.files {
            let Status::Loaded(kinds) = &plugin.status else { continue };
            let mut known = loader.layers.clone();
            let clashes = kinds.iter().try_for_each(|kind| {
                clash(kind, &plugin.path, &known)?;
                known.add(kind.clone());
                Ok(())
            });
            match clashes {
                Ok(()) => loader.layers = known,
                Err((reason, help)) => plugin.status = Status::Clashing { reason, help },
            }
        }
        (loader, listed)
    }

    /// What is to be said of the libraries that gave no layers.
    pub(super) fn report_plugins(&mut self, listed: &[Node], sources: &Sources) {
        let is_untrusted = |plugin: &Plugin| matches!(plugin.status, Status::Untrusted(_));
        if let Some(error) = &sources.trust_error
            && self.plugins.files.iter().any(is_untrusted)
        {
            self.diagnostics.push(Diagnostic::warning(error.to_string(), KEY));
        }
        for (index, why) in &self.plugins.missing {
            let diagnostic = Diagnostic::warning(format!("no plugins are found here: {why}"), KEY);
            self.diagnostics.push(at(listed, *index, diagnostic));
        }
        let mut alike: BTreeMap<(usize, bool), usize> = BTreeMap::new();
        for plugin in &self.plugins.files {
            let is_named =
                listed.get(plugin.listed).and_then(Node::path).is_some_and(|path| !path.is_dir());
            let Some(diagnostic) = said_of(plugin, is_named) else { continue };
            if diagnostic.severity == Severity::Warning {
                let told = alike.entry((plugin.listed, is_untrusted(plugin))).or_default();
                *told += 1;
                if *told > MOST_ALIKE {
                    continue;
                }
            }
            self.diagnostics.push(at(listed, plugin.listed, diagnostic));
        }
        for ((index, untrusted), found) in alike {
            let Some(more) = found.checked_sub(MOST_ALIKE).filter(|more| *more > 0) else {
                continue;
            };
            let why = if untrusted { "are not trusted" } else { "cannot be loaded" };
            let diagnostic = Diagnostic::warning(format!("{more} more libraries here {why}"), KEY);
            let diagnostic = diagnostic.help("`brute plugins list` says which, and why");
            self.diagnostics.push(at(listed, index, diagnostic));
        }
    }
}

/// Why the layer `kind` of the library at `path` cannot stand beside the layers that are `known`, and what to do.
fn clash(kind: &LayerKind, path: &Path, known: &Layers) -> Result<(), (String, String)> {
    let (own, layer) = (path.display(), &kind.name);
    let is_own = |name: &str| rung_fields().iter().any(|field| field.name == name);
    if let Some(field) = kind.fields().iter().find(|field| is_own(&field.name)) {
        let option = &field.name;
        let reason = format!(
            "the layer `{layer}` of `{own}` has an option `{option}`, which is a key of every rung"
        );
        return Err((reason, "its author has to call the option something else".to_owned()));
    }
    let Some(other) = known.get(layer) else { return Ok(()) };
    let other = match &other.plugin {
        Some(path) => format!("`{}`", path.display()),
        None => "brute itself".to_owned(),
    };
    let help = "take one of the files out of `path`, or have one of the layers renamed";
    Err((format!("`{own}` and {other} both have a layer `{layer}`"), help.to_owned()))
}

/// A library that a path names has to be one; of those that stand in a folder, it is good to know.
fn said_of(plugin: &Plugin, is_named: bool) -> Option<Diagnostic> {
    let why = plugin.why_not()?;
    let message = format!("`{}` was not loaded: {why}", plugin.path.display());
    let diagnostic = match (&plugin.status, is_named) {
        (Status::Copy { .. }, _) => return None,
        (Status::Clashing { reason, .. }, _) => Diagnostic::error(reason, KEY),
        (Status::Refused { .. }, true) => Diagnostic::error(message, KEY),
        _ => Diagnostic::warning(message, KEY),
    };
    Some(diagnostic.help(plugin.help().unwrap_or_default()))
}

fn at(listed: &[Node], index: usize, diagnostic: Diagnostic) -> Diagnostic {
    match listed.get(index) {
        Some(node) => node.at_value(diagnostic),
        None => diagnostic,
    }
}

/// The paths of the strongest text that has a list of them. What is wrong with the texts is found later.
fn listed(texts: &[Arc<Source>]) -> Vec<Node> {
    let mut tree = Node::empty();
    for text in texts {
        tree.merge(Node::parse(text, &mut Vec::new()));
    }
    match tree.get(&["plugins", "path"]).map(|node| &node.kind) {
        Some(Kind::List(items)) => {
            items.iter().filter(|item| item.path().is_some()).cloned().collect()
        }
        _ => Vec::new(),
    }
}

impl Node {
    /// The path that a value names: in a file, from the folder of that file; in `--set`, from the current
    /// folder. A leading `~` is the home folder.
    pub(super) fn path(&self) -> Option<PathBuf> {
        Some(self.source.folder.join(expand(self.text()?)?))
    }
}
