//! The `[truncate]` section of `brute.toml`.

use std::collections::BTreeMap;

use brute_core::truncation::{Keep, Limits, MIN_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SpillFolder;
use crate::quantity::{ByteSize, Span};

/// Level one: what a single tool result may take before the rest goes to disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct TruncateOptions {
    /// The most lines of a result that go on, the notice included.
    #[schemars(range(min = 1))]
    pub max_lines: usize,
    /// The most bytes of a result that go on, the notice included: bytes, or a size such as `"50KB"`.
    /// At least 1 KB, so that the notice has room.
    pub max_bytes: ByteSize,
    /// The most characters of one line that go on, beside the mark that says how many are missing.
    #[schemars(range(min = 1))]
    pub max_line_chars: usize,
    /// Which part is kept: `head`, `tail` or `ends`.
    pub keep: Keep,
    /// Whether terminal control sequences (colors, cursor moves, titles, addresses of links) are taken
    /// out of a result before it is measured. That alone saves nothing to disk: no word is lost. Where
    /// something is cut as well, the full text is saved with them. What lacks its end loses its beginning
    /// alone, and the eight-bit forms (U+0080 to U+009F) stay.
    pub strip_ansi: bool,
    /// The folder for the full texts. A leading `~` is the home folder; left out, it is `tool-output`
    /// in brute's folder for data (`~/.local/share/brute` on Linux). Empty: full texts are not saved.
    /// In a file, a relative path begins at the folder of that file; in `--set`, at the current folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill: Option<String>,
    /// The folder that notices name instead of `spill`, where the reader sees it under another path,
    /// inside a container for instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shown_spill: Option<String>,
    /// The folders that the agent's tool for reading files can open. A leading `~` is the home folder,
    /// links are followed. If full texts go anywhere else, there is a warning, and notices name no path:
    /// they say that the text is kept for the operator. With `shown-spill`, the folders as the reader
    /// sees them. Empty: it is not known that there is a limit. In a file, relative paths begin at the
    /// folder of that file; in `--set`, at the current folder.
    #[schemars(example = ["."])]
    pub readable: Vec<String>,
    /// Full texts that were not saved, or saved again, for so long are removed: by `brute truncate`, once
    /// an hour, and by programs that sweep. These can spare what a conversation that lives still names.
    pub max_age: Span,
    /// The most that full texts may take together; the least recently used go first.
    pub max_total: ByteSize,
    /// Other limits for the results of single tools, by the tool's name.
    pub tools: BTreeMap<String, ToolOptions>,
}

impl Default for TruncateOptions {
    fn default() -> Self {
        let limits = Limits::default();
        Self {
            max_lines: limits.max_lines,
            max_bytes: ByteSize(limits.max_bytes as u64),
            max_line_chars: limits.max_line_chars,
            keep: limits.keep,
            strip_ansi: false,
            spill: None,
            shown_spill: None,
            readable: Vec::new(),
            max_age: Span::from_secs(7 * 86_400),
            max_total: ByteSize(1 << 30),
            tools: BTreeMap::new(),
        }
    }
}

/// What is different for the results of one tool. What is left out is as for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ToolOptions {
    /// Leave the results of this tool alone: it truncates by itself.
    pub skip: bool,
    /// The most lines of a result, the notice included.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_lines: Option<usize>,
    /// The most bytes of a result, the notice included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<ByteSize>,
    /// The most characters of one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_line_chars: Option<usize>,
    /// Which part is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<Keep>,
    /// Whether terminal control sequences are taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strip_ansi: Option<bool>,
}

/// A limit that cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` is {value}, which leaves no room for the notice; give at least {least}")]
pub struct LimitError {
    /// The key, from the section down: `truncate.tools.shell.max-bytes`.
    pub key: String,
    /// What it says.
    pub value: u64,
    /// The least that it may be.
    pub least: u64,
}

