//! Which libraries may run here.
//!
//! A dynamic library is native code with all the rights of its user, and a `brute.toml` may come with a
//! stranger's repository. So what a file names is not reason enough to load it: the user has said so
//! before, for this path and these bytes, in a file of their own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Digest, PluginFile};
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

/// A file of trust that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}`: {reason} (mend it, or delete it to trust no plugin)", path.display())]
pub struct TrustError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

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
        let failed = |reason: String| TrustError { path: path.to_owned(), reason };
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(words_of(&error))),
        };
        let written: Written =
            toml::from_str(&text).map_err(|error| failed(error.to_string().trim().to_owned()))?;
        let entry = |entry: Entry| match Digest::parse(&entry.blake3) {
            Some(digest) => Ok((entry.path, digest)),
            None => Err(failed(format!("`{}` is no BLAKE3 digest", entry.blake3))),
        };
        let files = written.plugin.into_iter().map(entry).collect::<Result<_, _>>()?;
        Ok(Self { files, folders: Vec::new() })
    }

    /// Changes what the file at `path` says. Who else wants to change it waits until it is done.
    ///
    /// # Errors
    /// If it cannot be read or written. It is as it was then.
    pub fn update<T>(path: &Path, change: impl FnOnce(&mut Self) -> T) -> Result<T, TrustError> {
        let path = &resolved(path);
        let lock = || {
            fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
            // Not of the file itself, which is replaced. It stays: whoever waits has it open.
            let lock = path.with_extension("lock");
            let lock = File::options().create(true).truncate(false).write(true).open(lock)?;
            lock.lock().map(|()| lock)
        };
        let failed = |error: io::Error| TrustError { path: path.clone(), reason: words_of(&error) };
        let lock = lock().map_err(failed)?;
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
    ///
    /// # Errors
    /// If it cannot be written.
    fn write(&self, path: &Path) -> Result<(), TrustError> {
        // A link stays one: what it names is written.
        let path = &resolved(path);
        let failed = |reason: String| TrustError { path: path.clone(), reason };
        let entries = self
            .files
            .iter()
            .map(|(path, digest)| Entry { path: path.clone(), blake3: digest.to_string() });
        let text = toml::to_string(&Written { plugin: entries.collect() })
            .map_err(|error| failed(error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let written = fs::create_dir_all(folder).and_then(|()| {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            write!(file, "{HEAD}\n{text}")?;
            file.persist(path).map_err(|error| error.error)?;
            Ok(())
        });
        written.map_err(|error| failed(words_of(&error)))
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
        self.folders.push(fs::canonicalize(folder)?);
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
