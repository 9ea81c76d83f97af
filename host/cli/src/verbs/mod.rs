//! One module a verb.

pub(crate) mod advise;
pub(crate) mod check;
pub(crate) mod compact;
pub(crate) mod config;
pub(crate) mod convert;
pub(crate) mod count;
pub(crate) mod explain;
pub(crate) mod init;
pub(crate) mod layers;
pub(crate) mod man;
pub(crate) mod orderings;
#[cfg(feature = "plugins")]
pub(crate) mod plugins;
pub(crate) mod repair;
pub(crate) mod replay;
pub(crate) mod restore;
pub(crate) mod truncate;
