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
        "plugins list --json",
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
    let overhead = count["overhead"].as_u64().expect("a number");
    assert_eq!(Some(sum("roles") + overhead), count["tokens"].as_u64());
    assert!(sum("turns") <= sum("roles"), "instructions stand before all turns");
    assert_eq!(count["tools"]["ls"]["calls"], 1);
}

#[test]
fn of_many_turns_the_largest_are_shown_and_the_others_summed_up() {
    let turn = |turn: u32| {
        let words = "word ".repeat(if turn % 100 == 7 { 90 } else { 9 });
        format!(
            r#"{{"role":"user","content":"ask {turn} {words}"}},{{"role":"assistant","content":"a"}}"#
        )
    };
    let session = format!("[{}]", (0..301).map(turn).collect::<Vec<_>>().join(","));
    let said = Place::new().piped("count - --by turn", &session).out;
    let rows = said.lines().filter(|line| line.contains("ask ")).count();
    assert_eq!(rows, 200, "{said}");
    for largest in ["ask 7 ", "ask 107 ", "ask 207 "] {
        assert!(said.contains(largest), "{largest}: {said}");
    }
    assert!(said.contains("and 101 smaller turns of "), "{said}");
}

#[test]
fn messages_are_counted_as_they_stand_in_the_file() {
    let text = "row ".repeat(600);
    let result =
        |id: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}"#);
    let call = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"ls","input":{{}}}}"#);
    // Two results and a sentence are one message here.
    let session = format!(
        r#"{{"model":"claude-sonnet-4-5","max_tokens":9,"system":"Be brief.","messages":[
        {{"role":"user","content":"go"}},
        {{"role":"assistant","content":[{},{}]}},
        {{"role":"user","content":[{},{},{{"type":"text","text":"and now?"}}]}},
        {{"role":"assistant","content":[{}]}},
        {{"role":"user","content":[{}]}},
        {{"role":"assistant","content":"done"}}]}}"#,
        call("a"),
        call("b"),
        result("a"),
        result("b"),
        call("c"),
        result("c"),
    );
    let place = Place::with([("session.json", &session)]);
    for (to, after) in [(2_000, 6), (60, 4)] {
        let compacted = place.brute(&format!("compact session.json --to {to} --json"));
        let report = compacted.err_json();
        let messages = compacted.out_json()["messages"].as_array().map(Vec::len);
        assert_eq!((&report["messages-before"], messages), (&6.into(), Some(after)), "{report}");
        assert_eq!(report["messages-after"], after, "{report}");
        let explained = place.brute(&format!("explain session.json --to {to} --json")).out_json();
        assert_eq!(explained["messages-before"], 6);
        assert_eq!(explained["messages-after"], after);
    }
}

#[test]
fn completions_and_manual_page() {
    for (line, sign) in [
        ("completions bash", "complete -F _brute"),
        ("completions zsh", "#compdef brute"),
        ("completions fish", "complete -c brute"),
        ("man", ".TH brute 1"),
        ("man compact", ".TH brute-compact 1"),
    ] {
        let ended = Place::new().brute(line);
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{line}");
        assert!(ended.out.contains(sign), "{line}");
    }
}

#[test]
fn every_verb_has_a_manual_page_with_its_options() {
    let place = Place::new();
    insta::assert_snapshot!(place.brute("man --out doc/man").said(), @"
    exit 0
    wrote 24 manual pages to doc/man
    ");
    for (page, options) in [
        ("brute.1", &["brute\\-compact(1)", "\\-\\-config", "Exit codes"][..]),
        ("brute-compact.1", &["\\-\\-window", "\\-\\-repair", "\\-\\-config"]),
        ("brute-truncate.1", &["\\-\\-tool", "\\-\\-set"]),
        ("brute-man.1", &["\\-\\-out"]),
        ("brute-plugins.1", &["brute\\-plugins\\-trust(1)", "\\-\\-trust\\-plugins"]),
    ] {
        let text = place.read(&format!("doc/man/{page}"));
        for option in options {
            assert!(text.contains(option), "{page} has no {option}:\n{text}");
        }
        let verb = page.strip_prefix("brute-").and_then(|verb| verb.strip_suffix(".1"));
        let line = verb.map_or_else(|| "man".to_owned(), |verb| format!("man {verb}"));
        assert_eq!(place.brute(&line).out, text, "{line}");
    }
    place.write("file", "");
    insta::assert_snapshot!(
        place.transcript([
            ("no such verb", "man nope", ""),
            ("both", "man compact --out doc", ""),
            ("below a file", "man --out file/man", ""),
        ]),
        @"
    ## no such verb
    exit 2
    error: there is no verb `nope`; there are `compact`, `explain`, `restore`, `count`, `replay`, `orderings`, `advise`, `repair`, `convert`, `truncate`, `check`, `layers`, `plugins`, `config`, `schema`, `init`, `completions`, `man`

    ## both
    exit 2
    error: the argument '[VERB]' cannot be used with '--out <DIR>'

    Usage: brute man <VERB>

    For more information, try '--help'.

    ## below a file
    exit 3
    error: cannot make the folder `file/man`: not a directory
    "
    );
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
      restore      Give back what compactions gave up: a conversation as it was, or one message
      count        Show how large a conversation is, by turn, role and tool
      replay       Show what ladders would have done to recorded sessions, call by call
      orderings    Show what each order of a ladder does to recorded sessions
      advise       Propose a ladder and thresholds for recorded sessions, and say how sure that is
      repair       Make a broken conversation valid, by the least change
      convert      Write a conversation in another provider's format
      truncate     Cap a tool result; the full text goes to disk
      check        Check the configuration
      layers       List all layers and their options
      plugins      Find, look at, trust and test layers in dynamic libraries
      config       Show the configuration, or what one key means
      schema       Print the JSON Schema of brute.toml, for editors
      init         Write a brute.toml to start from
      completions  Print a script that completes brute's arguments in your shell
      man          Print a manual page (roff), or write all of them
      help         Print this message or the help of the given subcommand(s)

    Options:
          --config <FILE>        Configuration to use instead of the nearest brute.toml
          --no-config            Use no configuration file at all, only the defaults and --set
          --set <KEY=VALUE>      Set one key, e.g. --set trigger.compact-at=0.8 (may be repeated)
          --trust-plugins <DIR>  Trust the plugins in this folder for this run (may be repeated; so does
                                 $BRUTE_TRUST_PLUGINS, with absolute paths)
      -q, --quiet                Say less: no progress, no notes on standard error
      -h, --help                 Print help
      -V, --version              Print version

    Exit codes:
      0   done; the conversation fits (or needed nothing)
      1   done, but the conversation is still above target, was not restored byte for byte, could not
          be converted without a change, or needs a repair (`repair --check`); or a replay broke a
          law, or `replay` sent a request over the window
      2   the command line or brute.toml cannot be used
      3   the input cannot be read or is no conversation, or the output or the archive cannot be
          written; nothing was handed out
      4   still above target, and the summarizer failed
      70  a fault of brute itself (please report it)
      130 interrupted; nothing was written
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
