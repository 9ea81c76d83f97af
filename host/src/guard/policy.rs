//! By what a guard goes.

use std::sync::Arc;

use brute_core::TokenCounter;

use super::Compact;
use crate::archive::{Archive, way_back};
use crate::config::{Config, PolicyError};
use crate::formats::{Document, ReadError, ReadOptions};
use crate::ladder::{Budget, Compactor};
use crate::tokens::media::ImageRule;
use crate::truncation::Truncator;

/// How much room there is, how it is counted, and what makes a conversation fit into it: the ladder, or
/// something else.
pub struct Policy {
    model: Option<String>,
    budget: Budget,
    counter: Arc<dyn TokenCounter>,
    compact: Arc<dyn Compact>,
    keep: Arc<[String]>,
    archive: Option<Archive>,
    truncator: Truncator,
    image_rule: Option<ImageRule>,
}

impl Policy {
    /// The policy of a `brute.toml`. `model` is the one that is called, where the file names none.
    ///
    /// # Errors
    /// If the size of the window is not known, the summarizer cannot be made, or results cannot be capped as
    /// configured.
    pub fn of(config: &Config, model: Option<&str>) -> Result<Self, PolicyError> {
        Self::of_ladder(config, model, |ladder| ladder)
    }

    /// The same, with what `change` makes of the ladder: one whose summarizer is
    /// [recorded](crate::summarizers::Recorder), for instance.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_ladder(
        config: &Config,
        model: Option<&str>,
        change: impl FnOnce(Compactor) -> Compactor,
    ) -> Result<Self, PolicyError> {
        let room = config.room(model)?;
        let image_rule = room.model.as_ref().map(|model| model.image_rule);
        let archive = Archive::new(config.archive.clone());
        let mut compactor = change(config.ladder_in(room)?);
        if archive.is_some() {
            // The configuration of the one who asks names the archive as well.
            compactor = compactor.retrieving(|message| Some(way_back(message, "")));
        }
        let truncator = Truncator::new(config.truncate.clone())?;
        let model = config.window.model.as_deref().or(model).map(str::to_owned);
        Ok(Self { model, image_rule, archive, ..Self::new(compactor, truncator) })
    }

    /// A policy made in code.
    pub fn new(compactor: Compactor, truncator: Truncator) -> Self {
        Self {
            model: None,
            budget: *compactor.budget(),
            counter: Arc::clone(compactor.counter()),
            keep: compactor.keep().into(),
            compact: Arc::new(compactor),
            archive: None,
            truncator,
            image_rule: None,
        }
    }

    /// The same with something else in the place of the ladder.
    ///
    /// ```
    /// use brute_host::config::Config;
    /// use brute_host::guard::{Custom, Policy};
    ///
    /// // Forgets everything: refused, since the instructions and the task have to stay.
    /// let forget = Custom::new(|_conversation, _target| async { Ok::<_, String>(Default::default()) });
    /// let policy = Policy::of(&Config::default(), Some("gpt-4o"))?.with_compactor(forget);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_compactor(self, compact: impl Compact + 'static) -> Self {
        Self { compact: Arc::new(compact), ..self }
    }

    /// The same with an archive of what compactions give up. A compaction that cannot be archived is not made. How a
    /// model gets something back is for [`Compactor::retrieving`] to say.
    #[must_use]
    pub fn with_archive(self, archive: Archive) -> Self {
        Self { archive: Some(archive), ..self }
    }

    /// The same for calls of `model`. What was learned of another model is forgotten where it comes into force.
    #[must_use]
    pub fn with_model(self, model: impl Into<String>) -> Self {
        Self { model: Some(model.into()), ..self }
    }

    /// The model that is called, if it is known.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The room there is. What surrounds the messages of a request is not in it: that is for each session to know.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// How sizes are counted.
    pub fn counter(&self) -> &Arc<dyn TokenCounter> {
        &self.counter
    }

    /// What caps tool results.
    pub fn truncator(&self) -> &Truncator {
        &self.truncator
    }

    /// Tools whose calls and results have to stay.
    pub(super) fn keep(&self) -> &Arc<[String]> {
        &self.keep
    }

    /// Where what compactions give up goes.
    pub(super) fn archive(&self) -> Option<&Archive> {
        self.archive.as_ref()
    }

    /// Reads a request whose images count as the model counts them.
    pub(super) fn read(&self, request: Vec<u8>) -> Result<Document, ReadError> {
        let options = ReadOptions { image_rule: self.image_rule, ..ReadOptions::default() };
        Document::read(request, &options)
    }

    pub(super) fn compact(&self) -> &dyn Compact {
        &*self.compact
    }
}
