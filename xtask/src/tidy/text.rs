//! Rules on the text of any file that people write.

use super::lexer::is_word;
use super::{File, Finding};

/// Words that mark what is unfinished.
const MARKS: [&str; 3] = ["TODO", "FIXME", "XXX"];

/// No blanks at line ends, no tabs in Rust, a line feed at the end.
pub(super) fn blanks(file: &File, findings: &mut Vec<Finding>) {
    let mut found = |line, message: &str| findings.push(Finding::new(&file.path, line, message));
    let mut last = 1;
    for (index, line) in file.text.split_terminator('\n').enumerate() {
        last = index + 1;
        if line.ends_with('\r') {
            found(last, "a carriage return at the end of the line");
        } else if line.trim_end() != line {
            found(last, "blanks at the end of the line");
        }
        if file.is("rs") && line.contains('\t') {
            found(last, "a tab; indent with spaces, and write `\\t` in text");
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        found(last, "no line feed at the end of the file");
    } else if file.text.ends_with("\n\n") {
        found(last, "blank lines at the end of the file");
    }
}

/// No marks of unfinished work in documents, manifests and scripts; a document may name them as code.
pub(super) fn marks(file: &File, findings: &mut Vec<Finding>) {
    let mut fenced = false;
    for (index, line) in file.text.lines().enumerate() {
        let is_fence = file.is("md") && line.trim_start().starts_with("```");
        fenced ^= is_fence;
        if is_fence || fenced {
            continue;
        }
        let prose = if file.is("md") { without_code(line) } else { line.to_owned() };
        for mark in marks_in_line(&prose) {
            findings.push(Finding::new(
                &file.path,
                index + 1,
                format!("`{mark}`: do it, or file an issue"),
            ));
        }
    }
}

/// The marks of unfinished work in a line.
pub(super) fn marks_in_line(line: &str) -> impl Iterator<Item = &'static str> {
    MARKS.into_iter().filter(move |mark| has_word(line, mark))
}

/// A line of Markdown without what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Whether `line` has `word`, and not as a part of a longer word.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let ends = |inner: Option<char>, outer: Option<char>| {
            !(inner.is_some_and(is_word) && outer.is_some_and(is_word))
        };
        ends(word.chars().next(), line[..at].chars().next_back())
            && ends(word.chars().next_back(), line[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(check: fn(&File, &mut Vec<Finding>), path: &str, text: &str) -> Vec<(usize, String)> {
        let mut findings = Vec::new();
        check(&File { path: path.to_owned(), text: text.to_owned() }, &mut findings);
        findings.into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn blanks_are_found() {
        for (path, text, expected) in [
            ("a.rs", "", None),
            ("a.rs", "a\n\n    b\n", None),
            ("a.md", "\ta\n", None),
            ("a.rs", "a\nb \nc\n", Some((2, "blanks"))),
            ("a.md", "a\t\n", Some((1, "blanks"))),
            ("a.md", "a\u{a0}\n", Some((1, "blanks"))),
            ("a.rs", "a\r\n", Some((1, "carriage return"))),
            ("a.rs", "a\n\tb\n", Some((2, "tab"))),
            ("a.rs", "a\nb", Some((2, "no line feed"))),
            ("a.rs", "a\n\n", Some((2, "blank lines"))),
        ] {
            let all = found(blanks, path, text);
            match (&all[..], expected) {
                ([], None) => {}
                ([(line, message)], Some((at, says))) if *line == at && message.contains(says) => {}
                _ => panic!("{path} {text:?}: {all:?}"),
            }
        }
    }

    #[test]
    fn marks_are_found_in_prose_and_manifests() {
        for (path, text, line) in [
            ("a.md", "one\nTODO: two\n", Some(2)),
            ("a.md", "`a` XXX `b`\n", Some(1)),
            ("a.md", "```\nTODO\n```\nFIXME\n", Some(4)),
            ("Cargo.toml", "a = 1 # FIXME\n", Some(1)),
            (".ci/run", "# TODO `x`\n", Some(1)),
            ("a.md", "what `TODO` means, and TODOS\n", None),
            ("a.md", "```\nTODO\n```\n", None),
        ] {
            let lines: Vec<usize> =
                found(marks, path, text).iter().map(|(line, _)| *line).collect();
            assert_eq!(lines, line.into_iter().collect::<Vec<_>>(), "{path} {text:?}");
        }
    }

    #[test]
    fn a_word_is_whole() {
        for (line, word, expected) in [
            ("unsafe", "unsafe", true),
            ("(unsafe)", "unsafe", true),
            ("unsafe_code", "unsafe", false),
            ("ununsafe unsafe", "unsafe", true),
            ("x#[allow(dead", "#[allow(", true),
            ("a_todo!()", "todo!", false),
            ("std::todo!()", "todo!", true),
        ] {
            assert_eq!(has_word(line, word), expected, "{line}");
        }
    }
}
