//! Files that are no plugins, and plugins that are met in unusual ways.

use std::fs;
use std::path::Path;

use brute_core::abi::{MANIFEST_SYMBOL, VERSION};
use brute_host::plugins::{PluginFile, Plugins, Status, Trust, load_file};

use super::{copy, library};

fn refused(path: &Path) -> String {
    load_file(path).map(|_| "loaded".to_owned()).unwrap_or_else(|error| error.reason)
}

#[test]
fn the_manifest_is_read_without_loading() {
    let file = PluginFile::read(&library("faulty")).unwrap();
    let names: Vec<_> = file.manifest.strategies.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["faulty", "idle"]);
    assert_eq!(file.manifest.strategies[1].version, "7.8.9");
    assert!(file.manifest.strategies[1].needs_summarizer);
    assert_eq!(file.manifest.abi, VERSION);
}

#[test]
fn what_is_no_plugin_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let cases = [
        (folder.path().join("missing.so"), "it cannot be read: "),
        (folder.path().to_owned(), "it is no dynamic library (it is no regular file)"),
        (write("empty.so", b""), "it is no dynamic library (it is empty)"),
        (write("text.so", b"just words, no code\n"), "it is no dynamic library ("),
        (std::env::current_exe().unwrap(), ""),
    ];
    for (path, start) in cases {
        let reason = refused(&path);
        assert!(reason.starts_with(start) && reason != "loaded", "{path:?}: {reason}");
        assert!(!reason.contains('\n'), "{reason}");
    }
}

/// Wherever a copy is cut off, it is refused, and never mapped.
#[test]
fn a_library_that_is_still_being_copied_is_refused() {
    let whole = fs::read(library("mirror")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.so");
    let cuts = (1..16).map(|sixteenth| whole.len() * sixteenth / 16);
    for end in cuts.chain([1, 4, 63, 64, 65, whole.len() - 1]) {
        fs::write(&path, &whole[..end]).unwrap();
        let reason = refused(&path);
        assert!(
            reason.contains("cut off") || reason.contains("no dynamic library"),
            "{end}: {reason}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_library_of_c_is_no_plugin() {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.lines().filter_map(|line| line.split_whitespace().last());
    let Some(libc) = libc.into_iter().find(|path| path.contains("libc.so")) else { return };
    let expected =
        format!("it is a dynamic library, but no plugin: it exports no `{MANIFEST_SYMBOL}`");
    assert_eq!(refused(Path::new(libc)), expected);
}

/// The library of a fixture with some of its bytes changed.
fn patched(folder: &Path, from: &[u8], to: &[u8]) -> std::path::PathBuf {
    assert_eq!(from.len(), to.len());
    let path = copy("mirror", folder);
    let mut bytes = fs::read(&path).unwrap();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(from.len()).position(|window| window == from) {
        bytes[at + found..][..to.len()].copy_from_slice(to);
        at += found + to.len();
    }
    assert!(at > 0, "nothing to patch");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn another_abi_number_is_refused_with_both_sides_named() {
    let folder = tempfile::tempdir().unwrap();
    let own = format!("abi {VERSION}\ncore ");
    let path = patched(folder.path(), own.as_bytes(), b"abi 9\ncore ");
    let reason = refused(&path);
    let start = "it was built against brute-core 0.1.0 (ABI 9, rustc ";
    assert!(reason.starts_with(start), "{reason}");
    assert!(reason.contains("and this program has brute-core 0.1.0 (ABI 2, "), "{reason}");
    assert!(reason.ends_with(": get a newer brute"), "{reason}");
}

#[test]
fn another_layout_is_refused_in_one_line_with_the_report_apart() {
    let folder = tempfile::tempdir().unwrap();
    let error = load_file(patched(folder.path(), b"RawMessage", b"RawMassage")).unwrap_err();
    assert!(error.reason.starts_with("it was built against brute-core"), "{}", error.reason);
    assert!(!error.reason.contains('\n'), "{}", error.reason);
    assert!(error.report.contains("RawMassage"));
}

#[test]
fn a_manifest_that_names_other_strategies_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = patched(folder.path(), b"strategy mirror\n", b"strategy merrow\n");
    assert_eq!(refused(&path), "its manifest names other strategies than it has");
}

#[test]
fn two_plugins_the_same_file_twice_and_a_copy_are_all_right() {
    let folder = tempfile::tempdir().unwrap();
    let (faulty, mirror) = (copy("faulty", folder.path()), copy("mirror", folder.path()));
    let twin = folder.path().join("twin.so");
    fs::copy(&mirror, &twin).unwrap();
    let mut trust = Trust::default();
    trust.add_folder(folder.path()).unwrap();
    let paths = [faulty.clone(), faulty, mirror, folder.path().to_owned(), twin];
    let plugins = Plugins::find(&paths, &trust);
    let mut names: Vec<_> = plugins.kinds().map(|(_, kind)| kind.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["faulty", "idle", "mirror"]);
    let copies = plugins.files.iter().filter(|one| matches!(one.status, Status::Copy { .. }));
    assert_eq!((copies.count(), plugins.files.len()), (1, 3));
    assert!(plugins.missing.is_empty());
}

#[test]
fn a_library_that_changed_while_it_is_loaded_is_loaded_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy("faulty", folder.path());
    assert_eq!(load_file(&path).unwrap()[0].name, "faulty");
    // As a build or an installer would, and as who writes over it in place.
    std::fs::copy(library("mirror"), &path).unwrap();
    assert_eq!(load_file(&path).unwrap()[0].name, "mirror");
    let other = folder.path().join("other.so");
    std::fs::rename(copy("faulty", folder.path()), &other).unwrap();
    std::fs::rename(&other, &path).unwrap();
    assert_eq!(load_file(&path).unwrap()[0].name, "faulty");
}

#[test]
fn two_instances_of_a_layer_have_their_own_options() {
    let kind = super::kind("faulty", "faulty");
    assert_eq!(kind.fields()[0].default, Some("decline".into()));
    let build = |act: &str| kind.build(serde_json::json!({ "act": act }));
    assert!(build("decline").is_ok() && build("fail").is_ok());
    let error = build("panic-in-build").map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("faulty/src/lib.rs:") && error.ends_with(": no layer today"), "{error}");
    let error = build("dance").map(|_| ()).unwrap_err().to_string();
    assert!(error.starts_with("unknown variant `dance`"), "{error}");
}
