//! Fuzzes `brute_fuzz::plans`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brute_fuzz::plans::check(bytes));
