//! Level one: caps a text that is too long for a model, and says so in a notice.
//!
//! ```text
//! text ─▶ Scan (or examine) ─▶ Fits: goes on as it is
//!                           └▶ Over(Excerpt) ─▶ compose(where the full text is) ─▶ Truncated
//! ```
//!
//! This module reads and writes no file. Who calls it saves the full text, in one go
//! ([`truncate`], with a [`Spill`]) or while it streams by ([`Scan`]).
//!
//! # What counts
//!
//! * A **line** ends with `\n` or `\r\n`; a final end of line does not begin another line. A carriage
//!   return alone is part of its line, as for `wc -l`: a progress bar is one long line.
//! * A **character** is a Unicode scalar value. A NUL is one, and so is each invalid sequence, the way
//!   [`String::from_utf8_lossy`] replaces it.
//! * A **cut** never falls inside a grapheme cluster, between `\r` and `\n`, or inside a terminal
//!   escape sequence (of up to 1 KiB each).
//!
//! # What fits
//!
//! The shown text and the notice together have at most `max_bytes` bytes and `max_lines` lines. The
//! notice always has a line of its own: the last one behind a beginning, the first one before an end,
//! and the one between both ends. So a text that is cut shows at most `max_lines - 1` of its lines. What
//! is shown ends with an end of line if the text does, as a filter's output should. The notice needs up to some 200
//! bytes and the place of the full text; [`MIN_BYTES`] is enough for any usual path. If the cap
//! is too small for it, a bare `[truncated]` stands alone, and below that nothing at all; the cap
//! holds in any case.

mod boundary;
mod compose;
mod line;
mod notice;
mod scan;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use compose::{Excerpt, Truncated};
pub use notice::{FullText, LineRange, Located, Notice};
pub use scan::{Scan, examine};

/// The least `max_bytes` with room for a notice with any usual path and for some text.
pub const MIN_BYTES: usize = 1024;

/// A text of up to so many bytes (or of up to `max_bytes`) is searched for a notice of ours. What
/// is longer was made by limits that are not in use any more, or by somebody else.
pub const RECOGNIZED_BYTES: usize = 1024 * 1024;

/// How much of a text may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Lines, the notice included.
    pub max_lines: usize,
    /// Bytes, the notice included.
    pub max_bytes: usize,
    /// Characters of one line, beside the mark that says how many were cut from it.
    pub max_line_chars: usize,
    /// What is kept.
    pub keep: Keep,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_lines: 2000, max_bytes: 50 * 1024, max_line_chars: 2000, keep: Keep::Head }
    }
}

/// Which part of a text that is too long is kept; of a line that is too long, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// The beginning.
    #[default]
    Head,
    /// The true end.
    Tail,
    /// The beginning and the end, with the notice between them.
    Ends,
}

/// Which limit made the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// There were more than `max_lines` lines, the notice included.
    Lines,
    /// There were more than `max_bytes` bytes, the notice included.
    Bytes,
    /// Nothing but characters of lines longer than `max_line_chars` is missing.
    LineChars,
    /// Nothing is missing, but NUL or invalid UTF-8 bytes had to be replaced.
    Replaced,
}

/// Whether a text is within the limits.
#[derive(Debug)]
pub enum Verdict<T> {
    /// It is, and is valid UTF-8 without NUL: it goes on unchanged.
    Fits(T),
    /// It is not.
    Over(Excerpt),
}

/// Where the full text goes.
pub trait Spill {
    /// Saves the full text as it came, before anything is cut from it. A failure is an answer too:
    /// [`FullText::NotSaved`], with the reason.
    fn save(&self, whole: &[u8]) -> FullText;

    /// Whether `place`, from a notice of ours, is one that [`Spill::save`] gave out, and is still there.
    /// Likewise for what a text is called that is [`FullText::Kept`].
    fn holds(&self, place: &str) -> bool;
}

/// The text that goes on, and what was cut from it.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// The text itself: it fits, or it is a result of ours already.
    Unchanged(&'a str),
    /// What is shown of it.
    Cut(Truncated),
}

impl<'a> Outcome<'a> {
    /// The text that goes on.
    pub fn into_text(self) -> Cow<'a, str> {
        match self {
            Self::Unchanged(text) => Cow::Borrowed(text),
            Self::Cut(cut) => Cow::Owned(cut.text),
        }
    }
}

/// Truncates a text that lies in memory.
///
/// A text that carries a verifiable notice of ours ([`Notice::is_believed`]) is not truncated twice: within `max_bytes` and `max_lines` it goes on unchanged, and beyond them its
/// shown lines are reduced under a notice that keeps the first one's figures and place. So what a
/// forged notice can gain is a line longer than `max_line_chars`, never a text over the cap.
///
/// ```
/// use brute_core::truncation::{FullText, Limits, Outcome, Spill, truncate};
///
/// struct Nowhere;
/// impl Spill for Nowhere {
///     fn save(&self, _: &[u8]) -> FullText {
///         FullText::NotSaved("there is no disk".into())
///     }
///     fn holds(&self, _: &str) -> bool {
///         false
///     }
/// }
/// let text = "line\n".repeat(5000);
/// let Outcome::Cut(cut) = truncate(text.as_bytes(), &Limits::default(), &Nowhere) else {
///     unreachable!()
/// };
/// assert_eq!(cut.notice.total_lines, 5000);
/// assert!(cut.text.contains("full text not saved: there is no disk"));
/// ```
pub fn truncate<'a>(text: &'a [u8], limits: &Limits, spill: &dyn Spill) -> Outcome<'a> {
    let excerpt = match examine(text, limits) {
        Verdict::Fits(text) => return Outcome::Unchanged(text),
        Verdict::Over(excerpt) => excerpt,
    };
    if let Some(text) = compose::bare(text)
        && text.len() <= limits.max_bytes
        && limits.max_lines > 0
    {
        return Outcome::Unchanged(text);
    }
    if let Some((text, located)) = recognize(text, limits, spill) {
        let is_within = text.len() <= limits.max_bytes
            && scan::count_lines(text.as_bytes()) <= limits.max_lines as u64;
        return if is_within {
            Outcome::Unchanged(text)
        } else {
            let full = located.notice.full.clone();
            Outcome::Cut(Excerpt::again(text, &located, limits).compose(full))
        };
    }
    Outcome::Cut(excerpt.compose(spill.save(text)))
}

/// The notice of ours in `text`, if it is one to go by.
fn recognize<'a>(text: &'a [u8], limits: &Limits, spill: &dyn Spill) -> Option<(&'a str, Located)> {
    if text.len() > RECOGNIZED_BYTES.max(limits.max_bytes) {
        return None;
    }
    let text = std::str::from_utf8(text).ok().filter(|text| !text.contains('\0'))?;
    let located = Notice::locate(text)?;
    located.notice.is_believed(spill).then_some((text, located))
}
