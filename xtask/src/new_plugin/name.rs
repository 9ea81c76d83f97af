//! Whether a name will do for a layer, and for the crate and the library that are called after it.

use crate::Result;

/// What is no name of a crate: [keywords](https://doc.rust-lang.org/reference/keywords.html), which cargo refuses, and
/// crates that every plugin sees.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "pub",
    "ref",
    "return",
    "schemars",
    "self",
    "serde",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// Checks the form of a name.
///
/// # Errors
///
/// It is not in kebab-case, or means something else to the compiler.
pub(super) fn check(name: &str) -> Result<()> {
    let is_word = |word: &str| {
        let is_part = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit();
        !word.is_empty() && word.chars().all(is_part)
    };
    let begins = name.starts_with(|char: char| char.is_ascii_lowercase());
    if !begins || !name.split('-').all(is_word) {
        let hint = match kebab(name) {
            near if near.is_empty() => String::new(),
            near => format!("; say `{near}`"),
        };
        return Err(format!(
            "a layer's name is in kebab-case, as `stale-reads` is, and `{name}` is not{hint}"
        ));
    }
    if RESERVED.contains(&name) {
        return Err(format!("`{name}` means something else to the compiler; say `{name}-layer`"));
    }
    Ok(())
}

/// The nearest name in kebab-case; empty if nothing of it would be left.
fn kebab(name: &str) -> String {
    let mut words = String::new();
    let mut before = ' ';
    for char in name.chars() {
        if char.is_ascii_alphanumeric() {
            let begins = !before.is_ascii_alphanumeric()
                || (char.is_ascii_uppercase() && before.is_ascii_lowercase());
            if begins && !words.is_empty() {
                words.push('-');
            }
            words.push(char.to_ascii_lowercase());
        }
        before = char;
    }
    words.trim_start_matches(|char: char| !char.is_ascii_lowercase()).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_kebab_case_will_do() {
        for name in ["a", "stale-reads", "drop-x2", "a-1", "self-made", "tests"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn others_come_back_with_the_nearest_one() {
        for (name, hint) in [
            ("StaleReads", "say `stale-reads`"),
            ("stale_reads", "say `stale-reads`"),
            ("stale--reads-", "say `stale-reads`"),
            ("HTMLPage", "say `htmlpage`"),
            ("my layer", "say `my-layer`"),
            ("../evil", "say `evil`"),
            ("2nd", "say `nd`"),
            ("caf\u{e9}", "say `caf`"),
            ("", "and `` is not"),
            ("---", "and `---` is not"),
            ("loop", "say `loop-layer`"),
            ("serde", "say `serde-layer`"),
        ] {
            let error = check(name).unwrap_err();
            assert!(error.ends_with(hint), "{name}: {error}");
        }
    }

    #[test]
    fn what_is_reserved_is_in_order() {
        assert!(RESERVED.is_sorted());
    }
}
