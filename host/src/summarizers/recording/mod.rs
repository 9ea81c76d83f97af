//! What was asked of a summarizer and what it answered, in a file, and the file as a summarizer: so that a compaction
//! with a model can be repeated byte for byte without one.
//!
//! The first line says what the file is, and what the summarizer takes in one request. Each exchange is a line:
//!
//! ```json
//! {"exchange": 1, "request": {"instructions": "…", "input": "…", "max-tokens": 800},
//!  "reply": {"answer": {"text": "…", "stop": "end", "usage": {"input": 5120, "cached": 0, "output": 412}}},
//!  "duration-ms": 2140.5}
//! ```
//!
//! The request stands in it as text, so that two recordings can be compared; a reply that is no answer is a `too-long`,
//! a `timed-out`, a `failed` or a `given-up`. No key is in it: those are no part of a request. The conversation is,
//! though, so the file is for its owner alone.
//!
//! What is recorded is what a layer saw: the answer of the fallback that gave one, and the last of several tries.
//!
//! ```
//! use std::sync::Arc;
//! use brute_host::core::{Approximate, Prompt};
//! use brute_host::summarizers::{Extract, Recorder, Replay, Summarizer};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("run.jsonl");
//! let prompt = Prompt { instructions: "Sum it up.".into(), input: "src/main.rs".into(), max_tokens: 400 };
//! let recorder = Recorder::create(&path, Arc::new(Extract::new(Arc::new(Approximate))))?;
//! let answer = recorder.complete(&prompt).await;
//!
//! let replay = Replay::open(&path)?;
//! assert_eq!(replay.complete(&prompt).await, answer);
//! replay.finish()?; // Everything that was recorded was asked for.
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! # Ok::<(), std::io::Error>(())
//! ```

mod error;
mod line;
mod recorder;
mod replay;
#[cfg(test)]
mod tests;

pub use error::{Difference, RecordingError};
pub use recorder::Recorder;
pub use replay::Replay;
