//! Counts recorded from two independent implementations, `bpe-openai` and, where it survives,
//! python's `tiktoken`, for texts that small generators describe. `tests/data/token-counts.json`
//! holds both the generators and the counts.

use brute_core::TokenCounter;
use serde::Deserialize;

use super::Tiktoken;

#[derive(Deserialize)]
struct Recorded {
    name: String,
    text: Vec<Part>,
    o200k: u32,
    cl100k: u32,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Part {
    Repeat { repeat: String, times: usize },
    Random { random: String, chars: usize, seed: u64 },
}

impl Part {
    fn write(&self, text: &mut String) {
        match self {
            Self::Repeat { repeat, times } => text.push_str(&repeat.repeat(*times)),
            Self::Random { random, chars, seed } => {
                let alphabet: Vec<char> = random.chars().collect();
                let mut state = *seed;
                for _ in 0..*chars {
                    // Knuth's linear congruential generator; the recorder used the same.
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    text.push(alphabet[(state >> 33) as usize % alphabet.len()]);
                }
            }
        }
    }
}

/// The encodings are checked apart, so that the test runner takes them side by side.
fn check(counter: Tiktoken, expected: fn(&Recorded) -> u32) {
    let recorded: Vec<Recorded> =
        serde_json::from_str(include_str!("../../tests/data/token-counts.json")).unwrap();
    assert!(recorded.len() > 50);
    let mut wrong = Vec::new();
    for case in &recorded {
        let mut text = String::new();
        for part in &case.text {
            part.write(&mut text);
        }
        let (counted, expected) = (counter.count(&text), expected(case));
        if counted != expected {
            wrong.push(format!("{}: {counted}, recorded {expected}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn o200k_counts_equal_the_recorded_ones() {
    check(Tiktoken::o200k(), |case| case.o200k);
}

#[test]
fn cl100k_counts_equal_the_recorded_ones() {
    check(Tiktoken::cl100k(), |case| case.cl100k);
}
