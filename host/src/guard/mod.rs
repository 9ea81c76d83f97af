//! What an agent calls: for each tool result, and before each call of its model.
//!
//! A [`Guard`] holds the policy that all conversations share; a [`Session`] is one conversation under it. The
//! session owns its messages, so that a compaction is committed whole or not at all, only one is under way at a
//! time, and what the agent appends meanwhile is kept. With a [`session_log`](crate::session_log), it outlives its
//! process.
//!
//! ```
//! use brute_host::core::{Part, Role};
//! use brute_host::config::Config;
//! use brute_host::guard::{Guard, Policy};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let guard = Guard::new(Policy::of(&Config::default(), Some("gpt-4o"))?);
//! let session = guard.session("demo");
//! session.push(Role::User, [Part::text("Why does the build fail?")])?;
//! let ready = session.before_call(None).await?;
//! // Send `session.conversation()` to the model; say what it answered, and what the provider counted for that.
//! session.after_call(&ready, [Part::text("A test fails.")], None)?;
//! assert_eq!(session.conversation().len(), 2);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new()?.block_on(example())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod compact;
mod event_log;
mod keep;
mod meter;
mod policy;
mod session;
mod subscriber;
mod texts;

pub use compact::{Compact, Custom, Job};
pub use event_log::EventLog;
pub use policy::Policy;
pub use session::{Fitted, Ready, Session, SessionError};
pub use subscriber::{Subscriber, Told};

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant, SystemTime};

use brute_core::Conversation;

use self::session::Shared;
use self::subscriber::{Queue, Subscription};
use crate::ladder::Observers;
use crate::session_log::{Opened, SessionLog};
use crate::truncation::named_in;

/// Guards the windows of any number of conversations. A clone is another handle on the same guard.
///
/// No lock is held while a layer plans or a model is asked: conversations do not wait for each other.
#[derive(Clone)]
pub struct Guard(Arc<Inner>);

struct Inner {
    policy: RwLock<Arc<Policy>>,
    subscriptions: Mutex<Vec<Subscription>>,
    sessions: Mutex<Vec<Weak<Shared>>>,
}

impl Guard {
    /// A guard with this policy.
    pub fn new(policy: Policy) -> Self {
        let policy = RwLock::new(Arc::new(policy));
        let (subscriptions, sessions) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Inner { policy, subscriptions, sessions }))
    }

    /// Tells `subscriber` what happens from now on, and in which session: on a thread of its own, so that no
    /// conversation waits for it. What happens while 4,096 events wait for it is counted, and it is told how many
    /// those were. If it panics, it goes on with the next event. Its thread ends when it has been told the last event
    /// of this guard and of its sessions; one that holds a handle on one of them keeps them alive.
    ///
    /// ```
    /// # use brute_host::{config::Config, guard::{Guard, Policy, Told}};
    /// let guard = Guard::new(Policy::of(&Config::default(), Some("gpt-4o"))?);
    /// guard.subscribe(|told: &Told| println!("{}: {:?}", told.session, told.event))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn subscribe(&self, subscriber: impl Subscriber) -> io::Result<()> {
        let subscription = Subscription::begin(subscriber)?;
        locked(&self.0.subscriptions).push(subscription);
        Ok(())
    }

    /// Waits until all subscribers are done with what has happened so far, but no longer than `limit`; whether they
    /// are. For the end of a program, since what still waits then goes with it.
    pub fn flush(&self, limit: Duration) -> bool {
        // A limit beyond what a clock can say is none.
        let until = Instant::now().checked_add(limit);
        let subscriptions = locked(&self.0.subscriptions);
        // All at once: one that is late takes nothing from the others.
        let asked: Vec<_> =
            subscriptions.iter().map(|one| (Arc::clone(one.queue()), one.queue().want())).collect();
        drop(subscriptions);
        let is_done = |(queue, wanted): &(Arc<Queue>, u64)| queue.is_done(*wanted, until);
        asked.iter().filter(|one| !is_done(one)).count() == 0
    }

    /// A new conversation. Its name is what subscribers are told, and should be its own.
    pub fn session(&self, name: impl Into<String>) -> Session {
        self.resume(name, Conversation::default())
    }

    /// A conversation that goes on.
    pub fn resume(&self, name: impl Into<String>, conversation: Conversation) -> Session {
        self.add(name.into(), conversation, None)
    }

    /// A conversation that goes on from its log, and in it: see [`session_log`](crate::session_log). The log is closed
    /// when the last handle on the session is gone.
    pub fn logged(&self, name: impl Into<String>, opened: Opened) -> Session {
        self.add(name.into(), opened.recorded.conversation, Some(opened.log))
    }

    fn add(&self, name: String, conversation: Conversation, log: Option<SessionLog>) -> Session {
        let session = Session::new(self.clone(), name, conversation, log);
        session.hold();
        let mut sessions = locked(&self.0.sessions);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(session.downgrade());
        session
    }

    /// Puts `policy` in the place of the one that was: a changed `brute.toml`, for instance. Conversations keep
    /// what they are and what they learned, and go by it from their next call on; a compaction that is under way
    /// ends by the old one.
    pub fn reload(&self, policy: Policy) {
        let policy = Arc::new(policy);
        let mut now = self.0.policy.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *now, policy);
        drop(now);
        // Not while others wait: the end of a layer is its author's code.
        drop(before);
    }

    /// The policy now.
    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.0.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn observers_of(&self, session: &str) -> Observers {
        let mut observers = Observers::default();
        let session: Arc<str> = session.into();
        for subscription in &*locked(&self.0.subscriptions) {
            let (queue, session) = (Arc::clone(subscription.queue()), Arc::clone(&session));
            observers.add(move |event| {
                let (session, event) = (Arc::clone(&session), Arc::clone(event));
                queue.put(Told { time: SystemTime::now(), session, event });
            });
        }
        observers
    }

    /// The sessions that are alive.
    fn sessions(&self) -> impl Iterator<Item = Arc<Shared>> + use<> {
        let sessions = locked(&self.0.sessions).clone();
        sessions.into_iter().filter_map(|session| session.upgrade())
    }

    fn names(&self) -> HashSet<String> {
        self.sessions().map(|session| session.name().to_owned()).collect()
    }

    /// Removes full texts of truncated results that are too old or too many, if it is time to. What a conversation
    /// of this guard names stays, and so does `newest`.
    fn sweep_if_due(&self, newest: Option<String>) {
        let live = || {
            let named = self.sessions().flat_map(|session| names_in(&session.conversation()));
            named.chain(newest).collect()
        };
        let swept = self.policy().truncator().sweep_if_due(SystemTime::now(), live);
        for error in swept.into_iter().flat_map(|swept| swept.errors) {
            tracing::warn!(%error, "an old result was not removed");
        }
    }
}

/// The full texts that a conversation names.
fn names_in(conversation: &Conversation) -> HashSet<String> {
    let results = conversation.messages().iter().filter_map(|message| message.result());
    results.filter_map(|(_, result)| named_in(&result.text)).collect()
}

/// A thread that panicked, in a counter for instance, leaves nothing that is not valid: at worst a report of the provider
/// is not taken in, or a size found again.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
