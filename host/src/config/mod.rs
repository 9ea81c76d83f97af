//! `brute.toml`: read, checked, resolved.
//!
//! ```text
//! defaults < user file < project file < --set ─▶ check each ─▶ merge ─▶ Document ─▶ resolve ─▶ Config
//!                                                    └──────────┴───────────┴──────────┴─▶ Diagnostics
//! ```
//!
//! A [`Config`] then says how much room a request has, and makes the compactor for it.
//!
//! Nothing stops at the first error: what is wrong is taken out, and the rest is checked on. Tables
//! merge key by key; a list, and so a ladder, replaces the one below it. Every value remembers where
//! it was written.

mod amount;
mod check;
mod de;
mod diagnostic;
mod document;
mod files;
mod node;
mod options;
mod plugins;
mod reference;
mod resolve;
mod room;
mod rungs;
mod schema;
mod show;
mod summarizers;
#[cfg(test)]
mod tests;
mod warnings;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::archive::ArchiveOptions;
use crate::ladder::{Health, Layer, OnError};
use crate::layers::Layers;
use crate::models::ModelTable;
use crate::plugins::{Trust, TrustError};
use crate::summarizers::SummarizerOptions;
use crate::truncation::TruncateOptions;

pub use amount::Amount;
pub use diagnostic::{Diagnostic, Origin, Place, Severity, Source, render};
pub use document::{KeepOptions, PluginsOptions, TriggerOptions, WindowOptions};
pub use files::{FILE_NAME, Places, ReadError, ReadErrors, USER_FILE_VARIABLE};
pub use options::layer_options;
pub use reference::{UnknownKey, reference, reference_markdown};
pub use resolve::{Loaded, load};
pub use room::{PolicyError, Room, RoomError, overhead};
pub use schema::json_schema;
pub use show::{defaults_toml, init_toml, recommended_toml, render_defaults, toml_value};

use node::Node;

/// The texts that make up a configuration, on top of the defaults that ship.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// The user's file.
    pub user: Option<Source>,
    /// The project's file, or the one that was asked for.
    pub project: Option<Source>,
    /// Settings from the command line, each a line as in a file: `trigger.compact-at = 0.8`.
    pub set: Vec<String>,
    /// Whether the program brings a summarizer of its own, so that none has to be configured.
    pub own_summarizer: bool,
    /// Whether a rung whose layer is not known here is left out, with a warning. Otherwise it is an error.
    pub known_only: bool,
    /// Which plugins may be loaded. It is the user's word: no text here has a say in it.
    pub trust: Trust,
    /// Why the user's word on plugins could not be read, which is told where a plugin would have needed it.
    pub trust_error: Option<TrustError>,
}

impl Sources {
    /// All texts, weakest first.
    fn all(&self) -> impl Iterator<Item = Source> {
        let defaults = Source::new("defaults.toml", resolve::DEFAULTS, Origin::Default);
        let set = self
            .set
            .iter()
            .enumerate()
            .map(|(index, text)| Source::new("--set", text.clone(), Origin::Set(index)));
        std::iter::once(defaults).chain(self.user.clone()).chain(self.project.clone()).chain(set)
    }
}

/// A rung as it is configured: conditions may still be shares of a window that is not known yet.
#[derive(Clone)]
pub struct ConfiguredRung {
    /// How events and reports call it.
    pub name: String,
    /// The name of its layer.
    pub layer: String,
    /// The strategy, with its options.
    pub strategy: Layer,
    /// Asked only if the request is still larger than this.
    pub above: Option<Amount>,
    /// What happens when the layer fails.
    pub on_error: OnError,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// The library that its layer comes from, if it does not ship.
    pub plugin: Option<Arc<Path>>,
    /// How its layer has fared so far; every ladder made of this configuration goes on from there.
    pub health: Health,
}

impl fmt::Debug for ConfiguredRung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfiguredRung")
            .field("name", &self.name)
            .field("layer", &self.layer)
            .field("above", &self.above)
            .field("on_error", &self.on_error)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A configuration with all values present.
#[derive(Debug, Clone)]
pub struct Config {
    /// `[window]`.
    pub window: WindowOptions,
    /// `[trigger]`.
    pub trigger: TriggerOptions,
    /// `[truncate]`.
    pub truncate: TruncateOptions,
    /// `[archive]`.
    pub archive: ArchiveOptions,
    /// `[keep]`.
    pub keep: KeepOptions,
    /// `[plugins]`.
    pub plugins: PluginsOptions,
    /// `[summarizer]`, if there is one.
    pub summarizer: Option<SummarizerOptions>,
    /// `[[fallback]]`, from the top: who is asked where `[summarizer]` gives no answer.
    pub fallback: Vec<SummarizerOptions>,
    /// The models that ship, corrected and extended by `[models]`.
    pub models: ModelTable,
    /// `[[ladder]]`, from the top.
    pub ladder: Vec<ConfiguredRung>,
    /// What all that was made from.
    tree: Node,
}

/// What is in force where there is no file: the defaults and the layers that ship.
impl Default for Config {
    fn default() -> Self {
        // The defaults are part of the program and a test loads them, so there is no failure to report.
        load(&Sources::default(), &Layers::built_in()).config.unwrap_or_else(|| Self {
            window: WindowOptions::default(),
            trigger: TriggerOptions::default(),
            truncate: TruncateOptions::default(),
            archive: ArchiveOptions::default(),
            keep: KeepOptions::default(),
            plugins: PluginsOptions::default(),
            summarizer: None,
            fallback: Vec::new(),
            models: ModelTable::shipped(),
            ladder: Vec::new(),
            tree: Node::empty(),
        })
    }
}
