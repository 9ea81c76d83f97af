//! Fuzzes `brute_fuzz::config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brute_fuzz::config::check(bytes));
