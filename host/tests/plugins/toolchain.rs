//! A plugin that another compiler built.

use std::path::Path;
use std::process::{Command, Stdio};

use brute_core::testing::conformance;
use brute_host::plugins::{PluginFile, load_file};
use serde_json::json;

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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().join("nightly");
    let built = nightly("cargo")
        .args(["build", "--quiet", "--locked", "--package", "brute-mirror", "--target-dir"])
        .arg(&target)
        .current_dir(root)
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
