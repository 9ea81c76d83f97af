//! From settings to a configuration: all values present, all of them checked against each other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::amount::Amount;
use super::check::{Checker, quoted};
use super::diagnostic::{Diagnostic, Origin, Severity, Source};
use super::document::{Document, TriggerOptions, VERSION, fields, rung_fields};
use super::node::{Kind, Node};
use super::{Config, Sources};
use crate::layers::Layers;
use crate::models::{ModelEntry, ModelError, ModelTable};
use crate::plugins::Plugins;

/// How a type says that a key has to be given.
const MISSING: &str = "missing field ";

/// The defaults, with a comment over every key.
pub(super) const DEFAULTS: &str = include_str!("defaults.toml");

/// What came of reading the sources.
#[derive(Debug)]
pub struct Loaded {
    /// The configuration; none if there was an error.
    pub config: Option<Config>,
    /// Everything that is wrong, in the order of the sources.
    pub diagnostics: Vec<Diagnostic>,
    /// The layers that the ladder could be made of: those that were given, and those of plugins.
    pub layers: Layers,
    /// The plugins that `[plugins]` led to.
    pub plugins: Plugins,
}

/// Reads the sources on top of the defaults.
///
/// ```
/// use brute_host::config::{Origin, Source, Sources, load};
/// use brute_host::layers::Layers;
///
/// let text = "[window]\nsize = 32_768\nreserv = 4096\n".to_owned();
/// let file = Source::new("brute.toml", text, Origin::Project);
/// let loaded = load(&Sources { project: Some(file), ..Sources::default() }, &Layers::built_in());
/// assert!(loaded.config.is_none());
/// assert_eq!(
///     loaded.diagnostics[0].to_string(),
///     "brute.toml:3:1: error: `[window]` has no key `reserv` (did you mean `reserve`?)"
/// );
/// ```
pub fn load(sources: &Sources, layers: &Layers) -> Loaded {
    let texts: Vec<Arc<Source>> = sources.all().map(Arc::new).collect();
    let (mut loader, listed) = Loader::with_plugins(&texts, sources, layers);
    let mut tree = Node::empty();
    for source in &texts {
        loader.add(&mut tree, source);
    }
    loader.check(&mut tree);
    loader.report_plugins(&listed, sources);
    let config = loader.resolve(tree);
    let Loader { layers, plugins, mut diagnostics, .. } = loader;
    diagnostics.sort_by_key(Diagnostic::order);
    diagnostics.dedup();
    let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    Loaded { config: config.filter(|_| !failed), diagnostics, layers, plugins }
}

