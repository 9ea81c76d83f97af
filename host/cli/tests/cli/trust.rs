//! Whose word loads a plugin, and what names and files of others do to a terminal.
#![cfg(unix)]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Output;

use super::place::{Place, SMALL};
use super::plugins::{library, place};

/// A name that writes lines and colors, and turns around what follows it.
const ODD: &str = "new\nline\u{1b}[31m\u{202e}\u{2066}\u{2028}.so";

/// The same, as it is shown.
const SHOWN: &str = r"new\nline\u{1b}[31m\u{202e}\u{2066}\u{2028}.so";

/// Runs `brute` with one more variable, or without it.
fn with(place: &Place, line: &str, variable: &str, value: Option<&OsStr>) -> Output {
    let mut command = place.command(line);
    match value {
        Some(value) => command.env(variable, value),
        None => command.env_remove(variable),
    };
    command.output().expect("it runs")
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A place with a plugin of a name that no terminal should see.
fn odd() -> Place {
    let place = place();
    fs::rename(place.path(&library()), place.path(&format!("plugins/{ODD}"))).expect("it moves");
    fs::write(place.path(&format!("plugins/not{ODD}")), "words").expect("a file can be written");
    fs::write(place.path(ODD), SMALL).expect("a file can be written");
    place
}

#[test]
fn names_of_others_reach_no_terminal_as_they_are() {
    let place = odd();
    let named = format!("plugins/{ODD}");
    for (line, file) in [
        ("plugins list", ""),
        ("check", ""),
        ("layers mirror", ""),
        ("layers mirror --trust-plugins plugins", ""),
        ("plugins list --trust-plugins plugins", ""),
        ("plugins inspect", &named),
        ("plugins inspect", "missing\u{1b}[31m\n\u{202e}"),
        ("plugins trust", &named),
        ("plugins untrust", &named),
        ("plugins untrust", &named),
        ("count", ODD),
        ("explain --to 1 --trust-plugins plugins", ODD),
    ] {
        let mut command = place.command(line);
        command.args(Some(file).filter(|file| !file.is_empty()));
        let output = command.output().expect("it runs");
        let said = words(&output);
        let odd = |char: char| char != '\n' && brute_host::shown::is_odd(char);
        assert!(!said.contains(odd), "{line}: {said:?}");
        assert!(!said.lines().any(|line| line.starts_with("line")), "{line}: {said}");
        assert!(file.starts_with("missing") || said.contains(SHOWN), "{line}: {said}");
    }
}

#[test]
fn a_command_that_is_advised_is_one_that_a_shell_reads() {
    let place = odd();
    let listed = place.brute("plugins list").out;
    let advised = listed.split("say `brute ").nth(1).expect("a command is advised");
    let line = advised.split('`').next().expect("it ends");
    let script = format!("{} {line}", env!("CARGO_BIN_EXE_brute"));
    let mut shell = std::process::Command::new("bash");
    let configured = place.command("");
    for (name, value) in configured.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let Ok(ended) = shell.args(["-c", &script]).current_dir(place.path("")).output() else {
        return;
    };
    assert!(ended.status.success(), "{script}: {}", words(&ended));
    assert_eq!(place.brute("layers mirror").code, Some(0));
}

#[test]
fn a_relative_home_brings_no_trust_along() {
    let place = place();
    assert_eq!(place.brute(&format!("plugins trust {}", library())).code, Some(0));
    fs::create_dir(place.path(".config")).expect("a folder can be made");
    fs::rename(place.path("brute"), place.path(".config/brute")).expect("it moves");
    for (home, code) in [(place.path("").into_os_string(), 0), (".".into(), 2), ("./".into(), 2)] {
        let mut command = place.command("check");
        command.env_remove("XDG_CONFIG_HOME").env("HOME", &home);
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(code), "{home:?}: {}", words(&output));
    }
}

#[test]
fn a_relative_file_is_not_the_users() {
    let place = Place::with([("own.toml", "[window]\nsize = 5000\n")]);
    let absolute = place.path("own.toml").into_os_string();
    for (name, code) in [(absolute.as_os_str(), 0), (OsStr::from_bytes(b"own.toml"), 2)] {
        let output = with(&place, "check", "BRUTE_CONFIG", Some(name));
        assert_eq!(output.status.code(), Some(code), "{}", words(&output));
        assert_eq!(words(&output).contains("which is no absolute path"), code == 2);
    }
}

#[test]
fn a_stale_variable_is_named_and_stops_nothing() {
    let place = Place::with([("small.json", SMALL)]);
    let file = place.path("small.json");
    for gone in [OsStr::new("/gone/a\u{1b}b"), file.as_os_str()] {
        for line in
            ["check", "layers", "plugins list", "compact small.json --to 99999 --window 128k"]
        {
            let output = with(&place, line, "BRUTE_TRUST_PLUGINS", Some(gone));
            let said = words(&output);
            assert_eq!(output.status.code(), Some(0), "{line}: {said}");
            assert!(said.contains("warning: `BRUTE_TRUST_PLUGINS` names `/"), "{line}: {said}");
        }
    }
    for (folder, why) in [("gone", "no such file or folder"), ("small.json", "not a directory")] {
        let ended = place.brute(&format!("check --trust-plugins {folder}"));
        assert!(ended.code == Some(2) && ended.err.contains(why), "{folder}: {}", ended.err);
    }
}
