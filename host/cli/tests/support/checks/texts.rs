//! Texts in the output, and what the summarizer saw.

use serde_json::{Value, json};

use crate::support::run::{Request, Run, Verdict};
use crate::support::validate::violations;
use crate::support::wire::{self, role, texts};

/// All texts of what came out.
fn output(run: &Run) -> Vec<String> {
    if !run.cuts.is_empty() {
        return run.cuts.iter().map(|cut| cut.text.clone()).collect();
    }
    texts(&run.last().body).into_iter().map(str::to_owned).collect()
}

fn place(name: &str, run: &Run) -> Vec<String> {
    let of_role = |wanted: &str| -> Vec<String> {
        let messages = run.output().iter().filter(|message| role(message) == wanted);
        messages.map(wire::words).collect()
    };
    match name {
        "summariser_request" => run.requests.iter().map(Request::text).collect(),
        "system" => {
            let field = run.last().body.get("system").map(texts).unwrap_or_default();
            let field = field.into_iter().map(str::to_owned);
            field.chain(of_role("system")).collect()
        }
        "last_user" => {
            let mut users = run.output().iter().rev().filter(|message| role(message) == "user");
            users
                .find(|message| !wire::is_results_only(message))
                .map(wire::words)
                .into_iter()
                .collect()
        }
        "developer" | "user" | "assistant" | "tool" => of_role(name),
        "report" => vec![run.report()],
        _ => output(run),
    }
}

/// The texts that a check is about.
fn subject(args: &Value, run: &Run) -> Vec<String> {
    let named = ["where", "of", "in"].into_iter().find_map(|key| args[key].as_str());
    named.map_or_else(|| output(run), |name| place(name, run))
}

fn wanted(args: &Value) -> &str {
    args["text"].as_str().unwrap_or_default()
}

pub(crate) fn text_present(args: &Value, run: &Run) -> Verdict {
    let found = subject(args, run).iter().any(|text| text.contains(wanted(args)));
    Verdict::of(found, || format!("`{}` is missing", wanted(args)))
}

/// As `text_present`; of several truncated texts, each must hold it.
pub(crate) fn contains(args: &Value, run: &Run) -> Verdict {
    if run.cuts.is_empty() {
        return text_present(args, run);
    }
    let found = run.cuts.iter().all(|cut| cut.text.contains(wanted(args)));
    Verdict::of(found, || format!("`{}` is missing", wanted(args)))
}

pub(crate) fn not_contains(args: &Value, run: &Run) -> Verdict {
    let found = subject(args, run).iter().any(|text| text.contains(wanted(args)));
    Verdict::of(!found, || format!("`{}` is there", wanted(args)))
}

pub(crate) fn text_count(args: &Value, run: &Run) -> Verdict {
    let texts = subject(args, run);
    let count: usize = texts.iter().map(|text| text.matches(wanted(args)).count()).sum();
    let least = args["min"].as_u64().unwrap_or(0);
    let most = args["max"].as_u64().unwrap_or(u64::MAX);
    let exact = args["value"].as_u64().is_none_or(|value| value == count as u64);
    Verdict::of(exact && (least..=most).contains(&(count as u64)), || {
        format!("`{}` occurs {count} times", wanted(args))
    })
}

pub(crate) fn text_present_in_any(args: &Value, run: &Run) -> Verdict {
    let mut places = wire::items(&args["of"]).iter().filter_map(Value::as_str);
    let found = places.any(|name| place(name, run).iter().any(|text| text.contains(wanted(args))));
    Verdict::of(found, || format!("`{}` is nowhere", wanted(args)))
}

/// Every message of the input is kept, or was shown to the summarizer, or is told to be removed.
pub(crate) fn covered_or_kept(args: &Value, run: &Run) -> Verdict {
    let seen: Vec<String> = run.requests.iter().map(Request::text).collect();
    let out = output(run);
    let texts: Vec<String> = match wire::items(&args["texts"]) {
        [] => run.fed.iter().map(wire::words).filter(|words| !words.is_empty()).collect(),
        texts => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
    };
    let told = out.iter().any(|text| text.starts_with("[brute:"));
    Verdict::all(texts.iter().map(|text| {
        let start: String = text.chars().take(60).collect();
        let found = out.iter().chain(&seen).any(|other| other.contains(&start));
        Verdict::of(found || told, || format!("`{start}` is gone without a word"))
    }))
}

/// A request as the list of messages that a backend makes of it.
fn request_list(format: &str, instructions: &str, input: &str) -> Vec<Value> {
    match format {
        "openai_chat" => vec![
            json!({"role": "system", "content": instructions}),
            json!({"role": "user", "content": input}),
        ],
        "gemini" => vec![json!({"role": "user", "parts": [{"text": input}]})],
        "responses" => vec![json!({"type": "message", "role": "user", "content": input})],
        _ => vec![json!({"role": "user", "content": input})],
    }
}

pub(crate) fn summariser_request_valid(args: &Value, run: &Run) -> Verdict {
    let format = args["format"].as_str().unwrap_or(&run.format);
    Verdict::all(run.requests.iter().map(|request| {
        let list = request_list(format, &request.instructions, &request.input);
        let found = violations(format, &list);
        Verdict::of(found.is_empty() && !request.input.trim().is_empty(), || {
            format!("a request is not valid: {}", found.join("; "))
        })
    }))
}

/// A prompt has one input, which every backend sends as the user's.
pub(crate) fn summariser_request_last_role(args: &Value, run: &Run) -> Verdict {
    let wanted = args["role"].as_str().unwrap_or("user");
    Verdict::all(run.requests.iter().map(|request| {
        let list = request_list(&run.format, &request.instructions, &request.input);
        let last = list.last().map(role).unwrap_or_default();
        Verdict::of(last == wanted, || format!("it is `{last}`"))
    }))
}

/// JSON text with U+FFFD for each half of a surrogate pair. The grammar allows halves, and most readers
/// take them; the one at hand does not.
fn without_halves(text: &str) -> String {
    let unit = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        out.push_str(&text[at..at + found]);
        at += found;
        let length = match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str("\\ufffd");
                at += 6;
                continue;
            }
            _ => text[at + 1..].chars().next().map_or(1, |escaped| 1 + escaped.len_utf8()),
        };
        out.push_str(&text[at..at + length]);
        at += length;
    }
    out + &text[at..]
}

pub(crate) fn json_round_trip(_: &Value, run: &Run) -> Verdict {
    if !run.cuts.is_empty() {
        return Verdict::all(run.cuts.iter().map(|cut| {
            let there = serde_json::to_string(&cut.text).unwrap_or_default();
            let back: Result<String, _> = serde_json::from_str(&there);
            Verdict::of(back.is_ok_and(|back| back == cut.text), || "JSON changes the text".into())
        }));
    }
    let parsed: Result<Value, _> = serde_json::from_str(&without_halves(&run.last().text));
    Verdict::of(parsed.is_ok(), || format!("the output is no JSON: {parsed:?}"))
}
