//! `brute advise`.

use serde_json::Value;

use super::place::Place;

fn sample() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sessions");
    format!("'{folder}/anthropic-complete-locales.json'")
}

/// A search that takes a moment.
fn line() -> String {
    format!("advise {} --room 12k --compact-at 0.7,0.8 --compact-to 0.4", sample())
}

#[test]
fn what_is_advised_can_be_used_and_says_why() {
    let place = Place::new();
    let ended = place.brute(&format!("{} --out brute.toml", line()));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("wrote brute.toml; how sure: "), "{}", ended.err);
    let toml = place.read("brute.toml");
    for words in
        ["The grid: 6 orders of", "How sure: ", "compact-at 0.7, 0.8", "instead: ", "# Asked in"]
    {
        assert!(toml.contains(words), "{words}: {toml}");
    }
    // A single session says nothing about others.
    assert!(toml.contains("too few sessions") || toml.contains("nothing that was tried"), "{toml}");
    let checked = place.brute("check --deny-warnings");
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    // Every setting has its reason above it.
    let lines: Vec<&str> = toml.lines().collect();
    for key in ["compact-at =", "compact-to =", "[[ladder]]"] {
        let at = lines.iter().position(|line| line.starts_with(key)).expect(key);
        assert!(lines[at - 1].starts_with("# "), "{key}: {toml}");
    }
    // What is advised is what it was measured to be: in force, it is replayed to the same figures.
    let again = place.brute(&format!("{} --json", line())).out_json();
    let found = Place::new().brute(&format!("{} --json", line())).out_json();
    let figures = |row: &Value| ["recall", "cost"].map(|key| row[key].as_f64().expect(key));
    assert_eq!(figures(&again["in-force"]), figures(&found["proposed"]));
    assert_eq!(again["sureness"], "no-better");
}

#[test]
fn the_same_is_advised_each_time_and_a_file_is_only_overwritten_where_that_is_said() {
    let place = Place::new();
    let [once, again] = [(); 2].map(|()| place.brute(&line()).out);
    assert_eq!(once, again);
    let found = place.brute(&format!("{} --json --exhaustive", line())).out_json();
    let grid = found["grid"].as_array().expect("a grid");
    let sizes = grid.iter().map(|axis| axis["values"].as_array().map_or(0, Vec::len));
    let all: usize = sizes.product::<usize>() * 6;
    assert_eq!(found["ladders"].as_array().map(Vec::len), Some(all));
    assert_eq!(found["replays"].as_u64(), Some(all as u64));

    place.write("mine.toml", "# mine");
    let ended = place.brute(&format!("{} --out mine.toml", line()));
    assert_eq!((ended.code, place.read("mine.toml").as_str()), (Some(2), "# mine"));
    assert!(ended.err.contains("`--force` overwrites it"), "{}", ended.err);
    let ended = place.brute(&format!("{} --out mine.toml --force -q --html page.html", line()));
    assert_eq!((ended.code, place.read("mine.toml") == once), (Some(0), true));
    let page = place.read("page.html");
    assert!(
        page.contains("in force: tool-results › sliding-window › summarize; 0.7, 0.4"),
        "{page}"
    );
}

#[test]
fn what_cannot_be_searched_is_said() {
    let place = Place::new();
    for (line, code, words) in [
        ("advise", 3, "no session to replay"),
        ("advise missing.json", 3, "missing.json"),
        ("advise a.json --compact-at 1.5", 2, "a share of the window"),
        ("advise a.json --point 0", 2, "a percentage above 0"),
        ("advise a.json --ladder missing.toml", 2, "missing.toml"),
        ("advise a.json --force", 2, "--out"),
    ] {
        let ended = place.brute(line);
        assert_eq!(
            (ended.code, ended.err.contains(words)),
            (Some(code), true),
            "{line}: {}",
            ended.err
        );
    }
}
