//! The `[archive]` section of `brute.toml`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{ByteSize, Span};

/// Where what compactions give up is kept, so that `brute restore` gives it back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArchiveOptions {
    /// The folder of the archive, a file for each session. A leading `~` is the home folder. Left out or
    /// empty, nothing is archived. In a file, a relative path begins at the folder of that file; in
    /// `--set`, at the current folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"~/.local/share/brute/archive")]
    pub folder: Option<String>,
    /// Sessions that nothing was added to for so long are removed: by `brute compact`, once an hour, and
    /// by programs that sweep. These can spare the sessions that live.
    pub max_age: Span,
    /// The most that all sessions may take together; those that were added to the longest time ago go
    /// first.
    pub max_total: ByteSize,
}

impl Default for ArchiveOptions {
    fn default() -> Self {
        Self { folder: None, max_age: Span::from_secs(30 * 86_400), max_total: ByteSize(1 << 30) }
    }
}
