//! A session whose compactions are archived.

use std::sync::Arc;

use super::{Due, Session, locked};
use crate::archive::ArchiveError;
use crate::formats::Document;
use crate::guard::keep::Outlives;
use crate::ladder::Compaction;

impl Session {
    /// Has what may go soon archived while the model is at work, so that a compaction need not wait for it.
    pub(super) fn archive_ahead(&self) {
        let state = &mut *locked(&self.0.state);
        let policy = self.policy_of(state);
        let Some(archive) = policy.archive() else { return };
        let (counter, half) = (&**policy.counter(), policy.budget().compact_at() / 2);
        let conversation = &mut state.conversation;
        if state.meter.is_below(half, conversation, counter) || !conversation.exceeds(half, counter)
        {
            return;
        }
        let (generation, handed) = state.archived;
        let from = if generation == state.generation { handed } else { 0 };
        let messages = conversation.messages().get(from..).unwrap_or_default();
        if !messages.is_empty() {
            let guard = self.0.guard.clone();
            self.0.keeper.ahead(archive, (state.generation, from), messages, move || guard.names());
        }
        state.archived = (state.generation, state.conversation.len());
    }

    /// Archives what a compaction gave up, before it is committed.
    pub(super) async fn archive(
        &self,
        due: &Due,
        compaction: &Compaction,
        document: Option<&Arc<Document>>,
    ) -> Result<(), ArchiveError> {
        let Some(archive) = due.policy.archive() else { return Ok(()) };
        let outlives = match document {
            Some(document) => Outlives::As(Arc::clone(document)),
            None if locked(&self.0.state).log.is_some() => Outlives::InItsLog,
            None => Outlives::No,
        };
        let guard = self.0.guard.clone();
        let (before, live) = ((due.generation, &due.conversation), move || guard.names());
        let observers = || self.observers();
        self.0.keeper.keep(archive, before, compaction, outlives, observers, live).await
    }
}
