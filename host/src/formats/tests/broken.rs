//! Input with very many mistakes, and input that is too large.

use super::*;

const MANY: usize = 20_000;

fn openai(messages: impl Iterator<Item = String>) -> String {
    let messages: Vec<String> = messages.collect();
    format!(r#"[{{"role":"user","content":"go"}},{}]"#, messages.join(","))
}

fn call(id: &str) -> String {
    format!(r#"{{"id":"{id}","function":{{"name":"f","arguments":"{{}}"}}}}"#)
}

fn calls(ids: impl Iterator<Item = String>) -> String {
    let calls: Vec<String> = ids.map(|id| call(&id)).collect();
    format!(r#"{{"role":"assistant","tool_calls":[{}]}}"#, calls.join(","))
}

fn result(id: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"x"}}"#)
}

/// Each of these takes minutes if a mistake costs a walk over the others.
#[test]
fn very_many_mistakes_are_told_and_mended() {
    let all = || 0..MANY;
    let user = r#"{"role":"user","content":"on"}"#.to_owned();
    let blank = r#"{"type":"text","text":""}"#;
    let anthropic_blanks = all()
        .flat_map(|_| {
            let message = |role| format!(r#"{{"role":"{role}","content":[{blank}]}}"#);
            [message("assistant"), message("user")]
        })
        .collect::<Vec<_>>()
        .join(",");
    let table = [
        ("orphans", openai(all().map(|at| result(&at.to_string())))),
        (
            "results before their calls",
            openai(
                all()
                    .map(|at| result(&at.to_string()))
                    .chain(all().map(|at| calls([at.to_string()].into_iter())))
                    .chain([user.clone()]),
            ),
        ),
        (
            "calls of one message without results",
            openai([calls(all().map(|at| at.to_string())), user.clone()].into_iter()),
        ),
        (
            "messages whose calls have no results",
            openai(all().map(|at| calls([at.to_string()].into_iter())).chain([user.clone()])),
        ),
        (
            "one id again and again in one message",
            openai([calls(all().map(|_| "a".to_owned())), user.clone()].into_iter()),
        ),
        (
            "one id twice in many messages",
            openai(
                all()
                    .map(|at| calls([at.to_string(), at.to_string()].into_iter()))
                    .chain([user.clone()]),
            ),
        ),
        (
            "blank texts",
            format!(
                r#"{{"system":"s","messages":[{{"role":"user","content":"go"}},{anthropic_blanks}]}}"#
            ),
        ),
        (
            "halves of surrogate pairs",
            openai(all().map(|_| r#"{"role":"user","content":"\ud83d"}"#.to_owned())),
        ),
    ];
    for (what, json) in table {
        let found = Document::read(json.as_str(), &ReadOptions::default()).unwrap_err();
        let ReadError::Invalid { problems } = &found else { panic!("{what}: {found}") };
        assert!(problems.len() >= MANY - 1, "{what}");
        let words = found.to_string();
        assert_eq!(words.lines().count(), 53, "{what}");
        let more = words.lines().nth(51).unwrap();
        assert!(more.starts_with("  and ") && more.ends_with(" more"), "{what}: {more}");
        let options = ReadOptions { repair: true, ..ReadOptions::default() };
        let document = Document::read(json, &options).unwrap();
        assert!(document.repairs().len() >= MANY - 1, "{what}");
        assert!(document.repairs().is_sorted_by_key(|repair| repair.index), "{what}");
        let written = document.write(document.conversation(), &WriteOptions::default());
        assert!(Document::read(&*written, &ReadOptions::default()).is_ok(), "{what}");
    }
}

#[test]
fn a_message_of_very_many_results_is_written() {
    let all = || 0..MANY / 2;
    let uses: Vec<String> = all()
        .map(|at| format!(r#"{{"type":"tool_use","id":"{at}","name":"f","input":{{}}}}"#))
        .collect();
    let long = "long ".repeat(9);
    let results: Vec<String> = all()
        .map(|at| format!(r#"{{"type":"tool_result","tool_use_id":"{at}","content":"{long}"}}"#))
        .collect();
    let json = format!(
        r#"[{{"role":"user","content":"go"}},{{"role":"assistant","content":[{}]}},{{"role":"user","content":[{}]}}]"#,
        uses.join(","),
        results.join(",")
    );
    let first = format!(r#""tool_use_id":"0","content":"{long}""#);
    let expected = json.replace(&first, r#""tool_use_id":"0","content":"x""#);
    assert_eq!(edited(&json, vec![rewrite(2, 0, "x")]), expected);
}

#[test]
fn repairs_are_told_in_the_order_of_messages() {
    let json = openai(
        [result("z"), calls(["a".to_owned()].into_iter()), result("y"), result("x")]
            .into_iter()
            .chain([r#"{"role":"user","content":"\ud83d"}"#.to_owned()]),
    );
    let (told, _) = repaired(&json);
    let places: Vec<&str> = told.iter().map(|line| &line[..9]).collect();
    assert_eq!(places, ["message 1", "message 2", "message 3", "message 4", "message 5"]);
}

#[test]
fn input_that_is_too_large_is_told_so() {
    let json = br#"[{"role":"user","content":"go"}]"#.to_vec();
    let read = |most| Document::read_within(json.clone(), &ReadOptions::default(), most);
    assert!(read(json.len()).is_ok());
    let found = read(json.len() - 1).unwrap_err();
    assert_eq!(found, ReadError::TooLarge { bytes: 32, most: 31 });
    assert_eq!(
        found.to_string(),
        "the input is too large: it has 32 bytes, and at most 31 can be read; split it into files of fewer conversations"
    );
}

#[test]
fn null_says_what_an_absent_field_says() {
    let message = |call: &str| {
        format!(
            r#"[{{"role":"user","content":"go"}},{{"role":"assistant","tool_calls":[{call}]}},{{"role":"tool","tool_call_id":"c","content":"ok"}}]"#
        )
    };
    let long = "long ".repeat(60);
    let table = [
        r#"{"id":"c","function":null,"custom":{"name":"f","input":"LONG"}}"#,
        r#"{"id":"c","name":null,"function":{"name":"f","arguments":"LONG"}}"#,
        r#"{"id":"c","custom":{"name":"f","arguments":null,"input":"LONG"}}"#,
        r#"{"id":"c","function":{"name":"f","input":null,"arguments":"LONG"}}"#,
        r#"{"id":"c","function":null,"custom":null,"name":"f","arguments":null,"input":"LONG"}"#,
        r#"{"id":"c","name":null,"function":"f","arguments":"LONG"}"#,
    ];
    for call in table {
        let json = message(&call.replace("LONG", &long));
        assert_eq!(drawn(&read(&json))[1], format!("assistant call c f{long}"), "{call}");
        let written = edited(&json, vec![rewrite(1, 0, "{}")]);
        assert_eq!(written, message(&call.replace("LONG", "{}")), "{call}");
    }
}

#[test]
fn a_conversion_to_the_same_format_has_what_was_repaired() {
    let json = r#"{"messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"x","content":"r"}]}"#;
    let options = ReadOptions { repair: true, ..ReadOptions::default() };
    let document = Document::read(json, &options).unwrap();
    let written = document.write(document.conversation(), &WriteOptions::default());
    assert_eq!(document.convert(document.format()).json.as_bytes(), &*written);
    assert_eq!(&*written, br#"{"messages":[{"role":"user","content":"a"}]}"#);
}
