//! Plugins that are built in other ways: by another compiler, and so that a panic would end the host.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use brute_core::testing::conformance;
use brute_host::plugins::{PluginFile, load_file};
use serde_json::json;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A target folder of its own, kept beside what this test was built to.
fn target(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join(name)
}

/// Runs where a nightly toolchain is installed, and says so where none is.
#[test]
fn a_plugin_of_another_toolchain_works() {
    let nightly = |program: &str| {
        let mut command = Command::new("rustup");
        // What this run of cargo told its tests is not meant for another one.
        command.args(["run", "nightly", program]).env_remove("RUSTC").env_remove("RUSTFLAGS");
        command
    };
    let probe = nightly("rustc").arg("--version").stderr(Stdio::null()).output();
    let Some(version) = probe.ok().filter(|said| said.status.success()) else {
        eprintln!("skipped: no nightly toolchain is installed");
        return;
    };
    let target = target("nightly");
    let built = nightly("cargo")
        .args(["build", "--quiet", "--locked", "--package", "brute-mirror", "--target-dir"])
        .arg(&target)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let path = target.join("debug").join(super::library("mirror").file_name().unwrap());

    let said = PluginFile::read(&path).unwrap().manifest.rustc;
    assert_eq!(said.trim(), String::from_utf8_lossy(&version.stdout).trim());
    let kind = load_file(&path).unwrap().swap_remove(0);
    let layer = kind.build(json!({ "keep-steps": 1 })).unwrap();
    assert_eq!(conformance::check(&*layer, 200), Ok(()));
}

#[test]
fn a_plugin_whose_panics_abort_does_not_compile() {
    let checked = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--locked", "--package", "brute-mirror", "--target-dir"])
        .arg(target("abort"))
        .env("CARGO_PROFILE_DEV_PANIC", "abort")
        .env_remove("RUSTFLAGS")
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(!checked.status.success());
    assert!(said.contains("a plugin must be built with `panic = \"unwind\"`"), "{said}");
}
