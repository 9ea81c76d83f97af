//! Runs fault cases: generates their inputs, drives the tool, checks what came out.

pub mod case;
pub mod checks;
pub mod counting;
pub mod expand;
pub mod python;
pub mod run;
pub mod runner;
pub mod session;
pub mod settings;
pub mod summarizer;
pub mod truncator;
pub mod validate;
pub mod wire;
