//! How long a server is waited for.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Whoever goes on sending is waited for so many times as long as one who is silent.
const MOST_TIMES: u32 = 10;

/// Nobody waits for a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A limit on silence: all tries until there is an answer share it, and each piece of the answer begins it anew. A
/// server that writes slowly is not cut off by that, and one that sends nothing of use for ever is in the end.
pub(super) struct Patience {
    silence: Duration,
    begun: Instant,
    /// When the last piece came.
    renewed: Mutex<Option<Instant>>,
}

impl Patience {
    pub(super) fn new(silence: Duration) -> Self {
        // What a clock cannot say is no limit.
        let silence = silence.min(LONGEST);
        Self { silence, begun: Instant::now(), renewed: Mutex::new(None) }
    }

    /// A piece came.
    pub(super) fn renew(&self) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether any came.
    pub(super) fn was_answered(&self) -> bool {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn until(&self) -> Instant {
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let last = self.begun + self.silence * MOST_TIMES;
        (renewed.unwrap_or(self.begun) + self.silence).min(last)
    }

    /// How long it lasts yet, if nothing comes.
    pub(super) fn left(&self) -> Duration {
        self.until().saturating_duration_since(Instant::now())
    }

    /// What `future` gives, if it does in time.
    pub(super) async fn with<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(future);
        loop {
            let until = self.until();
            tokio::select! {
                biased;
                done = &mut future => return Some(done),
                () = sleep_until(until) => {}
            }
            if self.until() <= until {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    fn run(gap: u64, pieces: u32) -> Option<Duration> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let patience = Patience::new(Duration::from_millis(200));
            let sends = async {
                for _ in 0..pieces {
                    sleep(Duration::from_millis(gap)).await;
                    patience.renew();
                }
            };
            patience.with(sends).await.map(|()| patience.begun.elapsed())
        })
    }

    #[test]
    fn whoever_goes_on_sending_is_waited_for_but_not_for_ever() {
        assert!(run(20, 20).is_some_and(|took| took > Duration::from_millis(399)));
        assert_eq!(run(2_000, 1), None, "it is silent");
        assert_eq!(run(20, 10_000), None, "it never ends");
    }
}
