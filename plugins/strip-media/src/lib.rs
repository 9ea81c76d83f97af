//! The `strip-media` layer: replaces old images and documents by a line that says what they were,
//! oldest first, until the conversation is under target. It asks no model.
//!
//! For agents that look at screens or read scans: each screenshot costs a thousand tokens or more, and
//! all but the newest show what is not there any more.
//!
//! A medium becomes a line of text in its place. Media beside the text of a tool result go together,
//! since a result can only be rewritten whole; its text stays and the line stands behind it. The notes
//! carry no mark of a compaction: a person's message that held only an image stays that person's, and the
//! text of a result can still be cleared by another layer.
//!
//! ```toml
//! [[ladder]]
//! layer = "strip-media"
//! keep-newest = 2
//! kinds = ["image/*"]
//! ```

#[cfg(test)]
mod tests;

use brute_core::truncation::Notice;
use brute_core::{
    Configure, Host, LayerError, Mark, MessageView, OptionsError, PartView, Plan, Relief,
    ResultView, Role, Strategy, Window, old_messages,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `brute.toml` may say about the layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// How many of the newest steps that call tools keep their media, at least 1. A step is a reply of the
    /// model with the results of the tools that it called. What a person showed with the newest request
    /// stays, too.
    #[schemars(range(min = 1))]
    pub keep_steps: u32,
    /// How many media stay, the newest ones, wherever they stand. Of a result with several, all stay if one
    /// does.
    pub keep_newest: u32,
    /// Media of fewer tokens than this stay; those beside a result's text count together.
    pub min_tokens: u32,
    /// Which media of messages go, by their kind: `image/png` for one, `image/*` for all images, `*` for
    /// anything. An image whose kind is unknown is called `image`, a sound `audio`.
    pub kinds: Vec<String>,
    /// Whether media beside the text of tool results go. A layer cannot see of which kind these are, so
    /// `kinds` says nothing about them.
    pub results: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            keep_steps: 1,
            keep_newest: 1,
            min_tokens: 100,
            kinds: vec!["*".to_owned()],
            results: true,
        }
    }
}

/// The layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StripMedia {
    options: Options,
}

impl Configure for StripMedia {
    type Options = Options;

    const NAME: &'static str = "strip-media";
    const SUMMARY: &'static str = "replaces old images and documents by a line each, oldest first";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn build(options: Options) -> Result<Self, OptionsError> {
        let refuse =
            |option, message: &str| Err(OptionsError { option, message: message.to_owned() });
        brute_core::check_keep_steps(options.keep_steps)?;
        if options.kinds.is_empty() && !options.results {
            return refuse(
                "kinds",
                "`kinds` is empty and `results` is false, so nothing could go (for all media, say `kinds = [\"*\"]`)",
            );
        }
        if let Some(kind) = options.kinds.iter().find(|kind| !is_pattern(kind)) {
            let message = format!(
                "`kinds` has {kind:?}, and must name kinds such as `image/png`, `image/*` or `*`"
            );
            return Err(OptionsError { option: "kinds", message });
        }
        Ok(Self { options })
    }
}

impl Strategy for StripMedia {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        let mut relief = Relief::of(window, host);
        if relief.is_enough() {
            return Ok(Plan::decline());
        }
        let current = window.outline().current().map_or(0, |turn| turn.span.start);
        let newest = self.newest_media(window);
        for message in old_messages(window, self.options.keep_steps) {
            let is_request = message.role() == Role::User && message.index() >= current;
            if is_request || holds_signed_reasoning(&message) {
                continue;
            }
            for (part, view) in message.parts().enumerate() {
                if relief.is_enough() {
                    return Ok(relief.into_plan());
                }
                if (message.index(), part) < newest
                    && let Some(text) = self.stripped(host, &message, part, view)
                {
                    relief.rewrite(&message, part, text);
                }
            }
        }
        Ok(relief.into_plan())
    }
}

