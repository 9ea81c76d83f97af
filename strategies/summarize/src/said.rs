//! What the user laid down: the first request, and whatever forbids, corrects or limits. Kept in the user's own
//! words, without a model.

use brute_core::{MarkKind, MessageView, PartView};

use crate::{answer, sections};

/// Longer sentences are cut, in characters.
const LONGEST: usize = 240;

/// Of one message, so many rules: one that has more is a document.
const MOST_RULES: usize = 16;

/// Words by which a user forbids, corrects or limits, in lower case.
#[rustfmt::skip]
const WORDS: [&str; 74] = [
    "never", "don't", "don’t", "do not", "dont", "must", "mustn't", "always", "only", "no longer", "not that",
    "not this", "wrong", "instead", "stop", "undo", "revert", "rather", "make sure", "without", "avoid",
    "leave", "keep", "nope", "i said", "i meant", "i told you", "unless", "not allowed", "forbidden", "required",
    "prefer", "stay", "stays", "at least", "at most", "except", "cannot", "can't", "shall not", "should not", "shouldn't",
    // German, French, Spanish, Portuguese, Italian
    "nicht", "kein", "keine", "keinen", "niemals", "nie", "nur", "immer", "muss", "müssen", "statt", "falsch",
    "jamais", "pas", "toujours", "seulement", "uniquement", "nunca", "jamás", "siempre", "solo", "sólo",
    "não", "sempre", "apenas", "somente", "mai", "soltanto",
    // Russian
    "нельзя", "никогда", "только", "всегда",
];

/// The same in scripts that put no space between words.
#[rustfmt::skip]
const PIECES: [&str; 22] = [
    "不要", "别", "不能", "不许", "必须", "禁止", "只能", "不是", "不对", "总是", "请勿", "務必",
    "しないで", "ないでください", "必ず", "だけ", "ではなく", "違う", "絶対",
    "하지 마", "반드시", "말고",
];

/// How a refusal begins.
const NO: [&str; 8] = ["no", "nein", "non", "não", "нет", "nej", "nie", "いいえ"];

/// Whether a sentence of a user forbids, corrects or limits something.
pub fn is_rule(sentence: &str) -> bool {
    let sentence = sentence.trim().to_lowercase();
    let letter = |c: char| c.is_alphanumeric();
    let says = |word: &&str| {
        sentence.match_indices(*word).any(|(at, word)| {
            !sentence[..at].ends_with(letter) && !sentence[at + word.len()..].starts_with(letter)
        })
    };
    let refuses = |no: &&str| {
        sentence.strip_prefix(*no).is_some_and(|rest| {
            rest.is_empty() || rest.starts_with([',', '.', '!', ';', ':', '、', '，'])
        })
    };
    NO.iter().any(refuses)
        || WORDS.iter().any(says)
        || PIECES.iter().any(|piece| sentence.contains(piece))
}

/// What a list of rules is called, in lower case.
#[rustfmt::skip]
const LISTS: [&str; 24] = [
    "constraint", "rule", "requirement", "condition", "restriction", "guideline", "convention",
    "bedingung", "regel", "vorgabe", "anforderung", "contrainte", "règle", "exigence", "regla", "requisito", "regra",
    "услови", "правил", "требован", "约束", "要求", "制約", "条件",
];

/// Whether a line says that a list of rules comes.
fn announces_rules(line: &str) -> bool {
    let line = line.trim().trim_end_matches('*');
    let line = line.trim_start_matches('#').to_lowercase();
    line.ends_with([':', '：']) && LISTS.iter().any(|list| line.contains(list))
}

/// What an item of a list says, if a line is one.
fn item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let text = match behind.len() < line.len() {
        true => behind.strip_prefix(['.', ')'])?,
        false => line.strip_prefix(['-', '*', '•', '・'])?,
    };
    let is_spaced = text.starts_with(char::is_whitespace) || line.starts_with('・');
    is_spaced.then_some(text.trim_start())
}

/// The sentences of a line, by the marks that end them.
pub fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut chars = rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            let spaced = chars.peek().is_some_and(|(_, next)| next.is_whitespace());
            let ends = matches!(c, '。' | '！' | '？')
                || (matches!(c, '.' | '!' | '?') && spaced)
                || c == '\n';
            if ends {
                let (sentence, after) = rest.split_at(at + c.len_utf8());
                rest = after.trim_start();
                return Some(sentence);
            }
        }
        Some(std::mem::take(&mut rest))
    })
}

/// A sentence that a user said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sentence {
    text: String,
    is_rule: bool,
}

/// What the user laid down, in the order in which it was said.
#[derive(Debug, Default)]
pub(crate) struct Said {
    sentences: Vec<Sentence>,
    /// What the first request, or the earliest summary, says the work is for.
    pub objective: Option<String>,
}

