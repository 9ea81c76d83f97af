//! Sessions under orders of ladders, as a page carries them: every text once, and of each compaction what it changed.

use std::collections::HashMap;
use std::sync::Arc;

use brute_core::{Conversation, Message, TokenCounter};
use brute_host::ladder::{Budget, RungResult};
use brute_host::replay::{Became, Compacted, Fate, Run};
use serde::Serialize;

use super::text;
use crate::style::{counted, number};

/// So many bytes the recorded messages of a page may have in all.
const MOST_RECORDED: usize = 1_500_000;

/// What a message may have of them: the most of these that keeps all within it.
const CAPS: [usize; 8] = [16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120];

/// So many bytes what stands in place of one may have: a summary is short, a message with less in it may not be.
const MOST_NOW: usize = 4_000;

/// So many bytes of calls, compactions and what stands in place of messages a page has; what comes behind is left out.
const MOST_WALKED: usize = 2_000_000;

/// A run that a page shows message by message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Went<'r> {
    pub(crate) run: &'r Run,
    pub(crate) budget: &'r Budget,
    /// Whether it was no ladder that compacted, but the session's own agent.
    pub(crate) is_own: bool,
}

/// What a page carries of sessions and runs.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Walks {
    /// What runs are told apart by, the widest first.
    axes: Vec<&'static str>,
    sessions: Vec<Session>,
    /// Texts that stand in place of recorded messages, each once.
    texts: Vec<Now>,
    walks: Vec<Walk>,
    #[serde(skip)]
    known: HashMap<String, usize>,
    #[serde(skip)]
    bytes: usize,
    #[serde(skip)]
    left_out: u64,
    #[serde(skip)]
    notes: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Session {
    name: String,
    messages: Vec<Recorded>,
}

#[derive(Debug, Serialize)]
struct Recorded {
    role: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    tokens: u32,
    text: String,
}

#[derive(Debug, Serialize)]
struct Now {
    tokens: u32,
    text: String,
}

#[derive(Debug, Serialize)]
struct Walk {
    session: usize,
    /// Its place on each axis.
    keys: Vec<String>,
    rungs: Vec<String>,
    figures: Vec<(String, String)>,
    window: u64,
    /// Where its compactions start and what they aim for; none where that is not known.
    due: Option<u64>,
    target: Option<u64>,
    /// Whether the session's own agent compacted.
    own: bool,
    /// Message, size and cached of each call.
    calls: Vec<(usize, u64, u64)>,
    compactions: Vec<Step>,
}

#[derive(Debug, Serialize)]
struct Step {
    message: usize,
    before: u64,
    after: u64,
    /// What is to be said of it.
    words: String,
    /// What is no longer as the step before left it.
    changed: Vec<Piece>,
}

/// Messages in a row: first, last, fate, rung, text.
type Piece = (usize, usize, u8, Option<usize>, Option<usize>);

/// A message after a compaction: fate, rung, text.
type State = (u8, Option<usize>, Option<usize>);

/// As it was.
const KEPT: State = (0, None, None);

