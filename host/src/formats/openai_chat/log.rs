//! What logs of agents say about their own messages.
//!
//! An agent that takes actions in plain text gets what comes of them as user messages. SWE-agent's logs
//! tell them apart: `action` stands beside what the model said, `agent` beside all that the harness
//! wrote, `is_demo` beside demonstrations, and newer ones name a `message_type`. The request itself is
//! an `observation` there, too; it is what comes before all actions.

use brute_core::{Mark, Part};

use crate::formats::json::View;
use crate::formats::pieces::Pieces;

/// What a log has told so far.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Whether the request has come, which only demonstrations and what became of them stand before.
    has_request: bool,
    /// Whether the model has acted, outside of demonstrations.
    has_acted: bool,
}

impl Log {
    /// Notes an assistant message.
    pub(super) fn assistant(&mut self, message: View<'_>) {
        if self.has_acted {
            return;
        }
        let marks = Marks::of(message);
        self.has_acted = !marks.is_demo && (marks.has_action || marks.is_of_type("action"));
    }

    /// Whether a user message is one that the log says no person sent.
    pub(super) fn is_no_request(&self, message: View<'_>) -> bool {
        let marks = Marks::of(message);
        let is_observation = match marks.message_type {
            Some(_) => marks.is_of_type("observation"),
            None => marks.has_agent,
        };
        marks.is_demo || marks.is_of_type("demonstration") || (self.has_acted && is_observation)
    }

    /// Notes the newest piece, of a user message: the request, or what a compaction left of actions.
    pub(super) fn user(&mut self, pieces: &Pieces) {
        let newest = pieces.all.last().map(|piece| &*piece.parts);
        match newest {
            Some([Part::Text(text)]) if Mark::read(text).is_some() => {
                self.has_acted |= self.has_request;
            }
            _ => self.has_request = true,
        }
    }
}

/// The fields that say what a message is.
struct Marks<'a> {
    has_agent: bool,
    has_action: bool,
    is_demo: bool,
    message_type: Option<View<'a>>,
}

impl<'a> Marks<'a> {
    fn of(message: View<'a>) -> Self {
        let found = message.fields(["agent", "action", "is_demo", "message_type"]);
        let [agent, action, is_demo, message_type] =
            found.map(|field| field.filter(|value| !value.is_null()));
        Self {
            has_agent: agent.is_some(),
            has_action: action.is_some(),
            is_demo: is_demo.and_then(View::bool).unwrap_or(false),
            message_type,
        }
    }

    fn is_of_type(&self, name: &str) -> bool {
        self.message_type.is_some_and(|of| of.is_text(name))
    }
}
