//! User messages in which no person asks for anything: what tools saw, and what harnesses wrote.

use super::*;

const IMAGE: &str = r#"{"type":"image","source":{"type":"url","url":"https://x/y.png"}}"#;
const SHOWN: &str = r#"{"type":"image_url","image_url":{"url":"https://x/y.png"}}"#;
const DOCUMENT: &str =
    r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"read me"}}"#;

fn task(json: &str) -> Option<usize> {
    let document = read(json);
    let conversation = document.conversation();
    let task = conversation.outline().task?;
    document.wire_index(conversation.messages()[task].id())
}

/// A request, a call of `ids`, and `answer` to that.
fn anthropic(ids: &[&str], answer: &str, rest: &str) -> String {
    let calls: Vec<String> = ids
        .iter()
        .map(|id| format!(r#"{{"type":"tool_use","id":"{id}","name":"look","input":{{}}}}"#))
        .collect();
    format!(
        r#"{{"system":"s","messages":[{{"role":"user","content":"go"}},{{"role":"assistant","content":[{}]}},{{"role":"user","content":[{answer}]}}{rest}]}}"#,
        calls.join(",")
    )
}

fn result(id: &str, content: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":{content}}}"#)
}

fn openai(rest: &str) -> String {
    format!(
        r#"[{{"role":"user","content":"go"}},{{"role":"assistant","tool_calls":[{{"id":"a","function":{{"name":"look","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"a","content":"ok"}}{rest}]"#
    )
}

#[test]
fn what_stands_beside_results_is_no_request() {
    let (a, b) = (result("a", "\"ok\""), result("b", "\"fine\""));
    let said = r#"{"type":"text","text":"what is this?"}"#;
    let (note, _) = note(0..1);
    let Edit::Replace { text: note, .. } = note else { unreachable!() };
    let note = format!(r#"{{"type":"text","text":{}}}"#, json::quote(&note));
    let table = [
        (format!("{a},{IMAGE},{b}"), "a: ok +1600 / b: fine +0", 0),
        (format!("{a},{b},{IMAGE},{IMAGE}"), "a: ok +0 / b: fine +3200", 0),
        (format!("{IMAGE},{a},{b}"), "a: ok +1600 / b: fine +0", 0),
        (format!("{a},{b},{DOCUMENT}"), "a: ok +0 / b: fine\nread me +0", 0),
        (format!("{a},{b},{IMAGE},{note}"), "a: ok +0 / b: fine +1600", 0),
        (format!("{a},{b},{IMAGE},{said}"), "a: ok +0 / b: fine +0", 2),
    ];
    let media = brute_core::Media { kind: "image".into(), tokens: 1600, bytes: 0 };
    for (answer, expected, wire) in table {
        let json = anthropic(&["a", "b"], &answer, "");
        let document = read(&json);
        let per_image =
            document.conversation().messages().iter().flat_map(|message| message.parts()).find_map(
                |part| match part {
                    Part::ToolResult(result) => result.media.first().map(|media| media.tokens),
                    _ => None,
                },
            );
        let expected = expected
            .replace("3200", &(2 * per_image.unwrap_or(media.tokens)).to_string())
            .replace("1600", &per_image.unwrap_or(media.tokens).to_string());
        let results: Vec<String> = drawn(&document)
            .into_iter()
            .filter_map(|line| line.strip_prefix("tool ").map(str::to_owned))
            .collect();
        assert_eq!(results.join(" / "), expected, "{answer}");
        assert_eq!(task(&json), Some(wire), "{answer}");
        let same = document.write(document.conversation(), &WriteOptions::default());
        assert_eq!(*same, *json.as_bytes());
    }
    for (rest, wire) in [
        (format!(r#",{{"role":"user","content":[{SHOWN}]}}"#), 0),
        (
            format!(
                r#",{{"role":"user","content":[{SHOWN}]}},{{"role":"user","content":[{SHOWN}]}}"#
            ),
            0,
        ),
        (r#",{"role":"user","content":" "}"#.to_owned(), 0),
        (r#",{"role":"user","content":[]}"#.to_owned(), 0),
        (format!(r#",{{"role":"user","content":[{SHOWN},{said}]}}"#), 3),
        (
            format!(
                r#",{{"role":"assistant","content":"so"}},{{"role":"user","content":[{SHOWN}]}}"#
            ),
            4,
        ),
    ] {
        let json = openai(&rest);
        assert_eq!(task(&json), Some(wire), "{rest}");
        let document = read(&json);
        let same = document.write(document.conversation(), &WriteOptions::default());
        assert_eq!(*same, *json.as_bytes());
    }
}

#[test]
fn it_stays_and_goes_with_its_result() {
    let long = format!("\"{}\"", "long ".repeat(60));
    let (a, b) = (result("a", &long), result("b", &long));
    let answer = format!("{a},{b},{IMAGE}");
    let end = r#",{"role":"assistant","content":"done"}"#;
    let json = anthropic(&["a", "b"], &answer, end);
    let short = |id| result(id, "\"x\"");
    let table = [
        (rewrite(3, 0, "x"), anthropic(&["a", "b"], &format!("{},{b},{IMAGE}", short("a")), end)),
        (rewrite(4, 0, "x"), anthropic(&["a", "b"], &format!("{a},{}", short("b")), end)),
    ];
    for (edit, expected) in table {
        assert_eq!(edited(&json, vec![edit]), expected);
    }
    let dropped = edited(&json, vec![Edit::Drop { span: 2..5 }]);
    assert!(!dropped.contains("image"), "{dropped}");

    let shown = format!(r#",{{"role":"user","content":[{SHOWN}]}}"#);
    let json = openai(&format!("{shown}{end}")).replace("\"ok\"", &long);
    assert_eq!(edited(&json, vec![rewrite(2, 0, "ok")]), openai(end));
    let dropped = edited(&json, vec![Edit::Drop { span: 1..3 }]);
    assert_eq!(dropped, format!(r#"[{{"role":"user","content":"go"}}{end}]"#));
    let (edit, text) = note(3..4);
    let options = WriteOptions { alternate_roles: true };
    let joined = format!(
        r#",{{"role":"user","content":[{SHOWN},{{"type":"text","text":{}}}]}}"#,
        json::quote(&text)
    );
    let json = openai(&format!(r#"{shown},{{"role":"assistant","content":{long}}}"#));
    let written = edited_with(&json, vec![edit], options);
    assert_eq!(written, openai(&joined));
    let lines = drawn(&read(&written));
    assert_eq!(lines.len(), 4, "the note is a message, the image is not: {lines:?}");
}

#[test]
fn joined_with_words_it_goes_into_its_result() {
    let next = r#",{"role":"assistant","content":"so"},{"role":"user","content":"and?"}"#;
    for (content, inside) in [
        ("\"ok\"", r#"{"type":"text","text":"ok"},"#),
        ("\"\"", ""),
        (r#"[{"type":"text","text":"ok"}]"#, r#"{"type":"text","text":"ok"},"#),
    ] {
        let json = anthropic(&["a"], &format!("{},{IMAGE}", result("a", content)), next);
        let written = edited(&json, vec![Edit::Drop { span: 4..5 }]);
        let shows = result("a", &format!("[{inside}{IMAGE}]"));
        let expected =
            anthropic(&["a"], &format!(r#"{shows},{{"type":"text","text":"and?"}}"#), "");
        assert_eq!(written, expected);
        assert_eq!(task(&written), Some(2));
        let of = |json: &str| drawn(&read(json))[..4].to_vec();
        assert_eq!(of(&written), of(&json));
    }
    // What a person shows without a word does not join results, which would take it.
    let next =
        format!(r#",{{"role":"assistant","content":"so"}},{{"role":"user","content":[{IMAGE}]}}"#);
    let json = anthropic(&["a"], &result("a", "\"ok\""), &next);
    let written = edited(&json, vec![Edit::Drop { span: 4..5 }]);
    assert_eq!(task(&written), Some(3), "{written}");
}

#[test]
fn a_log_says_what_no_person_asked() {
    let message = |role: &str, content: &str, marks: &str| {
        format!(r#"{{"role":"{role}","content":"{content}"{marks}}}"#)
    };
    let by = r#","agent":"main""#;
    let act = r#","agent":"main","thought":"t","action":"ls""#;
    let typed = |name: &str| format!(r#","agent":"main","message_type":"{name}""#);
    let (note, _) = note(0..1);
    let Edit::Replace { text: note, .. } = note else { unreachable!() };
    let table = [
        (
            vec![
                message("user", "task", by),
                message("assistant", "x", act),
                message("user", "seen", by),
            ],
            "uao",
            0,
        ),
        (
            vec![
                message("user", "demo", r#","agent":"main","is_demo":true"#),
                message("assistant", "demo", r#","agent":"main","action":"ls","is_demo":true"#),
                message("user", "task", by),
                message("assistant", "x", act),
                message("user", "seen", by),
            ],
            "oauao",
            2,
        ),
        (
            vec![
                message("user", "demo", &typed("demonstration")),
                message("user", "task", &typed("observation")),
                message("assistant", "x", &typed("action")),
                message("user", "seen", &typed("observation")),
            ],
            "ouao",
            1,
        ),
        (
            vec![
                message("user", "task", by),
                message("assistant", "x", act),
                message("user", "seen", by),
                message("user", "a person breaks in", ""),
                message("assistant", "x", act),
            ],
            "uaoua",
            3,
        ),
        (
            vec![
                message("user", "task", by),
                format!(r#"{{"role":"user","content":{}}}"#, json::quote(&note)),
                message("user", "seen", by),
                message("assistant", "x", act),
            ],
            "uuoa",
            0,
        ),
        // What became of a demonstration comes before the request.
        (
            vec![
                format!(r#"{{"role":"user","content":{}}}"#, json::quote(&note)),
                message("user", "task", by),
                format!(r#"{{"role":"user","content":{}}}"#, json::quote(&note)),
                message("user", "seen", by),
                message("assistant", "x", act),
            ],
            "uuuoa",
            1,
        ),
        // Nothing says who speaks: the newest that may be a person counts.
        (
            vec![
                message("user", "task", ""),
                message("assistant", "x", ""),
                message("user", "seen", ""),
            ],
            "uau",
            2,
        ),
    ];
    for (messages, roles, wire) in table {
        let json = format!("{{\"history\":[{}]}}", messages.join(","));
        let found: String = drawn(&read(&json)).iter().map(|line| &line[..1]).collect();
        assert_eq!(found, roles, "{json}");
        assert_eq!(task(&json), Some(wire), "{json}");
    }
}

#[test]
fn what_a_provider_compacted_is_no_part_of_the_conversation() {
    let json = r#"{"system":"s","messages":[
        {"role":"user","content":"go"},
        {"role":"assistant","content":[{"type":"text","text":"old"}]},
        {"role":"user","content":"and?"},
        {"role":"assistant","content":[{"type":"compaction","content":"A summary."},{"type":"text","text":"new"}]},
        {"role":"user","content":"more"},
        {"role":"assistant","content":[{"type":"text","text":"newer"}]},
        {"role":"user","content":"most"}]}"#;
    let drawn = drawn(&read(json));
    assert_eq!(drawn[0], "system s");
    assert!(drawn[1].starts_with("system compaction<") && drawn[1].contains("A summary."));
    assert_eq!(drawn[2..], ["assistant new", "user more", "assistant newer", "user most"]);
    // What is left of a message with the block in it stays a message of the model.
    let written = edited(json, vec![Edit::Drop { span: 2..5 }]);
    let before =
        r#"{"role":"assistant","content":[{"type":"compaction","content":"A summary."}]},"#;
    assert!(written.contains(before) && written.contains(r#""text":"old""#), "{written}");
    assert!(!written.contains("new"), "{written}");
}
