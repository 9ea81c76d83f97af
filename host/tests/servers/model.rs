//! The same against a real, small model. What it says is not looked at.

use brute_core::{Completion, CompletionError, Prompt, Stop};

use super::ladder::{config, runtime, summarizer};
use super::peer::Speaks;

/// The port of a server that reads 512 tokens.
fn port() -> u16 {
    let url = std::env::var("BRUTE_MODEL_SERVER").unwrap();
    url.trim_end_matches("/v1").rsplit(':').next().unwrap().parse().unwrap()
}

fn ask(speaks: Speaks, input: String, max_tokens: u32) -> Result<Completion, CompletionError> {
    let instructions = "Answer in one short sentence.".to_owned();
    let prompt = Prompt { instructions, input, max_tokens };
    let summarizer = summarizer(&config(speaks, port(), "retries = 0", "stop"));
    runtime().block_on(summarizer.complete(&prompt))
}

#[test]
#[ignore = "needs a model server: `cargo xtask ci --step model`"]
fn a_question_is_answered_and_one_that_is_too_long_is_not() {
    for speaks in Speaks::BOTH {
        let answer = ask(speaks, "What is the capital of France?".to_owned(), 60).unwrap();
        assert!(!answer.text.trim().is_empty(), "{speaks:?}");
        assert_ne!(answer.stop, Stop::ToolCall);
        let cut = ask(speaks, "Tell a long story of a harbor.".to_owned(), 4).unwrap();
        assert_eq!(cut.stop, Stop::Length, "{speaks:?}: {}", cut.text);
        let long = ask(speaks, "Repeat these words. ".repeat(200), 60);
        assert_eq!(long, Err(CompletionError::TooLong { limit: Some(512) }), "{speaks:?}");
    }
}
