//! What was recorded against a server is repeated byte for byte without one.

use std::sync::Arc;

use brute_host::config::Config;
use brute_host::formats::{Document, WriteOptions};
use brute_host::guard::{Guard, Policy};
use brute_host::ladder::Compaction;
use brute_host::summarizers::{Recorder, Replay, Summarizer};

use super::ladder::{KEY, config, descend, runtime, session};
use super::peer::{Peer, Speaks, Turn, http, says};

/// Puts something in the place of a summarizer.
type Change<'c> = dyn Fn(&Arc<dyn Summarizer>) -> Arc<dyn Summarizer> + 'c;

/// The configuration's ladder, with what stands in the place of its summarizer.
fn with(
    config: &Config,
    document: &Document,
    change: impl FnOnce(&Arc<dyn Summarizer>) -> Arc<dyn Summarizer>,
) -> (Compaction, String) {
    let compactor = config.compactor(document).unwrap();
    let summarizer = change(compactor.asked().unwrap());
    let compactor = compactor.summarizer(summarizer);
    let done = runtime().block_on(compactor.compact_now(document.conversation().clone()));
    let written = document.write(&done.conversation, &WriteOptions::default());
    (done, String::from_utf8(written.into_owned()).unwrap())
}

#[test]
fn every_run_is_repeated_without_its_server() {
    let document = session();
    for speaks in Speaks::BOTH {
        let good = |words: &str| {
            let text = super::ladder::SUMMARY.replace("Reports were read.", words);
            says("200 OK", &speaks.answer(&text, "stop"))
        };
        let refused = says(
            "400 Bad Request",
            &serde_json::json!({ "error": {
            "message": "the maximum context length is 1500 tokens" } }),
        );
        let busy = Turn::Say(http("503 X", "Retry-After: 0\r\n", "{}"));
        let quota =
            says("401 No", &serde_json::json!({ "error": { "message": format!("no {KEY}") } }));
        for (name, turns, on_error) in [
            ("answers", vec![good("One."), good("Two."), good("Three.")], "stop"),
            ("too long", vec![refused.clone(), good("One."), refused, good("Two.")], "stop"),
            ("tried again", vec![busy, good("One.")], "stop"),
            ("fails, and the ladder goes on", vec![good("One."), quota.clone()], "next"),
            ("fails at once", vec![quota], "stop"),
            ("cut", vec![good("One."), says("200 OK", &speaks.answer("half", "length"))], "next"),
        ] {
            let peer = Peer::new(turns);
            let config = config(speaks, peer.port(), "retries = 1", on_error);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("run.jsonl");
            let (recorded, bytes) = with(&config, &document, |asked| {
                Arc::new(Recorder::create(&path, Arc::clone(asked)).unwrap())
            });
            let asked = peer.requests().len();
            let replay = Arc::new(Replay::open(&path).unwrap());
            let (replayed, again) = with(&config, &document, |_| Arc::clone(&replay) as _);
            assert_eq!(again, bytes, "{name}");
            assert_eq!(replay.finish(), Ok(()), "{name}");
            assert_eq!(peer.requests().len(), asked, "{name}: nobody is asked");
            for (one, other) in recorded.rungs.iter().zip(&replayed.rungs) {
                assert_eq!(one.result, other.result, "{name}");
                let (mut one, other) = (one.summarizer, other.summarizer);
                one.duration = other.duration;
                assert_eq!(one, other, "{name}");
            }
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!text.contains(KEY), "{name}");
        }
    }
}

#[test]
fn a_guard_is_recorded_too() {
    let document = session();
    let good = says("200 OK", &Speaks::Openai.answer(super::ladder::SUMMARY, "stop"));
    let peer = Peer::new(vec![good]);
    let config = config(Speaks::Openai, peer.port(), "", "stop");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let fit = |change: &Change<'_>| {
        let policy = Policy::of_ladder(&config, None, |ladder| {
            let summarizer = change(ladder.asked().unwrap());
            ladder.summarizer(summarizer)
        });
        let session = Guard::new(policy.unwrap()).session("demo");
        let request = document.write(document.conversation(), &WriteOptions::default());
        let ready = runtime().block_on(session.fit(request.into_owned(), None)).unwrap();
        (ready.request.to_vec(), session.spent().calls())
    };
    let recorded = fit(&|asked| Arc::new(Recorder::create(&path, Arc::clone(asked)).unwrap()));
    assert!(recorded.1 > 0);
    assert_eq!(fit(&|_| Arc::new(Replay::open(&path).unwrap())), recorded);
    assert_eq!(peer.requests().len() as u64, recorded.1);
    // Without a change, it is the same ladder.
    assert_eq!(descend(&config, &document).done.rungs[0].result.name(), "applied");
}
