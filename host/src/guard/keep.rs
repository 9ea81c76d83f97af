//! What a compaction gives up goes to the archive before the compaction is committed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use super::locked;
use crate::archive::{self, Archive, ArchiveError, Compacted, Digest};
use crate::formats::{Document, WriteOptions};
use crate::ladder::Compaction;

/// The archive of one session, opened when there is something to keep.
#[derive(Clone, Default)]
pub(super) struct Keeper(Arc<Mutex<Option<archive::Session>>>);

impl Keeper {
    /// Keeps what `compaction` gave up: as the bytes of `document`, from which it all comes back as it was, or as
    /// messages, if there is no document. `live` are the names of sessions that a sweep has to spare.
    pub(super) async fn keep(
        &self,
        archive: &Archive,
        name: &str,
        compaction: &Compaction,
        document: Option<&Arc<Document>>,
        live: impl FnOnce() -> HashSet<String> + Send + 'static,
    ) -> Result<(), ArchiveError> {
        if compaction.removed.is_empty() {
            return Ok(());
        }
        let (keeper, name) = (self.clone(), name.to_owned());
        let (kept_by, compaction) = (archive.clone(), compaction.clone());
        let document = document.cloned();
        let work = move || {
            let mut opened = locked(&keeper.0);
            let mut session = named(&kept_by, &name)?;
            if let Some(known) = opened.take().filter(|known| known.path() == session.path()) {
                session = known;
            }
            match document {
                None => session.keep(&compaction.removed)?,
                Some(document) => session.compacted(&compacted(&document, &compaction)?)?,
            };
            *opened = Some(session);
            let live = || {
                let sessions = live().into_iter().filter_map(|name| named(&kept_by, &name).ok());
                sessions.map(|session| session.name().to_owned()).collect()
            };
            let swept = kept_by.sweep_if_due(SystemTime::now(), live);
            for error in swept.into_iter().flat_map(|swept| swept.errors) {
                tracing::warn!(%error, "an old session was not removed from the archive");
            }
            Ok(())
        };
        let gave_up = |_| ArchiveError::Write {
            path: archive.folder().to_owned(),
            reason: "it was given up".to_owned(),
        };
        tokio::task::spawn_blocking(work).await.map_err(gave_up)?
    }
}

/// The archive of the session of this name. What no file can be called is called by its hash.
fn named(archive: &Archive, name: &str) -> Result<archive::Session, ArchiveError> {
    archive.session(name).or_else(|_| archive.session(&Digest::of(name.as_bytes()).handle()))
}

fn compacted(document: &Document, compaction: &Compaction) -> Result<Compacted, ArchiveError> {
    let [before, after] = [document.conversation(), &compaction.conversation]
        .map(|conversation| document.write(conversation, &WriteOptions::default()));
    let compacted = Compacted::read(document.format(), &before, &after, None)?;
    Ok(compacted.removed(document, &compaction.removed))
}
