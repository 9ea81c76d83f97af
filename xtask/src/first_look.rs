//! What `cargo xtask orderings` shows on a clone where nothing is built yet.
//!
//! The release build of `brute` and the plugins take minutes. So what was measured over real sessions before is shown at
//! once, as the documents have it; then, after a minute, what a `brute` that asks no servers and is not optimized makes
//! of the sessions asked for, which is most of what there is to say. Everything of it goes to standard error, since it
//! is not the answer, and nothing of it fails the verb.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::{Result, orderings, project};

/// The profile of the root manifest, and what is left out of `brute`.
const BUILD: [&str; 3] = ["--profile", "quick", "--no-default-features"];

/// What makes the run short: one size, tokens by the number of characters, and only the rungs that ship.
const RUN: [&str; 5] =
    ["--known-only", "--room", "50%", "--set", "window.counter = \"approximate\""];

/// What has the orders of the ladder that is the default, measured over real sessions.
const MEASURED: &str = "docs/orderings.md";

const HEADING: &str = "\
== a first look: without plugins (the rungs warned of below are left out), at one size, tokens estimated ==";

/// Whether there is nothing yet to show the whole table with.
pub(crate) fn is_due(target: &Path) -> bool {
    let is_empty =
        |folder: &Path| fs::read_dir(folder).map_or(true, |mut files| files.next().is_none());
    !target.join("release").join(format!("brute{EXE_SUFFIX}")).is_file()
        || is_empty(&target.join("plugins"))
}

/// What `brute orderings` is called with for a first look. Nothing if more is asked for than a table: whoever wants
/// a document, laws checked or sizes of their own wants those, and not something else before.
fn arguments(args: &[String]) -> Option<Vec<String>> {
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.as_str() {
            "--ladder" => drop(rest.next()?),
            option if option.starts_with('-') && !option.starts_with("--ladder=") => return None,
            _ => {}
        }
    }
    let own = RUN.map(str::to_owned);
    Some(orderings::arguments(args).into_iter().chain(own).collect())
}

/// The option that asks for the first table and no other.
pub(crate) const OPTION: &str = "--first-look";

/// Shows the first table as the answer, which `OPTION` asks for.
pub(crate) fn alone(args: &[String]) -> Result {
    let args: Vec<String> = args.iter().filter(|arg| *arg != OPTION).cloned().collect();
    let arguments = arguments(&args)
        .ok_or_else(|| format!("`{OPTION}` goes with sessions and `--ladder`, and nothing else"))?;
    table(&arguments, Stdio::inherit())?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the first table on standard error, while all else is still to be built.
pub(crate) fn show(args: &[String]) {
    let Some(arguments) = arguments(args) else { return };
    let measured = fs::read_to_string(project::root().join(MEASURED)).unwrap_or_default();
    if let Some(table) = first_table(&measured) {
        eprintln!("== measured before, over real sessions: `{MEASURED}` tells of it ==\n{table}\n");
    }
    eprintln!("xtask: a small `brute` for a first look, then all of it and the plugins");
    match table(&arguments, io::stderr().into()) {
        Ok(()) => {
            eprintln!("\n== now the plugins and the whole of `brute`, which takes minutes ==");
        }
        Err(why) => eprintln!("xtask: no first look: {why}; the table comes when all is built"),
    }
}

/// The first table of a Markdown text, its columns below each other.
fn first_table(text: &str) -> Option<String> {
    let rows = text.lines().skip_while(|line| !line.starts_with('|'));
    let rows: Vec<Vec<&str>> = rows
        .take_while(|line| line.starts_with('|'))
        .filter(|line| !line.starts_with("|--"))
        .map(|line| {
            line.trim_matches('|').split('|').map(|cell| cell.trim_matches([' ', '*'])).collect()
        })
        .collect();
    let columns = rows.first()?.len();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<&str>| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    Some(rows.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Builds the small `brute` and has it write the table to `out`.
fn table(arguments: &[String], out: Stdio) -> Result<()> {
    let brute = project::build_brute(&BUILD)?;
    eprintln!("\n{HEADING}");
    let mut command = Command::new(brute);
    command.current_dir(project::root()).arg("orderings").args(arguments).stdout(out);
    project::run(&mut command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_for_whoever_asks_for_a_table() {
        let called = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            arguments(&words).map(|arguments| arguments.join(" "))
        };
        let own = RUN.join(" ");
        for (line, expected) in [
            ("", "examples/sessions --ladder xtask/src/orderings.toml"),
            ("mine", "mine --ladder xtask/src/orderings.toml"),
            ("a b --ladder l.toml", "a b --ladder l.toml"),
            ("--ladder=l.toml", "examples/sessions --ladder=l.toml"),
        ] {
            assert_eq!(called(line), Some(format!("{expected} {own}")), "{line}");
        }
        for line in
            ["--json", "--html x.html", "mine --check laws.toml", "-q", "--room 25%", "--ladder"]
        {
            assert_eq!(called(line), None, "{line}");
        }
        assert!(alone(&[OPTION.to_owned(), "--json".to_owned()]).unwrap_err().contains(OPTION));
    }

    #[test]
    fn it_is_due_until_all_is_built() {
        let target = tempfile::tempdir().unwrap();
        let (release, plugins) = (target.path().join("release"), target.path().join("plugins"));
        assert!(is_due(target.path()));
        fs::create_dir(&release).unwrap();
        fs::write(release.join(format!("brute{EXE_SUFFIX}")), "").unwrap();
        assert!(is_due(target.path()));
        fs::create_dir(&plugins).unwrap();
        assert!(is_due(target.path()));
        fs::write(plugins.join("libstale_reads.so"), "").unwrap();
        assert!(!is_due(target.path()));
        fs::remove_dir_all(&release).unwrap();
        assert!(is_due(target.path()));
    }

    #[test]
    fn what_was_measured_before_is_shown() {
        let text = "# Orders\n\n| order | recall |\n|---|--:|\n| **a › b** | 7 % |\n| b | 10.5 % |\n\n| x |\n";
        let table = "order  recall\na › b     7 %\nb      10.5 %";
        assert_eq!(first_table(text).as_deref(), Some(table));
        assert_eq!(first_table("no table"), None);
        let measured = fs::read_to_string(project::root().join(MEASURED)).unwrap();
        assert!(first_table(&measured).is_some_and(|table| table.contains("recall")));
    }

    #[test]
    fn the_profile_is_there() {
        let manifest = fs::read_to_string(project::root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains(&format!("[profile.{}]", BUILD[1])));
    }
}
