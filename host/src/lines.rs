//! A file of lines that are only ever added to.
//!
//! A line counts once its line break is there. What a killed process left of one is put aside before the
//! next line is written, and passed over by readers.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::truncation::own;

/// How the name of a file ends that holds a line that was never finished.
pub(crate) const TORN: &str = ".torn";

/// Files that are being locked may be swept at that moment; so often a new one is made before that is
/// taken for a fault.
const TRIES: usize = 8;

/// What to do while another value or process has the file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Others {
    /// Wait until it has it no longer.
    Wait,
    /// Fail with [`io::ErrorKind::WouldBlock`].
    Refuse,
}

/// What something else did to a file that is open: not everybody asks for its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harm {
    /// It is not at its path any more.
    Gone,
    /// It was cut or added to, and is this long now.
    Changed {
        /// In bytes.
        length: u64,
    },
}

/// A file that this value alone may write to, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Lines {
    file: Arc<File>,
    path: PathBuf,
    /// Where the last whole line ends.
    end: u64,
    /// Whether something stands behind the end that was not to be written, and could not be taken back.
    is_unclean: bool,
}

impl Lines {
    /// Opens the file at `path`, or makes it, for its owner alone. It is as it was found until
    /// [`settle`](Self::settle) is called, and nothing can be added before that.
    pub(crate) fn open(path: &Path, others: Others) -> io::Result<Self> {
        for _ in 0..TRIES {
            let (file, is_new) = own::open_to_append(path)?;
            usual(match others {
                Others::Wait => file.lock(),
                Others::Refuse => file.try_lock().map_err(io::Error::from),
            })?;
            // Between opening and locking, a sweep may have removed it.
            if !is_still_there(&file, path)? {
                continue;
            }
            // One that died before it came to that left an empty file.
            if is_new || file.metadata()?.len() == 0 {
                sync_folder(path)?;
            }
            // The process may go to another folder meanwhile.
            let (file, path) = (Arc::new(file), std::path::absolute(path)?);
            return Ok(Self { file, path, end: 0, is_unclean: false });
        }
        Err(io::Error::from(io::ErrorKind::NotFound))
    }

    /// The first line, by which a file is told from one that stood at the same place before.
    pub(crate) fn first_line(&self) -> io::Result<Vec<u8>> {
        /// More than any first line has.
        const MOST: u64 = 256;
        let (mut file, mut bytes) = (&*self.file, Vec::new());
        file.seek(SeekFrom::Start(0))?;
        file.take(MOST).read_to_end(&mut bytes)?;
        bytes.truncate(memchr::memchr(b'\n', &bytes).unwrap_or(0));
        Ok(bytes)
    }

    /// Where the last whole line ends.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// All from byte `from` on.
    pub(crate) fn read_from(&self, from: u64) -> io::Result<Vec<u8>> {
        let (mut file, mut bytes) = (&*self.file, Vec::new());
        file.seek(SeekFrom::Start(from))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// What something else did to the file since it was opened, if it did.
    pub(crate) fn harm(&self) -> io::Result<Option<Harm>> {
        if !is_still_there(&self.file, &self.path)? {
            return Ok(Some(Harm::Gone));
        }
        let length = self.file.metadata()?.len();
        // What could not be taken back is behind the end.
        let is_ours = length == self.end || self.is_unclean && length > self.end;
        Ok((!is_ours).then_some(Harm::Changed { length }))
    }

    /// The file, for a thread that brings it to the disk.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Adds whole lines, which outlive this process when this returns. If it fails, none of them is in the file.
    pub(crate) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.add(lines, |_| Ok(()))
    }

    /// The same for lines that outlive a power failure as well.
    pub(crate) fn append_to_disk(&mut self, lines: &[u8]) -> io::Result<()> {
        self.add(lines, File::sync_data)
    }

    fn add(&mut self, lines: &[u8], then: fn(&File) -> io::Result<()>) -> io::Result<()> {
        if self.is_unclean {
            self.file.set_len(self.end)?;
            self.is_unclean = false;
        }
        let written = (&*self.file).write_all(lines).and_then(|()| then(&self.file));
        match written {
            Ok(()) => self.end += lines.len() as u64,
            // If not even that works, readers pass over the line that is not whole.
            Err(_) => self.is_unclean = self.file.set_len(self.end).is_err(),
        }
        written
    }

    /// Finds where the last whole line ends. What is behind that is moved to a file beside this one, whose path is
    /// returned.
    pub(crate) fn settle(&mut self) -> io::Result<Option<PathBuf>> {
        const PIECE: u64 = 64 * 1024;
        let mut file = &*self.file;
        let length = file.metadata()?.len();
        let mut end = length;
        let mut piece = Vec::new();
        while end > 0 {
            let start = end.saturating_sub(PIECE);
            piece.clear();
            file.seek(SeekFrom::Start(start))?;
            file.take(end - start).read_to_end(&mut piece)?;
            if let Some(at) = memchr::memrchr(b'\n', &piece) {
                end = start + at as u64 + 1;
                break;
            }
            end = start;
        }
        self.end = end;
        if end == length {
            return Ok(None);
        }
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let aside = tempfile::Builder::new()
            .prefix(&format!("{name}-"))
            .suffix(TORN)
            .tempfile_in(folder_of(&self.path))?;
        let (mut aside, path) = aside.keep().map_err(|error| error.error)?;
        file.seek(SeekFrom::Start(end))?;
        io::copy(&mut file, &mut aside)?;
        aside.sync_all()?;
        file.set_len(end)?;
        Ok(Some(path))
    }
}

impl Drop for Lines {
    /// Closing is not enough at once: a program that is being started on another thread has the file for a moment.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// All that is in the file at `path`, once nobody writes to it.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    // Where there are no locks, a line that is being written looks like one that never was.
    usual(file.lock_shared())?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The folder that the file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let named = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    named.unwrap_or(Path::new("."))
}

/// Locks as far as the file system has any.
pub(crate) fn usual(locked: io::Result<()>) -> io::Result<()> {
    match locked {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        locked => locked,
    }
}

/// Makes sure that the name of a new file outlives a power failure.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(folder_of(path))?.sync_all()?;
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
