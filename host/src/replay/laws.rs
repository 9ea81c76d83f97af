//! The laws that hold for every ladder, checked for each compaction of a replay.

use std::fmt;

use brute_core::{Conversation, Outline, Protection};
use serde::Serialize;

use super::descent::Descended;
use crate::ladder::{Compactor, RungResult};

/// A law that a ladder broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Violation {
    /// Which.
    pub law: Law,
    /// What happened.
    pub detail: String,
}

/// What holds for every ladder, whatever its layers and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// A layer does not fail: a plan that the host has to refuse is one that breaks a law.
    LayersDoNotFail,
    /// Valid in, valid out.
    ValidOut,
    /// Never larger.
    NeverLarger,
    /// Protected pieces come out equal.
    ProtectedStays,
    /// The same conversation under the same ladder gives the same result.
    Deterministic,
}

impl Law {
    /// The law, in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::LayersDoNotFail => "no layer fails",
            Self::ValidOut => "what goes in valid comes out valid",
            Self::NeverLarger => "nothing comes out larger",
            Self::ProtectedStays => "protected messages come out as they were",
            Self::Deterministic => "the same goes in, the same comes out",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.law.sentence(), self.detail)
    }
}

/// What laws a descent from `start` broke. `twin` is a second descent from the same start.
pub(super) fn check(
    start: &Conversation,
    outline: &Outline,
    descended: &Descended,
    twin: Option<&Descended>,
    ladder: &Compactor,
) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut add = |law, detail: String| found.push(Violation { law, detail });
    for rung in &descended.rungs {
        if let RungResult::Failed { reason, summarizer: false } = &rung.result {
            add(Law::LayersDoNotFail, format!("rung `{}`: {reason}", rung.rung));
        }
    }
    let after = &descended.conversation;
    if let Err(violations) = Outline::of(after.messages()) {
        let words: Vec<String> = violations.iter().map(ToString::to_string).collect();
        add(Law::ValidOut, words.join("; "));
    }
    let counter = &**ladder.counter();
    let (before, now) = (start.clone().measure(counter), after.clone().measure(counter));
    if now > before {
        add(Law::NeverLarger, format!("{before} tokens became {now}"));
    }
    let protection = Protection::of(start.messages(), outline, ladder.keep());
    let mut places = after.messages().iter();
    for (index, message) in start.messages().iter().enumerate() {
        // Kept messages keep their order.
        if protection.covers(index) && !places.any(|kept| kept == message) {
            add(Law::ProtectedStays, format!("message {index} did not"));
            break;
        }
    }
    if let Some(twin) = twin.filter(|twin| !says_the_same(&twin.conversation, after)) {
        let sizes = (now, twin.conversation.clone().measure(counter));
        add(Law::Deterministic, format!("{} tokens one time, {} the other", sizes.0, sizes.1));
    }
    found
}

fn says_the_same(one: &Conversation, other: &Conversation) -> bool {
    let said = |conversation: &Conversation| -> Vec<_> {
        let messages = conversation.messages().iter();
        messages.map(|message| (message.role(), message.parts().to_vec())).collect()
    };
    said(one) == said(other)
}
