//! Session logs, as they are found on a disk.

use std::sync::OnceLock;

use brute_core::{Outline, Part, Role};
use brute_host::config::Config;
use brute_host::guard::{Guard, Policy};
use brute_host::session_log::{Opened, SessionLog};

use super::{file, told};

/// What is read fits together, and is gone on from as if nothing had been; what is refused stays as it was.
pub fn check(bytes: &[u8]) {
    let path = file("session.jsonl", bytes);
    let recorded = match SessionLog::read(&path) {
        Ok(recorded) => recorded,
        Err(error) => {
            told(&error);
            SessionLog::open(&path).expect_err("what cannot be read is opened");
            assert_eq!(std::fs::read(&path).expect("it is there"), bytes);
            return;
        }
    };
    assert!(Outline::of(recorded.conversation.messages()).is_ok());
    let Opened { log, recorded: opened, torn } = SessionLog::open(&path).expect("what can be read");
    assert_eq!(opened.conversation, recorded.conversation);
    assert_eq!((opened.compactions, opened.is_torn), (recorded.compactions, recorded.is_torn));
    assert_eq!(torn.is_some(), recorded.is_torn);
    if let Some(torn) = &torn {
        let aside = std::fs::read(torn).expect("it was put there");
        assert!(bytes.ends_with(&aside) && !aside.contains(&b'\n'));
        std::fs::remove_file(torn).expect("it is there");
    }
    let (conversation, compactions) = (opened.conversation.clone(), opened.compactions);
    let guard = guard();
    let session = guard.logged("fuzz", Opened { log, recorded: opened, torn });
    let pushed = session.push(Role::User, [Part::text("go on")]);
    let after = session.conversation();
    drop(session);
    let read = SessionLog::read(&path).expect("what was written");
    assert_eq!(read.conversation, after);
    assert_eq!(read.compactions, compactions);
    assert!(!read.is_torn);
    match pushed {
        Ok(_) => assert_eq!(after.len(), conversation.len() + 1),
        Err(error) => {
            told(&error);
            assert_eq!(after, conversation);
        }
    }
}

fn guard() -> &'static Guard {
    static GUARD: OnceLock<Guard> = OnceLock::new();
    GUARD.get_or_init(|| {
        Guard::new(Policy::of(&Config::default(), Some("gpt-4o")).expect("the defaults"))
    })
}