pub(super) struct Loader {
    pub(super) layers: Layers,
    pub(super) plugins: Plugins,
    pub(super) own_summarizer: bool,
    pub(super) known_only: bool,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Loader {
    /// Reads a source, checks its keys and puts it on top of what is there.
    fn add(&mut self, tree: &mut Node, source: &Arc<Source>) {
        let mut syntax = Vec::new();
        let mut node = Node::parse(source, &mut syntax);
        // First of all, so that a file for a later brute is told so, and not that its keys are unknown.
        if let Some(version) = node.get(&["version"])
            && let Kind::Whole(number) = version.kind
            && number > VERSION
        {
            let message = format!(
                "this file needs a later brute: it has version {number}, and this one reads version {VERSION}"
            );
            self.diagnostics.push(version.at_value(Diagnostic::error(message, "version")));
            return;
        }
        let before = self.diagnostics.len();
        self.check(&mut node);
        // What the parser made up to get past an error is not worth another one.
        let line = |diagnostic: &Diagnostic| {
            let place = diagnostic.place.as_ref()?;
            Some(place.source.position(place.span.start).0)
        };
        let broken: BTreeSet<_> = syntax.iter().filter_map(line).collect();
        let found = self.diagnostics.split_off(before);
        let sound = |diagnostic: &Diagnostic| {
            // The line after it as well: a broken header takes that one along.
            line(diagnostic)
                .is_none_or(|line| !broken.contains(&line) && !broken.contains(&(line - 1)))
        };
        self.diagnostics.extend(found.into_iter().filter(sound));
        self.diagnostics.append(&mut syntax);
        tree.merge(node);
    }

    fn check(&mut self, tree: &mut Node) {
        let mut checker = Checker {
            layers: &self.layers,
            plugins: &self.plugins,
            fields: fields(),
            rung: rung_fields(),
            known_only: self.known_only,
            diagnostics: &mut self.diagnostics,
        };
        checker.document(tree);
    }

    fn resolve(&mut self, mut tree: Node) -> Option<Config> {
        // Even one that cannot be read: what is wrong with it is said once.
        let has_summarizer = self.own_summarizer || tree.get(&["summarizer"]).is_some();
        let mut document = tree.clone();
        document.table_mut()?.remove("ladder");
        let (read, faults) = document.read::<Document>();
        for fault in faults {
            self.fault(&tree, fault.message, fault.place);
        }
        // What could not be read is out of the tree as well, so that later checks see what is in force.
        if let Some(ladder) = tree.table_mut()?.remove("ladder") {
            document.table_mut()?.insert("ladder".into(), ladder);
        }
        let tree = document;
        let mut read = read?;

        self.limits(&tree, &read);
        place(&tree, &mut read);
        let models = self.models(&tree, read.models);
        let size = self.window(&tree, &read.window, &models);
        self.summarizers(&tree, read.summarizer.as_ref(), &read.fallback, &models);
        let ladder = self.ladder(&tree, has_summarizer);
        self.trigger(&tree, &read.trigger, size);
        self.room(&tree, read.window.reserve, size);
        self.conditions(&tree, &ladder, &read.trigger, size);
        let ladder = ladder.into_iter().map(|(_, rung)| rung).collect();
        Some(Config {
            window: read.window,
            trigger: read.trigger,
            truncate: read.truncate,
            archive: read.archive,
            keep: read.keep,
            plugins: read.plugins,
            summarizer: read.summarizer,
            fallback: read.fallback,
            models,
            ladder,
            tree,
        })
    }

    fn fault(
        &mut self,
        tree: &Node,
        message: String,
        place: Option<(Arc<Source>, std::ops::Range<usize>)>,
    ) {
        let Some((source, span)) = place else {
            self.diagnostics.push(Diagnostic::error(message, ""));
            return;
        };
        let (key, name) = path_of(tree, &source, &span, String::new()).unwrap_or_default();
        if !self.is_aftermath(&message, &key) {
            let message = with_key(&message, &name);
            self.diagnostics.push(Diagnostic::error(message, key).at(&source, span));
        }
    }

    /// Whether a key is only missing because what it said was wrong, and has been reported.
    pub(super) fn is_aftermath(&self, message: &str, table: &str) -> bool {
        message.starts_with(MISSING) && self.was_said_below(table)
    }

    /// Whether something below this key was wrong, and has been reported.
    fn was_said_below(&self, table: &str) -> bool {
        let below = format!("{table}.");
        self.diagnostics.iter().any(|diagnostic| diagnostic.key.starts_with(&below))
    }

    /// Limits of truncation that leave no room.
    fn limits(&mut self, tree: &Node, read: &Document) {
        for error in read.truncate.check().err().into_iter().flatten() {
            let section = error.key.strip_prefix("truncate.").unwrap_or(&error.key);
            let path = match section.strip_prefix("tools.").and_then(|rest| rest.rsplit_once('.')) {
                Some((tool, key)) => vec!["truncate", "tools", tool, key],
                None => vec!["truncate", section],
            };
            self.report(tree, &path, Diagnostic::error(error.to_string(), error.key.clone()));
        }
    }

    fn models(&mut self, tree: &Node, entries: BTreeMap<String, ModelEntry>) -> ModelTable {
        let errors = match ModelTable::shipped().with_overrides(entries) {
            Ok(table) => return table,
            Err(errors) => errors,
        };
        let entry = |name: &str| format!("models.{}", quoted(name));
        for error in errors {
            let path = match &error {
                ModelError::NoWindow { name } if self.was_said_below(&entry(name)) => continue,
                ModelError::NoWindow { name } | ModelError::Name { name } => vec!["models", name],
                ModelError::Zero { name, key } => vec!["models", name, key],
                ModelError::Ratio { name, .. } => vec!["models", name, "ratio"],
                ModelError::Price { name, key, .. } => vec!["models", name, "price", key],
            };
            let diagnostic = Diagnostic::error(error.to_string(), path.join("."));
            self.report(tree, &path, diagnostic);
        }
        ModelTable::shipped()
    }

    /// The size of the window, if the files say it or name a model that is known.
    fn window(
        &mut self,
        tree: &Node,
        window: &super::WindowOptions,
        models: &ModelTable,
    ) -> Option<u64> {
        let model = window.model.as_deref().and_then(|model| models.find(model));
        if let (Some(name), None, None) = (&window.model, model, window.size) {
            let help = match models.suggest(name) {
                Some(known) => format!("did you mean `{known}`? If not, say its window in `size`"),
                None => "say its window in `size`, in tokens".into(),
            };
            let diagnostic = Diagnostic::error(
                format!("no window is known for the model `{name}`"),
                "window.model",
            );
            self.report(tree, &["window", "model"], diagnostic.help(help));
        }
        window.size.or(model.map(|model| u64::from(model.window)))
    }

    /// `0 < compact-to < compact-at ≤ window`.
    fn trigger(&mut self, tree: &Node, trigger: &TriggerOptions, size: Option<u64>) {
        let faulty = |diagnostic: &Diagnostic| {
            diagnostic.severity == Severity::Error && diagnostic.key.starts_with("trigger")
        };
        if self.diagnostics.iter().any(faulty) {
            return;
        }
        let (at, to) = (trigger.compact_at, trigger.compact_to);
        let origin = |key| tree.get(&["trigger", key]).map(Node::origin);
        // Point at what the user wrote; the other one may be a default.
        let late =
            if origin("compact-at") > origin("compact-to") { "compact-at" } else { "compact-to" };
        let problem = if at.tokens(u64::from(u32::MAX)) == 0 {
            Some(("compact-at", format!("`compact-at` is {at}, and has to be above 0")))
        } else if to.tokens(u64::from(u32::MAX)) == 0 {
            Some(("compact-to", format!("`compact-to` is {to}, and has to be above 0")))
        } else {
            let order = match (size, at, to) {
                (Some(size), ..) => Some((to.tokens(size), at.tokens(size))),
                (None, Amount::Tokens(at), Amount::Tokens(to)) => Some((to, at)),
                (None, Amount::Share(at), Amount::Share(to)) if to >= at => Some((1, 0)),
                _ => None,
            };
            match (order, size) {
                (Some((to_tokens, at_tokens)), _) if to_tokens >= at_tokens => Some((
                    late,
                    format!(
                        "`compact-to` ({}) must be below `compact-at` ({})",
                        shown(to, size, self.cite(tree, "compact-to")),
                        shown(at, size, self.cite(tree, "compact-at")),
                    ),
                )),
                (Some((_, at_tokens)), Some(size)) if at_tokens > size => Some((
                    "compact-at",
                    format!("`compact-at` is {at}, which is more than the window of {size} tokens"),
                )),
                _ => None,
            }
        };
        if let Some((key, message)) = problem {
            let diagnostic = Diagnostic::error(message, format!("trigger.{key}"))
                .help("a compaction starts at `compact-at` and aims for `compact-to`: 0 < `compact-to` < `compact-at` ≤ 1");
            self.report(tree, &["trigger", key], diagnostic);
        }
    }

    /// Where a default stands against what the user wrote, a message has to say so.
    fn cite(&self, tree: &Node, key: &str) -> Option<String> {
        let node = tree.get(&["trigger", key])?;
        Some(node.source.cite(node.span.start)).filter(|_| node.origin() == Origin::Default)
    }

    fn room(&mut self, tree: &Node, reserve: Amount, size: Option<u64>) {
        let all = match (reserve, size) {
            (reserve, Some(size)) => reserve.tokens(size) >= size,
            (Amount::Share(share), None) => share >= 1.0,
            (Amount::Tokens(_), None) => false,
        };
        if all {
            let of = size.map_or_else(String::new, |size| format!(" of {size} tokens"));
            let message = format!("`reserve` ({reserve}) leaves nothing of a window{of}");
            let diagnostic = Diagnostic::error(message, "window.reserve")
                .help("it is what stays free for the reply: give less, such as `0.1`");
            self.report(tree, &["window", "reserve"], diagnostic);
        }
    }

    /// Adds a diagnostic that points at the value under these keys, or as near to it as there is one.
    pub(super) fn report(&mut self, tree: &Node, path: &[&str], diagnostic: Diagnostic) {
        let known = (1..=path.len()).rev().find_map(|length| tree.get(&path[..length]));
        self.diagnostics.push(known.unwrap_or(tree).at_value(diagnostic));
    }
}

/// Makes the folders of `[truncate]` and `[archive]` those that were meant where they were written.
fn place(tree: &Node, read: &mut Document) {
    let truncate = &mut read.truncate;
    let of = |node: Option<&Node>| {
        let node = node.filter(|node| node.text().is_some_and(|text| !text.is_empty()))?;
        Some(node.path()?.display().to_string())
    };
    if let Some(folder) = of(tree.get(&["truncate", "spill"])) {
        truncate.spill = Some(folder);
    }
    if let Some(folder) = of(tree.get(&["archive", "folder"])) {
        read.archive.folder = Some(folder);
    }
    if let Some(Kind::List(items)) =
        tree.get(&["truncate", "readable"]).map(|readable| &readable.kind)
    {
        for (folder, item) in truncate.readable.iter_mut().zip(items) {
            if let Some(placed) = of(Some(item)) {
                *folder = placed;
            }
        }
    }
}

impl Config {
    /// A warning, if full texts go where the model cannot follow. It takes a look at the disk, so
    /// [`load`] does not ask: who truncates does.
    pub fn out_of_reach(&self) -> Option<Diagnostic> {
        let (tree, truncate) = (&self.tree, &self.truncate);
        let folder = truncate.spill_folder();
        let path = folder.path().filter(|_| !folder.is_readable())?;
        // Point at what the user wrote; a folder that is not set is the default.
        let written = |key: &&str| tree.get(&["truncate", key]).is_some();
        let key = ["shown-spill", "spill"].into_iter().find(written).unwrap_or("readable");
        let setting = if truncate.shown_spill.is_some() { "shown-spill" } else { "spill" };
        let place = truncate.shown_spill.clone().unwrap_or_else(|| path.display().to_string());
        let message = format!(
            "the model cannot read full texts: `{place}` lies outside of the folders in `readable`"
        );
        let help = format!(
            "set `{setting}` to a folder below one of them; as it is, notices name no path"
        );
        let diagnostic = Diagnostic::warning(message, format!("truncate.{key}")).help(help);
        let node = tree.get(&["truncate", key]).unwrap_or(tree);
        Some(node.at_value(diagnostic))
    }
}

/// An amount, and what it comes to.
fn shown(amount: Amount, size: Option<u64>, cite: Option<String>) -> String {
    let mut text = match (amount, size) {
        (Amount::Share(_), Some(size)) => format!("{amount} of {size} is {}", amount.tokens(size)),
        (Amount::Tokens(_), _) => format!("{amount} tokens"),
        _ => amount.to_string(),
    };
    if let Some(cite) = cite {
        text.push_str(", ");
        text.push_str(&cite);
    }
    text
}

/// What is wrong with an option, with its name.
pub(super) fn said_of(option: &str, message: String) -> String {
    if message.contains(&format!("`{option}`")) {
        message
    } else {
        format!("`{option}`: {message}")
    }
}

/// `expected …, found …`, with the key.
pub(super) fn with_key(message: &str, key: &str) -> String {
    if let Some(missing) = message.strip_prefix(MISSING) {
        return format!("`{key}` needs {missing}");
    }
    match message.rsplit_once(", found ") {
        Some((expected, found)) if !key.is_empty() => {
            format!("{expected} for `{key}`, found {found}")
        }
        _ => message.to_owned(),
    }
}

/// The path of the value at a place, and its own key.
pub(super) fn path_of(
    node: &Node,
    source: &Arc<Source>,
    span: &std::ops::Range<usize>,
    path: String,
) -> Option<(String, String)> {
    if Arc::ptr_eq(&node.source, source) && node.span == *span {
        let name = path.rsplit('.').next().unwrap_or_default().to_owned();
        return Some((path, name));
    }
    match &node.kind {
        Kind::Table(table) => table.iter().find_map(|(key, entry)| {
            let key = quoted(key);
            let below = if path.is_empty() { key } else { format!("{path}.{key}") };
            path_of(&entry.node, source, span, below)
        }),
        Kind::List(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| path_of(item, source, span, format!("{path}[{index}]"))),
        _ => None,
    }
}
