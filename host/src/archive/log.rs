//! The file of a session: lines of JSON that are only ever added to.
//!
//! A line counts once its line break is there. What a killed process left of one is put aside before the
//! next line is written, and passed over by readers.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::ArchiveError;
use crate::truncation::own;

/// How the name of a file ends that holds a line that was never finished.
pub(super) const TORN: &str = ".torn";

/// Files that are being locked may be swept at that moment; so often a new one is made before that is
/// taken for a fault.
const TRIES: usize = 8;

/// A file that this process alone may write to, for as long as the value lives.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    path: PathBuf,
    /// Where the last whole line ends.
    end: u64,
    /// Where the beginning of a line that was never finished went.
    pub torn: Option<PathBuf>,
}

impl Log {
    /// Opens the file at `path` in an archive's folder, or makes it, for its owner alone, and waits until
    /// no other process writes to it. A line that was never finished is moved to a file beside it.
    pub(super) fn open(path: &Path) -> Result<Self, ArchiveError> {
        let failed = |error: io::Error| ArchiveError::write(path, &error);
        if let Some(folder) = path.parent() {
            own::make_folder(folder).map_err(|error| ArchiveError::write(folder, &error))?;
        }
        for _ in 0..TRIES {
            let (file, is_new) = own::open_to_append(path).map_err(failed)?;
            usual(file.lock()).map_err(failed)?;
            // Between opening and locking, a sweep may have removed it.
            if !is_still_there(&file, path).map_err(failed)? {
                continue;
            }
            if is_new {
                sync_folder(path).map_err(failed)?;
            }
            let mut log = Self { file, path: path.to_owned(), end: 0, torn: None };
            log.find_end().map_err(failed)?;
            return Ok(log);
        }
        let error = io::Error::from(io::ErrorKind::NotFound);
        Err(ArchiveError::write(path, &error))
    }

    /// The first line, by which a file is told from one that stood at the same place before.
    pub(super) fn first_line(&mut self) -> Result<Vec<u8>, ArchiveError> {
        /// More than any first line has.
        const MOST: u64 = 256;
        let mut bytes = Vec::new();
        let read = self.file.seek(SeekFrom::Start(0));
        let read = read.and_then(|_| (&self.file).take(MOST).read_to_end(&mut bytes));
        read.map_err(|error| ArchiveError::read(&self.path, &error))?;
        bytes.truncate(memchr::memchr(b'\n', &bytes).unwrap_or(0));
        Ok(bytes)
    }

    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The lines from byte `from` on.
    pub(super) fn read_from(&mut self, from: u64) -> Result<Vec<u8>, ArchiveError> {
        let mut bytes = Vec::new();
        let read = self.file.seek(SeekFrom::Start(from.min(self.end)));
        let read = read.and_then(|_| self.file.read_to_end(&mut bytes));
        read.map_err(|error| ArchiveError::read(&self.path, &error))?;
        Ok(bytes)
    }

    /// Adds whole lines. They are on the disk when this returns; if it fails, none of them is in the file.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), ArchiveError> {
        let written = self.file.write_all(lines).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // If not even that works, readers pass over the line that is not whole.
            let _ = self.file.set_len(self.end);
            return Err(ArchiveError::write(&self.path, &error));
        }
        self.end += lines.len() as u64;
        Ok(())
    }

    /// Finds where the last whole line ends, and puts aside what is behind that.
    fn find_end(&mut self) -> io::Result<()> {
        const PIECE: u64 = 64 * 1024;
        let length = self.file.metadata()?.len();
        let mut end = length;
        let mut piece = Vec::new();
        while end > 0 {
            let start = end.saturating_sub(PIECE);
            piece.clear();
            self.file.seek(SeekFrom::Start(start))?;
            (&self.file).take(end - start).read_to_end(&mut piece)?;
            if let Some(at) = memchr::memrchr(b'\n', &piece) {
                end = start + at as u64 + 1;
                break;
            }
            end = start;
        }
        if end < length {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            let name = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let aside = tempfile::Builder::new()
                .prefix(&format!("{name}-"))
                .suffix(TORN)
                .tempfile_in(folder)?;
            let (mut aside, path) = aside.keep().map_err(|error| error.error)?;
            self.file.seek(SeekFrom::Start(end))?;
            io::copy(&mut self.file, &mut aside)?;
            aside.sync_all()?;
            self.file.set_len(end)?;
            self.torn = Some(path);
        }
        self.end = end;
        Ok(())
    }
}

/// All that is in the file at `path`, once nobody writes to it.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, ArchiveError> {
    read_whole(path).map_err(|error| ArchiveError::read(path, &error))
}

fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    // Where there are no locks, a line that is being written looks like one that never was.
    usual(file.lock_shared())?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Locks as far as the file system has any.
fn usual(locked: io::Result<()>) -> io::Result<()> {
    match locked {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        locked => locked,
    }
}

/// Makes sure that the name of a new file outlives a power failure.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        return File::open(folder)?.sync_all();
    }
    let _ = path;
    Ok(())
}

/// Whether the open file is the one at `path`. Where the system does not tell files apart, it lets nobody
/// remove an open one either.
fn is_still_there(file: &File, path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let open = file.metadata()?;
        Ok(fs::symlink_metadata(path)
            .is_ok_and(|there| (there.dev(), there.ino()) == (open.dev(), open.ino())))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(path.exists())
    }
}
