//! The command line.

mod formats;

pub(crate) use formats::{Convert, Pick, Reading, Repair};

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use self::formats::formats;
use crate::verbs::advise::Advise;
use crate::verbs::init::Init;
use crate::verbs::orderings::Orderings;
#[cfg(feature = "plugins")]
use crate::verbs::plugins::Plugins;
use crate::verbs::replay::Replay;

/// Keeps an agent's conversation within the model's window.
#[derive(Debug, Parser)]
#[command(name = "brute", version, max_term_width = 100, after_help = crate::exit::HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,

    #[command(flatten)]
    pub(crate) global: Global,
}

/// What every verb takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Configuration to use instead of the nearest brute.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    /// Use no configuration file at all, only the defaults and --set
    #[arg(long, global = true, conflicts_with = "config")]
    pub(crate) no_config: bool,

    /// Set one key, e.g. --set trigger.compact-at=0.8 (may be repeated)
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,

    /// Trust the plugins in this folder for this run (may be repeated; so does
    /// $BRUTE_TRUST_PLUGINS, with absolute paths)
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) trust_plugins: Vec<PathBuf>,

    /// Say less: no progress, no notes on standard error
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,

    /// Whether rungs of layers that are not known here are left out; the verbs that can do that say so.
    #[arg(skip)]
    pub(crate) known_only: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Make a conversation fit: conversation in, conversation out
    Compact(Compact),
    /// Show what `compact` would do, rung by rung
    Explain(Explain),
    /// Give back what compactions gave up: a conversation as it was, or one message
    Restore(Restore),
    /// Show how large a conversation is, by turn, role and tool
    Count(Count),
    /// Show what ladders would have done to recorded sessions, call by call
    Replay(Replay),
    /// Show what each order of a ladder does to recorded sessions
    Orderings(Orderings),
    /// Propose a ladder and thresholds for recorded sessions, and say how sure that is
    Advise(Advise),
    /// Make a broken conversation valid, by the least change
    Repair(Repair),
    /// Write a conversation in another provider's format
    Convert(Convert),
    /// Cap a tool result; the full text goes to disk
    Truncate(Truncate),
    /// Check the configuration
    Check(Check),
    /// List all layers and their options
    Layers(Layers),
    /// Find, look at, trust and test layers in dynamic libraries
    #[command(subcommand)]
    #[cfg(feature = "plugins")]
    Plugins(Plugins),
    /// Show the configuration, or what one key means
    Config(Config),
    /// Print the JSON Schema of brute.toml, for editors
    Schema,
    /// Write a brute.toml to start from
    Init(Init),
    /// Print a script that completes brute's arguments in your shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print a manual page (roff), or write all of them
    Man(Man),
}

/// Which conversation, and how to read it.
#[derive(Debug, Args)]
pub(crate) struct Session {
    /// The conversation; `-` for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Its format, if what it looks like is not what it is
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    pub(crate) format: Option<Reading>,

    /// Read all that the log of an agent holds, not only what was still in its context
    #[arg(long)]
    pub(crate) whole: bool,

    /// Which conversation, if the file holds several: its place (from 0), or the name that the file has for it
    #[arg(long, value_name = "N|NAME")]
    pub(crate) pick: Option<Pick>,

    /// Mend what is broken (orphan results, calls without result) and say so
    #[arg(long)]
    pub(crate) repair: bool,
}

/// How much room there is.
#[derive(Debug, Args)]
pub(crate) struct Room {
    /// The model's window, e.g. 128k; overrides brute.toml and the model named in the file
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) window: Option<u64>,

    /// The model, which chooses window and counter; overrides brute.toml and the file
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Compact to this size now, whatever the trigger says
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) to: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    #[command(flatten)]
    pub(crate) session: Session,

    #[command(flatten)]
    pub(crate) room: Room,

    /// Where to write the conversation, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write a report to standard error as JSON, instead of words
    #[arg(long)]
    pub(crate) json: bool,

    /// What summaries are to dwell on in this run
    #[arg(long, value_name = "TEXT")]
    pub(crate) focus: Option<String>,

    #[command(flatten)]
    pub(crate) tape: Tape,

    /// Merge user messages that a compaction brought together, for back ends that want roles to alternate
    #[arg(long)]
    pub(crate) alternate_roles: bool,

    #[command(flatten)]
    pub(crate) archiving: Archiving,
}

/// A run with a model that can be repeated without one.
#[derive(Debug, Args)]
pub(crate) struct Tape {
    /// Write what the summarizer is asked and answers to this new file
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,

    /// Ask no summarizer: repeat the run that was recorded in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) replay: Option<PathBuf>,
}

/// Which archive, and what of it.
#[derive(Debug, Args)]
pub(crate) struct Archiving {
    /// The folder of the archive, instead of `[archive] folder` in brute.toml
    #[arg(long, value_name = "DIR")]
    pub(crate) archive: Option<PathBuf>,

    /// The name of the session in the archive, if it is not to be told by the conversation
    #[arg(long = "session", value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// A compacted conversation (`-` for standard input), or the handle that a placeholder names
    #[arg(value_name = "FILE|HANDLE")]
    pub(crate) what: PathBuf,

    #[command(flatten)]
    pub(crate) archiving: Archiving,

