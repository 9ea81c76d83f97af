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

#![cfg_attr(
    feature = "plugins",
    expect(unsafe_code, reason = "dynamic libraries: the boundary itself")
)]

#[cfg(not(feature = "plugins"))]
mod absent;
#[cfg(feature = "plugins")]
mod convert;
#[cfg(feature = "plugins")]
mod guard;
#[cfg(feature = "plugins")]
mod lend;
#[cfg(feature = "plugins")]
mod library;
mod manifest;
#[cfg(feature = "plugins")]
mod plugin;
#[cfg(feature = "plugins")]
#[expect(unreachable_pub, non_local_definitions, reason = "what the derives of `abi_stable` make")]
mod raw;
#[cfg(test)]
#[cfg(feature = "plugins")]
mod tests;

use std::any::Any;

#[cfg(feature = "plugins")]
pub use library::{BuildFailure, Exported, Header, Library, Mismatch, PluginLayer};
pub use manifest::{MANIFEST_SYMBOL, Manifest, ManifestError, StrategyManifest};

#[cfg(not(feature = "plugins"))]
pub(crate) use absent::{Lent, LentMessage, RawPart};
#[cfg(feature = "plugins")]
pub(crate) use {
    lend::{Lent, LentMessage},
    raw::RawPart,
};

/// For [`export_plugin!`](crate::export_plugin) alone.
#[cfg(feature = "plugins")]
#[doc(hidden)]
pub use {
    abi_stable::library::{
        __call_root_module_loader, CheckTypeLayout, LibHeader, RootModuleResult,
    },
    plugin::{exported, plugin},
    raw::PluginRef,
};

/// For `export_plugin!` alone.
#[doc(hidden)]
pub use manifest::{Entry, manifest, manifest_len};

/// The number of this ABI. A host loads plugins of the same number.
pub const VERSION: u32 = match u32::from_str_radix(VERSION_TEXT, 10) {
    Ok(number) => number,
    Err(_) => panic!("not a number"),
};

const VERSION_TEXT: &str = "2";

/// The symbol that a plugin exports its [`Header`] under; `abi_stable` chose it.
pub const HEADER_SYMBOL: &str = "_1as_0lib_1header_0root_bmodule_bloader";

/// What a panic says, by its payload.
pub fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
