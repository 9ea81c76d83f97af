//! Automation for this repository: `cargo xtask VERB`.
//!
//! One module per verb; this file only dispatches. It links none of the project's crates, so that it builds in
//! seconds and still runs when they do not compile: what it needs of them it gets by calling cargo and `brute`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "printing is how a verb answers")]

mod bench;
mod ci;
mod codegen;
mod first_look;
mod folders;
mod fuzz;
mod metadata;
mod mock_server;
mod model_server;
mod new_plugin;
mod orderings;
mod plugins;
mod project;
mod sample;
mod server;
mod tidy;

use std::process::ExitCode;

/// What a verb answers: an exit code when it has said everything itself, or the one line that says what went wrong.
type Result<T = ExitCode> = std::result::Result<T, String>;

/// A verb of `cargo xtask`.
struct Verb {
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    run: fn(&[String]) -> Result,
}

/// Every verb, in the order in which `help` lists them. `tidy` holds the documents against this table.
const VERBS: &[Verb] = &[
    Verb {
        name: "ci",
        usage: "[--step NAME | --list | --fuzz [SECONDS] [FUZZER]]",
        summary: "everything that must pass before a change goes in",
        run: ci::run,
    },
    Verb {
        name: "tidy",
        usage: "",
        summary: "check the rules that no compiler checks: arrows between crates, `unsafe`, sizes, docs",
        run: tidy::run,
    },
    Verb {
        name: "codegen",
        usage: "[--check]",
        summary: "write the files that `brute` derives from its own tables, or check that they are current",
        run: codegen::run,
    },
    Verb {
        name: "plugins",
        usage: "[--release] [--out DIR]",
        summary: "build all plugins and put their libraries into a folder (default: `target/plugins`)",
        run: plugins::run,
    },
    Verb {
        name: "new-plugin",
        usage: "NAME [--dir DIR [--git URL]]",
        summary: "make the crate of a new layer, in `plugins/` or as a crate of its own in DIR",
        run: new_plugin::run,
    },
    Verb {
        name: "bench",
        usage: "[FILTER]",
        summary: "run the benches of all crates, or those whose name contains FILTER",
        run: bench::run,
    },
    Verb {
        name: "cases",
        usage: "[DIR] [--release]",
        summary: "run the fault cases of a folder (default: what the test itself looks for)",
        run: folders::cases,
    },
    Verb {
        name: "corpus",
        usage: "[DIR] [--release]",
        summary: "run every recorded session of a folder through the ladder (default as for `cases`)",
        run: folders::corpus,
    },
    Verb {
        name: "orderings",
        usage: "[SESSION|DIR]… [--first-look | OPTION…]",
        summary: "show what each order of a ladder does to the sessions that ship, or to those that are named",
        run: orderings::run,
    },
    Verb {
        name: "model-server",
        usage: model_server::USAGE,
        summary: "a small language model behind a real server on this machine, to try an agent and summaries against",
        run: model_server::run,
    },
    Verb {
        name: "sample",
        usage: "[FILE]",
        summary: "compact and explain a session that ships, with a release build of `brute`",
        run: sample::run,
    },
    Verb { name: "help", usage: "", summary: "list the verbs", run: help },
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (name, rest) = match args.split_first() {
        None => ("help", &[][..]),
        Some((first, _)) if matches!(first.as_str(), "-h" | "--help") => ("help", &[][..]),
        Some((first, rest)) => (first.as_str(), rest),
    };
    let answer = match VERBS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(rest),
        None => Err(format!("no verb `{name}`; `cargo xtask help` lists them")),
    };
    answer.unwrap_or_else(|error| {
        eprintln!("xtask: {error}");
        ExitCode::FAILURE
    })
}

/// `cargo xtask help`: a line for each verb.
fn help(_: &[String]) -> Result {
    println!("usage: cargo xtask VERB\n");
    let calls: Vec<String> =
        VERBS.iter().map(|verb| format!("{} {}", verb.name, verb.usage)).collect();
    let width = calls.iter().map(String::len).max().unwrap_or(0);
    for (verb, call) in VERBS.iter().zip(&calls) {
        println!("  {call:width$}  {}", verb.summary);
    }
    Ok(ExitCode::SUCCESS)
}
