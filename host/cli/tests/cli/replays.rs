//! `brute replay` and `brute orderings`.

use serde_json::Value;

use super::place::Place;
use super::plugins::{copy, file_name};

const LADDER: &str = r#"
[window]
model = "gpt-4o"
reserve = 0.1

[trigger]
compact-at = 0.8
compact-to = 0.4

[[ladder]]
layer = "tool-results"

[[ladder]]
layer = "sliding-window"

[[ladder]]
layer = "summarize"
"#;

const SAMPLE: &str = "anthropic-complete-locales.json";

fn place() -> Place {
    Place::with([("ladder.toml", LADDER)])
}

fn sample() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sessions");
    format!("'{folder}/{SAMPLE}'")
}

fn figure(of: &Value, key: &str) -> u64 {
    of[key].as_u64().expect(key)
}

fn list<'v>(of: &'v Value, key: &str) -> &'v [Value] {
    of[key].as_array().expect(key)
}

#[test]
fn a_replay_tells_what_a_ladder_does_beside_doing_nothing() {
    let (place, session) = (place(), sample());
    let line = format!("replay {session} --ladder ladder.toml --window 20k");
    let ended = place.brute(&line);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let runs = place.brute(&format!("{line} --json")).out_json();
    let [nothing, ladder] = [&runs[0]["totals"], &runs[1]["totals"]];
    assert_eq!((figure(nothing, "compactions"), figure(ladder, "over-window")), (0, 0));
    assert!(figure(nothing, "over-window") > 0 && figure(ladder, "peak") <= 18_000);
    // The sums are those of the calls and the compactions, and the table says the same.
    let calls = list(&runs[1]["run"], "calls");
    let sum = |key: &str| calls.iter().map(|call| figure(call, key)).sum::<u64>();
    assert_eq!(figure(ladder, "calls"), calls.len() as u64);
    assert_eq!((figure(ladder, "sent"), figure(ladder, "cached")), (sum("size"), sum("cached")));
    let compactions = list(&runs[1]["run"], "compactions").len() as u64;
    assert_eq!(figure(ladder, "compactions"), compactions);
    let digits: String = ended.out.chars().filter(|c| *c != ',').collect();
    for key in ["sent", "peak", "compactions"] {
        assert!(digits.contains(&figure(ladder, key).to_string()), "{key}: {}", ended.out);
    }
}

#[test]
fn orderings_are_the_same_each_time_and_say_which_is_unbeaten() {
    let (place, session) = (place(), sample());
    let line = format!("orderings {session} --ladder ladder.toml --json --room 30%,12k");
    let ended = place.brute(&line);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert_eq!(ended.out, place.brute(&line).out, "same seed, same bytes");
    let found = ended.out_json();
    let rows = list(&found, "orders");
    let orders: usize = rows.iter().map(|row| 1 + list(row, "same").len()).sum();
    assert_eq!((orders, list(&found, "trials").len()), (6, 2));
    assert_eq!(found["is-complete"], true);
    // The unbeaten stand first, and whoever has better recall costs more: in dollars, since the model has a price.
    let unbeaten: Vec<[f64; 2]> = (rows.iter().take_while(|row| row["unbeaten"] == true))
        .map(|row| ["recall", "dollars"].map(|key| row[key].as_f64().expect(key)))
        .collect();
    assert!(!unbeaten.is_empty());
    for pair in unbeaten.windows(2) {
        assert!(pair[0][0] > pair[1][0] && pair[0][1] > pair[1][1], "{unbeaten:?}");
    }
    assert_eq!(list(&found, "commute").len(), 3);
}

#[test]
fn order_laws_that_do_not_hold_fail_the_command() {
    let (place, session) = (place(), sample());
    let check = |laws: &str| {
        place.write("laws.toml", laws);
        let line = format!("orderings {session} --ladder ladder.toml --room 30%");
        place.brute(&format!("{line} --check laws.toml"))
    };
    let above = |first: &str, then: &str| {
        format!("[[above]]\nfirst = '{first}'\nthen = '{then}'\nnever-more = 'summarizer-input'\n")
    };
    let ended = check(&above("tool-results", "summarize"));
    assert_eq!(ended.code, Some(0), "{}{}", ended.out, ended.err);
    let ended = check(&above("summarize", "tool-results"));
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("does not hold: `summarize` above"), "{}", ended.out);
    for (laws, words) in [
        ("[[commute]]\nrungs = ['tool-results', 'typo']", "`typo`, which is no rung"),
        ("[[commute]]\nrungs = ['tool-results']", "laws.toml"),
        ("[[orders]]", "laws.toml"),
    ] {
        let ended = check(laws);
        assert_eq!((ended.code, ended.err.contains(words)), (Some(2), true), "{}", ended.err);
    }
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let (place, session) = (place(), sample());
    std::fs::create_dir(place.path("empty")).expect("a folder can be made");
    for (line, code, words) in [
        ("replay", 3, "no session to replay"),
        ("orderings empty --ladder ladder.toml", 3, "no session to replay"),
        ("orderings missing.json --ladder ladder.toml", 3, "missing.json"),
        ("orderings SESSION --ladder missing.toml", 2, "missing.toml"),
        ("orderings SESSION --ladder ladder.toml --room 0%", 2, "up to 100%"),
        ("orderings SESSION --ladder ladder.toml --check no.toml", 3, "no.toml"),
    ] {
        let ended = place.brute(&line.replace("SESSION", &session));
        assert_eq!(
            (ended.code, ended.err.contains(words)),
            (Some(code), true),
            "{line}: {}",
            ended.err
        );
    }
}

#[test]
fn a_layer_that_breaks_a_law_in_one_order_alone_is_found() {
    let (place, session) = (place(), sample());
    copy(&place, "faulty", &file_name("faulty"));
    let ladder = r#"
[plugins]
path = ["."]

[window]
reserve = 0.1

[trigger]
compact-at = 0.8
compact-to = 0.05

[[ladder]]
layer = "faulty"
act = "protected-below-others"

[[ladder]]
layer = "tool-results"
"#;
    place.write("faulty.toml", ladder);
    let line = format!("orderings {session} --ladder faulty.toml --room 12k");
    let ended = place.brute(&format!("{line} --trust-plugins . --json"));
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    let found = ended.out_json();
    let runs = list(&list(&found, "trials")[0], "runs");
    // The first compaction that has something to give; its placeholders meet both orders after that.
    let first_broken =
        |run: &Value| list(run, "compactions")[1]["violations"].as_array().map_or(0, Vec::len);
    let broken: Vec<usize> = runs.iter().map(first_broken).collect();
    assert_eq!(broken, [0, 1], "faulty first, and faulty below");
    // The smallest conversation has little more than one step with placeholders.
    assert!(ended.err.contains("no layer fails: rung `faulty`"), "{}", ended.err);
    let shown = ended.err.lines().filter(|line| line.starts_with("    ")).count();
    assert!((2..=7).contains(&shown), "{}", ended.err);
}
