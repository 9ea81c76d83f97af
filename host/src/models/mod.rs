//! What is known about models: the window, and how text and images count. A table ships; a user's
//! `brute.toml` corrects and extends it.
//!
//! ```
//! use brute_host::models::ModelTable;
//!
//! let table = ModelTable::shipped();
//! let model = table.find("openrouter/anthropic/claude-sonnet-4.5:free").unwrap();
//! assert_eq!(model.name, "claude-sonnet-4-5");
//! assert_eq!(model.window, 200_000);
//! ```

mod name;
mod price;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::ByteSize;
use crate::tokens::CounterKind;
use crate::tokens::media::ImageRule;

pub use price::Price;

/// Who makes a model. Decides how media count where no model says otherwise.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// GPT and the o-series.
    Openai,
    /// Claude.
    Anthropic,
    /// Gemini and Gemma.
    Google,
    /// DeepSeek.
    Deepseek,
    /// Qwen, of Alibaba.
    Qwen,
    /// Llama.
    Meta,
    /// Mistral.
    Mistral,
    /// Kimi.
    Moonshot,
    /// GLM.
    Zhipu,
    /// Grok.
    Xai,
    /// Anyone else.
    #[default]
    Other,
}

/// `[models."NAME"]` in `brute.toml`: corrects a model of the table that ships, or adds one.
///
/// The name also stands for names that continue it after `-`, `:`, `@`, `_` or `[`, and with a
/// `*` at its end for every name that begins so; the longest fitting name wins. What is left out
/// comes from the model that the name meant before; a name that meant none needs `window`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModelEntry {
    /// Who makes it. Default: `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    /// Tokens that input and reply share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub window: Option<u32>,
    /// What counts its text. Default: `o200k`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<CounterKind>,
    /// Tokens that the model's provider counts for each token that `counter` finds in a text. All
    /// sizes are multiplied by it, framing and media aside. Default: 1.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.1, max = 10.0))]
    pub ratio: Option<f64>,
    /// How images count. Default: the provider's usual rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_rule: Option<ImageRule>,
    /// What it costs, so that reports can say what summaries cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// One model, or a family of models that agree on all of this.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Model {
    /// The name in the table. A trailing `*` marks a family.
    pub name: String,
    /// Who makes it.
    pub provider: Provider,
    /// Tokens that input and reply share.
    pub window: u32,
    /// What counts its text.
    pub counter: CounterKind,
    /// Tokens that its provider counts for each token that the counter finds in a text.
    pub ratio: f64,
    /// How its images count.
    pub image_rule: ImageRule,
    /// What it costs, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// An entry that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// A model that the table does not know came without a window.
    #[error("`models.\"{name}\"` needs `window`: no model that ships has this name")]
    NoWindow {
        /// The entry.
        name: String,
    },
    /// A number of tokens is zero.
    #[error("`models.\"{name}\".{key}` is 0; give the number of tokens or leave it out")]
    Zero {
        /// The entry.
        name: String,
        /// `window`.
        key: &'static str,
    },
    /// A ratio that no tokenizer has.
    #[error("`models.\"{name}\".ratio` is {ratio}; it lies between 0.1 and 10")]
    Ratio {
        /// The entry.
        name: String,
        /// The value, as written.
        ratio: String,
    },
    /// A price that is none.
    #[error("`models.\"{name}\".price.{key}` is {price}; give US dollars for a million tokens")]
    Price {
        /// The entry.
        name: String,
        /// `input`, `cached` or `output`.
        key: &'static str,
        /// The value, as written.
        price: String,
    },
    /// A name without a letter or digit.
    #[error("`models.\"{name}\"` is no model name")]
    Name {
        /// The entry.
        name: String,
    },
}

/// Models by name.
///
/// ```
/// use brute_host::models::{ModelEntry, ModelTable};
///
/// let entry = ModelEntry { window: Some(32_000), ..ModelEntry::default() };
/// let table = ModelTable::shipped().with_overrides([("gpt-4o".to_owned(), entry)]).unwrap();
/// assert_eq!(table.find("gpt-4o").unwrap().window, 32_000);
/// assert_eq!(table.find("gpt-4o").unwrap().ratio, 1.0);
/// assert_eq!(table.suggest("gtp-4o"), Some("gpt-4o"));
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelTable {
    /// Under their normalized names.
    models: BTreeMap<String, Model>,
    max_bytes: BTreeMap<Provider, ByteSize>,
}

/// The file that ships.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Shipped {
    max_bytes: BTreeMap<Provider, ByteSize>,
    models: BTreeMap<String, ModelEntry>,
}

const SHIPPED: &str = include_str!("models.toml");

/// What most other vocabularies need for the text of an agent, against `o200k`.
const USUAL_RATIO: f64 = 1.1;

impl ModelTable {
    /// The table that ships.
    #[must_use]
    pub fn shipped() -> Self {
        // The file is part of the program and a test reads it, so there is no failure to report.
        static TABLE: LazyLock<ModelTable> = LazyLock::new(|| {
            toml::from_str(SHIPPED).ok().and_then(ModelTable::of).unwrap_or_default()
        });
        TABLE.clone()
    }

    fn of(Shipped { max_bytes, models }: Shipped) -> Option<Self> {
        Self { max_bytes, ..Self::default() }.with_overrides(models).ok()
    }

    /// The most bytes that a request to this provider may have on the wire, if it publishes a figure.
    ///
    /// ```
    /// use brute_host::models::{ModelTable, Provider};
    /// assert_eq!(ModelTable::shipped().max_bytes(Provider::Anthropic), Some(32 << 20));
    /// ```
    #[must_use]
    pub fn max_bytes(&self, provider: Provider) -> Option<u64> {
        self.max_bytes.get(&provider).map(|bytes| bytes.0)
    }

