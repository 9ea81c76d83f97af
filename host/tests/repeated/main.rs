//! One session that grows and is summarized twenty times in a row, with what a real model answered, from a recording;
//! and how the recording is made (`cargo xtask model-server measure`).
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "who waits for a model wants to see it work")]

mod measure;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use brute_host::replay::{Recorded, Replay as Walked};
use brute_host::summarizers::{Extract, Recorder, Replay, Summarizer};

use measure::Measured;
use walk::{LARGER, Room, SMALL, compactor, config, level_one, session, walk};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// What becomes of the session with this summarizer.
fn measured(summarizer: Arc<dyn Summarizer>, room: &Room) -> Measured {
    let document = session();
    let compactor = compactor(room, &document).summarizer(summarizer);
    let walked = runtime().block_on(walk(document.conversation(), compactor, room.times));
    let measured = Measured::of(document.conversation(), &walked);
    assert_eq!(measured.compactions.len(), room.times);
    measured
}

/// The same without the summarizer, from a recording, with what of it the session goes on to use.
fn replayed(recording: &Path, room: &Room) -> Measured {
    let summarizer = Arc::new(Replay::open(recording).unwrap());
    let mut measured = measured(Arc::clone(&summarizer) as Arc<dyn Summarizer>, room);
    summarizer.finish().unwrap();
    // Once more as `brute replay` walks, which says what the session goes on to use.
    let document = session();
    let compactor =
        compactor(room, &document).summarizer(Arc::new(Replay::open(recording).unwrap()));
    let replay = Walked::new(compactor, level_one()).checked();
    let recorded = Recorded::new(document.conversation().clone());
    let run = runtime().block_on(replay.run(&recorded, vec![vec![0]])).remove(0);
    for (compaction, figures) in run.compactions.iter().zip(&measured.compactions) {
        assert_eq!(compaction.violations, []);
        assert_eq!((compaction.before - compaction.after), figures.before - figures.after);
        measured.recall += compaction.recall;
    }
    measured
}

/// What `docs/summaries.md` says of them is what comes out.
fn check_document(measured: &Measured) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/summaries.md");
    let document = std::fs::read_to_string(document).unwrap();
    for row in measured.rows() {
        assert!(document.contains(&row), "`docs/summaries.md` does not say: {row}");
    }
}

#[test]
fn without_a_model_it_holds_as_well() {
    for room in [SMALL, LARGER] {
        let folder = tempfile::tempdir().unwrap();
        let recording = folder.path().join("extract.jsonl");
        let extract = Arc::new(Extract::new(config(&room).token_counter(None)));
        let recorder = Arc::new(Recorder::create(&recording, extract).unwrap());
        let first = measured(Arc::clone(&recorder) as Arc<dyn Summarizer>, &room);
        let again = replayed(&recording, &room);
        println!("{again}");
        assert_eq!(again.compactions, first.compactions);
        again.check(room.max_tokens);
        assert_eq!(again.goal.kept, again.goal.of);
        check_document(&again);
    }
}

/// What Qwen2.5-Coder-0.5B answered, so it holds for these requests alone: whoever changes one records anew.
#[test]
fn with_a_small_model_it_holds_as_recorded() {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/repeated/twenty.jsonl");
    let measured = replayed(&recording, &SMALL);
    println!("{measured}");
    measured.check(SMALL.max_tokens);
    assert_eq!(measured.goal.kept, measured.goal.of);
    check_document(&measured);
}

#[test]
#[ignore = "needs a model server: `cargo xtask model-server measure`"]
fn a_real_model_is_recorded() {
    let recording = PathBuf::from(std::env::var("BRUTE_RECORDING").unwrap());
    let url = std::env::var("BRUTE_MODEL_SERVER").unwrap();
    let recorder = Arc::new(Recorder::create(&recording, walk::summarizer(&url)).unwrap());
    let first = measured(Arc::clone(&recorder) as Arc<dyn Summarizer>, &SMALL);
    assert_eq!(recorder.fault(), None);
    let again = replayed(&recording, &SMALL);
    println!("{again}");
    assert_eq!(again.compactions, first.compactions);
    again.check(SMALL.max_tokens);
}
