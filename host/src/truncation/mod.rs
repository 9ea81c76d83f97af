//! Level one on disk: a tool result over its limits goes to a file, and a preview goes on.
//!
//! The words of the preview and the rules of the cut are in [`brute_core::truncation`]; here are the
//! limits by tool, the file with the full text, and how long it stays.

mod options;
mod retention;
mod spill;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use brute_core::truncation::{
    self as core, FullText, Limit, Limits, Notice, Outcome, RECOGNIZED_BYTES, Scan, Verdict,
};

pub use options::{LimitError, ToolOptions, TruncateOptions};
pub use retention::{SweepError, Swept, named_in};
pub use spill::{SpillError, SpillFolder};

use spill::Spool;

/// Bytes read, hashed and written at a time: enough to share between two threads.
const PIECE: usize = 1024 * 1024;

/// Changes a whole text before anything is cut from it or saved; see [`Truncator::with_redaction`].
pub type Redaction = Arc<dyn Fn(&str) -> Cow<'_, str> + Send + Sync>;

/// Caps tool results before they enter the log.
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
    /// What was cut from it; `None` if it goes on unchanged.
    pub cut: Option<CutReport>,
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
    /// Takes the limits, and the folder for full texts. Touches no file yet.
    ///
    /// # Errors
    /// The first limit that leaves no room for a notice; [`TruncateOptions::check`] has them all.
    pub fn new(options: TruncateOptions) -> Result<Self, LimitError> {
        if let Err(errors) = options.check()
            && let Some(error) = errors.into_iter().next()
        {
            return Err(error);
        }
        let spill = SpillFolder::new(options.spill.as_deref(), options.shown_spill.as_deref());
        Ok(Self { options, spill, redaction: None })
    }

    /// Lets `redaction` see each whole text first. Its result is what is cut *and* what is saved, so a
    /// secret across the cut is found, and none reaches the disk. It is asked for all tools but those
    /// that `skip`. With it, [`Truncator::truncate_reader`] holds the whole text in memory.
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
            return Truncated { text: String::from_utf8_lossy(text), cut: None };
        };
        let Some(redaction) = &self.redaction else { return self.within(&limits, text) };
        let decoded = String::from_utf8_lossy(text);
        let redacted = redaction(&decoded);
        if redacted == decoded {
            // Nothing to hide: binary text is saved as it came.
            return self.within(&limits, text);
        }
        self.within(&limits, redacted.as_bytes()).into_owned()
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
            return Ok(self.within(&limits, &start).into_owned());
        }

        let mut scan = Scan::new(limits);
        let mut spool = self.spill.open();
        let mut take = |piece: &[u8]| {
            scan.push(piece);
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
        let full = match spool.and_then(Spool::finish) {
            Ok(path) => self.spill.shown(&path),
            Err(error) => FullText::NotSaved(error.to_string()),
        };
        Ok(match scan.finish() {
            Verdict::Over(excerpt) => excerpt.compose(full).into(),
            // More bytes than `max_bytes` never fit.
            Verdict::Fits(text) => Truncated { text: Cow::Owned(text), cut: None },
        })
    }

    fn within<'a>(&self, limits: &Limits, text: &'a [u8]) -> Truncated<'a> {
        match core::truncate(text, limits, &mut self.spill.clone()) {
            Outcome::Unchanged(text) => Truncated { text: Cow::Borrowed(text), cut: None },
            Outcome::Cut(cut) => cut.into(),
        }
    }
}

impl Truncated<'_> {
    /// The same, without a loan.
    pub fn into_owned(self) -> Truncated<'static> {
        Truncated { text: Cow::Owned(self.text.into_owned()), cut: self.cut }
    }
}

impl From<core::Truncated> for Truncated<'_> {
    fn from(cut: core::Truncated) -> Self {
        let body = cut.body_ranges();
        let core::Truncated { text, notice, limit, kept_bytes, notice_at, .. } = cut;
        Self {
            text: Cow::Owned(text),
            cut: Some(CutReport { notice, limit, kept_bytes, notice_at, body }),
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
