//! What a compaction gives up goes to the archive before the compaction is committed: most of it ahead, while the
//! model is at work.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, TryLockError, Weak};
use std::time::SystemTime;

use brute_core::{Conversation, Message, MessageId, Role};

use super::locked;
use crate::archive::{self, Archive, ArchiveError, Compacted, Digest, Exchange};
use crate::formats::{Document, WriteOptions};
use crate::ladder::Compaction;
use crate::truncation::Lease;

/// The archive of one session, opened when there is something to keep.
#[derive(Clone, Default)]
pub(super) struct Keeper(Arc<Inner>);

#[derive(Default)]
struct Inner {
    kept: Mutex<Kept>,
    ahead: Mutex<Ahead>,
}

#[derive(Default)]
struct Kept {
    session: Option<archive::Session>,
    /// Messages that were archived before they went, and their digests. A message of the same id may say something else
    /// by now.
    ahead: HashMap<MessageId, (Weak<Message>, Digest)>,
    /// In which of the files that stood there.
    file: u64,
    /// Keeps the file from the sweeps of others, once it is there.
    lease: Option<Lease>,
}

/// What is to be archived ahead. One thread at a time does it, however slow the disk is.
#[derive(Default)]
struct Ahead {
    messages: Vec<Arc<Message>>,
    is_under_way: bool,
}

impl Kept {
    /// The archive of the session of this name: the one that is known, if it is that.
    fn session(
        &mut self,
        archive: &Archive,
        name: &str,
    ) -> Result<&mut archive::Session, ArchiveError> {
        let session = archive.session(&archive.file_name(name))?;
        let known = self.session.take().filter(|known| known.path() == session.path());
        if known.is_none() {
            self.ahead.clear();
            self.file = 0;
            self.lease = None;
        }
        Ok(self.session.insert(known.unwrap_or(session)))
    }

    /// Keeps the file, if there is one, for as long as the session lives.
    fn hold(&mut self, archive: &Archive) {
        let Some(session) = self.session.as_ref().filter(|_| self.lease.is_none()) else { return };
        match archive.lease(session.name()) {
            Ok(lease) => self.lease = lease,
            Err(error) => tracing::warn!(%error, "the archive of a session may be swept by others"),
        }
    }

    /// Archives those of `messages` that are not yet.
    fn keep(
        &mut self,
        archive: &Archive,
        name: &str,
        messages: Vec<Arc<Message>>,
    ) -> Result<(), ArchiveError> {
        let may_go = |message: &Arc<Message>| message.role() != Role::System && !self.has(message);
        let new: Vec<_> = messages.into_iter().filter(may_go).collect();
        let session = self.session(archive, name)?;
        session.keep(&new)?;
        let file = session.files();
        if std::mem::replace(&mut self.file, file) != file {
            self.ahead.clear();
        }
        let known = |message: &Arc<Message>| {
            (message.id(), (Arc::downgrade(message), Digest::of_all(message)))
        };
        self.ahead.extend(new.iter().map(known));
        self.hold(archive);
        Ok(())
    }

    fn has(&self, message: &Arc<Message>) -> bool {
        self.digest(message).is_some()
    }

    /// The digest of a message that was archived before it went.
    fn digest(&self, message: &Arc<Message>) -> Option<Digest> {
        let (known, digest) = self.ahead.get(&message.id())?;
        std::ptr::eq(known.as_ptr(), Arc::as_ptr(message)).then_some(*digest)
    }

    fn forget(&mut self, gone: &[Arc<Message>]) {
        gone.iter().for_each(|message| drop(self.ahead.remove(&message.id())));
    }
}

impl Keeper {
    /// Keeps what was archived of a session that goes on.
    pub(super) fn hold(&self, archive: &Archive, name: &str) {
        let mut kept = locked(&self.0.kept);
        if kept.session(archive, name).is_ok() {
            kept.hold(archive);
        }
    }

    /// Archives `messages`, which may go soon, while nobody waits for it. What fails here is tried again, and told of,
    /// when they go. Needs a tokio runtime. `live` are the names of sessions that a sweep has to spare.
    pub(super) fn ahead(
        &self,
        archive: &Archive,
        name: &str,
        messages: &[Arc<Message>],
        live: impl FnOnce() -> HashSet<String> + Send + 'static,
    ) {
        let ahead = &mut *locked(&self.0.ahead);
        ahead.messages.extend_from_slice(messages);
        if ahead.messages.is_empty() || std::mem::replace(&mut ahead.is_under_way, true) {
            return;
        }
        let (keeper, archive, name) = (self.clone(), archive.clone(), name.to_owned());
        tokio::task::spawn_blocking(move || {
            while let Some(messages) = keeper.next_ahead() {
                // Told of when it is needed, and fails again.
                let _ = locked(&keeper.0.kept).keep(&archive, &name, messages);
            }
            sweep_if_due(&archive, live);
        });
    }

