//! What fuzzers check, over their seeds and over what comes of cutting and mixing these. It needs no fuzzer.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a check that fails says so"
)]
#![expect(clippy::print_stderr, reason = "of a check that fails, the input is to be seen")]
#![expect(
    unreachable_pub,
    reason = "the modules are a crate's of its own, which fuzzers are built of"
)]

#[path = "../fuzz/src/lib.rs"]
mod checks;

use std::fs;
use std::path::{Path, PathBuf};

use checks::{TARGETS, Target};

fn seeds(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let host = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = host.join("fuzz/seeds").join(target.name);
    let folders = [Some(own), target.more_seeds.map(|more| host.join("..").join(more))];
    let files = folders.into_iter().flatten().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut seeds: Vec<_> = files
        .map(|file| file.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    seeds.sort();
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    seeds
}

/// Checks the seeds, then what comes of them: cut off, with a piece of another in the middle, with one byte changed. The
/// same each time.
fn hold(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let seeds = seeds(target);
    for (path, seed) in &seeds {
        eprintln!("{}", path.display());
        (target.check)(seed);
    }
    let mut dice = Dice(1);
    for (path, seed) in &seeds {
        for _ in 0..VARIANTS {
            let other = &seeds[dice.below(seeds.len())].1;
            let mut bytes = seed.clone();
            let at = dice.below(bytes.len() + 1);
            match dice.below(3) {
                0 => bytes.truncate(at),
                1 => {
                    let from = dice.below(other.len() + 1);
                    let piece = other[from..].iter().take(1 + dice.below(200)).copied();
                    let end = (at + dice.below(200)).min(bytes.len());
                    bytes.splice(at..end, piece);
                }
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = ODD[dice.below(ODD.len())];
                    }
                }
            }
            eprintln!("of {}: {:?}", path.display(), String::from_utf8_lossy(&bytes));
            (target.check)(&bytes);
        }
    }
}

/// So many variants of each seed are tried: a second or two of each check.
const VARIANTS: usize = 24;

/// Bytes that mean something somewhere.
const ODD: &[u8] = b"\"\\{}[],:0-e\n \0\x0e\x0f\xff\xc3";

/// Numbers that look like chance.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end.max(1)
    }
}

#[test]
fn formats() {
    hold("formats");
}

#[test]
fn transcripts() {
    hold("transcripts");
}

#[test]
fn session_log() {
    hold("session-log");
}

#[test]
fn archive() {
    hold("archive");
}

#[test]
fn plans() {
    hold("plans");
}

#[test]
fn truncation() {
    hold("truncation");
}

#[test]
fn config() {
    hold("config");
}

/// What is not listed is not run.
#[test]
fn each_check_has_a_fuzzer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let manifest: toml::Table =
        fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
    let bins = manifest["bin"].as_array().unwrap().iter();
    let names: Vec<&str> = bins.map(|bin| bin["name"].as_str().unwrap()).collect();
    assert_eq!(names, TARGETS.each_ref().map(|target| target.name));
    for (name, bin) in names.iter().zip(manifest["bin"].as_array().unwrap()) {
        let source = fs::read_to_string(folder.join(bin["path"].as_str().unwrap())).unwrap();
        let check = format!("brute_fuzz::{}::check", name.replace('-', "_"));
        assert!(source.contains(&check), "{name}");
    }
}
