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
error: `backend` is "comand", expected `command` or `extract`
 --> brute.toml:2:11
  |
2 | backend = "comand"
  |           ^^^^^^^^
  |
  = help: did you mean `command`?
"#);
said!(amounts, "[trigger]\ncompact-at = 1.5\ncompact-to = \"40\"\n[window]\nreserve = 1\n", @r#"
error: expected a fraction (0.7), a percentage ("70%") or a number of tokens above 1 (90_000) for `compact-at`, found `1.5`
 --> brute.toml:2:14
  |
2 | compact-at = 1.5
  |              ^^^

error: expected a fraction (0.7), a percentage ("70%") or a number of tokens above 1 (90_000) for `compact-to`, found "40"
 --> brute.toml:3:14
  |
3 | compact-to = "40"
  |              ^^^^

error: expected a fraction (0.7), a percentage ("70%") or a number of tokens above 1 (90_000) for `reserve`, found `1`
 --> brute.toml:5:11
  |
5 | reserve = 1
  |           ^
"#);
said!(quantities, "[truncate]\nmax-bytes = \"50 parsecs\"\nmax-age = true\n[[ladder]]\nlayer = \"tool-results\"\ntimeout = \"soon\"\nwhen = { above = -1 }\n", @r#"
error: expected a size such as 51200, "50KB" or "1MiB" for `max-bytes`, found "50 parsecs"
 --> brute.toml:2:13
  |
2 | max-bytes = "50 parsecs"
  |             ^^^^^^^^^^^^

error: expected a duration such as 90, "90s", "36h" or "7d" for `max-age`, found `true`
 --> brute.toml:3:11
  |
3 | max-age = true
  |           ^^^^

error: expected a duration such as 90, "90s", "36h" or "7d" for `timeout`, found "soon"
 --> brute.toml:6:11
  |
6 | timeout = "soon"
  |           ^^^^^^

error: expected a fraction (0.7), a percentage ("70%") or a number of tokens above 1 (90_000) for `above`, found `-1`
 --> brute.toml:7:18
  |
7 | when = { above = -1 }
  |                  ^^
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
error: the number is too large
 --> brute.toml:2:8
  |
2 | size = 99999999999999999999
  |        ^^^^^^^^^^^^^^^^^^^^
");
said!(not_a_number, "[models.gpt-4o]\nratio = nan\n", @"
error: `ratio` is NaN, expected a number
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

error: `models."gpt-4o".ratio` is 99; it lies between 0.1 and 10
 --> brute.toml:5:9
  |
5 | ratio = 99
  |         ^^
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