impl Walks {
    /// Walks that `axes` tell apart.
    pub(crate) fn new(axes: &[&'static str]) -> Self {
        Self { axes: axes.to_vec(), ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.walks.is_empty()
    }

    /// What a reader has to know of them, each a paragraph.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.clone();
        if self.left_out > 0 {
            let runs = counted(self.left_out, "replay");
            notes.push(format!(
                "{runs} more would have made this page too large and are not shown here."
            ));
        }
        notes
    }

    /// Says something of them.
    pub(crate) fn note(&mut self, words: String) {
        self.notes.push(words);
    }

    /// Adds what happened to `recorded`.
    pub(crate) fn add(
        &mut self,
        keys: Vec<String>,
        recorded: &Conversation,
        counter: &dyn TokenCounter,
        went: Went<'_>,
        figures: Vec<(String, String)>,
    ) {
        let Went { run, budget, is_own } = went;
        if self.bytes > MOST_WALKED {
            self.left_out += 1;
            return;
        }
        let name = keys.first().cloned().unwrap_or_default();
        let session = match self.sessions.iter().position(|session| session.name == name) {
            Some(known) => known,
            None => {
                self.sessions.push(Session::of(name, recorded, counter));
                self.sessions.len() - 1
            }
        };
        let mut states = vec![KEPT; recorded.len()];
        let mut compactions = Vec::new();
        for compacted in &run.compactions {
            let changed = self.changed(&mut states, &compacted.became, counter);
            self.bytes += 40 * changed.len() + 200;
            let words = words(compacted, is_own);
            let Compacted { message, before, after, .. } = *compacted;
            compactions.push(Step { message, before, after, words, changed });
        }
        self.bytes += 20 * run.calls.len() + 500;
        self.walks.push(Walk {
            session,
            keys,
            rungs: run.order.clone(),
            figures,
            window: budget.window(),
            due: (!is_own).then(|| budget.compact_at()),
            target: (!is_own).then(|| budget.request(budget.target())),
            own: is_own,
            calls: run.calls.iter().map(|call| (call.message, call.size, call.cached)).collect(),
            compactions,
        });
    }

    /// Brings `states` to what `became` of the messages, and gives back where that changed them.
    fn changed(
        &mut self,
        states: &mut [State],
        became: &[Became],
        counter: &dyn TokenCounter,
    ) -> Vec<Piece> {
        let mut now = vec![KEPT; states.len()];
        for became in became {
            let fate = match became.fate {
                Fate::Kept => 0,
                Fate::Shrunk => 1,
                Fate::Gone => 2,
                Fate::Summarized => 3,
            };
            let text = became.now.as_ref().map(|message| self.text(message, counter));
            if let Some(places) = now.get_mut(became.first..=became.last) {
                places.fill((fate, became.rung, text));
            }
        }
        let mut changed: Vec<Piece> = Vec::new();
        for (at, (state, now)) in states.iter_mut().zip(now).enumerate() {
            if *state == now {
                continue;
            }
            *state = now;
            let (fate, rung, text) = now;
            match changed.last_mut() {
                Some((_, last, was, by, with))
                    if *last + 1 == at && (*was, *by, *with) == (fate, rung, text) =>
                {
                    *last = at;
                }
                _ => changed.push((at, at, fate, rung, text)),
            }
        }
        changed
    }

    /// The number of what `message` says, among the texts of the page.
    fn text(&mut self, message: &Arc<Message>, counter: &dyn TokenCounter) -> usize {
        let text = text::capped(&text::said(message), MOST_NOW);
        if let Some(known) = self.known.get(&text) {
            return *known;
        }
        self.bytes += text.len();
        self.known.insert(text.clone(), self.texts.len());
        self.texts.push(Now { tokens: message.tokens(counter), text });
        self.texts.len() - 1
    }

    /// Cuts the recorded messages to what the page has room for, and says so. Once, when all are added.
    pub(crate) fn cut(&mut self) {
        let messages = || self.sessions.iter().flat_map(|session| &session.messages);
        let all = |cap: usize| messages().map(|message| message.text.len().min(cap)).sum::<usize>();
        let cap = CAPS.into_iter().find(|cap| all(*cap) <= MOST_RECORDED).unwrap_or(CAPS[7]);
        let longer = messages().filter(|message| message.text.len() > cap).count() as u64;
        for message in self.sessions.iter_mut().flat_map(|session| &mut session.messages) {
            message.text = text::capped(&message.text, cap);
        }
        if longer > 0 {
            let (longer, cap) = (counted(longer, "message"), number(cap as u64));
            self.notes.push(format!(
                "{longer} longer than {cap} bytes: of these, the page has the beginning and the end."
            ));
        }
    }
}

impl Session {
    fn of(name: String, recorded: &Conversation, counter: &dyn TokenCounter) -> Self {
        let mut tools: HashMap<&str, &str> = HashMap::new();
        let mut messages = Vec::with_capacity(recorded.len());
        for message in recorded.messages() {
            tools.extend(message.calls().map(|(_, call)| (&*call.id, &*call.name)));
            let tool = message.result().and_then(|(_, result)| tools.get(&*result.call));
            messages.push(Recorded {
                role: message.role().to_string(),
                tool: tool.map(ToString::to_string),
                tokens: message.tokens(counter),
                text: text::said(message),
            });
        }
        Self { name, messages }
    }
}

/// What is to be said of a compaction, of whose target nobody knows where `is_own`.
fn words(compacted: &Compacted, is_own: bool) -> String {
    let Compacted { before, after, fits, recall, rungs, violations, .. } = compacted;
    let mut words = format!(
        "{} → {} tokens{}.",
        number(*before),
        number(*after),
        match (is_own, *fits) {
            (true, _) => "",
            (false, true) => ", target met",
            (false, false) => ", above target",
        }
    );
    if let Some(share) = recall.all.kept_share() {
        let all = &recall.all;
        words.push_str(&format!(
            " Recall {:.1} %: of {} that the session goes on to use, {} still there.",
            share * 100.0,
            counted(all.needed, "identifier"),
            match all.kept {
                1 => "1 is".to_owned(),
                kept => format!("{} are", number(kept)),
            }
        ));
    }
    for rung in rungs {
        let did = match &rung.result {
            RungResult::Applied => format!("saved {}", number(rung.before - rung.after)),
            RungResult::Declined => "had nothing to give".to_owned(),
            RungResult::Failed { reason, .. } => format!("failed ({reason})"),
            RungResult::OutOfBudget { used_up } => format!("ended ({used_up})"),
            RungResult::NotAsked { .. } => continue,
        };
        words.push_str(&format!(" {} {did}.", rung.rung));
    }
    for violation in violations {
        words.push_str(&format!(" A law is broken: {violation}."));
    }
    words
}
