//! Who is told what happens, on a thread of its own.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::locked;
use crate::ladder::Event;

/// Events that wait for one subscriber before more of them are counted instead of kept: minutes of a busy agent.
const MOST_WAITING: usize = 4_096;

/// What a subscriber's thread sleeps, once it has told all there was, before it has itself woken by what comes. To wake a
/// thread costs whoever does it more than the event itself, and events come in flocks: so a flock wakes it once.
const NAP: Duration = Duration::from_millis(1);

/// Something that happened under guard.
#[derive(Debug, Clone)]
pub struct Told {
    /// When.
    pub time: SystemTime,
    /// In which session.
    pub session: Arc<str>,
    /// What. All subscribers share it.
    pub event: Arc<Event>,
}

/// Someone who wants to know what happens in the conversations of a guard; see
/// [`Guard::subscribe`](super::Guard::subscribe). A closure is one.
pub trait Subscriber: Send + 'static {
    /// Something happened. Told in the order in which it happened in each session.
    fn told(&mut self, told: &Told);

    /// At this point, so many events happened that found no room to wait in.
    fn lost(&mut self, events: u64) {
        tracing::warn!(events, "a subscriber was too slow for so many events");
    }

    /// Somebody waits until all that was told so far is done with.
    fn flush(&mut self) {}
}

impl<F: FnMut(&Told) + Send + 'static> Subscriber for F {
    fn told(&mut self, told: &Told) {
        self(told);
    }
}

/// What waits for one subscriber, and the end of it when it goes out of scope: what is there is told, and then the
/// subscriber is dropped.
pub(super) struct Subscription(Arc<Queue>);

impl Subscription {
    /// # Errors
    /// If there is no thread for it.
    pub(super) fn begin(subscriber: impl Subscriber) -> io::Result<Self> {
        let queue = Arc::new(Queue::of(MOST_WAITING));
        let thread = std::thread::Builder::new().name("brute-subscriber".to_owned());
        let telling = Arc::clone(&queue);
        thread.spawn(move || telling.run(subscriber))?;
        Ok(Self(queue))
    }

    pub(super) fn queue(&self) -> &Arc<Queue> {
        &self.0
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.0.now(|state| state.is_over = true);
    }
}

/// What waits for one subscriber. Nobody holds its lock for longer than it takes to put something in or take it out.
pub(super) struct Queue {
    most: usize,
    state: Mutex<State>,
    /// There is something for the subscriber's thread.
    came: Condvar,
    /// The subscriber is done with something.
    done: Condvar,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    /// Events that have happened, those included that found no room.
    happened: u64,
    /// Events that are told, or told to be lost.
    told: u64,
    /// So many of them are to be done with.
    wanted: u64,
    /// So many of them are.
    done: u64,
    is_over: bool,
    /// Whether the subscriber's thread sleeps until it is woken.
    sleeps: bool,
}

enum Item {
    Told(Told),
    /// Stands where so many events found no room.
    Lost(u64),
    /// Is never in the queue: somebody waits, and all is told that he waits for.
    Flush,
}

impl State {
    fn put(&mut self, told: Told, most: usize) {
        self.happened += 1;
        let is_full = self.items.len() >= most;
        match self.items.back_mut() {
            Some(Item::Lost(events)) if is_full => *events += 1,
            _ if is_full => self.items.push_back(Item::Lost(1)),
            _ => self.items.push_back(Item::Told(told)),
        }
    }

    fn next(&mut self) -> Option<Item> {
        let is_awaited = self.done < self.wanted && self.told >= self.wanted;
        if is_awaited { Some(Item::Flush) } else { self.items.pop_front() }
    }
}

impl Queue {
    fn of(most: usize) -> Self {
        Self { most, state: Mutex::default(), came: Condvar::new(), done: Condvar::new() }
    }

    /// Puts it in, or counts it as lost if there is no room.
    pub(super) fn put(&self, told: Told) {
        let slept = {
            let state = &mut *locked(&self.state);
            state.put(told, self.most);
            std::mem::take(&mut state.sleeps)
        };
        if slept {
            self.came.notify_one();
        }
    }

    /// Asks the subscriber to be done with all that has happened so far; how much that is.
    pub(super) fn want(&self) -> u64 {
        self.now(|state| {
            state.wanted = state.happened;
            state.wanted
        })
    }

