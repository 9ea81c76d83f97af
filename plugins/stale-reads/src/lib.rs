//! The `stale-reads` layer: replaces results that a later call made superfluous by a line that says which,
//! oldest first, until the conversation is under target. It asks no model.
//!
//! For coding agents, which read the same files again and again: all but the newest view of a file is at
//! best a copy and at worst wrong. So this layer costs the model next to nothing and stands best at the
//! top of a ladder.
//!
//! **What is superfluous**
//!
//! * A read of a file, once a later step reads at least as much of it, or writes to it.
//! * A result, once the same call of the same tool gave the same text again.
//!
//! **What supersedes nothing**: a failed call; a result that is itself superseded, or was cleared; a read
//! that shows less. A part of a file, by offset, limit or lines, is superseded only by a write or by a
//! read whose range covers it and whose text is long enough to hold it, so that a tool's own cap does not
//! pass for the whole file. A repeated read that shows less than half as much as the first may be a
//! tool's way to say "unchanged", and supersedes nothing either. Calls in one step supersede each
//! other only by the same text, since nobody knows which came first.
//!
//! Which tools read and write is known for the usual agents, and said for others in `tools`. Paths are
//! compared as they are written, but for `./`, `..`, doubled and turned slashes.
//!
//! ```toml
//! [[ladder]]
//! layer = "stale-reads"
//! keep-steps = 2
//! tools = { fetch_document = "read", change_document = "write" }
//! ```

mod access;
mod later;
mod path;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::BTreeMap;

use brute_core::{
    Configure, Host, LayerError, Mark, MarkKind, OptionsError, Plan, Relief, Strategy, Window,
    old_messages,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::tools::ToolUse;

use crate::later::{Later, Superseded};

/// What `brute.toml` may say about the layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// How many of the newest steps that call tools keep their results as they are, at least 1: the model
    /// has not acted on the newest results yet. A step is a reply of the model with the results of the
    /// tools that it called.
    #[schemars(range(min = 1))]
    pub keep_steps: u32,
    /// Results of fewer tokens than this, images included, stay as they are. 0 looks at every result. A
    /// result is never replaced by something larger, whatever this says.
    pub min_tokens: u32,
    /// What makes an earlier result superfluous.
    pub by: Vec<Cause>,
    /// What tools do with the file whose path they are given, by the name that the model calls them. What
    /// is said here goes before what is known of usual agents: `read`, `Read`, `read_file`, `view`, `cat`
    /// and the like read, `write`, `Edit`, `str_replace`, `apply_patch` and the like write, and tools such
    /// as `str_replace_editor` do both. Other tools do neither.
    pub tools: BTreeMap<String, ToolUse>,
    /// Under which argument a tool is given the path of the file, the first that is there. A tool that
    /// writes and has none is searched for the headers of a patch.
    pub path_keys: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        let keys = [
            "path",
            "file_path",
            "filePath",
            "filepath",
            "file",
            "filename",
            "file_name",
            "target_file",
            "targetFile",
            "absolute_path",
            "absolutePath",
            "AbsolutePath",
            "TargetFile",
            "relative_path",
            "relative_workspace_path",
            "notebook_path",
            "paths",
            "uri",
        ];
        Self {
            keep_steps: 1,
            min_tokens: 100,
            by: vec![Cause::Read, Cause::Write, Cause::Repeat],
            tools: BTreeMap::new(),
            path_keys: keys.map(str::to_owned).to_vec(),
        }
    }
}

/// What makes an earlier result superfluous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A later read of the same file that shows at least as much.
    Read,
    /// A later write to the same file.
    Write,
    /// The same text again, from the same call of the same tool.
    Repeat,
}

/// The layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StaleReads {
    options: Options,
}

impl Configure for StaleReads {
    type Options = Options;

    const NAME: &'static str = "stale-reads";
    const SUMMARY: &'static str =
        "replaces reads that a later read or write superseded, and repeated results";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn build(options: Options) -> Result<Self, OptionsError> {
        let refuse =
            |option, message: &str| Err(OptionsError { option, message: message.to_owned() });
        brute_core::check_keep_steps(options.keep_steps)?;
        if options.by.is_empty() {
            return refuse(
                "by",
                "`by` is empty, and must name at least one of `read`, `write` and `repeat`",
            );
        }
        let needs_paths = options.by.iter().any(|cause| *cause != Cause::Repeat);
        if needs_paths && options.path_keys.is_empty() {
            return refuse(
                "path-keys",
                "`path-keys` is empty, so no read and no write would be known (for repeated results alone, say `by = [\"repeat\"]`)",
            );
        }
        Ok(Self { options })
    }
}

impl Strategy for StaleReads {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        let mut relief = Relief::of(window, host);
        if relief.is_enough() {
            return Ok(Plan::decline());
        }
        let superseded = Later::search(window, &self.options);
        for message in old_messages(window, self.options.keep_steps) {
            if relief.is_enough() {
                break;
            }
            let Some(by) = superseded.get(&message.index()) else { continue };
            let Some((part, _)) = message.result() else { continue };
            let tokens = message.part_tokens(part);
            if tokens >= self.options.min_tokens {
                let tool = window.tool_of(message.index()).unwrap_or("a tool");
                relief.rewrite(&message, part, placeholder(tool, tokens, by));
            }
        }
        Ok(relief.into_plan())
    }
}

/// What stands where a result was. The call that it answers names the file.
fn placeholder(tool: &str, tokens: u32, by: &Superseded<'_>) -> String {
    let reason = match by.cause {
        Cause::Read => format!("a later call of `{}` shows this file again", by.tool),
        Cause::Write => format!("a later call of `{}` wrote to this file", by.tool),
        Cause::Repeat => "a later call gave the same result again".to_owned(),
    };
    let body = format!("The result of `{tool}` ({tokens} tokens) was removed: {reason}.");
    Mark { kind: MarkKind::Cleared, count: u64::from(tokens) }.write(&body)
}

#[cfg(feature = "export")]
brute_core::export_plugin!(StaleReads);
