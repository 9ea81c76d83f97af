//! Fuzzes `brute_fuzz::transcripts`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brute_fuzz::transcripts::check(bytes));
