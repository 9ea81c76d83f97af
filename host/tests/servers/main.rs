//! Models behind servers, in a whole ladder: servers of these tests that fail in every way there is, and others that
//! were written by others (`cargo xtask ci --step contract`).
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod contract;
mod faults;
mod ladder;
mod model;
mod peer;
mod private;
mod recorded;
mod retries;
mod spending;
