//! Truncation of 100 MB to the default limits, beside `cp` of the same bytes plus `wc -l`.
//!
//! Read the ratio off `in_memory` or `streaming` over `copy_and_count_lines`, which reads the file,
//! writes a copy, and reads the file again to count. All files are below `TMPDIR`.

#![expect(
    clippy::expect_used,
    reason = "a bench that cannot write its files has nothing to measure"
)]

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use brute_core::truncation::Keep;
use brute_host::truncation::{TruncateOptions, Truncator};
use tempfile::TempDir;

const BYTES: usize = 100_000_000;

fn main() {
    divan::main();
}

/// Lines of 20 to 120 bytes, like a build's log.
fn text() -> Vec<u8> {
    let mut out = Vec::with_capacity(BYTES + 200);
    let mut number = 0usize;
    while out.len() < BYTES {
        let filler = &"compiling module after module of a long build ................................."
            [..number % 79];
        out.extend_from_slice(format!("[{number:>10}] step {filler}\n").as_bytes());
        number += 1;
    }
    out.truncate(BYTES);
    out
}

fn truncator(folder: &Path, keep: Keep) -> Truncator {
    let spill = Some(folder.join("spill").display().to_string());
    Truncator::new(TruncateOptions { spill, keep, ..Default::default() }).expect("valid limits")
}

/// The spill of the run before would be found again, and not written.
fn forget(folder: &Path) {
    let _ = fs::remove_dir_all(folder.join("spill"));
}

#[divan::bench(sample_count = 12)]
fn copy_and_count_lines(bencher: divan::Bencher<'_, '_>) {
    let folder = TempDir::new().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::write(&from, text()).expect("written");
    bencher
        .with_inputs(|| {
            let _ = fs::remove_file(&to);
        })
        .bench_local_values(|()| {
            fs::copy(&from, &to).expect("copied");
            let mut file = File::open(&from).expect("opened");
            let mut piece = vec![0; 256 * 1024];
            let mut lines = 0;
            loop {
                match file.read(&mut piece).expect("read") {
                    0 => break lines,
                    read => lines += memchr::memchr_iter(b'\n', &piece[..read]).count(),
                }
            }
        });
}

#[divan::bench(sample_count = 12, args = [Keep::Head, Keep::Tail, Keep::Ends])]
fn in_memory(bencher: divan::Bencher<'_, '_>, keep: Keep) {
    let folder = TempDir::new().expect("a folder");
    let (truncator, text) = (truncator(folder.path(), keep), text());
    bencher
        .with_inputs(|| forget(folder.path()))
        .bench_local_values(|()| truncator.truncate(None, &text).text.len());
}

#[divan::bench(sample_count = 12, args = [Keep::Head, Keep::Tail, Keep::Ends])]
fn streaming(bencher: divan::Bencher<'_, '_>, keep: Keep) {
    let folder = TempDir::new().expect("a folder");
    let from = folder.path().join("from");
    fs::write(&from, text()).expect("written");
    let truncator = truncator(folder.path(), keep);
    bencher.with_inputs(|| forget(folder.path())).bench_local_values(|()| {
        let file = File::open(&from).expect("opened");
        truncator.truncate_reader(None, file).expect("read").text.len()
    });
}

/// As in `streaming`, with terminal sequences taken out, of which the text has none or two a line.
#[divan::bench(sample_count = 12, args = [false, true])]
fn stripping(bencher: divan::Bencher<'_, '_>, has_sequences: bool) {
    let folder = TempDir::new().expect("a folder");
    let from = folder.path().join("from");
    let mut text = text();
    if has_sequences {
        let plain = String::from_utf8(text).expect("plain text");
        text = plain.replace("[ ", "\x1b[32m[ ").replace("] ", "]\x1b[0m ").into_bytes();
        text.truncate(BYTES);
    }
    fs::write(&from, text).expect("written");
    let spill = Some(folder.path().join("spill").display().to_string());
    let options = TruncateOptions { spill, strip_ansi: true, ..Default::default() };
    let truncator = Truncator::new(options).expect("valid limits");
    bencher.with_inputs(|| forget(folder.path())).bench_local_values(|()| {
        let file = File::open(&from).expect("opened");
        truncator.truncate_reader(None, file).expect("read").text.len()
    });
}

/// The scan alone, without the file.
#[divan::bench(sample_count = 12, args = [Keep::Head, Keep::Tail, Keep::Ends])]
fn scan_only(bencher: divan::Bencher<'_, '_>, keep: Keep) {
    let text = text();
    let limits = brute_core::truncation::Limits { keep, ..Default::default() };
    bencher.bench_local(|| brute_core::truncation::examine(&text, &limits));
}
