//! What a strategy wants done: a list of edits, and how the descent goes on.

use std::ops::Range;

use crate::Role;

/// One change to a conversation. Indices mean the window that the strategy saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Takes messages out.
    Drop {
        /// The messages.
        span: Range<usize>,
    },
    /// Puts one message in the place of others.
    Replace {
        /// The messages.
        span: Range<usize>,
        /// Who the new message speaks for: [`Role::User`] or [`Role::Assistant`].
        role: Role,
        /// Its text. One that carries no [`Mark`](crate::Mark) gets a note's.
        text: String,
    },
    /// Gives a part another text. A result loses its media with it, a media part becomes text. Only a
    /// result may become blank: providers refuse other blank texts, so such a part is to be removed.
    Rewrite {
        /// The message.
        message: usize,
        /// The part.
        part: usize,
        /// Its new text; for a tool call, its new arguments.
        text: String,
    },
    /// Takes a part out. Calls and results go with their step or not at all.
    Remove {
        /// The message.
        message: usize,
        /// The part.
        part: usize,
    },
}

impl Edit {
    /// The first message that this edit is about.
    pub fn start(&self) -> usize {
        match self {
            Self::Drop { span } | Self::Replace { span, .. } => span.start,
            Self::Rewrite { message, .. } | Self::Remove { message, .. } => *message,
        }
    }
}

/// How the descent goes on after a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flow {
    /// To the next rung, if the target is not met.
    #[default]
    Next,
    /// This rung is asked once more if the target is not met: it works in rounds. The host goes on to
    /// the next rung when a round gives nothing.
    Again,
    /// No further rung is asked, whether or not the target is met.
    Stop,
}

/// What a strategy wants done. An empty plan declines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The changes. They are made together or not at all.
    pub edits: Vec<Edit>,
    /// How the descent goes on.
    pub flow: Flow,
}

impl Plan {
    /// A plan that changes nothing.
    pub fn decline() -> Self {
        Self::default()
    }

    /// A plan of these edits.
    pub fn of(edits: Vec<Edit>) -> Self {
        Self { edits, flow: Flow::Next }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }
}
