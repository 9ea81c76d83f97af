//! `cargo xtask plugins`: the libraries of all plugins under names that stay.
//!
//! A library that some program has loaded must never be written to: what runs there would change under it. So each is
//! copied beside its place and renamed into it, which leaves the old file to those that hold it.

use std::env::consts::DLL_EXTENSION;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use serde_json::Value;

use crate::metadata::Package;
use crate::{Result, metadata, project};

const USAGE: &str = "usage: cargo xtask plugins [--release] [--out DIR]";

/// What the verb is told.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    release: bool,
    out: Option<PathBuf>,
}

impl Options {
    fn read(args: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--release" => options.release = true,
                "--out" => options.out = Some(args.next().ok_or(USAGE)?.into()),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }
}

/// Builds every plugin of the workspace, puts the libraries into a folder, and prints where each is.
pub(crate) fn run(args: &[String]) -> Result {
    let Options { release, out } = Options::read(args)?;
    let (libraries, out) = make(release, out)?;
    for library in libraries {
        println!("{}", library.display());
    }
    let out = fs::canonicalize(&out).unwrap_or(out);
    let list = Value::from(vec![out.to_string_lossy()]);
    eprintln!("for one run: brute … --set 'plugins.path={list}' --trust-plugins {}", out.display());
    Ok(ExitCode::SUCCESS)
}

/// Builds every plugin of the workspace and puts the libraries into a folder; where each is, and the folder.
pub(crate) fn make(release: bool, out: Option<PathBuf>) -> Result<(Vec<PathBuf>, PathBuf)> {
    let root = project::root();
    let workspace = metadata::workspace(&root)?;
    let plugins: Vec<&Package> =
        workspace.packages.iter().filter(|package| is_plugin(package)).collect();
    if plugins.is_empty() {
        return Err("there are no plugins in `plugins/`; `cargo xtask new-plugin NAME` makes one"
            .to_owned());
    }
    let built = build(&root, &plugins, release)?;
    let out = out.unwrap_or_else(|| workspace.target.join("plugins"));
    fs::create_dir_all(&out)
        .map_err(|error| format!("could not make the folder `{}`: {error}", out.display()))?;
    let installed = built.iter().map(|library| install(library, &out)).collect::<Result<_>>()?;
    Ok((installed, out))
}

/// Whether a crate is a plugin that people use; the fixtures of the tests are not.
fn is_plugin(package: &Package) -> bool {
    let folder = package.folder.strip_prefix("plugins/");
    package.is_library && folder.is_some_and(|folder| !folder.starts_with("fixtures/"))
}

/// Builds the plugins; the library of each.
fn build(root: &Path, plugins: &[&Package], release: bool) -> Result<Vec<PathBuf>> {
    let mut command = project::cargo();
    command.arg("build");
    for plugin in plugins {
        command.args(["--package", &plugin.name]);
    }
    if release {
        command.arg("--release");
    }
    let line = project::shown(&command);
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = command.output().map_err(|error| format!("could not start {line}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{line} failed"));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let library = |plugin: &&Package| {
        library(&messages, &root.join(plugin.manifest()))
            .ok_or_else(|| format!("{line} succeeded but made no library of `{}`", plugin.name))
    };
    plugins.iter().map(library).collect()
}

/// The dynamic library that was made of the crate with this manifest, among cargo's build messages.
fn library(messages: &str, manifest: &Path) -> Option<PathBuf> {
    let artifacts = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact")
        .filter(|message| message["manifest_path"].as_str().map(Path::new) == Some(manifest));
    let mut files = artifacts.flat_map(|message| match &message["filenames"] {
        Value::Array(files) => files.iter().filter_map(Value::as_str).map(PathBuf::from).collect(),
        _ => Vec::new(),
    });
    files.find(|file| file.extension().is_some_and(|extension| extension == DLL_EXTENSION))
}

/// Puts a copy of `library` into `folder`, under its own name, at once; its path.
fn install(library: &Path, folder: &Path) -> Result<PathBuf> {
    let name = library.file_name().unwrap_or_default();
    let place = folder.join(name);
    // Its ending is not that of a library, so that nobody takes half a copy for one.
    let copy = folder.join(format!("{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    let renamed = fs::copy(library, &copy).and_then(|_| fs::rename(&copy, &place));
    renamed.map(|()| place.clone()).map_err(|error| {
        // It may never have been made.
        drop(fs::remove_file(&copy));
        format!("could not put `{}` at `{}`: {error}", library.display(), place.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(args: &[&str]) -> Result<Options> {
        Options::read(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_read() {
        assert_eq!(options(&[]).unwrap(), Options::default());
        let both = Options { release: true, out: Some("x".into()) };
        assert_eq!(options(&["--out", "x", "--release"]).unwrap(), both);
        for args in [&["--out"][..], &["--debug"], &["x"]] {
            assert!(options(args).unwrap_err().contains("usage"), "{args:?}");
        }
    }

    #[test]
    fn plugins_are_told_from_fixtures_and_from_crates_that_are_no_library() {
        for (folder, is_library, expected) in [
            ("plugins/stale-reads", true, true),
            ("plugins/stale-reads", false, false),
            ("plugins/fixtures/faulty", true, false),
            ("host", true, false),
        ] {
            let package = Package { is_library, ..Package::bare("x", folder) };
            assert_eq!(is_plugin(&package), expected, "{folder}, {is_library}");
        }
    }

    #[test]
    fn cargo_names_the_library() {
        let artifact = |manifest: &str, files: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","manifest_path":"{manifest}","filenames":[{files}]}}"#
            )
        };
        let library_of_two = format!(r#""/t/libtwo.rlib","/t/libtwo.{DLL_EXTENSION}""#);
        let messages = [
            "not json".to_owned(),
            r#"{"reason":"build-script-executed","manifest_path":"/w/two/Cargo.toml"}"#.to_owned(),
            artifact("/w/one/Cargo.toml", r#""/t/libone.rlib""#),
            artifact("/w/two/Cargo.toml", r#""/t/build-script-build""#),
            artifact("/w/two/Cargo.toml", &library_of_two),
        ]
        .join("\n");
        let found = |manifest: &str| library(&messages, Path::new(manifest));
        let expected = Path::new("/t/libtwo").with_extension(DLL_EXTENSION);
        assert_eq!(found("/w/two/Cargo.toml"), Some(expected));
        assert_eq!(found("/w/one/Cargo.toml"), None);
        assert_eq!(found("/w/three/Cargo.toml"), None);
    }

    #[test]
    fn a_library_that_is_in_use_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let (built, out) = (folder.path().join("libx.so"), folder.path().join("out"));
        fs::create_dir(&out).unwrap();
        fs::write(&built, "old").unwrap();
        let place = install(&built, &out).unwrap();
        let in_use = out.join("in-use");
        fs::hard_link(&place, &in_use).unwrap();
        fs::write(&built, "new").unwrap();
        assert_eq!(install(&built, &out).unwrap(), place);
        assert_eq!(fs::read_to_string(&place).unwrap(), "new");
        assert_eq!(fs::read_to_string(&in_use).unwrap(), "old");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
    }

    #[test]
    fn a_copy_that_fails_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let built = folder.path().join("libx.so");
        assert!(install(&built, folder.path()).unwrap_err().contains("libx.so"));
        fs::write(&built, "new").unwrap();
        let out = folder.path().join("out");
        fs::create_dir_all(out.join("libx.so/full")).unwrap();
        assert!(install(&built, &out).is_err());
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    }
}
