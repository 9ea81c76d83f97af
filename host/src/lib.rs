//! Everything around the layers: formats, counters, configuration, the ladder, truncation to disk.
//!
//! This is what an agent embeds. The way of a conversation through the crate:
//! [`formats::Document`] reads it, [`ladder::Compactor`] makes it fit, the document writes it back.
//! [`config::Config`] says how, [`tokens`] and [`models`] how large things are, and [`truncation`]
//! caps tool results before they get that far. An [`archive::Archive`] keeps what a compaction gave up.

pub mod archive;
pub mod config;
pub mod formats;
pub mod guard;
pub mod ladder;
pub mod layers;
mod limit;
mod lines;
pub mod models;
pub mod plugins;
pub mod quantity;
pub mod replay;
pub mod session_log;
pub mod shown;
pub mod summarizers;
pub mod system;
pub mod tokens;
pub mod transcripts;
pub mod truncation;

/// What layers and conversations are made of, for programs that depend on this crate alone.
pub use brute_core as core;

/// The README's embedding, kept honest.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
