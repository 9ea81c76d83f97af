//! Fuzzes `brute_fuzz::truncation`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brute_fuzz::truncation::check(bytes));
