//! Which libraries may run here.
//!
//! A dynamic library is native code with all the rights of its user, and a `brute.toml` may come with a
//! stranger's repository. So what a file names is not reason enough to load it: the user has said so
//! before, for this path and these bytes, in a file of their own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::file::unfit;
use super::{Digest, PluginFile};
#[cfg(unix)]
use crate::shown::shell_word;
use crate::shown::shown;
use crate::system::words_of;

/// The name of the file, beside the user's `brute.toml`.
pub const TRUST_FILE_NAME: &str = "trusted-plugins.toml";

/// The environment variable that names folders whose plugins are trusted, as `PATH` does.
pub const TRUST_VARIABLE: &str = "BRUTE_TRUST_PLUGINS";

const HEAD: &str = "\
# Plugins that may run with your rights. Written by `brute plugins trust FILE`, and read again each time:
# a library whose bytes are not these is not loaded.
";

/// Which libraries may run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    files: BTreeMap<PathBuf, Digest>,
    folders: Vec<PathBuf>,
}

/// What is said of one library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Trusted,
    /// Nobody has said so.
    Unknown,
    /// Its bytes are not those that were trusted.
    Changed,
}

/// Why the file of trust trusts nothing, or was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// What it says, or what it is, cannot be used.
    #[error("`{}`: {reason} (mend it, or delete it to trust no plugin)", shown(path.display()))]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Others than its user may have a say in it.
    #[error("`{}` is not heard: {reason}", shown(path.display()))]
    Unsafe {
        /// The file.
        path: PathBuf,
        /// Who else, and what to do about it.
        reason: String,
    },
    /// The system does not give it.
    #[error("`{}` cannot be read: {reason}", shown(path.display()))]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// The system does not take it.
    #[error("`{}` cannot be written: {reason}", shown(path.display()))]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A library has a path that the file cannot hold.
    #[error(
        "`{}` cannot be trusted: its path is not UTF-8 text; call it something else",
        shown(library.display())
    )]
    NotText {
        /// The library.
        library: PathBuf,
    },
}

/// Bytes that no file of trust has.
const LARGEST: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    plugin: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: PathBuf,
    blake3: String,
}

impl Trust {
    /// What the file at `path` says; nothing if there is none.
    ///
    /// # Errors
    /// If it cannot be read. Nothing is trusted then.
    pub fn read(path: &Path) -> Result<Self, TrustError> {
        let broken = |reason: String| TrustError::Broken { path: path.to_owned(), reason };
        let Some(text) = text_of(path)? else { return Ok(Self::default()) };
        let written: Written = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            broken(format!("line {line}: {}", error.message()))
        })?;
        let entry = |entry: Entry| match Digest::parse(&entry.blake3) {
            Some(digest) => Ok((entry.path, digest)),
            None => Err(broken(format!("`{}` is no BLAKE3 digest", entry.blake3))),
        };
        let files = written.plugin.into_iter().map(entry).collect::<Result<_, _>>()?;
        Ok(Self { files, folders: Vec::new() })
    }

    /// Changes what the file at `path` says. Who else wants to change it waits until it is done.
    ///
    /// # Errors
    /// If it cannot be read or written. It is as it was then.
    pub fn update<T>(path: &Path, change: impl FnOnce(&mut Self) -> T) -> Result<T, TrustError> {
        // A link stays one: what it names is written.
        let path = &resolved(path);
        let folder = path.parent().unwrap_or(Path::new("."));
        let lock = || {
            private_folder().create(folder)?;
            // Not of the file itself, which is replaced. It stays: whoever waits has it open.
            let lock = path.with_extension("lock");
            // To read as well, since opening a pipe only to write to it would wait for a reader.
            let lock =
                File::options().create(true).truncate(false).read(true).write(true).open(lock)?;
            lock.lock().map(|()| lock)
        };
        let lock = lock().map_err(|error| unwritable(path, &error))?;
        are_own(path, &[folder])?;
        let before = Self::read(path)?;
        let mut trust = before.clone();
        let changed = change(&mut trust);
        if trust != before {
            trust.write(path)?;
        }
        drop(lock);
        Ok(changed)
    }

    /// Writes the file at `path`, whole or not at all. Trusted folders are for one run and not in it.
    fn write(&self, path: &Path) -> Result<(), TrustError> {
        if let Some(library) = self.files.keys().find(|library| library.to_str().is_none()) {
            return Err(TrustError::NotText { library: library.clone() });
        }
        let entries = self
            .files
            .iter()
            .map(|(path, digest)| Entry { path: path.clone(), blake3: digest.to_string() });
        let written = toml::to_string(&Written { plugin: entries.collect() })
            .map_err(io::Error::other)
            .and_then(|text| {
                let folder = path.parent().unwrap_or(Path::new("."));
                let mut file = tempfile::NamedTempFile::new_in(folder)?;
                write!(file, "{HEAD}\n{text}")?;
                file.persist(path).map_err(|error| error.error)?;
                Ok(())
            });
        written.map_err(|error| unwritable(path, &error))
    }

    /// Trusts a file as it is now. What was said of it before.
    pub fn add(&mut self, file: &PluginFile) -> Verdict {
        let before = self.of(file);
        self.files.insert(file.path.clone(), file.digest);
        before
    }

    /// Trusts a file no longer, be it there or gone. The path that was trusted; none if it was not.
    pub fn remove(&mut self, path: &Path) -> Option<PathBuf> {
        let spelled = std::path::absolute(path).ok();
        // A link may have been put in its place since.
        let named = [Some(resolved(path)), spelled].into_iter().flatten();
        named.into_iter().find(|path| self.files.remove(path).is_some())
    }

    /// Trusts every library below `folder`, whatever its bytes.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn add_folder(&mut self, folder: &Path) -> io::Result<()> {
        let folder = fs::canonicalize(folder)?;
        if !folder.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        self.folders.push(folder);
        Ok(())
    }

    /// What is said of this file.
    pub fn of(&self, file: &PluginFile) -> Verdict {
        if self.folders.iter().any(|folder| file.path.starts_with(folder)) {
            return Verdict::Trusted;
        }
        match self.files.get(&file.path) {
            Some(digest) if *digest == file.digest => Verdict::Trusted,
            Some(_) => Verdict::Changed,
            None => Verdict::Unknown,
        }
    }
}

