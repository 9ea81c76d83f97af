//! Opening a library. The one place here that runs a stranger's code.

#![expect(unsafe_code, reason = "opening a dynamic library runs its code")]

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use brute_core::abi::{HEADER_SYMBOL, Header, Library, Manifest};

use tempfile::TempDir;

use super::{Digest, PluginFile};
use crate::system::words_of;

/// Why a plugin could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It was built for another ABI, or for another version of it.
    #[error(
        "it was built against {found}, and this program has {expected}: {}",
        match age(found) > age(expected) { true => "get a newer brute", false => "build it again against this version" }
    )]
    Mismatch {
        /// What it was built against.
        found: Box<Manifest>,
        /// What this program was built against.
        expected: Box<Manifest>,
        /// All that the comparison of the layouts says, for the author of the plugin; empty if the numbers
        /// differ already.
        report: String,
    },
    /// The system does not open it.
    #[error("the system does not open it: {0}")]
    Open(String),
    /// Its bytes are not those that were looked at.
    #[error("it changed while it was being loaded")]
    Changed,
    /// There is no place for the private copy that is opened.
    #[error("no private copy of it can be made: {0}")]
    Copy(String),
    /// Its strategies are not those that its manifest names.
    #[error("its manifest names other strategies than it has")]
    Untrue,
}

/// What tells of two versions which is the later one.
fn age(manifest: &Manifest) -> (u32, Vec<u64>) {
    let numbers = manifest.core.split(['.', '-']).map_while(|number| number.parse().ok());
    (manifest.abi, numbers.collect())
}

/// All libraries that were ever opened, by their bytes, those that were refused too: none is closed
/// again, since values of theirs may be anywhere.
static OPEN: LazyLock<Mutex<HashMap<Digest, Result<Library, LoadError>>>> =
    LazyLock::new(Mutex::default);

/// Loads the library of `file`, or finds it loaded.
pub(super) fn load(file: &PluginFile) -> Result<Library, LoadError> {
    if !file.fits() {
        return Err(mismatch(file, String::new()));
    }
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = open.get(&file.digest) {
        return known.clone();
    }
    let copy = PrivateCopy::of(file)?;
    let opened = library(&copy.path, file);
    open.insert(file.digest, opened.clone());
    opened
}

fn library(path: &Path, file: &PluginFile) -> Result<Library, LoadError> {
    let library = Library::of(header(path).map_err(LoadError::Open)?)
        .map_err(|found| mismatch(file, found.report))?;
    let named = file.manifest.strategies.iter().map(|strategy| strategy.name.as_str());
    match named.eq(library.strategies().map(|strategy| strategy.name())) {
        true => Ok(library),
        false => Err(LoadError::Untrue),
    }
}

/// The bytes that were looked at, where nobody else can write. Opening the file itself would open whatever
/// stands there by then; and a library that is found beside it would be one that nobody has trusted.
///
/// The copy goes once it is open, where the system lets a file go that is mapped. That of a library which ends
/// the process goes when it is old.
struct PrivateCopy {
    path: PathBuf,
    _folder: TempDir,
}

impl PrivateCopy {
    fn of(file: &PluginFile) -> Result<Self, LoadError> {
        let failed = |error: io::Error| LoadError::Copy(words_of(&error));
        let bytes = fs::read(&file.path).map_err(failed)?;
        if Digest::of(&bytes) != file.digest {
            return Err(LoadError::Changed);
        }
        // The usual temporary folder may be one that no code is mapped from.
        let cache = directories::ProjectDirs::from("", "", "brute")
            .map(|folders| folders.cache_dir().join("plugins"))
            // With a relative `HOME`, it would be in whatever folder this is.
            .filter(|folder| folder.is_absolute())
            .filter(|folder| fs::create_dir_all(folder).is_ok());
        let folder = match cache {
            Some(cache) => {
                sweep(&cache);
                TempDir::new_in(cache).or_else(|_| TempDir::new())
            }
            None => TempDir::new(),
        };
        let folder = folder.map_err(failed)?;
        let path = folder.path().join(file.name());
        fs::write(&path, bytes).map_err(failed)?;
        Ok(Self { path, _folder: folder })
    }
}

/// A copy that is still needed is younger: it takes no longer than opening it.
const OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes old copies from the folder `cache`. What cannot be removed stays.
fn sweep(cache: &Path) {
    let is_old = |entry: &fs::DirEntry| {
        let made = entry.metadata().ok().filter(fs::Metadata::is_dir)?.modified().ok()?;
        Some(SystemTime::now().duration_since(made).ok()? > OLD)
    };
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        // As temporary folders are called.
        let is_copy = entry.file_name().as_encoded_bytes().starts_with(b".tmp");
        if is_copy && is_old(&entry) == Some(true) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn mismatch(file: &PluginFile, report: String) -> LoadError {
    let expected = Box::new(Manifest::of_this_crate());
    LoadError::Mismatch { found: Box::new(file.manifest.clone()), expected, report }
}

fn header(path: &Path) -> Result<Header, String> {
    // SAFETY: opening a library runs its initializers, as its user agreed to.
    let library = unsafe { open(path) }.map_err(|error| reason(&error))?;
    // SAFETY: a library with a manifest exports a header of this type under this name.
    let header = unsafe { library.get::<Header>(HEADER_SYMBOL) }.map(|header| *header);
    // Never closed, not even in vain: what its initializers began may go on.
    std::mem::forget(library);
    header.map_err(|error| reason(&error))
}

/// Opens a library. All symbols are looked up at once, so that one that is missing is told here and not
/// in the middle of a plan; and none becomes visible to other libraries.
///
/// # Safety
/// The initializers of the library run, and may do anything.
#[cfg(unix)]
unsafe fn open(path: &Path) -> Result<libloading::os::unix::Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: the caller's.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
}

/// Opens a library.
///
/// # Safety
/// The initializers of the library run, and may do anything.
#[cfg(windows)]
unsafe fn open(path: &Path) -> Result<libloading::os::windows::Library, libloading::Error> {
    // SAFETY: the caller's.
    unsafe { libloading::os::windows::Library::new(path) }
}

/// The system's words on one line; `libloading` itself says only which call failed.
fn reason(error: &libloading::Error) -> String {
    let said = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_old_copies_are_swept() {
        let cache = tempfile::tempdir().unwrap();
        let age = |name: &str, age: Duration| {
            let folder = cache.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("copy.so"), "bytes").unwrap();
            fs::File::open(&folder).unwrap().set_modified(SystemTime::now() - age).unwrap();
        };
        age(".tmpold", 2 * OLD);
        age(".tmpyoung", OLD / 2);
        age("other", 2 * OLD);
        std::os::unix::fs::symlink(cache.path().join("other"), cache.path().join(".tmplink"))
            .unwrap();
        // What is no copy of a library, but has the age, and what would lead out of the folder.
        fs::write(cache.path().join(".tmpfile"), "").unwrap();
        sweep(cache.path());
        let entries = fs::read_dir(cache.path()).unwrap();
        let mut left: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".tmpfile", ".tmplink", ".tmpyoung", "other"]);
        assert!(cache.path().join("other/copy.so").exists());
    }
}
