//! The agent in `examples/agent`, against servers of this test: a whole session as it is recorded, and what goes wrong.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod errors;
mod model_server;
mod peer;
mod program;
mod recorded_exchange;
