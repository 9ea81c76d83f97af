//! `cargo xtask ci --fuzz`: each fuzzer in `host/fuzz`, for a while.
//!
//! Nothing of ours is `unsafe` where fuzzers look, so they are built without a sanitizer, which any stable compiler
//! can. What they are built with is installed in an exact version, below the target folder. A fuzzer that finds
//! something leaves the input in `host/fuzz/artifacts`; one that is worth keeping becomes a seed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use crate::{Result, metadata, project};

/// The version that is installed, with the versions of all that it is made of.
const CARGO_FUZZ: &str = "0.13.2";

/// So long each fuzzer runs, unless it is said otherwise.
const EACH: Duration = Duration::from_secs(60);

/// Longer inputs find nothing that short ones do not, and are slow.
const LONGEST_INPUT: &str = "16384";

/// What an input of that length may take, on a machine that has other things to do: anything near it is not linear.
const LIMITS: [&str; 2] = ["-timeout=30", "-rss_limit_mb=2048"];

/// A fuzzer, and what else it begins with beside its own seeds.
struct Fuzzer {
    name: &'static str,
    /// A folder of files that are seeds too, from the root.
    more_seeds: Option<&'static str>,
    /// Words that inputs are made of, in `host/fuzz/dictionaries`.
    words: Option<&'static str>,
}

/// All fuzzers. A test holds them against the manifest that has them.
const FUZZERS: [Fuzzer; 7] = [
    Fuzzer { name: "formats", more_seeds: None, words: Some("formats.dict") },
    Fuzzer {
        name: "transcripts",
        more_seeds: Some("host/tests/transcripts"),
        words: Some("transcripts.dict"),
    },
    Fuzzer { name: "session-log", more_seeds: None, words: Some("records.dict") },
    Fuzzer { name: "archive", more_seeds: None, words: Some("records.dict") },
    Fuzzer { name: "plans", more_seeds: None, words: None },
    Fuzzer { name: "truncation", more_seeds: None, words: None },
    Fuzzer { name: "config", more_seeds: Some("examples/ladders"), words: Some("config.dict") },
];

/// What the arguments behind `--fuzz` ask for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    each: Duration,
    only: Option<String>,
}

