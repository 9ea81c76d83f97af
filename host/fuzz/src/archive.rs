//! The files of an archive: the last line of an input is the conversation that is to be restored from the others.

use std::sync::OnceLock;

use brute_host::archive::{Archive, ArchiveOptions, is_handle};
use brute_host::formats::WireMessages;

use super::{file, told};

/// What is restored is a conversation, and where nothing was undone it is the one that was given.
pub fn check(bytes: &[u8]) {
    let last = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (lines, input) = bytes.split_at(last);
    let path = file("session.jsonl", lines);
    let folder = path.parent().expect("a folder");
    let archive = Archive::at(folder, ArchiveOptions::default());
    match archive.restore(input, None, Some("session")) {
        Err(error) => told(&error),
        Ok(restored) => {
            if restored.compactions == 0 {
                assert_eq!(restored.text.as_bytes(), input);
            }
            assert!(WireMessages::read(restored.text.as_str(), None).is_ok(), "{}", restored.text);
            restored.flaws.iter().for_each(told);
            restored.damage.iter().for_each(told);
        }
    }
    let handles = HANDLES.get_or_init(|| (0..16_u8).map(|digit| format!("{digit:x}")).collect());
    let named = String::from_utf8_lossy(lines);
    let named = named.split('"').filter(|word| is_handle(word)).take(4);
    for handle in handles.iter().map(String::as_str).chain(named) {
        match archive.find(handle, Some("session")) {
            Err(error) => told(&error),
            Ok(found) => assert!(found.digest.to_string().starts_with(handle)),
        }
    }
}

static HANDLES: OnceLock<Vec<String>> = OnceLock::new();
