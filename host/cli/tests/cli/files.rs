//! Files that are written: through links, to devices, with the modes that their user wants.

#![cfg(unix)]

use std::os::unix::fs::{PermissionsExt, symlink};

use super::place::{Place, SMALL};

#[test]
fn a_link_stays_a_link_and_what_it_names_is_written() {
    let place = Place::with([("small.json", SMALL), ("real", "old")]);
    symlink("real", place.path("link")).expect("a link can be made");
    assert_eq!(place.brute("compact small.json -o link").code, Some(0));
    assert!(place.path("link").is_symlink());
    assert_eq!(place.read("real"), SMALL);
}

#[test]
fn what_the_process_has_open_is_written_to() {
    let place = Place::with([("small.json", SMALL)]);
    let ended = place.brute("compact small.json -q -o /dev/stdout");
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), SMALL));
}

#[test]
fn a_new_file_has_the_usual_mode_and_an_old_one_keeps_its_own() {
    let place = Place::with([("small.json", SMALL), ("usual", "")]);
    let mode = |name: &str| {
        let there = std::fs::metadata(place.path(name)).expect("the file is there");
        there.permissions().mode() & 0o777
    };
    assert_eq!(place.brute("compact small.json -o new").code, Some(0));
    assert_eq!(mode("new"), mode("usual"));
    let private = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(place.path("usual"), private).expect("a mode can be set");
    assert_eq!(place.brute("compact small.json -o usual").code, Some(0));
    assert_eq!(mode("usual"), 0o640);
    assert_eq!(place.names(), ["new", "small.json", "usual"]);
}