    /// This table with a user's entries on top.
    ///
    /// # Errors
    ///
    /// Every entry that cannot be used, not the first alone.
    pub fn with_overrides(
        mut self,
        entries: impl IntoIterator<Item = (String, ModelEntry)>,
    ) -> Result<Self, Vec<ModelError>> {
        // All look at the table as it was, so their order means nothing.
        let (models, errors): (Vec<_>, Vec<_>) = entries
            .into_iter()
            .map(|(name, entry)| self.resolve(name, entry))
            .partition(Result::is_ok);
        let errors: Vec<_> = errors.into_iter().filter_map(Result::err).collect();
        if !errors.is_empty() {
            return Err(errors);
        }
        self.models.extend(models.into_iter().flatten());
        Ok(self)
    }

    fn resolve(&self, name: String, entry: ModelEntry) -> Result<(String, Model), ModelError> {
        let family = name.trim().ends_with('*');
        let mut key = name::normalize(name.trim().trim_end_matches('*'));
        if !key.contains(|c: char| c.is_alphanumeric()) {
            return Err(ModelError::Name { name });
        }
        let base = self.longest(&key);
        if family {
            key.push('*');
        }
        if entry.window == Some(0) {
            return Err(ModelError::Zero { name, key: "window" });
        }
        if let Some(ratio) = entry.ratio.filter(|ratio| !(0.1..=10.0).contains(ratio)) {
            let ratio = ratio.to_string();
            return Err(ModelError::Ratio { name, ratio });
        }
        if let Some((of, price)) = entry.price.and_then(|price| price.fault()) {
            return Err(ModelError::Price { name, key: of, price: price.to_string() });
        }
        let Some(window) = entry.window.or(base.map(|base| base.window)) else {
            return Err(ModelError::NoWindow { name });
        };
        let provider = entry.provider.or(base.map(|base| base.provider)).unwrap_or_default();
        let model = Model {
            name,
            provider,
            window,
            counter: entry.counter.or(base.map(|base| base.counter)).unwrap_or_default(),
            ratio: entry.ratio.or(base.map(|base| base.ratio)).unwrap_or(USUAL_RATIO),
            image_rule: entry
                .image_rule
                // Another provider has other rules.
                .or(base.filter(|base| base.provider == provider).map(|base| base.image_rule))
                .unwrap_or_else(|| provider.into()),
            // A name that only begins as another one may be another model, at another price.
            price: entry.price.or(self.models.get(&key).and_then(|own| own.price)),
        };
        Ok((key, model))
    }

    /// The model that a request's name means: the same name, else the longest that fits.
    ///
    /// Case, the path of a router (`openrouter/anthropic/…`, `models/…`), the regions of Bedrock
    /// (`us.anthropic.…-v1:0`), variants (`:free`, `@20250929`) and dates do not matter.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Model> {
        self.longest(&name::normalize(name))
    }

    /// What the model of this name costs, if that is known. A name that only begins as one in the table may be of a
    /// cheaper or dearer model; dates and `latest` say nothing of that.
    ///
    /// ```
    /// use brute_host::models::ModelTable;
    ///
    /// let table = ModelTable::shipped();
    /// assert_eq!(table.price("gpt-4o-2024-08-06").unwrap().output, 10.0);
    /// assert_eq!(table.price("gpt-4o-audio-preview"), None);
    /// ```
    #[must_use]
    pub fn price(&self, name: &str) -> Option<Price> {
        let name = name::normalize(name);
        let model = self.longest(&name)?;
        let key = name::normalize(model.name.trim_end_matches('*'));
        let rest = name.strip_prefix(&key)?;
        let is_same = model.name.ends_with('*') || is_release(rest);
        model.price.filter(|_| is_same)
    }

    fn longest(&self, normalized: &str) -> Option<&Model> {
        if let Some(model) = self.models.get(normalized) {
            return Some(model);
        }
        self.models
            .iter()
            .filter(|(key, _)| match key.strip_suffix('*') {
                Some(family) => normalized.starts_with(family),
                None => normalized
                    .strip_prefix(key.as_str())
                    .is_some_and(|rest| rest.starts_with(['-', ':', '@', '_', '['])),
            })
            .max_by_key(|(key, _)| key.trim_end_matches('*').len())
            .map(|(_, model)| model)
    }

    /// The name in the table that is most like an unknown one, for "did you mean".
    #[must_use]
    pub fn suggest(&self, name: &str) -> Option<&str> {
        let wanted = name::normalize(name);
        self.models
            .iter()
            .filter(|(key, _)| !key.ends_with('*'))
            .map(|(key, model)| (strsim::jaro_winkler(key, &wanted), model))
            .filter(|(likeness, _)| *likeness >= 0.85)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, model)| model.name.as_str())
    }

    /// All models, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Model> {
        self.models.values()
    }
}

/// Whether a name goes on with nothing but a date, such as `-2024-08-06`, `-20250514` or `-0613`, or with `-latest`.
fn is_release(rest: &str) -> bool {
    let Some(release) = rest.strip_prefix(['-', '_']) else { return rest.is_empty() };
    let is_digits = |word: &str| word.chars().all(|char| char.is_ascii_digit());
    let year = release.split('-').next().unwrap_or_default();
    release == "latest" || year.len() >= 4 && release.split('-').all(is_digits)
}

#[cfg(test)]
mod tests;
