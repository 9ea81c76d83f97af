//! What the library warns of while it works, for people: a line each on standard error.

use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::output;
use crate::style::{BAD, WARN, excerpt, styled};

/// The columns of a warning: a few lines of a terminal, whatever a layer has to say.
const LONGEST: usize = 600;

/// Says something that is not as it should be on standard error. `text` may come from anybody.
pub(crate) fn warn(text: &str) {
    output::say(&format!("{}: {}", styled(WARN, "warning"), excerpt(text, LONGEST)));
}

/// Shows what is told from here on.
pub(crate) fn show() {
    let shown = |level, told: Told| {
        let text = format!("{}{}", told.message, told.fields);
        match level {
            Level::ERROR => {
                output::say(&format!("{}: {}", styled(BAD, "error"), excerpt(&text, LONGEST)));
            }
            _ => warn(&text),
        }
    };
    // There is one for the whole program, and this is the only place that sets it.
    let _ = tracing::subscriber::set_global_default(Listener(shown));
}

/// Hears warnings and errors, and has no use for spans.
struct Listener<F>(F);

impl<F: Fn(Level, Told) + Send + Sync + 'static> Subscriber for Listener<F> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::WARN
    }

    fn event(&self, event: &Event<'_>) {
        let mut told = Told::default();
        event.record(&mut told);
        (self.0)(*event.metadata().level(), told);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The words of an event: what it is, and then field by field.
#[derive(Default)]
struct Told {
    message: String,
    fields: String,
}

impl Visit for Told {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to memory cannot fail.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, "; {name}: {value:?}"),
        };
    }
}
