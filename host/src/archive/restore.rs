//! Going back to what a conversation was before it was compacted.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

use super::change::Fit;
use super::record::Records;
use super::{Archive, ArchiveError, name_in, prints};
use crate::formats::WireMessages;
use crate::lines;

/// A conversation as it was, with what was said since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The conversation, in the format and carrier of the compacted one.
    pub text: String,
    /// How many compactions were undone.
    pub compactions: usize,
    /// Why it is not the original byte for byte.
    pub flaws: Vec<Flaw>,
    /// What is wrong with the files that it came from. It did not matter here.
    pub damage: Vec<Damage>,
}

/// Why a restored conversation is not the original byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flaw {
    /// Its first message says something else than when it was compacted.
    First,
    /// Messages that the compaction kept are spelled otherwise than they were.
    Spelling,
    /// It still holds texts of compactions that are not in the archive.
    Marks(usize),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::First => f.write_str(
                "the first message is not the one that was there when it was compacted; it stays as it is",
            ),
            Self::Spelling => f.write_str(
                "messages that were kept are spelled otherwise than they were (other white space or escapes); \
                 they stay as they are, and what was given up stands between them byte for byte",
            ),
            Self::Marks(1) => f.write_str(
                "one text of a compaction is left in it: that compaction is not in the archive",
            ),
            Self::Marks(marks) => write!(
                f,
                "{marks} texts of compactions are left in it: those compactions are not in the archive"
            ),
        }
    }
}

/// Something in a file that cannot be read and was passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// A line that is no record.
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The last line was never finished, and so never acknowledged.
    Torn {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { path, line } => {
                write!(f, "`{}`, line {line}: no record of an archive", path.display())
            }
            Self::Torn { path } => write!(
                f,
                "`{}` ends inside a line that was never finished; it counts for nothing",
                path.display()
            ),
        }
    }
}

impl Restored {
    /// Whether it is the original byte for byte, as far as anything of it was archived.
    pub fn is_exact(&self) -> bool {
        self.flaws.is_empty()
    }
}

/// The file of a session, read.
pub(super) struct Opened {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Opened {
    pub(super) fn read(path: &Path) -> Result<Self, ArchiveError> {
        Ok(Self {
            path: path.to_owned(),
            bytes: lines::read(path).map_err(|error| ArchiveError::read(path, &error))?,
        })
    }

    pub(super) fn records(&self) -> Result<Records<'_>, ArchiveError> {
        let records = Records::read(&self.bytes);
        match records.newer {
            Some(version) => Err(ArchiveError::Newer { path: self.path.clone(), version }),
            None => Ok(records),
        }
    }

    pub(super) fn damage(&self, records: &Records<'_>) -> Vec<Damage> {
        let lines = records.damaged.iter();
        let lines = lines.map(|line| Damage::Line { path: self.path.clone(), line: *line });
        let torn = records.is_torn.then(|| Damage::Torn { path: self.path.clone() });
        lines.chain(torn).collect()
    }
}

impl Archive {
    /// The conversation as it was before its compactions, with what was said since behind it. One that
    /// was never compacted comes back as it is.
    ///
    /// Only in `session`, if one is named; else in all, the one that was added to last first.
    ///
    /// # Errors
    /// If the input is no conversation, none of what compactions left in it is known, or the archive
    /// cannot be read or lacks what should be there.
    pub fn restore(
        &self,
        input: &[u8],
        pick: Option<usize>,
        session: Option<&str>,
    ) -> Result<Restored, ArchiveError> {
        let wires = WireMessages::read(input, pick)?;
        let paths = self.paths_of(session)?;
        let mut way =
            Way { wires, pick, used: HashSet::new(), flaws: Vec::new(), damage: Vec::new() };
        // What one session leads back to may be what another has compacted.
        while way.goes_back_in_one_of(&paths)? {}
        let Way { wires, used, mut flaws, damage, .. } = way;
        let marks = wires.marks();
        if marks > 0 && used.is_empty() {
            return Err(ArchiveError::Unknown { marks, folder: self.folder.clone() });
        }
        flaws.extend((marks > 0).then_some(Flaw::Marks(marks)));
        Ok(Restored { text: wires.into_text(), compactions: used.len(), flaws, damage })
    }

    /// The session whose compaction left what `wires` begin with.
    pub(super) fn session_of(&self, wires: &WireMessages) -> Result<Option<String>, ArchiveError> {
        let prints = prints(wires);
        for path in self.paths()? {
            let opened = Opened::read(&path)?;
            let records = opened.records()?;
            if records.changes.iter().any(|change| change.fits(&prints).is_some()) {
                let name = path.file_name().and_then(|name| name_in(name.to_str()?));
                return Ok(name.map(str::to_owned));
            }
        }
        Ok(None)
    }

    /// The files to look in: that of `session`, or all.
    pub(super) fn paths_of(&self, session: Option<&str>) -> Result<Vec<PathBuf>, ArchiveError> {
        session.map_or_else(|| self.paths(), |name| Ok(vec![self.existing(name)?]))
    }

    /// The file of the session of this name, which is there.
    pub(super) fn existing(&self, name: &str) -> Result<PathBuf, ArchiveError> {
        let path = self.path_of(name)?;
        match path.is_file() {
            true => Ok(path),
            false => {
                Err(ArchiveError::NoSession { name: name.into(), folder: self.folder.clone() })
            }
        }
    }
}

/// A conversation on its way back.
struct Way {
    wires: WireMessages,
    pick: Option<usize>,
    /// Compactions that were undone, by file and place in it. None is undone twice, so that the way ends.
    used: HashSet<(PathBuf, usize)>,
    flaws: Vec<Flaw>,
    damage: Vec<Damage>,
}

impl Way {
    /// Undoes what one of the files knows of; false if none of them knows anything.
    fn goes_back_in_one_of(&mut self, paths: &[PathBuf]) -> Result<bool, ArchiveError> {
        for path in paths {
            let opened = Opened::read(path)?;
            let records = opened.records()?;
            let before = self.used.len();
            while self.goes_back(path, &records)? {}
            if self.used.len() > before {
                self.damage.extend(opened.damage(&records));
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Undoes the newest compaction that left what the conversation begins with; a whole fit first.
    fn goes_back(&mut self, path: &Path, records: &Records<'_>) -> Result<bool, ArchiveError> {
        let prints = prints(&self.wires);
        let fit = |index: &usize| records.changes[*index].fits(&prints);
        let is_new = |index: &usize| !self.used.contains(&(path.to_owned(), *index));
        let unused: Vec<usize> = (0..records.changes.len()).rev().filter(is_new).collect();
        let found = [Fit::Whole, Fit::ButFirst].into_iter().find_map(|wanted| {
            let index = unused.iter().find(|index| fit(index) == Some(wanted))?;
            Some((*index, wanted))
        });
        let Some((index, fit)) = found else { return Ok(false) };
        let change = &records.changes[index];
        let original = |digest| records.wires.get(&digest).map(|(_, json)| &**json);
        let undone = change
            .undo(&self.wires, original)
            .map_err(|digest| ArchiveError::Lacks { path: path.to_owned(), digest })?;
        self.wires = WireMessages::read(undone, self.pick)?;
        self.used.insert((path.to_owned(), index));
        if !change.is_original(&self.wires) {
            let flaw = if fit == Fit::ButFirst { Flaw::First } else { Flaw::Spelling };
            if !self.flaws.contains(&flaw) {
                self.flaws.push(flaw);
            }
        }
        Ok(true)
    }
}
