//! Asking one rung for one plan, off the async threads and under its time limit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brute_core::{
    Completion, CompletionError, Conversation, Host, LayerError, LogLevel, Outline, Plan, Prompt,
    Protection, Sizes, Strategy, SummarizerLimits, TokenCounter, Window,
};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::summarizers::Summarizer;

/// One generation of a conversation and what is known of it. A rung sees it and cannot change it.
#[derive(Clone)]
pub(super) struct Generation {
    pub conversation: Conversation,
    pub outline: Arc<Outline>,
    pub protection: Arc<Protection>,
    pub sizes: Sizes,
}

/// What a rung gave, and what it said and asked on the way.
pub(super) struct Answer {
    pub plan: Result<Plan, LayerError>,
    pub log: Vec<(LogLevel, String)>,
    pub summarizer_calls: usize,
    /// Whether the time was up before there was a plan. The layer may still be at work.
    pub overran: bool,
}

/// What a rung is lent.
pub(super) struct Lent {
    pub counter: Arc<dyn TokenCounter>,
    pub summarizer: Option<Arc<dyn Summarizer>>,
}

/// How long all rounds of a rung may take together.
#[derive(Clone, Copy)]
pub(super) struct TimeLimit {
    pub whole: Duration,
    pub until: Instant,
}

/// Asks `strategy` for a plan. Dropping the future, or running out of `limit`, gives up on it: the
/// thread is left to itself, a call of the summarizer that is under way is given up, and no other begins.
pub(super) async fn ask(
    strategy: Arc<dyn Strategy>,
    generation: Generation,
    lent: &Lent,
    limit: Option<TimeLimit>,
) -> Answer {
    let (given_up, watched) = watch::channel(());
    let host = Arc::new(LentHost {
        counter: Arc::clone(&lent.counter),
        summarizer: lent.summarizer.clone(),
        runtime: Handle::current(),
        given_up: watched,
        log: Mutex::default(),
        calls: AtomicUsize::new(0),
    });
    let planning = {
        let host = Arc::clone(&host);
        tokio::task::spawn_blocking(move || {
            let window = Window::new(
                generation.conversation.messages(),
                &generation.outline,
                &generation.protection,
                &*host.counter,
                generation.sizes,
            );
            strategy.plan(&window, &*host)
        })
    };
    let mut overran = false;
    let planned = match limit {
        None => planning.await,
        Some(limit) => match tokio::time::timeout_at(limit.until, planning).await {
            Ok(planned) => planned,
            Err(_) => {
                overran = true;
                let limit = limit.whole;
                Ok(Err(LayerError::new(format!("no plan within the time limit of {limit:?}"))))
            }
        },
    };
    drop(given_up);
    let plan = planned.unwrap_or_else(|failed| Err(LayerError::new(panic_message(failed))));
    let log = host.log.lock().map(|mut log| std::mem::take(&mut *log)).unwrap_or_default();
    Answer { plan, log, summarizer_calls: host.calls.load(Ordering::Relaxed), overran }
}

fn panic_message(failed: tokio::task::JoinError) -> String {
    let Ok(payload) = failed.try_into_panic() else {
        return "the runtime ended before the layer did".to_owned();
    };
    let said = (payload.downcast_ref::<String>().map(String::as_str))
        .or_else(|| payload.downcast_ref::<&str>().copied());
    format!("the layer panicked: {}", said.unwrap_or("without a message"))
}

/// The host as a rung sees it.
struct LentHost {
    counter: Arc<dyn TokenCounter>,
    summarizer: Option<Arc<dyn Summarizer>>,
    runtime: Handle,
    /// Closed once nobody waits for the plan any more.
    given_up: watch::Receiver<()>,
    log: Mutex<Vec<(LogLevel, String)>>,
    calls: AtomicUsize,
}

impl Host for LentHost {
    fn count(&self, text: &str) -> u32 {
        self.counter.count(text)
    }

    fn summarizer(&self) -> Option<SummarizerLimits> {
        self.summarizer.as_ref().map(|summarizer| summarizer.limits())
    }

    fn complete(&self, prompt: &Prompt) -> Result<Completion, CompletionError> {
        let summarizer = self.summarizer.as_ref().ok_or(CompletionError::NotConfigured)?;
        let out_of_time =
            || CompletionError::Failed { reason: "the layer ran out of time".to_owned() };
        let mut given_up = self.given_up.clone();
        // Nothing is ever sent on the channel: an error says that it is closed.
        if given_up.has_changed().is_err() {
            return Err(out_of_time());
        }
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = given_up.changed() => Err(out_of_time()),
                answer = summarizer.complete(prompt) => answer,
            }
        })
    }

    fn log(&self, level: LogLevel, message: &str) {
        if let Ok(mut log) = self.log.lock() {
            log.push((level, message.to_owned()));
        }
    }
}
