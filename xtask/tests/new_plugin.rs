//! What `cargo xtask new-plugin` makes, as its user would go on with it: built, tested, formatted, run in a ladder.
//!
//! The crate shares the workspace's target folder, lock file and profile, so that only itself and the crate for authors
//! are built for it, and nothing is downloaded.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX, EXE_SUFFIX};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A session that outgrows the window of the model that it names.
const SESSION: &str = "examples/sessions/openai-chat-fix-parser.json";

/// As in the root manifest, so that what it has built is taken.
const PROFILE: [&str; 6] = [
    "--config",
    "profile.dev.debug=\"line-tables-only\"",
    "--config",
    "profile.dev.package.\"*\".opt-level=2",
    "--config",
    "profile.dev.package.brute-core.opt-level=1",
];

#[test]
fn a_crate_of_its_own_builds_passes_its_tests_and_runs_in_a_ladder() {
    let dir = scratch("new-plugin");
    succeed(xtask().arg("new-plugin").arg("first-chars").arg("--dir").arg(&dir));
    let made = dir.join("first-chars");
    let given = fs::read_to_string(made.join("Cargo.lock")).unwrap();

    let built = succeed(cargo(&made).arg("build").args(PROFILE));
    assert!(!built.contains("generated"), "no warnings:\n{built}");
    let tests = succeed(cargo(&made).args(["test", "--lib"]).args(PROFILE));
    assert!(tests.contains("3 passed; 0 failed"), "{tests}");
    let used = fs::read_to_string(made.join("Cargo.lock")).unwrap();
    let packages = |lock: &str| lock.matches("[[package]]").count();
    assert!(packages(&used) < packages(&given), "what it does not need is taken out");

    // Where cargo would have put it without a shared target folder, and where `brute.toml` looks.
    let library = format!("{DLL_PREFIX}first_chars{DLL_SUFFIX}");
    let libraries = made.join("target/debug");
    fs::create_dir_all(&libraries).unwrap();
    fs::copy(target().join("debug").join(&library), libraries.join(&library)).unwrap();
    assert_runs_in_a_ladder(&made, &libraries);
}

#[test]
fn a_member_of_the_workspace_does_so_too() {
    // A checkout with nothing in it but the manifest, which finds the crate for authors here.
    let checkout = scratch("new-member");
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (head, rest) = manifest.split_once("members = [").unwrap();
    let (_, rest) = rest.split_once("[workspace.package]").unwrap();
    let core = format!("path = {:?}", root().join("core"));
    let rest = rest.replacen("path = \"core\"", &core, 1);
    let manifest = format!("{head}members = [\n]\n\n[workspace.package]{rest}");
    fs::write(checkout.join("Cargo.toml"), manifest).unwrap();
    for file in ["Cargo.lock", "rustfmt.toml"] {
        fs::copy(root().join(file), checkout.join(file)).unwrap();
    }
    let xtask = || {
        let mut xtask = xtask();
        xtask.current_dir(&checkout).env("CARGO_MANIFEST_DIR", checkout.join("xtask"));
        xtask.env("CARGO_TARGET_DIR", target());
        xtask
    };
    succeed(xtask().args(["new-plugin", "first-words"]));
    let again = xtask().args(["new-plugin", "first-words"]).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("`first-words` is taken"));

    let libraries = checkout.join("target/plugins");
    let built = succeed(xtask().arg("plugins").arg("--out").arg(&libraries));
    assert!(!built.contains("generated"), "no warnings:\n{built}");
    let library = format!("{DLL_PREFIX}brute_first_words{DLL_SUFFIX}");
    assert!(built.contains(&library) && libraries.join(library).is_file(), "{built}");
    let tests = succeed(cargo(&checkout).args(["test", "--package", "brute-first-words", "--lib"]));
    assert!(tests.contains("3 passed; 0 failed"), "{tests}");
    assert_runs_in_a_ladder(&checkout.join("plugins/first-words"), &libraries);
}

#[test]
fn a_new_plugin_is_formatted_as_the_workspace_is() {
    if Command::new("rustfmt").arg("--version").output().is_err() {
        return;
    }
    let dir = scratch("new-plugin-format");
    for name in ["x", "a-layer-with-a-name-that-is-much-longer-than-those-of-all-others"] {
        succeed(xtask().arg("new-plugin").arg(name).arg("--dir").arg(&dir));
        let source = dir.join(name).join("src/lib.rs");
        succeed(Command::new("rustfmt").args(["--check", "--edition", "2024"]).arg(&source));
    }
}

#[test]
fn what_cannot_be_made_is_said() {
    let dir = scratch("new-plugin-existing");
    fs::create_dir(dir.join("there")).unwrap();
    let dir = dir.to_str().unwrap();
    for (args, says) in [
        (&["StaleReads"][..], "say `stale-reads`"),
        (&["sliding-window"], "is taken"),
        (&["there", "--dir", dir], "is there already"),
        (&["x", "--dir", "plugins"], "leave `--dir` out"),
        (&[], "usage: cargo xtask new-plugin NAME"),
    ] {
        let output = xtask().arg("new-plugin").args(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(says), "{args:?}: {said}");
    }
}

/// The crate's own `brute.toml` leads to its library, which runs once it is trusted, and not before.
fn assert_runs_in_a_ladder(made: &Path, libraries: &Path) {
    let compacted = made.join("compacted.json");
    let mut brute = brute();
    brute.arg("compact").arg(SESSION).arg("-o").arg(&compacted);
    brute.arg("--config").arg(made.join("brute.toml"));
    let refused = brute.output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("it is not trusted"), "{said}");
    assert!(!compacted.exists());

    succeed(brute.arg("--trust-plugins").arg(libraries));
    let compacted = fs::read_to_string(&compacted).unwrap();
    assert!(compacted.contains("[brute:cleared:") && compacted.contains("… (the start of "));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The workspace's target folder.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned()
}

/// An empty folder, the same in each run, so that a second one finds everything built.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
        _ => fs::create_dir_all(&folder).unwrap(),
    }
    folder
}

/// `cargo xtask`, at the root of the workspace.
fn xtask() -> Command {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.current_dir(root()).env("CARGO_NET_OFFLINE", "true");
    xtask
}

/// Cargo in this folder, without the network.
fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", target()).env("CARGO_NET_OFFLINE", "true");
    cargo
}

/// The command `brute`, built if it is not yet, with nothing of its user's.
fn brute() -> Command {
    succeed(cargo(&root()).args(["build", "--package", "brute-cli", "--bin", "brute"]));
    let mut brute = Command::new(target().join("debug").join(format!("brute{EXE_SUFFIX}")));
    brute.current_dir(root()).env("HOME", env!("CARGO_TARGET_TMPDIR"));
    brute.env_remove("XDG_CONFIG_HOME").env_remove("BRUTE_TRUST_PLUGINS");
    brute
}

/// Runs a command that has to succeed; what it said.
fn succeed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {status}\n{said}");
    said
}
