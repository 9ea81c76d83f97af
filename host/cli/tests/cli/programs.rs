//! What programs and shells read: JSON, completions, the manual page, help.

use super::place::{Place, SMALL};

#[test]
fn json_is_json_everywhere() {
    let place = Place::with([("small.json", SMALL)]);
    for line in [
        "explain small.json --json",
        "explain small.json --json --to 1 --diff",
        "count small.json --json",
        "check --json",
        "layers --json",
        "layers summarize --json",
        "schema",
    ] {
        let ended = place.brute(line);
        assert!(!ended.out_json().is_null(), "{line}");
        assert_eq!(ended.err, "", "{line}");
    }
    for line in ["compact small.json --json", "compact small.json --json --to 1", "truncate --json"]
    {
        assert!(place.brute(line).err_json().is_object(), "{line}");
    }
}

#[test]
fn a_count_adds_up() {
    let count = Place::new().piped("count - --json", SMALL).out_json();
    assert_eq!(count["format"], "openai-chat");
    assert_eq!(count["model"], "gpt-4o");
    assert_eq!(count["messages"], 5);
    let sum = |key: &str| -> u64 {
        let parts = &count[key];
        let each = parts.as_array().map(|list| list.iter().collect::<Vec<_>>());
        let each = each.or_else(|| parts.as_object().map(|map| map.values().collect()));
        each.expect("a list or a map").iter().filter_map(|part| part["tokens"].as_u64()).sum()
    };
    assert_eq!(Some(sum("roles")), count["tokens"].as_u64());
    assert!(sum("turns") <= sum("roles"), "instructions stand before all turns");
    assert_eq!(count["tools"]["ls"]["calls"], 1);
}

#[test]
fn completions_and_manual_page() {
    for (line, sign) in [
        ("completions bash", "complete -F _brute"),
        ("completions zsh", "#compdef brute"),
        ("completions fish", "complete -c brute"),
        ("man", ".TH brute 1"),
    ] {
        let ended = Place::new().brute(line);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{line}");
        assert!(ended.out.contains(sign), "{line}");
    }
}

#[test]
fn help_lists_verbs_and_exit_codes() {
    let help = Place::new().brute("--help");
    assert_eq!(help.code, Some(0));
    insta::assert_snapshot!(help.out, @"
    Keeps an agent's conversation within the model's window

    Usage: brute [OPTIONS] <COMMAND>

    Commands:
      compact      Make a conversation fit: conversation in, conversation out
      explain      Show what `compact` would do, rung by rung
      count        Show how large a conversation is, by turn, role and tool
      truncate     Cap a tool result; the full text goes to disk
      check        Check the configuration
      layers       List all layers and their options
      config       Show the configuration, or what one key means
      schema       Print the JSON Schema of brute.toml, for editors
      init         Write a brute.toml to start from
      completions  Print a script that completes brute's arguments in your shell
      man          Print the manual page (roff)
      help         Print this message or the help of the given subcommand(s)

    Options:
          --config <FILE>    Configuration to use instead of the nearest brute.toml
          --no-config        Use no configuration file at all, only the defaults and --set
          --set <KEY=VALUE>  Set one key, e.g. --set trigger.compact-at=0.8 (may be repeated)
      -q, --quiet            Say less: no progress, no notes on standard error
      -h, --help             Print help
      -V, --version          Print version

    Exit codes:
      0   done; the conversation fits (or needed nothing)
      1   done, but the conversation is still above target
      2   the command line or brute.toml cannot be used
      3   the input cannot be read or is no conversation, or the output cannot be written
      4   still above target, and the summarizer failed
      70  a fault of brute itself (please report it)
    ");
}

#[test]
fn every_verb_has_help() {
    for verb in
        ["compact", "explain", "count", "truncate", "check", "layers", "config", "schema", "init"]
    {
        let help = Place::new().brute(&format!("{verb} --help"));
        assert_eq!(help.code, Some(0), "{verb}");
        assert!(help.out.contains(&format!("brute {verb}")), "{}", help.out);
    }
}

#[test]
fn layers_are_listed_with_their_options() {
    let layers = Place::new().brute("layers").out;
    for name in ["tool-results", "sliding-window", "summarize", "keep-steps", "[summarizer]"] {
        assert!(layers.contains(name), "{name}");
    }
}
