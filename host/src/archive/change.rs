//! What one compaction did to the bytes of a conversation, in a form that leads back.
//!
//! Messages that both sides have, byte for byte, are fixed points. Between two of them stands what was
//! left on one side and what stood there before on the other: messages, and what parts them. So a
//! change knows nothing of layers and plans, and a stretch that went without a trace is one of those
//! gaps like any other.

use std::collections::HashMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::Digest;
use crate::formats::{Format, WireMessages};

/// How to get from what a compaction left back to what it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    pub format: Format,
    /// The fingerprints of the messages that were left, in order.
    left: Vec<Digest>,
    edits: Vec<Edit>,
    history: History,
    /// What each message of the model that went or was changed stood in: of several, one after the other.
    pub handles: Vec<(Digest, Digest)>,
}

/// A stretch of what was left, and what stood in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Edit {
    /// The first message of the stretch.
    at: usize,
    /// How many messages it has; none, where the original went without a trace.
    length: usize,
    /// The original messages, each behind the bytes that part it from what is before.
    stood: Vec<(String, Digest)>,
    /// The bytes between the last of them and what follows.
    behind: String,
}

/// All original bytes from the first message to the end of the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct History {
    bytes: usize,
    digest: Digest,
}

impl History {
    fn of(text: &str, begin: usize, bytes: usize) -> Option<Self> {
        let digest = Digest::of(text.as_bytes().get(begin..begin.checked_add(bytes)?)?);
        Some(Self { bytes, digest })
    }
}

/// How well a conversation goes with what a compaction left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// It begins with all of it.
    Whole,
    /// The same, but its first message, which the compaction did not touch, says something else now.
    ButFirst,
}

impl Change {
    /// What became of `before`, and the places of the messages that went or were changed; none if
    /// nothing did. `after` has a message at least.
    pub(super) fn between(
        format: Format,
        before: &WireMessages,
        after: &WireMessages,
    ) -> Option<(Self, Vec<usize>)> {
        if before.text() == after.text() {
            return None;
        }
        let (mut edits, mut gone) = (Vec::new(), Vec::new());
        let (mut left, mut stood) = (0, 0);
        let end = (after.len(), before.len());
        for (fixed, was) in fixed_points(before, after).into_iter().chain([end]) {
            let now = gap(after, left..fixed, after.len());
            let then = gap(before, stood..was, before.len());
            if after.text()[now] != before.text()[then.clone()] {
                edits.push(Edit::of(left..fixed, before, stood..was, then.end));
                gone.extend(stood..was);
            }
            (left, stood) = (fixed + 1, was + 1);
        }
        let fingerprints = (0..after.len()).map(|index| after.fingerprint(index).into());
        let history = gap(before, 0..before.len(), before.len());
        let history = History::of(before.text(), history.start, history.len())?;
        let left = fingerprints.collect();
        Some((Self { format, left, edits, history, handles: Vec::new() }, gone))
    }

    /// How well `wires`, whose fingerprints are `prints`, go with what was left. Messages behind that
    /// do not matter: the conversation went on.
    pub(super) fn fits(&self, prints: &[Digest]) -> Option<Fit> {
        let (first, rest) = self.left.split_first()?;
        let (found, others) = prints.split_first()?;
        if !others.starts_with(rest) {
            return None;
        }
        let touched = |edit: &Edit| edit.at == 0;
        match found == first {
            true => Some(Fit::Whole),
            // It alone would not say which conversation this is.
            false => (!rest.is_empty() && !self.edits.iter().any(touched)).then_some(Fit::ButFirst),
        }
    }

    /// The text of `wires` with the original in place of what was left, byte for byte.
    ///
    /// # Errors
    /// The first of the original messages that `original` does not have.
    pub(super) fn undo<'a>(
        &self,
        wires: &WireMessages,
        original: impl Fn(Digest) -> Option<&'a str>,
    ) -> Result<String, Digest> {
        let text = wires.text();
        let mut whole = String::with_capacity(text.len() + self.history.bytes);
        let mut copied = 0;
        for edit in &self.edits {
            let gap = gap(wires, edit.at..edit.at + edit.length, self.left.len());
            whole.push_str(text.get(copied..gap.start).unwrap_or_default());
            for (apart, message) in &edit.stood {
                whole.push_str(parting(apart, wires.is_list()));
                whole.push_str(original(*message).ok_or(*message)?);
            }
            whole.push_str(parting(&edit.behind, wires.is_list()));
            copied = gap.end;
        }
        whole.push_str(text.get(copied..).unwrap_or_default());
        Ok(whole)
    }

    /// Whether `wires` begin with the original history, byte for byte.
    pub(super) fn is_original(&self, wires: &WireMessages) -> bool {
        let begin = wires.span(0).start;
        History::of(wires.text(), begin, self.history.bytes).as_ref() == Some(&self.history)
    }

    /// Whether this leads from the same to the same as `other`.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.left, &self.history) == (&other.left, &other.history)
    }
}

impl Edit {
    /// The original messages `stood` of `before`, whose gap ends at `end`.
    fn of(left: Range<usize>, before: &WireMessages, stood: Range<usize>, end: usize) -> Self {
        let text = before.text();
        let mut at = gap(before, stood.clone(), before.len()).start;
        let mut message = |index| {
            let span = before.span(index);
            let apart = text[at..span.start].to_owned();
            at = span.end;
            (apart, Digest::of(text[span].as_bytes()))
        };
        let messages = stood.map(&mut message).collect();
        let behind = text[at..end].to_owned();
        Self { at: left.start, length: left.len(), stood: messages, behind }
    }
}

