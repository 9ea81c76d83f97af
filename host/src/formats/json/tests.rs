//! The reader of JSON: spans, strings, places of mistakes.

use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Result<Source, Fault> {
    Source::parse(text.to_owned())
}

#[test]
fn values_know_their_place() {
    let source =
        parse("\u{feff} {\"a\\u0062\": [1, -2.5e+3, \"x\\n\\ud83d\\ude42\"], \"b\": null}\n[]")
            .unwrap();
    let roots: Vec<&str> = source.roots().map(View::raw).collect();
    assert_eq!(roots.len(), 2);
    assert_eq!(roots[1], "[]");
    let root = source.roots().next().unwrap();
    let list = root.get("ab").unwrap();
    let raw: Vec<&str> = list.items().map(View::raw).collect();
    assert_eq!(raw, ["1", "-2.5e+3", "\"x\\n\\ud83d\\ude42\""]);
    let last = list.items().nth(2).unwrap();
    assert_eq!(last.string().unwrap(), "x\n🙂");
    assert_eq!(source.pointer(last.index()), "/0/ab/2");
}

#[test]
fn values_may_stand_one_behind_the_other() {
    for (text, values) in [
        ("1 2", ["1", "2"]),
        ("1\"a\"", ["1", "\"a\""]),
        ("[]1", ["[]", "1"]),
        ("\"a\"true", ["\"a\"", "true"]),
    ] {
        let source = parse(text).unwrap();
        assert_eq!(source.roots().map(View::raw).collect::<Vec<_>>(), values, "{text}");
    }
}

#[test]
fn whole_numbers_are_read_in_every_spelling() {
    for (json, expected) in
        [("100", Some(100)), ("1e2", Some(100)), ("100.0", Some(100)), ("-1", None), ("1.5", None)]
    {
        assert_eq!(parse(json).unwrap().roots().next().unwrap().u64(), expected, "{json}");
    }
}

#[test]
fn of_repeated_keys_the_last_counts() {
    let source = parse(r#"{"a": 1, "a": 2}"#).unwrap();
    assert_eq!(source.roots().next().unwrap().get("a").unwrap().raw(), "2");
}

#[test]
fn half_a_surrogate_pair_is_no_mistake() {
    let source = parse(r#"["bad \ud83d end", "\udc00\ud83d"]"#).unwrap();
    assert_eq!(source.lone_surrogates(), [6, 20, 26]);
    let texts: Vec<String> =
        source.roots().next().unwrap().items().filter_map(View::string).collect();
    assert_eq!(texts, ["bad \u{fffd} end", "\u{fffd}\u{fffd}"]);
}

#[test]
fn mistakes_are_located() {
    let table = [
        ("{\"a\": 1,\n \"b\" 2}", "2:6 `/b` expected `:`, found 2}"),
        ("[1, 2,]", "1:7 `/1` expected a value, found ]"),
        ("[01]", "1:3 `/0` expected `,` or `]`, found 1]"),
        (
            "[\"a\tb\"]",
            "1:4 `/0` expected an escape: a control character cannot stand in a string, found  b\"]",
        ),
        ("[\"\\x\"]", "1:3 `/0` expected an escape that JSON knows, found \\x\"]"),
        ("{\"a\": [1, {\"b\": \"tex", "1:21 `/a/1/b` expected the end of a string, found "),
        ("[1, 2", "1:6 `/1` expected `,` or `]`, found "),
        ("[1]\n[1, 2\r\n\n", "2:6 `/1/1` expected `,` or `]`, found "),
        ("[\"\\n tex\n", "1:9 `/0` expected the end of a string, found "),
        (
            "[\"\\n \u{1} tex",
            "1:6 `/0` expected an escape: a control character cannot stand in a string, found   tex",
        ),
        ("[NaN]", "1:2 `` expected a value, found NaN]"),
        ("[tru", "1:5 `/0` expected a value, found "),
        ("[\"a\", \"b\\q\"]", "1:9 `/1` expected an escape that JSON knows, found \\q\"]"),
        ("[0, -x]", "1:6 `/1` expected a digit, found x]"),
        ("truefalse", "1:5 `/1` expected white space, found false"),
        ("01", "1:2 `/1` expected white space, found 1"),
        ("{\"a\":1}}", "1:8 `/1` expected a value, found }"),
    ];
    for (json, expected) in table {
        let fault = parse(json).unwrap_err();
        let Position { line, column } = fault.position;
        let found = format!(
            "{line}:{column} `{}` expected {}, found {}",
            fault.pointer, fault.expected, fault.excerpt
        );
        assert_eq!(found, expected, "{json}");
    }
}

#[test]
fn no_depth_is_too_deep() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert!(parse(&deep).is_ok());
    assert!(parse(&deep[..1_500_000]).is_err());
}

/// JSON of any shape, with white space between its tokens.
fn json() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("-1.5e3".to_owned()),
        any::<bool>().prop_map(|is_so| is_so.to_string()),
        prop::collection::vec("[a-z\\[\\]{}:,\"\\\\é ]{0,300}", 1..4)
            .prop_map(|runs| quote(&runs.concat())),
    ];
    scalar.prop_recursive(8, 64, 6, |inner| {
        let gap = prop::sample::select(&["", " ", "\n  "][..]);
        let element = (inner, gap).prop_map(|(json, gap)| format!("{gap}{json}{gap}"));
        prop_oneof![
            prop::collection::vec(element.clone(), 0..6)
                .prop_map(|elements| format!("[{}]", elements.join(","))),
            prop::collection::vec(("[a-z\"é]{0,8}", element), 0..6).prop_map(|members| {
                let member = |(key, value): &(String, String)| format!("{}:{value}", quote(key));
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(", "))
            }),
        ]
    })
}

