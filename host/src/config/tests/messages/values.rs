//! Messages about a value that its key does not take, whatever else the files say.

use super::*;

said!(ladder_that_is_none, "ladder = \"tool-results\"\n", @r#"
error: expected rungs for `ladder`, found a string
 --> brute.toml:1:10
  |
1 | ladder = "tool-results"
  |          ^^^^^^^^^^^^^^
  |
  = help: begin each rung with `[[ladder]]` and name its `layer`
"#);
said!(rung_that_is_none, "ladder = [\"tool-results\"]\n", @r#"
error: expected a table for a rung, found a string
 --> brute.toml:1:11
  |
1 | ladder = ["tool-results"]
  |           ^^^^^^^^^^^^^^
  |
  = help: a rung is a table such as `{ layer = "tool-results" }`
"#);
said!(layer_of_the_wrong_type, "[[ladder]]\nlayer = 3\n", @"
error: expected a string for `layer`, found a whole number
 --> brute.toml:2:9
  |
2 | layer = 3
  |         ^
  |
  = help: `layer`: the layer: which strategy plans
");
said!(wrong_types, "[window]\nsize = \"5000\"\nmodel = 4\n[keep]\ntools = [\"a\", 3]\n[truncate]\nmax-lines = 2.5\ntools = { sh = { skip = \"true\" } }\n", @r#"
error: expected a whole number of at least 1 for `size`, found a string
 --> brute.toml:2:8
  |
2 | size = "5000"
  |        ^^^^^^
  |
  = help: write it without quotes: `size = 5000`

error: expected a string for `model`, found a whole number
 --> brute.toml:3:9
  |
3 | model = 4
  |         ^
  |
  = help: `model`: the model's name

error: expected a string for `tools`, found a whole number
 --> brute.toml:5:15
  |
5 | tools = ["a", 3]
  |               ^
  |
  = help: `tools`: tools whose calls and results stay as they are

error: expected a whole number of at least 1 for `max-lines`, found a number with a fraction
 --> brute.toml:7:13
  |
7 | max-lines = 2.5
  |             ^^^
  |
  = help: `max-lines`: the most lines of a result that go on, the notice included

error: expected `true` or `false` for `skip`, found a string
 --> brute.toml:8:25
  |
8 | tools = { sh = { skip = "true" } }
  |                         ^^^^^^
  |
  = help: write it without quotes: `skip = true`
"#);
said!(section_of_the_wrong_type, "window = 5000\n", @"
error: expected a table for `window`, found a whole number
 --> brute.toml:1:10
  |
1 | window = 5000
  |          ^^^^
  |
  = help: `window`: how much the model reads at once, and how that is counted
");
said!(out_of_range, "[window]\nsize = 0\n[[ladder]]\nlayer = \"tool-results\"\nkeep-steps = 0\n", @"
error: `size` is 0, expected a whole number of at least 1
 --> brute.toml:2:8
  |
2 | size = 0
  |        ^
  |
  = help: `size`: the window in tokens, which input and reply share

error: `keep-steps` is 0, expected a whole number of at least 1
 --> brute.toml:5:14
  |
5 | keep-steps = 0
  |              ^
  |
  = help: `keep-steps`: how many of the newest steps that call tools keep their results as they are, at least 1: the model has not acted on the newest results yet
");
said!(not_one_of_the_words, "[window]\ncounter = \"o200\"\n[truncate]\nkeep = \"middle\"\n", @r#"
error: `counter` is "o200", expected `o200k`, `cl100k` or `approximate`
 --> brute.toml:2:11
  |
2 | counter = "o200"
  |           ^^^^^^
  |
  = help: did you mean `o200k`?

error: `keep` is "middle", expected `head`, `tail` or `ends`
 --> brute.toml:4:8
  |
4 | keep = "middle"
  |        ^^^^^^^^
  |
  = help: `keep`: which part is kept: `head`, `tail` or `ends`
"#);
said!(unknown_backend, "[summarizer]\nbackend = \"comand\"\ncommand = [\"x\"]\n[[ladder]]\nlayer = \"summarize\"\n", @r#"
error: `backend` is "comand", expected `openai`, `anthropic`, `command` or `extract`
 --> brute.toml:2:11
  |
2 | backend = "comand"
  |           ^^^^^^^^
  |
  = help: did you mean `command`?
"#);
said!(amounts, "[trigger]\ncompact-at = 1.5\ncompact-to = \"40\"\n[window]\nreserve = 1\n", @r#"
error: expected a fraction up to 1 (0.7), a percentage up to 100 ("70%") or a number of tokens above 1 (90_000) for `compact-at`, found `1.5`
 --> brute.toml:2:14
  |
2 | compact-at = 1.5
  |              ^^^
  |
  = help: `compact-at`: the size of a request at which a compaction starts

error: expected a fraction up to 1 (0.7), a percentage up to 100 ("70%") or a number of tokens above 1 (90_000) for `compact-to`, found "40"
 --> brute.toml:3:14
  |
3 | compact-to = "40"
  |              ^^^^
  |
  = help: `compact-to`: the size that a compaction aims for

error: expected a fraction up to 1 (0.7), a percentage up to 100 ("70%") or a number of tokens above 1 (90_000) for `reserve`, found `1`
 --> brute.toml:5:11
  |
5 | reserve = 1
  |           ^
  |
  = help: `reserve`: what stays free for the reply: an amount of the window, or tokens
"#);
said!(quantities, "[truncate]\nmax-bytes = \"50 parsecs\"\nmax-age = true\n[[ladder]]\nlayer = \"tool-results\"\ntimeout = \"soon\"\nwhen = { above = -1 }\n", @r#"
error: expected a whole number of bytes, KB, MB, GB or TB (51200, "50KB", "1MiB") for `max-bytes`, found "50 parsecs"
 --> brute.toml:2:13
  |
2 | max-bytes = "50 parsecs"
  |             ^^^^^^^^^^^^
  |
  = help: `max-bytes`: the most bytes of a result that go on, the notice included: bytes, or a size such as `"50KB"`

error: expected a whole number of seconds, minutes, hours, days or weeks (90, "90s", "36h", "7d") for `max-age`, found `true`
 --> brute.toml:3:11
  |
3 | max-age = true
  |           ^^^^
  |
  = help: `max-age`: full texts that were not saved, or saved again, for so long are removed: by `brute truncate`, once an hour, and by programs that sweep

error: expected a whole number of seconds, minutes, hours, days or weeks (90, "90s", "36h", "7d") for `timeout`, found "soon"
 --> brute.toml:6:11
  |
6 | timeout = "soon"
  |           ^^^^^^
  |
  = help: `timeout`: how long the layer may take, all its rounds together

error: expected a fraction up to 1 (0.7), a percentage up to 100 ("70%") or a number of tokens above 1 (90_000) for `above`, found `-1`
 --> brute.toml:7:18
  |
7 | when = { above = -1 }
  |                  ^^
  |
  = help: `above`: only if the request is still larger than this amount of the window, or than what `window.reserve` leaves of it
"#);
said!(limits_without_room, "[truncate]\nmax-bytes = 10\n[truncate.tools.\"a.b\"]\nmax-bytes = 11\n", @"
error: `truncate.max-bytes` is 10, which leaves no room for the notice; give at least 1024
 --> brute.toml:2:13
  |
2 | max-bytes = 10
  |             ^^

error: `truncate.tools.a.b.max-bytes` is 11, which leaves no room for the notice; give at least 1024
 --> brute.toml:4:13
  |
4 | max-bytes = 11
  |             ^^
");
said!(number_too_long, "[window]\nsize = 99999999999999999999\n", @"
error: `size` is 99999999999999999999, expected a whole number from 1 to 9223372036854775807
 --> brute.toml:2:8
  |
2 | size = 99999999999999999999
  |        ^^^^^^^^^^^^^^^^^^^^
  |
  = help: `size`: the window in tokens, which input and reply share
");
said!(not_a_number, "[models.gpt-4o]\nratio = nan\n", @"
error: `ratio` is NaN, expected a number from 0.1 to 10
 --> brute.toml:2:9
  |
2 | ratio = nan
  |         ^^^
  |
  = help: `ratio`: tokens that the model's provider counts for each token that `counter` finds in a text
");
said!(multiple_of_a_thousand, "[window]\nsize = \"128k\"\n", @r#"
error: expected a whole number of at least 1 for `size`, found a string
 --> brute.toml:2:8
  |
2 | size = "128k"
  |        ^^^^^^
  |
  = help: write it without quotes: `size = 128_000`
"#);
said!(date, "[window]\nsize = 1979-05-27\n", @"
error: expected a whole number of at least 1 for `size`, found a date or time
 --> brute.toml:2:8
  |
2 | size = 1979-05-27
  |        ^^^^^^^^^^
  |
  = help: `size`: the window in tokens, which input and reply share
");
said!(backend_out_of_range, "[summarizer]\nbackend = \"command\"\ncommand = []\n", @r#"
error: `command` names no program; write `command = ["program"]`
 --> brute.toml:3:11
  |
3 | command = []
  |           ^^
"#);
said!(model_without_window, "[models.my-model]\ncounter = \"o200k\"\n[models.gpt-4o]\nwindow = 0\nratio = 99\n", @r#"
error: `models."my-model"` needs `window`: no model that ships has this name
 --> brute.toml:1:1
  |
1 | [models.my-model]
  | ^^^^^^^^^^^^^^^^^

error: `window` is 0, expected a whole number of at least 1
 --> brute.toml:4:10
  |
4 | window = 0
  |          ^
  |
  = help: `window`: tokens that input and reply share

error: `ratio` is 99, expected a number from 0.1 to 10
 --> brute.toml:5:9
  |
5 | ratio = 99
  |         ^^
  |
  = help: `ratio`: tokens that the model's provider counts for each token that `counter` finds in a text
"#);
said!(version_of_the_wrong_type, "version = \"1\"\n", @r#"
error: expected a whole number of at least 1 for `version`, found a string
 --> brute.toml:1:11
  |
1 | version = "1"
  |           ^^^
  |
  = help: write it without quotes: `version = 1`
"#);
said!(later_version, "version = 2\nfuture = true\n", @"
error: this file needs a later brute: it has version 2, and this one reads version 1
 --> brute.toml:1:11
  |
1 | version = 2
  |           ^
");

said!(a_program_is_missing, "[summarizer]\nbackend = \"command\"\n", @"
error: `summarizer` needs `command`
 --> brute.toml:1:1
  |
1 | [summarizer]
  | ^^^^^^^^^^^^
");
said!(a_program_of_the_wrong_type, "[summarizer]\nbackend = \"command\"\ncommand = \"x\"\ntimeout = \"1ms\"\n", @r#"
error: expected a list of strings for `command`, found a string
 --> brute.toml:3:11
  |
3 | command = "x"
  |           ^^^
  |
  = help: `command`: the program and its arguments, as a list: `["llm", "--model", "…"]`

error: expected a whole number of seconds, minutes, hours, days or weeks (90, "90s", "36h", "7d") for `timeout`, found "1ms"
 --> brute.toml:4:11
  |
4 | timeout = "1ms"
  |           ^^^^^
  |
  = help: `timeout`: how long it may take before it is stopped
"#);
said!(more_than_a_rung_holds, "[[ladder]]\nlayer = \"sliding-window\"\nkeep-steps = 99999999999\n", @"
error: `keep-steps` is 99999999999, expected a whole number from 1 to 4294967295
 --> brute.toml:3:14
  |
3 | keep-steps = 99999999999
  |              ^^^^^^^^^^^
  |
  = help: `keep-steps`: how many of the newest steps stay, at least 1
");
said!(model_with_a_wrong_window, "[models.x]\nwindow = -1\n", @"
error: `window` is -1, expected a whole number of at least 1
 --> brute.toml:2:10
  |
2 | window = -1
  |          ^^
  |
  = help: `window`: tokens that input and reply share
");

/// Whoever writes a number that a key does not take is led to it, and told what the key takes.
#[test]
fn every_quantity_out_of_range_is_pointed_at_and_says_what_is_allowed() {
    const TOOL: &str = "[truncate.tools.sh]";
    const COMMAND: &str = "[summarizer]\nbackend = \"command\"\ncommand = [\"x\"]";
    const RESULTS: &str = "[[ladder]]\nlayer = \"tool-results\"";
    const STEPS: &str = "[[ladder]]\nlayer = \"sliding-window\"";
    const SUMMARIZE: &str =
        "[summarizer]\nbackend = \"extract\"\n[[ladder]]\nlayer = \"summarize\"";
    const WHOLE: &str =
        r#"-1 99999999999999999999 -99999999999999999999 1.5 inf true [] {} "x" 1979-05-27"#;
    const NUMBER: &str = r#"0 -1 99999999999999999999 nan inf true [] "x""#;
    const SIZE: &str = r#"-1 99999999999999999999 1.5 true [] "x" "1.5MB" "-1KB" "99999999999TB""#;
    const SPAN: &str =
        r#"-1 99999999999999999999 1.5 true [] "x" "1ms" "-1s" "99999999999999999w""#;
    const AMOUNT: &str = r#"-1 1 99999999999999999999 1.5 inf true [] "x" "150%" "-1%""#;
    for (head, key, more, values) in [
        ("", "version", "0", WHOLE),
        ("[window]", "size", "0", WHOLE),
        ("[window]", "reserve", "", AMOUNT),
        ("[window]", "max-bytes", "", SIZE),
        ("[trigger]", "compact-at", "0", AMOUNT),
        ("[trigger]", "compact-to", "0", AMOUNT),
        ("[truncate]", "max-lines", "0", WHOLE),
        ("[truncate]", "max-line-chars", "0", WHOLE),
        ("[truncate]", "max-bytes", "0", SIZE),
        ("[truncate]", "max-total", "", SIZE),
        ("[truncate]", "max-age", "", SPAN),
        (TOOL, "max-lines", "0", WHOLE),
        (TOOL, "max-line-chars", "0", WHOLE),
        (TOOL, "max-bytes", "0", SIZE),
        (COMMAND, "window", "0 99999999999", WHOLE),
        (COMMAND, "timeout", "0", SPAN),
        ("[models.x]", "window", "0 99999999999", WHOLE),
        ("[models.gpt-4o]", "ratio", "", NUMBER),
        (RESULTS, "keep-steps", "0 99999999999", WHOLE),
        (RESULTS, "min-tokens", "99999999999", WHOLE),
        (RESULTS, "max-tokens", "0 99999999999", WHOLE),
        (RESULTS, "clear-at-least", "99999999999", WHOLE),
        (RESULTS, "timeout", "0", SPAN),
        (RESULTS, "when.above", "", AMOUNT),
        (STEPS, "keep-steps", "0 99999999999", WHOLE),
        (SUMMARIZE, "max-tokens", "63 99999999999", WHOLE),
    ] {
        for value in more.split_whitespace().chain(values.split_whitespace()) {
            let text = format!("{head}\n{key} = {value}\n");
            let loaded = load(&project(&text), &layers());
            let [diagnostic] = &loaded.diagnostics[..] else {
                panic!("{text}{}", render(&loaded.diagnostics, false));
            };
            let said = diagnostic.to_string();
            let place = (text.lines().count(), key.len() + " = ".len() + 1);
            assert!(said.starts_with(&format!("brute.toml:{}:{}: ", place.0, place.1)), "{said}");
            let name = key.rsplit('.').next().unwrap();
            assert!(said.contains(&format!("{name}`")), "{said}");
            let allowed = ["expected ", "at least ", "above 0", "leaves "];
            assert!(allowed.iter().any(|words| said.contains(words)), "{said}");
            let too_much = value.trim_matches('"').trim_start_matches('-').starts_with("99");
            let bounds = ["at most ", "at least ", " from "];
            assert!(!too_much || bounds.iter().any(|words| said.contains(words)), "{said}");
        }
    }
}

said!(a_budget_of_nothing, "[summarizer]\nbackend = \"extract\"\n[summarizer.budget]\nmax-calls = 0\nsession-max-token = 5\n", @"
error: `max-calls` is 0, expected a whole number of at least 1
 --> brute.toml:4:13
  |
4 | max-calls = 0
  |             ^
  |
  = help: `max-calls`: the most calls of the summarizer in one compaction, at least 1

error: `[summarizer.budget]` has no key `session-max-token`
 --> brute.toml:5:1
  |
5 | session-max-token = 5
  | ^^^^^^^^^^^^^^^^^
  |
  = help: did you mean `session-max-tokens`?
");
said!(a_budget_of_a_fallback, "[summarizer]\nbackend = \"extract\"\n[[fallback]]\nbackend = \"extract\"\nbudget = { max-calls = 5 }\n", @"
error: a fallback has no budget of its own
 --> brute.toml:5:10
  |
5 | budget = { max-calls = 5 }
  |          ^^^^^^^^^^^^^^^^^
  |
  = help: put it into `[summarizer.budget]`, which is for all of them together
");
said!(a_price_that_is_none, "[models.gpt-4o]\nprice = { input = -1.0, output = 2 }\n[models.o3]\nprice = { input = 1 }\n", @"
error: `input` is -1, expected a number, 0 or more
 --> brute.toml:2:19
  |
2 | price = { input = -1.0, output = 2 }
  |                   ^^^^
  |
  = help: `input`: what a million tokens cost that are sent, in US dollars

error: `price` needs `output`
 --> brute.toml:4:9
  |
4 | price = { input = 1 }
  |         ^^^^^^^^^^^^^
");
