//! What a configuration leads to is loaded only where the user has said so.

use std::fs;
use std::path::Path;

use brute_host::config::{Loaded, Origin, Source, Sources, load};
use brute_host::layers::Layers;
use brute_host::plugins::{PluginFile, Trust, Verdict};

use super::copy;

/// A configuration in `folder` that names its plugins and has `ladder`.
fn loaded(folder: &Path, path: &str, ladder: &str, origin: Origin, trust: Trust) -> Loaded {
    let text = format!("[plugins]\npath = [\"{path}\"]\n{ladder}");
    let name = folder.join("brute.toml").display().to_string();
    let project = Some(Source { name, text, origin });
    load(&Sources { project, trust, ..Sources::default() }, &Layers::built_in())
}

fn said(loaded: &Loaded) -> Vec<String> {
    loaded.diagnostics.iter().map(ToString::to_string).collect()
}

const MIRROR: &str = "[[ladder]]\nlayer = \"mirror\"\n";

#[test]
fn a_file_alone_never_loads_a_plugin() {
    for origin in [Origin::Found, Origin::Project, Origin::User] {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("plugins")).unwrap();
        let path = copy("mirror", &folder.path().join("plugins"));
        let loaded = loaded(folder.path(), "plugins", MIRROR, origin, Trust::default());
        assert!(loaded.config.is_none(), "{origin:?}");
        assert_eq!(loaded.plugins.kinds().count(), 0);
        let path = fs::canonicalize(path).unwrap();
        let expected = format!("`{}`, which was not loaded: it is not trusted", path.display());
        let said = said(&loaded);
        assert!(said.iter().any(|line| line.contains(&expected)), "{said:?}");
        let help = loaded.diagnostics.iter().filter_map(|one| one.help.as_deref());
        assert!(help.into_iter().any(|help| help.contains("brute plugins trust /")));
        // The library is not even mapped.
        #[cfg(target_os = "linux")]
        assert!(!fs::read_to_string("/proc/self/maps").unwrap().contains(path.to_str().unwrap()));
    }
}

#[test]
fn trust_is_for_a_path_and_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = copy("mirror", folder.path());
    let file = PluginFile::read(&path).unwrap();
    let store = folder.path().join("config/trusted-plugins.toml");
    Trust::update(&store, |trust| trust.add(&file)).unwrap();
    let trust = Trust::read(&store).unwrap();
    assert_eq!(trust.of(&file), Verdict::Trusted);

    let loaded = loaded(folder.path(), ".", MIRROR, Origin::Found, trust.clone());
    let rung = &loaded.config.as_ref().unwrap().ladder[0];
    assert_eq!(rung.plugin.as_deref(), Some(file.path.as_path()));
    assert!(rung.timeout.is_some());

    let elsewhere = folder.path().join("elsewhere.so");
    fs::copy(&path, &elsewhere).unwrap();
    assert_eq!(trust.of(&PluginFile::read(&elsewhere).unwrap()), Verdict::Unknown);
    let mut bytes = fs::read(&path).unwrap();
    bytes.push(0);
    fs::write(&elsewhere, bytes).unwrap();
    fs::rename(&elsewhere, &path).unwrap();
    assert_eq!(trust.of(&PluginFile::read(&path).unwrap()), Verdict::Changed);
}

#[test]
fn a_folder_is_trusted_for_one_run() {
    let folder = tempfile::tempdir().unwrap();
    copy("faulty", folder.path());
    let mut trust = Trust::default();
    trust.add_folder(folder.path()).unwrap();
    let ladder = "[[ladder]]\nlayer = \"faulty\"\nact = \"decline\"\n";
    let loaded = loaded(folder.path(), ".", ladder, Origin::Found, trust.clone());
    assert!(loaded.config.is_some(), "{:?}", said(&loaded));
    let store = folder.path().join("trusted-plugins.toml");
    Trust::update(&store, |written| *written = trust).unwrap();
    assert_eq!(Trust::read(&store).unwrap(), Trust::default());
}

#[test]
fn a_broken_store_is_an_error_and_trusts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("trusted-plugins.toml");
    for (text, reason) in [
        ("plugin = 1", "invalid type"),
        ("[[plugin]]\npath = \"/x\"\nblake3 = \"12\"\n", "`12` is no BLAKE3 digest"),
        ("[[plugin]]\npath = \"/x\"\n", "missing field `blake3`"),
    ] {
        fs::write(&store, text).unwrap();
        let error = Trust::read(&store).unwrap_err().to_string();
        assert!(error.contains("trusted-plugins.toml`: ") && error.contains(reason), "{error}");
    }
}

#[test]
fn two_files_with_a_layer_of_one_name_are_both_named() {
    let folder = tempfile::tempdir().unwrap();
    let first = copy("mirror", folder.path());
    let mut bytes = fs::read(&first).unwrap();
    bytes.push(0);
    let second = folder.path().join("other.so");
    fs::write(&second, bytes).unwrap();
    let mut trust = Trust::default();
    trust.add_folder(folder.path()).unwrap();
    let loaded = loaded(folder.path(), ".", "", Origin::Project, trust);
    assert!(loaded.config.is_none());
    let clash = said(&loaded).into_iter().find(|line| line.contains("both have a layer `mirror`"));
    let clash = clash.unwrap();
    for path in [&first, &second] {
        assert!(clash.contains(&*fs::canonicalize(path).unwrap().to_string_lossy()), "{clash}");
    }
    assert!(clash.contains("brute.toml:2:9: error"), "{clash}");
    let kinds: Vec<_> = loaded.plugins.kinds().map(|(plugin, _)| &plugin.path).collect();
    let clashing = loaded.plugins.files.iter().filter(|plugin| plugin.why_not().is_some());
    assert_eq!((kinds.len(), clashing.count()), (1, 1));
}

