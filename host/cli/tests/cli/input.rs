//! Input that is no conversation, or a broken one: exit code 3, and what to do about it.

use super::place::{Place, SMALL};

const ORPHAN: &str = r#"{"messages": [{"role": "user", "content": "x"},
  {"role": "tool", "tool_call_id": "c9", "content": "y"}, {"role": "assistant", "content": "ok"}]}"#;

const OPEN_CALL: &str = r#"{"messages": [{"role": "user", "content": "x"},
  {"role": "assistant", "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
  {"role": "user", "content": "and?"}]}"#;

const SURROGATE: &str = r#"{"messages": [{"role": "user", "content": "a \ud83d b"}]}"#;

const COMPACT: &str = "compact - --window 8k";

#[test]
fn what_is_no_conversation_is_told_by_place_and_reason() {
    let said = Place::new().transcript([
        ("not JSON", COMPACT, "hello"),
        ("truncated JSON", COMPACT, r#"{"messages":[{"role":"user"#),
        ("truncated JSON lines", COMPACT, "{\"role\":\"user\",\"content\":\"x\"}\n{\"role\":"),
        ("nothing", COMPACT, ""),
        ("no messages", COMPACT, "[]"),
        ("a number", COMPACT, "42"),
        ("another object", COMPACT, r#"{"a": 1}"#),
        ("unknown role", COMPACT, r#"{"messages": [{"role": "wizard", "content": "x"}]}"#),
        ("content of a wrong type", COMPACT, r#"{"messages": [{"role": "user", "content": 7}]}"#),
        ("another format", "count - --format anthropic", SMALL),
        ("a conversation that is not there", "count - --pick 3", SMALL),
    ]);
    insta::assert_snapshot!(said, @"
    ## not JSON
    exit 3
    error: `standard input`: line 1, column 1: not JSON: expected a value, found `hello`

    ## truncated JSON
    exit 3
    error: `standard input`: line 1, column 27: the input ends inside `/messages/0/role`, where the end of a string should come; is it complete?

    ## truncated JSON lines
    exit 3
    error: `standard input`: line 2, column 9: the input ends inside `/1/role`, where a value should come; is it complete?

    ## nothing
    exit 3
    error: `standard input`: the input is empty; a conversation in JSON is needed

    ## no messages
    exit 3
    error: `standard input`: the list of messages is empty

    ## a number
    exit 3
    error: `standard input`: no conversation found: the input is a number; accepted are a request body of OpenAI Chat or Anthropic Messages (an object with `messages`), of OpenAI Responses (`input`) or Gemini (`contents`), a bare array of messages, JSON lines with one message a line, a trajectory of mini-swe-agent, SWE-agent (`history`), tau-bench (`traj`) or tau2 (`simulations`), a session log of brute, or the log of an agent: Claude Code, Codex, opencode, pi, OpenHands, Gemini CLI, Cline, Inspect, ATIF, LangChain or aider

    ## another object
    exit 3
    error: `standard input`: no conversation found: the input is an object with the key `a`; accepted are a request body of OpenAI Chat or Anthropic Messages (an object with `messages`), of OpenAI Responses (`input`) or Gemini (`contents`), a bare array of messages, JSON lines with one message a line, a trajectory of mini-swe-agent, SWE-agent (`history`), tau-bench (`traj`) or tau2 (`simulations`), a session log of brute, or the log of an agent: Claude Code, Codex, opencode, pi, OpenHands, Gemini CLI, Cline, Inspect, ATIF, LangChain or aider

    ## unknown role
    exit 3
    error: `standard input`: message 0 has the unknown role `wizard` (at `/messages/0/role`); openai-chat knows `system`, `developer`, `user`, `assistant`, `tool`, `function` and, from logs of mini-swe-agent, `exit`

    ## content of a wrong type
    exit 3
    error: `standard input`: message 0: expected a string, an array of parts or null at `/messages/0/content`, found a number

    ## another format
    exit 3
    error: `standard input`: message 0 has the unknown role `system` (at `/messages/0/role`); anthropic knows `user` and `assistant`; instructions go into the `system` field of the body

    ## a conversation that is not there
    exit 3
    error: `standard input`: there is no conversation 3: the input holds 1, counted from 0
    ");
}

#[test]
fn what_does_not_fit_together_is_told_and_mended_on_request() {
    let place = Place::new();
    let said = place.transcript([
        ("a result without a call", COMPACT, ORPHAN),
        ("a call without a result", COMPACT, OPEN_CALL),
        ("half of a surrogate pair", COMPACT, SURROGATE),
        ("a result without a call, mended", "count - --repair", ORPHAN),
        ("a call without a result, mended", "count - --repair", OPEN_CALL),
        ("half of a surrogate pair, mended", "count - --repair", SURROGATE),
        ("mended quietly", "count - --repair -q", ORPHAN),
    ]);
    insta::assert_snapshot!(said, @r"
    ## a result without a call
    exit 3
    error: `standard input`: the messages do not fit together:
      message 1 (`/messages/1`): the tool result for `c9` answers no call before it
    `--repair` makes the least change that mends this, and `brute repair --check` says which

    ## a call without a result
    exit 3
    error: `standard input`: the messages do not fit together:
      message 1 (`/messages/1/tool_calls/0`): the tool call `c1` has no result
    `--repair` makes the least change that mends this, and `brute repair --check` says which

    ## half of a surrogate pair
    exit 3
    error: `standard input`: the messages do not fit together:
      message 0 (`/messages/0/content`): `\ud83d` is half of a surrogate pair, which no provider accepts
    `--repair` makes the least change that mends this, and `brute repair --check` says which

    ## a result without a call, mended
    exit 0
    repaired: message 1 (`/messages/1`): dropped the result for `c9`, which no call before it asks for

    ## a call without a result, mended
    exit 0
    repaired: message 1 (`/messages/1/tool_calls/0`): added a result, `[no result was recorded]`, for the call `c1`, which had none

    ## half of a surrogate pair, mended
    exit 0
    repaired: message 0 (`/messages/0/content`): put U+FFFD in its place: `\ud83d` is half of a surrogate pair, which no provider accepts

    ## mended quietly
    exit 0
    ");
    for broken in [ORPHAN, OPEN_CALL, SURROGATE] {
        let mended = place.piped("compact - --window 8k --repair -q", broken);
        assert_eq!(mended.code, Some(0));
        let again = place.piped("compact - --window 8k -q", &mended.out);
        assert_eq!((again.code, again.out), (Some(0), mended.out), "{broken}");
    }
}

#[test]
fn a_program_finds_repairs_in_the_report() {
    let ended = Place::new().piped("compact - --window 8k --repair --json", ORPHAN);
    let repairs = &ended.err_json()["repairs"];
    assert!(repairs[0].as_str().is_some_and(|repair| repair.contains("`c9`")), "{repairs}");
}

#[test]
fn files_that_cannot_be_read() {
    let place = Place::new();
    std::fs::create_dir(place.path("folder")).expect("a folder can be made");
    place.write("binary", [0x7f, b'E', 0xff, 0xfe, 0]);
    let said = place.transcript([
        ("missing", "compact nofile.json", ""),
        ("a folder", "compact folder", ""),
        ("binary", "compact binary", ""),
        ("missing, for truncate", "truncate nofile.txt", ""),
        ("a folder, for truncate", "truncate folder", ""),
    ]);
    insta::assert_snapshot!(said, @"
    ## missing
    exit 3
    error: cannot read `nofile.json`: no such file or folder

    ## a folder
    exit 3
    error: cannot read `folder`: is a directory

    ## binary
    exit 3
    error: `binary`: line 1, column 3: the input is not UTF-8 (it has bytes that no character has); convert it first

    ## missing, for truncate
    exit 3
    error: cannot read `nofile.txt`: no such file or folder

    ## a folder, for truncate
    exit 3
    error: cannot read `folder`: is a directory
    ");
}

#[test]
fn several_conversations_are_chosen_from() {
    let two = r#"{"simulations": [{"messages": [{"role": "user", "content": "one"}]},
      {"messages": [{"role": "user", "content": "two"}]}]}"#;
    let place = Place::with([("two.json", two)]);
    insta::assert_snapshot!(place.brute("count two.json").said(), @"
    exit 3
    error: `two.json`: the input holds 2 conversations (tau2 simulations); choose one with `--pick`, from 0 to 1
    ");
    assert!(place.brute("count two.json --pick 1").out.contains("two"));
    // Where several files can be named, one has to be.
    insta::assert_snapshot!(place.brute("replay two.json").said(), @"
    exit 3
    error: `two.json`: the input holds 2 conversations (tau2 simulations); choose one with `--pick`, from 0 to 1
    ");
    for line in ["replay --window 8k", "orderings --room 8k", "advise --room 8k"] {
        let ended = place.brute(&format!("{line} two.json --pick 1 --model gpt-4o --json"));
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.err);
    }
    insta::assert_snapshot!(place.brute("orderings two.json two.json --pick 1").said(), @"
    exit 2
    error: `--pick` chooses in one file: name that file, and no other
    ");
    insta::assert_snapshot!(place.brute("replay . --pick 1").said(), @"
    exit 2
    error: `--pick` chooses in one file: name that file, and no other
    ");
}

#[test]
fn depth_is_no_danger() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let place = Place::new();
    place.write("array.json", nested(100_000));
    let body =
        format!(r#"{{"messages":[{{"role":"user","content":"x","z":{}}}]}}"#, nested(50_000));
    place.write("field.json", body);
    assert_eq!(place.brute("count array.json").code, Some(3));
    assert_eq!(place.brute("count field.json").code, Some(0));
}

#[test]
fn the_input_stays_as_it_was() {
    for (text, line) in [
        (SMALL, "compact it.json --to 10"),
        (SMALL, "explain it.json --to 10 --diff"),
        (ORPHAN, "compact it.json --window 8k"),
        (ORPHAN, "compact it.json --window 8k --repair"),
        ("not JSON", "count it.json"),
    ] {
        let place = Place::with([("it.json", text)]);
        place.brute(line);
        assert_eq!(place.read("it.json"), text, "{line}");
        assert_eq!(place.names(), ["it.json"], "{line}");
    }
}
