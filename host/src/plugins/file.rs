//! A library as a file: read, checked and identified, without running any of its code.
//!
//! Opening a library runs its initializers, and a half-copied one kills the process that maps it. So all
//! that can be known from the bytes is found out first: whether it is a whole library for this machine,
//! and what its manifest says.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use brute_core::abi::{self, MANIFEST_SYMBOL, Manifest, ManifestError};

use crate::system::words_of;

/// The BLAKE3 hash of a file's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The digest that `text` shows, 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }
}

/// In hexadecimal digits.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

/// A file that was found to be a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFile {
    /// Where it is; canonical.
    pub path: PathBuf,
    /// What its bytes are.
    pub digest: Digest,
    /// What it says of itself.
    pub manifest: Manifest,
}

/// Why a file is no plugin that can be loaded here.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system does not give it.
    #[error("it cannot be read: {}", words_of(.0))]
    Io(#[from] io::Error),
    /// It is no dynamic library.
    #[error("it is no dynamic library ({0})")]
    NotALibrary(String),
    /// It ends before its own tables say that it does.
    #[error("it is cut off, as if it was still being copied")]
    CutOff,
    /// It is for another kind of machine.
    #[error("it is built for {found}, and this program for {expected}")]
    OtherMachine {
        /// What it is for.
        found: String,
        /// What would do.
        expected: String,
    },
    /// It exports no manifest.
    #[error("it is a dynamic library, but no plugin: it exports no `{MANIFEST_SYMBOL}`")]
    NotAPlugin,
    /// Its manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl PluginFile {
    /// Whether it was built for the ABI of this program.
    pub fn fits(&self) -> bool {
        self.manifest.abi == abi::VERSION
    }

    /// Its name without the folder.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or(self.path.as_os_str()).to_string_lossy().into_owned()
    }
}

/// Why such a file is not even opened: a pipe would be waited for, and a size is a promise that costs nothing.
pub(super) fn unfit(metadata: &fs::Metadata, largest: u64) -> Option<&'static str> {
    match metadata.len() {
        _ if !metadata.is_file() => Some("it is no regular file"),
        size if size >= largest => Some("it is larger than any"),
        _ => None,
    }
}
