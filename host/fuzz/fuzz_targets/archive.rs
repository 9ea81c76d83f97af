//! Fuzzes `brute_fuzz::archive`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brute_fuzz::archive::check(bytes));
