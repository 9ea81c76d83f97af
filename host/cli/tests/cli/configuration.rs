//! `brute.toml` and the verbs around it: exit code 2, all mistakes at once.

use super::place::{Place, SMALL};

const TYPOS: &str = r#"version = 1
[triger]
compact-at = 0.7
[trigger]
compact-too = 0.4
compact-at = "lots"
[[ladder]]
layer = "tool-result"
[[ladder]]
layer = "sliding-window"
keep-stepps = 4
keep-steps = -1
"#;

#[test]
fn all_mistakes_are_shown_where_they_stand() {
    let place = Place::with([("brute.toml", TYPOS), ("small.json", SMALL)]);
    let ended = place.brute("compact small.json");
    assert_eq!(ended.out, "");
    insta::assert_snapshot!(ended.said(), @r#"
    exit 2
    error: there is no section `[triger]`
     --> brute.toml:2:2
      |
    2 | [triger]
      |  ^^^^^^
      |
      = help: did you mean `trigger`?

    error: `[trigger]` has no key `compact-too`
     --> brute.toml:5:1
      |
    5 | compact-too = 0.4
      | ^^^^^^^^^^^
      |
      = help: did you mean `compact-to`?

    error: expected a fraction up to 1 (0.7), a percentage up to 100 ("70%") or a number of tokens above 1 (90_000) for `compact-at`, found "lots"
     --> brute.toml:6:14
      |
    6 | compact-at = "lots"
      |              ^^^^^^
      |
      = help: `compact-at`: the size of a request at which a compaction starts

    error: there is no layer `tool-result`
     --> brute.toml:8:9
      |
    8 | layer = "tool-result"
      |         ^^^^^^^^^^^^^
      |
      = help: did you mean `tool-results`?

    error: `sliding-window` has no option `keep-stepps`
      --> brute.toml:11:1
       |
    11 | keep-stepps = 4
       | ^^^^^^^^^^^
       |
       = help: did you mean `keep-steps`?

    error: `keep-steps` is -1, expected a whole number of at least 1
      --> brute.toml:12:14
       |
    12 | keep-steps = -1
       |              ^^
       |
       = help: `keep-steps`: how many of the newest steps stay, at least 1
    "#);
    let report = place.brute("check --json");
    assert_eq!(report.code, Some(2));
    let report = report.out_json();
    assert_eq!(report["ok"], false);
    let found = report["diagnostics"].as_array().expect("a list");
    let places: Vec<_> =
        found.iter().map(|one| (one["line"].as_u64(), one["column"].as_u64())).collect();
    let at = |line, column| (Some(line), Some(column));
    assert_eq!(places, [at(2, 2), at(5, 1), at(6, 14), at(8, 9), at(11, 1), at(12, 14)]);
}

#[test]
fn files_that_are_no_configuration() {
    let place = Place::with([("broken.toml", "version = \n[a\n")]);
    place.write("binary.toml", [0xff, 0xfe]);
    std::fs::create_dir(place.path("folder")).expect("a folder can be made");
    let said = place.transcript([
        ("not TOML", "check --config broken.toml", ""),
        ("binary", "check --config binary.toml", ""),
        ("missing", "check --config none.toml", ""),
        ("a folder", "check --config folder", ""),
    ]);
    insta::assert_snapshot!(said, @"
    ## not TOML
    exit 2
    error: string values must be quoted, expected literal string
     --> broken.toml:1:11
      |
    1 | version =
      |           ^

    error: unclosed table, expected `]`
     --> broken.toml:2:3
      |
    2 | [a
      |   ^

    ## binary
    exit 2
    error: `[folder]/binary.toml` is not UTF-8 text: line 1 holds other bytes

    ## missing
    exit 2
    error: cannot read `[folder]/none.toml`: no such file or folder

    ## a folder
    exit 2
    error: cannot read `[folder]/folder`: is a directory
    ");
}

#[test]
fn keys_set_on_the_command_line() {
    let said = Place::new().transcript([
        ("unknown key", "count - --set nope=1", SMALL),
        ("no value", "count - --set trigger.compact-at", SMALL),
        ("no quotes", "count - --set summarizer.backend=extract", SMALL),
        ("wrong type", "count - --set ladder=3", SMALL),
        ("no summarizer", "count - --set 'ladder=[{layer=\"summarize\"}]'", SMALL),
    ]);
    insta::assert_snapshot!(said, @r#"
    ## unknown key
    exit 2
    error: there is no key `nope` at the top of the file
     --> --set:1:1
      |
    1 | nope=1
      | ^^^^
      |
      = help: known keys and sections: `version`, `window`, `trigger`, `truncate`, `archive`, `keep`, `plugins`, `summarizer`, `fallback` and 2 more

    ## no value
    exit 2
    error: key with no value, expected `=`
     --> --set:1:19
      |
    1 | trigger.compact-at
      |                   ^
      |
      = help: write `key=value` as in the file; strings need quotes: 'window.model="gpt-4o"'

    ## no quotes
    exit 2
    error: a string needs quotes
     --> --set:1:20
      |
    1 | summarizer.backend=extract
      |                    ^^^^^^^
      |
      = help: write `key=value` as in the file; strings need quotes: 'summarizer.backend="extract"'

    ## wrong type
    exit 2
    error: expected rungs for `ladder`, found a whole number
     --> --set:1:8
      |
    1 | ladder=3
      |        ^
      |
      = help: begin each rung with `[[ladder]]` and name its `layer`

    ## no summarizer
    exit 2
    error: `summarize` needs a summarizer, and none is configured
     --> --set:1:16
      |
    1 | ladder=[{layer="summarize"}]
      |                ^^^^^^^^^^^
      |
      = help: add a section `[summarizer]`, or take the rung out
    "#);
}

#[test]
fn names_that_do_not_exist() {
    let said = Place::new().transcript([
        ("a key", "config trigger.compat-at", ""),
        ("a layer, nearly", "layers tool-result", ""),
        ("a layer, not at all", "layers nope", ""),
        ("a format", "count - --format nope", ""),
        ("a shell", "completions nosh", ""),
    ]);
    insta::assert_snapshot!(said, @"
    ## a key
    exit 2
    error: there is no key `trigger.compat-at` (did you mean `trigger.compact-at`?)

    ## a layer, nearly
    exit 2
    error: there is no layer `tool-result`; did you mean `tool-results`?

    ## a layer, not at all
    exit 2
    error: there is no layer `nope`; known layers: `tool-results`, `sliding-window`, `summarize`

    ## a format
    exit 2
    error: invalid value 'nope' for '--format <FORMAT>'
      [possible values: openai-chat, openai-responses, anthropic, gemini, brute-session, claude-code, claude-stream-json, codex-rollout, codex-app-server, opencode, pi, openhands, openhands-sdk, gemini-cli, cline, inspect-eval, atif, langchain, aider]

    For more information, try '--help'.

    ## a shell
    exit 2
    error: invalid value 'nosh' for '<SHELL>'
      [possible values: bash, elvish, fish, powershell, zsh]

      tip: a similar value exists: 'zsh'

    For more information, try '--help'.
    ");
    for line in ["nope", "compact", "compact a b", "count", "config --defaults trigger"] {
        assert_eq!(Place::new().brute(line).code, Some(2), "{line}");
    }
}

#[test]
fn init_writes_what_check_accepts_and_never_overwrites() {
    let place = Place::new();
    insta::assert_snapshot!(place.brute("init").said(), @"
    exit 0
    wrote brute.toml; `brute check` says whether it can be used
    `brute init --ladder recommended` summarizes before it drops: of what ten long sessions went on to use, 78 % was still there instead of 64 %, for 4 % more tokens (docs/orderings.md)
    ");
    let written = place.read("brute.toml");
    let checked = place.brute("check --deny-warnings");
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    insta::assert_snapshot!(checked.stable(&checked.out), @"
    ok  files            brute.toml
    ok  keys and values  nothing to complain about
    ok  ladder           tool-results > sliding-window
    ok  window           by the model that a session names
    ok  tool output      full texts go to [folder]/brute/tool-output
    can be used
    ");
    place.write("brute.toml", "# mine");
    insta::assert_snapshot!(place.brute("init").said(), @"
    exit 2
    error: `brute.toml` is there already; `--force` overwrites it
    ");
    assert_eq!(place.read("brute.toml"), "# mine");
    assert_eq!(place.brute("init --force").code, Some(0));
    assert_eq!(place.read("brute.toml"), written);
}

#[test]
fn init_writes_the_recommended_ladder_where_that_is_wanted() {
    let place = Place::new();
    insta::assert_snapshot!(place.brute("init --ladder recommended").said(), @"
    exit 0
    wrote brute.toml; `brute check` says whether it can be used
    ");
    assert_eq!(
        place.read("brute.toml"),
        include_str!("../../../../examples/ladders/recommended.toml")
    );
    let checked = place.brute("check --deny-warnings");
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    assert!(checked.out.contains("tool-results > summarize > sliding-window"), "{}", checked.out);
    assert_eq!(place.brute("init --ladder best").code, Some(2));
}

#[test]
fn the_defaults_are_what_check_accepts() {
    let place = Place::new();
    let defaults = place.brute("config --defaults");
    assert_eq!(defaults.code, Some(0));
    place.write("brute.toml", &defaults.out);
    let checked = place.brute("check --deny-warnings");
    assert_eq!(checked.code, Some(0), "{}", checked.err);
    let without = place.brute("check --no-config");
    let phases = |out: &str| out.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(phases(&checked.out), phases(&without.out));
}

#[test]
fn what_a_key_means() {
    let ended = Place::new().brute("config trigger.compact-at");
    assert_eq!(ended.code, Some(0));
    insta::assert_snapshot!(ended.out, @"
    trigger.compact-at

      The size of a request at which a compaction starts.

      type: a fraction, a percentage or a number of tokens
      default: 0.7
    ");
}

#[test]
fn what_is_in_force_is_a_configuration() {
    for line in ["config --resolved", "config"] {
        let place = Place::new();
        let shown = place.brute(line);
        assert_eq!(shown.code, Some(0), "{line}");
        place.write("brute.toml", &shown.out);
        let checked = place.brute("check");
        assert_eq!(checked.code, Some(0), "{line}: {}", checked.err);
    }
}

#[test]
fn a_file_can_be_checked_by_name() {
    let place = Place::with([("mine.toml", "[window]\nsize = 50_000\n")]);
    let named = place.brute("check mine.toml");
    assert_eq!(named.code, Some(0), "{}", named.err);
    assert_eq!(named.out, place.brute("check --config mine.toml").out);
    assert!(
        named.out.contains("50,000 tokens, compaction at 35,000, down to 20,000"),
        "{}",
        named.out
    );
    for line in ["check missing.toml", "check mine.toml --no-config", "check mine.toml --config x"]
    {
        assert_eq!(place.brute(line).code, Some(2), "{line}");
    }
}

#[test]
fn what_has_no_effect_is_told_by_check_alone() {
    let summarizer = "[summarizer]\nbackend = \"extract\"\n[[ladder]]\nlayer = \"tool-results\"\n";
    for (text, words) in [
        (summarizer, "no rung of the ladder asks the summarizer"),
        ("[trigger]\ncompact-at = 0.99\n", "a compaction starts at 0.9 already"),
    ] {
        let place = Place::with([("brute.toml", text)]);
        let checked = place.brute("check");
        assert_eq!(checked.code, Some(0), "{}", checked.err);
        assert!(checked.err.contains(words), "{}", checked.err);
        assert_eq!(place.brute("check --deny-warnings").code, Some(2), "{text}");
        assert!(!place.piped("count -", SMALL).err.contains(words));
    }
}

/// A slip in `[keep]` keeps nothing, which nobody would notice before it is gone.
#[test]
fn a_kept_tool_without_a_call_is_noted() {
    let offered =
        SMALL.replacen('{', r#"{"tools": [{"type": "function", "function": {"name": "rm"}}], "#, 1);
    let offered = offered.as_str();
    for (tool, input, note) in [
        ("ls", SMALL, None),
        ("lss", SMALL, Some("; did you mean `ls`?")),
        ("shell", SMALL, Some("\n")),
        ("rm", SMALL, Some("\n")),
        ("rm", offered, None),
    ] {
        let file = format!("[keep]\ntools = [\"{tool}\"]\n");
        let place = Place::with([("brute.toml", &file)]);
        for verb in ["explain", "compact"] {
            let ended = place.piped(&format!("{verb} -"), input);
            let words = format!(
                "note: `[keep]` names the tool `{tool}`, of which this session has no call"
            );
            match note {
                Some(end) => {
                    assert!(ended.err.contains(&format!("{words}{end}")), "{}", ended.err);
                }
                None => assert!(!ended.err.contains("[keep]"), "{}", ended.err),
            }
            assert!(!place.piped(&format!("{verb} - -q"), input).err.contains("[keep]"));
        }
        assert!(!place.piped("compact - --json", input).err.contains("[keep]"));
    }
}
