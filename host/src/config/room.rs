//! From a configuration and a request to what compacts it.

use std::fmt;
use std::sync::Arc;

use brute_core::{OptionsError, TokenCounter};

use super::{Amount, Config};
use crate::formats::{Document, ReadError, ReadOptions};
use crate::ladder::{Budget, BudgetError, Compactor, Rung, When};
use crate::models::Model;
use crate::tokens::media::ImageRule;
use crate::tokens::{self, CounterKind, Tiktoken};
use crate::truncation::LimitError;

/// How much room there is for a conversation with one model, and the ladder for it.
#[derive(Clone)]
pub struct Room {
    /// The model, if its name is known.
    pub model: Option<Model>,
    /// The size of the window in tokens.
    pub size: u64,
    /// What counts.
    pub counter: CounterKind,
    /// Tokens of the provider for each token that `counter` finds.
    pub ratio: f64,
    /// When a compaction starts and what it aims for, in tokens and in bytes on the wire. Tool schemas are not in it
    /// yet.
    pub budget: Budget,
    /// The ladder.
    pub rungs: Vec<Rung>,
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rungs: Vec<_> = self.rungs.iter().map(|rung| &rung.name).collect();
        f.debug_struct("Room")
            .field("model", &self.model)
            .field("size", &self.size)
            .field("counter", &self.counter)
            .field("ratio", &self.ratio)
            .field("budget", &self.budget)
            .field("rungs", &rungs)
            .finish()
    }
}

/// Why there is no room.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoomError {
    /// Nobody said how large the window is.
    #[error(
        "the size of the window is not known: set `window.size` or `window.model`, or name the model in the session"
    )]
    NoWindow,
    /// The model's window is not known.
    #[error("no window is known for the model `{name}`{}; set `window.size`", did_you_mean(.nearest))]
    UnknownModel {
        /// The name.
        name: String,
        /// A name that is known.
        nearest: Option<String>,
    },
    /// What is to stay free or to be left does not go into a window of this size, but into a larger one.
    #[error(
        "a window of {size} is too small for `reserve`, `compact-at` and `compact-to`: the least is {least} tokens"
    )]
    TooSmall {
        /// The size of the window.
        size: u64,
        /// The least that works.
        least: u64,
    },
    /// The figures leave no room in any window.
    #[error(transparent)]
    Budget(#[from] BudgetError),
}

impl RoomError {
    /// What can be done about it, in words of the configuration.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NoWindow | Self::UnknownModel { .. } => "say the size in `window.size`",
            Self::TooSmall { .. } => {
                "take a larger window, or ask for less: amounts such as 0.7 follow its size"
            }
            Self::Budget(BudgetError::NoRoom { .. }) => {
                "`reserve` is what stays free for the reply: give less, such as 0.1"
            }
            Self::Budget(BudgetError::OutOfOrder { .. }) => {
                "a compaction starts at `compact-at` and aims for `compact-to`: set both, such as 0.7 and 0.4"
            }
            Self::Budget(_) => "set `window.size` above 0",
        }
    }
}

