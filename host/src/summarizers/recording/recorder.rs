//! A summarizer whose exchanges are written down as they happen.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use brute_core::{Completion, CompletionError, Prompt, SummarizerLimits};

use super::RecordingError;
use super::line::{Exchange, FORMAT, Head, Reply, VERSION, line};
use crate::summarizers::{BoxFuture, Summarizer, Watcher};
use crate::system::words_of;

/// Asks another summarizer, and writes down what it is asked and what it answers.
///
/// Each exchange is in the file before its answer is handed on, so that a run that is killed leaves what it did. What
/// is given up is written down as that. A file that cannot be written to costs nobody an answer: see
/// [`fault`](Self::fault).
pub struct Recorder {
    asked: Arc<dyn Summarizer>,
    path: PathBuf,
    pub(super) written: Mutex<Written>,
}

pub(super) struct Written {
    pub(super) file: File,
    /// How many exchanges are in it.
    exchanges: usize,
    /// Why there will be no more.
    fault: Option<RecordingError>,
}

impl Recorder {
    /// Records what is asked of `asked` into a new file, for its owner alone.
    ///
    /// # Errors
    /// If something of this name is there, or it cannot be written.
    pub fn create(
        path: impl Into<PathBuf>,
        asked: Arc<dyn Summarizer>,
    ) -> Result<Self, RecordingError> {
        let path = path.into();
        let head = Head {
            format: Cow::Borrowed(FORMAT),
            version: VERSION,
            summarizer: Cow::Borrowed(asked.name()),
            window: asked.limits().window,
        };
        let made = new_file(&path).and_then(|mut file| {
            file.write_all(&line(&head))?;
            Ok(file)
        });
        let file = made.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => RecordingError::Exists { path: path.clone() },
            _ => {
                let reason = words_of(&error);
                RecordingError::Write { path: path.clone(), exchange: 1, reason }
            }
        })?;
        let written = Mutex::new(Written { file, exchanges: 0, fault: None });
        Ok(Self { asked, path, written })
    }

    /// Why the file does not have all exchanges, if it does not.
    pub fn fault(&self) -> Option<RecordingError> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).fault.clone()
    }

    fn write(&self, prompt: &Prompt, reply: Reply<'_>, begun: Instant) {
        let written = &mut *self.written.lock().unwrap_or_else(PoisonError::into_inner);
        // Behind a line that may be torn, nothing can be read.
        if written.fault.is_some() {
            return;
        }
        let exchange = written.exchanges + 1;
        let bytes = line(&Exchange::of(exchange, prompt, reply, begun.elapsed()));
        match written.file.write_all(&bytes) {
            Ok(()) => written.exchanges = exchange,
            Err(error) => {
                let (path, reason) = (self.path.clone(), words_of(&error));
                written.fault = Some(RecordingError::Write { path, exchange, reason });
            }
        }
    }

    async fn ask(
        &self,
        prompt: &Prompt,
        watcher: &Watcher<'_>,
    ) -> Result<Completion, CompletionError> {
        let mut open = Open { recorder: self, prompt, begun: Instant::now(), is_open: true };
        let answer = self.asked.complete_watched(prompt, watcher).await;
        open.is_open = false;
        self.write(prompt, Reply::of(&answer), open.begun);
        answer
    }
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// An exchange that has no reply yet. Dropped as that, it was given up.
struct Open<'a> {
    recorder: &'a Recorder,
    prompt: &'a Prompt,
    begun: Instant,
    is_open: bool,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.recorder.write(self.prompt, Reply::GivenUp, self.begun);
        }
    }
}

impl Summarizer for Recorder {
    fn name(&self) -> &str {
        self.asked.name()
    }

    fn limits(&self) -> SummarizerLimits {
        self.asked.limits()
    }

    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(self.ask(prompt, &|_| {}))
    }

    fn complete_watched<'a>(
        &'a self,
        prompt: &'a Prompt,
        watcher: &'a Watcher<'a>,
    ) -> BoxFuture<'a, Result<Completion, CompletionError>> {
        Box::pin(self.ask(prompt, watcher))
    }
}
