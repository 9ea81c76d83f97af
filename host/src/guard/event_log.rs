//! What happened, as lines of JSON in a file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::json;

use super::Observer;
use crate::ladder::Event;
use crate::system::words_of;
use crate::truncation::own;

/// Lines that wait to be written before more of them are counted instead of kept: minutes of a busy agent.
const MOST_WAITING: usize = 10_000;

/// A subscriber that adds each event to a file, one line of JSON each: when it was (`time`, milliseconds since 1970),
/// in which `session`, and the event.
///
/// A thread of its own writes, so that no conversation waits for a disk. What could not be written is counted, and
/// said by a line `{"event": "lost", "lines": …}` as soon as one can be.
///
/// ```
/// use brute_host::config::Config;
/// use brute_host::guard::{EventLog, Guard, Policy};
///
/// let folder = tempfile::tempdir()?;
/// let log = EventLog::append(&folder.path().join("events.jsonl"))?;
/// let guard = Guard::observed(Policy::of(&Config::default(), Some("gpt-4o"))?, vec![log.observer()]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct EventLog {
    items: SyncSender<Item>,
    lost: Arc<AtomicU64>,
}

/// What the thread that writes is told.
#[derive(Debug)]
enum Item {
    Line(String),
    /// To be answered when all that came before is on the disk.
    Flush(SyncSender<()>),
}

#[derive(Serialize)]
struct Line<'a> {
    time: u64,
    session: &'a str,
    #[serde(flatten)]
    event: &'a Event,
}

impl EventLog {
    /// Adds to the file at `path`, which is made if it is not there: for its owner alone.
    ///
    /// # Errors
    /// If it cannot be opened, or there is no thread for it.
    pub fn append(path: &Path) -> io::Result<Self> {
        let (file, _) = own::open_to_append(path)?;
        let (items, waiting) = sync_channel(MOST_WAITING);
        let log = Self { items, lost: Arc::default() };
        let writer = Writer { file, path: path.to_owned(), lost: Arc::clone(&log.lost) };
        let thread = std::thread::Builder::new().name("brute-event-log".to_owned());
        thread.spawn(move || writer.run(&waiting))?;
        Ok(log)
    }

    /// What a guard is to tell of events; any number of guards may.
    pub fn observer(&self) -> Arc<Observer> {
        let log = self.clone();
        Arc::new(move |session: &str, event: &Event| log.put(session, event))
    }

    /// Waits until all events so far are on the disk: before a program ends, for instance.
    pub fn flush(&self) {
        let (done, is_done) = sync_channel(1);
        // Without an answer, there is nobody left to wait for.
        if self.items.send(Item::Flush(done)).is_ok() {
            let _ = is_done.recv();
        }
    }

    fn put(&self, session: &str, event: &Event) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let line = serde_json::to_string(&Line { time, session, event });
        let is_put = line.is_ok_and(|line| self.items.try_send(Item::Line(line)).is_ok());
        if !is_put {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The thread that writes, until nobody can put anything any more.
struct Writer {
    file: File,
    path: PathBuf,
    lost: Arc<AtomicU64>,
}

impl Writer {
    fn run(mut self, waiting: &Receiver<Item>) {
        for item in waiting {
            self.tell_lost();
            match item {
                Item::Line(line) => {
                    if !self.write(line) {
                        self.lost.fetch_add(1, Ordering::Relaxed);
                    }
                }
                Item::Flush(done) => {
                    if let Err(error) = self.file.sync_data() {
                        self.warn(&error);
                    }
                    // Who waited may have given up.
                    let _ = done.send(());
                }
            }
        }
    }

    fn tell_lost(&mut self) {
        let lines = self.lost.swap(0, Ordering::Relaxed);
        if lines > 0 && !self.write(json!({ "event": "lost", "lines": lines }).to_string()) {
            self.lost.fetch_add(lines, Ordering::Relaxed);
        }
    }

    /// In one piece, so that several programs may write to one file.
    fn write(&mut self, mut line: String) -> bool {
        line.push('\n');
        let written = self.file.write_all(line.as_bytes());
        written.inspect_err(|error| self.warn(error)).is_ok()
    }

    fn warn(&self, error: &io::Error) {
        let (path, error) = (self.path.display(), words_of(error));
        tracing::warn!(%path, error, "an event was not logged");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Value;

    use super::*;
    use crate::ladder::Outcome;

    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn each_event_is_a_line_with_its_figures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let log = EventLog::append(&path).unwrap();
        let tell = log.observer();
        let duration = Duration::from_micros(1_500);
        tell("one", &Event::CompactStart { before: 9, target: 4 });
        let error = "no".to_owned();
        tell("two", &Event::LayerFailed { rung: "r".into(), error, size: 9, duration });
        let (outcome, added, removed) = (Outcome::Fitted, Vec::new(), Vec::new());
        let (before, after) = (9, 3);
        tell("two", &Event::Compacted { before, after, outcome, removed, added, duration });
        log.flush();
        let told: Vec<Value> = lines(&path)
            .into_iter()
            .map(|mut line| {
                assert!(line["time"].take().as_u64().is_some_and(|time| time > 1_600_000_000_000));
                line
            })
            .collect();
        let time = Value::Null;
        let outcome = json!({ "outcome": "fitted" });
        let wanted = [
            json!({ "time": time, "session": "one", "event": "compact-start", "before": 9, "target": 4 }),
            json!({ "time": time, "session": "two", "event": "layer-failed", "rung": "r", "error": "no",
                "size": 9, "duration-ms": 1.5 }),
            json!({ "time": time, "session": "two", "event": "compacted", "before": 9, "after": 3,
                "outcome": outcome, "removed": [], "added": [], "duration-ms": 1.5 }),
        ];
        assert_eq!(told, wanted);
        // A second log goes on behind it.
        let again = EventLog::append(&path).unwrap();
        again.observer()("three", &Event::LayerStart { rung: "r".into() });
        again.flush();
        assert_eq!(lines(&path).len(), 4);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_holds_nobody_up() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let lost = Arc::new(AtomicU64::new(0));
        let (items, waiting) = sync_channel(4);
        let log = EventLog { items, lost: Arc::clone(&lost) };
        let tell = log.observer();
        for _ in 0..10 {
            tell("one", &Event::CompactStart { before: 9, target: 4 });
        }
        assert_eq!(lost.load(Ordering::Relaxed), 6);
        drop((log, tell));
        Writer { file, path: "/dev/full".into(), lost: Arc::clone(&lost) }.run(&waiting);
        assert_eq!(lost.load(Ordering::Relaxed), 10);
    }
}
