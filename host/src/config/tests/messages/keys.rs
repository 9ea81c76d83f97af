//! Messages about keys, sections and layers that there are not.

use super::*;

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
  = help: known keys: `model`, `size`, `counter`, `reserve`, `max-bytes`
");
said!(unknown_section, "[compaction]\ncompact-at = 0.7\n\n[windw]\nsize = 1\n", @"
error: there is no section `[compaction]`
 --> brute.toml:1:2
  |
1 | [compaction]
  |  ^^^^^^^^^^
  |
  = help: known sections: `window`, `trigger`, `truncate`, `archive`, `keep`, `plugins`, `summarizer`, `fallback`, `models` and 1 more

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
said!(slipped_trigger, "[trigger]\ncompct-at = 0.7\n", @"
error: `[trigger]` has no key `compct-at`
 --> brute.toml:2:1
  |
2 | compct-at = 0.7
  | ^^^^^^^^^
  |
  = help: did you mean `compact-at`?
");
said!(option_of_another_backend, "[summarizer]\nbackend = \"extract\"\ncommand = [\"x\"]\n", @r#"
error: `[summarizer]` has no key `command` with `backend = "extract"`
 --> brute.toml:3:1
  |
3 | command = ["x"]
  | ^^^^^^^
  |
  = help: known keys: `backend`, `budget`
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
said!(no_backend, "[summarizer]\ncommand = [\"x\"]\n", @"
error: `summarizer` needs `backend`
 --> brute.toml:1:1
  |
1 | [summarizer]
  | ^^^^^^^^^^^^
");
said!(condition_that_says_nothing, "[[ladder]]\nlayer = \"tool-results\"\nwhen = {}\n", @"
error: `when` needs `above`
 --> brute.toml:3:8
  |
3 | when = {}
  |        ^^
");
