//! What counting costs over a session, against recounting everything before every call.
//!
//! `cargo bench -p brute-host --bench counting` prints the times; the first lines state the ratio
//! of one run, loading included, which is what a session of one process pays.

use std::sync::Arc;
use std::time::{Duration, Instant};

use brute_core::TokenCounter;
use brute_host::tokens::{CounterKind, Tiktoken, counter};
use divan::Bencher;
use divan::counter::BytesCount;

const CALLS: usize = 200;

/// A session of 200 calls in the proportions of real ones: a short reply and a call, then a result
/// of a few kilobytes; 603 messages and about 1.1 MB in all.
fn session() -> Vec<String> {
    let mut state = 42_u64;
    let mut next = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut messages = vec![
        "You are a careful engineer. ".repeat(120),
        "Fix the flaky test in the queue.".to_owned(),
    ];
    for call in 0..CALLS {
        messages
            .push(format!("Step {call}: I will read the part of the code that hands out leases."));
        messages.push(format!("{{\"path\":\"src/queue_{call}.rs\",\"offset\":{}}}", next(5_000)));
        let mut result = String::new();
        for line in 0..20 + next(220) {
            match next(3) {
                0 => result.push_str(&format!(
                    "{line:>5}\t    let lease_{} = self.slots.get({})?;\n",
                    next(90),
                    next(999)
                )),
                1 => result.push_str(&format!(
                    "2026-03-14T09:{:02}:{:02}Z  WARN worker-{} retry {}\n",
                    next(60),
                    next(60),
                    next(16),
                    next(9)
                )),
                _ => result
                    .push_str("        // The slot is free again once its holder has answered.\n"),
            }
        }
        messages.push(result);
    }
    messages
}

/// Everything again before every call, as an agent does that keeps no counts.
fn recount(messages: &[String]) -> usize {
    let bpe = tiktoken_rs::o200k_base_singleton();
    calls(messages)
        .map(|end| messages[..end].iter().map(|text| bpe.count_ordinary(text)).sum::<usize>())
        .sum()
}

/// Each message once, its count kept with it.
fn stored(counter: &dyn TokenCounter, messages: &[String]) -> usize {
    let mut counts: Vec<u32> = Vec::with_capacity(messages.len());
    calls(messages)
        .map(|end| {
            counts.extend(messages[counts.len()..end].iter().map(|text| counter.count(text)));
            counts.iter().map(|count| *count as usize).sum::<usize>()
        })
        .sum()
}

/// How many messages each call sends.
fn calls(messages: &[String]) -> impl Iterator<Item = usize> {
    (2..=messages.len()).step_by(3)
}

#[expect(clippy::print_stdout, reason = "the ratio of one run is what this prints")]
fn main() {
    let messages = session();
    let bytes: usize = messages.iter().map(String::len).sum();

    // The first count of the process loads the vocabulary, so these two lines come first.
    let counting = counter(CounterKind::O200k);
    let begin = Instant::now();
    let total = stored(counting.as_ref(), &messages);
    let with_loading = begin.elapsed();
    let begin = Instant::now();
    assert_eq!(stored(counting.as_ref(), &messages), total);
    let loaded = begin.elapsed();
    let loading = with_loading.saturating_sub(loaded);
    let begin = Instant::now();
    assert_eq!(recount(&messages), total);
    let again = begin.elapsed();

    let ratio = |ours: Duration| again.as_secs_f64() / ours.as_secs_f64();
    divan::black_box(total);
    println!("{} messages, {bytes} bytes, {CALLS} calls", messages.len());
    println!("recounting with tiktoken-rs, loaded      {again:>10.1?}");
    println!(
        "stored counts, loading included          {with_loading:>10.1?}  {:.0}x",
        ratio(with_loading)
    );
    println!("stored counts, vocabulary loaded         {loaded:>10.1?}  {:.0}x", ratio(loaded));
    println!("loading alone                            {loading:>10.1?}");
    println!(
        "with loading on both sides               {:.0}x",
        (again + loading).as_secs_f64() / with_loading.as_secs_f64()
    );

    divan::main();
}

#[divan::bench(sample_count = 10)]
fn session_with_stored_counts(bencher: Bencher<'_, '_>) {
    let messages = session();
    let counter = counter(CounterKind::O200k);
    bencher.bench_local(|| stored(counter.as_ref(), &messages));
}

#[divan::bench(sample_count = 20)]
fn size_of_an_unchanged_conversation(bencher: Bencher<'_, '_>) {
    let counts: Vec<u32> = session().iter().map(|text| Tiktoken::o200k().count(text)).collect();
    bencher.bench_local(|| {
        divan::black_box(&counts).iter().map(|count| *count as usize).sum::<usize>()
    });
}

/// Texts that are hard on a tokenizer, half a mebibyte each and twice that: time must not grow
/// fourfold from one to the other.
#[divan::bench(args = ["letter", "space", "line-feed", "hyphen", "word", "han", "emoji"], consts = [524_288, 1_048_576], sample_count = 2, sample_size = 1)]
fn repeated<const BYTES: usize>(bencher: Bencher<'_, '_>, name: &str) {
    let unit = match name {
        "letter" => "a",
        "space" => " ",
        "line-feed" => "\n",
        "hyphen" => "-",
        "word" => "word ",
        "han" => "中",
        _ => "🙂",
    };
    let text = unit.repeat(BYTES / unit.len());
    let counter: Arc<dyn TokenCounter> = counter(CounterKind::O200k);
    counter.count("load");
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| counter.count(&text));
}
