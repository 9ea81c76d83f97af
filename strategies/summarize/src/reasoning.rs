//! What a model thought aloud, taken out of its answer.

/// How reasoning opens and closes, in lower case.
const BLOCKS: [(&str, &str); 7] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<analysis>", "</analysis>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
];

/// `text` without the blocks of reasoning that begin at the head of a line; nothing if one does not end.
///
/// Where a template has opened the block, only its end is in the answer: what stands before that is
/// reasoning, too.
pub(crate) fn without_reasoning(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((begins, mark, close)) = next_mark(rest) {
        let from = &rest[begins + mark.len()..];
        if mark == close {
            out.clear();
            rest = from;
            continue;
        }
        out.push_str(&rest[..begins]);
        let ends = find(from, close)?;
        rest = &from[ends + close.len()..];
    }
    out.push_str(rest);
    Some(out)
}

/// The first mark at the head of a line: where it is, what it is, and what closes it.
fn next_mark(text: &str) -> Option<(usize, &'static str, &'static str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let mark = line.trim_start();
        let begins = at + line.len() - mark.len();
        let found = BLOCKS.iter().find_map(|(open, close)| {
            [open, close].into_iter().find(|tag| starts(mark, tag)).map(|tag| (*tag, *close))
        });
        if let Some((tag, close)) = found {
            return Some((begins, tag, close));
        }
        at += line.len();
    }
    None
}

fn starts(text: &str, tag: &str) -> bool {
    text.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag))
}

fn find(text: &str, tag: &str) -> Option<usize> {
    let first = tag.chars().next()?;
    text.match_indices(first).map(|(at, _)| at).find(|at| starts(&text[*at..], tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_said_stays_and_what_is_thought_goes(
            lines in prop::collection::vec(("[a-z<>/`. ]{0,12}", prop::option::of((prop::sample::select(&BLOCKS[..]), "[a-z\n<]{0,8}"))), 0..6),
            thought_first in any::<bool>(),
        ) {
            let block = |((open, close), thought): &((&str, &str), String)| {
                format!("{}{thought}{}", open.to_uppercase(), close)
            };
            let text: String = lines.iter().map(|(line, thought)| {
                format!("{}- {line}\n", thought.as_ref().map_or_else(String::new, block))
            }).collect();
            let said: String = lines.iter().map(|(line, _)| format!("- {line}\n")).collect();
            let opened = if thought_first { "as I see it\n</think>" } else { "" };
            prop_assert_eq!(without_reasoning(&format!("{opened}{text}")), Some(said));
            prop_assert_eq!(without_reasoning(&format!("{text}<think>and")), None);
        }
    }
}
