//! Who is told what happens hurts nobody by it.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Instant;

use brute_host::guard::{EventLog, Subscriber};
use serde_json::Value;

use super::*;

/// What three sessions under `guard` come to, each in 200 steps with a compaction now and then.
async fn results(guard: &Guard) -> Vec<Conversation> {
    let mut sessions = Vec::new();
    for name in ["one", "two", "three"] {
        let session = guard.resume(name, notation::conversation("system s\nuser go"));
        sessions.push(tokio::spawn(async move {
            for step in 0..200 {
                session.before_call(None).await.unwrap();
                let (id, name, arguments) = (format!("c{step}"), "shell".into(), "{}".into());
                let call = brute_core::ToolCall { id: id.clone().into(), name, arguments };
                session.push(Role::Assistant, [Part::ToolCall(call)]).unwrap();
                let output = format!("{step} ").repeat(200).into_bytes();
                session.tool_result(&id, "shell", output, false).await.unwrap();
            }
            session.conversation()
        }));
    }
    let mut results = Vec::new();
    for session in sessions {
        results.push(session.await.unwrap());
    }
    results
}

fn small() -> Policy {
    let budget = Budget::new(8_000, 0, 5_000, 2_000).unwrap();
    let compactor = Compactor::new(Arc::new(Approximate), budget)
        .rung(Rung::new("tool-results", ToolResults::default()))
        .rung(Rung::new("sliding-window", SlidingWindow::default()));
    Policy::new(compactor, truncator())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_panics_or_sleeps_or_hangs_hurts_nobody() {
    let guard = Guard::new(small());
    let happened = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&happened);
    guard
        .subscribe(move |_: &Told| {
            counts.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    let alone = results(&guard).await;
    assert!(guard.flush(Duration::from_secs(60)));
    let happened = happened.load(Ordering::Relaxed);
    assert!(alone.iter().all(|one| one.len() < 300));

    let guard = Guard::new(small());
    let (heard, panicked) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let (keeps, counts) = (Arc::clone(&heard), Arc::clone(&panicked));
    let (never, hangs) = channel::<()>();
    guard
        .subscribe(move |_: &Told| {
            counts.fetch_add(1, Ordering::Relaxed);
            // A panic at every event, without the words of each on standard error.
            std::panic::resume_unwind(Box::new("told"));
        })
        .unwrap();
    guard.subscribe(|_: &Told| std::thread::sleep(Duration::from_secs(10))).unwrap();
    guard
        .subscribe(move |_: &Told| {
            let _ = hangs.recv();
        })
        .unwrap();
    guard.subscribe(move |told: &Told| keeps.lock().unwrap().push(told.clone())).unwrap();

    let begun = Instant::now();
    assert_eq!(results(&guard).await, alone);
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
    // Two are not done, and the others are told of everything all the same.
    let are_told = || {
        let heard = heard.lock().unwrap().len();
        heard == happened && panicked.load(Ordering::Relaxed) == happened
    };
    while !guard.flush(Duration::from_millis(200)) && !are_told() {
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
    let heard = std::mem::take(&mut *heard.lock().unwrap());

    let mut sessions: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for Told { session, event, .. } in &heard {
        sessions.entry(session).or_default().push(event);
    }
    assert_eq!(sessions.len(), 3);
    // In order: each compaction begins where none is under way, its rungs are asked, and it ends.
    for events in sessions.values() {
        let mut under_way = false;
        for event in events {
            match event {
                Event::CompactStart { .. } => assert!(!std::mem::replace(&mut under_way, true)),
                Event::Compacted { .. } => assert!(std::mem::replace(&mut under_way, false)),
                _ => assert!(under_way, "{event:?}"),
            }
        }
        assert!(!under_way && events.len() > 9);
    }
    drop(never);
}

#[tokio::test]
async fn subscribers_share_what_happened_and_go_when_the_guard_and_its_sessions_are_gone() {
    /// Says when it is dropped, which is when its thread ends.
    struct Keeps(std::sync::mpsc::Sender<Arc<Event>>);
    impl Subscriber for Keeps {
        fn told(&mut self, told: &Told) {
            self.0.send(Arc::clone(&told.event)).unwrap();
        }
    }
    let guard = Guard::new(small());
    let [(one, of_one), (other, of_other)] = [channel(), channel()];
    guard.subscribe(Keeps(one)).unwrap();
    guard.subscribe(Keeps(other)).unwrap();
    let session = guard.resume("one", steps(100));
    session.before_call(None).await.unwrap();
    drop((guard, session));
    let (of_one, of_other): (Vec<_>, Vec<_>) = (of_one.iter().collect(), of_other.iter().collect());
    assert!(of_one.len() > 2 && of_one.len() == of_other.len());
    assert!(of_one.iter().zip(&of_other).all(|(one, other)| Arc::ptr_eq(one, other)));
}

#[tokio::test]
async fn an_event_log_has_all_that_happened_when_it_is_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    let guard = Guard::new(small());
    guard.subscribe(EventLog::append(&path).unwrap()).unwrap();
    guard.resume("one", steps(100)).before_call(None).await.unwrap();
    assert!(guard.flush(Duration::from_secs(60)));
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["event"], "compact-start");
    assert_eq!(lines.last().unwrap()["event"], "compacted");
}
