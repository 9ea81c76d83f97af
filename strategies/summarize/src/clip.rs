//! Cutting a text down to a number of tokens, head and tail kept.

/// `text` in at most `budget` tokens: whole if it fits, else its head and its tail, with a line between
/// them that says how much is left out. Nothing but that line if the budget has room for no more.
pub(crate) fn clip(text: &str, budget: u64, count: &dyn Fn(&str) -> u64) -> String {
    let tokens = count(text);
    if tokens <= budget {
        return text.to_owned();
    }
    let mut keep = share(text.len(), budget, tokens);
    loop {
        let (head, tail) = ends(text, keep);
        let left_out = text[head..tail].chars().count();
        let clipped = format!(
            "{}\n(… {left_out} characters are left out here …)\n{}",
            &text[..head],
            &text[tail..]
        );
        if keep == 0 || count(&clipped) <= budget {
            return clipped;
        }
        keep = keep * 3 / 4;
    }
}

/// As many of `bytes` as `budget` is of `tokens`.
fn share(bytes: usize, budget: u64, tokens: u64) -> usize {
    let bytes = bytes as u128 * u128::from(budget) / u128::from(tokens.max(1));
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Where the head ends and the tail begins when both together have about `keep` bytes.
fn ends(text: &str, keep: usize) -> (usize, usize) {
    // What a text is about stands at its head, what came of it at its tail: both count alike.
    let half = (keep / 2).min(text.len() / 2);
    let mut head = half;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - half;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    (head, tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn chars(text: &str) -> u64 {
        text.chars().count() as u64
    }

    #[test]
    fn head_and_tail_stay() {
        let text = format!("HEAD{}TAIL", "·".repeat(900));
        let clipped = clip(&text, 100, &chars);
        assert!(clipped.starts_with("HEAD") && clipped.ends_with("TAIL"), "{clipped}");
        assert!(clipped.contains("characters are left out here"));
        assert_eq!(clip("short", 5, &chars), "short");
    }

    proptest! {
        #[test]
        fn never_over_budget(text in "(?s).{0,400}", budget in 60u64..300) {
            let clipped = clip(&text, budget, &chars);
            prop_assert!(chars(&clipped) <= budget);
            prop_assert!(chars(&text) > budget || clipped == text);
        }
    }
}
