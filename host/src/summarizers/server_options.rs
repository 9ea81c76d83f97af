//! What `[summarizer]` says of a server with a model.

#[cfg(feature = "servers")]
use std::net::IpAddr;

use brute_core::OptionsError;
#[cfg(feature = "servers")]
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::models::ModelTable;
use crate::quantity::Span;
use crate::summarizers::{BudgetOptions, LEAST_WINDOW};

/// More tries than this are no help to anybody.
const MOST_RETRIES: u32 = 10;

/// What `[summarizer]` says with `backend = "openai"` or `backend = "anthropic"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ServerOptions {
    /// Where the server is: `https://api.openai.com/v1`, `https://api.anthropic.com/v1`,
    /// `http://127.0.0.1:11434/v1`. Without a path, `/v1` is meant. It reads what is summarized, so a
    /// `brute.toml` that was only found in a folder cannot say it. Proxies (`HTTPS_PROXY`, `NO_PROXY`) and
    /// certificates are those of the system.
    #[schemars(example = &"https://api.openai.com/v1")]
    pub base_url: String,
    /// The model, as the server calls it.
    #[schemars(example = &"gpt-4o-mini")]
    pub model: String,
    /// The name of the environment variable that holds the key. The key itself never stands in a file.
    /// Left out or empty, no key is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"OPENAI_API_KEY")]
    pub api_key_env: Option<String>,
    /// How much the model takes in one request, the reply included, in tokens. At least 1024. Left out,
    /// what is known about the model; needed where nothing is. A server may serve less than the model can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1024), example = 32_000)]
    pub window: Option<u32>,
    /// The longest reply in tokens, with all that the model thinks before it answers. Left out, as long as the
    /// summary may be; a model that thinks needs more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 64), example = 8_000)]
    pub max_tokens: Option<u32>,
    /// How long it may take until the answer begins, all tries and the waits between them together, and how long it
    /// may pause from then on. An answer that goes on is waited for ten times as long at most.
    #[serde(default = "default_timeout")]
    pub timeout: Span,
    /// Whether the answer comes piece by piece, so that one that takes long is told from one that never comes. A
    /// server that does not know how may send it whole all the same.
    #[serde(default = "default_stream")]
    pub stream: bool,
    /// How often it is asked again, at most 10, where that may help: after a lost connection, too many requests
    /// (the server says how long to wait), and failures of the server.
    #[serde(default = "default_retries")]
    #[schemars(range(max = 10))]
    pub retries: u32,
    /// The most that summaries may take, those of its fallbacks included.
    #[serde(default, skip_serializing_if = "BudgetOptions::is_empty")]
    pub budget: BudgetOptions,
}

fn default_timeout() -> Span {
    Span::from_secs(120)
}

fn default_stream() -> bool {
    true
}

fn default_retries() -> u32 {
    4
}

impl ServerOptions {
    /// The address that `path` has at the server.
    #[cfg(feature = "servers")]
    pub(super) fn url(&self, path: &str) -> Result<Url, OptionsError> {
        let wrong = |message: &str| OptionsError { option: "base-url", message: message.into() };
        let example = "write it as `https://api.example.com/v1`";
        let mut url = Url::parse(&self.base_url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| wrong(&format!("`base-url` is no address of a server; {example}")))?;
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            let key = "a key stays out of files: name the variable that holds it in `api-key-env`";
            return Err(wrong(&format!("`base-url` has more in it than an address; {key}")));
        }
        if url.fragment().is_some() {
            return Err(wrong(&format!("`base-url` has a `#` in it; {example}")));
        }
        let base = match url.path().trim_end_matches('/') {
            "" => "/v1",
            base => base.strip_suffix(path).unwrap_or(base),
        };
        let whole = format!("{base}{path}");
        url.set_path(&whole);
        Ok(url)
    }

    /// The host, if everybody on the way to it can read what is sent: another machine, without TLS.
    #[cfg(feature = "servers")]
    pub(crate) fn open_host(&self) -> Option<String> {
        let url = Url::parse(&self.base_url).ok().filter(|url| url.scheme() == "http")?;
        let host = url.host_str()?;
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_here = match address {
            Ok(address) => address.is_loopback(),
            Err(_) => host == "localhost" || host.ends_with(".localhost"),
        };
        (!is_here).then(|| host.to_owned())
    }

    /// The variable that holds the key, if one is named.
    pub(crate) fn key_variable(&self) -> Option<&str> {
        self.api_key_env.as_deref().filter(|name| !name.is_empty())
    }

    /// The largest request, in tokens.
    pub(super) fn limit(&self, models: &ModelTable) -> Result<u64, OptionsError> {
        let Some(window) =
            self.window.or_else(|| models.find(&self.model).map(|model| model.window))
        else {
            let message = format!(
                "no window is known for the model `{}`: say in `window` how many tokens it takes",
                self.model
            );
            return Err(OptionsError { option: "model", message });
        };
        // How long the layer wants its summary comes off the window there.
        let window = window.saturating_sub(self.max_tokens.unwrap_or_default());
        if window < LEAST_WINDOW {
            let (option, message) = match self.max_tokens {
                Some(_) => ("max-tokens", "`max-tokens` leaves less than 1024 tokens of `window`"),
                None => ("window", "`window` must be at least 1024 tokens"),
            };
            return Err(OptionsError { option, message: message.into() });
        }
        Ok(u64::from(window))
    }

    /// Whether the rest can be used.
    ///
    /// # Errors
    /// The first option that cannot.
    pub(super) fn check(&self) -> Result<(), OptionsError> {
        let wrong = |option, message: &str| Err(OptionsError { option, message: message.into() });
        if self.model.trim().is_empty() {
            return wrong("model", "`model` is empty; name the model as the server calls it");
        }
        if self.key_variable().is_some_and(|name| !is_variable(name)) {
            return wrong(
                "api-key-env",
                "`api-key-env` is the name of an environment variable, in capitals as in `OPENAI_API_KEY`; \
                 a key itself stays out of files",
            );
        }
        if self.timeout.as_secs() == 0 {
            return wrong("timeout", "`timeout` is 0, which leaves no time to answer");
        }
        if self.max_tokens.is_some_and(|most| most < 64) {
            return wrong("max-tokens", "`max-tokens` must be at least 64");
        }
        if self.retries > MOST_RETRIES {
            return wrong("retries", "`retries` must be at most 10");
        }
        Ok(())
    }
}

