//! Windows and targets: absurd ones, unknown ones, and ones that cannot be met.

use super::place::{Place, SMALL};

#[test]
fn windows_that_make_no_sense() {
    let unnamed = r#"[{"role": "user", "content": "x"}]"#;
    let said = Place::new().transcript([
        ("nothing", "compact - --window 0", SMALL),
        ("one token", "compact - --window 1", SMALL),
        ("beyond all numbers", "compact - --window 99999999999999999999999", SMALL),
        ("no number", "compact - --window large", SMALL),
        ("nothing, configured", "compact - --set window.size=0", SMALL),
        ("all of it reserved", "compact - --set window.reserve=1.0", SMALL),
        ("a model that nobody knows", "compact - --model nonesuch", SMALL),
        ("no model", "compact -", unnamed),
        ("target above trigger", "compact - --set trigger.compact-to=0.9", SMALL),
        ("target above window", "compact - --to 500k", SMALL),
    ]);
    insta::assert_snapshot!(said, @"
    ## nothing
    exit 2
    error: invalid value '0' for '--window <TOKENS>': expected a number of tokens like 32000, 32_000 or 32k, not `0`

    For more information, try '--help'.

    ## one token
    exit 2
    error: a window of 1 is too small for `reserve`, `compact-at` and `compact-to`: the least is 3 tokens; take a larger window, or ask for less: amounts such as 0.7 follow its size

    ## beyond all numbers
    exit 2
    error: invalid value '99999999999999999999999' for '--window <TOKENS>': expected a number of tokens like 32000, 32_000 or 32k, not `99999999999999999999999`

    For more information, try '--help'.

    ## no number
    exit 2
    error: invalid value 'large' for '--window <TOKENS>': expected a number of tokens like 32000, 32_000 or 32k, not `large`

    For more information, try '--help'.

    ## nothing, configured
    exit 2
    error: `size` is 0, expected a whole number of at least 1
     --> --set:1:13
      |
    1 | window.size=0
      |             ^
      |
      = help: `size`: the window in tokens, which input and reply share

    ## all of it reserved
    exit 2
    error: `reserve` (1.0) leaves nothing of a window
     --> --set:1:16
      |
    1 | window.reserve=1.0
      |                ^^^
      |
      = help: it is what stays free for the reply: give less, such as `0.1`

    ## a model that nobody knows
    exit 2
    error: no window is known for the model `nonesuch`; set `window.size` (or say `--window 128k`)

    ## no model
    exit 2
    error: the size of the window is not known: set `window.size` or `window.model`, or name the model in the session (or say `--window 128k` or `--model NAME`)

    ## target above trigger
    exit 2
    error: `compact-to` (0.9) must be below `compact-at` (0.7, the default)
     --> --set:1:20
      |
    1 | trigger.compact-to=0.9
      |                    ^^^
      |
      = help: a compaction starts at `compact-at` and aims for `compact-to`: 0 < `compact-to` < `compact-at` ≤ 1

    ## target above window
    exit 2
    error: `--to 500000` must be below the window (128,000 tokens)
    ");
}

#[test]
fn what_cannot_fit_says_what_is_in_the_way() {
    let place = Place::new();
    let ended = place.piped("compact - --to 1", SMALL);
    assert_eq!(ended.out, SMALL, "no layer could give anything");
    insta::assert_snapshot!(ended.said(), @"
    exit 1
    standard input: 5 messages, 34 tokens
    openai-chat (request body), counted by o200k
    window 128,000 (gpt-4o), compaction at 2, down to 4, tool schemas and framing
    take 3

        rung            result           before  after  saved  edits  calls time
     1  tool-results    nothing to give      34     34      0      0      0 [time]
     2  sliding-window  nothing to give      34     34      0      0      0 [time]

    not fitted: no layer could give anything, 30 over
    in the way:
             18  the newest steps (messages 2 to 4): lower `keep-steps`, or cap tool
                 results by `[truncate]`
              7  the task (message 1): shorten the newest user message: put long
                 material in a file
              6  the instructions (message 0): shorten the system prompt, or use a
                 larger window
              3  tool schemas and framing: send fewer tool schemas, or use a larger
                 window
    ");
    let report = place.piped("explain - --to 1 --json", SMALL);
    assert_eq!(report.code, Some(1));
    let report = report.out_json();
    assert_eq!(report["outcome"], "nothing");
    assert!(report["blockers"].as_array().is_some_and(|blockers| !blockers.is_empty()));
}

#[test]
fn a_conversation_below_the_trigger_is_copied_byte_for_byte() {
    let lines = "{\"role\":\"user\",\"content\":\"x\"}\r\n{\"role\": \"assistant\", \"content\": \"y\"}\r\n";
    for input in [SMALL, lines] {
        for window in ["8k", "8e15"] {
            let ended = Place::new().piped(&format!("compact - --window {window}"), input);
            assert_eq!((ended.code, ended.out.as_str()), (Some(0), input));
            assert!(ended.err.contains("below the trigger"), "{}", ended.err);
        }
    }
}
