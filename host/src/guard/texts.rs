//! Full texts on disk that a conversation names stay there, whoever sweeps.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;

use brute_core::Conversation;

use super::{locked, names_in};
use crate::truncation::{Lease, SpillFolder};

/// The full texts of one conversation.
#[derive(Default)]
pub(super) struct Texts(Mutex<Held>);

#[derive(Default)]
struct Held {
    /// Of results that were cut, and were not seen in the conversation yet.
    new: BTreeSet<String>,
    /// What `lease` is of.
    names: BTreeSet<String>,
    folder: Option<PathBuf>,
    lease: Option<Lease>,
}

impl Texts {
    /// Keeps those that `conversation` names, and `new`, which it may come to name.
    pub(super) fn hold(
        &self,
        spill: &SpillFolder,
        conversation: &Conversation,
        new: Option<String>,
    ) {
        let held = &mut *locked(&self.0);
        let named = names_in(conversation);
        held.new.extend(new);
        held.new.retain(|name| !named.contains(name));
        let names: BTreeSet<String> = named.into_iter().chain(held.new.iter().cloned()).collect();
        let folder = spill.path().filter(|folder| folder.is_dir());
        if held.names == names && held.folder.as_deref() == folder {
            return;
        }
        let take = |folder| Lease::take(folder, &names);
        // What was held is let go of when the next is there.
        match folder.filter(|_| !names.is_empty()).map(take).transpose() {
            Ok(lease) => held.lease = lease,
            Err(error) => {
                tracing::warn!(%error, "full texts of results may be swept by others");
                return;
            }
        }
        (held.names, held.folder) = (names, folder.map(Into::into));
    }
}