/// Runs the fuzzers, or says why this machine has none: that is no failure.
pub(crate) fn run(args: &[&str]) -> Result {
    let Wanted { each, only } = wanted(args)?;
    let fuzzers: Vec<&Fuzzer> = FUZZERS
        .iter()
        .filter(|fuzzer| only.as_ref().is_none_or(|name| name == fuzzer.name))
        .collect();
    let target = metadata::workspace(&project::root())?.target;
    let tool = match tool(&target)? {
        Ok(tool) => tool,
        Err(why) => {
            eprintln!("== fuzz: SKIPPED, no fuzzer was run: {why}");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let mut build = cargo_fuzz(&tool, "build", &target);
    project::run(&mut build)?;
    let mut failed = Vec::new();
    for fuzzer in &fuzzers {
        eprintln!("\n== fuzz {}: {} s", fuzzer.name, each.as_secs());
        if let Err(why) = project::run(&mut fuzzing(&tool, &target, fuzzer, each)?) {
            eprintln!("xtask: {why}");
            failed.push(fuzzer.name);
        }
    }
    if failed.is_empty() {
        eprintln!("== fuzz: {} of {} found nothing", fuzzers.len(), fuzzers.len());
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("== fuzz: FAILED: {}; the inputs are in `host/fuzz/artifacts`", failed.join(", "));
    Ok(ExitCode::FAILURE)
}

fn wanted(args: &[&str]) -> Result<Wanted> {
    const USAGE: &str = "usage: cargo xtask ci --fuzz [SECONDS] [FUZZER]";
    let mut wanted = Wanted { each: EACH, only: None };
    for arg in args {
        if let Ok(seconds) = arg.parse() {
            wanted.each = Duration::from_secs(seconds);
        } else if wanted.only.is_none() && FUZZERS.iter().any(|fuzzer| fuzzer.name == *arg) {
            wanted.only = Some((*arg).to_owned());
        } else {
            let known: Vec<&str> = FUZZERS.iter().map(|fuzzer| fuzzer.name).collect();
            return Err(format!("{USAGE}; the fuzzers are {}", known.join(", ")));
        }
    }
    Ok(wanted)
}

fn folder() -> PathBuf {
    project::root().join("host/fuzz")
}

/// The program that builds fuzzers, or why there is none.
fn tool(target: &Path) -> Result<std::result::Result<PathBuf, String>> {
    if !cfg!(unix) {
        return Ok(Err("what fuzzers are linked with is for Unix".to_owned()));
    }
    // What they are linked with is written in C++.
    let compiler = std::env::var_os("CXX").unwrap_or_else(|| "c++".into());
    if !says(Command::new(&compiler).arg("--version"), "") {
        return Ok(Err(format!("there is no C++ compiler `{}`", compiler.to_string_lossy())));
    }
    let root = target.join("fuzz-tools");
    let tool = root.join("bin/cargo-fuzz");
    if says(Command::new(&tool).arg("--version"), CARGO_FUZZ) {
        return Ok(Ok(tool));
    }
    let mut install = project::cargo();
    install.args(["install", "cargo-fuzz", "--locked", "--force", "--version", CARGO_FUZZ]);
    install.arg("--root").arg(&root).arg("--target-dir").arg(root.join("build"));
    let line = project::shown(&install);
    let status = install.status().map_err(|error| format!("could not start {line}: {error}"))?;
    match status.success() {
        true => Ok(Ok(tool)),
        false => Ok(Err(format!("`cargo-fuzz` {CARGO_FUZZ} cannot be installed: {status}"))),
    }
}

/// Whether a program can be run, and says that.
fn says(command: &mut Command, words: &str) -> bool {
    let output = command.stdin(Stdio::null()).output();
    output.is_ok_and(|output| {
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains(words)
    })
}

/// A call of it. `cargo` below it is the one that runs this.
fn cargo_fuzz(tool: &Path, verb: &str, target: &Path) -> Command {
    let mut command = Command::new(tool);
    command.args([verb, "--sanitizer", "none", "--fuzz-dir"]).arg(folder());
    command.arg("--target-dir").arg(target.join("fuzz")).current_dir(folder());
    command
}

fn fuzzing(tool: &Path, target: &Path, fuzzer: &Fuzzer, each: Duration) -> Result<Command> {
    let corpus = folder().join("corpus").join(fuzzer.name);
    std::fs::create_dir_all(&corpus).map_err(|error| format!("`{}`: {error}", corpus.display()))?;
    let mut command = cargo_fuzz(tool, "run", target);
    // What is found is kept in the first folder, the others are only read.
    command.arg(fuzzer.name).arg(corpus).arg(folder().join("seeds").join(fuzzer.name));
    command.args(fuzzer.more_seeds.map(|seeds| project::root().join(seeds)));
    command.args(["--", &format!("-max_total_time={}", each.as_secs())]);
    command.arg(format!("-max_len={LONGEST_INPUT}")).args(LIMITS);
    command.args(["-print_final_stats=1", "-verbosity=0"]);
    if let Some(words) = fuzzer.words {
        let words = folder().join("dictionaries").join(words);
        command.arg(format!("-dict={}", words.display()));
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fuzzers_are_those_of_the_manifest() {
        let manifest = std::fs::read_to_string(folder().join("Cargo.toml")).unwrap();
        let bins = manifest.split("[[bin]]").skip(1);
        let names: Vec<&str> = bins.filter_map(|bin| bin.split('"').nth(1)).collect();
        assert_eq!(names, FUZZERS.each_ref().map(|fuzzer| fuzzer.name));
    }

    #[test]
    fn what_they_begin_with_is_there() {
        for fuzzer in &FUZZERS {
            let seeds = [
                Some(folder().join("seeds").join(fuzzer.name)),
                fuzzer.more_seeds.map(|seeds| project::root().join(seeds)),
            ];
            for seeds in seeds.into_iter().flatten() {
                assert!(std::fs::read_dir(&seeds).unwrap().next().is_some(), "{}", seeds.display());
            }
            if let Some(words) = fuzzer.words {
                assert!(folder().join("dictionaries").join(words).is_file(), "{words}");
            }
        }
    }

    #[test]
    fn time_and_fuzzer_can_be_named() {
        let all = Wanted { each: EACH, only: None };
        assert_eq!(wanted(&[]), Ok(all));
        let one = Wanted { each: Duration::from_secs(600), only: Some("plans".to_owned()) };
        assert_eq!(wanted(&["600", "plans"]), Ok(one));
        for args in [&["plan"][..], &["-1"], &["plans", "config"]] {
            assert!(wanted(args).unwrap_err().contains("transcripts, session-log"), "{args:?}");
        }
    }
}
