//! What is archived comes back byte for byte, whatever was done to a conversation and how it is spelled.

use std::sync::Arc;

use brute_core::{Approximate, Message};
use brute_host::archive::{Archive, ArchiveOptions, Compacted, way_back};
use brute_host::ladder::{Budget, Compactor, Rung};
use brute_sliding_window::SlidingWindow;
use brute_tool_results::ToolResults;
use tempfile::TempDir;

use super::*;

/// An archive of its own for each case.
struct Place {
    _folder: TempDir,
    archive: Archive,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::at(folder.path().join("archive"), ArchiveOptions::default());
        Self { _folder: folder, archive }
    }

    /// Archives what became of `before`, which was read as `document`.
    fn keep(&self, document: &Document, before: &str, after: &str, removed: &[Arc<Message>]) {
        let (format, bytes) = (document.format(), after.as_bytes());
        let compacted = Compacted::read(format, before.as_bytes(), bytes, None).unwrap();
        let compacted = compacted.removed(document, removed);
        let name = self.archive.name_for(&compacted).unwrap();
        self.archive.session(&name).unwrap().compacted(&compacted).unwrap();
    }

    fn sessions(&self) -> usize {
        std::fs::read_dir(self.archive.folder()).map_or(0, Iterator::count)
    }
}

/// Compacts to about a share of the size, all layers that need no model asked. What a model did not
/// write is the same to the archive as what it did.
fn compact(place: &Place, format: Format, json: &str, share: u64) -> String {
    let document = read(format, json);
    let mut conversation = document.conversation().clone();
    let target = (conversation.measure(&Approximate) / share).max(1);
    let budget = Budget::new(1 << 40, 0, target + 1, target).unwrap();
    let compactor = Compactor::new(Arc::new(Approximate), budget)
        .rung(Rung::new("tool-results", ToolResults::default()))
        .rung(Rung::new("sliding-window", SlidingWindow::default()))
        .retrieving(|message| Some(way_back(message, "")));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let done = runtime.block_on(compactor.compact_now(conversation));
    let after = document.write(&done.conversation, &WriteOptions::default());
    let after = String::from_utf8(after.into_owned()).unwrap();
    place.keep(&document, json, &after, &done.removed);
    for message in &done.removed {
        let handle = way_back(message, "");
        let handle = handle.trim_matches('`').rsplit(' ').next().unwrap();
        let found = place.archive.find(handle, None).unwrap();
        if let Some((_, result)) = message.result().filter(|(_, result)| !result.text.is_empty()) {
            assert_eq!(found.text, *result.text);
        }
    }
    after
}

/// `json` with more messages behind its own, as an agent adds them.
fn continued(json: &str, more: &[Value]) -> String {
    let lines: Vec<String> = more.iter().map(Value::to_string).collect();
    let is_list = json.trim_start_matches('\u{feff}').starts_with(['[', '{']) && json.contains(']');
    match json.rfind(']').filter(|_| is_list && !json.ends_with("}\n")) {
        Some(end) => format!("{} , {}{}", json[..end].trim_end(), lines.join(","), &json[end..]),
        None => format!("{json}{}\n", lines.join("\n")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Any edits at all, also such as no layer makes.
    #[test]
    fn every_plan_is_undone(
        format in formats(),
        turns in turns(),
        seed: u64,
        choices in prop::collection::vec(any::<(u8, Index, Index)>(), 1..6),
    ) {
        let json = document(format, &turns, seed);
        let read = read(format, json.clone());
        let host = TestHost::new();
        let Ok(applied) = host.apply(read.conversation(), &plan(read.conversation(), &choices)) else {
            return Ok(());
        };
        let after = read.write(&applied.conversation, &WriteOptions::default());
        let after = String::from_utf8(after.into_owned()).unwrap();
        let place = Place::new();
        place.keep(&read, &json, &after, &[]);
        let restored = place.archive.restore(after.as_bytes(), None, None).unwrap();
        prop_assert_eq!(&restored.text, &json);
        prop_assert!(restored.is_exact());
    }

    /// Compacted, continued, compacted again: all of it comes back, with what was said since.
    #[test]
    fn a_session_is_undone(
        format in formats(),
        beginning in turns(),
        later in turns(),
        shares in [1u64..8, 1u64..8],
        seed: u64,
    ) {
        let place = Place::new();
        let first = document(format, &beginning, seed);
        let once = compact(&place, format, &first, shares[0]);
        let more = wire(format, &later);
        let (whole, grown) = (continued(&first, &more), continued(&once, &more));
        for json in [&first, &once] {
            let restored = place.archive.restore(json.as_bytes(), None, None);
            prop_assert_eq!(restored.unwrap().text, first.clone());
        }
        let restored = place.archive.restore(grown.as_bytes(), None, None).unwrap();
        prop_assert!(restored.is_exact());
        prop_assert_eq!(&restored.text, &whole);
        let twice = compact(&place, format, &grown, shares[1]);
        let restored = place.archive.restore(twice.as_bytes(), None, None).unwrap();
        prop_assert!(restored.is_exact());
        prop_assert_eq!(&restored.text, &whole);
        prop_assert!(place.sessions() <= 1, "it finds its session again");
    }

    /// An agent that spells its history anew loses white space, and no message.
    #[test]
    fn another_spelling_is_undone_and_told(format in formats(), turns in turns(), share in 2u64..8, seed: u64) {
        let place = Place::new();
        let json = document(format, &turns, seed);
        let after = compact(&place, format, &json, share);
        let spelled = Value::from(list(after.clone().into_bytes())).to_string();
        let restored = place.archive.restore(spelled.as_bytes(), None, None).unwrap();
        prop_assert_eq!(list(restored.text.into_bytes()), list(json.into_bytes()));
    }
}