/// Holds a value and all that is in it against what another parser makes of it.
fn is_that(view: View<'_>, value: &serde_json::Value) {
    use serde_json::Value;
    assert_eq!(serde_json::from_str::<Value>(view.raw()).as_ref().ok(), Some(value));
    // The end that the list tells is that which the bytes tell.
    assert_eq!(view.source().at(view.index()).span(), view.span());
    match value {
        Value::Array(elements) => {
            assert_eq!(view.items().count(), elements.len());
            view.items().zip(elements).for_each(|(view, value)| is_that(view, value));
        }
        Value::Object(members) => {
            for (key, value) in members {
                assert!(view.members().any(|(name, _)| name.is_text(key)), "{key}");
                is_that(view.get(key).unwrap(), value);
            }
        }
        Value::String(text) => {
            assert_eq!(view.text().as_deref(), Some(text.as_str()));
            assert!(view.is_text(text) && !view.is_text(&format!("{text}x")));
        }
        _ => assert!(view.items().next().is_none() && view.text().is_none()),
    }
}

#[test]
fn pointers_lead_no_deeper_than_anybody_follows() {
    let deep = "[1,".repeat(5_000) + r#"{"a":2}"# + &"]".repeat(5_000);
    let source = parse(&deep).unwrap();
    for sought in ["\"a\"", "2", "{"] {
        let node = deep.rfind(sought).unwrap() as u32;
        assert_eq!(Pointers::of(&source).pointer(node), source.pointer(node), "{sought}");
        assert_eq!(source.pointer(node), "/1".repeat(pointers::DEEPEST), "{sought}");
    }
}

#[test]
fn compacting_leaves_strings_alone() {
    assert_eq!(compact("{ \"a b\" : [ 1 , {} , \" x \" ] }\n"), "{\"a b\":[1,{},\" x \"]}");
    assert_eq!(compact("no json"), "no json");
}

#[test]
fn lists_keep_their_white_space() {
    let table = [
        ("[1,2, 3 ]", vec![(Some(0), "1"), (Some(2), "3")], "[1, 3 ]"),
        ("[\n  1,\n  2\n]", vec![(None, "9"), (Some(1), "2")], "[\n  9,\n  2\n]"),
        ("[\n  1\n]", vec![(Some(0), "1"), (None, "9")], "[\n  1,\n  9\n]"),
        ("[1, 2]", vec![], "[]"),
        ("[]", vec![(None, "9"), (None, "8")], "[9,8]"),
    ];
    for (json, items, expected) in table {
        let source = parse(json).unwrap();
        let list = List::of_array(source.roots().next().unwrap(), ",".to_owned());
        let items: Vec<Item<'_>> =
            items.into_iter().map(|(from, json)| Item { from, json: json.into() }).collect();
        assert_eq!(list.rebuild(&items), expected, "{json}");
    }
}

