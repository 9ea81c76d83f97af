//! `brute plugins`, and layers of plugins in the other verbs.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::process::Stdio;

use super::place::{Place, SMALL};

const LADDER: &str =
    "[plugins]\npath = [\"plugins\"]\n\n[[ladder]]\nlayer = \"mirror\"\nkeep-steps = 1\n";

pub(crate) fn library() -> String {
    format!("plugins/{}", file_name("mirror"))
}

pub(crate) fn file_name(plugin: &str) -> String {
    format!("{DLL_PREFIX}brute_{plugin}{DLL_SUFFIX}")
}

/// A place with a plugin in it, and a `brute.toml` whose ladder names its layer.
pub(crate) fn place() -> Place {
    let place = Place::with([("brute.toml", LADDER), ("small.json", SMALL)]).with_own_file();
    std::fs::create_dir(place.path("plugins")).expect("a folder can be made");
    copy(&place, "mirror", &library());
    place
}

/// Puts the library of a plugin that cargo built where `to` says.
pub(crate) fn copy(place: &Place, plugin: &str, to: &str) {
    let test = std::env::current_exe().expect("a test is a file");
    let built = test.parent().expect("a file is in a folder").join(file_name(plugin));
    std::fs::copy(built, place.path(to)).expect("cargo built the library");
}

/// A place whose ladder has a layer that does what it must not.
fn faulty(act: &str) -> Place {
    let place = place();
    copy(&place, "faulty", &format!("plugins/{}", file_name("faulty")));
    let ladder =
        format!("layer = \"faulty\"\nname = \"trial\"\nact = \"{act}\"\ntimeout = \"1s\"\n");
    place.write("brute.toml", format!("[plugins]\npath = [\"plugins\"]\n[[ladder]]\n{ladder}"));
    place
}

#[test]
fn what_a_layer_warns_of_is_shown_safely_and_a_report_for_programs_stays_one() {
    let place = faulty("log");
    let warning = "warning: [trial] something is [31modd and goes on";
    let shown = |err: &str| err.lines().filter(|line| line.starts_with("warning: ")).count();
    let run =
        |line: &str| place.brute(&format!("{line} small.json --to 1 --trust-plugins plugins"));
    for line in ["compact", "explain", "explain --json"] {
        let ended = run(line);
        assert!(ended.err.contains(warning) && shown(&ended.err) == 1, "{line}: {}", ended.err);
        assert!(ended.err.lines().all(|line| line.chars().count() < 700), "{line}: {}", ended.err);
        assert_eq!(run(&format!("{line} --quiet")).err, "", "{line}");
    }
    let report = run("compact --json").err_json();
    assert_eq!(report["warnings"][0]["rung"], "trial", "{report:#}");
    assert_eq!(report["warnings"].as_array().map(Vec::len), Some(1), "{report:#}");
}

#[test]
fn a_layer_that_panics_when_it_is_dropped_is_told_of() {
    let place = faulty("panic-in-drop");
    let run =
        |line: &str| place.brute(&format!("{line} small.json --to 1 --trust-plugins plugins"));
    let checked = place.brute("check --trust-plugins plugins");
    for ended in [checked, run("compact"), run("explain"), run("explain --json")] {
        let told = ended.err.lines().find(|line| line.starts_with("warning: ")).unwrap_or_default();
        for part in ["brute_faulty", "trial", "lib.rs:", ": not without a word"] {
            assert!(told.contains(part), "{part}: {}", ended.err);
        }
    }
    let report = run("compact --json").err_json();
    let told = &report["warnings"][0];
    assert_eq!(told["rung"], "trial", "{report:#}");
    assert!(told["message"].as_str().unwrap().contains(": not without a word"), "{report:#}");
}

#[test]
fn a_layer_that_is_never_built_hangs_nothing() {
    let place = faulty("hang-in-build");
    let ended = place.brute("check --trust-plugins plugins");
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("it was not done within 1s"), "{}", ended.err);
}

