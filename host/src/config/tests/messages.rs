//! Every message, as it is shown.
//!
//! Size: one snapshot a message, and a message is read best beside its cause.

use super::*;

macro_rules! said {
    ($name:ident, $text:expr, @$snapshot:literal) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(said($text), @$snapshot);
        }
    };
}

said!(unknown_option, "[[ladder]]\nlayer = \"sliding-window\"\nkeep_step = 3\n", @"
error: `sliding-window` has no option `keep_step`
 --> brute.toml:3:1
  |
3 | keep_step = 3
  | ^^^^^^^^^
  |
  = help: did you mean `keep-steps`?
");
said!(unknown_option_unlike_any, "[[ladder]]\nlayer = \"sliding-window\"\nbanana = 3\n", @"
error: `sliding-window` has no option `banana`
 --> brute.toml:3:1
  |
3 | banana = 3
  | ^^^^^^
  |
  = help: known options: `layer`, `name`, `when`, `on-error`, `timeout`, `keep-steps`
");
said!(unknown_key_in_a_section, "[window]\nsiez = 5000\nbanana = 1\n", @"
error: `[window]` has no key `siez`
 --> brute.toml:2:1
  |
2 | siez = 5000
  | ^^^^
  |
  = help: did you mean `size`?

error: `[window]` has no key `banana`
 --> brute.toml:3:1
  |
3 | banana = 1
  | ^^^^^^
  |
  = help: known keys: `model`, `size`, `counter`, `reserve`
");
said!(unknown_section, "[compaction]\ncompact-at = 0.7\n\n[windw]\nsize = 1\n", @"
error: there is no section `[compaction]`
 --> brute.toml:1:2
  |
1 | [compaction]
  |  ^^^^^^^^^^
  |
  = help: known sections: `window`, `trigger`, `truncate`, `keep`, `plugins`, `summarizer`, `models`, `ladder`

error: there is no section `[windw]`
 --> brute.toml:4:2
  |
4 | [windw]
  |  ^^^^^
  |
  = help: did you mean `window`?
");
said!(a_section_is_slipped, "[plugin]\npath = [\"plugins\"]\n", @"
error: there is no section `[plugin]`
 --> brute.toml:1:2
  |
1 | [plugin]
  |  ^^^^^^
  |
  = help: did you mean `plugins`?
");
said!(key_of_a_section_at_the_top, "compact_at = 0.7\nKEEP-STEPS = 3\ntimeout = 3\n", @"
error: there is no key `compact_at` at the top of the file
 --> brute.toml:1:1
  |
1 | compact_at = 0.7
  | ^^^^^^^^^^
  |
  = help: `compact-at` belongs to the section `[trigger]`

error: there is no key `KEEP-STEPS` at the top of the file
 --> brute.toml:2:1
  |
2 | KEEP-STEPS = 3
  | ^^^^^^^^^^
  |
  = help: `keep-steps` is an option of the layer `tool-results`, `sliding-window` or `summarize`, below `[[ladder]]`

error: there is no key `timeout` at the top of the file
 --> brute.toml:3:1
  |
3 | timeout = 3
  | ^^^^^^^
  |
  = help: `timeout` belongs to the section `[summarizer]`
");
said!(unknown_layer, "[[ladder]]\nlayer = \"sliding_windows\"\nkeep-steps = 2\non-eror = 1\n\n[[ladder]]\nlayer = \"banana\"\n", @r#"
error: there is no layer `sliding_windows`
 --> brute.toml:2:9
  |
2 | layer = "sliding_windows"
  |         ^^^^^^^^^^^^^^^^^
  |
  = help: did you mean `sliding-window`?

error: there is no layer `banana`
 --> brute.toml:7:9
  |
7 | layer = "banana"
  |         ^^^^^^^^
  |
  = help: known layers: `tool-results`, `sliding-window`, `summarize`
"#);
said!(rung_without_layer, "[[ladder]]\nkeep-steps = 2\n", @r#"
error: a rung names no layer
 --> brute.toml:1:1
  |
1 | [[ladder]]
  | ^^^^^^^^^^
  |
  = help: name one with `layer = "…"`: `tool-results`, `sliding-window` or `summarize`
"#);
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
said!(order_of_two_shares, "[trigger]\ncompact-at = 0.5\ncompact-to = 0.6\n", @"
error: `compact-to` (0.6) must be below `compact-at` (0.5)
 --> brute.toml:3:14
  |
3 | compact-to = 0.6
  |              ^^^
  |
  = help: a compaction starts at `compact-at` and aims for `compact-to`: 0 < `compact-to` < `compact-at` ≤ 1
");
said!(order_against_a_default, "[trigger]\ncompact-at = 0.3\n", @"
error: `compact-to` (0.4, the default) must be below `compact-at` (0.3)
 --> brute.toml:2:14
  |
2 | compact-at = 0.3
  |              ^^^
  |
  = help: a compaction starts at `compact-at` and aims for `compact-to`: 0 < `compact-to` < `compact-at` ≤ 1
");
said!(order_of_mixed_units, "[window]\nsize = 100_000\n[trigger]\ncompact-at = 0.7\ncompact-to = 90_000\n", @"
error: `compact-to` (90000 tokens) must be below `compact-at` (0.7 of 100000 is 70000)
 --> brute.toml:5:14
  |
5 | compact-to = 90_000
  |              ^^^^^^
  |
  = help: a compaction starts at `compact-at` and aims for `compact-to`: 0 < `compact-to` < `compact-at` ≤ 1
");
said!(compact_at_above_the_window, "[window]\nsize = 8_000\n[trigger]\ncompact-at = 90_000\n", @"
error: `compact-at` is 90000, which is more than the window of 8000 tokens
 --> brute.toml:4:14
  |
4 | compact-at = 90_000
  |              ^^^^^^
  |
  = help: a compaction starts at `compact-at` and aims for `compact-to`: 0 < `compact-to` < `compact-at` ≤ 1
");
said!(compact_to_of_nothing, "[trigger]\ncompact-to = 0\n", @"
error: `compact-to` is 0, and has to be above 0
 --> brute.toml:2:14
  |
2 | compact-to = 0
  |              ^
  |
  = help: a compaction starts at `compact-at` and aims for `compact-to`: 0 < `compact-to` < `compact-at` ≤ 1
");
said!(reserve_of_everything, "[window]\nsize = 8_000\nreserve = 8_192\n", @"
error: `reserve` (8192) leaves nothing of a window of 8000 tokens
 --> brute.toml:3:11
  |
3 | reserve = 8_192
  |           ^^^^^
  |
  = help: it is what stays free for the reply: give less, such as `0.1`
");
said!(full_texts_out_of_reach, "[truncate]\nreadable = [\"/project\"]\nspill = \"/out\"\n", @r#"
warning: the model cannot read full texts: `/out` lies outside of the folders in `readable`
 --> brute.toml:3:9
  |
3 | spill = "/out"
  |         ^^^^^^
  |
  = help: set `spill` to a folder below one of them; as it is, notices name no path
"#);
said!(full_texts_shown_out_of_reach, "[truncate]\nreadable = [\"/project\"]\nshown-spill = \"/out\"\n", @r#"
warning: the model cannot read full texts: `/out` lies outside of the folders in `readable`
 --> brute.toml:3:15
  |
3 | shown-spill = "/out"
  |               ^^^^^^
  |
  = help: set `shown-spill` to a folder below one of them; as it is, notices name no path
"#);
said!(full_texts_within_reach, "[truncate]\nreadable = [\".\", \"/project\"]\nspill = \"out\"\n", @"");
said!(two_rungs_of_one_name, "[[ladder]]\nlayer = \"tool-results\"\n[[ladder]]\nlayer = \"tool-results\"\n[[ladder]]\nlayer = \"sliding-window\"\nname = \"tool-results\"\n", @r#"
error: two rungs are called `tool-results`
 --> brute.toml:4:9
  |
4 | layer = "tool-results"
  |         ^^^^^^^^^^^^^^
  |
  = help: give one of them another `name`, so that reports can tell them apart
"#);
said!(summarize_without_summarizer, "[[ladder]]\nlayer = \"summarize\"\n", @r#"
error: `summarize` needs a summarizer, and none is configured
 --> brute.toml:2:9
  |
2 | layer = "summarize"
  |         ^^^^^^^^^^^
  |
  = help: add a section `[summarizer]`, or take the rung out
"#);
said!(unknown_model, "[window]\nmodel = \"gtp-4o\"\n", @r#"
error: no window is known for the model `gtp-4o`
 --> brute.toml:2:9
  |
2 | model = "gtp-4o"
  |         ^^^^^^^^
  |
  = help: did you mean `gpt-4o`? If not, say its window in `size`
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
said!(unknown_backend, "[summarizer]\nbackend = \"comand\"\ncommand = [\"x\"]\n[[ladder]]\nlayer = \"summarize\"\n", @r#"
error: `backend` is "comand", expected `command` or `extract`
 --> brute.toml:2:11
  |
2 | backend = "comand"
  |           ^^^^^^^^
  |
  = help: did you mean `command`?
"#);
said!(option_of_another_backend, "[summarizer]\nbackend = \"extract\"\ncommand = [\"x\"]\n", @r#"
error: `[summarizer]` has no key `command` with `backend = "extract"`
 --> brute.toml:3:1
  |
3 | command = ["x"]
  | ^^^^^^^
  |
  = help: known keys: `backend`
"#);
said!(no_backend, "[summarizer]\ncommand = [\"x\"]\n", @"
error: `summarizer` needs `backend`
 --> brute.toml:1:1
  |
1 | [summarizer]
  | ^^^^^^^^^^^^
");
said!(backend_out_of_range, "[summarizer]\nbackend = \"command\"\ncommand = []\n", @r#"
error: `command` names no program; write `command = ["program"]`
 --> brute.toml:3:11
  |
3 | command = []
  |           ^^
"#);
said!(condition_that_always_holds, "[[ladder]]\nlayer = \"tool-results\"\nwhen = { above = 0.2 }\n", @"
warning: `above` (0.2) always holds: a rung is asked only while the request is larger than `compact-to` (0.4)
 --> brute.toml:3:18
  |
3 | when = { above = 0.2 }
  |                  ^^^
  |
  = help: give an amount between `compact-to` and the window, or leave `when` out
");
said!(condition_above_the_window, "[window]\nsize = 8_000\n[[ladder]]\nlayer = \"tool-results\"\nwhen = { above = 9_000 }\n", @"
warning: `above` (9000) holds only where the request is larger than the window
 --> brute.toml:5:18
  |
5 | when = { above = 9_000 }
  |                  ^^^^^
  |
  = help: give an amount between `compact-to` and the window, or leave `when` out
");
said!(condition_that_says_nothing, "[[ladder]]\nlayer = \"tool-results\"\nwhen = {}\n", @"
error: `when` needs `above`
 --> brute.toml:3:8
  |
3 | when = {}
  |        ^^
");
said!(later_version, "version = 2\nfuture = true\n", @"
error: this file needs a later brute: it has version 2, and this one reads version 1
 --> brute.toml:1:11
  |
1 | version = 2
  |           ^
");
said!(version_of_the_wrong_type, "version = \"1\"\n", @r#"
error: expected a whole number of at least 1 for `version`, found a string
 --> brute.toml:1:11
  |
1 | version = "1"
  |           ^^^
  |
  = help: write it without quotes: `version = 1`
"#);
said!(broken_syntax, "[window]\nsize = \nmodle = \"x\"\n[trigger\ncompact-at = 0.7\n", @"
error: string values must be quoted, expected literal string
 --> brute.toml:2:8
  |
2 | size =
  |        ^

error: unclosed table, expected `]`
 --> brute.toml:4:9
  |
4 | [trigger
  |         ^
");
said!(key_given_twice, "[window]\nsize = 3000\nsize = 4000\n", @"
error: duplicate key
 --> brute.toml:3:1
  |
3 | size = 4000
  | ^^^^
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
said!(slipped_trigger, "[trigger]\ncompct-at = 0.7\n", @"
error: `[trigger]` has no key `compct-at`
 --> brute.toml:2:1
  |
2 | compct-at = 0.7
  | ^^^^^^^^^
  |
  = help: did you mean `compact-at`?
");
said!(date, "[window]\nsize = 1979-05-27\n", @"
error: expected a whole number of at least 1 for `size`, found a date or time
 --> brute.toml:2:8
  |
2 | size = 1979-05-27
  |        ^^^^^^^^^^
  |
  = help: `size`: the window in tokens, which input and reply share
");

#[test]
fn set_is_pointed_into() {
    let sources = Sources {
        set: vec![
            "window.siez=5000".into(),
            "window.model=gpt-4o".into(),
            "trigger.compact-at=\"9\"".into(),
        ],
        ..Sources::default()
    };
    insta::assert_snapshot!(render(&load(&sources, &layers()).diagnostics, false), @r#"
    error: `[window]` has no key `siez`
     --> --set:1:8
      |
    1 | window.siez=5000
      |        ^^^^
      |
      = help: did you mean `size`?

    error: string values must be quoted, expected literal string
     --> --set:1:14
      |
    1 | window.model=gpt-4o
      |              ^^^^^^
      |
      = help: write `key=value` as in the file; strings need quotes: 'window.model="gpt-4o"'

    error: expected a fraction (0.7), a percentage ("70%") or a number of tokens above 1 (90_000) for `compact-at`, found "9"
     --> --set:1:20
      |
    1 | trigger.compact-at="9"
      |                    ^^^
    "#);
}

#[test]
fn faults_of_all_sources_are_said_at_once() {
    let sources = Sources {
        user: user("[window]\nsiez = 1\n[[ladder]]\nlayer = \"tol-results\"\n"),
        set: vec!["keep.tool=[]".into()],
        ..project("[trigger]\ncompact-at = true\n[[ladder]]\nlayer = \"tool-results\"\n")
    };
    let said: Vec<_> =
        load(&sources, &layers()).diagnostics.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(said.join("\n"), @r#"
    ~/brute.toml:2:1: error: `[window]` has no key `siez` (did you mean `size`?)
    ~/brute.toml:4:9: error: there is no layer `tol-results` (did you mean `tool-results`?)
    brute.toml:2:14: error: expected a fraction (0.7), a percentage ("70%") or a number of tokens above 1 (90_000) for `compact-at`, found `true`
    --set:1:6: error: `[keep]` has no key `tool` (did you mean `tools`?)
    "#);
}

#[test]
fn the_reference_of_a_key() {
    let of = |key: &str| match reference(key, &layers()) {
        Ok(text) => text,
        Err(error) => format!("{error}\n"),
    };
    insta::assert_snapshot!(
        ["window.size", "trigger", "ladder.when.above", "timeout", "compact_at", "nonsense", "keep"].map(of).join("---\n"),
        @r#"
        window.size

          The window in tokens, which input and reply share. Wins over what is known about the model.

          type: a whole number of at least 1
          default: none
          example: size = 128_000
        ---
        trigger

          When a compaction starts, and what it aims for. Both are amounts of the window: a fraction
          (`0.7`), a percentage (`"70%"`) or tokens (`90_000`).

          compact-at  The size of a request at which a compaction starts. [0.7]
          compact-to  The size that a compaction aims for. [0.4]
        ---
        ladder.when.above

          Only if the request is still larger than this amount of the window.

          type: a fraction, a percentage or a number of tokens
          default: none; it has to be given
          example: above = 0.6
        ---
        there is no key `timeout` (there are `summarizer.timeout`, `ladder.timeout`)
        ---
        trigger.compact-at

          The size of a request at which a compaction starts.

          type: a fraction, a percentage or a number of tokens
          default: 0.7
        ---
        there is no key `nonsense` (known keys: `window`, `trigger`, `truncate`, `keep`, `plugins`, `summarizer`, `models`, `ladder` and 53 more)
        ---
        keep

          What no layer may touch.

          tools  Tools whose calls and results stay as they are. [[]]
        "#
    );
}
