//! For tests of layers: a notation for conversations, generators of them, a host to plan against, and
//! the laws that every layer keeps.

pub mod conformance;
pub mod generate;
pub mod laws;
pub mod notation;

mod host;

pub use host::TestHost;