    /// What is to be archived next; nothing if that is all.
    fn next_ahead(&self) -> Option<Vec<Arc<Message>>> {
        let ahead = &mut *locked(&self.0.ahead);
        let messages = std::mem::take(&mut ahead.messages);
        ahead.is_under_way = !messages.is_empty();
        ahead.is_under_way.then_some(messages)
    }

    /// Notes where all that went from `before` stood, if that was archived ahead, and is still there; whether it is so.
    ///
    /// The agent waits for one line to be written, which a killed process leaves whole, and not for the disk: after a
    /// power failure before that has it, the messages are still found by their handles, but this compaction and those
    /// before it cannot be undone.
    fn has_noted(
        &self,
        archive: &Archive,
        name: &str,
        before: &Conversation,
        compaction: &Compaction,
    ) -> bool {
        let mut kept = match self.0.kept.try_lock() {
            Ok(kept) => kept,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // It is being archived just now, for which the agent's thread does not wait.
            Err(TryLockError::WouldBlock) => return false,
        };
        let is_open = kept.session(archive, name).is_ok();
        if !is_open || !compaction.removed.iter().all(|message| kept.has(message)) {
            return false;
        }
        let digest = |message: &Arc<Message>| {
            kept.digest(message).unwrap_or_else(|| Digest::of_all(message))
        };
        let exchange = Exchange::between(before, &compaction.conversation, digest);
        let noted = exchange.and_then(|exchange| kept.session.as_ref()?.note(&exchange));
        let Some(file) = noted else { return false };
        kept.forget(&compaction.removed);
        tokio::task::spawn_blocking(move || {
            if let Err(error) = file.sync_data() {
                tracing::warn!(%error, "what a compaction gave up may not be on the disk");
            }
        });
        true
    }

    /// Keeps what `compaction` gave up of `before`: as the bytes of `document`, from which it all comes back as it was, or as
    /// messages, if there is no document. `live` are the names of sessions that a sweep has to spare.
    pub(super) async fn keep(
        &self,
        archive: &Archive,
        name: &str,
        before: &Conversation,
        compaction: &Compaction,
        document: Option<&Arc<Document>>,
        live: impl FnOnce() -> HashSet<String> + Send + 'static,
    ) -> Result<(), ArchiveError> {
        let gone = &compaction.removed;
        if gone.is_empty()
            || (document.is_none() && self.has_noted(archive, name, before, compaction))
        {
            return Ok(());
        }
        let (keeper, name) = (self.clone(), name.to_owned());
        let (kept_by, before, compaction) = (archive.clone(), before.clone(), compaction.clone());
        let document = document.cloned();
        let work = move || {
            let mut kept = locked(&keeper.0.kept);
            let session = kept.session(&kept_by, &name)?;
            match document {
                None => session.exchanged(&before, &compaction.conversation)?,
                Some(document) => session.compacted(&compacted(&document, &compaction)?)?,
            };
            kept.forget(&compaction.removed);
            kept.hold(&kept_by);
            drop(kept);
            sweep_if_due(&kept_by, live);
            Ok(())
        };
        let gave_up = |_| ArchiveError::Write {
            path: archive.folder().to_owned(),
            reason: "it was given up".to_owned(),
        };
        tokio::task::spawn_blocking(work).await.map_err(gave_up)?
    }
}

/// Removes the sessions of others that are too old or too many, if it is time to.
fn sweep_if_due(archive: &Archive, live: impl FnOnce() -> HashSet<String>) {
    let live = || live().iter().map(|name| archive.file_name(name)).collect();
    let swept = archive.sweep_if_due(SystemTime::now(), live);
    for error in swept.into_iter().flat_map(|swept| swept.errors) {
        tracing::warn!(%error, "an old session was not removed from the archive");
    }
}

fn compacted(document: &Document, compaction: &Compaction) -> Result<Compacted, ArchiveError> {
    let [before, after] = [document.conversation(), &compaction.conversation]
        .map(|conversation| document.write(conversation, &WriteOptions::default()));
    let compacted = Compacted::read(document.format(), &before, &after, None)?;
    Ok(compacted.removed(document, &compaction.removed))
}
