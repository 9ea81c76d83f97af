//! The generator nodes of the case files: short forms of long texts and lists.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::python;

/// Values for `$NAME` counts.
pub(crate) type Variables = BTreeMap<String, u64>;

/// `value` with every generator node replaced by what it generates.
///
/// Raw bytes stay in hexadecimal, as `{"bytes_hex": "…"}`: see [`bytes_of`].
pub(crate) fn expand(value: &Value, variables: &Variables) -> Value {
    match value {
        Value::Array(items) => Value::Array(expand_list(items, variables)),
        Value::Object(node) => expand_node(node, variables),
        other => other.clone(),
    }
}

fn expand_list(items: &[Value], variables: &Variables) -> Vec<Value> {
    let mut out = Vec::new();
    for item in items {
        let Some(node) = item.get("$loop") else {
            out.push(expand(item, variables));
            continue;
        };
        let start = node["start"].as_i64().unwrap_or(1);
        let count = node["n"].as_i64().unwrap_or(0);
        let name = node["as"].as_str().unwrap_or("i");
        let body = node["body"].as_array().map_or(&[][..], Vec::as_slice);
        for number in start..start + count {
            let body: Vec<Value> = body.iter().map(|item| substitute(item, name, number)).collect();
            out.extend(expand_list(&body, variables));
        }
    }
    out
}

fn expand_node(node: &Map<String, Value>, variables: &Variables) -> Value {
    let count = |key: &str| number(node.get(key), variables);
    if let Some(unit) = node.get("$repeat") {
        return repeated(expand(unit, variables), count("n"));
    }
    if let Some(template) = node.get("$lines") {
        return Value::String(lines(node, template, count("n"), variables));
    }
    if let Some(parts) = node.get("$concat").and_then(Value::as_array) {
        let parts = parts.iter().map(|part| text(expand(part, variables)));
        return Value::String(parts.collect());
    }
    if let Some(value) = node.get("$json_string") {
        return Value::String(python::json(&expand(value, variables)));
    }
    if let Some(size) = node.get("$base64") {
        let seed = node.get("seed").and_then(Value::as_u64).unwrap_or(1);
        let size = size.as_u64().unwrap_or(0) as usize;
        return Value::String(python::base64(&python::Random::new(seed).bytes(size)));
    }
    if let Some(hex) = node.get("$bytes_hex").and_then(Value::as_str) {
        let times = node.get("n").map_or(1, |n| number(Some(n), variables));
        return serde_json::json!({ "bytes_hex": hex.repeat(times) });
    }
    Value::Object(node.iter().map(|(key, value)| (key.clone(), expand(value, variables))).collect())
}

fn lines(
    node: &Map<String, Value>,
    template: &Value,
    count: usize,
    variables: &Variables,
) -> String {
    let eol = node.get("eol").and_then(Value::as_str).unwrap_or("\n");
    let start = node.get("start").and_then(Value::as_i64).unwrap_or(1);
    let line = |number| text(expand(&substitute(template, "i", number), variables));
    let mut out = match template {
        // Without a number in it, every line is the same: make it once.
        Value::Object(_) => {
            let one = line(start);
            if one == line(start + 1) {
                vec![one; count]
            } else {
                (start..start + count as i64).map(line).collect()
            }
        }
        _ => (start..start + count as i64).map(line).collect::<Vec<_>>(),
    }
    .join(eol);
    if node.get("trailing_eol").and_then(Value::as_bool).unwrap_or(true) {
        out.push_str(eol);
    }
    out
}

fn repeated(unit: Value, times: usize) -> Value {
    match unit {
        Value::Array(items) => Value::Array(vec![items; times].concat()),
        unit => Value::String(text(unit).repeat(times)),
    }
}

/// A count that is written out, or the `$NAME` of a variable.
fn number(value: Option<&Value>, variables: &Variables) -> usize {
    match value {
        Some(Value::String(name)) => {
            let name = name.get(1..).unwrap_or_default();
            variables.get(name).copied().unwrap_or(0) as usize
        }
        Some(value) => value.as_u64().unwrap_or(0) as usize,
        None => 0,
    }
}

fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Puts `number` for `{name}` and, padded, for `{name:04}`; other braces stay.
fn substitute(value: &Value, name: &str, number: i64) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text, name, number)),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| substitute(item, name, number)).collect())
        }
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, item)| (fill(key, name, number), substitute(item, name, number)))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn fill(text: &str, name: &str, number: i64) -> String {
    let text = text.replace(&format!("{{{name}}}"), &number.to_string());
    let open = format!("{{{name}:0");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(&open) {
        let (before, behind) = rest.split_at(at);
        out.push_str(before);
        let figures = &behind[open.len()..];
        let digits = figures.bytes().take_while(u8::is_ascii_digit).count();
        rest = match figures[..digits].parse::<usize>() {
            Ok(width) if figures[digits..].starts_with('}') => {
                out.push_str(&format!("{number:0width$}"));
                &figures[digits + 1..]
            }
            _ => {
                out.push_str(&open);
                figures
            }
        };
    }
    out + rest
}

/// The bytes of a generated text, which may be raw ones.
pub(crate) fn bytes_of(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        Value::Object(node) => {
            let hex = node.get("bytes_hex").and_then(Value::as_str).unwrap_or_default();
            let digit = |at: usize| u8::from_str_radix(hex.get(at..at + 2).unwrap_or("0"), 16);
            (0..hex.len() / 2).map(|index| digit(2 * index).unwrap_or(0)).collect()
        }
        other => other.to_string().into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_node_generates_what_its_name_says() {
        let table = [
            (json!({"$repeat": "ab", "n": 3}), json!("ababab")),
            (json!({"$repeat": "a", "n": "$K"}), json!("aaaa")),
            (json!({"$lines": "r{i:03}", "n": 2}), json!("r001\nr002\n")),
            (
                json!({"$lines": "{i} {k}", "n": 2, "eol": "\r\n", "trailing_eol": false, "start": 9}),
                json!("9 {k}\r\n10 {k}"),
            ),
            (json!({"$lines": {"$repeat": "x", "n": 2}, "n": 2}), json!("xx\nxx\n")),
            (json!({"$lines": {"$concat": ["x", "{i}"]}, "n": 2}), json!("x1\nx2\n")),
            (json!({"$concat": ["a", {"$repeat": "b", "n": 2}]}), json!("abb")),
            (json!({"$json_string": {"a": [1, "ä\n"]}}), json!("{\"a\": [1, \"ä\\n\"]}")),
            (
                json!([{"$loop": {"n": 2, "as": "k", "body": [{"id": "c{k}"}, "{k:02}"]}}, 7]),
                json!([{"id": "c1"}, "01", {"id": "c2"}, "02", 7]),
            ),
        ];
        let variables = Variables::from([("K".to_owned(), 4)]);
        for (node, generated) in table {
            assert_eq!(expand(&node, &variables), generated, "{node}");
        }
        let raw = expand(&json!({"$bytes_hex": "ff00", "n": 2}), &variables);
        assert_eq!(bytes_of(&raw), [255, 0, 255, 0]);
    }
}
