//! `cargo xtask bench`: the benches of all crates, with one filter.

use std::process::{Command, ExitCode};

use crate::metadata::Package;
use crate::{Result, metadata, project};

/// Runs every bench target of the workspace; what follows the verb goes to the benches, a filter first of all.
pub(crate) fn run(args: &[String]) -> Result {
    let packages = metadata::workspace(&project::root())?.packages;
    let mut command = project::cargo();
    if !select(&mut command, &packages, args) {
        return Err("no crate of the workspace has a bench target".to_owned());
    }
    project::run(&mut command)?;
    Ok(ExitCode::SUCCESS)
}

/// Completes the call of `cargo bench`; whether there is anything to run.
///
/// The targets are named one by one, because without a name cargo also runs the unit tests of each crate as benches.
fn select(command: &mut Command, packages: &[Package], args: &[String]) -> bool {
    command.args(["bench", "--all-features"]);
    let mut any = false;
    for package in packages.iter().filter(|package| !package.benches.is_empty()) {
        any = true;
        command.args(["--package", &package.name]);
        for bench in &package.benches {
            command.args(["--bench", bench]);
        }
    }
    command.arg("--").args(args);
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_crates_with_benches_are_called() {
        let package = |name: &str, benches: &[&str]| Package {
            benches: benches.iter().map(ToString::to_string).collect(),
            ..Package::bare(name, name)
        };
        let packages = [package("one", &["a", "b"]), package("two", &[]), package("three", &["c"])];
        let mut command = Command::new("cargo");
        assert!(select(&mut command, &packages, &["trigger".to_owned()]));
        assert_eq!(
            project::shown(&command),
            "`cargo bench --all-features --package one --bench a --bench b --package three --bench c -- trigger`"
        );
        assert!(!select(&mut Command::new("cargo"), &packages[1..2], &[]));
    }
}
