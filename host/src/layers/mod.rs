//! The strategies that are known by name: what each is called, what it does, which options it takes.
//!
//! ```
//! use brute_host::layers::{LayerKind, Layers};
//! use brute_host::core::{Configure, Host, LayerError, OptionsError, Plan, Strategy, Window};
//!
//! /// Options of [`Nothing`].
//! #[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
//! #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
//! struct NothingOptions {
//!     /// How often to do nothing.
//!     times: u32,
//! }
//!
//! struct Nothing;
//! impl Strategy for Nothing {
//!     fn plan(&self, _: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
//!         Ok(Plan::of(Vec::new()))
//!     }
//! }
//! impl Configure for Nothing {
//!     type Options = NothingOptions;
//!     const NAME: &'static str = "nothing";
//!     const SUMMARY: &'static str = "does nothing";
//!     const VERSION: &'static str = "1.0.0";
//!     fn build(_: NothingOptions) -> Result<Self, OptionsError> {
//!         Ok(Self)
//!     }
//! }
//!
//! let layers = Layers::built_in().with(LayerKind::of::<Nothing>());
//! let nothing = layers.get("nothing").unwrap();
//! assert_eq!(nothing.fields()[0].name, "times");
//! assert!(nothing.build(serde_json::json!({ "times": 3 })).is_ok());
//! ```

mod nearest;
mod shape;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use brute_core::{Configure, OptionsError, Strategy};
use serde_json::Value;

use crate::limit;
pub(crate) use brute_core::schema_of;
pub(crate) use nearest::kebab;
pub use nearest::{Candidates, nearest};
pub(crate) use shape::one_of;

pub use shape::{Choice, Field, Shape, Variant};

/// Options that a strategy did not take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// They do not have the form that the strategy's schema describes.
    #[error("{0}")]
    Form(String),
    /// It is not the options: the strategy failed where it is built.
    #[error("it failed: {0}")]
    Failed(String),
    /// One of them is out of range, or contradicts another.
    #[error("`{option}`: {message}")]
    Option {
        /// The option, as it is written in `brute.toml`.
        option: String,
        /// What is wrong with it.
        message: String,
    },
}

impl From<OptionsError> for BuildError {
    fn from(error: OptionsError) -> Self {
        Self::Option { option: error.option.into(), message: error.message }
    }
}

type Build = dyn Fn(Value) -> Result<Box<dyn Strategy>, BuildError> + Send + Sync;

/// A kind of layer: a strategy before it has options.
#[derive(Clone)]
pub struct LayerKind {
    /// Its name in `brute.toml`.
    pub name: String,
    /// One line that says what it does.
    pub summary: String,
    /// Its version.
    pub version: String,
    /// Whether it asks the summarizer.
    pub needs_summarizer: bool,
    /// The JSON Schema of its options.
    pub schema: Value,
    /// The library that it comes from, if it does not ship.
    pub plugin: Option<Arc<Path>>,
    /// How long a strategy may take to be built; no limit for those of this program.
    limit: Option<Duration>,
    fields: Vec<Field>,
    build: Arc<Build>,
}

impl LayerKind {
    /// The kind that a strategy in this program is.
    pub fn of<T: Configure>() -> Self {
        Self::new(
            T::NAME,
            T::SUMMARY,
            T::VERSION,
            T::NEEDS_SUMMARIZER,
            schema_of::<T::Options>(),
            |options| {
                let options = match options {
                    Value::Object(map) if map.is_empty() => T::Options::default(),
                    options => serde_json::from_value(options)
                        .map_err(|error| BuildError::Form(error.to_string()))?,
                };
                Ok(Box::new(T::build(options)?))
            },
        )
    }

