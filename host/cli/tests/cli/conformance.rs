//! `brute plugins test`: the layers of a library on made-up conversations.

use super::place::{Ended, Place};
use super::plugins::{copy, file_name};

/// A place with the libraries that are tried.
fn place() -> Place {
    let place = Place::new();
    copy(&place, "mirror", &file_name("mirror"));
    copy(&place, "faulty", &file_name("faulty"));
    place
}

fn test(place: &Place, plugin: &str, options: &str) -> Ended {
    place.brute(&format!("plugins test {} --cases 20 {options}", file_name(plugin)))
}

#[test]
fn a_layer_that_conforms_is_said_to() {
    let tried = test(&place(), "mirror", "--option keep-steps=2");
    let expected = (Some(0), "ok  mirror: 20 conversations\n");
    assert_eq!((tried.code, tried.out.as_str()), expected, "{}", tried.err);
    let both = test(&place(), "faulty", "");
    let expected = "ok  faulty: 20 conversations\nok  idle: 20 conversations\n";
    assert_eq!((both.code, both.out.as_str()), (Some(0), expected), "{}", both.err);
}

#[test]
fn whatever_goes_wrong_from_build_to_end_is_a_broken_law() {
    let place = place();
    for (act, law) in [
        ("panic-in-build", "build: panicked at "),
        ("hang-in-build", "build: it was not done within 1s"),
        ("panic-in-plan", "failed: "),
        ("fail", "failed: it did not want to"),
        ("hang", "progress: not done within 1s"),
        ("out-of-range", "refused: "),
        ("panic-in-drop", "end: panicked at "),
    ] {
        let options = format!("--layer faulty --option 'act=\"{act}\"' --timeout 1s");
        let ended = test(&place, "faulty", &options);
        assert_eq!((ended.code, ended.err.as_str()), (Some(1), ""), "{act}");
        assert!(ended.out.starts_with(&format!("no  faulty: {law}")), "{act}: {}", ended.out);
        assert!(ended.out.len() < 4_000, "{act}: {}", ended.out);
    }
}

#[test]
fn what_cannot_be_tried_is_told_with_what_can() {
    let place = place();
    for (plugin, options, parts) in [
        (
            "mirror",
            "--option keep-step=2",
            &["no option `keep-step`", "`keep-steps`?", "--option:1:1"][..],
        ),
        ("mirror", "--option banana=2", &["no option `banana`", "known options: `keep-steps`"]),
        ("mirror", "--option keep-steps=0", &["`keep-steps` is 0, expected"]),
        ("mirror", "--option keep-steps=two", &["a string needs quotes", "keep-steps=\"two\""]),
        ("faulty", "--layer faulty --option act=fail", &["needs quotes", "'act=\"fail\"'"]),
        ("faulty", "--layer faulty --option 'act=\"fial\"'", &["did you mean `fail`?"]),
        ("faulty", "--layer faulty --option act", &["write `key=value`"]),
        ("faulty", "--option 'act=\"fail\"'", &["by `--layer`", "`faulty`, `idle`"]),
        ("faulty", "--layer nope", &["no layer `nope` in", "known layers: `faulty`, `idle`"]),
        ("faulty", "--layer fautly", &["did you mean `faulty`?"]),
        ("mirror", "--timeout 0", &["--timeout", "it leaves no time"]),
        ("mirror", "--timeout soon", &["--timeout"]),
    ] {
        let ended = test(&place, plugin, options);
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{options}: {}", ended.err);
        for part in parts {
            assert!(ended.err.contains(part), "{options}, {part}: {}", ended.err);
        }
    }
    let none = place.brute(&format!("plugins test {} --cases 0", file_name("mirror")));
    assert!(none.code == Some(2) && none.err.contains("--cases"), "{}", none.err);
}
