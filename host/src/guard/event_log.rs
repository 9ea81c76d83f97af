//! What happened, as lines of JSON in a file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;
use serde_json::json;

use super::{Subscriber, Told};
use crate::ladder::Event;
use crate::lines::folder_of;
use crate::shown::shown;
use crate::system::words_of;
use crate::truncation::own;

/// A subscriber that adds each event to a file, one line of JSON each: when it was (`time`, milliseconds since 1970),
/// in which `session`, and the event.
///
/// What could not be written is counted, and said by a line `{"event": "lost", "lines": …}` as soon as one can be.
/// [`Guard::flush`](super::Guard::flush) waits until all is on the disk. Several guards, and several programs, may
/// write to one file, each by an `EventLog` of its own.
///
/// ```
/// use brute_host::config::Config;
/// use brute_host::guard::{EventLog, Guard, Policy};
///
/// let folder = tempfile::tempdir()?;
/// let guard = Guard::new(Policy::of(&Config::default(), Some("gpt-4o"))?);
/// guard.subscribe(EventLog::append(&folder.path().join("events.jsonl"))?)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EventLog {
    file: File,
    path: PathBuf,
    /// Events that no line says yet.
    lost: u64,
    /// Whether the file may end in a piece of a line, which the next one must not be glued to.
    is_torn: bool,
}

#[derive(Serialize)]
struct Line<'a> {
    time: u64,
    session: &'a str,
    #[serde(flatten)]
    event: &'a Event,
}

impl EventLog {
    /// Adds to the file at `path`. It is made if it is not there, and so are the folders above it: for their owner
    /// alone.
    ///
    /// # Errors
    /// If it cannot be opened; the error names it.
    pub fn append(path: &Path) -> io::Result<Self> {
        let opened = own::make_folder(folder_of(path)).and_then(|()| {
            let (mut file, _) = own::open_to_append(path)?;
            let is_torn = is_torn(&mut file)?;
            Ok(Self { file, path: path.to_owned(), lost: 0, is_torn })
        });
        opened.map_err(|error| {
            let (path, why) = (shown(path.display()), words_of(&error));
            io::Error::new(error.kind(), format!("cannot add to the event log `{path}`: {why}"))
        })
    }

    /// Says what was lost, if a line can be written again.
    fn tell_lost(&mut self) {
        if self.lost > 0 && self.write(json!({ "event": "lost", "lines": self.lost }).to_string()) {
            self.lost = 0;
        }
    }

    /// In one piece, so that several programs may write to one file.
    fn write(&mut self, mut line: String) -> bool {
        line.push('\n');
        if self.is_torn {
            line.insert(0, '\n');
        }
        let written = self.file.write_all(line.as_bytes());
        self.is_torn = written.is_err() && is_torn(&mut self.file).unwrap_or(true);
        written.inspect_err(|error| self.warn(error)).is_ok()
    }

    fn warn(&self, error: &io::Error) {
        let (path, error) = (self.path.display(), words_of(error));
        tracing::warn!(%path, error, "an event was not logged");
    }
}

/// Whether the file ends in a piece of a line: a full disk takes some of it, and so does whoever kills a program.
fn is_torn(file: &mut File) -> io::Result<bool> {
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    Ok(last != [b'\n'])
}

impl Subscriber for EventLog {
    fn told(&mut self, Told { time, session, event }: &Told) {
        // For who watches: the call is told when it is over.
        if matches!(**event, Event::SummarizerWrites { .. }) {
            return;
        }
        self.tell_lost();
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let line = serde_json::to_string(&Line { time, session, event });
        if !line.is_ok_and(|line| self.write(line)) {
            self.lost += 1;
        }
    }

    fn lost(&mut self, events: u64) {
        self.lost += events;
        self.tell_lost();
    }

