//! Layers in real dynamic libraries: what is loaded, what is refused, and what a bad one does to a
//! conversation.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod files;
mod parity;
mod toolchain;
mod trust;

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};

use brute_host::layers::LayerKind;
use brute_host::plugins::load_file;

/// The library of a fixture. Cargo builds it beside the test, since this package depends on it.
fn library(name: &str) -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    folder.join(format!("{DLL_PREFIX}brute_{name}{DLL_SUFFIX}"))
}

/// A copy of the library of a fixture, under its own name in `folder`.
fn copy(name: &str, folder: &Path) -> PathBuf {
    let library = library(name);
    let copy = folder.join(library.file_name().unwrap());
    std::fs::copy(library, &copy).unwrap();
    copy
}

/// A layer kind from the library of a fixture.
fn kind(library_name: &str, kind: &str) -> LayerKind {
    let kinds = load_file(library(library_name)).unwrap();
    kinds.into_iter().find(|known| known.name == kind).unwrap()
}