#[test]
fn a_plugin_runs_once_its_user_trusts_it_and_not_before() {
    let place = place();
    let before = place.brute("compact small.json --to 1");
    assert_eq!((before.code, before.out.as_str()), (Some(2), ""));
    assert!(before.err.contains("was not loaded: it is not trusted"), "{}", before.err);
    assert!(before.err.contains("brute plugins trust "), "{}", before.err);

    let trusted = place.brute(&format!("plugins trust {}", library()));
    assert_eq!(trusted.code, Some(0), "{}", trusted.err);
    let after = place.brute("explain small.json --to 1 --json").out_json();
    assert_eq!(after["rungs"][0]["rung"], "mirror", "{after:#}");

    let again = place.brute(&format!("plugins trust {}", library()));
    assert!(again.err.starts_with("trusted already "), "{}", again.err);

    let set = format!("--no-config --set 'plugins.path=[\"{}\"]' layers mirror", library());
    assert_eq!(place.brute(&set).code, Some(0));
    let taken_back = place.brute(&format!("plugins untrust plugins/../{}", library()));
    assert_eq!(taken_back.code, Some(0));
    assert!(taken_back.err.starts_with("trusted no longer /"), "{}", taken_back.err);
    for line in [set.as_str(), "layers mirror"] {
        let ended = place.brute(line);
        let advised = ended.err.lines().last().unwrap_or_default();
        let is_told = advised.starts_with("error: the layer `mirror` is in `")
            && advised.contains("brute plugins trust /");
        assert!(ended.code == Some(2) && is_told, "{line}: {}", ended.err);
    }
    assert_eq!(place.brute("compact small.json --to 1").code, Some(2));
    assert_eq!(place.brute(&format!("plugins untrust {}", library())).code, Some(3));
}

#[test]
fn many_that_trust_at_the_same_time_are_all_heard() {
    let place = place();
    let names: Vec<_> = (0..16).map(|index| format!("plugins/{index}{DLL_SUFFIX}")).collect();
    for name in &names {
        copy(&place, "mirror", name);
    }
    let trust = |name: &String| {
        place.command(&format!("plugins trust {name}")).stderr(Stdio::null()).spawn()
    };
    let running: Vec<_> = names.iter().map(|name| trust(name).expect("it runs")).collect();
    for mut one in running {
        assert!(one.wait().expect("it ends").success());
    }
    let listed = place.brute("plugins list --json").out_json();
    let trusted = listed.as_array().expect("a list").iter().filter(|one| one["trusted"] == true);
    assert_eq!(trusted.count(), 16, "{listed:#}");
}

#[test]
fn what_clashes_is_listed_as_such() {
    let place = place();
    let bytes = std::fs::read(place.path(&library())).expect("it is there");
    place.write(&format!("plugins/other{DLL_SUFFIX}"), [&*bytes, b"0"].concat());
    let listed = place.brute("plugins list --trust-plugins plugins");
    assert_eq!(listed.code, Some(0));
    assert!(listed.err.contains("both have a layer `mirror`"), "{}", listed.err);
    assert_eq!(listed.out.lines().filter(|line| line.trim() == "loaded").count(), 1);
    assert!(listed.out.contains("not loaded: `/"), "{}", listed.out);
    place.write("brute.toml", "[plugins]\npath = 7\n");
    let listed = place.brute("plugins list");
    assert!(listed.err.contains("brute.toml:2:8"), "{}", listed.err);
}

#[test]
fn a_folder_is_trusted_for_one_run() {
    let place = place();
    assert_eq!(place.brute("check").code, Some(2));
    assert_eq!(place.brute("check --trust-plugins plugins").code, Some(0));
    let mut command = place.command("check");
    command.env("BRUTE_TRUST_PLUGINS", place.path("plugins"));
    assert!(command.output().expect("it runs").status.success());
    assert_eq!(place.brute("check").code, Some(2));
    let mut command = place.command("check");
    command.env("BRUTE_TRUST_PLUGINS", "plugins");
    let relative = command.output().expect("it runs");
    assert!(String::from_utf8_lossy(&relative.stderr).contains("which is no absolute path"));
    let missing = place.brute("check --trust-plugins nowhere");
    assert!(
        missing.code == Some(2) && missing.err.contains("cannot trust the plugins in `nowhere`")
    );
}

