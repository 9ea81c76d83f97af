//! What stands where a result was: which tool it came from, how much went, and how to get it back.

use std::fmt::{Display, Write as _};
use std::sync::LazyLock;

use brute_core::truncation::{FullText, Notice};
use brute_core::{Mark, MarkKind, ResultView};
use memchr::memmem::Finder;

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
    /// The placeholder, with what `keep` leaves of the text behind it. It is put together in `body`,
    /// which serves one placeholder after the other.
    pub(crate) fn write(
        &self,
        keep: Keep,
        max_tokens: u32,
        count: &dyn Fn(&str) -> u32,
        body: &mut String,
    ) -> String {
        let excerpt = Excerpt::of(self.result.text, keep, max_tokens, count);
        let gone = self.tokens.saturating_sub(excerpt.tokens);
        body.clear();
        self.put_sentence(&excerpt, gone, body);
        body.push(' ');
        self.put_way_back(body);
        excerpt.append_to(body);
        Mark { kind: MarkKind::Cleared, count: u64::from(gone) }.write(body)
    }

    fn put_sentence(&self, excerpt: &Excerpt<'_>, gone: u32, body: &mut String) {
        // Formats without a flag for failure show it nowhere else.
        let failed = if self.result.is_error { "failed " } else { "" };
        match excerpt.names() {
            None => {
                put(body, ["The ", failed, "result of `", self.tool, "` ("]);
                put_number(body, gone);
                put(body, [" tokens"]);
                self.put_media(body);
                put(body, [") was removed."]);
            }
            Some(names) => {
                put_number(body, gone);
                put(body, [" of "]);
                put_number(body, self.tokens);
                put(body, [" tokens of the ", failed, "result of `", self.tool, "` were removed"]);
                self.put_media(body);
                put(body, ["; ", names, " below."]);
            }
        }
    }

    fn put_media(&self, body: &mut String) {
        match self.result.media {
            0 => {}
            1 => put(body, [", with 1 image or other medium"]),
            media => {
                put(body, [", with "]);
                put_number(body, media);
                put(body, [" images or other media"]);
            }
        }
    }

    fn put_way_back(&self, body: &mut String) {
        if let Some(how) = &self.retrieval {
            put(body, ["To have it back: ", how]);
        } else if let Some(FullText::Saved(place)) = full_text(self.result.text) {
            // The result was an excerpt itself, and nobody else knows any more where all of it is.
            put(body, ["Its full text is in ", &place]);
        } else {
            put(body, ["Call it again if needed."]);
        }
    }
}

fn put<const N: usize>(body: &mut String, words: [&str; N]) {
    body.extend(words);
}

fn put_number(body: &mut String, number: impl Display) {
    // Writing to a string does not fail.
    let _ = write!(body, "{number}");
}

/// How every notice of a truncation begins. A word is found much faster than a notice.
static OPENING: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("[brute:"));

/// Where the full text of a truncated result is.
fn full_text(text: &str) -> Option<FullText> {
    OPENING.find(text.as_bytes())?;
    Notice::verify(text).map(|notice| notice.full)
}
