//! Code that may never return.

use std::sync::mpsc;
use std::time::Duration;

use crate::system::words_of;

/// What `work` comes to, on a thread of its own. If it takes longer than `limit`, that thread is left behind:
/// nothing can end it.
///
/// # Errors
/// If it was not done in time, and why else there is nothing; in words.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let (done, came) = mpsc::channel();
    // Nobody may be waiting any more, which is no failure of the work.
    let work = move || drop(done.send(work()));
    std::thread::Builder::new()
        .name("brute-plugin".to_owned())
        .spawn(work)
        .map_err(|error| format!("there is no thread for it: {}", words_of(&error)))?;
    came.recv_timeout(limit).map_err(|error| match error {
        mpsc::RecvTimeoutError::Timeout => format!("it was not done within {limit:?}"),
        mpsc::RecvTimeoutError::Disconnected => "it panicked".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_comes_back_and_what_is_not_is_left_behind() {
        assert_eq!(within(Duration::from_secs(60), || 7), Ok(7));
        let forever = || std::thread::sleep(Duration::from_secs(3600));
        let error = within(Duration::from_millis(20), forever);
        assert_eq!(error, Err("it was not done within 20ms".to_owned()));
        let error = within(Duration::from_secs(60), || panic!("no"));
        assert_eq!(error, Err::<(), _>("it panicked".to_owned()));
    }
}
