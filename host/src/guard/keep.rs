//! What a compaction gives up goes to the archive before the compaction is committed: most of it ahead, while the
//! model is at work.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use brute_core::{Conversation, Message, Role};

use super::locked;
use crate::archive::{self, Archive, ArchiveError, Compacted};
use crate::formats::{Document, WriteOptions};
use crate::ladder::{Compaction, Event, Observers};
use crate::truncation::Lease;

/// The archive of one session, opened when there is something to keep.
#[derive(Clone)]
pub(super) struct Keeper(Arc<Inner>);

struct Inner {
    name: String,
    opened: Mutex<Opened>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Opened {
    session: Option<archive::Session>,
    /// Keeps the file from the sweeps of others, once it is there.
    lease: Option<Lease>,
}

/// What is to be archived while nobody waits for it. One thread at a time does it, in order, however slow the disk is.
#[derive(Default)]
struct Waiting {
    works: VecDeque<Work>,
    is_under_way: bool,
    /// What is in the archive ahead of a compaction.
    ahead: Option<Beginning>,
}

/// How the conversation that a compaction made outlives this process.
pub(super) enum Outlives {
    /// In the form that it was read from.
    As(Arc<Document>),
    InItsLog,
    /// Not at all, as far as is known here.
    No,
}

struct Work {
    archive: Archive,
    what: What,
}

enum What {
    /// Messages that may go soon, and which of the conversation's they are.
    Messages { messages: Vec<Arc<Message>>, from: usize, to: Beginning },
    /// What a compaction did that is committed by now.
    Exchange { before: Conversation, after: Conversation, observers: Observers },
}

/// The first messages of one generation of the conversation, in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Beginning {
    file: PathBuf,
    generation: u64,
    messages: usize,
}

impl Beginning {
    /// Whether all that went from `before` is among these messages.
    fn has_all(
        &self,
        file: &Path,
        generation: u64,
        before: &Conversation,
        after: &Conversation,
    ) -> bool {
        let since = before.messages().get(self.messages..);
        (&*self.file, self.generation) == (file, generation)
            && since.is_some_and(|since| after.messages().ends_with(since))
    }
}

impl Opened {
    /// The archive of the session of this name: the one that is known, if it is that.
    fn session(
        &mut self,
        archive: &Archive,
        name: &str,
    ) -> Result<&mut archive::Session, ArchiveError> {
        let session = archive.session(&archive.file_name(name))?;
        let known = self.session.take().filter(|known| known.path() == session.path());
        if known.is_none() {
            self.lease = None;
        }
        Ok(self.session.insert(known.unwrap_or(session)))
    }

    /// Archives those of `messages` that may go and are not there; whether the file is the one that was there before.
    fn keep(
        &mut self,
        archive: &Archive,
        name: &str,
        mut messages: Vec<Arc<Message>>,
    ) -> Result<bool, ArchiveError> {
        messages.retain(|message| message.role() != Role::System);
        let session = self.session(archive, name)?;
        let before = session.files();
        session.keep(&messages)?;
        Ok(session.files() == before)
    }

    /// Keeps the file, if there is one, for as long as the session lives.
    fn hold(&mut self, archive: &Archive) {
        let Some(session) = self.session.as_ref().filter(|_| self.lease.is_none()) else { return };
        match archive.lease(session.name()) {
            Ok(lease) => self.lease = lease,
            Err(error) => tracing::warn!(%error, "the archive of a session may be swept by others"),
        }
    }
}

