//! The sections of `brute.toml`: their keys, what these are for, and their defaults.
//!
//! This is the one place for that. The check of files, the reference, the schema for editors and
//! `defaults.toml` all come from here and from the sections that live with what they configure.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::Amount;
use crate::archive::ArchiveOptions;
use crate::ladder::OnError;
use crate::layers::{Field, Shape, schema_of};
use crate::models::ModelEntry;
use crate::quantity::{ByteSize, Span};
use crate::summarizers::SummarizerOptions;
use crate::tokens::CounterKind;
use crate::truncation::TruncateOptions;

/// The version of the format. A file that says a later one needs a later brute.
pub(super) const VERSION: i64 = 1;

/// All of a file but the ladder, whose keys depend on the layers that are known.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Document {
    /// The version of the format of this file.
    #[schemars(range(min = 1))]
    pub version: u32,
    /// How much the model reads at once, and how that is counted.
    pub window: WindowOptions,
    /// When a compaction starts, and what it aims for. Both are amounts of the window: a fraction
    /// (`0.7`), a percentage (`"70%"`) or tokens (`90_000`).
    pub trigger: TriggerOptions,
    /// Level one: what a single tool result may take before the rest goes to disk.
    pub truncate: TruncateOptions,
    /// Where what compactions give up is kept, so that `brute restore` gives it back.
    pub archive: ArchiveOptions,
    /// What no layer may touch.
    pub keep: KeepOptions,
    /// Layers in dynamic libraries.
    pub plugins: PluginsOptions,
    /// Who writes summaries. Without this section nobody does, and no `summarize` can be in the ladder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summarizer: Option<SummarizerOptions>,
    /// Who is asked instead, from the top, where `[summarizer]` gives no answer that can be used. Each has the keys
    /// of a `[summarizer]`. A request is no larger than each of them takes. A file that has one replaces all of the
    /// files below it.
    pub fallback: Vec<SummarizerOptions>,
    /// Models that the table that ships does not know, or knows otherwise.
    pub models: BTreeMap<String, ModelEntry>,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            version: 1,
            window: WindowOptions::default(),
            trigger: TriggerOptions::default(),
            truncate: TruncateOptions::default(),
            archive: ArchiveOptions::default(),
            keep: KeepOptions::default(),
            plugins: PluginsOptions::default(),
            summarizer: None,
            fallback: Vec::new(),
            models: BTreeMap::new(),
        }
    }
}

/// How much the model reads at once, and how that is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WindowOptions {
    /// The model's name. It chooses `size` and `counter` from the table that ships, corrected by
    /// `[models]`. Left out, the model that a session names.
    #[schemars(example = &"gpt-4o")]
    pub model: Option<String>,
    /// The window in tokens, which input and reply share. Wins over what is known about the model.
    #[schemars(range(min = 1), example = 128_000)]
    pub size: Option<u64>,
    /// What counts tokens: `o200k`, `cl100k` or `approximate` (four characters to a token). Left out,
    /// what goes with the model, or `o200k`. Another counter than the model's takes no part in its `ratio`.
    #[schemars(example = &"o200k")]
    pub counter: Option<CounterKind>,
    /// What stays free for the reply: an amount of the window, or tokens. A compaction starts earlier
    /// than `compact-at` if this would be touched.
    pub reserve: Amount,
    /// The most bytes of a request on the wire, images and documents included: bytes, or a size such as
    /// `"32MB"`. A second limit beside the window: a compaction starts at the same share of it, and aims
    /// for the same share. Left out, what the model's provider publishes, if it does; 0 is no limit.
    #[schemars(example = &"32MB")]
    pub max_bytes: Option<ByteSize>,
}

impl Default for WindowOptions {
    fn default() -> Self {
        Self {
            model: None,
            size: None,
            counter: None,
            reserve: Amount::Share(0.1),
            max_bytes: None,
        }
    }
}

/// When a compaction starts, and what it aims for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TriggerOptions {
    /// The size of a request at which a compaction starts.
    pub compact_at: Amount,
    /// The size that a compaction aims for. Below `compact-at`.
    pub compact_to: Amount,
}

impl Default for TriggerOptions {
    fn default() -> Self {
        Self { compact_at: Amount::Share(0.7), compact_to: Amount::Share(0.4) }
    }
}

/// What no layer may touch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeepOptions {
    /// Tools whose calls and results stay as they are.
    #[schemars(example = ["todo_write"])]
    pub tools: Vec<String>,
}

/// Layers in dynamic libraries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PluginsOptions {
    /// Libraries, and folders of libraries, whose layers the ladder may name. In a file, a path begins at
    /// the folder of that file; a leading `~` is the home folder. A library is native code that runs with
    /// your rights: it is loaded only once you have said `brute plugins trust FILE`.
    #[schemars(example = ["plugins"])]
    pub path: Vec<String>,
}

/// A rung's own keys. Every other key is an option of its layer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RungOptions {
    /// The layer: which strategy plans.
    #[schemars(example = &"sliding-window")]
    pub layer: String,
    /// What events and reports call the rung. Left out, as its layer is called; needed where a layer
    /// stands in the ladder twice.
    #[serde(default)]
    #[schemars(example = &"last-resort")]
    pub name: Option<String>,
    /// The rung is asked only when this holds, beside the target not being met.
    #[serde(default)]
    pub when: Option<WhenOptions>,
    /// What happens when the layer fails, or the budget of its summarizer is used up.
    #[serde(default)]
    pub on_error: OnError,
    /// How long the layer may take, all its rounds together. Left out, as long as it wants; 60 seconds,
    /// if it comes from a plugin.
    #[serde(default)]
    #[schemars(example = &"90s")]
    pub timeout: Option<Span>,
}

/// When a rung is asked.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct WhenOptions {
    /// Only if the request is still larger than this amount of the window, or than what
    /// `window.reserve` leaves of it.
    #[schemars(example = 0.6)]
    pub above: Amount,
}

/// What `[[ladder]]` is for.
pub(super) const LADDER_DOC: &str = "\
The ladder: layers that are asked from the top, until the conversation is at its target.
Beside the keys that every rung has, a rung takes the options of its layer. A file that has a
ladder replaces the whole ladder of the files below it.";

/// The sections, in the order of the file, the ladder last. The fields of the ladder are those that
/// every rung has.
pub(super) fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut fields = Shape::of(&schema_of::<Document>()).into_fields();
        fields.push(Field {
            name: "ladder".into(),
            doc: LADDER_DOC.into(),
            default: None,
            example: None,
            required: false,
            shape: Shape::List(Box::new(Shape::Table(rung_fields().to_vec()))),
        });
        fields
    });
    &FIELDS
}

/// The keys that every rung has.
pub(super) fn rung_fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> =
        LazyLock::new(|| Shape::of(&schema_of::<RungOptions>()).into_fields());
    &FIELDS
}
