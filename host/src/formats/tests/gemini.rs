//! Gemini: calls without ids, signatures on parts, and roles that take turns.

use super::*;

const TRIP: &str = r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},"generationConfig":{"maxOutputTokens":64},"contents":[
  {"role":"user","parts":[{"text":"go"}]},
  {"role":"model","parts":[{"text":"hm","thought":true},{"text":"I look.","thoughtSignature":"c2ln"},{"functionCall":{"name":"read","args":{"p": 1}},"thoughtSignature":"c2lnMg=="},{"functionCall":{"name":"read"}}]},
  {"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"one of them"}}},{"functionResponse":{"name":"read","response":{"error":"two of them"}}},{"inlineData":{"mimeType":"image/png","data":""}}]},
  {"role":"model","parts":[{"text":"done"}]},
  {"role":"user","parts":[{"text":"next"}]}
]}"#;

#[test]
fn responses_without_ids_answer_in_order() {
    let document = read(TRIP);
    assert_eq!(document.format(), Format::Gemini);
    assert_eq!(document.reply_limit(), Some(64));
    assert_eq!(
        drawn(&document),
        [
            "system Be brief.",
            "user go",
            r#"assistant think(hm) | I look. | call function:read read{"p": 1} | call function:read:2 read{}"#,
            "tool function:read: one of them +0",
            "tool function:read:2!: two of them +1548",
            "assistant done",
            "user next",
        ]
    );
}

#[test]
fn a_part_keeps_what_it_is_signed_with() {
    let rewrite = |message, part, text: &str| Edit::Rewrite { message, part, text: text.into() };
    let table = [
        (rewrite(2, 1, "x"), r#"{"text":"x","thoughtSignature":"c2ln"}"#),
        (
            rewrite(2, 2, "{}"),
            r#"{"functionCall":{"name":"read","args":{}},"thoughtSignature":"c2lnMg=="}"#,
        ),
        (rewrite(3, 0, "x"), r#"{"functionResponse":{"name":"read","response":{"output":"x"}}}"#),
        (rewrite(4, 0, "x"), r#"{"functionResponse":{"name":"read","response":{"error":"x"}}}"#),
    ];
    for (edit, there) in table {
        let written = edited(TRIP, vec![edit.clone()]);
        assert!(written.contains(there), "{edit:?}: {written}");
    }
}

#[test]
fn a_result_that_is_no_text_reads_as_its_json() {
    let json = r#"[{"role":"user","parts":[{"text":"go"}]},
        {"role":"model","parts":[{"functionCall":{"id":"a","name":"f","args":{}}}]},
        {"role":"function","parts":[{"functionResponse":{"id":"a","name":"f","response":{"n": [1, 2]}}}]}]"#;
    assert_eq!(drawn(&read(json))[2], r#"tool a: {"n":[1,2]} +0"#);
    let written = edited(json, vec![Edit::Rewrite { message: 2, part: 0, text: "x".into() }]);
    assert!(written.contains(r#""response":{"output":"x"}"#), "{written}");
}

#[test]
fn what_edits_made_neighbors_is_one_content() {
    let written = edited(TRIP, vec![Edit::Drop { span: 2..6 }]);
    assert!(
        written.contains(r#"{"role":"user","parts":[{"text":"go"},{"text":"next"}]}"#),
        "{written}"
    );
    let replace = |span, text: &str| Edit::Replace { span, role: Role::User, text: text.into() };
    let written = edited(TRIP, vec![replace(2..5, "gone")]);
    let body: serde_json::Value = serde_json::from_str(&written).unwrap();
    let contents = body["contents"].as_array().unwrap();
    assert_eq!(contents.len(), 3);
    assert_eq!(contents[0]["parts"].as_array().unwrap().len(), 2);
}

#[test]
fn names_are_read_as_libraries_spell_them() {
    let json = r#"{"system_instruction":"Be brief.","contents":[{"parts":[{"text":"go"},{"inline_data":{"mime_type":"audio/wav","data":""}}]},
        {"role":"model","parts":[{"function_call":{"name":"f","args":null}},{"text":"","thought_signature":"c2ln"}]}]}"#;
    let drawn = drawn(&read(json));
    assert_eq!(drawn[0], "system Be brief.");
    assert!(drawn[1].starts_with("user go | audio/wav="), "{drawn:?}");
    assert_eq!(drawn[2], "assistant call function:f f{} | think!()");
}

#[test]
fn contents_are_told_by_their_parts() {
    let table = [
        (r#"[{"role":"user","parts":[{"text":"go"}]}]"#, true),
        (r#"[{"parts":[{"text":"go"}]}]"#, true),
        (
            "{\"role\":\"user\",\"parts\":[{\"text\":\"go\"}]}\n{\"role\":\"model\",\"parts\":[{\"text\":\"ok\"}]}",
            true,
        ),
        // Another one's messages have parts with a type.
        (r#"[{"role":"user","parts":[{"type":"text","text":"go"}]}]"#, false),
    ];
    for (json, is_gemini) in table {
        assert_eq!(read(json).format() == Format::Gemini, is_gemini, "{json}");
    }
}

#[test]
fn broken_contents_are_told() {
    let table = [
        (
            r#"{"contents":[{"role":"assistant","parts":[{"text":"a"}]}]}"#,
            "the model is called `model`",
        ),
        (
            r#"{"contents":[{"role":"user"}]}"#,
            "a content, an object whose `parts` are an array, at `/contents/0`",
        ),
        (
            r#"[{"role":"user","parts":[{"text":3}]}]"#,
            "the text of the part, a string, at `/0/parts/0/text`",
        ),
        (r#"[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[]}]"#, "message 1"),
        (
            r#"[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]}]"#,
            "the tool result for `function:f` answers no call before it",
        ),
        (
            r#"{"systemInstruction":3,"contents":[{"role":"user","parts":[{"text":"a"}]}]}"#,
            "a content with `parts` of text at `/systemInstruction`",
        ),
    ];
    for (json, expected) in table {
        let told = error(json);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_missing_response_is_named_after_its_function() {
    let json = r#"[{"role":"user","parts":[{"text":"go"}]},
        {"role":"model","parts":[{"functionCall":{"name":"a"}},{"functionCall":{"name":"b"}}]},
        {"role":"user","parts":[{"functionResponse":{"name":"b","response":{"output":"x"}}}]},
        {"role":"model","parts":[{"text":"ok"}]}]"#;
    let (told, written) = repaired(json);
    assert_eq!(told.len(), 1, "{told:?}");
    let contents: serde_json::Value = serde_json::from_str(&written).unwrap();
    let names: Vec<&str> = contents[2]["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["functionResponse"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["b", "a"], "{written}");
    assert!(!written.contains("function:"), "{written}");
}
