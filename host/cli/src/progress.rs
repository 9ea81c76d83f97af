//! A line on the terminal that says what takes so long.

use std::time::Duration;

use brute_host::ladder::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output;

/// A compaction that is done by then shows nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// Shows the rung that is being asked, if somebody watches and it takes long.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        if !output::is_watched(quiet) {
            return Self { bar: ProgressBar::hidden() };
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
        Self { bar }
    }

    /// Takes in an event.
    pub(crate) fn follow(&self, event: &Event) {
        if let Event::LayerStart { rung } = event {
            self.bar.set_message(format!("asking `{rung}`"));
        }
    }

    /// Says what goes on.
    pub(crate) fn say(&self, what: &'static str) {
        self.bar.set_message(what);
    }

    /// Leaves the terminal as it was.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
