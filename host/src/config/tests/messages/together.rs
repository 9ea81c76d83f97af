//! Messages about values that are right, each by itself, and do not go together.

use super::*;

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
warning: `above` (9000) is more than the window: it holds only where the request does not fit
 --> brute.toml:5:18
  |
5 | when = { above = 9_000 }
  |                  ^^^^^
  |
  = help: give an amount between `compact-to` and the window, or leave `when` out
");
