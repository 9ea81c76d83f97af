//! A session whose conversation is on disk as well.

use std::sync::Arc;

use brute_core::{Conversation, InvalidConversation, MessageId, Part, Role};

use super::{Session, State, locked};
use crate::formats::ReadError;
use crate::session_log::{LogError, SessionLog, Unsynced};

/// Why a conversation could not be gone on with. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A message does not fit behind what is there.
    #[error(transparent)]
    Invalid(#[from] InvalidConversation),
    /// A request is no conversation, or one that the provider would refuse.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It could not be logged. Never of a session that has no log.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Session {
    /// Waits until all that the conversation says, and what its compactions gave up, is on the disk: for the end of a
    /// run, and before the conversation is kept elsewhere. Costs nothing where nothing is new.
    ///
    /// # Errors
    /// If the log cannot be brought there. It is then closed: nothing can be appended until it is opened again.
    pub async fn sync(&self) -> Result<(), LogError> {
        if self.0.keeper.is_behind() {
            let keeper = self.0.keeper.clone();
            // What fails is told to subscribers.
            let _ = tokio::task::spawn_blocking(move || keeper.catch_up()).await;
        }
        self.sync_log().await
    }

    /// Waits until all that the conversation says is on the disk. Costs nothing where there is no log.
    pub(super) async fn sync_log(&self) -> Result<(), LogError> {
        if self.unsynced()?.is_none() {
            return Ok(());
        }
        let session = self.clone();
        let work = move || {
            // The system tells of a failure once, and to one: who comes next must know of it.
            let _one = locked(&session.0.syncing);
            let Some(what) = session.unsynced()? else { return Ok(()) };
            let ended = what.sync();
            let state = &mut *locked(&session.0.state);
            state.log.as_mut().map_or(Ok(()), |log| log.note_synced(&what, ended))
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(ended) => ended,
            // The runtime ends, and with it what would have been said to the model.
            Err(_) => self.unsynced().map(|_| ()),
        }
    }

    fn unsynced(&self) -> Result<Option<Unsynced>, LogError> {
        let of = |log: &SessionLog| log.unsynced();
        locked(&self.0.state).log.as_ref().map_or(Ok(None), of)
    }
}

impl State {
    /// Appends a message, once it is in the log.
    pub(super) fn push(
        &mut self,
        role: Role,
        parts: impl Into<Arc<[Part]>>,
    ) -> Result<MessageId, SessionError> {
        let Self { conversation, log, .. } = self;
        conversation.push_if(role, parts, |message| {
            Ok(log.as_mut().map_or(Ok(()), |log| log.pushed(message))?)
        })
    }

    /// Has `write` write down what becomes of the conversation, if there is a log.
    pub(super) fn log(
        &mut self,
        write: impl FnOnce(&mut SessionLog, &Conversation) -> Result<(), LogError>,
    ) -> Result<(), LogError> {
        let Self { conversation, log, .. } = self;
        log.as_mut().map_or(Ok(()), |log| write(log, conversation))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use crate::config::Config;
    use crate::guard::{Guard, Policy};

    use super::*;

    fn text(text: &str) -> [Part; 1] {
        [Part::text(text)]
    }

    fn is_on_disk(session: &Session) -> bool {
        let state = locked(&session.0.state);
        state.log.as_ref().is_none_or(|log| log.unsynced().is_ok_and(|what| what.is_none()))
    }

    #[tokio::test]
    async fn what_a_model_is_to_see_is_on_the_disk_before() {
        let folder = tempfile::tempdir().unwrap();
        let opened = SessionLog::open(&folder.path().join("s.jsonl")).unwrap();
        let guard = Guard::new(Policy::of(&Config::default(), Some("gpt-4o")).unwrap());
        let session = guard.logged("one", opened);
        session.push(Role::User, text("a")).unwrap();
        assert!(!is_on_disk(&session));
        let ready = session.before_call(None).await.unwrap();
        assert!(is_on_disk(&session));
        session.after_call(&ready, text("b"), None).unwrap();
        assert!(!is_on_disk(&session));
        session.sync().await.unwrap();
        assert!(is_on_disk(&session));
        let request = r#"{"messages": [{"role": "user", "content": "a"}]}"#;
        session.fit(request, None).await.unwrap();
        assert!(is_on_disk(&session));

        // A disk that failed is said wherever something would be acknowledged.
        session.push(Role::User, text("c")).unwrap();
        let before = session.conversation();
        if let Some(log) = &mut locked(&session.0.state).log {
            let what = log.unsynced().unwrap().unwrap();
            log.note_synced(&what, Err(io::Error::other("unplugged"))).unwrap_err();
        }
        assert!(matches!(session.before_call(None).await, Err(LogError::Sync { .. })));
        let answered = session.after_call(&ready, text("d"), None);
        assert!(matches!(answered, Err(SessionError::Log(LogError::Sync { .. }))));
        assert!(session.push(Role::User, text("e")).is_err());
        assert!(session.replace(Conversation::default()).is_err());
        assert!(session.fit(request, None).await.is_err());
        assert!(session.sync().await.is_err());
        assert_eq!(session.conversation(), before);
    }
}
