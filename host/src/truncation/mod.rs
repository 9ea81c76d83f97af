//! Level one on disk: a tool result over its limits goes to a file, and a preview goes on.
//!
//! The words of the preview and the rules of the cut are in [`brute_core::truncation`]; here are the
//! limits by tool, the file with the full text, and how long it stays.

mod lease;
mod options;
pub(crate) mod own;
mod retention;
pub(crate) mod sequences;
mod spill;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use brute_core::truncation::{
    self as core, FullText, Limit, Limits, Notice, Outcome, RECOGNIZED_BYTES, Scan, Spill, Verdict,
};

pub(crate) use lease::Lease;
pub use options::{LimitError, ToolOptions, TruncateOptions};
pub use own::{SWEEP_EVERY, SweepError, Swept};
pub use retention::named_in;
pub use spill::{SpillError, SpillFolder};
pub(crate) use spill::{expand, located};

use sequences::Sequences;
use spill::Spool;

/// Bytes read, hashed and written at a time: enough to share between two threads.
const PIECE: usize = 1024 * 1024;

/// Changes a whole text before anything is cut from it or saved; see [`Truncator::with_redaction`].
pub type Redaction = Arc<dyn Fn(&str) -> Cow<'_, str> + Send + Sync>;

/// Caps tool results before they enter the log.
///
/// Full texts stay until they are swept, and nothing sweeps them by itself: a long-lived program calls
/// [`Truncator::sweep_if_due`] now and then, for instance after each result that was cut.
///
/// ```
/// use brute_host::truncation::{TruncateOptions, Truncator};
///
/// let folder = tempfile::tempdir()?;
/// let spill = Some(folder.path().display().to_string());
/// let truncator = Truncator::new(TruncateOptions { spill, ..Default::default() })?;
/// let log = "compiling …\n".repeat(10_000);
/// let result = truncator.truncate(Some("shell"), log.as_bytes());
/// assert!(result.text.len() <= 50 * 1024);
/// assert_eq!(result.cut.map(|cut| cut.notice.total_lines), Some(10_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Truncator {
    options: TruncateOptions,
    spill: SpillFolder,
    redaction: Option<Redaction>,
}

/// A text that may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncated<'a> {
    /// The text; the very one that came in where nothing was to be done.
    pub text: Cow<'a, str>,
    /// What was cut from it; `None` if nothing was.
    pub cut: Option<CutReport>,
    /// Whether terminal control sequences were taken out of it, which is no cut.
    pub stripped: bool,
}

/// What was cut from a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutReport {
    /// Counts, ranges and the place of the full text, or why it could not be saved.
    pub notice: Notice,
    /// Which limit was met first.
    pub limit: Limit,
    /// Bytes of the shown text, without marks and notice.
    pub kept_bytes: usize,
    /// Where in the text the notice stands.
    pub notice_at: std::ops::Range<usize>,
    /// Where in the text the shown text stands, before and behind the notice.
    pub body: (std::ops::Range<usize>, std::ops::Range<usize>),
}

impl CutReport {
    /// The name of the file with the full text, as [`Truncator::sweep`] takes it.
    pub fn file_name(&self) -> Option<String> {
        spill::file_name_of(&self.notice.full)
    }
}

impl fmt::Debug for Truncator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Truncator")
            .field("options", &self.options)
            .field("spill", &self.spill)
            .field("redaction", &self.redaction.is_some())
            .finish()
    }
}

impl Truncator {
    /// Takes the limits, and the folder for full texts. Touches no file yet; where `readable` names
    /// folders, it looks where these and the folder for full texts are.
    ///
    /// # Errors
    /// The first limit that leaves no room for a notice; [`TruncateOptions::check`] has them all.
    pub fn new(options: TruncateOptions) -> Result<Self, LimitError> {
        if let Err(errors) = options.check()
            && let Some(error) = errors.into_iter().next()
        {
            return Err(error);
        }
        let spill = options.spill_folder();
        Ok(Self { options, spill, redaction: None })
    }

    /// Lets `redaction` see each whole text first. Its result is what is cut *and* what is saved, so a
    /// secret across the cut is found, and none reaches the disk. It is asked for all tools but those
    /// that `skip`. With it, [`Truncator::truncate_reader`] holds the whole text in memory.
    ///
    /// With `strip-ansi` it is asked once more for the text without terminal sequences, which may have
    /// stood inside a secret. If it finds one then, what is saved has no sequences either.
    #[must_use]
    pub fn with_redaction(self, redaction: Redaction) -> Self {
        Self { redaction: Some(redaction), ..self }
    }

    /// The limits and the rest of the section.
    pub fn options(&self) -> &TruncateOptions {
        &self.options
    }

    /// Where the full texts go.
    pub fn spill(&self) -> &SpillFolder {
        &self.spill
    }

