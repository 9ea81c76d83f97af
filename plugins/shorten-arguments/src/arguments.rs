//! JSON whose long texts are shortened, and of which nothing else changes.

use serde::de::IgnoredAny;

/// `json` with every text of more than `most` characters shortened to `most`; nothing if there is none, or
/// if `json` is not JSON.
///
/// The rest is copied and not written anew: numbers keep their digits, and keys, known by the colon
/// behind them, their order and their number.
pub(crate) fn shortened(json: &str, most: usize) -> Option<String> {
    if json.len() <= most || serde_json::from_str::<IgnoredAny>(json).is_err() {
        return None;
    }
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(quote) = json[at..].find('"').map(|found| at + found) {
        let end = end_of_text(json, quote);
        let is_key = json[end..].trim_start().starts_with(':');
        if !is_key && let Some(text) = shortened_text(&json[quote..end], most) {
            out.push_str(&json[copied..quote]);
            out.push_str(&text);
            copied = end;
        }
        at = end;
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&json[copied..]);
    Some(out)
}

/// Behind the closing quote of the text that opens at `quote`.
fn end_of_text(json: &str, quote: usize) -> usize {
    let inside = quote + 1;
    let mut is_escaped = false;
    for (at, byte) in json.as_bytes().iter().skip(inside).enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return inside + at + 1,
            _ => {}
        }
    }
    json.len()
}

/// The text `literal`, quotes and escapes included, in `most` characters, if it has more.
fn shortened_text(literal: &str, most: usize) -> Option<String> {
    if literal.len() <= most {
        return None;
    }
    // A half of a surrogate pair is JSON and no text.
    let text: String = serde_json::from_str(literal).ok()?;
    let chars = text.chars().count();
    if chars <= most {
        return None;
    }
    // As long as the note can get, so that one pass is enough.
    let room = most.saturating_sub(note(chars).chars().count());
    let (head, tail) = (room - room / 2, room / 2);
    let head_end = text.char_indices().nth(head).map_or(text.len(), |(at, _)| at);
    let tail_start = text.char_indices().nth(chars - tail).map_or(text.len(), |(at, _)| at);
    let note = note(chars - room);
    serde_json::to_string(&format!("{}{note}{}", &text[..head_end], &text[tail_start..])).ok()
}

fn note(chars: usize) -> String {
    format!("[... {chars} characters left out here; the call was made with all of them ...]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn long(chars: usize) -> String {
        format!("begin {} end", "é".repeat(chars - 10))
    }

    #[test]
    fn only_long_texts_change() {
        let long = long(1_000);
        let json = format!(
            r#" {{ "b":1.0, "a" : [1e2, {{"k\"ey": "{long}"}}, true,null,""], "{long}": "short \"\\", "n":12345678901234567890123 }} "#
        );
        let after = shortened(&json, 200).unwrap();
        let (head, rest) = json.split_once(&long).unwrap();
        let shown = after.strip_prefix(head).unwrap().strip_suffix(rest).unwrap();
        assert!(shown.starts_with("begin é") && shown.ends_with("é end"), "{shown}");
        assert!(
            shown.contains(" characters left out here; the call was made with all of them ...]")
        );
        assert!((190..=200).contains(&shown.chars().count()), "{}", shown.chars().count());
    }

    #[test]
    fn what_went_is_counted() {
        let after = shortened(&format!("\"{}\"", "a".repeat(5_000)), 300).unwrap();
        let kept = after.matches('a').count() - note(1).matches('a').count();
        assert!(after.contains(&format!("[... {} characters", 5_000 - kept)), "{after}");
    }

    #[test]
    fn what_stays() {
        let long = long(1_000);
        for json in [
            String::new(),
            long.clone(),
            format!("{{\"a\":\"{long}\""),
            format!("{{\"{long}\":1}}"),
            format!("{{\"{long}\"  : {{}}}}"),
            format!("[{}]", "1,".repeat(1_000).trim_end_matches(',')),
            format!("\"\\ud800{long}\""),
            // Escapes are one character each.
            format!("\"{}\"", "\\u00e9".repeat(200)),
            format!("{}{}", "[".repeat(500), "]".repeat(500)),
        ] {
            assert_eq!(shortened(&json, 200), None, "{json}");
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let text = prop_oneof!["\\PC{0,20}", "[a\\\\\"\n{}:,\u{301}é😀]{150,600}"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec(("[a-c\":]{0,9}", inner), 0..6)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    /// Whether both are the same but for long texts.
    fn is_same(before: &Value, after: &Value, most: usize) -> bool {
        match (before, after) {
            (Value::String(before), Value::String(after)) => {
                let fits = after.chars().count() <= most;
                fits && (before == after || before.chars().count() > most)
            }
            (Value::Array(before), Value::Array(after)) => {
                before.len() == after.len()
                    && before.iter().zip(after).all(|(one, two)| is_same(one, two, most))
            }
            (Value::Object(before), Value::Object(after)) => {
                before.len() == after.len()
                    && before
                        .iter()
                        .zip(after)
                        .all(|(one, two)| one.0 == two.0 && is_same(one.1, two.1, most))
            }
            _ => before == after,
        }
    }

    proptest! {
        #[test]
        fn the_shape_stays(value in json(), pretty: bool) {
            let json = if pretty {
                serde_json::to_string_pretty(&value).unwrap()
            } else {
                value.to_string()
            };
            match shortened(&json, 200) {
                None => prop_assert!(is_same(&value, &value, 200)),
                Some(after) => {
                    let value_after: Value = serde_json::from_str(&after).unwrap();
                    prop_assert!(is_same(&value, &value_after, 200), "{}", after);
                    prop_assert_ne!(&value, &value_after);
                    prop_assert_eq!(shortened(&after, 200), None);
                }
            }
        }

        #[test]
        fn any_text_is_taken(text in "[\\[\\]{}\",:\\\\a-c0-9 ]{0,300}") {
            if let Some(after) = shortened(&text, 20) {
                prop_assert!(serde_json::from_str::<Value>(&after).is_ok());
            }
        }
    }
}
