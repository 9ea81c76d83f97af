//! Paths that a model made up, taken out of its summary.

use crate::identifiers::{self, IdentifierKind};

/// What stands where a path was that nobody named.
const STRUCK: &str = "(a path that the record does not have)";

/// `summary` without the paths that stand in none of the texts that it was made of, and how many there
/// were. A line that has nothing else goes.
pub(crate) fn struck(summary: &str, texts: &[&str]) -> (String, usize) {
    let found = identifiers::identifiers([summary]);
    let mut invented: Vec<&str> = found
        .iter()
        .filter(|found| found.kind == IdentifierKind::Path && !occurs(found.text, texts))
        .map(|found| found.text)
        .collect();
    // A path within another one goes with it.
    invented.sort_by_key(|path| std::cmp::Reverse(path.len()));
    if invented.is_empty() {
        return (summary.to_owned(), 0);
    }
    let mut out = String::with_capacity(summary.len());
    for line in summary.split_inclusive('\n') {
        let left = invented.iter().fold(line.to_owned(), |line, path| without(&line, path));
        let says = left.replace(STRUCK, "").chars().any(char::is_alphanumeric);
        if says || left == line {
            out.push_str(&left);
        }
    }
    (out, invented.len())
}

/// Whether somebody named `path`, or a folder and what is in it.
fn occurs(path: &str, texts: &[&str]) -> bool {
    // Libraries are called like files.
    if path.ends_with("js") && !path.contains('/') && path.starts_with(char::is_uppercase) {
        return true;
    }
    let named = |part: &str| {
        let part = part.strip_prefix("./").unwrap_or(part).trim_end_matches('/');
        // In JSON, slashes of both kinds may be escaped.
        let escaped = part.replace('\\', "\\\\");
        let slashed = part.replace('/', "\\/");
        texts.iter().any(|text| [part, &escaped, &slashed].iter().any(|part| text.contains(*part)))
    };
    let joined = |(at, _)| {
        let (folder, name) = (&path[..at], &path[at + 1..]);
        name.chars().any(char::is_alphanumeric) && named(folder) && named(name)
    };
    named(path) || path.match_indices(['/', '\\']).any(joined)
}

/// `line` with another text where `path` stands for itself.
fn without(line: &str, path: &str) -> String {
    let within = |c: char| c.is_alphanumeric() || "._-@+/\\~".contains(c);
    let (mut out, mut rest) = (String::with_capacity(line.len()), line);
    while let Some(at) = rest.find(path) {
        let (before, from) = rest.split_at(at);
        let behind = &from[path.len()..];
        let begins = !before.ends_with(within);
        // A full stop ends a sentence where no word follows.
        let ends = !behind.trim_start_matches('.').starts_with(within);
        out.push_str(before);
        out.push_str(if begins && ends { STRUCK } else { path });
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_nobody_named_goes() {
        let texts =
            ["we edit src/main.rs in /srv/app", r#"{"path":"C:\\work\\a.txt", "b":"x\/y.md"}"#];
        for (line, left) in [
            ("edited src/main.rs.", "edited src/main.rs."),
            ("edited src/helper.rs.", "edited (a path that the record does not have)."),
            ("- `src/helper.rs`\nnext", "next"),
            ("at /srv/app/src/main.rs", "at /srv/app/src/main.rs"),
            ("at /srv/app/src/other.rs", "at (a path that the record does not have)"),
            ("main.rs, ./src/main.rs:12", "main.rs, ./src/main.rs:12"),
            (r"C:\work\a.txt and x/y.md", r"C:\work\a.txt and x/y.md"),
            ("Node.js and no path", "Node.js and no path"),
            (
                "see util.rs, not src/util.rs!",
                "see (a path that the record does not have), not (a path that the record does not have)!",
            ),
        ] {
            assert_eq!(struck(line, &texts).0, left);
        }
    }

    proptest! {
        #[test]
        fn no_invented_path_is_left_and_no_other_goes(
            names in prop::collection::vec("[a-z]{3,8}(/[a-z]{3,8}){0,2}\\.(rs|md)", 1..6),
            known in prop::collection::vec(any::<bool>(), 6),
            between in "[ ,;\n`]{1,3}",
        ) {
            let text: String = names.iter().zip(&known).filter(|(_, known)| **known).map(|(name, _)| format!("{name} ")).collect();
            let (left, _) = struck(&names.join(&between), &[&text]);
            for found in identifiers::identifiers([left.as_str()]) {
                prop_assert!(occurs(found.text, &[&text]), "{left}");
            }
            for (name, known) in names.iter().zip(&known) {
                prop_assert!(!known || left.contains(name.as_str()), "{left}");
            }
        }
    }
}
