//! What a configuration leads to is loaded only where the user has said so.

use std::fs;
use std::path::Path;

use brute_host::config::{Loaded, Origin, Source, Sources, load};
use brute_host::layers::Layers;
use brute_host::plugins::{PluginFile, Plugins, Trust, Verdict};

use super::copy;

/// A configuration in `folder` that names its plugins and has `ladder`.
fn loaded(folder: &Path, path: &str, ladder: &str, origin: Origin, trust: Trust) -> Loaded {
    let text = format!("[plugins]\npath = [\"{path}\"]\n{ladder}");
    let name = folder.join("brute.toml").display().to_string();
    let project = Some(Source::new(name, text, origin));
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
        let project = Some(Source::new(name, text, Origin::Project));
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

#[cfg(unix)]
#[test]
fn a_store_that_others_have_a_say_in_or_that_is_no_file_trusts_nothing() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let folder = tempfile::tempdir().unwrap();
    let file = PluginFile::read(&copy("mirror", folder.path())).unwrap();
    let config = folder.path().join("config");
    let store = config.join("trusted-plugins.toml");
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    Trust::update(&store, |trust| trust.add(&file)).unwrap();
    assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o700);
    for (of_folder, of_file, heard) in [
        (0o700, 0o600, true),
        (0o755, 0o644, true),
        (0o1777, 0o644, true),
        (0o775, 0o644, false),
        (0o757, 0o644, false),
        (0o700, 0o664, false),
        (0o700, 0o646, false),
        (0o1777, 0o666, false),
    ] {
        set(&config, of_folder);
        set(&store, of_file);
        let read = Trust::read(&store);
        assert_eq!(read.is_ok(), heard, "{of_folder:o} {of_file:o}: {read:?}");
        let update = Trust::update(&store, |trust| trust.add(&file));
        assert_eq!(update.is_ok(), heard, "{of_folder:o} {of_file:o}: {update:?}");
        if let Err(error) = read {
            let error = error.to_string();
            assert!(error.contains("`chmod go-w /") && !error.contains("delete"), "{error}");
        }
    }
    // A folder is looked at before there is a file, and that of a link, too.
    set(&store, 0o600);
    let new = config.join("other.toml");
    set(&config, 0o777);
    assert!(Trust::update(&new, |trust| trust.add(&file)).is_err() && !new.exists());
    set(&config, 0o700);
    let open = folder.path().join("open");
    fs::create_dir(&open).unwrap();
    set(&open, 0o777);
    std::os::unix::fs::symlink(&store, open.join("link.toml")).unwrap();
    assert!(Trust::read(&open.join("link.toml")).is_err());
    // Only root can give a file away.
    if chown(&store, Some(4321), None).is_ok() {
        let error = Trust::read(&store).unwrap_err().to_string();
        let own = fs::metadata(folder.path()).map(|it| std::os::unix::fs::MetadataExt::uid(&it));
        assert!(own.unwrap() == 4321 || error.contains("belongs to another user"), "{error}");
    }
    fs::remove_file(&store).unwrap();
    fs::File::create(&store).unwrap().set_len(5 << 30).unwrap();
    let error = Trust::read(&store).unwrap_err().to_string();
    assert!(error.contains("it is larger than any (mend it"), "{error}");
    fs::remove_file(&store).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&store).status().unwrap().success());
    let error = Trust::read(&store).unwrap_err().to_string();
    assert!(error.contains("it is no regular file (mend it"), "{error}");
}

#[cfg(unix)]
#[test]
fn what_the_store_cannot_help_is_not_blamed_on_it() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let mirror = PluginFile::read(&copy("mirror", folder.path())).unwrap();
    let store = folder.path().join("config/trusted-plugins.toml");
    let library = folder.path().join(std::ffi::OsStr::from_bytes(b"odd\xff.so"));
    let file = PluginFile { path: library, ..mirror.clone() };
    let no_text = Trust::update(&store, |trust| trust.add(&file)).unwrap_err().to_string();
    assert!(no_text.contains(".so` cannot be trusted: its path is not UTF-8"), "{no_text}");

    // A folder cannot be made where a file is, nor a file in place of a folder.
    let words = folder.path().join("words");
    fs::write(&words, "").unwrap();
    let store = words.join("trusted-plugins.toml");
    let unwritable = Trust::update(&store, |trust| trust.add(&mirror)).unwrap_err().to_string();
    assert!(unwritable.contains("trusted-plugins.toml` cannot be written: "), "{unwritable}");
    let unreadable = Trust::read(&store).unwrap_err().to_string();
    assert!(unreadable.contains("trusted-plugins.toml` cannot be read: "), "{unreadable}");
    for said in [no_text, unwritable, unreadable] {
        assert!(!said.contains("delete") && !said.contains("mend"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn what_only_looks_like_a_library_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let within = |name: &str| folder.path().join(format!("{name}{}", std::env::consts::DLL_SUFFIX));
    std::os::unix::fs::symlink("nowhere", within("dangling")).unwrap();
    std::os::unix::fs::symlink(within("loop"), within("loop")).unwrap();
    fs::create_dir(within("folder")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(within("pipe")).status().unwrap().success());
    let found = Plugins::find(&[folder.path().to_owned()], &Trust::default());
    let why = |name: &str| {
        let plugin = found.files.iter().find(|plugin| plugin.path == within(name)).unwrap();
        plugin.why_not().unwrap()
    };
    assert_eq!(why("dangling"), "it cannot be read: no such file or folder");
    assert!(why("loop").starts_with("it cannot be read: "), "{}", why("loop"));
    assert!(why("folder").contains("it is no regular file"));
    assert!(why("pipe").contains("it is no regular file"));
}

#[test]
fn only_a_folder_is_trusted_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = copy("mirror", folder.path());
    for path in [&file, &folder.path().join("none")] {
        assert!(Trust::default().add_folder(path).is_err(), "{}", path.display());
    }
}
