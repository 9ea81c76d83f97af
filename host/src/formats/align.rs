//! Which part of a changed message was which part before.

use brute_core::Part;

/// What became of a part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Change<'a> {
    /// It is as it was.
    Kept,
    /// It says something else.
    Rewritten(&'a Part),
    /// It is gone.
    Removed,
}

/// What became of each of `old`, where `new` came from it by edits; none if it cannot have.
///
/// Of all ways to read the change, the one that keeps the most parts as they were.
pub(super) fn align<'a>(old: &[Part], new: &'a [Part]) -> Option<Vec<Change<'a>>> {
    if old.len() == new.len() && old.iter().zip(new).all(|(old, new)| becomes(old, new)) {
        let change = |(old, new): (&Part, &'a Part)| {
            if old == new { Change::Kept } else { Change::Rewritten(new) }
        };
        return Some(old.iter().zip(new).map(change).collect());
    }
    const NEVER: usize = usize::MAX / 2;
    let width = new.len() + 1;
    // The least cost of making `new[b..]` of `old[a..]`, at `a * width + b`.
    let mut costs = vec![NEVER; (old.len() + 1) * width];
    costs[old.len() * width + new.len()] = 0;
    let pairing = |a: usize, b: usize| match (old.get(a), new.get(b)) {
        (Some(old), Some(new)) if becomes(old, new) => usize::from(old != new),
        _ => NEVER,
    };
    for a in (0..old.len()).rev() {
        for b in (0..=new.len()).rev() {
            let remove = if is_removable(&old[a]) { 1 + costs[(a + 1) * width + b] } else { NEVER };
            let pair = match b < new.len() {
                true => pairing(a, b).saturating_add(costs[(a + 1) * width + b + 1]),
                false => NEVER,
            };
            costs[a * width + b] = remove.min(pair).min(NEVER);
        }
    }
    if costs[0] >= NEVER {
        return None;
    }
    let mut b = 0;
    let mut changes = Vec::with_capacity(old.len());
    for a in 0..old.len() {
        let cost = costs[a * width + b];
        let pairs =
            b < new.len() && pairing(a, b).saturating_add(costs[(a + 1) * width + b + 1]) == cost;
        changes.push(match pairs {
            true if old[a] == new[b] => Change::Kept,
            true => Change::Rewritten(&new[b]),
            false => Change::Removed,
        });
        b += usize::from(pairs);
    }
    Some(changes)
}

/// Whether an edit, or a repair, can make `new` of `old`.
fn becomes(old: &Part, new: &Part) -> bool {
    match (old, new) {
        (Part::Text(_) | Part::Media(_), Part::Text(_)) => true,
        (Part::Reasoning(old), Part::Reasoning(new)) => old == new || !(old.signed || new.signed),
        (Part::ToolCall(old), Part::ToolCall(new)) => old.name == new.name,
        (Part::ToolResult(_), Part::ToolResult(_)) => true,
        _ => old == new,
    }
}

fn is_removable(part: &Part) -> bool {
    // No edit removes what is opaque, but a repair may.
    !matches!(part, Part::ToolCall(_) | Part::ToolResult(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brute_core::{Media, Reasoning, ToolCall};

    fn parts(words: &str) -> Vec<Part> {
        let part = |word: &str| match word.split_once(':') {
            Some(("think", text)) => {
                Part::Reasoning(Reasoning { text: text.into(), signed: false })
            }
            Some(("call", id)) => Part::ToolCall(ToolCall {
                id: id.into(),
                name: "read".into(),
                arguments: "{}".into(),
            }),
            Some(("image", _)) => {
                Part::Media(Media { kind: "image/png".into(), tokens: 9, bytes: 0 })
            }
            _ => Part::text(word),
        };
        words.split_whitespace().map(part).collect()
    }

    #[test]
    fn changes_are_read_with_the_most_kept() {
        let table = [
            ("a b c", "a b c", "kkk"),
            ("a b c", "a c", "krk"),
            ("a b c", "a x c", "kwk"),
            ("think:t a call:1", "a call:1", "rkk"),
            ("think:t a call:1", "call:1", "rrk"),
            ("a image: b", "a x b", "kwk"),
            ("a image: b", "a b", "krk"),
            ("a b call:1 c", "x call:1 c", "wrkk"),
            ("call:1", "", "-"),
            ("a", "a b", "-"),
            ("call:1", "a", "-"),
        ];
        for (old, new, expected) in table {
            let new = parts(new);
            let found = align(&parts(old), &new).map_or("-".to_owned(), |changes| {
                let letter = |change: &Change<'_>| match change {
                    Change::Kept => 'k',
                    Change::Rewritten(_) => 'w',
                    Change::Removed => 'r',
                };
                changes.iter().map(letter).collect()
            });
            assert_eq!(found, expected, "{old} -> {new:?}");
        }
    }
}
