//! Fuzzes `brute_fuzz::formats`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brute_fuzz::formats::check(bytes));
