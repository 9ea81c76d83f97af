//! The `[summarizer]` section of `brute.toml`.

use std::sync::Arc;

use brute_core::{
    Completion, CompletionError, OptionsError, Prompt, SummarizerLimits, TokenCounter,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fallback::InOrder;
#[cfg(feature = "servers")]
use super::server::{Interface, Server};
use super::{
    BoxFuture, BudgetOptions, Command, CommandOptions, Extract, ExtractOptions, ServerOptions,
    Summarizer, Watcher,
};
use crate::models::ModelTable;
use crate::truncation::sequences::plain;

/// What a build that asks no servers says to those that are to be asked.
#[cfg(not(feature = "servers"))]
const NO_SERVERS: &str = "this build of brute asks no servers: build it with the feature `servers`, which is on by \
                          default, or choose the backend `command` or `extract`";

/// Who writes summaries. Without this section nobody does, and the `summarize` layer declines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "backend", rename_all = "kebab-case")]
pub enum SummarizerOptions {
    /// A model behind a server that speaks OpenAI's chat completions: OpenAI, OpenRouter, Ollama, llama.cpp,
    /// vLLM, LM Studio and many more.
    Openai(ServerOptions),
    /// A model behind a server that speaks Anthropic's messages.
    Anthropic(ServerOptions),
    /// Any program: the prompt on its standard input, the summary on its standard output.
    Command(CommandOptions),
    /// No model at all: picks the lines that carry identifiers, decisions, errors and results.
    Extract(ExtractOptions),
}

impl SummarizerOptions {
    /// How much summaries may take.
    pub fn budget(&self) -> &BudgetOptions {
        match self {
            Self::Openai(options) | Self::Anthropic(options) => &options.budget,
            Self::Command(options) => &options.budget,
            Self::Extract(options) => &options.budget,
        }
    }

    /// The server that is asked, if one is.
    pub(crate) fn server(&self) -> Option<&ServerOptions> {
        match self {
            Self::Openai(options) | Self::Anthropic(options) => Some(options),
            Self::Command(_) | Self::Extract(_) => None,
        }
    }

    /// The summarizer that these options describe. `counter` is the one that measures conversations, `models`
    /// know the windows that are left out. Its answers have no terminal sequences in them, nor control characters
    /// but newline and tab.
    ///
    /// # Errors
    /// If an option is out of range, or a server is to be asked by a build without the feature `servers`.
    pub fn build(
        &self,
        counter: Arc<dyn TokenCounter>,
        models: &ModelTable,
    ) -> Result<Arc<dyn Summarizer>, OptionsError> {
        self.budget().check()?;
        Ok(match self {
            #[cfg(feature = "servers")]
            Self::Openai(options) => {
                Arc::new(Plain(Server::build(Interface::Openai, options.clone(), models)?))
            }
            #[cfg(feature = "servers")]
            Self::Anthropic(options) => {
                Arc::new(Plain(Server::build(Interface::Anthropic, options.clone(), models)?))
            }
            #[cfg(not(feature = "servers"))]
            Self::Openai(options) | Self::Anthropic(options) => {
                options.check()?;
                options.limit(models)?;
                return Err(OptionsError { option: "backend", message: NO_SERVERS.into() });
            }
            Self::Command(options) => Arc::new(Plain(Command::build(options.clone())?)),
            Self::Extract(ExtractOptions { .. }) => Arc::new(Plain(Extract::new(counter))),
        })
    }

    /// The summarizer that these options describe, and the `fallback`s that are asked in their order where one gives
    /// no answer that can be used.
    ///
    /// # Errors
    /// If an option is out of range.
    pub fn build_all(
        &self,
        fallback: &[Self],
        counter: &Arc<dyn TokenCounter>,
        models: &ModelTable,
    ) -> Result<Arc<dyn Summarizer>, OptionsError> {
        let first = self.build(Arc::clone(counter), models)?;
        if fallback.is_empty() {
            return Ok(first);
        }
        let rest = fallback.iter().map(|options| options.build(Arc::clone(counter), models));
        let all = std::iter::once(Ok(first)).chain(rest).collect::<Result<_, _>>()?;
        Ok(Arc::new(InOrder::new(all)))
    }
}

/// Keeps what only a terminal reads out of the answers of any backend: programs color what they write,
/// and records hold what tools printed.
struct Plain<S>(S);

impl<S: Summarizer> Summarizer for Plain<S> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn limits(&self) -> SummarizerLimits {
        self.0.limits()
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        self.complete_watched(prompt, &|_| {})
    }

    fn complete_watched<'a>(
        &'a self,
        prompt: &'a Prompt,
        watcher: &'a Watcher<'a>,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(async {
            let answer = self.0.complete_watched(prompt, watcher).await?;
            Ok(Completion { text: plain(&answer.text).into_owned(), ..answer })
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
            let built = options.build(Arc::new(Approximate), &ModelTable::shipped()).unwrap();
            assert_eq!(built.name(), name);
            let written = toml::to_string(&options).unwrap();
            assert_eq!(read(&written), Ok(options));
        }
    }

    #[test]
    fn servers_are_asked_by_a_build_that_has_the_feature() {
        let built = |text: &str| {
            let options = read(text).unwrap();
            let built = options.build(Arc::new(Approximate), &ModelTable::shipped());
            built.map(|built| built.name().to_owned()).map_err(|error| error.option)
        };
        for backend in ["openai", "anthropic"] {
            let text = format!(
                "backend = \"{backend}\"\nbase-url = \"https://api.example.com/v1\"\nmodel = \"gpt-4o\""
            );
            let expected = match cfg!(feature = "servers") {
                true => Ok(backend.to_owned()),
                false => Err("backend"),
            };
            assert_eq!(built(&text), expected);
            // What is wrong in itself is told first.
            assert_eq!(built(&format!("{text}\nretries = 11")), Err("retries"));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("", "missing field `backend`"),
            ("backend = \"ollama\"", "expected one of `openai`, `anthropic`, `command`, `extract`"),
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

    #[cfg(unix)]
    #[test]
    fn whoever_answers_answers_plain_text() {
        let odd = "\u{1b}[1mPath\u{1b}[0m:\t/srv/app/\0main.rs\u{7} failed with E0308\r\n";
        let plain = "Path:\t/srv/app/main.rs failed with E0308";
        let prompt = Prompt { instructions: String::new(), input: odd.into(), max_tokens: 500 };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for options in ["backend = \"command\"\ncommand = [\"cat\"]", "backend = \"extract\""] {
            let summarizer = read(options)
                .unwrap()
                .build(Arc::new(Approximate), &ModelTable::shipped())
                .unwrap();
            let text = runtime.block_on(summarizer.complete(&prompt)).unwrap().text;
            assert!(text.contains(plain), "{options}: {text:?}");
            let is_odd = |char: char| char.is_control() && char != '\n' && char != '\t';
            assert!(!text.contains(is_odd), "{options}: {text:?}");
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
            let Err(error) = options.build(Arc::new(Approximate), &ModelTable::shipped()) else {
                unreachable!("{text}")
            };
            assert_eq!(error.option, option);
        }
    }
}
