//! `cargo xtask ci`: everything that must pass before a change goes in, the cheapest first.
//!
//! The tests come last, so that a run ends with what they say; its very last line is `N passed, N failed` over all test
//! binaries and doctests. Fuzzers are not among the steps: a minute each is for when readers change.

use std::io::{BufRead, BufReader, Write};
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::{
    Result, codegen, first_look, fuzz, mock_server, model_server, orderings, project, tidy,
};

/// A step of the run.
struct Step {
    name: &'static str,
    work: Work,
}

/// What a step does.
enum Work {
    /// Calls cargo with these arguments, and with these variables set.
    Cargo { args: &'static [&'static str], env: &'static [(&'static str, &'static str)] },
    /// As `Cargo`, and adds up what the tests report.
    Tests { args: &'static [&'static str], env: &'static [(&'static str, &'static str)] },
    /// Another verb of this program.
    Verb { name: &'static str, args: &'static [&'static str], run: fn(&[String]) -> Result },
    /// Something that not every machine can do; says why, if this one cannot.
    Where { what: &'static str, run: fn() -> Result<Option<String>> },
}

/// How a step ended.
enum Ended {
    Passed,
    Failed,
    /// The machine cannot do it, and why.
    Skipped(String),
}

impl Work {
    /// The work as one would type it.
    fn shown(&self) -> String {
        match self {
            Self::Cargo { args, env } | Self::Tests { args, env } => {
                let mut line = String::new();
                for (name, value) in *env {
                    line.push_str(&format!("{name}=\"{value}\" "));
                }
                line + "cargo " + &args.join(" ")
            }
            Self::Verb { name, args, .. } => [&["cargo", "xtask", name], *args].concat().join(" "),
            Self::Where { what, .. } => (*what).to_owned(),
        }
    }
}

/// The steps. `build` builds what ships, with the features that ship, and `codegen` runs the `brute` that it made;
/// `test` builds with all features, as `clippy` checked them; `first` builds and runs the small `brute` that `lean`
/// checked. Nothing builds in release mode.
static STEPS: &[Step] = &[
    Step { name: "fmt", work: Work::Cargo { args: &["fmt", "--all", "--check"], env: &[] } },
    Step { name: "tidy", work: Work::Verb { name: "tidy", args: &[], run: tidy::run } },
    Step {
        name: "clippy",
        work: Work::Cargo {
            args: &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--all-features",
                "--",
                "-D",
                "warnings",
            ],
            env: &[],
        },
    },
    // Without the features that are on by default, as who needs neither servers nor plugins builds it.
    Step {
        name: "lean",
        work: Work::Cargo {
            args: &[
                "clippy",
                "--package",
                "brute-cli",
                "--package",
                "brute-host",
                "--no-default-features",
                "--profile",
                "quick",
                "--",
                "-D",
                "warnings",
            ],
            env: &[],
        },
    },
    Step {
        name: "doc",
        work: Work::Cargo {
            args: &["doc", "--workspace", "--all-features", "--no-deps"],
            env: &[("RUSTDOCFLAGS", "-D warnings")],
        },
    },
    Step { name: "build", work: Work::Cargo { args: &["build", "--workspace"], env: &[] } },
    Step {
        name: "codegen",
        work: Work::Verb { name: "codegen", args: &["--check"], run: codegen::run },
    },
    Step {
        name: "first",
        work: Work::Verb { name: "orderings", args: &[first_look::OPTION], run: orderings::run },
    },
    Step {
        name: "contract",
        work: Work::Where {
            what: "the model backends, against a server of others that answers as the providers do",
            run: mock_server::test,
        },
    },
    Step {
        name: "model",
        work: Work::Where {
            what: "the agent in `examples/` and the model backends, against a real model server",
            run: model_server::test,
        },
    },
    Step {
        name: "test",
        work: Work::Tests {
            args: &["test", "--workspace", "--all-features", "--no-fail-fast"],
            // A snapshot that differs is a failure here, not a new file in the tree.
            env: &[("INSTA_UPDATE", "no")],
        },
    },
];

/// Runs all steps, or the one that `--step` names, or the fuzzers; `--list` prints the steps.
pub(crate) fn run(args: &[String]) -> Result {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let steps: Vec<&Step> = match args[..] {
        [] => STEPS.iter().collect(),
        ["--list"] => {
            for step in STEPS {
                println!("{:8} {}", step.name, step.work.shown());
            }
            return Ok(ExitCode::SUCCESS);
        }
        ["--step", name] => vec![step_named(name)?],
        ["--fuzz", ref rest @ ..] => return fuzz::run(rest),
        _ => {
            return Err("usage: cargo xtask ci [--step NAME | --list | --fuzz [SECONDS] [FUZZER]]"
                .to_owned());
        }
    };

    let start = Instant::now();
    let mut tally = None;
    let mut skipped = Vec::new();
    for step in &steps {
        eprintln!("\n== {}: {}", step.name, step.work.shown());
        let begun = Instant::now();
        let ended = take(step, &mut tally).unwrap_or_else(|error| {
            eprintln!("xtask: {error}");
            Ended::Failed
        });
        let (name, time) = (step.name, seconds(begun.elapsed()));
        match ended {
            Ended::Passed => eprintln!("== {name}: ok in {time}"),
            Ended::Failed => {
                eprintln!(
                    "== {name}: FAILED after {time}; to run this step alone: cargo xtask ci --step {name}"
                );
                return Ok(conclude(tally, false));
            }
            Ended::Skipped(why) => {
                let line = format!("== {name}: SKIPPED, {} was not run: {why}", step.work.shown());
                eprintln!("{line}");
                skipped.push(line);
            }
        }
    }
    if steps.len() > 1 {
        let passed = steps.len() - skipped.len();
        let (of, time) = (steps.len(), seconds(start.elapsed()));
        eprintln!("== ci: {passed} of {of} steps passed in {time}, none failed");
        // Said once more where it is read.
        for line in skipped {
            eprintln!("{line}");
        }
    }
    Ok(conclude(tally, true))
}

fn step_named(name: &str) -> Result<&'static Step> {
    STEPS.iter().find(|step| step.name == name).ok_or_else(|| {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        format!("no step `{name}`; the steps are {}", known.join(", "))
    })
}

/// Does a step's work.
fn take(step: &Step, tally: &mut Option<Tally>) -> Result<Ended> {
    let is_passed = match step.work {
        Work::Cargo { args, env } => {
            let mut command = project::cargo();
            command.args(args).envs(env.iter().copied());
            let line = project::shown(&command);
            let status =
                command.status().map_err(|error| format!("could not start {line}: {error}"))?;
            status.success()
        }
        Work::Tests { args, env } => {
            let (counted, passed) = test(args, env)?;
            *tally = Some(counted);
            passed
        }
        Work::Verb { args, run, .. } => {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            run(&args)? == ExitCode::SUCCESS
        }
        Work::Where { run, .. } => match run()? {
            Some(why) => return Ok(Ended::Skipped(why)),
            None => true,
        },
    };
    Ok(if is_passed { Ended::Passed } else { Ended::Failed })
}

/// Runs the tests, passes on what they print as they print it, and adds up their results.
fn test(args: &[&str], env: &[(&str, &str)]) -> Result<(Tally, bool)> {
    let mut command = project::cargo();
    command.args(args).envs(env.iter().copied()).stdout(Stdio::piped());
    let line = project::shown(&command);
    let mut child = command.spawn().map_err(|error| format!("could not start {line}: {error}"))?;
    let mut tally = Tally::default();
    if let Some(stdout) = child.stdout.take() {
        tally = pass_on(BufReader::new(stdout), std::io::stdout().lock())
            .map_err(|error| format!("could not pass on the output of {line}: {error}"))?;
    }
    let status = child.wait().map_err(|error| format!("lost {line}: {error}"))?;
    if !status.success() && tally.failed == 0 {
        // A test binary that died, or did not build, reports no result; it must not
        // look like a run without failures.
        tally.failed = 1;
    }
    Ok((tally, status.success()))
}

/// Copies the output of tests line by line, and adds up the results in it.
fn pass_on(mut from: impl BufRead, mut to: impl Write) -> std::io::Result<Tally> {
    let mut tally = Tally::default();
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        tally.add(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(tally)
}

/// Prints the last line, and turns the outcome into the exit code.
fn conclude(tally: Option<Tally>, passed: bool) -> ExitCode {
    if let Some(Tally { passed, failed }) = tally {
        println!("{passed} passed, {failed} failed");
    }
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// How many tests passed and failed, over all binaries and doctests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
}

impl Tally {
    /// Counts a line in if it is a test binary's `test result:`.
    fn add(&mut self, line: &str) {
        let Some(result) = line.trim().strip_prefix("test result: ") else { return };
        let Some((_, counts)) = result.split_once(". ") else { return };
        for count in counts.split(';') {
            match count.trim().split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_add_up_and_the_output_passes_unchanged() {
        let output = concat!(
            "running 3 tests\n",
            "test a ... ok\n",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s\n",
            "a line \u{e9} that says 7 passed; 9 failed\n",
            "test result: FAILED. 40 passed; 2 failed; 0 ignored; 0 measured; 5 filtered out; finished in 1.20s\n",
            "no line feed at the end",
        );
        let mut copy = Vec::new();
        let tally = pass_on(output.as_bytes(), &mut copy).unwrap();
        assert_eq!(tally, Tally { passed: 43, failed: 2 });
        assert_eq!(copy, output.as_bytes());
    }

    #[test]
    fn lines_that_are_no_result_count_nothing() {
        for line in ["", "test result", "test result: ok", "test result: ok. x passed; y failed"] {
            let mut tally = Tally::default();
            tally.add(line);
            assert_eq!(tally, Tally::default(), "{line}");
        }
    }

    #[test]
    fn steps_have_names_of_their_own_and_the_tests_are_last() {
        for step in STEPS {
            assert!(std::ptr::eq(step_named(step.name).unwrap(), step), "{}", step.name);
        }
        assert!(step_named("deploy").err().unwrap().contains("fmt, tidy"));
        assert!(matches!(STEPS.last().unwrap().work, Work::Tests { .. }));
    }

    #[test]
    fn work_is_shown_as_typed() {
        assert_eq!(step_named("codegen").unwrap().work.shown(), "cargo xtask codegen --check");
        assert!(
            step_named("doc")
                .unwrap()
                .work
                .shown()
                .starts_with("RUSTDOCFLAGS=\"-D warnings\" cargo doc")
        );
    }
}
