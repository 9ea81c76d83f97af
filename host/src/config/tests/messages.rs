//! Every message, as it is shown.

use super::*;

macro_rules! said {
    ($name:ident, $text:expr, @$snapshot:literal) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(said($text), @$snapshot);
        }
    };
}

mod keys;
mod syntax;
mod together;
mod values;

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

    error: a string needs quotes
     --> --set:1:14
      |
    1 | window.model=gpt-4o
      |              ^^^^^^
      |
      = help: write `key=value` as in the file; strings need quotes: 'window.model="gpt-4o"'

    error: expected a fraction up to 1 (0.7), a percentage up to 100 ("70%") or a number of tokens above 1 (90_000) for `compact-at`, found "9"
     --> --set:1:20
      |
    1 | trigger.compact-at="9"
      |                    ^^^
      |
      = help: `compact-at`: the size of a request at which a compaction starts
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
    brute.toml:2:14: error: expected a fraction up to 1 (0.7), a percentage up to 100 ("70%") or a number of tokens above 1 (90_000) for `compact-at`, found `true` (`compact-at`: the size of a request at which a compaction starts)
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

          Only if the request is still larger than this amount of the window, or than what
          `window.reserve` leaves of it.

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
        there is no key `nonsense` (known keys: `window`, `trigger`, `truncate`, `archive`, `keep`, `plugins`, `summarizer`, `models`, `ladder` and 72 more)
        ---
        keep

          What no layer may touch.

          tools  Tools whose calls and results stay as they are. [[]]
        "#
    );
}
