//! Fuzzes `brute_fuzz::session_log`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| brute_fuzz::session_log::check(bytes));