impl StripMedia {
    /// Where the newest media begin that stay.
    fn newest_media(&self, window: &Window<'_>) -> (usize, usize) {
        let mut left = self.options.keep_newest;
        let mut first = (window.len(), 0);
        for message in window.all().rev() {
            let parts = (0..message.parts().len()).rev();
            for (part, view) in parts.filter_map(|part| Some((part, message.part(part)?))) {
                if left == 0 {
                    return first;
                }
                let media = self.media_of(&view);
                if media > 0 {
                    left = left.saturating_sub(media);
                    first = (message.index(), part);
                }
            }
        }
        first
    }

    /// How many media of the kinds that go there are in a part.
    fn media_of(&self, part: &PartView<'_>) -> u32 {
        match part {
            PartView::Media { kind } => u32::from(self.is_named(kind)),
            PartView::ToolResult(result) if self.options.results => {
                u32::try_from(result.media).unwrap_or(u32::MAX)
            }
            _ => 0,
        }
    }

    /// The text that a part becomes without its media, if these are to go.
    fn stripped(
        &self,
        host: &dyn Host,
        message: &MessageView<'_>,
        part: usize,
        view: PartView<'_>,
    ) -> Option<String> {
        if self.media_of(&view) == 0 {
            return None;
        }
        let tokens = message.part_tokens(part);
        match view {
            PartView::Media { kind } => (tokens >= self.options.min_tokens)
                .then(|| format!("[{} ({tokens} tokens) was removed here.]", named(kind))),
            PartView::ToolResult(result) if !is_checked(&result) => {
                let tokens = tokens.saturating_sub(host.count(result.text));
                (tokens >= self.options.min_tokens).then(|| without_media(&result, tokens))
            }
            _ => None,
        }
    }

    fn is_named(&self, kind: &str) -> bool {
        self.options.kinds.iter().any(|pattern| matches(pattern, kind))
    }
}

/// Whether text behind this one would break the check code of what it begins with or holds.
fn is_checked(result: &ResultView<'_>) -> bool {
    result.text.contains("[brute:")
        && (Mark::read(result.text).is_some() || Notice::verify(result.text).is_some())
}

/// The provider looks at such a message as a whole.
fn holds_signed_reasoning(message: &MessageView<'_>) -> bool {
    message.parts().any(|part| matches!(part, PartView::Reasoning { signed: true, .. }))
}

/// The text of a result with a line behind it in place of its media.
fn without_media(result: &ResultView<'_>, tokens: u32) -> String {
    let gap = if result.text.is_empty() || result.text.ends_with('\n') { "" } else { "\n" };
    let (media, were) = match result.media {
        1 => ("1 image or other medium".to_owned(), "was"),
        media => (format!("{media} images or other media"), "were"),
    };
    format!("{}{gap}[{media} ({tokens} tokens) {were} removed here.]", result.text)
}

/// A medium by its kind. It comes from whoever wrote the conversation, and the note is one short line.
fn named(kind: &str) -> String {
    let kind: String = kind.chars().filter(|char| !char.is_control()).take(60).collect();
    if kind.trim().is_empty() { "an image or other medium".to_owned() } else { kind }
}

fn is_pattern(pattern: &str) -> bool {
    let name = pattern.strip_suffix("/*").unwrap_or(pattern);
    pattern == "*" || (!name.trim().is_empty() && !name.contains('*'))
}

fn matches(pattern: &str, kind: &str) -> bool {
    let is = |name: &str| kind.eq_ignore_ascii_case(name);
    match pattern.strip_suffix("/*") {
        _ if pattern == "*" => true,
        // An image of unknown kind is an image.
        Some(group) => {
            is(group) || kind.split('/').next().is_some_and(|of| of.eq_ignore_ascii_case(group))
        }
        None => is(pattern),
    }
}

#[cfg(feature = "export")]
brute_core::export_plugin!(StripMedia);
