//! Rules on the tree as a whole: what stands at its root, and that documents name verbs that exist.

use super::{File, Finding};

/// The folders at the root, besides those whose names begin with a dot.
const TOP_LEVEL: [&str; 8] =
    ["core", "docs", "examples", "host", "plugins", "strategies", "target", "xtask"];

/// What comes before a verb.
const CALL: &str = "cargo xtask ";

/// A folder is where one expects it.
pub(super) fn top_level(folders: &[String], findings: &mut Vec<Finding>) {
    for folder in folders {
        if !folder.starts_with('.') && !TOP_LEVEL.contains(&folder.as_str()) {
            findings.push(Finding::new(folder, 1, "a folder that nobody expects at the root"));
        }
    }
}

/// Every `cargo xtask VERB` in a document or a script is a verb; one in capitals stands for any.
pub(super) fn verbs(file: &File, known: &[&str], findings: &mut Vec<Finding>) {
    if !file.is("md") && !file.path.starts_with(".ci/") {
        return;
    }
    for (index, line) in file.text.lines().enumerate() {
        for rest in line.split(CALL).skip(1) {
            let is_part = |char: char| char.is_ascii_lowercase() || char == '-';
            let verb = &rest[..rest.find(|char| !is_part(char)).unwrap_or(rest.len())];
            if !verb.is_empty() && !verb.starts_with('-') && !known.contains(&verb) {
                findings.push(Finding::new(
                    &file.path,
                    index + 1,
                    format!("no verb `{verb}` of `cargo xtask`"),
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_at_the_root_are_expected() {
        let folders: Vec<String> =
            ["core", ".git", "src", "xtask", "corpus"].iter().map(ToString::to_string).collect();
        let mut findings = Vec::new();
        top_level(&folders, &mut findings);
        let found: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
        assert_eq!(found, ["src", "corpus"]);
    }

    #[test]
    fn verbs_in_documents_exist() {
        for (path, text, expected) in [
            ("README.md", "Run `cargo xtask ci`, or\n    cargo xtask new-plugin NAME\n", &[][..]),
            ("docs/a/b.md", "`cargo xtask VERB`, `cargo xtask --help`, `cargo xtask`\n", &[]),
            ("README.md", "a\n`cargo xtask cii` and `cargo xtask c`\n", &["cii", "c"]),
            (".ci/run", "cargo xtask deploy\n", &["deploy"]),
            ("core/src/lib.rs", "//! `cargo xtask deploy`\n", &[]),
        ] {
            let file = File { path: path.to_owned(), text: text.to_owned() };
            let mut findings = Vec::new();
            verbs(&file, &["ci", "new-plugin"], &mut findings);
            let found: Vec<&str> =
                findings.iter().filter_map(|finding| finding.message.split('`').nth(1)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
