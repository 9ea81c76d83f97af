//! The `brute` command: verbs around `brute-host`, and nothing that an embedder would want.

mod archive;
mod args;
mod exit;
mod grid;
mod output;
mod page;
mod progress;
mod replays;
mod report;
mod reported;
mod session;
mod setup;
mod style;
mod tape;
mod verbs;
mod warnings;

use std::process::ExitCode;

use brute_host::shown::shown_lines;
use clap::{CommandFactory, Parser};

use crate::args::{Cli, Verb};
use crate::exit::{Done, Exit, Failure};

fn main() -> ExitCode {
    let cli = Cli::parse();
    if !cli.global.quiet {
        warnings::show();
    }
    let done = std::panic::catch_unwind(|| run(&cli)).unwrap_or_else(|_| {
        let message = "this is a fault of brute itself; please report it with the lines above";
        Err(Failure { exit: Exit::Bug, message: message.to_owned() })
    });
    match done {
        Ok(exit) => exit.into(),
        Err(Failure { exit, message }) => {
            if !message.is_empty() {
                let message = shown_lines(&message);
                output::say(&format!("{}: {message}", style::styled(style::BAD, "error")));
            }
            exit.into()
        }
    }
}

fn run(cli: &Cli) -> Done {
    match &cli.verb {
        Verb::Compact(args) => verbs::compact::run(&cli.global, args),
        Verb::Explain(args) => verbs::explain::run(&cli.global, args),
        Verb::Convert(args) => verbs::convert::run(&cli.global, args),
        Verb::Repair(args) => verbs::repair::run(&cli.global, args),
        Verb::Restore(args) => verbs::restore::run(&cli.global, args),
        Verb::Count(args) => verbs::count::run(&cli.global, args),
        Verb::Replay(args) => verbs::replay::run(&cli.global, args),
        Verb::Orderings(args) => verbs::orderings::run(&cli.global, args),
        Verb::Advise(args) => verbs::advise::run(&cli.global, args),
        Verb::Truncate(args) => verbs::truncate::run(&cli.global, args),
        Verb::Check(args) => verbs::check::run(&cli.global, args),
        Verb::Layers(args) => verbs::layers::run(&cli.global, args),
        #[cfg(feature = "plugins")]
        Verb::Plugins(args) => verbs::plugins::run(&cli.global, args),
        Verb::Config(args) => verbs::config::run(&cli.global, args),
        Verb::Schema => verbs::config::schema(&cli.global),
        Verb::Init(args) => verbs::init::run(&cli.global, args),
        Verb::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "brute", &mut script);
            output::data(&script).map(|()| Exit::Fitted)
        }
        Verb::Man(args) => verbs::man::run(&cli.global, args),
    }
}
