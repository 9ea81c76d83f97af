//! Pages: what they carry, and that a browser shows it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::place::Place;

/// What a browser would run, or stop at, if it were taken for more than text.
const ODD: &str = "</script><script>document.title = 'taken over'</script><!-- & \u{2028}";

/// Steps that read one file after the other, as a request body.
fn session(steps: usize) -> String {
    let mut messages = vec![
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "user", "content": format!("Read all of it. {ODD}")}),
    ];
    for step in 0..steps {
        let id = format!("c{step}");
        let arguments = format!("{{\"path\": \"src/part{step}.rs\"}}");
        let call = json!({"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        let text = format!("part {step} {ODD} {}", "word ".repeat(300));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
    }
    json!({"model": "gpt-4o", "messages": messages}).to_string()
}

const LADDER: &str = "version = 1\n[[ladder]]\nlayer = 'tool-results'\nmin-tokens = 50\nkeep-steps = 2\n\
                      [[ladder]]\nlayer = 'sliding-window'\nkeep-steps = 3\n";

fn place() -> Place {
    Place::with([("s.json", session(30).as_str()), ("l.toml", LADDER)])
}

/// The data that a page carries.
fn data(page: &str) -> Value {
    let (_, behind) = page.split_once("id=\"data\">").expect("data");
    let (data, _) = behind.split_once("</script>").expect("its end");
    serde_json::from_str(data).expect("JSON")
}

#[test]
fn a_page_has_the_figures_of_the_table_and_each_text_once() {
    let place = place();
    let line = "orderings s.json --ladder l.toml --room 50% --html page.html";
    let ended = place.brute(line);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let page = place.read("page.html");
    let row = ended.out.lines().find(|line| line.trim_start().starts_with("* ")).expect("a row");
    let figures: Vec<&str> =
        row.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
    assert!(figures.len() > 5, "{row}");
    for figure in figures.iter().filter(|figure| figure.chars().any(|c| c.is_ascii_digit())) {
        assert!(
            page.contains(&format!(">{}<", figure.trim_start_matches("* "))),
            "{figure}: {row}"
        );
    }
    assert!(page.contains("layer = &#39;tool-results&#39;"));
    for number in 0..30 {
        assert_eq!(page.matches(&format!("part {number} \\u003c/script")).count(), 1, "{number}");
    }
    // Nothing from elsewhere, and the same again.
    assert!(!page.contains("src=") && !page.contains("href=") && !page.contains("://\""), "{page}");
    assert_eq!(place.brute(line).code, Some(0));
    assert_eq!(place.read("page.html"), page);
}

#[test]
fn a_page_tells_what_the_replay_does() {
    let place = place();
    let ended = place.brute("replay s.json --ladder l.toml --window 8k --json --html page.html");
    let runs = ended.out_json();
    let walks = &data(&place.read("page.html"))["walks"]["walks"];
    for (run, walk) in runs.as_array().expect("runs").iter().zip(walks.as_array().expect("walks")) {
        let count = |value: &Value| value.as_array().map(Vec::len);
        assert_eq!(count(&run["run"]["calls"]), count(&walk["calls"]));
        assert_eq!(count(&run["run"]["compactions"]), count(&walk["compactions"]));
        assert_eq!(run["window"], walk["window"]);
    }
    let became = &runs[1]["run"]["compactions"][0]["became"];
    assert_eq!(became[0]["fate"], "shrunk", "{became}");
    assert_eq!(became[0]["rung"], 0, "{became}");
}

/// Chromium, where there is one; else says loudly that nothing was tried.
fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("BRUTE_CHROMIUM").map(PathBuf::from);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut known = std::env::split_paths(&folders).flat_map(|folder| {
        ["chromium", "chromium-browser", "google-chrome"].map(|name| folder.join(name))
    });
    let found = named.or_else(|| known.find(|file| file.is_file()));
    if found.is_none() {
        // Past what the test runner keeps to itself.
        let words =
            "SKIPPED: no page was rendered, since no chromium is in $BRUTE_CHROMIUM or $PATH";
        let _ = writeln!(std::io::stderr(), "{words}");
    }
    found
}