    /// A kind whose strategies come from somewhere else.
    pub fn new(
        name: impl Into<String>,
        summary: impl Into<String>,
        version: impl Into<String>,
        needs_summarizer: bool,
        schema: Value,
        build: impl Fn(Value) -> Result<Box<dyn Strategy>, BuildError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            summary: summary.into(),
            version: version.into(),
            needs_summarizer,
            fields: Shape::of(&schema).into_fields(),
            schema,
            plugin: None,
            limit: None,
            build: Arc::new(build),
        }
    }

    /// The same kind, from the library at `path`.
    #[cfg(any(test, feature = "plugins"))]
    pub(crate) fn in_library(self, path: &Path) -> Self {
        Self { plugin: Some(path.into()), limit: Some(crate::plugins::TIME_LIMIT), ..self }
    }

    /// The same kind, with another limit of time for what is not of this program.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self { limit: self.limit.map(|_| limit), ..self }
    }

    /// The strategy with these options, an object; what is left out has its default. One of a plugin that
    /// is not built in time is left behind on a thread.
    ///
    /// # Errors
    /// If the strategy does not take them, or is not built in time.
    pub fn build(&self, options: Value) -> Result<Box<dyn Strategy>, BuildError> {
        let Some(limit) = self.limit else { return (self.build)(options) };
        let build = Arc::clone(&self.build);
        limit::within(limit, move || build(options)).map_err(BuildError::Failed)?
    }

    /// Its options, by name.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }
}

impl fmt::Debug for LayerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayerKind")
            .field("name", &self.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

/// All kinds of layers that `brute.toml` may name.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    kinds: Vec<LayerKind>,
}

impl Layers {
    /// The kinds that ship.
    pub fn built_in() -> Self {
        Self::default()
            .with(LayerKind::of::<brute_tool_results::ToolResults>())
            .with(LayerKind::of::<brute_sliding_window::SlidingWindow>())
            .with(LayerKind::of::<brute_summarize::Summarize>())
    }

    /// Adds a kind. One of the same name goes.
    pub fn add(&mut self, kind: LayerKind) {
        self.kinds.retain(|known| known.name != kind.name);
        self.kinds.push(kind);
    }

    /// These and another kind.
    #[must_use]
    pub fn with(mut self, kind: LayerKind) -> Self {
        self.add(kind);
        self
    }

    /// The kind of this name.
    pub fn get(&self, name: &str) -> Option<&LayerKind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    /// All kinds, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &LayerKind> {
        self.kinds.iter()
    }

    /// What to say about a name that no kind has: the nearest name, or which there are.
    pub fn suggest(&self, name: &str) -> String {
        Candidates::new("layers", self.iter().map(|kind| kind.name.as_str())).advice(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_option_has_a_doc_a_default_and_a_schema() {
        for kind in Layers::built_in().iter() {
            assert!(!kind.summary.is_empty() && !kind.summary.ends_with('.'), "{}", kind.name);
            for field in kind.fields() {
                let name = format!("{}.{}", kind.name, field.name);
                assert!(!field.doc.is_empty(), "{name} has no doc");
                assert!(!matches!(field.shape, Shape::Any), "{name} has no type");
                assert!(!field.required, "{name} has no default");
            }
            assert!(kind.build(serde_json::json!({})).is_ok(), "{}", kind.name);
        }
    }

    #[test]
    fn a_kind_of_the_same_name_replaces() {
        let kind = |version: &str| {
            LayerKind::new("x", "", version, false, serde_json::json!({}), |_| {
                Err(BuildError::Form("no".into()))
            })
        };
        let layers = Layers::default().with(kind("1")).with(kind("2"));
        assert_eq!(layers.iter().count(), 1);
        assert_eq!(layers.get("x").unwrap().version, "2");
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_or_the_list() {
        let layers = Layers::built_in();
        assert_eq!(layers.suggest("sliding_window"), "did you mean `sliding-window`?");
        assert_eq!(layers.suggest("sumarize"), "did you mean `summarize`?");
        assert_eq!(
            layers.suggest("banana"),
            "known layers: `tool-results`, `sliding-window`, `summarize`"
        );
    }
}