/// Pieces of strings: runs with and without escapes, shorter and longer than what is read at once.
fn string_run() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-zé🙂 ]{0,20}",
        1 => "[a-z ]{50,150}",
        8 => prop::sample::select(&["\\n", "\\\"", "\\\\", "\\u00e9", "\\u20AC", "\\ud83d\\ude42"][..])
            .prop_map(str::to_owned),
        1 => prop::sample::select(&["\\x", "\\u12g4", "\t", "\"", "\\"][..]).prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn strings_round_trip(text: String) {
        let quoted = quote(&text);
        let source = parse(&quoted).unwrap();
        prop_assert_eq!(source.roots().next().unwrap().string(), Some(text.clone()));
        prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
    }

    #[test]
    fn agrees_with_serde_on_long_strings(
        runs in prop::collection::vec(string_run(), 0..40),
        cut in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut json = format!("\"{}\"", runs.concat());
        if let Some(cut) = cut {
            let kept = cut.index(json.chars().count());
            json = json.chars().take(kept).collect();
        }
        // Half a surrogate pair, and several strings in a row, are for us alone.
        let is_for_serde =
            |ours: &Source| ours.lone_surrogates().is_empty() && ours.roots().len() == 1;
        let ours = parse(&json).ok().filter(is_for_serde);
        let read = ours.as_ref().and_then(|ours| ours.roots().next()?.string());
        let theirs = serde_json::from_str::<String>(&json).ok();
        prop_assert_eq!(&read, &theirs, "{}", json);
        // An end that was found by the parser is found again without it.
        let end = ours.as_ref().map(|ours| ours.at(0).span().end);
        prop_assert_eq!(end, theirs.map(|_| json.trim_end().len()), "{}", json);
    }

    #[test]
    fn agrees_with_serde_on_what_is_json(text in "[\\[\\]{}:,\"\\\\a1.e+ntrufals\\-0 \n]{0,24}") {
        // Of one value; several in a row are for us alone.
        let ours = parse(&text).is_ok_and(|source| source.roots().len() == 1);
        prop_assert_eq!(ours, serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{}", text);
    }

    #[test]
    fn values_are_what_serde_makes_of_them(json in json()) {
        let source = parse(&json).unwrap();
        let whole: serde_json::Value = serde_json::from_str(&json).unwrap();
        is_that(source.roots().next().unwrap(), &whole);
        let again: serde_json::Value = serde_json::from_str(&compact(&json)).unwrap();
        prop_assert_eq!(again, whole);
    }

    #[test]
    fn any_text_is_survived(text: String, cut in 0usize..400) {
        let _ = parse(&text);
        let json = r#"{"a": ["\ud83d\ude42", 1e5, {"b": [true, null]}], "c": "\u00e9"}"#;
        let _ = parse(json.get(..cut).unwrap_or(json));
    }
}

#[test]
fn many_pointers_are_those_found_one_by_one() {
    let table = [
        r#"{"a": [1, {"b/c": ["x", {}], "~": null}], "a": {"a": [[2]]}, "\u0061": 3}"#,
        "[]",
        "{\"role\": [1]}\n{\"role\": {\"x\": [1, 2]}}\n7",
    ];
    for text in table {
        let source = Source::parse(text.to_owned()).unwrap();
        let pointers = Pointers::of(&source);
        for token in source.tokens() {
            let (Token::Open(view) | Token::Key(view) | Token::Scalar(view)) = token else {
                continue;
            };
            let node = view.index();
            assert_eq!(pointers.pointer(node), source.pointer(node), "node {node} of {text}");
        }
    }
}
