//! `brute replay` beside what a session's own agent did.

use serde_json::{Value, json};

use super::place::Place;

/// What the provider counts that the log does not hold.
const AROUND: u64 = 700;

/// What the counter finds around messages, and what it rounds up in each.
const ROUNDED: u64 = 3 + 40;

/// By `counter = "approximate"`: a quarter of the characters, and 4 for the message.
fn tokens(text: &str) -> u64 {
    text.len() as u64 / 4 + 4
}

/// A log of pi with a compaction behind the twentieth exchange, and the size of the context then by the provider.
fn log() -> (String, u64) {
    let mut lines =
        vec![json!({"type": "session", "id": "s", "cwd": "/tmp", "modelId": "no-model"})];
    let mut size = AROUND;
    let say = |lines: &mut Vec<Value>, number: usize, size: &mut u64| {
        let asked = format!("Question {number:03}. {}", "word ".repeat(97)) + "end";
        let said = format!("Answer number {number:04}. {}", "text ".repeat(20)) + "ends";
        let input = *size + tokens(&asked);
        *size = input + tokens(&said);
        let usage =
            json!({"input": input, "output": tokens(&said), "cacheRead": 0, "cacheWrite": 0});
        for message in [
            json!({"role": "user", "content": asked}),
            json!({"role": "assistant", "content": [{"type": "text", "text": said}], "usage": usage}),
        ] {
            lines.push(json!({"type": "message", "timestamp": "t", "message": message}));
        }
    };
    for number in 0..20 {
        say(&mut lines, number, &mut size);
    }
    let before = size;
    lines.push(json!({
        "type": "compaction", "timestamp": "t", "summary": "Twenty questions and their answers.",
        "firstKeptEntryIndex": 39, "tokensBefore": before,
    }));
    size = AROUND + 1_000;
    for number in 20..30 {
        say(&mut lines, number, &mut size);
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    (lines.join("\n"), before)
}

#[test]
fn what_the_log_says_was_before_a_compaction_is_found_again() {
    let (log, before) = log();
    let config = "[window]\ncounter = \"approximate\"\nsize = 4_000\n";
    let place = Place::with([("log.jsonl", &log), ("brute.toml", config)]);
    let ended = place.brute("replay log.jsonl --json");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let runs = ended.out_json();
    let ladders: Vec<&str> =
        runs.as_array().expect("runs").iter().filter_map(|run| run["ladder"].as_str()).collect();
    assert_eq!(ladders, ["no compaction", "its own agent", "the configuration"]);
    let [nothing, own] = [&runs[0], &runs[1]];
    assert_eq!(nothing["own-compactions"], Value::Null);

    // By the counter what stands around the messages is missing, but for the framing that is known; by the reports
    // nothing is.
    let reproduced = &own["reproduced"][0];
    assert_eq!(
        (reproduced["log"].as_u64(), reproduced["anchored"].as_u64()),
        (Some(before), Some(before))
    );
    let counted = reproduced["counted"].as_u64().expect("a size");
    assert!((AROUND - ROUNDED..=AROUND).contains(&(before - counted)), "{counted} of {before}");

    let calls = |run: &Value| run["run"]["calls"].as_array().expect("calls").clone();
    let (own_calls, calls) = (calls(own), calls(nothing));
    assert_eq!((own_calls.len(), own_calls[..20] == calls[..20]), (30, true));
    assert!(own_calls[20]["size"].as_u64() < calls[20]["size"].as_u64());
    assert_eq!(own["totals"]["compactions"], 1);
    assert!(own["totals"]["sent"].as_u64() < nothing["totals"]["sent"].as_u64());

    let ended = place.brute("replay log.jsonl --html page.html");
    let page = place.read("page.html");
    let (_, data) = page.split_once("id=\"data\">").expect("data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let walks = serde_json::from_str::<Value>(data).expect("JSON")["walks"].clone();
    let walk =
        walks["walks"].as_array().and_then(|walks| walks.iter().find(|walk| walk["own"] == true));
    let walk = walk.expect("what its own agent did");
    assert_eq!((&walk["due"], &walk["target"]), (&Value::Null, &Value::Null));
    let step = &walk["compactions"][0];
    // Forty messages, of which the summary stands for all but the newest two.
    assert_eq!(step["changed"], json!([[0, 37, 3, null, 0]]), "{step}");
    let summary = walks["texts"][0]["text"].as_str().expect("a text");
    assert!(summary.contains("Twenty questions and their answers."), "{summary}");
    assert!(!step["words"].as_str().expect("words").contains("target"), "{step}");
    for words in ["its own agent", "by its reports", "+0.0 %"] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
}

#[test]
fn anchored_replays_measure_as_the_provider_did() {
    let (log, _) = log();
    let config = "[window]\ncounter = \"approximate\"\nsize = 4_000\n";
    let place = Place::with([("log.jsonl", &log), ("brute.toml", config)]);
    let sizes = |line: &str| -> Vec<u64> {
        let runs = place.brute(line).out_json();
        let calls = runs[1]["run"]["calls"].as_array().expect("calls").clone();
        calls.iter().filter_map(|call| call["size"].as_u64()).collect()
    };
    let (counted, anchored) =
        (sizes("replay log.jsonl --json"), sizes("replay log.jsonl --json --anchored"));
    // The first request was not reported on yet; the others are those that the provider saw.
    assert_eq!(counted[0], anchored[0]);
    for (counted, anchored) in counted.iter().zip(&anchored).skip(1).take(19) {
        let off = anchored - counted;
        assert!((AROUND - ROUNDED..=AROUND).contains(&off), "{counted} {anchored}");
    }
}