#[test]
fn options_of_a_plugin_are_in_layers_schema_config_and_check() {
    let place = place();
    let with = |line: &str| place.brute(&format!("{line} --trust-plugins plugins"));
    let layer = with("layers mirror");
    let built_in = place.brute("layers sliding-window --no-config");
    let options = |text: &str| text.split_once("\n\n").map(|(_, options)| options.to_owned());
    assert_eq!(options(&layer.out), options(&built_in.out));
    assert!(layer.out.contains("from ") && layer.out.contains("brute_mirror"), "{}", layer.out);
    assert!(with("schema").out.contains("mirror"));
    assert!(with("config mirror.keep-steps").out.contains("How many of the newest steps stay"));
    assert!(with("config").out.contains("layer = \"mirror\""));
    place.write("brute.toml", LADDER.replace("keep-steps", "keep-step"));
    let said = with("check").err;
    assert!(said.contains("`mirror` has no option `keep-step`"), "{said}");
    assert!(
        said.contains("brute.toml:6:1") && said.contains("did you mean `keep-steps`?"),
        "{said}"
    );
}

#[test]
fn what_is_found_is_listed_with_reasons() {
    let place = place();
    place.write(&format!("plugins/words{DLL_SUFFIX}"), "just words");
    let listed = place.brute("plugins list");
    assert_eq!(listed.code, Some(0));
    for part in [
        "not loaded: it is not trusted",
        "brute plugins trust ",
        "mirror 0.1.0",
        "blake3 ",
        "it is no dynamic library",
    ] {
        assert!(listed.out.contains(part), "{part}: {}", listed.out);
    }
    let json = place.brute("plugins list --json --trust-plugins plugins").out_json();
    let mirror = &json[0];
    assert_eq!((&mirror["loaded"], &mirror["trusted"]), (&true.into(), &true.into()), "{json:#}");
    assert_eq!(mirror["layers"][0]["name"], "mirror");
    assert_eq!(json[1]["loaded"], false);
    place.write("brute.toml", "");
    assert!(place.brute("plugins list").err.contains("`[plugins] path`"));
}

#[test]
fn a_library_is_looked_at_without_running_it() {
    let place = place();
    let inspected = place.brute(&format!("plugins inspect {}", library()));
    assert_eq!(inspected.code, Some(0), "{}", inspected.err);
    for part in
        ["mirror 0.1.0", "built against brute-core 0.1.0 (ABI 2, rustc ", "not trusted, blake3 "]
    {
        assert!(inspected.out.contains(part), "{part}: {}", inspected.out);
    }
    let json = place.brute(&format!("plugins inspect {} --json", library())).out_json();
    assert_eq!(json["abi"], 2);
    for (file, why) in
        [("small.json", "it is no dynamic library"), ("missing.so", "it cannot be read")]
    {
        let ended = place.brute(&format!("plugins inspect {file}"));
        assert!(ended.code == Some(3) && ended.err.contains(why), "{}", ended.err);
        assert_eq!(place.brute(&format!("plugins trust {file}")).code, Some(3));
    }
}

#[test]
fn a_store_that_cannot_be_used_is_named() {
    let place = place();
    assert_eq!(place.brute(&format!("plugins trust {}", library())).code, Some(0));
    place.write("brute/trusted-plugins.toml", "plugin = 7");
    let ended = place.brute("check");
    assert!(ended.code == Some(2) && ended.err.contains("trusted-plugins.toml"), "{}", ended.err);
    // What needs a plugin fails by it, or a change of it; all else does not.
    for (line, code) in [
        (format!("plugins trust {}", library()), 2),
        (format!("plugins untrust {}", library()), 2),
        (format!("plugins inspect {}", library()), 0),
        ("plugins list".to_owned(), 0),
        ("layers".to_owned(), 0),
    ] {
        let ended = place.brute(&line);
        let told = ended.err.contains("trusted-plugins.toml");
        assert!(ended.code == Some(code) && told, "{line}: {:?} {}", ended.code, ended.err);
    }
    place.write("brute.toml", "");
    for line in ["check", "compact small.json", "count small.json", "layers", "truncate small.json"]
    {
        let ended = place.brute(line);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.err);
        assert!(!ended.err.contains("trusted-plugins.toml"), "{line}: {}", ended.err);
    }
}