/// Whether this can be the name of a variable with a key. Capitals alone, so that hardly a key can be taken
/// for one.
pub(crate) fn is_variable(name: &str) -> bool {
    let is_part = |char: char| char.is_ascii_uppercase() || char.is_ascii_digit() || char == '_';
    name.chars().all(is_part) && !name.starts_with(|char: char| char.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(base_url: &str) -> ServerOptions {
        ServerOptions {
            base_url: base_url.into(),
            model: "gpt-4o".into(),
            api_key_env: None,
            window: None,
            max_tokens: None,
            timeout: default_timeout(),
            stream: default_stream(),
            retries: default_retries(),
            budget: BudgetOptions::default(),
        }
    }

    #[cfg(feature = "servers")]
    #[test]
    fn an_address_may_be_written_in_the_usual_ways() {
        for (written, meant) in [
            ("https://api.example.com/v1", "https://api.example.com/v1/messages"),
            ("https://api.example.com/v1/", "https://api.example.com/v1/messages"),
            ("https://api.example.com", "https://api.example.com/v1/messages"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/messages"),
            ("https://api.example.com/v1/messages", "https://api.example.com/v1/messages"),
            ("https://example.com/api/anthropic", "https://example.com/api/anthropic/messages"),
        ] {
            assert_eq!(options(written).url("/messages").unwrap().as_str(), meant);
        }
    }

    #[cfg(feature = "servers")]
    #[test]
    fn what_is_no_address_is_refused_and_not_repeated() {
        for written in [
            "",
            "localhost",
            "api.example.com/v1",
            "file:///etc/passwd",
            "ftp://example.com",
            "https://",
            "https://me:sk-planted@example.com/v1",
            "https://sk-planted@example.com/v1",
            "https://example.com/v1?key=sk-planted",
            "https://example.com/v1#sk-planted",
        ] {
            let error = options(written).url("/messages").unwrap_err();
            assert_eq!(error.option, "base-url");
            assert!(!error.message.contains("planted"), "{error}");
        }
    }

    #[test]
    fn a_key_is_not_the_name_of_a_variable() {
        for (name, fine) in [
            ("OPENAI_API_KEY", true),
            ("_K2", true),
            ("", true),
            ("sk-ant-0123", false),
            ("sk_live_0123", false),
            ("0123456789ABCDEF", false),
            ("$OPENAI_API_KEY", false),
            ("A B", false),
        ] {
            let named = ServerOptions { api_key_env: Some(name.into()), ..options("http://x") };
            let checked = named.check();
            assert_eq!(checked.is_ok(), fine, "{name}");
            assert!(checked.err().is_none_or(|error| !error.message.contains(name)));
        }
    }

    #[test]
    fn the_window_is_said_or_known() {
        let models = ModelTable::shipped();
        let known = options("http://x");
        assert_eq!(known.limit(&models), Ok(128_000));
        let said = ServerOptions { window: Some(8_000), max_tokens: Some(2_000), ..known.clone() };
        assert_eq!(said.limit(&models), Ok(6_000));
        for (wrong, option) in [
            (ServerOptions { model: "nobody-knows".into(), ..known.clone() }, "model"),
            (ServerOptions { window: Some(500), ..known.clone() }, "window"),
            (ServerOptions { max_tokens: Some(200_000), ..known.clone() }, "max-tokens"),
        ] {
            assert_eq!(wrong.limit(&models).unwrap_err().option, option);
        }
        for (wrong, option) in [
            (ServerOptions { model: " ".into(), ..known.clone() }, "model"),
            (ServerOptions { timeout: Span::from_secs(0), ..known.clone() }, "timeout"),
            (ServerOptions { max_tokens: Some(1), ..known.clone() }, "max-tokens"),
            (ServerOptions { retries: 11, ..known.clone() }, "retries"),
        ] {
            assert_eq!(wrong.check().unwrap_err().option, option);
        }
    }
}
