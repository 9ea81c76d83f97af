//! Joining, pairing, and telling what an input is.

use proptest::prelude::*;

use super::*;

fn pi(lines: &[&str]) -> String {
    let head = r#"{"type":"session","id":"s","cwd":"/tmp"}"#;
    std::iter::once(head).chain(lines.iter().copied()).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_no_log_comes_back_as_it_was() {
    let long = "{\"role\":\"user\",\"content\":\"x\"}\n\n".repeat(300);
    for input in [
        "",
        " \n",
        r#"{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}"#,
        "{\n \"messages\": [\n  {\"role\": \"user\", \"content\": \"hi\"}\n ]\n}\n",
        "\n{\"role\":\"user\",\"content\":\"hi\"}\n\n{\"role\":\"assistant\",\"content\":\"ho\"}",
        r#"{"info":{},"messages":[{"role":"user","content":"hi"}],"trajectory_format":"mini-swe-agent-1.1"}"#,
        r#"{"history":[{"role":"user","content":"x","agent":"a","message_type":"observation"}],"trajectory":[{"action":"a","observation":"b"}]}"#,
        r#"[{"role":"assistant","content":"x","action":"ls","thought":"t"}]"#,
        r#"{"simulations":[{"messages":[]}]}"#,
        "no JSON at all\n{\"role\":1}",
        "{\"a\": ",
        "[1, 2",
        long.as_str(),
    ] {
        match read(input.as_bytes(), &Options::default()).unwrap() {
            Input::Other(bytes) => assert_eq!(bytes, input.as_bytes()),
            Input::Transcript(found) => panic!("{input} is read as {}", found.kind()),
        }
    }
}

#[test]
fn bytes_that_are_no_text_come_back_too() {
    let input = b"{\"role\":\"user\"}\n\xff\xfe{\"a\":1}\n";
    let Input::Other(bytes) = read(input.as_slice(), &Options::default()).unwrap() else {
        panic!()
    };
    assert_eq!(bytes, input);
}

#[test]
fn a_kind_that_is_said_is_not_looked_for() {
    let options = |kind| Options { kind: Some(kind), ..Options::default() };
    let error = read("no JSON".as_bytes(), &options(Kind::Pi)).unwrap_err();
    insta::assert_snapshot!(error, @"this is no log of the kind `pi`: it has no records that are JSON");
    let error = read(r#"{"a":1}"#.as_bytes(), &options(Kind::ClaudeCode)).unwrap_err();
    insta::assert_snapshot!(error, @"the claude-code log holds no message: 1 × record: it has no `type`");
    let error = read("{\n\"a\":".as_bytes(), &options(Kind::Atif)).unwrap_err();
    insta::assert_snapshot!(error, @"this is no log of the kind `atif`: line 2 is no JSON: a value should come");
}

#[test]
fn torn_lines_and_strange_bytes_are_told() {
    let half = r#"{"type":"message","message":{"role":"user","content":"half \ud83d of a pair"}}"#;
    let mut log = pi(&[
        r#"{"type":"message","message":{"role":"user","content":"go"}}"#,
        half,
        "{\"type\":\"mess",
    ])
    .into_bytes();
    log.extend(b"\n{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}}\n");
    let transcript = transcript(&log, &Options::default());
    let problems: Vec<String> = transcript.problems().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(problems.join("\n"), @r"
    line 3: put U+FFFD in the place of half of a surrogate pair, which no provider accepts
    line 5: put U+FFFD in the place of bytes that are not UTF-8
    ");
    assert!(transcript.request().contains("half \\ufffd of a pair"));
    assert_eq!(
        transcript.skipped().iter().find(|skipped| skipped.kind == "line").unwrap().first_line,
        4
    );
}

#[test]
fn ids_that_come_again_mean_the_nearest_call() {
    let call = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"1","name":"f","arguments":{}}]}}"#;
    let result = r#"{"type":"message","message":{"role":"toolResult","toolCallId":"1","toolName":"f","content":[{"type":"text","text":"one"}]}}"#;
    let user = r#"{"type":"message","message":{"role":"user","content":"go"}}"#;
    let read =
        transcript(pi(&[user, call, result, call, result, result]).as_bytes(), &Options::default());
    let document = Document::read(read.request(), &ReadOptions::default()).unwrap();
    assert_eq!(counts(&document), (5, 2, 2));
    let [problem] = read.problems() else { panic!("one result too many") };
    assert_eq!(problem.what, "passed over a second result for the call `1`");
}