#[test]
fn options_of_a_plugin_are_checked_as_those_of_a_built_in() {
    let folder = tempfile::tempdir().unwrap();
    copy("mirror", folder.path());
    let mut trust = Trust::default();
    trust.add_folder(folder.path()).unwrap();
    let said = |layer: &str| {
        let ladder = format!("[[ladder]]\nlayer = \"{layer}\"\nkeep-step = 1\nkeep-steps = 0\n");
        let loaded = loaded(folder.path(), ".", &ladder, Origin::Project, trust.clone());
        said(&loaded).join("\n").replace("sliding-window", "mirror")
    };
    assert!(
        said("mirror").contains("brute.toml:5:1: error: ")
            && said("mirror").contains("did you mean `keep-steps`")
    );
    assert_eq!(said("mirror"), said("sliding-window"));
}

#[test]
fn paths_that_lead_nowhere_are_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("words.so"), "words").unwrap();
    for (path, expected, usable) in [
        ("none", "brute.toml:2:9: warning: no plugins are found here: ", true),
        ("words.so", "brute.toml:2:9: error: `", false),
        (".", "brute.toml:2:9: warning: `", true),
    ] {
        let loaded = loaded(folder.path(), path, "", Origin::Project, Trust::default());
        let said = said(&loaded).join("\n");
        assert!(said.contains(expected), "{path}: {said}");
        assert_eq!(loaded.config.is_some(), usable, "{path}: {said}");
    }
}

#[test]
fn who_changes_the_store_at_the_same_time_waits() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("config/trusted-plugins.toml");
    let mirror = PluginFile::read(&copy("mirror", folder.path())).unwrap();
    let named = |index: usize| folder.path().join(format!("{index}.so"));
    std::thread::scope(|scope| {
        for index in 0..16 {
            let (store, file) = (&store, PluginFile { path: named(index), ..mirror.clone() });
            scope.spawn(move || Trust::update(store, |trust| trust.add(&file)).unwrap());
        }
    });
    let trust = Trust::read(&store).unwrap();
    for index in 0..16 {
        let file = PluginFile { path: named(index), ..mirror.clone() };
        assert_eq!(trust.of(&file), Verdict::Trusted, "{index}");
    }
}

#[cfg(unix)]
#[test]
fn a_store_that_is_a_link_stays_one_and_is_written_where_it_leads() {
    let folder = tempfile::tempdir().unwrap();
    let file = PluginFile::read(&copy("mirror", folder.path())).unwrap();
    let (link, real) = (folder.path().join("link.toml"), folder.path().join("dotfiles/real.toml"));
    std::os::unix::fs::symlink("dotfiles/real.toml", &link).unwrap();
    // At first it leads to nothing.
    for expected in [Verdict::Unknown, Verdict::Trusted] {
        assert_eq!(Trust::update(&link, |trust| trust.add(&file)).unwrap(), expected);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(Trust::read(&real).unwrap().of(&file), Verdict::Trusted);
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_is_gone_is_trusted_no_longer_however_it_is_spelled() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let within = |name: &str| folder.path().join(name);
    fs::create_dir(within("real")).unwrap();
    symlink("real", within("linked")).unwrap();
    let path = copy("mirror", &within("real"));
    let name = path.file_name().unwrap().to_str().unwrap();
    symlink(&path, within("link.so")).unwrap();
    let file = PluginFile::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    for spelled in [
        format!("real/{name}"),
        format!("linked/{name}"),
        format!("./real/../linked/{name}"),
        format!("real/none/../{name}"),
        "link.so".to_owned(),
    ] {
        let mut trust = Trust::default();
        trust.add(&file);
        assert_eq!(trust.remove(&within(&spelled)), Some(file.path.clone()), "{spelled}");
        assert_eq!(trust.remove(&within(&spelled)), None, "{spelled}");
    }
    symlink("loop.so", within("loop.so")).unwrap();
    assert_eq!(Trust::default().remove(&within("loop.so")), None);
}

#[test]
fn a_broken_store_is_told_where_a_plugin_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    copy("mirror", folder.path());
    let store = folder.path().join("trusted-plugins.toml");
    fs::write(&store, "plugin = 1").unwrap();
    let trust_error = Trust::read(&store).err();
    for (path, told) in [("none", false), (".", true)] {
        let name = folder.path().join("brute.toml").display().to_string();
        let text = format!("[plugins]\npath = [\"{path}\"]\n");
        let project = Some(Source { name, text, origin: Origin::Project });
        let sources = Sources { project, trust_error: trust_error.clone(), ..Sources::default() };
        let loaded = load(&sources, &Layers::built_in());
        assert!(loaded.config.is_some(), "{path}");
        let said = said(&loaded);
        assert_eq!(said.iter().any(|line| line.contains("mend it")), told, "{path}: {said:?}");
    }
}

#[test]
fn a_folder_of_things_that_are_no_plugins_is_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    for index in 0..300 {
        let name = format!("{index}{}", std::env::consts::DLL_SUFFIX);
        fs::write(folder.path().join(name), format!("{index} words")).unwrap();
        fs::write(folder.path().join(format!("{index}.txt")), "words").unwrap();
    }
    copy("mirror", folder.path());
    let said = said(&loaded(folder.path(), ".", "", Origin::Project, Trust::default()));
    assert_eq!(said.len(), 5, "{said:#?}");
    assert!(said.iter().any(|line| line.contains("297 more libraries here cannot be loaded")));
    assert!(said.iter().any(|line| line.contains("it is not trusted")));
}
