//! What a model thought before it answered, where a server leaves it in the text.

/// The names that models' templates have for it.
const NAMES: [&str; 4] = ["think", "thinking", "thought", "reasoning"];

/// The text without the thoughts at its head: blocks between `<think>` and `</think>`, and one whose beginning
/// the template gave away. Further in, the same words are the answer's own. Thoughts that do not end leave nothing.
pub(super) fn without(text: &str) -> &str {
    let mut rest = text;
    'blocks: loop {
        let trimmed = rest.trim_start();
        for name in NAMES {
            let Some(inner) = trimmed.strip_prefix(&*format!("<{name}>")) else { continue };
            let Some((_, after)) = inner.split_once(&*format!("</{name}>")) else { return "" };
            rest = after;
            continue 'blocks;
        }
        break;
    }
    for name in NAMES {
        if let Some((thought, after)) = rest.split_once(&*format!("\n</{name}>\n"))
            && !thought.contains(&*format!("<{name}>"))
        {
            return after;
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_go_and_answers_stay() {
        for (text, answer) in [
            ("", ""),
            ("plain", "plain"),
            ("  <b>bold</b>", "  <b>bold</b>"),
            ("<think>hm</think>answer", "answer"),
            ("\n<think>\nhm <b>\n</think>\n\nanswer", "\n\nanswer"),
            ("<think></think>\n<reasoning>more</reasoning>answer", "answer"),
            ("<think>never ends", ""),
            ("<think>only</think>\n", "\n"),
            ("hm, the template began it\n</think>\nanswer", "answer"),
            ("The parser drops `</think>` tags.", "The parser drops `</think>` tags."),
            ("It printed:\n<think>\nx\n</think>\ndone", "It printed:\n<think>\nx\n</think>\ndone"),
        ] {
            assert_eq!(without(text), answer, "{text:?}");
        }
    }
}