/// Why a configuration cannot be gone by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// There is no room.
    #[error(transparent)]
    Room(#[from] RoomError),
    /// The summarizer cannot be made.
    #[error("`[summarizer]` cannot be used: {0}")]
    Summarizer(#[from] OptionsError),
    /// Tool results cannot be capped like that.
    #[error("`[truncate]` cannot be used: {0}")]
    Truncate(#[from] LimitError),
}

impl Room {
    /// What counts, in tokens of the model's provider.
    pub fn token_counter(&self) -> Arc<dyn TokenCounter> {
        tokens::scaled(tokens::counter(self.counter), self.ratio)
    }
}

/// What of each request is no messages, in tokens: tool schemas, and what primes the reply.
pub fn overhead(document: &Document, counter: &dyn TokenCounter) -> u64 {
    let schemas = document.tools_text().map_or(0, |text| counter.count(&text));
    u64::from(schemas) + u64::from(Tiktoken::REPLY_PRIMING)
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

impl Config {
    /// The room for a session. `named` is the model that the session itself names; it counts where the
    /// configuration names none. A configured `size` or `counter` wins over what is known about the model.
    ///
    /// ```
    /// use brute_host::config::Config;
    /// let room = Config::default().room(Some("gpt-4o")).unwrap();
    /// assert_eq!((room.size, room.budget.compact_at()), (128_000, 89_600));
    /// ```
    ///
    /// # Errors
    /// If the size of the window is not known, or too small for what the configuration asks.
    pub fn room(&self, named: Option<&str>) -> Result<Room, RoomError> {
        let size = self.size(named)?;
        let budget = self.budget(size).map_err(|error| match self.least_window(size) {
            Some(least) => RoomError::TooSmall { size, least },
            None => RoomError::Budget(error),
        })?;
        let budget = budget.with_max_bytes(self.max_bytes(named));
        let model = self.model(named).cloned();
        let (counter, ratio) = self.counting(named);
        Ok(Room { model, size, counter, ratio, budget, rungs: self.rungs(size) })
    }

    fn budget(&self, size: u64) -> Result<Budget, BudgetError> {
        let tokens = |amount: Amount| amount.tokens(size);
        let (start, aim) = (self.trigger.compact_at, self.trigger.compact_to);
        Budget::new(size, tokens(self.window.reserve), tokens(start), tokens(aim))
    }

    /// The most bytes of a request on the wire in a session that names the model `named`; none if there is no limit.
    pub fn max_bytes(&self, named: Option<&str>) -> Option<u64> {
        let known = || self.models.max_bytes(self.model(named)?.provider);
        self.window.max_bytes.map(|bytes| bytes.0).or_else(known).filter(|bytes| *bytes > 0)
    }

    /// The smallest window above `size`, which is too small, that holds what is asked for.
    fn least_window(&self, size: u64) -> Option<u64> {
        /// Up to here rounded shares may fit, and not fit again in a window of one more.
        const SMALL: u64 = 100;
        let works = |size: &u64| self.budget(*size).is_ok();
        if let Some(least) = (size.saturating_add(1)..=SMALL).find(works) {
            return Some(least);
        }
        // Shares need a window of some size, tokens one that is as large as they are; tokens and shares
        // together may be out of order again in a larger one. So no step may go past an amount of tokens.
        let amounts = [self.trigger.compact_at, self.window.reserve].map(|amount| match amount {
            Amount::Tokens(tokens) => tokens.saturating_add(1),
            Amount::Share(_) => 0,
        });
        let mut steps: Vec<u64> = (0..48).map(|power| 1 << power).chain(amounts).collect();
        steps.sort_unstable();
        let mut no = size.max(SMALL);
        for mut yes in steps {
            if yes <= no || !works(&yes) {
                no = no.max(yes);
                continue;
            }
            while yes - no > 1 {
                let middle = no + (yes - no) / 2;
                match works(&middle) {
                    true => yes = middle,
                    false => no = middle,
                }
            }
            return Some(yes);
        }
        None
    }

    /// The size of the window in tokens, in a session that names the model `named`.
    ///
    /// # Errors
    /// If it is not known.
    pub fn size(&self, named: Option<&str>) -> Result<u64, RoomError> {
        let name = self.window.model.as_deref().or(named);
        match (self.window.size, self.model(named), name) {
            (Some(size), ..) => Ok(size),
            (None, Some(model), _) => Ok(u64::from(model.window)),
            (None, None, None) => Err(RoomError::NoWindow),
            (None, None, Some(name)) => {
                let nearest = self.models.suggest(name).map(str::to_owned);
                Err(RoomError::UnknownModel { name: name.into(), nearest })
            }
        }
    }

    /// What counts in a session that names the model `named`, in tokens of that model's provider.
    pub fn token_counter(&self, named: Option<&str>) -> Arc<dyn TokenCounter> {
        let (kind, ratio) = self.counting(named);
        tokens::scaled(tokens::counter(kind), ratio)
    }

    fn counting(&self, named: Option<&str>) -> (CounterKind, f64) {
        let model = self.model(named);
        let counter = self.window.counter.or(model.map(|model| model.counter)).unwrap_or_default();
        // What is known of the model's own counter says nothing about another.
        let known = model.filter(|model| model.counter == counter);
        (counter, known.map_or(1.0, |model| model.ratio))
    }

    fn model(&self, named: Option<&str>) -> Option<&Model> {
        self.models.find(self.window.model.as_deref().or(named)?)
    }

    /// Reads a request whose images count as its model counts them: the configured one, or the one that
    /// the request names.
    ///
    /// # Errors
    /// As [`Document::read`].
    pub fn read(
        &self,
        input: impl Into<Vec<u8>>,
        options: &ReadOptions,
    ) -> Result<Document, ReadError> {
        let input = input.into();
        if options.image_rule.is_some() {
            return Document::read(input, options);
        }
        // Only what was read tells the model, and nearly always the rule was the right one. What is read without
        // any repair can be had back from what it became.
        let kept = options.repair.then(|| input.clone());
        let document = Document::read(input, options)?;
        let rule = self.model(document.model().as_deref()).map(|model| model.image_rule);
        let usual = ImageRule::from(document.format().provider());
        match rule.filter(|rule| *rule != usual && has_media(&document)) {
            Some(rule) => {
                let input = kept.unwrap_or_else(|| document.into_input());
                Document::read(input, &ReadOptions { image_rule: Some(rule), ..*options })
            }
            None => Ok(document),
        }
    }

    /// What makes `document` fit: the room for its model, its tool schemas taken off, with the ladder,
    /// `[keep]` and `[summarizer]`.
    ///
    /// ```
    /// use brute_host::config::Config;
    /// use brute_host::formats::ReadOptions;
    ///
    /// let json = r#"{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}"#;
    /// let config = Config::default();
    /// let document = config.read(json, &ReadOptions::default())?;
    /// let compactor = config.compactor(&document)?;
    /// assert_eq!((compactor.budget().window(), compactor.budget().overhead()), (128_000, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no room, or the summarizer cannot be made.
    pub fn compactor(&self, document: &Document) -> Result<Compactor, PolicyError> {
        let room = self.room(document.model().as_deref())?;
        Ok(self.compactor_in(room, document)?)
    }

    /// The same in a room of one's own, with another budget for instance.
    ///
    /// # Errors
    /// If the summarizer cannot be made.
    pub fn compactor_in(&self, room: Room, document: &Document) -> Result<Compactor, OptionsError> {
        let compactor = self.ladder_in(room)?;
        let budget = compactor.budget().with_overhead(overhead(document, &**compactor.counter()));
        Ok(compactor.with_budget(budget.on_wire(|| document.on_wire())))
    }

    /// The ladder in `room`, for requests with nothing but messages in them.
    pub(crate) fn ladder_in(&self, room: Room) -> Result<Compactor, OptionsError> {
        let counter = room.token_counter();
        let mut compactor = Compactor::new(Arc::clone(&counter), room.budget)
            .keeping(self.keep.tools.iter().cloned());
        if let Some(options) = &self.summarizer {
            let built = options.build_all(&self.fallback, &counter, &self.models)?;
            compactor = compactor.summarizer(built).spending(options.budget().spending());
        }
        Ok(room.rungs.into_iter().fold(compactor, Compactor::rung))
    }

    /// The ladder for a window of so many tokens.
    pub fn rungs(&self, size: u64) -> Vec<Rung> {
        let rungs = self.ladder.iter().map(|rung| Rung {
            name: rung.name.clone(),
            strategy: rung.strategy.clone(),
            when: rung.above.map(|above| When { above: above.tokens(size) }),
            on_error: rung.on_error,
            timeout: rung.timeout,
            health: rung.health.clone(),
        });
        rungs.collect()
    }
}

fn has_media(document: &Document) -> bool {
    let mut parts = document.conversation().messages().iter().flat_map(|message| message.parts());
    parts.any(|part| part.media_tokens() > 0)
}

#[cfg(test)]
#[path = "tests/room.rs"]
mod tests;
