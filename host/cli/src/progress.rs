//! A line on the terminal that says what takes so long.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brute_core::LogLevel;
use brute_host::ladder::Event;
use brute_host::shown::shown;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::output;
use crate::style::number;

/// A compaction that is done by then shows nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// Shows the rung that is being asked, if somebody watches and it takes long, and keeps what rungs warn of.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
    warnings: Arc<Mutex<Vec<Warning>>>,
}

/// Something that a rung warns its operator of.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Warning {
    pub(crate) rung: String,
    pub(crate) message: String,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        if !output::is_watched(quiet) {
            return Self { bar: ProgressBar::hidden(), warnings: Arc::default() };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        let shown = bar.clone();
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            if !shown.is_finished() {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(Duration::from_millis(120));
            }
        });
        Self { bar, warnings: Arc::default() }
    }

    /// Takes in an event.
    pub(crate) fn follow(&self, event: &Event) {
        match event {
            Event::LayerStart { rung } => self.bar.set_message(format!("asking `{}`", shown(rung))),
            Event::SummarizerWrites { rung, output } => {
                let (rung, output) = (shown(rung), number(*output));
                self.bar.set_message(format!("asking `{rung}`: {output} tokens of a summary"));
            }
            Event::SummarizerCalled { rung, .. } => {
                self.bar.set_message(format!("asking `{}`", shown(rung)));
            }
            Event::Log { rung, level: LogLevel::Warn, message } => {
                self.keep(rung, message.clone());
            }
            Event::LayerEndFailed { rung, error } => {
                self.keep(rung, format!("did not end well: {error}"));
            }
            _ => {}
        }
    }

    fn keep(&self, rung: &str, message: String) {
        if let Ok(mut warnings) = self.warnings.lock() {
            warnings.push(Warning { rung: rung.to_owned(), message });
        }
    }

    /// Says what goes on.
    pub(crate) fn say(&self, what: &'static str) {
        self.bar.set_message(what);
    }

    /// Says how many bytes were read.
    pub(crate) fn reading(&self, read: u64) {
        self.bar.set_message(format!("reading, {} MB so far", read / 1_000_000));
    }

    /// The same, in words that are made now.
    pub(crate) fn tell(&self, what: String) {
        self.bar.set_message(what);
    }

    /// Leaves the terminal as it was. What the rungs warned of, which the line on the terminal would have
    /// garbled.
    pub(crate) fn finish(&self) -> Vec<Warning> {
        self.bar.finish_and_clear();
        self.warnings.lock().map(|mut warnings| std::mem::take(&mut *warnings)).unwrap_or_default()
    }
}