/// What parts two messages now, where it was `apart` that did: a list may have become lines, or lines a list.
fn parting(apart: &str, is_list: bool) -> &str {
    match (apart.contains(','), is_list) {
        (false, true) if !apart.is_empty() => ",",
        (true, false) => "\n",
        _ => apart,
    }
}

/// From the end of the message before `messages` to the beginning of the one behind, in bytes. What is
/// around the first `all` messages is in no gap.
fn gap(wires: &WireMessages, messages: Range<usize>, all: usize) -> Range<usize> {
    let start = match messages.start.checked_sub(1) {
        Some(before) => wires.span(before).end,
        None => wires.span(0).start,
    };
    let end = match messages.end < all {
        true => wires.span(messages.end).start,
        false => wires.span(all.saturating_sub(1)).end,
    };
    start..end
}

/// Messages of `after` that stand in `before` byte for byte, in order: the place of each in both. Each is
/// paired with the first that is left, so that of messages that are alike none is skipped needlessly.
fn fixed_points(before: &WireMessages, after: &WireMessages) -> Vec<(usize, usize)> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::with_capacity(before.len());
    for index in 0..before.len() {
        places.entry(before.raw(index)).or_default().push(index);
    }
    let mut next = 0;
    let pair = |index| {
        let places = places.get(after.raw(index))?;
        let place = *places.get(places.partition_point(|place| *place < next))?;
        next = place + 1;
        Some((index, place))
    };
    (0..after.len()).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list with a message for each letter, and other bytes between them from place to place.
    fn list(letters: &str, indent: &str) -> WireMessages {
        let messages: Vec<String> = letters
            .char_indices()
            .map(|(index, letter)| {
                let space = " ".repeat(index % 3);
                format!("{space}{{\"role\":{indent}\"user\",\"content\":\"{letter}\"}}")
            })
            .collect();
        WireMessages::read(format!("[\n{}\n]\n", messages.join(",")), None).expect("a list")
    }

    fn prints(wires: &WireMessages) -> Vec<Digest> {
        (0..wires.len()).map(|index| wires.fingerprint(index).into()).collect()
    }

    #[test]
    fn every_change_leads_back() {
        // Before and after, and what it became by going on.
        let table = [
            ("abcdef", "af", "afg"),
            ("abcdef", "aNf", "aNfgh"),
            ("abcdef", "Nef", "Nef"),
            ("abcdef", "ef", "efg"),
            ("abcdef", "abN", "abNg"),
            ("abcdef", "N", "Ng"),
            ("abcdef", "aBcDef", "aBcDefgg"),
            ("aaaaaa", "aaa", "aaaa"),
            ("abcabcabc", "abNbc", "abNbcd"),
            ("abc", "aNbc", "aNbc"),
            ("abc", "Nabc", "Nabcd"),
        ];
        for (before, after, later) in table {
            let (before, after) = (list(before, ""), list(after, ""));
            let (change, gone) =
                Change::between(Format::OpenaiChat, &before, &after).expect("a change");
            let kept: HashMap<Digest, &str> = gone
                .iter()
                .map(|index| (Digest::of(before.raw(*index).as_bytes()), before.raw(*index)))
                .collect();
            let original = |digest| kept.get(&digest).copied();
            assert_eq!(change.fits(&prints(&after)), Some(Fit::Whole));
            assert_eq!(change.undo(&after, original).as_deref(), Ok(before.text()));
            let later = list(later, "");
            assert_eq!(change.fits(&prints(&later)), Some(Fit::Whole));
            let undone = change.undo(&later, original).expect("all of it is there");
            let undone = WireMessages::read(undone, None).expect("JSON again");
            assert_eq!(undone.len() - before.len(), later.len() - after.len());
            assert!(change.is_original(&undone));
        }
    }

    #[test]
    fn another_spelling_fits_and_is_told() {
        let (before, after) = (list("abcdef", ""), list("aNf", ""));
        let (change, _) = Change::between(Format::OpenaiChat, &before, &after).expect("a change");
        let spelled = list("aNf", " ");
        assert_eq!(change.fits(&prints(&spelled)), Some(Fit::Whole));
        let undone = change.undo(&spelled, |digest| {
            let all = (0..before.len()).map(|index| before.raw(index));
            all.into_iter().find(|raw| Digest::of(raw.as_bytes()) == digest)
        });
        let undone = WireMessages::read(undone.expect("all is there"), None).expect("JSON again");
        assert_eq!(prints(&undone), prints(&before));
        assert!(!change.is_original(&undone));
        for (letters, fit) in [
            ("xNf", Some(Fit::ButFirst)),
            ("aMf", None),
            ("aN", None),
            ("aNg", None),
            ("", None),
            ("aNfxyz", Some(Fit::Whole)),
        ] {
            let wires = (!letters.is_empty()).then(|| prints(&list(letters, "")));
            assert_eq!(change.fits(&wires.unwrap_or_default()), fit, "{letters}");
        }
    }

    #[test]
    fn no_change_is_none() {
        assert!(Change::between(Format::OpenaiChat, &list("ab", ""), &list("ab", "")).is_none());
    }
}
