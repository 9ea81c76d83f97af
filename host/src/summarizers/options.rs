//! The `[summarizer]` section of `brute.toml`.

use std::sync::Arc;

use brute_core::{OptionsError, TokenCounter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Command, CommandOptions, Extract, ExtractOptions, Summarizer};

/// Who writes summaries. Without this section nobody does, and the `summarize` layer declines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "backend", rename_all = "kebab-case")]
pub enum SummarizerOptions {
    /// Any program: the prompt on its standard input, the summary on its standard output.
    Command(CommandOptions),
    /// No model at all: picks the lines that carry identifiers, decisions, errors and results.
    Extract(ExtractOptions),
}

impl SummarizerOptions {
    /// The summarizer that these options describe. `counter` is the one that measures conversations.
    ///
    /// # Errors
    /// If an option is out of range.
    pub fn build(
        &self,
        counter: Arc<dyn TokenCounter>,
    ) -> Result<Arc<dyn Summarizer>, OptionsError> {
        Ok(match self {
            Self::Command(options) => Arc::new(Command::build(options.clone())?),
            Self::Extract(ExtractOptions {}) => Arc::new(Extract::new(counter)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Span;
    use brute_core::Approximate;

    fn read(text: &str) -> Result<SummarizerOptions, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
    }

    #[test]
    fn both_backends_are_read_and_built() {
        let command = read("backend = \"command\"\ncommand = [\"llm\", \"-m\", \"x\"]").unwrap();
        let SummarizerOptions::Command(options) = &command else { unreachable!() };
        assert_eq!(options.timeout, Span::from_secs(60));
        assert_eq!(options.window, 32_000);
        for (options, name) in
            [(command.clone(), "command"), (read("backend = \"extract\"").unwrap(), "extract")]
        {
            let built = options.build(Arc::new(Approximate)).unwrap();
            assert_eq!(built.name(), name);
            let written = toml::to_string(&options).unwrap();
            assert_eq!(read(&written), Ok(options));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("", "missing field `backend`"),
            ("backend = \"ollama\"", "expected `command` or `extract`"),
            ("backend = \"command\"", "missing field `command`"),
            ("backend = \"command\"\ncommand = [\"x\"]\nmodel = \"y\"", "unknown field `model`"),
            ("backend = \"extract\"\nmodel = \"y\"", "unknown field `model`"),
            (
                "backend = \"command\"\ncommand = [\"x\"]\ntimeout = \"soon\"",
                "expected a whole number of seconds",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        for (text, option) in [
            ("command = []", "command"),
            ("command = [\" \"]", "command"),
            ("command = [\"x\"]\ntimeout = 0", "timeout"),
            ("command = [\"x\"]\nwindow = 100", "window"),
        ] {
            let options = read(&format!("backend = \"command\"\n{text}")).unwrap();
            let Err(error) = options.build(Arc::new(Approximate)) else { unreachable!("{text}") };
            assert_eq!(error.option, option);
        }
    }
}