impl TruncateOptions {
    /// The limits for results of `tool`; `None` if they are to be left alone.
    pub fn limits(&self, tool: Option<&str>) -> Option<Limits> {
        let none = ToolOptions::default();
        let own = tool.and_then(|tool| self.tools.get(tool)).unwrap_or(&none);
        (!own.skip).then(|| Limits {
            max_lines: own.max_lines.unwrap_or(self.max_lines),
            max_bytes: own.max_bytes.unwrap_or(self.max_bytes).as_usize(),
            max_line_chars: own.max_line_chars.unwrap_or(self.max_line_chars),
            keep: own.keep.unwrap_or(self.keep),
        })
    }

    /// Whether terminal control sequences are taken out of results of `tool`.
    pub fn strips(&self, tool: Option<&str>) -> bool {
        let own = tool.and_then(|tool| self.tools.get(tool));
        own.and_then(|own| own.strip_ansi).unwrap_or(self.strip_ansi)
    }

    /// Where full texts go, and what notices say of it.
    pub fn spill_folder(&self) -> SpillFolder {
        SpillFolder::new(self.spill.as_deref(), self.shown_spill.as_deref())
            .readable_in(&self.readable)
    }

    /// Looks for limits that are too small to work with.
    ///
    /// # Errors
    /// Every one that is, not only the first.
    pub fn check(&self) -> Result<(), Vec<LimitError>> {
        let mut errors = Vec::new();
        let mut at_least = |key: String, value: Option<u64>, least: usize| {
            let least = least as u64;
            if let Some(value) = value.filter(|value| *value < least) {
                errors.push(LimitError { key, value, least });
            }
        };
        at_least("truncate.max-lines".into(), Some(self.max_lines as u64), 1);
        at_least("truncate.max-bytes".into(), Some(self.max_bytes.0), MIN_BYTES);
        at_least("truncate.max-line-chars".into(), Some(self.max_line_chars as u64), 1);
        for (tool, own) in &self.tools {
            let key = |name| format!("truncate.tools.{tool}.{name}");
            at_least(key("max-lines"), own.max_lines.map(|value| value as u64), 1);
            at_least(key("max-bytes"), own.max_bytes.map(|value| value.0), MIN_BYTES);
            at_least(key("max-line-chars"), own.max_line_chars.map(|value| value as u64), 1);
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TruncateOptions, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn an_empty_section_has_the_documented_defaults() {
        let options = parse("").unwrap();
        assert_eq!(options, TruncateOptions::default());
        assert_eq!(options.limits(None), Some(Limits::default()));
        assert!(options.check().is_ok());
        assert_eq!(options.max_age.to_string(), "7d");
        assert_eq!(options.max_total.to_string(), "1GB");
    }

    #[test]
    fn a_tool_overrides_what_it_names() {
        let options = parse(
            "max-lines = 100\nmax-bytes = \"1MiB\"\n\
             strip-ansi = true\n\
             [tools]\nshell = { keep = \"tail\", max-bytes = 2048 }\nread = { skip = true }\n\
             tui = { strip-ansi = false }\n",
        )
        .unwrap();
        let shell = options.limits(Some("shell")).unwrap();
        assert_eq!((shell.max_lines, shell.max_bytes, shell.keep), (100, 2048, Keep::Tail));
        assert_eq!(options.limits(Some("read")), None);
        assert_eq!(options.limits(Some("other")).unwrap().max_bytes, 1 << 20);
        assert!(options.strips(None) && options.strips(Some("shell")));
        assert!(!options.strips(Some("tui")));
    }

    #[test]
    fn what_does_not_work_is_refused() {
        assert!(
            parse("max-line = 3").unwrap_err().to_string().contains("unknown field `max-line`")
        );
        assert!(parse("tools = { x = { keeps = 1 } }").is_err());
        let options = parse("max-lines = 0\ntools = { x = { max-bytes = 10 } }").unwrap();
        let errors: Vec<_> = options.check().unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "`truncate.max-lines` is 0, which leaves no room for the notice; give at least 1",
                "`truncate.tools.x.max-bytes` is 10, which leaves no room for the notice; give at least 1024",
            ]
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let mut options = TruncateOptions { spill: Some("~/x".into()), ..Default::default() };
        options.tools.insert("shell".into(), ToolOptions { skip: true, ..Default::default() });
        let text = toml::to_string(&options).unwrap();
        assert_eq!(parse(&text).unwrap(), options);
    }
}
