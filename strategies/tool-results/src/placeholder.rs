//! What stands where a result was: which tool it came from, how much went, and how to get it back.

use brute_core::truncation::{FullText, Notice};
use brute_core::{Mark, MarkKind, ResultView};

use crate::Keep;
use crate::excerpt::Excerpt;

/// A result that gives way to a placeholder.
pub(crate) struct Placeholder<'a> {
    pub tool: &'a str,
    /// The size of the result, media included.
    pub tokens: u32,
    pub result: ResultView<'a>,
    /// How the host says that it can be had back.
    pub retrieval: Option<String>,
}

impl Placeholder<'_> {
    /// The placeholder, with what `keep` leaves of the text behind it.
    pub(crate) fn write(&self, keep: Keep, max_tokens: u32, count: &dyn Fn(&str) -> u32) -> String {
        let excerpt = Excerpt::of(self.result.text, keep, max_tokens, count);
        let gone = self.tokens.saturating_sub(excerpt.tokens);
        let mut body = self.sentence(&excerpt, gone);
        body.push(' ');
        body.push_str(&self.way_back());
        excerpt.append_to(&mut body);
        Mark { kind: MarkKind::Cleared, count: u64::from(gone) }.write(&body)
    }

    fn sentence(&self, excerpt: &Excerpt<'_>, gone: u32) -> String {
        // Formats without a flag for failure show it nowhere else.
        let failed = if self.result.is_error { "failed " } else { "" };
        let media = match self.result.media {
            0 => String::new(),
            1 => ", with 1 image or other medium".to_owned(),
            media => format!(", with {media} images or other media"),
        };
        let tool = self.tool;
        match excerpt.names() {
            None => {
                format!("The {failed}result of `{tool}` ({gone} tokens{media}) was removed.")
            }
            Some(names) => format!(
                "{gone} of {} tokens of the {failed}result of `{tool}` were removed{media}; \
                 {names} below.",
                self.tokens
            ),
        }
    }

    fn way_back(&self) -> String {
        if let Some(how) = &self.retrieval {
            return format!("To have it back: {how}");
        }
        match full_text(self.result.text) {
            // The result was an excerpt itself, and nobody else knows any more where all of it is.
            Some(FullText::Saved(place)) => format!("Its full text is in {place}"),
            _ => "Call it again if needed.".to_owned(),
        }
    }
}

/// Where the full text of a truncated result is.
fn full_text(text: &str) -> Option<FullText> {
    // Every notice begins like that. One byte is found much faster than a word, and a word than a notice.
    if !text.as_bytes().contains(&b'[') || !text.contains("[brute:") {
        return None;
    }
    Notice::verify(text).map(|notice| notice.full)
}
