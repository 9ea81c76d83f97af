//! `[plugins]`: which libraries a configuration leads to, and what is said of each.
//!
//! It is read before everything else: the layers of plugins have to be known before a ladder that names
//! them can be checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Sources;
use super::diagnostic::{Diagnostic, Origin, Source};
use super::document::rung_fields;
use super::node::{Kind, Node};
use super::resolve::Loader;
use crate::layers::Layers;
use crate::plugins::{Plugin, Plugins, Status};
use crate::truncation::expand;

/// The key of the list.
const KEY: &str = "plugins.path";

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
        let plugins = Plugins::find(&paths, &sources.trust);
        let mut loader = Self {
            layers: layers.clone(),
            plugins: Plugins::default(),
            own_summarizer: sources.own_summarizer,
            diagnostics: Vec::new(),
        };
        for (plugin, kind) in plugins.kinds() {
            let is_own = |name: &str| rung_fields().iter().any(|field| field.name == name);
            if let Some(field) = kind.fields().iter().find(|field| is_own(&field.name)) {
                let (path, layer, option) = (plugin.path.display(), &kind.name, &field.name);
                let message = format!(
                    "the layer `{layer}` of `{path}` has an option `{option}`, which is a key of every rung"
                );
                let help = "its author has to call the option something else";
                let diagnostic = Diagnostic::error(message, KEY).help(help);
                loader.diagnostics.push(at(&listed, plugin.listed, diagnostic));
            }
            let Some(known) = loader.layers.get(&kind.name) else {
                loader.layers.add(kind.clone());
                continue;
            };
            let own = plugin.path.display();
            let other = match &known.plugin {
                Some(path) => format!("`{}`", path.display()),
                None => "brute itself".to_owned(),
            };
            let message = format!("`{own}` and {other} both have a layer `{}`", kind.name);
            let help = "take one of the files out of `path`, or have one of the layers renamed";
            let diagnostic = Diagnostic::error(message, KEY).help(help);
            loader.diagnostics.push(at(&listed, plugin.listed, diagnostic));
        }
        loader.plugins = plugins;
        (loader, listed)
    }

    /// What is to be said of the libraries that gave no layers.
    pub(super) fn report_plugins(&mut self, listed: &[Node]) {
        for (index, why) in &self.plugins.missing {
            let diagnostic = Diagnostic::warning(format!("no plugins are found here: {why}"), KEY);
            self.diagnostics.push(at(listed, *index, diagnostic));
        }
        for plugin in &self.plugins.files {
            let is_named =
                listed.get(plugin.listed).and_then(Node::path).is_some_and(|path| !path.is_dir());
            if let Some(diagnostic) = said_of(plugin, is_named) {
                self.diagnostics.push(at(listed, plugin.listed, diagnostic));
            }
        }
    }
}

/// A library that a path names has to be one; of those that stand in a folder, it is good to know.
fn said_of(plugin: &Plugin, is_named: bool) -> Option<Diagnostic> {
    let why = match &plugin.status {
        Status::Loaded(_) | Status::Copy { .. } => return None,
        Status::Untrusted(_) | Status::Refused { .. } => plugin.why_not()?,
    };
    let message = format!("`{}` was not loaded: {why}", plugin.path.display());
    let diagnostic = match (&plugin.status, is_named) {
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
        let path = expand(self.text()?)?;
        match self.origin() {
            Origin::User | Origin::Found | Origin::Project => {
                let folder = Path::new(&self.source.name).parent().unwrap_or(Path::new(""));
                Some(folder.join(path))
            }
            Origin::Default | Origin::Set(_) => Some(path),
        }
    }
}
