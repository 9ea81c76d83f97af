//! Finds the cut that leaves as much of a text as may stay.

use brute_core::truncation::{
    FullText, Keep, Limits, Located, MIN_BYTES, Notice, Outcome, RECOGNIZED_BYTES, Spill, truncate,
};

/// How often a cut is measured and moved to come close to what may stay.
const ROUNDS: usize = 6;
/// What a line counts at most, in bytes, when lines are to stay.
const LINE_BYTES: usize = 400;
/// What a notice takes beside the place of the full text, in bytes, and somewhat more.
const NOTICE_BYTES: usize = 320;

/// A text to be cut.
pub(crate) struct Cut<'a> {
    pub text: &'a str,
    /// The size of the text, in tokens.
    pub tokens: u32,
    /// What may stay of it, in tokens, the notice included.
    pub most: u32,
    /// How many lines stay at least.
    pub keep_lines: usize,
}

/// The notice of an earlier cut in `text`, if `truncate` would go on from it.
pub(crate) fn notice_in(text: &str) -> Option<Located> {
    let may_be = text.len() <= RECOGNIZED_BYTES && !text.contains('\0');
    may_be.then(|| Notice::locate(text))?
}

impl Cut<'_> {
    /// The beginning and the end of the text around a notice that says where the full text is: `full`, or
    /// what the notice `earlier` in it says. Nothing if no cut may be made.
    pub(crate) fn make(
        &self,
        full: &FullText,
        earlier: Option<&Located>,
        count: &dyn Fn(&str) -> u32,
    ) -> Option<String> {
        let least = self.least_bytes(full, earlier);
        // A cut of no more bytes than there are would change nothing.
        let longest = self.text.len().checked_sub(1).filter(|longest| *longest >= least)?;
        let mut best: Option<String> = None;
        let mut bytes = scaled(self.text.len(), self.most, self.tokens);
        for _ in 0..ROUNDS {
            bytes = bytes.clamp(least, longest);
            let text = self.at(bytes, full, earlier.is_some())?;
            let tokens = count(&text);
            if tokens > self.most {
                if bytes == least {
                    break;
                }
                // A little less than in proportion, so that the next one fits.
                bytes = scaled(bytes, self.most, tokens) / 16 * 15;
                continue;
            }
            if best.as_ref().is_some_and(|best| best.len() >= text.len()) {
                break;
            }
            best = Some(text);
            if tokens > self.most / 16 * 15 || bytes == longest {
                break;
            }
            bytes = scaled(bytes, self.most, tokens.max(1));
        }
        best.or_else(|| self.at(least, full, earlier.is_some()))
    }

    /// The text in at most `bytes` bytes.
    fn at(&self, bytes: usize, full: &FullText, is_held: bool) -> Option<String> {
        let limits = Limits {
            max_lines: usize::MAX,
            max_bytes: bytes,
            max_line_chars: usize::MAX,
            keep: Keep::Ends,
        };
        let place = Place { full, is_held };
        match truncate(self.text.as_bytes(), &limits, &place) {
            Outcome::Unchanged(_) => None,
            Outcome::Cut(cut) => Some(cut.text),
        }
    }

    /// Room for the notice and for the lines that stay, in bytes.
    fn least_bytes(&self, full: &FullText, earlier: Option<&Located>) -> usize {
        let place = match earlier.map_or(full, |located| &located.notice.full) {
            FullText::Saved(words) | FullText::Kept(words) | FullText::NotSaved(words) => words,
        };
        let notice = NOTICE_BYTES + place.len();
        let lines = self.longer_end(earlier, notice).saturating_mul(2).saturating_add(notice);
        MIN_BYTES.max(2 * notice).max(lines)
    }

    /// The bytes of the lines at the beginning that stay, or of those at the end if these are more.
    ///
    /// A text that was cut before, and may have been cut as far as can be, can show fewer lines than
    /// are to stay, where these are long. The missing ones count then: else the next cut would find that
    /// less must stay than this one found.
    fn longer_end(&self, earlier: Option<&Located>, notice: usize) -> usize {
        let (in_head, in_tail) = (self.keep_lines.div_ceil(2), self.keep_lines / 2);
        let Some(located) = earlier else {
            let head = end_bytes(self.text.lines(), in_head, 0);
            return head.max(end_bytes(self.text.lines().rev(), in_tail, 0));
        };
        let before = &self.text[..located.at.start];
        let after = &self.text[located.at.end..];
        let after = after.strip_prefix('\n').unwrap_or(after);
        let total = usize::try_from(located.notice.total_lines).unwrap_or(usize::MAX);
        let (in_head, in_tail) = (in_head.min(total), in_tail.min(total));
        let most = in_head.saturating_mul(2 * LINE_BYTES).saturating_add(notice);
        let (head, tail, missing) = match (before, after) {
            _ if self.text.len() <= most => (before, after, LINE_BYTES),
            // One end was all that was to stay.
            ("", only) | (only, "") => (only, only, 0),
            (before, after) => (before, after, 0),
        };
        end_bytes(head.lines(), in_head, missing).max(end_bytes(
            tail.lines().rev(),
            in_tail,
            missing,
        ))
    }
}

/// What the first `wanted` of these lines take, and `missing` for each that is not there.
fn end_bytes<'a>(lines: impl Iterator<Item = &'a str>, wanted: usize, missing: usize) -> usize {
    let mut found = 0;
    let mut bytes = 0usize;
    for line in lines.take(wanted) {
        found += 1;
        bytes += LINE_BYTES.min(line.len() + 2);
    }
    bytes.saturating_add((wanted - found).saturating_mul(missing))
}

/// The place of a full text that is saved when the cut is taken, or was saved long ago.
struct Place<'a> {
    full: &'a FullText,
    is_held: bool,
}

impl Spill for Place<'_> {
    fn save(&self, _: &[u8]) -> FullText {
        self.full.clone()
    }

    fn holds(&self, _: &str) -> bool {
        self.is_held
    }
}

fn scaled(bytes: usize, by: u32, of: u32) -> usize {
    let scaled = bytes as u128 * u128::from(by) / u128::from(of.max(1));
    usize::try_from(scaled).unwrap_or(usize::MAX)
}
