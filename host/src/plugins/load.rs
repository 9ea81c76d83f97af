//! Opening a library. The one place here that runs a stranger's code.

#![expect(unsafe_code, reason = "opening a dynamic library runs its code")]

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use brute_core::abi::{HEADER_SYMBOL, Header, Library, Manifest};

use super::{Digest, PluginFile};

/// Why a plugin could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// It was built for another ABI, or for another version of it.
    #[error(
        "it was built against {found}, and this program has {expected}: {}",
        match found.abi > expected.abi { true => "get a newer brute", false => "build it again against this version" }
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
    /// Another file was loaded from the same path before, and stays loaded.
    #[error("it has changed since it was loaded; start the program again to load it as it is now")]
    Changed,
    /// Its strategies are not those that its manifest names.
    #[error("its manifest names other strategies than it has")]
    Untrue,
}

/// All libraries that were ever opened, by their canonical path: none is closed again, since values of
/// theirs may be anywhere.
static OPEN: LazyLock<Mutex<HashMap<PathBuf, (Digest, Library)>>> = LazyLock::new(Mutex::default);

/// Loads the library of `file`, or finds it loaded.
pub(super) fn load(file: &PluginFile) -> Result<Library, LoadError> {
    if !file.fits() {
        return Err(mismatch(file, String::new()));
    }
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    match open.get(&file.path) {
        Some((digest, library)) if *digest == file.digest => return Ok(*library),
        Some(_) => return Err(LoadError::Changed),
        None => {}
    }
    let library = Library::of(header(&file.path).map_err(LoadError::Open)?)
        .map_err(|found| mismatch(file, found.report))?;
    let named = file.manifest.strategies.iter().map(|strategy| strategy.name.as_str());
    if !named.eq(library.strategies().map(|strategy| strategy.name())) {
        return Err(LoadError::Untrue);
    }
    open.insert(file.path.clone(), (file.digest, library));
    Ok(library)
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
