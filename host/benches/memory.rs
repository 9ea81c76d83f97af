//! What a conversation occupies, counted as an agent's loop has it: read off `max alloc` beside the size in the name,
//! which is that of the same messages as JSON.

#![expect(clippy::expect_used, reason = "a bench that finds no sessions has nothing to measure")]

use std::fmt;
use std::path::PathBuf;

use brute_core::{Approximate, Conversation, Message, MessageId, Part, Role};
use brute_host::formats::{Document, ReadOptions};
use divan::{AllocProfiler, Bencher};

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

/// A session that ships.
struct Sample {
    path: PathBuf,
    /// The bytes of its messages as JSON.
    bytes: usize,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.path.file_name().unwrap_or_default().display();
        write!(f, "{name} ({:.1} KB)", self.bytes as f64 / 1e3)
    }
}

fn read(path: &PathBuf) -> Document {
    let bytes = std::fs::read(path).expect("it ships");
    Document::read(bytes, &ReadOptions::default()).expect("it is a session")
}

fn samples() -> Vec<Sample> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/sessions");
    let entries = std::fs::read_dir(folder).expect("it ships");
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_session = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "json" || extension == "jsonl")
    };
    let mut samples: Vec<Sample> = paths
        .filter(is_session)
        .map(|path| {
            let document = read(&path);
            let messages = (0..document.wire_len()).filter_map(|index| document.wire_json(index));
            Sample { bytes: messages.map(str::len).sum(), path }
        })
        .collect();
    samples.sort_by(|one, other| one.path.cmp(&other.path));
    samples
}

/// A chat without tools, whose messages have so many bytes of text each.
struct Chat {
    words: usize,
    bytes: usize,
}

impl Chat {
    const MESSAGES: u64 = 1_000;

    fn of(words: usize) -> Self {
        let json = |message: Message| match message.parts() {
            [Part::Text(text)] => {
                serde_json::json!({ "role": message.role(), "content": text }).to_string().len()
            }
            _ => 0,
        };
        Self { words, bytes: Self::messages(words).map(json).sum() }
    }

    fn messages(words: usize) -> impl Iterator<Item = Message> {
        (0..Self::MESSAGES).map(move |number| {
            let role = if number % 2 == 0 { Role::User } else { Role::Assistant };
            Message::new(MessageId(number), role, [Part::text("a".repeat(words))])
        })
    }
}

impl fmt::Display for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B each ({:.1} KB)", self.words, self.bytes as f64 / 1e3)
    }
}

#[divan::bench(args = [300, 400, 500, 600].map(Chat::of), sample_count = 1, sample_size = 1)]
fn chat(bencher: Bencher<'_, '_>, chat: &Chat) {
    bencher.bench_local(|| {
        let messages = Chat::messages(chat.words);
        let mut conversation = Conversation::new(messages).expect("nobody asks for a tool");
        conversation.measure(&Approximate);
        conversation
    });
}

/// A conversation of its own, message after message.
#[divan::bench(args = samples(), sample_count = 1, sample_size = 1)]
fn conversation(bencher: Bencher<'_, '_>, sample: &Sample) {
    let document = read(&sample.path);
    let given = document.conversation();
    bencher.bench_local(|| {
        let messages = given.messages().iter();
        let copies = messages.map(|one| Message::new(one.id(), one.role(), one.parts().to_vec()));
        let mut conversation = Conversation::new(copies).expect("as valid as what it is made of");
        conversation.measure(&Approximate);
        conversation
    });
}
