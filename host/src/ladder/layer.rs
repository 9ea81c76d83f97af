//! The layer of a rung, from its first plan to its end.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brute_core::abi::panic_message;
use brute_core::{Host, LayerError, Plan, Strategy, Window};

use super::{Event, Observers};
use crate::limit::within;

/// How long a layer of a plugin may take to end. Somebody waits for it: the agent, or a person for a report.
const LIMIT: Duration = Duration::from_secs(5);

/// A strategy with its options, as all copies of a rung share it. The last of them ends it: one of a plugin within
/// five seconds, or it is left behind on a thread.
///
/// Where that fails, those who listened to the compactor that had it last are told by [`Event::LayerEndFailed`];
/// if nobody did, it is a warning of `tracing`.
#[derive(Clone)]
pub struct Layer(Arc<Shared>);

struct Shared {
    /// Nothing once it has ended.
    strategy: Option<Box<dyn Strategy>>,
    rung: String,
    plugin: Option<Arc<Path>>,
    listening: Mutex<Observers>,
}

impl Layer {
    /// The layer of `rung`, from the library `plugin` if it does not ship.
    pub fn new(
        rung: impl Into<String>,
        strategy: Box<dyn Strategy>,
        plugin: Option<Arc<Path>>,
    ) -> Self {
        let (strategy, rung) = (Some(strategy), rung.into());
        Self(Arc::new(Shared { strategy, rung, plugin, listening: Mutex::default() }))
    }

    /// The plan of its strategy.
    ///
    /// # Errors
    /// If that failed.
    pub fn plan(&self, window: &Window<'_>, host: &dyn Host) -> Result<Plan, LayerError> {
        match &self.0.strategy {
            Some(strategy) => strategy.plan(window, host),
            None => Err(LayerError::new("the layer has ended")),
        }
    }

    /// Who is to be told how it ends, in the place of those before.
    pub(super) fn tell(&self, observers: &Observers) {
        let mut listening = self.0.listening.lock().unwrap_or_else(PoisonError::into_inner);
        listening.clone_from(observers);
    }

    /// The library that it comes from, if it does not ship.
    pub fn plugin(&self) -> Option<&Path> {
        self.0.plugin.as_deref()
    }

    /// What is said of a failure of its strategy: if it is one of a plugin, of which.
    pub(super) fn blame(&self, error: &str) -> String {
        self.0.blame(error)
    }
}

impl Shared {
    fn blame(&self, error: &str) -> String {
        match &self.plugin {
            Some(path) => format!("plugin `{}`: {error}", path.display()),
            None => error.to_owned(),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let Some(mut strategy) = self.strategy.take() else { return };
        // It may be the end of a compactor in the midst of another panic, which a second one would make an abort.
        let end = move || {
            let ended = catch_unwind(AssertUnwindSafe(move || {
                let ended = strategy.end();
                drop(strategy);
                ended.map_err(|error| error.to_string())
            }));
            ended.unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_message(&*panic))))
        };
        let ended = match self.plugin {
            Some(_) => within(LIMIT, end).flatten(),
            None => end(),
        };
        let Err(said) = ended else { return };
        let (rung, error) = (self.rung.clone(), self.blame(&said));
        let listening = self.listening.get_mut().unwrap_or_else(PoisonError::into_inner);
        if listening.is_empty() {
            tracing::warn!(rung, cause = error, "a layer failed when it was ended");
        }
        listening.tell(|| Event::LayerEndFailed { rung, error });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::Rung;

    /// Ends as it was told to.
    struct Ends(fn() -> Result<(), LayerError>);

    impl Strategy for Ends {
        fn plan(&self, _: &Window<'_>, _: &dyn Host) -> Result<Plan, LayerError> {
            Ok(Plan::decline())
        }

        fn end(&mut self) -> Result<(), LayerError> {
            (self.0)()
        }
    }

    #[test]
    fn the_last_copy_ends_the_layer_and_who_listened_last_is_told() {
        for (end, told) in [
            ((|| Ok(())) as fn() -> _, None),
            (|| Err(LayerError::new("not now")), Some("trial: not now")),
            (|| panic!("boom"), Some("trial: it panicked: boom")),
        ] {
            let rung = Rung::new("trial", Ends(end));
            let copy = rung.clone();
            let heard: [Arc<Mutex<Vec<String>>>; 2] = Default::default();
            for heard in &heard {
                let mut observers = Observers::default();
                let heard = Arc::clone(heard);
                observers.add(move |event| {
                    let Event::LayerEndFailed { rung, error } = &**event else { return };
                    heard.lock().unwrap().push(format!("{rung}: {error}"));
                });
                rung.strategy.tell(&observers);
            }
            drop(rung);
            assert!(heard[1].lock().unwrap().is_empty());
            drop(copy);
            let last = heard[1].lock().unwrap();
            assert_eq!(last.first().map(String::as_str), told);
            assert!(last.len() < 2 && heard[0].lock().unwrap().is_empty());
        }
    }
}
