//! What the provider reported, beside what is counted.

use serde_json::{Value, json};

use super::place::Place;

/// A session of so many calls, in which each token that is counted is `ratio` of the provider's, with 1,000 more.
fn session(model: &str, calls: usize, ratio: f64) -> Value {
    let mut messages = Vec::new();
    let mut counted = 0.0;
    for call in 0..calls {
        // 500 words are about 500 tokens, and 3 or 4 stand around each message.
        messages.push(json!({"role": "user", "content": "word ".repeat(500)}));
        messages.push(json!({"role": "assistant", "content": format!("Seen {call}.")}));
        counted += 512.0;
        let prompt = (1_000.0 + ratio * counted) as u64;
        messages[2 * call + 1]["usage"] = json!({"prompt_tokens": prompt, "completion_tokens": 0});
    }
    json!({"model": model, "messages": messages})
}

#[test]
fn the_ratio_is_said_with_what_it_began_from() {
    let place = Place::new();
    let explain = |body: &Value, more: &str| {
        let ended = place.piped(&format!("explain - {more}"), body.to_string());
        let out = ended.stable(&ended.out);
        let lines = out.lines().skip(1).take_while(|line| !line.is_empty());
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    let claude = session("claude-sonnet-4-5", 12, 1.5);
    let plain = json!({"model": "gpt-4o", "messages": [
        {"role": "user", "content": "word ".repeat(1_000)},
        {"role": "assistant", "content": "Seen."},
        {"role": "user", "content": "word ".repeat(100)},
    ]});
    let mut left = session("gpt-4o", 9, 1.0);
    let kept = left["messages"].as_array().map(|all| all[16..].to_vec());
    left["messages"] = json!(kept);
    insta::assert_snapshot!([
        explain(&claude, ""),
        explain(&plain, "--reported 1500"),
        explain(&left, ""),
        explain(&plain, ""),
    ].join("---\n"), @"
    openai-chat (request body), counted by o200k × 1.25
    window 200,000 (claude-sonnet-4-5), compaction at 140,000, down to 80,000, tool
    schemas and framing take 3
    the provider counted 10,216 for the last request and its reply, where 7,659 are
    counted here
    ratio: 1 token of o200k is 1.47 of the provider's, learned from 12 reports; 1.25
    was assumed before
    estimate of the next request: 10,216; a guarded session goes by that, this run
    by its own count
    ---
    openai-chat (request body), counted by o200k
    window 128,000 (gpt-4o), compaction at 89,600, down to 51,200, tool schemas and
    framing take 3
    the provider counted 1,500 for the last request and its reply, where 1,012 are
    counted here
    ratio: 1 token of o200k is taken for 1.00 of the provider's; one report tells
    little of that, and 1.00 was assumed before
    estimate of the next request: 1,604; a guarded session goes by that, this run by
    its own count
    ---
    openai-chat (request body), counted by o200k
    window 128,000 (gpt-4o), compaction at 89,600, down to 51,200, tool schemas and
    framing take 3
    the provider counted 5,608 for the last request and its reply, where 514 are
    counted here
    that is more than any tokenizer makes of it: something was taken out since, and
    the figure says nothing about what is left
    ---
    openai-chat (request body), counted by o200k
    window 128,000 (gpt-4o), compaction at 89,600, down to 51,200, tool schemas and
    framing take 3
    ");
    let report = place.piped("explain - --json", claude.to_string()).out_json();
    let provider = &report["provider"];
    assert_eq!((&provider["reports"], &provider["prior"]), (&json!(12), &json!(1.25)));
    let ratio = provider["ratio"].as_f64().expect("a number");
    assert!((1.4..=1.6).contains(&ratio), "{provider}");
    assert_eq!(provider["estimate"], provider["reported"]);
    let none = place.piped("explain - --json", plain.to_string()).out_json();
    assert_eq!(none["provider"], Value::Null);
}
