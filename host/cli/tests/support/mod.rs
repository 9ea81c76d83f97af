//! Runs fault cases: generates their inputs, drives the tool, checks what came out.

pub(crate) mod case;
pub(crate) mod checks;
pub(crate) mod counting;
pub(crate) mod expand;
pub(crate) mod python;
pub(crate) mod run;
pub(crate) mod runner;
pub(crate) mod session;
pub(crate) mod settings;
pub(crate) mod store;
pub(crate) mod summarizer;
pub(crate) mod truncator;
pub(crate) mod validate;
pub(crate) mod wire;