/// The readers, on whatever a value may be where they look for something else.
fn strange() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(Value::Bool(true)),
        any::<i32>().prop_map(Value::from),
        prop_oneof![
            Just("user"),
            Just("assistant"),
            Just("text"),
            Just("tool_use"),
            Just("a\"\\\n\u{1f642}"),
            Just("")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((keys(), inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn keys() -> impl Strategy<Value = String> {
    let known = [
        "type",
        "role",
        "content",
        "id",
        "message",
        "text",
        "input",
        "tool_calls",
        "parts",
        "info",
        "name",
        "source",
        "action",
        "observation",
        "steps",
        "messages",
        "kwargs",
        "payload",
        "usage",
        "summary",
    ];
    proptest::sample::select(known.map(str::to_owned).to_vec())
}

/// Each value of `value`, by the way that leads to it.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(place, item)| places(item, &format!("{at}/{place}"), found)),
        Value::Object(members) => members.iter().for_each(|(key, item)| {
            places(item, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
        }),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Whatever stands in a log in the place of one of its values, what comes of it is a request.
    #[test]
    fn any_value_may_be_another(sample_at in any::<proptest::sample::Index>(), place in any::<proptest::sample::Index>(), other in strange(), whole in any::<bool>()) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcripts");
        let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let name = &names[sample_at.index(names.len())];
        let mut values = match name.ends_with(".json") {
            true => vec![serde_json::from_slice(&sample(name)).unwrap()],
            false => values(&sample(name)),
        };
        let mut found = Vec::new();
        for (line, value) in values.iter().enumerate() {
            let mut here = Vec::new();
            places(value, "", &mut here);
            found.extend(here.into_iter().map(|at| (line, at)));
        }
        if found.is_empty() {
            return Ok(());
        }
        let (line, at) = &found[place.index(found.len())];
        *values[*line].pointer_mut(at).unwrap() = other;
        let log = values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        let options = Options { whole, pick: pick_of(name), ..Options::default() };
        if let Ok(Input::Transcript(transcript)) = read(log.as_bytes(), &options) {
            let request = transcript.request();
            let parsed: Result<Value, _> = serde_json::from_str(request);
            prop_assert!(parsed.is_ok(), "{name}: {at}: {request}");
            let options = ReadOptions { format: Some(transcript.format()), ..ReadOptions::default() };
            let document = Document::read(request, &options);
            prop_assert!(document.is_ok(), "{name} {at}: {:?}\n{request}", document.err());
        }
    }

    /// A log may end anywhere: its writer was killed.
    #[test]
    fn a_log_may_end_anywhere(sample_at in any::<proptest::sample::Index>(), end in any::<proptest::sample::Index>()) {
        let names = ["claude-code-compacted.jsonl", "claude-stream-json.jsonl", "pi.jsonl", "codex-compacted.jsonl", "gemini-cli.jsonl", "aider.md"];
        let name = names[sample_at.index(names.len())];
        let bytes = sample(name);
        let cut = &bytes[..end.index(bytes.len())];
        let options = Options { pick: pick_of(name), ..Options::default() };
        if let Ok(Input::Transcript(transcript)) = read(cut, &options) {
            let options = ReadOptions { format: Some(transcript.format()), ..ReadOptions::default() };
            let document = Document::read(transcript.request(), &options);
            prop_assert!(document.is_ok(), "{name}: {:?}", document.err());
        }
    }
}

/// A piece of a reply that comes late calls once more what was answered already.
#[test]
fn a_call_is_made_once_in_a_message_even_after_its_result() {
    let line = |id: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"role":"assistant","id":"{id}","content":[{{"type":"tool_use","id":"t1","name":"Bash","input":{{}}}}]}}}}"#
        )
    };
    let result = r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}"#;
    let go = r#"{"type":"user","message":{"role":"user","content":"go"}}"#;
    for (ids, calls) in [(["m1", "m1", "m1"], 1), (["m1", "m2", "m1"], 2)] {
        let log =
            [go, &line(ids[0]), result, &line(ids[1]), result, &line(ids[2]), result].join("\n");
        let transcript = transcript(log.as_bytes(), &Options::default());
        let document = Document::read(transcript.request(), &ReadOptions::default()).unwrap();
        assert_eq!(counts(&document).1, calls, "{}", transcript.request());
        let told: Vec<_> = transcript.problems().iter().map(ToString::to_string).collect();
        assert!(told.iter().any(|what| what.contains("a second call `t1`")), "{told:?}");
    }
}

/// A text is blank however its white space is spelled: a provider refuses it.
#[test]
fn blank_texts_are_none_however_they_are_spelled() {
    for blank in [" ", "\\n\\t", "\u{a0}", "\u{3000} \\r", "\\u0020\\u000a", "\\u2003", "\\f"] {
        let log = format!(
            r#"{{"type":"session","id":"1","cwd":"/tmp"}}
{{"type":"message","message":{{"role":"user","content":"go"}}}}
{{"type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"{blank}"}},{{"type":"text","text":"done"}}]}}}}"#
        );
        let transcript = transcript(log.as_bytes(), &Options::default());
        let document = Document::read(transcript.request(), &ReadOptions::default());
        let texts = texts(&document.unwrap(), Role::Assistant);
        assert_eq!(texts, ["done"], "{blank:?}");
    }
    for word in ["a", "\\u0061", "\\\\", "\\ud83d\\ude42", "\u{a0}x"] {
        assert!(!super::super::entry::is_blank(&format!("\"{word}\"")), "{word}");
    }
}