/// The document after its script has run.
fn rendered(browser: &Path, place: &Place, page: &str) -> String {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,2000"])
        .args(["--virtual-time-budget=4000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", place.path("profile").display()))
        .arg(format!("file://{}", place.path(page).display()))
        .output()
        .expect("the browser runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Opens the newest message that is summarized, gone or shrunk, as a keyboard does, and goes on to the one behind it.
const READS: &str = "<script>
const cells = [...document.querySelectorAll('#strip > :not(.kept)')];
const press = (cell, key) => cell.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
press(cells.at(-1), 'Enter');
press(cells.at(-1), 'ArrowRight');
</script></body>";

#[test]
fn a_message_is_read_before_and_after_by_keyboard() {
    let Some(browser) = browser() else { return };
    let place = place();
    let ended = place.brute("explain s.json --config l.toml --window 8k --html page.html");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let page = place.read("page.html");
    let message = data(&page)["walks"]["walks"][0]["compactions"][0]["changed"]
        .as_array()
        .and_then(|changed| changed.iter().filter_map(|piece| piece[1].as_u64()).max())
        .expect("something changed");
    place.write("read.html", page.replace("</body>", READS));
    let dom = rendered(&browser, &place, "read.html");
    let (_, reading) = dom.split_once("id=\"reading-head\"").expect("the reading pane");
    assert!(
        reading.contains(&format!(">Message {message}, read: shrunk by tool-results<")),
        "{reading}"
    );
    assert!(reading.contains(">Before, ") && reading.contains(">After, "), "{reading}");
    assert!(reading.contains("&lt;/script&gt;&lt;script&gt;document.title"), "{reading}");
    // One message can be tabbed to: the one behind.
    let (strip, _) = dom.split_once("id=\"strip-help\"").expect("the strip");
    let options: Vec<&str> = strip.split("role=\"option\"").skip(1).collect();
    let tabbed: Vec<usize> =
        (0..options.len()).filter(|at| options[*at].contains("tabindex=\"0\"")).collect();
    assert_eq!(tabbed, [message as usize + 1]);
}

#[test]
fn a_browser_draws_what_the_page_carries() {
    let Some(browser) = browser() else { return };
    let place = place();
    for (line, axes) in [
        ("orderings s.json --ladder l.toml --room 50% --html page.html", 3),
        ("replay s.json --ladder l.toml --window 8k --html page.html", 2),
        ("explain s.json --config l.toml --window 8k --html page.html", 0),
    ] {
        let ended = place.brute(line);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.err);
        let page = place.read("page.html");
        let walks = data(&page)["walks"]["walks"].clone();
        let all = walks.as_array().expect("walks");
        let has_compactions = |walk: &&Value| walk["compactions"] != json!([]);
        let shown = all.iter().find(has_compactions).expect("something was compacted");
        let compactions = shown["compactions"].as_array().expect("a list");
        let dom = rendered(&browser, &place, "page.html");
        let count = |piece: &str| dom.matches(piece).count();
        // It is set where the script came to its end.
        assert!(dom.contains("data-drawn=\"whole\""), "{line}: {dom}");
        let is_drawn = shown["calls"] != json!([]);
        assert_eq!(count("class=\"mark"), if is_drawn { compactions.len() } else { 0 }, "{line}");
        assert_eq!(count("type=\"radio\""), compactions.len(), "{line}");
        assert_eq!(count("<select"), axes, "{line}");
        let last = &compactions[compactions.len() - 1];
        assert_eq!(Some(count("role=\"option\"") as u64), last["message"].as_u64(), "{line}");
        assert!(dom.contains(", shrunk, "), "{line}");
        assert!(!dom.contains("<title>taken over"), "{line}");
    }
}
