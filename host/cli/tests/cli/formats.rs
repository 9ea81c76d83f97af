//! Conversations made valid, and written in another provider's format.

use super::place::{Place, SMALL};

/// A call without a result, two messages of one role in a row, one that says nothing.
const BROKEN: &str = r#"{"system": "s", "messages": [
  {"role": "user", "content": "go"},
  {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
  {"role": "user", "content": "wait"},
  {"role": "user", "content": "and"},
  {"role": "assistant", "content": " "}
]}"#;

#[test]
fn what_is_broken_is_mended_and_told() {
    let place = Place::new();
    let said = place.transcript([
        ("asked whether it is", "repair - --check", BROKEN),
        ("mended", "repair -", BROKEN),
        ("mended quietly", "repair - -q", BROKEN),
        ("nothing to do", "repair -", SMALL),
        ("no conversation", "repair -", "{}"),
    ]);
    insta::assert_snapshot!(said, @r"
    ## asked whether it is
    exit 1
    repaired: message 1 (`/messages/1/content/0`): added a result, `[no result was recorded]`, for the call `a`, which had none
    repaired: message 3 (`/messages/3`): joined it with the message before, which is of the same role
    repaired: message 4 (`/messages/4/content`): dropped a message that says nothing

    ## mended
    exit 0
    repaired: message 1 (`/messages/1/content/0`): added a result, `[no result was recorded]`, for the call `a`, which had none
    repaired: message 3 (`/messages/3`): joined it with the message before, which is of the same role
    repaired: message 4 (`/messages/4/content`): dropped a message that says nothing

    ## mended quietly
    exit 0

    ## nothing to do
    exit 0
    nothing to repair

    ## no conversation
    exit 3
    error: `standard input`: no conversation found: the input is an empty object; accepted are a request body of OpenAI Chat or Anthropic Messages (an object with `messages`), of OpenAI Responses (`input`) or Gemini (`contents`), a bare array of messages, JSON lines with one message a line, a trajectory of mini-swe-agent, SWE-agent (`history`), tau-bench (`traj`) or tau2 (`simulations`), a session log of brute, or the log of an agent: Claude Code, Codex, opencode, pi, OpenHands, Gemini CLI, Cline, Inspect, ATIF, LangChain or aider
    ");
    let checked = place.piped("repair - --check -q", BROKEN);
    assert_eq!((checked.code, checked.out.as_str()), (Some(1), ""));
    let mended = place.piped("repair - -q", BROKEN).out;
    let again = place.piped("repair -", &mended);
    assert_eq!((again.code, &again.out), (Some(0), &mended));
    assert_eq!(place.piped("repair -", SMALL).out, SMALL);
    let report = place.piped("repair - --json", BROKEN).err_json();
    assert_eq!(report["repairs"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_conversation_is_converted_and_what_changed_is_told() {
    let place = Place::new();
    let said = place.transcript([
        ("to Gemini", "convert - --to gemini", SMALL),
        ("to what it is", "convert - --to openai-chat", SMALL),
        ("to another of the same provider", "convert - --to openai-responses", SMALL),
        ("broken", "convert - --to gemini", BROKEN),
    ]);
    insta::assert_snapshot!(said, @r"
    ## to Gemini
    exit 1
    changed: left out the field `model` of the request

    ## to what it is
    exit 0

    ## to another of the same provider
    exit 0

    ## broken
    exit 3
    error: `standard input`: the messages do not fit together:
      message 1 (`/messages/1/content/0`): the tool call `a` has no result
      message 4 (`/messages/4/content`): a blank text, which the provider refuses
    `--repair` makes the least change that mends this, and `brute repair --check` says which
    ");
    assert_eq!(place.piped("convert - --to openai-chat", SMALL).out, SMALL);
    let gemini = place.piped("convert - --to gemini -q", SMALL).out;
    assert_eq!(
        gemini,
        concat!(
            r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":["#,
            r#"{"role":"user","parts":[{"text":"List the files."}]},"#,
            r#"{"role":"model","parts":[{"functionCall":{"id":"c1","name":"ls","args":{}}}]},"#,
            r#"{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a.txt b.txt"}}}]},"#,
            r#"{"role":"model","parts":[{"text":"Two files."}]}]}"#,
            "\n"
        )
    );
    let report = place.piped("convert - --to gemini --json", SMALL).err_json();
    assert_eq!(report["to"], "gemini");
    assert_eq!(report["changed"][0]["what"], "left out the field `model` of the request");
}
