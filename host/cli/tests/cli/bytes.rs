//! Bytes on the wire as a second limit.

use serde_json::json;

use super::place::Place;
use super::plugins::{copy, file_name};

/// A request with 30 screenshots of 100 KB, and few tokens.
fn pictured() -> String {
    let url = format!("data:image/png;base64,{}", "A".repeat(100 << 10));
    let mut messages = vec![json!({"role": "user", "content": "Draw a map."})];
    for step in 0..30 {
        let id = format!("c{step}");
        let function = json!({"name": "screenshot", "arguments": "{}"});
        let call = json!({"id": id, "type": "function", "function": function});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        let image = json!({"type": "image_url", "image_url": {"url": url}});
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": [image]}));
    }
    json!({"model": "gpt-4o", "messages": messages}).to_string()
}

#[test]
fn images_that_are_many_bytes_come_down_and_it_is_said_why() {
    let place = Place::with([("pictured.json", &pictured())]).with_own_file();
    std::fs::create_dir(place.path("plugins")).expect("a folder can be made");
    copy(&place, "strip_media", &format!("plugins/{}", file_name("strip_media")));
    let plugin = "[plugins]\npath = [\"plugins\"]\n[[ladder]]\nlayer = \"strip-media\"\nkinds = [\"*\"]\nresults = true\n";
    for (name, ladder) in [
        ("default", ""),
        ("window", "[[ladder]]\nlayer = \"sliding-window\"\n"),
        ("plugin", plugin),
    ] {
        place.write("brute.toml", format!("[window]\nmax-bytes = \"2MB\"\n{ladder}"));
        let line = "compact pictured.json --trust-plugins plugins --json -o smaller.json";
        let ended = place.brute(line);
        assert_eq!(ended.code, Some(0), "{name}: {}", ended.err);
        let report = ended.err_json();
        assert_eq!(report["outcome"], "fitted", "{name}: {report:#}");
        assert!(report["before"].as_u64() < report["compact-at"].as_u64(), "{name}: {report:#}");
        let bytes = &report["bytes"];
        let figure = |key: &str| bytes[key].as_u64().expect("a number");
        assert_eq!(figure("most"), 2 << 20);
        assert_eq!(figure("before"), place.read("pictured.json").len() as u64);
        assert!(figure("after") <= figure("target"), "{name}: {report:#}");
        // What was said is what was written, and no more went than had to.
        let length = place.read("smaller.json").len() as u64;
        assert!(figure("after").abs_diff(length) < length / 50, "{name}: {length} {report:#}");
        assert!(length > figure("target") * 8 / 10, "{name}: {length} {report:#}");
        // There is nothing more to do.
        let again = place.brute("explain smaller.json --trust-plugins plugins --json").out_json();
        assert_eq!(again["outcome"], "below-trigger", "{name}: {again:#}");
    }
    place.write("brute.toml", "[window]\nmax-bytes = 0\n");
    let report = place.brute("explain pictured.json --json").out_json();
    assert_eq!((&report["outcome"], &report["bytes"]), (&json!("below-trigger"), &json!(null)));
}

#[test]
fn every_verb_says_which_limit_it_is() {
    let place = Place::with([("pictured.json", &pictured())]);
    place.write("brute.toml", "[window]\nmodel = \"gpt-4o\"\nmax-bytes = \"2MB\"\n");
    let ended = place.brute("explain pictured.json");
    let explained = ended.stable(&ended.out);
    place.write("brute.toml", "[window]\nmax-bytes = \"100KB\"\n");
    let ended = place.brute("explain pictured.json");
    let stuck = ended.stable(&ended.out);
    let ended = place.brute("count pictured.json --by role");
    let counted = ended.stable(&ended.out);
    place.write("brute.toml", "[window]\nmodel = \"claude-sonnet-4-5\"\n");
    let checked = place.brute("check").out;
    let checked = checked.lines().find(|line| line.contains(" on the wire")).unwrap_or_default();
    insta::assert_snapshot!([&explained, &stuck, &counted, checked].join("---\n"), @"
    pictured.json: 61 messages, 33,430 tokens
    openai-chat (request body), counted by o200k
    window 128,000 (gpt-4o), compaction at 89,600, down to 51,200, tool schemas and
    framing take 3
    2.9 MB of 2.0 MB on the wire, compaction at 1.4 MB, down to 819.2 KB

        rung            result      before  after   saved  edits  calls time
     1  tool-results    applied     33,430  9,073  24,357     23      0 [time]
     2  sliding-window  not needed

    fitted: 9,073 tokens, 24,357 saved; 708.1 KB on the wire, 2.2 MB saved
    ---
    pictured.json: 61 messages, 33,430 tokens
    openai-chat (request body), counted by o200k
    window 128,000 (gpt-4o), compaction at 89,600, down to 51,200, tool schemas and
    framing take 3
    2.9 MB of 100.0 KB on the wire, compaction at 70.0 KB, down to 40.0 KB

        rung            result   before  after   saved  edits  calls time
     1  tool-results    applied  33,430  2,719  30,711     29      0 [time]
     2  sliding-window  applied   2,719  1,213   1,506      2      0 [time]

    not fitted: 1,213 tokens, 32,217 saved; 100.8 KB on the wire, 2.8 MB saved,
    still 60.8 KB over on the wire
    in the way:
       100.4 KB  the newest steps (messages 57 to 60): send smaller images and
                 documents, or links to them
    ---
    pictured.json: 61 messages, 33,430 tokens
    openai-chat (request body), counted by o200k for gpt-4o
    26 % of a window of 128,000
    3007 % of 100.0 KB on the wire: 2.9 MB

     role                   messages  tokens  share
     assistant                    30     180    1 %
     tool                         30  33,240   99 %
     user                          1       7    0 %
     tool schemas, framing                 3    0 %
    ---
    ok  window           200,000 tokens, compaction at 140,000, down to 80,000; 32.0 MB on the wire, compaction at 22.4 MB, down to 12.8 MB
    ");
}