    /// Which conversation, if the file holds several: its place (from 0), or the name that the file has for it
    #[arg(long, value_name = "N|NAME")]
    pub(crate) pick: Option<Pick>,

    /// Only this message of the restored conversation: its index (from 0), a JSON pointer, or a handle
    #[arg(long, value_name = "INDEX|POINTER|HANDLE")]
    pub(crate) message: Option<String>,

    /// Only these lines of a text, from 1, e.g. 10-20, 10- or 10
    #[arg(long, value_name = "A-B", value_parser = lines)]
    pub(crate) lines: Option<RangeInclusive<usize>>,

    /// Only the lines of a text that hold these very words, with their numbers
    #[arg(long, value_name = "TEXT")]
    pub(crate) grep: Option<String>,

    /// Where to write it, instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    pub(crate) session: Session,

    #[command(flatten)]
    pub(crate) room: Room,

    /// What the provider counted for the last request in the file and its reply; else as the file has it
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) reported: Option<u64>,

    /// What summaries are to dwell on in this run
    #[arg(long, value_name = "TEXT")]
    pub(crate) focus: Option<String>,

    #[command(flatten)]
    pub(crate) tape: Tape,

    /// Show which messages went, came and changed
    #[arg(long)]
    pub(crate) diff: bool,

    /// Write a page, on which each message can be read before and after, to this file as well
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Count {
    #[command(flatten)]
    pub(crate) session: Session,

    #[command(flatten)]
    pub(crate) room: Room,

    /// What to add up by
    #[arg(long, value_enum, default_value_t = By::All)]
    pub(crate) by: By,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Everything below
    All,
    /// Turn by turn
    Turn,
    /// By role
    Role,
    /// By tool: calls and results
    Tool,
}

#[derive(Debug, Args)]
pub(crate) struct Truncate {
    /// The tool result; standard input if none or `-`
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// The tool it comes from, for limits of its own in [truncate.tools]
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,

    /// Write a report to standard error as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The file to check, instead of the nearest brute.toml; the same as --config FILE
    #[arg(value_name = "FILE", conflicts_with_all = ["config", "no_config"])]
    pub(crate) file: Option<PathBuf>,

    /// Fail on warnings, too
    #[arg(long)]
    pub(crate) deny_warnings: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Layers {
    /// One layer in full
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Config {
    /// What this key means, e.g. trigger.compact-at
    #[arg(value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// Every value in force, and where it comes from
    #[arg(long)]
    pub(crate) resolved: bool,

    /// The defaults, with a comment over every key
    #[arg(long)]
    pub(crate) defaults: bool,

    /// The whole reference as Markdown
    #[arg(long)]
    pub(crate) reference: bool,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Man {
    /// The page of this verb, instead of brute's own
    #[arg(value_name = "VERB")]
    pub(crate) verb: Option<String>,

    /// Write all pages to this folder: brute.1, brute-compact.1 and so on
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// A number of tokens: `32000`, `32_000`, `32k`, `1m`.
pub(crate) fn tokens(text: &str) -> Result<u64, String> {
    let plain = text.trim().to_ascii_lowercase().replace('_', "");
    let (digits, unit) = match plain.strip_suffix(['k', 'm']) {
        Some(digits) if plain.ends_with('k') => (digits, 1_000.0),
        Some(digits) => (digits, 1_000_000.0),
        None => (plain.as_str(), 1.0),
    };
    let expected =
        || format!("expected a number of tokens like 32000, 32_000 or 32k, not `{text}`");
    let number: f64 = digits.parse().map_err(|_| expected())?;
    let tokens = number * unit;
    // Beyond 2^53 a float no longer holds every whole number; no window is near that.
    if tokens.fract() != 0.0 || !(1.0..9e15).contains(&tokens) {
        return Err(expected());
    }
    Ok(tokens as u64)
}

/// A range of lines: `10-20`, `10-`, `10`.
fn lines(text: &str) -> Result<RangeInclusive<usize>, String> {
    let number = |text: &str| text.trim().parse().ok().filter(|line| *line > 0);
    let range = match text.split_once('-') {
        Some((first, "")) => number(first).map(|first| first..=usize::MAX),
        Some((first, last)) => number(first).zip(number(last)).map(|(first, last)| first..=last),
        None => number(text).map(|line| line..=line),
    };
    range
        .filter(|range| !range.is_empty())
        .ok_or_else(|| format!("expected lines like 10-20, 10- or 10, from 1, not `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn ranges_of_lines() {
        for (text, range) in
            [("10-20", 10..=20), ("3", 3..=3), ("7-", 7..=usize::MAX), ("1-1", 1..=1)]
        {
            assert_eq!(lines(text), Ok(range), "{text}");
        }
        for text in ["", "-", "0", "0-3", "-3", "5-4", "a-b", "1-2-3"] {
            assert!(lines(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_of_tokens() {
        for (text, number) in
            [("8000", 8_000), ("8_000", 8_000), ("8k", 8_000), ("1.5M", 1_500_000)]
        {
            assert_eq!(tokens(text), Ok(number), "{text}");
        }
        for text in ["", "0", "-1", "k", "1.5", "1e999", "nan", "8kb", "99999999999999999999"] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }
}
