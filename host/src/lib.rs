//! Everything around the layers: formats, counters, configuration, the ladder, truncation to disk.
//!
//! This is what an agent embeds. The way of a conversation through the crate:
//! [`formats::Document`] reads it, [`ladder::Compactor`] makes it fit, the document writes it back.
//! [`config::Config`] says how, [`tokens`] and [`models`] how large things are, and [`truncation`]
//! caps tool results before they get that far. An [`archive::Archive`] keeps what a compaction gave up.
//!
//! # Features
//!
//! Both are on by default, and half of what is built is for them. With neither, this crate and all that it needs are 80
//! crates (`cargo tree -e normal,build`) instead of 175.
//!
//! * `servers`: the summarizers `openai` and `anthropic`, with an HTTP client and TLS. Whoever brings a summarizer of
//!   their own, or takes `command` or `extract`, needs none of it. Without it, a `brute.toml` that names a server is
//!   read, and refused with an error that says so.
//! * `plugins`: layers from dynamic libraries. Without it, the libraries that a `brute.toml` names are not opened, and
//!   told of as refused.

pub mod archive;
pub mod config;
pub mod formats;
pub mod guard;
pub mod ladder;
pub mod layers;
mod limit;
mod lines;
pub mod models;
pub mod plugins;
pub mod quantity;
pub mod replay;
pub mod session_log;
pub mod shown;
pub mod summarizers;
pub mod system;
pub mod tokens;
pub mod transcripts;
pub mod truncation;

/// What layers and conversations are made of, for programs that depend on this crate alone.
pub use brute_core as core;
/// The layers that ship, for ladders that are made in code.
pub use {
    brute_sliding_window as sliding_window, brute_summarize as summarize,
    brute_tool_results as tool_results,
};

/// The README's embedding, kept honest.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
    }

    /// Who embeds this crate depends on no other one of the workspace.
    #[test]
    fn no_example_needs_another_crate_of_the_workspace() {
        let sources = sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")));
        let mut examples = 0;
        for path in sources {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            for line in text.lines().map(str::trim_start) {
                let Some(doc) = ["///", "//!"].iter().find_map(|head| line.strip_prefix(head))
                else {
                    continue;
                };
                let Some((_, used)) = doc.split_once("use brute_") else { continue };
                assert!(used.starts_with("host::"), "{}: {line}", path.display());
                examples += 1;
            }
        }
        assert!(examples > 20, "{examples}");
    }
}