    fn flush(&mut self) {
        self.tell_lost();
        if let Err(error) = self.file.sync_data() {
            self.warn(&error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, SystemTime};

    use serde_json::Value;

    use super::*;
    use crate::ladder::{Limit, Outcome};

    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn told(session: &str, event: Event) -> Told {
        Told { time: SystemTime::now(), session: session.into(), event: Arc::new(event) }
    }

    #[test]
    fn each_event_is_a_line_with_its_figures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let mut log = EventLog::append(&path).unwrap();
        let mut tell = |session, event| log.told(&told(session, event));
        let duration = Duration::from_micros(1_500);
        let (limit, anchor, wire) = (Limit::Tokens, None, None);
        tell("one", Event::CompactStart { before: 9, target: 4, limit, anchor });
        let error = "no".to_owned();
        tell("two", Event::LayerFailed { rung: "r".into(), error, size: 9, duration });
        let (outcome, added, removed) = (Outcome::Fitted, Vec::new(), Vec::new());
        let (before, after) = (9, 3);
        tell("two", Event::Compacted { before, after, wire, outcome, removed, added, duration });
        log.lost(5);
        let all: Vec<Value> = lines(&path)
            .into_iter()
            .map(|mut line| {
                if let Some(time) = line.get_mut("time") {
                    assert!(time.take().as_u64().is_some_and(|time| time > 1_600_000_000_000));
                }
                line
            })
            .collect();
        let time = Value::Null;
        let outcome = json!({ "outcome": "fitted" });
        let wanted = [
            json!({ "time": time, "session": "one", "event": "compact-start", "before": 9, "target": 4,
                "limit": "tokens" }),
            json!({ "time": time, "session": "two", "event": "layer-failed", "rung": "r", "error": "no",
                "size": 9, "duration-ms": 1.5 }),
            json!({ "time": time, "session": "two", "event": "compacted", "before": 9, "after": 3,
                "outcome": outcome, "removed": [], "added": [], "duration-ms": 1.5 }),
            json!({ "event": "lost", "lines": 5 }),
        ];
        assert_eq!(all, wanted);
        // A second log goes on behind it.
        let mut again = EventLog::append(&path).unwrap();
        again.told(&told("three", Event::LayerStart { rung: "r".into() }));
        assert_eq!(lines(&path).len(), 5);
    }

    #[test]
    fn its_folders_are_made_and_what_cannot_be_opened_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("of/my agent/events.jsonl");
        EventLog::append(&path).unwrap().told(&told("one", Event::LayerStart { rung: "r".into() }));
        assert_eq!(lines(&path).len(), 1);
        #[cfg(unix)]
        for (path, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
        }
        for bad in [path.join("events.jsonl"), folder.path().join("of"), "".into()] {
            let error = EventLog::append(&bad).unwrap_err();
            let words = format!("cannot add to the event log `{}`: ", bad.display());
            assert!(error.to_string().starts_with(&words), "{error}");
        }
    }

    #[test]
    fn a_piece_of_a_line_spoils_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        std::fs::write(&path, "{\"event\":\"layer-st").unwrap();
        let mut log = EventLog::append(&path).unwrap();
        for _ in 0..2 {
            log.told(&told("one", Event::LayerStart { rung: "r".into() }));
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let are_whole: Vec<bool> =
            text.lines().map(|line| serde_json::from_str::<Value>(line).is_ok()).collect();
        assert_eq!(are_whole, [false, true, true], "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_full_disk_took_is_said_when_there_is_room_again() {
        let folder = tempfile::tempdir().unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let path = folder.path().join("events.jsonl");
        let mut log = EventLog { file: full, path: path.clone(), lost: 0, is_torn: false };
        for _ in 0..10 {
            log.told(&told("one", Event::LayerStart { rung: "r".into() }));
        }
        log.lost(3);
        log.flush();
        (log.file, _) = own::open_to_append(&path).unwrap();
        log.flush();
        assert_eq!(lines(&path), [json!({ "event": "lost", "lines": 13 })]);
    }
}
