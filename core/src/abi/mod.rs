//! The boundary between a host and layers in dynamic libraries.
//!
//! A plugin is a dynamic library that calls [`export_plugin!`](crate::export_plugin). The host reads
//! the [`Manifest`] from the file before any code of the library runs, then the [`Library`] behind
//! [`HEADER_SYMBOL`]. A window goes over as a view on the host's memory, the parts of its messages when they
//! are looked at, and a plan comes back as a list of edits; nothing is serialized, and a plugin can damage
//! nothing that it was not asked to change.
//!
//! ```text
//! host                                             plugin
//! Window ── flat view: numbers ────────────────────▶ Window ──▶ Strategy::plan
//!        ◀── parts of a message? borrowed strings ─▶
//! Plan   ◀── edits: numbers, owned strings ───────── Plan   ◀──┘
//! Host   ◀── count, complete, retrieval, log ─────── &dyn Host
//! ```
//!
//! # How it grows
//!
//! *Additive, and of no effect on plugins that are built already*: a role, a kind of part, a mark or a
//! flag with a new byte; a method of the host or of a layer, appended with a default body; a field of the
//! root module, appended; a meaning for a `reserved` number, 0 being the old one; a line of the manifest.
//!
//! *Raises [`VERSION`]*: any other change to a type in `raw`, a new meaning for a byte that there is, a
//! change to what a plan may ask. A host loads plugins of its own number only.
//!
//! *A mismatch says* which number, crate version and compiler each side has, and who has to build again.
//! The number is compared first. Behind it, `abi_stable` compares the layout of every type and the
//! version of this crate: while that is 0.x, plugins are built against the same minor version.

#![expect(unsafe_code, reason = "dynamic libraries: the boundary itself")]

mod convert;
mod guard;
mod lend;
mod library;
mod manifest;
mod plugin;
#[expect(unreachable_pub, non_local_definitions, reason = "what the derives of `abi_stable` make")]
mod raw;
#[cfg(test)]
mod tests;

pub use guard::panic_message;
pub use library::{BuildFailure, Exported, Header, Library, Mismatch, PluginLayer};
pub use manifest::{MANIFEST_SYMBOL, Manifest, ManifestError, StrategyManifest};

pub(crate) use lend::{Lent, LentMessage};
pub(crate) use raw::RawPart;

/// For [`export_plugin!`](crate::export_plugin) alone.
#[doc(hidden)]
pub use {
    abi_stable::library::{
        __call_root_module_loader, CheckTypeLayout, LibHeader, RootModuleResult,
    },
    manifest::{Entry, manifest, manifest_len},
    plugin::{exported, plugin},
    raw::PluginRef,
};

/// The number of this ABI. A host loads plugins of the same number.
pub const VERSION: u32 = match u32::from_str_radix(VERSION_TEXT, 10) {
    Ok(number) => number,
    Err(_) => panic!("not a number"),
};

const VERSION_TEXT: &str = "2";

/// The symbol that a plugin exports its [`Header`] under; `abi_stable` chose it.
pub const HEADER_SYMBOL: &str = "_1as_0lib_1header_0root_bmodule_bloader";
