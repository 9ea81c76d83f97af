//! `cargo xtask cases` and `cargo xtask corpus`: the test targets that read a folder from outside of the tree.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::{Result, project};

/// Runs the fault cases of a folder.
pub(crate) fn cases(args: &[String]) -> Result {
    run("cases", "BRUTE_CASES", args)
}

/// Runs the recorded sessions of a folder.
pub(crate) fn corpus(args: &[String]) -> Result {
    run("corpus", "BRUTE_CORPUS", args)
}

fn run(target: &str, variable: &str, args: &[String]) -> Result {
    let mut command = project::cargo();
    select(&mut command, target, variable, args)?;
    project::run(&mut command)?;
    Ok(ExitCode::SUCCESS)
}

/// Completes the call of `cargo test`. Without a folder the variable stays as it is in the environment.
fn select(command: &mut Command, target: &str, variable: &str, args: &[String]) -> Result<()> {
    command.args(["test", "--package", "brute-cli", "--test", target]);
    let mut folder = None;
    for arg in args {
        match arg.as_str() {
            "--release" => {
                command.arg("--release");
            }
            dir if folder.is_none() && !dir.starts_with('-') => folder = Some(dir),
            _ => return Err(format!("usage: cargo xtask {target} [DIR] [--release]")),
        }
    }
    if let Some(dir) = folder {
        // Absolute, because cargo starts a test in the folder of its crate.
        let path = Path::new(dir);
        let path = path.canonicalize().map_err(|error| format!("folder `{dir}`: {error}"))?;
        if !path.is_dir() {
            return Err(format!("`{dir}` is not a folder"));
        }
        command.env(variable, path);
    }
    command.args(["--", "--nocapture"]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(args: &[&str]) -> Result<Command> {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let mut command = Command::new("cargo");
        select(&mut command, "cases", "BRUTE_CASES", &args).map(|()| command)
    }

    #[test]
    fn the_folder_goes_into_the_variable() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("..").join(folder.path().file_name().unwrap());
        let command = selected(&[dir.to_str().unwrap(), "--release"]).unwrap();
        assert_eq!(
            project::shown(&command),
            "`cargo test --package brute-cli --test cases --release -- --nocapture`"
        );
        let set: Vec<_> = command.get_envs().collect();
        let expected = folder.path().canonicalize().unwrap();
        assert_eq!(set, [("BRUTE_CASES".as_ref(), Some(expected.as_os_str()))]);
    }

    #[test]
    fn without_a_folder_the_environment_decides() {
        assert_eq!(selected(&[]).unwrap().get_envs().count(), 0);
    }

    #[test]
    fn what_is_no_folder_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let file = file.path().to_str().unwrap();
        for (args, says) in [
            (&["/no/such/folder"][..], "/no/such/folder"),
            (&[file], "is not a folder"),
            (&["--fast"], "usage"),
            (&["/", "/"], "usage"),
        ] {
            let error = selected(args).unwrap_err();
            assert!(error.contains(says), "{args:?}: {error}");
        }
    }
}