    /// Waits until the subscriber is done with what was `wanted`, or it is `until`. Whether it is.
    pub(super) fn is_done(&self, wanted: u64, until: Option<Instant>) -> bool {
        let mut state = locked(&self.state);
        while state.done < wanted {
            state = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => self.done.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return false,
                Some(left) => wait_for(&self.done, state, left),
            };
        }
        true
    }

    /// Tells `subscriber` what comes, until it is over.
    fn run(&self, mut subscriber: impl Subscriber) {
        while let Some(item) = self.take() {
            let tell = AssertUnwindSafe(|| match &item {
                Item::Told(told) => subscriber.told(told),
                Item::Lost(events) => subscriber.lost(*events),
                Item::Flush => subscriber.flush(),
            });
            if catch_unwind(tell).is_err() {
                tracing::error!("a subscriber panicked; it goes on with what comes next");
            }
            let state = &mut *locked(&self.state);
            match item {
                Item::Told(_) => state.told += 1,
                Item::Lost(events) => state.told += events,
                Item::Flush => {
                    state.done = state.told;
                    self.done.notify_all();
                }
            }
        }
    }

    /// What comes next; nothing when it is over.
    fn take(&self) -> Option<Item> {
        let mut state = locked(&self.state);
        let mut has_napped = false;
        loop {
            match state.next() {
                None if state.is_over => return None,
                None if has_napped => {
                    state.sleeps = true;
                    state = self.came.wait(state).unwrap_or_else(PoisonError::into_inner);
                    state.sleeps = false;
                }
                None => {
                    state = wait_for(&self.came, state, NAP);
                    has_napped = true;
                }
                next => return next,
            }
        }
    }

    /// Changes what the subscriber's thread is to know at once.
    fn now<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let made = change(&mut locked(&self.state));
        self.came.notify_one();
        made
    }
}

fn wait_for<'a>(
    changed: &Condvar,
    state: MutexGuard<'a, State>,
    longest: Duration,
) -> MutexGuard<'a, State> {
    changed.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    fn told(number: u64) -> Told {
        let event = Arc::new(Event::LayerStart { rung: number.to_string() });
        Told { time: SystemTime::now(), session: "one".into(), event }
    }

    /// Waits for `gate` before each event, panics at some, and says what it was told.
    struct Slow {
        gate: Receiver<()>,
        said: Sender<String>,
    }

    impl Subscriber for Slow {
        fn told(&mut self, told: &Told) {
            let _ = self.gate.recv();
            let Event::LayerStart { rung } = &*told.event else { return };
            self.said.send(rung.clone()).unwrap();
            assert!(!rung.ends_with(['0', '3']), "some of them");
        }

        fn lost(&mut self, events: u64) {
            self.said.send(format!("lost {events}")).unwrap();
        }

        fn flush(&mut self) {
            self.said.send("flush".into()).unwrap();
        }
    }

    fn flush(queue: &Queue, until: Option<Instant>) -> bool {
        queue.is_done(queue.want(), until)
    }

    /// A queue for `most`, and both ends of a subscriber that is told of it.
    fn slow(most: usize) -> (Subscription, Sender<()>, Receiver<String>) {
        let (opens, gate) = channel();
        let (said, heard) = channel();
        let queue = Arc::new(Queue::of(most));
        let telling = Arc::clone(&queue);
        std::thread::spawn(move || telling.run(Slow { gate, said }));
        (Subscription(queue), opens, heard)
    }

    #[test]
    fn what_does_not_fit_is_counted_where_it_happened() {
        let (subscription, opens, heard) = slow(4);
        let queue = subscription.queue();
        queue.put(told(0));
        // Taken, so that all four places are free.
        while !locked(&queue.state).items.is_empty() {
            std::thread::yield_now();
        }
        (1..10).for_each(|number| queue.put(told(number)));
        assert!(!flush(queue, Some(Instant::now())));
        (0..5).for_each(|_| opens.send(()).unwrap());
        let mut said: Vec<String> = heard.iter().take(7).collect();
        queue.put(told(10));
        opens.send(()).unwrap();
        assert!(flush(queue, None));
        said.extend(heard.try_iter());
        let wanted = ["0", "1", "2", "3", "4", "lost 5", "flush", "10", "flush"];
        assert_eq!(said, wanted);
    }

    #[test]
    fn a_subscriber_that_hangs_has_no_more_than_its_queue() {
        let (subscription, _opens, heard) = slow(3);
        (0..100_000).for_each(|number| subscription.queue().put(told(number)));
        let begun = Instant::now();
        assert!(!flush(subscription.queue(), Some(begun + Duration::from_millis(20))));
        let state = locked(&subscription.queue().state);
        assert!(state.items.len() <= 4, "{}", state.items.len());
        assert!(matches!(state.items.back(), Some(Item::Lost(events)) if *events >= 99_996));
        assert_eq!(heard.try_iter().count(), 0);
    }

    #[test]
    fn what_waits_is_told_when_the_guard_is_gone_and_then_the_thread_ends() {
        let (subscription, opens, heard) = slow(9);
        (0..5).for_each(|number| subscription.queue().put(told(number)));
        drop(subscription);
        drop(opens);
        // Ends when the subscriber is dropped.
        assert_eq!(heard.iter().collect::<Vec<_>>(), ["0", "1", "2", "3", "4"]);
    }

    #[test]
    fn to_wait_for_nothing_takes_no_time() {
        let (subscription, _opens, _heard) = slow(1);
        assert!(flush(subscription.queue(), Some(Instant::now())));
    }
}
