//! What a summarizer says of what it was told to do, in place of a summary: small models do.

/// Shorter sentences may be anybody's.
const LEAST_WORDS: usize = 4;

/// `answer` without the sentences of `instructions` in it that `record` does not have, and how many those were.
pub(crate) fn without_instructions(
    answer: &str,
    instructions: &str,
    record: &str,
) -> (String, usize) {
    let lines = instructions.lines().filter(|line| !line.starts_with('#'));
    let sentences = lines.flat_map(|line| line.split_inclusive(['.', ':', '?', '!']));
    let sentences: Vec<&str> = sentences
        .map(|sentence| sentence.trim().trim_end_matches(['.', ':', '?', '!']))
        .filter(|sentence| sentence.split_whitespace().count() >= LEAST_WORDS)
        .filter(|sentence| answer.contains(sentence) && !record.contains(sentence))
        .collect();
    let mut struck = 0;
    let mut left = String::with_capacity(answer.len());
    for line in answer.split_inclusive('\n') {
        let mut line = line.to_owned();
        let before = struck;
        for sentence in &sentences {
            struck += line.matches(sentence).count();
            line = line.replace(sentence, "");
        }
        if struck == before || line.chars().any(char::is_alphanumeric) {
            left.push_str(&line);
        }
    }
    (left, struck)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::INSTRUCTIONS;

    #[test]
    fn what_was_told_is_no_summary() {
        let told = "Be brief. Keep each one, in the user's own words.\n## Decisions\nWhat was settled and why.";
        for (answer, left, struck) in [
            (
                "## Decisions\nWhat was settled and why.\n- use a heap\n",
                "## Decisions\n- use a heap\n",
                1,
            ),
            ("- Keep each one, in the user's own words\n", "", 1),
            ("Be brief.", "Be brief.", 0),
            ("So: Keep each one, in the user's own words. And a.rs", "So: . And a.rs", 1),
            ("nothing of it", "nothing of it", 0),
        ] {
            let (said, count) = without_instructions(answer, told, "");
            assert_eq!((said.as_str(), count), (left, struck), "{answer}");
        }
        // Somebody who works on instructions like these speaks of them.
        let (said, count) = without_instructions(told, told, told);
        assert_eq!((said.as_str(), count), (told, 0));
    }

    #[test]
    fn nothing_is_left_of_our_own_instructions_but_headings() {
        let (left, _) = without_instructions(INSTRUCTIONS, INSTRUCTIONS, "");
        let words: Vec<&str> = left.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(words.join(" ").split_whitespace().count() < 20, "{words:?}");
    }
}