    /// Truncates the result of `tool`, success or failure alike. It always comes back: if the full
    /// text cannot be saved, the notice says so.
    ///
    /// Where the tool is set to `skip`, only invalid UTF-8 is replaced.
    pub fn truncate<'a>(&self, tool: Option<&str>, text: &'a [u8]) -> Truncated<'a> {
        let Some(limits) = self.options.limits(tool) else {
            return Truncated::whole(String::from_utf8_lossy(text));
        };
        let strips = self.options.strips(tool);
        let Some(redaction) = &self.redaction else { return self.within(&limits, strips, text) };
        let decoded = String::from_utf8_lossy(text);
        let mut redacted = redaction(&decoded);
        let mut stripped = false;
        if strips && let Some(plain) = sequences::without(redacted.as_bytes()) {
            let plain = String::from_utf8_lossy(&plain);
            let again = redaction(&plain);
            if again != plain {
                stripped = true;
                redacted = Cow::Owned(again.into_owned());
            }
        }
        if redacted == decoded {
            // Nothing to hide: binary text is saved as it came.
            return self.within(&limits, strips, text);
        }
        let mut result = self.within(&limits, strips, redacted.as_bytes()).into_owned();
        result.stripped |= stripped;
        result
    }

    /// Truncates the result of `tool` as it is read. Memory is bounded by the limits (and by the
    /// 1 MiB in which a notice is recognized): what is longer goes to the file while it is read.
    ///
    /// # Errors
    /// Reading failed. Nothing is left behind then.
    pub fn truncate_reader(
        &self,
        tool: Option<&str>,
        mut reader: impl Read,
    ) -> io::Result<Truncated<'static>> {
        let mut start = Vec::new();
        let limits = self.options.limits(tool);
        let Some(limits) = limits.filter(|_| self.redaction.is_none()) else {
            reader.read_to_end(&mut start)?;
            return Ok(self.truncate(tool, &start).into_owned());
        };
        let held = RECOGNIZED_BYTES.max(limits.max_bytes) as u64;
        reader.by_ref().take(held.saturating_add(1)).read_to_end(&mut start)?;
        if start.len() as u64 <= held {
            return Ok(self.within(&limits, self.options.strips(tool), &start).into_owned());
        }

        let mut scan = Scan::new(limits);
        let mut spool = self.spill.open();
        let mut sequences = self.options.strips(tool).then(Sequences::default);
        let (mut bytes, mut plain) = (0, Vec::new());
        let mut take = |piece: &[u8]| {
            bytes += piece.len() as u64;
            match &mut sequences {
                None => scan.push(piece),
                Some(sequences) => {
                    plain.clear();
                    sequences.strip(piece, &mut plain);
                    scan.push(&plain);
                }
            }
            // The first failure is the reason; what was written until then is removed.
            let written = match &mut spool {
                Ok(spool) => spool.write(piece),
                Err(_) => return,
            };
            if let Err(error) = written {
                spool = Err(error);
            }
        };
        take(&start);
        drop(start);
        let mut piece = vec![0; PIECE];
        loop {
            match fill(&mut reader, &mut piece)? {
                0 => break,
                read => take(&piece[..read]),
            }
        }
        if let Some(sequences) = &mut sequences {
            plain.clear();
            sequences.finish(&mut plain);
            scan.push(&plain);
        }
        let stripped = sequences.is_some_and(|sequences| sequences.found());
        Ok(match scan.finish() {
            // Only without its sequences: more bytes than `max_bytes` never fit. The file is dropped.
            Verdict::Fits(text) => Truncated { stripped, ..Truncated::whole(Cow::Owned(text)) },
            Verdict::Over(excerpt) => {
                let full = match spool.and_then(Spool::finish) {
                    Ok(path) => self.spill.shown(&path),
                    Err(error) => FullText::NotSaved(error.to_string()),
                };
                Truncated { stripped, ..excerpt.of_bytes(bytes).compose(full).into() }
            }
        })
    }

    fn within<'a>(&self, limits: &Limits, strips: bool, text: &'a [u8]) -> Truncated<'a> {
        let plain = if strips && !self.is_ours(text) { sequences::without(text) } else { None };
        let Some(plain) = plain else {
            return match core::truncate(text, limits, &self.spill) {
                Outcome::Unchanged(text) => Truncated::whole(Cow::Borrowed(text)),
                Outcome::Cut(cut) => cut.into(),
            };
        };
        let result = match core::examine(&plain, limits) {
            Verdict::Fits(text) => Truncated::whole(Cow::Owned(text.to_owned())),
            Verdict::Over(excerpt) => {
                let full = self.spill.save(text);
                excerpt.of_bytes(text.len() as u64).compose(full).into()
            }
        };
        Truncated { stripped: true, ..result }
    }

    /// Whether it is a result from before sequences were taken out: its check code counts on them.
    fn is_ours(&self, text: &[u8]) -> bool {
        text.len() <= RECOGNIZED_BYTES
            && memchr::memchr(sequences::ESC, text).is_some()
            && std::str::from_utf8(text)
                .ok()
                .and_then(Notice::verify)
                .is_some_and(|notice| notice.is_believed(&self.spill))
    }
}

impl<'a> Truncated<'a> {
    /// A text that nothing was cut from.
    fn whole(text: Cow<'a, str>) -> Self {
        Self { text, cut: None, stripped: false }
    }

    /// The same, without a loan.
    pub fn into_owned(self) -> Truncated<'static> {
        let Self { text, cut, stripped } = self;
        Truncated { text: Cow::Owned(text.into_owned()), cut, stripped }
    }
}

impl From<core::Truncated> for Truncated<'_> {
    fn from(cut: core::Truncated) -> Self {
        let body = cut.body_ranges();
        let core::Truncated { text, notice, limit, kept_bytes, notice_at, .. } = cut;
        Self {
            text: Cow::Owned(text),
            cut: Some(CutReport { notice, limit, kept_bytes, notice_at, body }),
            stripped: false,
        }
    }
}

/// Reads until `piece` is full or the end is reached: pipes give a little at a time.
fn fill(reader: &mut impl Read, piece: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < piece.len() {
        match reader.read(&mut piece[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