/// The text at `path`, if its user alone can have written it; none if there is no such file.
fn text_of(path: &Path) -> Result<Option<String>, TrustError> {
    let broken = |reason: &str| TrustError::Broken { path: path.into(), reason: reason.into() };
    let unreadable = |error: io::Error| unreadable(path, &error);
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata.map_err(unreadable)?,
    };
    if let Some(why) = unfit(&metadata, LARGEST) {
        return Err(broken(why));
    }
    let real = fs::canonicalize(path).map_err(unreadable)?;
    // Whoever writes to the folder of a link has it lead elsewhere.
    let folders = [path, &real].into_iter().filter_map(Path::parent);
    let places: Vec<&Path> = folders.filter(|folder| !folder.as_os_str().is_empty()).collect();
    are_own(path, &[&[&*real], &*places].concat())?;
    let mut bytes = Vec::new();
    let read = File::open(&real).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(unreadable)?;
    String::from_utf8(bytes).map(Some).map_err(|_| broken("it is not UTF-8 text"))
}

fn unreadable(path: &Path, error: &io::Error) -> TrustError {
    TrustError::Read { path: path.to_owned(), reason: words_of(error) }
}

fn unwritable(path: &Path, error: &io::Error) -> TrustError {
    TrustError::Write { path: path.to_owned(), reason: words_of(error) }
}

/// What makes a folder that only its user has a say in, whatever they let others do elsewhere.
fn private_folder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Whether nobody but the user (and root, who may do anything) can write to what decides over the file of
/// trust at `path`.
#[cfg(unix)]
fn are_own(path: &Path, places: &[&Path]) -> Result<(), TrustError> {
    use std::os::unix::fs::MetadataExt;
    /// Writing by the group and by others.
    const OTHERS_WRITE: u32 = 0o022;
    /// In such a folder, nobody replaces the files of another.
    const STICKY: u32 = 0o1000;
    let user = rustix::process::geteuid().as_raw();
    for place in places {
        let metadata = fs::metadata(place).map_err(|error| unreadable(path, &error))?;
        let is_sticky = metadata.is_dir() && metadata.mode() & STICKY != 0;
        let named = shown(place.display());
        let reason = if ![0, user].contains(&metadata.uid()) {
            format!("`{named}` belongs to another user")
        } else if metadata.mode() & OTHERS_WRITE != 0 && !is_sticky {
            let word = shell_word(place);
            format!("others may write to `{named}`; `chmod go-w {word}` takes that from them")
        } else {
            continue;
        };
        return Err(TrustError::Unsafe { path: path.to_owned(), reason });
    }
    Ok(())
}

/// Elsewhere, the folder of the user's configuration is theirs by the rules that it inherits.
#[cfg(not(unix))]
fn are_own(_: &Path, _: &[&Path]) -> Result<(), TrustError> {
    Ok(())
}

/// The links that are followed from one path, as many as Linux does.
const MOST_LINKS: u8 = 40;

/// `path` as [`fs::canonicalize`] has it, also where there is nothing, or a link to nothing: what is gone is
/// named as it was.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    followed(&path, MOST_LINKS)
}

fn followed(path: &Path, links: u8) -> PathBuf {
    if let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    let Some(parent) = path.parent() else { return path.to_owned() };
    let folder = followed(parent, links);
    let Some(name) = path.file_name() else {
        // It ends in `..`.
        return folder.parent().unwrap_or(&folder).to_owned();
    };
    let path = folder.join(name);
    match fs::read_link(&path) {
        Ok(target) if links > 0 => followed(&folder.join(target), links - 1),
        _ => path,
    }
}