impl Said {
    /// In these messages, earlier summaries of others among them.
    pub(crate) fn of<'a>(messages: impl IntoIterator<Item = MessageView<'a>>) -> Self {
        let mut said = Self::default();
        for message in messages {
            let is_summary = message.mark().is_some_and(|mark| mark.kind == MarkKind::Summary);
            let texts = message.parts().filter_map(|part| match part {
                PartView::Text(text) => Some(text),
                _ => None,
            });
            for text in texts {
                if is_summary {
                    said.read_again(answer::body_of(text));
                } else if message.is_real_user() {
                    said.read(text);
                }
            }
        }
        said
    }

    fn read(&mut self, text: &str) {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('<'));
        let mut is_list = false;
        let said = lines.flat_map(|line| {
            let item = item(line);
            is_list = if item.is_some() { is_list } else { announces_rules(line) };
            let is_listed = is_list && item.is_some();
            sentences(item.unwrap_or(line)).map(move |sentence| (sentence, is_listed))
        });
        let mut rules = 0;
        for (index, (sentence, is_listed)) in said.enumerate() {
            let is_rule = (is_listed || is_rule(sentence)) && rules < MOST_RULES;
            rules += usize::from(is_rule);
            if index == 0 && self.objective.is_none() {
                self.objective = Some(cut(sentence));
            }
            if is_rule || index == 0 {
                self.push(cut(sentence), is_rule);
            }
        }
    }

    /// What a summary has of it.
    fn read_again(&mut self, summary: &str) {
        if let (None, Some(objective)) = (&self.objective, sections::section(summary, "Objective"))
        {
            self.objective = Some(objective.to_owned());
        }
        for line in sections::section(summary, sections::SAID).unwrap_or_default().lines() {
            if let Some(sentence) = line.strip_prefix("- ") {
                self.push(sentence.to_owned(), is_rule(sentence));
            }
        }
    }

    fn push(&mut self, text: String, is_rule: bool) {
        if !text.is_empty() && !self.sentences.iter().any(|known| known.text == text) {
            self.sentences.push(Sentence { text, is_rule });
        }
    }

    /// The section, in at most `budget` tokens, without what `summary` says in the same words. Empty if
    /// nothing is left.
    pub(crate) fn section(
        &self,
        summary: &str,
        budget: u64,
        count: &dyn Fn(&str) -> u64,
    ) -> String {
        let heading = format!("\n\n## {}", sections::SAID);
        let newest = (0..self.sentences.len()).rev();
        let (rules, requests): (Vec<_>, Vec<_>) =
            newest.filter(|index| *index > 0).partition(|index| self.sentences[*index].is_rule);
        // The first says what all is about, the newest rule overrules the others.
        let order =
            (!self.sentences.is_empty()).then_some(0).into_iter().chain(rules).chain(requests);
        let mut left = budget.saturating_sub(count(&heading));
        let mut taken = Vec::new();
        for index in order {
            let text = &self.sentences[index].text;
            let tokens = count(&format!("\n- {text}"));
            if tokens <= left && !summary.contains(text.as_str()) {
                left -= tokens;
                taken.push(index);
            }
        }
        taken.sort_unstable();
        let lines: String =
            taken.iter().map(|index| format!("\n- {}", self.sentences[*index].text)).collect();
        if lines.is_empty() { lines } else { heading + &lines }
    }
}

fn cut(sentence: &str) -> String {
    let sentence = sentence.trim();
    match sentence.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_told_from_the_rest() {
        for rule in [
            "No, not that.",
            "never touch Cargo.lock",
            "Don’t push.",
            "Use tabs instead",
            "I said blue",
            "Das nicht!",
            "Nein, anders",
            "ne touche pas au fichier",
            "不要改这个文件",
            "テストは絶対に消すな",
            "the API stays",
            "No",
        ] {
            assert!(is_rule(rule), "{rule}");
        }
        for other in
            ["Fix the parser", "Thanks", "Nothing new", "the monastery is mustard", "Now go on", ""]
        {
            assert!(!is_rule(other), "{other}");
        }
    }

    #[test]
    fn what_is_listed_as_a_rule_is_one() {
        let rules = |text: &str| {
            let mut said = Said::default();
            said.read(text);
            let rules = said.sentences.into_iter().filter(|sentence| sentence.is_rule);
            rules.map(|sentence| sentence.text).collect::<Vec<_>>()
        };
        for (text, expected) in [
            (
                "Port it.\n\nConstraints:\n- the API is public\n- plain C\n\nThanks.",
                &["the API is public", "plain C"][..],
            ),
            ("Port it.\n## Rules:\n1. plain C\n2) old files load", &["plain C", "old files load"]),
            ("**Bedingungen:**\n* reines C", &["reines C"]),
            ("移植してください。\n条件：\n・公開APIは今のまま", &["公開APIは今のまま"]),
            ("Port it.\nFiles:\n- a.c\n- b.c", &[]),
            ("The rules say: go on.\n- a.c", &[]),
            ("Rules:\nof the game\n- a.c", &[]),
        ] {
            assert_eq!(rules(text), expected, "{text}");
        }
    }

    #[test]
    fn the_first_and_the_newest_rules_are_kept_first() {
        let mut said = Said::default();
        for text in ["Build it. It is for me.", "never a\nThanks.", "more", "only b"] {
            said.read(text);
        }
        assert_eq!(said.objective.as_deref(), Some("Build it."));
        let words = |text: &str| text.split_whitespace().count() as u64;
        for (budget, lines) in [
            (0, ""),
            (5, ""),
            (7, "\n- Build it."),
            (10, "\n- Build it.\n- only b"),
            (13, "\n- Build it.\n- never a\n- only b"),
            (15, "\n- Build it.\n- never a\n- more\n- only b"),
        ] {
            let heading = if lines.is_empty() { "" } else { "\n\n## The user said" };
            assert_eq!(said.section("", budget, &words), format!("{heading}{lines}"), "{budget}");
        }
        assert!(!said.section("so: never a", 99, &words).contains("never a"));
        let mut again = Said::default();
        again.read_again(&format!("## Objective\nBuild it all\n{}", said.section("", 99, &words)));
        assert_eq!(again.sentences, said.sentences);
        assert_eq!(again.objective.as_deref(), Some("Build it all"));
    }
}