impl Keeper {
    pub(super) fn new(name: &str) -> Self {
        let (name, opened, waiting) = (name.to_owned(), Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { name, opened, waiting }))
    }

    /// Keeps what was archived of a session that goes on.
    pub(super) fn hold(&self, archive: &Archive) {
        let mut opened = locked(&self.0.opened);
        if opened.session(archive, &self.0.name).is_ok() {
            opened.hold(archive);
        }
    }

    /// Archives the messages of this generation of the conversation from number `from` on, which may go soon, while
    /// nobody waits for it. What fails here is tried again, and told of, when they go. Needs a tokio runtime. `live` are
    /// the names of sessions that a sweep has to spare.
    pub(super) fn ahead(
        &self,
        archive: &Archive,
        (generation, from): (u64, usize),
        messages: &[Arc<Message>],
        live: impl FnOnce() -> HashSet<String> + Send + 'static,
    ) {
        let (file, end) = (self.0.file(archive), from + messages.len());
        let to = Beginning { file, generation, messages: end };
        let what = What::Messages { messages: messages.to_vec(), from, to };
        self.put(Work { archive: archive.clone(), what }, live);
    }

    /// Keeps what `compaction` gave up of `before`: as the bytes of `document`, from which it all comes back as it was, or as
    /// messages, if there is no document. Where all of them are in the archive and the conversation dies with this
    /// process, nobody waits for the line that says where they stood.
    pub(super) async fn keep(
        &self,
        archive: &Archive,
        (generation, before): (u64, &Conversation),
        compaction: &Compaction,
        outlives: Outlives,
        observers: impl FnOnce() -> Observers,
        live: impl FnOnce() -> HashSet<String> + Send + 'static,
    ) -> Result<(), ArchiveError> {
        if compaction.removed.is_empty() {
            return Ok(());
        }
        let (before, after) = (before.clone(), compaction.conversation.clone());
        let document = match outlives {
            Outlives::As(document) => Some(document),
            Outlives::InItsLog => None,
            Outlives::No => {
                let file = self.0.file(archive);
                let ahead = locked(&self.0.waiting).ahead.clone();
                if ahead.is_some_and(|ahead| ahead.has_all(&file, generation, &before, &after)) {
                    let what = What::Exchange { before, after, observers: observers() };
                    self.put(Work { archive: archive.clone(), what }, live);
                    return Ok(());
                }
                None
            }
        };
        let (keeper, kept_by, compaction) = (self.clone(), archive.clone(), compaction.clone());
        let work = move || {
            let mut opened = locked(&keeper.0.opened);
            keeper.0.catch_up(&mut opened);
            let session = opened.session(&kept_by, &keeper.0.name)?;
            match document {
                None => session.exchanged(&before, &after)?,
                Some(document) => session.compacted(&compacted(&document, &compaction)?)?,
            };
            opened.hold(&kept_by);
            drop(opened);
            sweep_if_due(&kept_by, live);
            Ok(())
        };
        let gave_up = |_| ArchiveError::Write {
            path: archive.folder().to_owned(),
            reason: "it was given up".to_owned(),
        };
        tokio::task::spawn_blocking(work).await.map_err(gave_up)?
    }

    /// Whether something waits to be archived.
    pub(super) fn is_behind(&self) -> bool {
        let waiting = locked(&self.0.waiting);
        waiting.is_under_way || !waiting.works.is_empty()
    }

    /// Archives what waits for it, and waits for who does that.
    pub(super) fn catch_up(&self) {
        self.0.catch_up(&mut locked(&self.0.opened));
    }

    fn put(&self, work: Work, live: impl FnOnce() -> HashSet<String> + Send + 'static) {
        let archive = work.archive.clone();
        {
            let waiting = &mut *locked(&self.0.waiting);
            waiting.works.push_back(work);
            if std::mem::replace(&mut waiting.is_under_way, true) {
                return;
            }
        }
        let under_way = UnderWay(self.clone());
        // To wake a thread costs whoever does it as much as the layers take for hundreds of messages: a task of the runtime
        // comes to it when the agent waits for its model.
        tokio::spawn(async move {
            tokio::task::spawn_blocking(move || {
                under_way.0.catch_up();
                sweep_if_due(&archive, live);
            });
        });
    }
}

/// Somebody has taken it on to archive what waits. If a runtime ends before it comes to that, the next one has to.
struct UnderWay(Keeper);

impl Drop for UnderWay {
    fn drop(&mut self) {
        locked(&self.0.0.waiting).is_under_way = false;
    }
}

impl Inner {
    /// What tells the session's file from that of another archive.
    fn file(&self, archive: &Archive) -> PathBuf {
        archive.folder().join(archive.file_name(&self.name))
    }

    fn catch_up(&self, opened: &mut Opened) {
        while let Some(work) = self.next() {
            self.archive(opened, work);
        }
    }

    fn next(&self) -> Option<Work> {
        let waiting = &mut *locked(&self.waiting);
        let next = waiting.works.pop_front();
        waiting.is_under_way = next.is_some();
        next
    }

    fn archive(&self, opened: &mut Opened, Work { archive, what }: Work) {
        match what {
            What::Messages { messages, from, to } => {
                let kept = opened.keep(&archive, &self.name, messages);
                let ahead = &mut locked(&self.waiting).ahead;
                // What fails is told of when the messages go, since it is tried again then.
                *ahead = kept
                    .is_ok_and(|is_same_file| {
                        from == 0
                            || is_same_file
                                && *ahead == Some(Beginning { messages: from, ..to.clone() })
                    })
                    .then_some(to);
            }
            What::Exchange { before, after, observers } => {
                let exchanged = opened
                    .session(&archive, &self.name)
                    .and_then(|session| session.exchanged(&before, &after));
                if let Err(error) = exchanged {
                    tracing::warn!(%error, "a compaction cannot be undone");
                    observers.tell(|| Event::NoWayBack { error: error.to_string() });
                }
            }
        }
        opened.hold(&archive);
    }
}

impl Drop for Inner {
    /// A runtime that ends drops what it has not begun.
    fn drop(&mut self) {
        let mut opened = std::mem::take(&mut self.opened);
        self.catch_up(opened.get_mut().unwrap_or_else(PoisonError::into_inner));
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use brute_core::{MessageId, Part};

    use super::*;
    use crate::archive::{ArchiveOptions, Digest};

    #[test]
    fn what_a_runtime_did_not_come_to_is_done_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::at(folder.path(), ArchiveOptions::default());
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.max_blocking_threads(1).build().unwrap();
        let message = Message::new(MessageId(1), Role::User, [Part::text("a")]);
        let handle = Digest::of_message(&message).handle();
        let (free, taken) = mpsc::channel::<()>();
        let keeper = Keeper::new("one");
        runtime.block_on(async {
            tokio::task::spawn_blocking(move || taken.recv());
            keeper.ahead(&archive, (0, 0), &[Arc::new(message)], HashSet::new);
            tokio::task::yield_now().await;
        });
        runtime.shutdown_background();
        assert!(archive.find(&handle, Some("one")).is_err());
        drop(keeper);
        // The thread drops what has not begun, and may be the last that knows of the archive.
        drop(free);
        let is_there = || archive.find(&handle, Some("one")).is_ok_and(|found| found.text == "a");
        let pause = || std::thread::sleep(std::time::Duration::from_millis(10));
        assert!((0..1_000).any(|_| {
            pause();
            is_there()
        }));
    }
}
