//! The `clip-results` layer: shortens oversized tool results to their beginning and end, the newest ones
//! too, and keeps their full texts on disk. It asks no model.
//!
//! The last rung, for the moment when nothing else is left to give: a single result that is larger than
//! the window, or a few of the newest steps that are. A model that sees both ends of a result, with the
//! path of the rest, gets on; a request that the provider refuses does not.
//!
//! The largest result goes first, and no further than the excess demands or `min-tokens` and `keep-lines`
//! allow. The notice in the middle is the one of tool-result truncation: it says which lines are shown
//! and where all of them are, and the folder and its file names are the same, so the same retention keeps
//! them. A result that such a notice shortened before, by this layer or by truncation, can be shortened
//! further under the same notice; it is not saved again, and no notice is put on a notice.
//!
//! Results with images or other media beside their text stay as they are, because rewriting would drop
//! these unseen: `strip-media` is for them. So do protected results and placeholders of other layers.
//!
//! ```toml
//! [[ladder]]
//! layer = "clip-results"
//! min-tokens = 1000
//! keep-lines = 40
//! on-spill-failure = "clip"
//! ```

mod cut;
mod folder;
#[cfg(test)]
mod tests;

use brute_core::truncation::{FullText, Located};
use brute_core::{
    Configure, Host, LayerError, LogLevel, Mark, MarkKind, MessageView, OptionsError, Plan, Relief,
    Strategy, Window,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cut::{Cut, notice_in};
use crate::folder::Folder;

/// The least `min-tokens`: the notice takes some 60 tokens, and the path in it.
const LEAST_TOKENS: u32 = 256;

/// What `brute.toml` may say about the layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Options {
    /// Results of no more tokens than this stay as they are, and none is shortened below it, as near as a
    /// cut can come; at least 256, so that the notice has room.
    #[schemars(range(min = 256))]
    pub min_tokens: u32,
    /// How many lines of a result stay at least, half from its beginning and half from its end, even if that
    /// is more than `min-tokens`. A line of more than 400 bytes counts as 400 bytes.
    pub keep_lines: u32,
    /// The folder for the full texts. A leading `~` is the home folder; left out, it is the one that
    /// `[truncate] spill` has by default (`~/.local/share/brute/tool-output` on Linux). Empty: full texts are
    /// not saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill: Option<String>,
    /// What becomes of a result whose full text cannot be saved.
    pub on_spill_failure: OnSpillFailure,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            min_tokens: 500,
            keep_lines: 20,
            spill: None,
            on_spill_failure: OnSpillFailure::Clip,
        }
    }
}

/// What becomes of a result whose full text cannot be saved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OnSpillFailure {
    /// It is shortened all the same, and the notice says that and why the rest is lost.
    #[default]
    Clip,
    /// It stays as it is.
    Skip,
}

/// The layer.
#[derive(Debug, Clone)]
pub struct ClipResults {
    options: Options,
    folder: Folder,
}

impl Configure for ClipResults {
    type Options = Options;

    const NAME: &'static str = "clip-results";
    const SUMMARY: &'static str =
        "shortens oversized results, largest and newest too, and keeps them on disk";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    fn build(options: Options) -> Result<Self, OptionsError> {
        if options.min_tokens < LEAST_TOKENS {
            let message = format!(
                "`min-tokens` is {}, and must be at least {LEAST_TOKENS}, so that the notice has room",
                options.min_tokens
            );
            return Err(OptionsError { option: "min-tokens", message });
        }
        let is_nowhere = options.spill.as_deref() == Some("");
        if is_nowhere && options.on_spill_failure == OnSpillFailure::Skip {
            let message =
                "`spill` is empty and `on-spill-failure` is `skip`, so nothing could be shortened"
                    .to_owned();
            return Err(OptionsError { option: "spill", message });
        }
        let folder = Folder::new(options.spill.as_deref());
        Ok(Self { options, folder })
    }
}

impl Strategy for ClipResults {
    fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        let mut relief = Relief::of(window, host);
        if relief.is_enough() {
            return Ok(Plan::decline());
        }
        let mut failures = Failures::default();
        for (message, part, tokens) in self.oversized(window) {
            if relief.is_enough() {
                break;
            }
            let Some((_, result)) = message.result() else { continue };
            let demanded = u64::from(tokens).saturating_sub(relief.missing());
            let most = u32::try_from(demanded).unwrap_or(u32::MAX).max(self.options.min_tokens);
            let keep_lines = usize::try_from(self.options.keep_lines).unwrap_or(usize::MAX);
            let cut = Cut { text: result.text, tokens, most, keep_lines };
            if let Some(text) = self.clipped(host, &cut, &mut failures) {
                relief.rewrite(&message, part, text);
            }
        }
        failures.tell(host);
        Ok(relief.into_plan())
    }
}

impl ClipResults {
    /// The results that may be shortened, with their part and size, the largest first and the oldest
    /// first among those of one size.
    fn oversized<'a>(&self, window: &Window<'a>) -> Vec<(MessageView<'a>, usize, u32)> {
        let result = |message: MessageView<'a>| {
            let (part, result) = message.result()?;
            let tokens = message.part_tokens(part);
            let may_go = tokens > self.options.min_tokens
                && result.media == 0
                && !window.is_protected(message.index())
                && Mark::read(result.text).is_none_or(|mark| mark.kind != MarkKind::Cleared);
            may_go.then_some((message, part, tokens))
        };
        let mut results: Vec<_> = window.all().filter_map(result).collect();
        results.sort_by_key(|(_, _, tokens)| std::cmp::Reverse(*tokens));
        results
    }

    /// The shortened text, whose full text is on disk by then if that can be.
    fn clipped(&self, host: &dyn Host, cut: &Cut<'_>, failures: &mut Failures) -> Option<String> {
        let count = |text: &str| host.count(text);
        let smaller = |full: &FullText, earlier: Option<&Located>| -> Option<String> {
            cut.make(full, earlier, &count).filter(|text| count(text) < cut.tokens)
        };
        let may_be_lost = self.options.on_spill_failure == OnSpillFailure::Clip;
        if let Some(earlier) = notice_in(cut.text) {
            let full = &earlier.notice.full;
            let is_lost = matches!(full, FullText::NotSaved(_));
            if (is_lost && may_be_lost) || self.folder.holds(full) {
                return smaller(full, Some(&earlier));
            } else if is_lost {
                return None;
            }
        }
        let saved = self.folder.place_of(cut.text).and_then(|place| {
            // What is not smaller is not taken, and what is not taken is not saved.
            let text = smaller(&FullText::Saved(place), None);
            text.map(|text| self.folder.save(cut.text).map(|()| text)).transpose()
        });
        saved.unwrap_or_else(|reason| {
            failures.add(&reason);
            may_be_lost.then(|| smaller(&FullText::NotSaved(reason), None))?
        })
    }
}

/// Full texts that could not be saved.
#[derive(Debug, Default)]
struct Failures {
    count: usize,
    reason: String,
}

impl Failures {
    fn add(&mut self, reason: &str) {
        if self.count == 0 {
            self.reason = reason.to_owned();
        }
        self.count += 1;
    }

    fn tell(&self, host: &dyn Host) {
        let texts = match self.count {
            0 => return,
            1 => "the full text of 1 result was".to_owned(),
            count => format!("the full texts of {count} results were"),
        };
        host.log(LogLevel::Warn, &format!("{texts} not saved: {}", self.reason));
    }
}

#[cfg(feature = "export")]
brute_core::export_plugin!(ClipResults);
