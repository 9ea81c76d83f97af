//! What stands where a result was: which tool it came from, how much went, and how to get it back.

use std::fmt::{self, Write as _};

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
        let (tool, tokens) = (self.tool, self.tokens);
        // Formats without a flag for failure show it nowhere else.
        let failed = if self.result.is_error { "failed " } else { "" };
        let media = Media(self.result.media);
        match excerpt.names() {
            None => put(
                body,
                format_args!("The {failed}result of `{tool}` ({gone} tokens{media}) was removed."),
            ),
            Some(names) => put(
                body,
                format_args!(
                    "{gone} of {tokens} tokens of the {failed}result of `{tool}` were removed{media}; \
                     {names} below."
                ),
            ),
        }
    }

    fn put_way_back(&self, body: &mut String) {
        if let Some(how) = &self.retrieval {
            put(body, format_args!("To have it back: {how}"));
        } else if let Some(FullText::Saved(place)) = full_text(self.result.text) {
            // The result was an excerpt itself, and nobody else knows any more where all of it is.
            put(body, format_args!("Its full text is in {place}"));
        } else {
            // No word that has a booking made or a command run once more. Short, since each cleared result
            // says it.
            body.push_str("Read again if needed.");
        }
    }
}

/// How many images and the like went with the text.
struct Media(usize);

impl fmt::Display for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            1 => f.write_str(", with 1 image or other medium"),
            media => write!(f, ", with {media} images or other media"),
        }
    }
}

fn put(body: &mut String, words: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = body.write_fmt(words);
}

/// Where the full text of a truncated result is.
fn full_text(text: &str) -> Option<FullText> {
    Notice::verify(text).map(|notice| notice.full)
}
