//! Identifiers in a text: the strings that have to survive character for character, because the work
//! goes on by them.

use std::collections::HashMap;

/// What kind of string an identifier is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdentifierKind {
    /// `https://example.org/a?b=c`
    Url,
    /// `src/main.rs`, `/etc/hosts`, `C:\Windows`, `Cargo.toml`
    Path,
    /// `E0308`, `ECONNREFUSED`, `ValueError`, `CVE-2024-3094`
    Error,
    /// A line after a `$` prompt, or what a tool call names as its command.
    Command,
    /// A commit, a UUID, a ticket, a booking: letters and digits mixed.
    Id,
    /// `snake_case`, `module::item`
    Symbol,
}

/// A string that occurs in a text and has to survive character for character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identifier<'a> {
    /// What it is.
    pub kind: IdentifierKind,
    /// The string, as it stands there.
    pub text: &'a str,
    /// How many of the texts it occurs in. A log that repeats a name a thousand times says it once.
    pub count: usize,
    /// The index of the last text that it occurs in.
    pub last: usize,
    /// The weights of these texts together.
    pub weight: usize,
}

/// The identifiers in `texts`, each once: those in the most texts first, and of these the most recently
/// used. A symbol has to occur in two texts, since code is full of them.
///
/// Costs time in proportion to the texts. What looks like a credential is left out.
///
/// ```
/// use brute_summarize::identifiers::identifiers;
/// let found = identifiers(["error[E0308] in src/main.rs:12:5", "I open src/main.rs."]);
/// let texts: Vec<_> = found.iter().map(|found| found.text).collect();
/// assert_eq!(texts, ["src/main.rs", "E0308"]);
/// ```
pub fn identifiers<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Identifier<'a>> {
    weighed(texts.into_iter().map(|text| (text, 1)))
}

/// What somebody says weighs so much, where what a tool printed weighs 1.
pub const SAID_WEIGHT: usize = 2;

/// The identifiers in texts that count so much each: what somebody says is used again sooner than what a
/// tool printed. A symbol has to weigh more than 1, since code is full of them.
pub fn weighed<'a>(texts: impl IntoIterator<Item = (&'a str, usize)>) -> Vec<Identifier<'a>> {
    let mut found: HashMap<&str, Identifier<'_>> = HashMap::new();
    for (last, (text, weight)) in texts.into_iter().enumerate() {
        scan(text, &mut |kind, text| {
            let first = Identifier { kind, text, count: 1, last, weight };
            let seen = found.entry(text).or_insert(first);
            if seen.last != last {
                seen.count += 1;
                seen.weight = seen.weight.saturating_add(weight);
                seen.last = last;
            }
        });
    }
    let mut found: Vec<_> = found
        .into_values()
        .filter(|found| found.kind != IdentifierKind::Symbol || found.weight > 1)
        .collect();
    found.sort_by(|a, b| {
        let rank = |found: &Identifier<'a>| (found.weight, found.last);
        rank(b).cmp(&rank(a)).then_with(|| a.text.cmp(b.text))
    });
    found
}

/// Longer strings are data, not names.
const LONGEST: usize = 200;

type Found<'f, 'a> = dyn FnMut(IdentifierKind, &'a str) + 'f;

fn scan<'a>(text: &'a str, found: &mut Found<'_, 'a>) {
    for line in text.lines() {
        if let Some(command) = line.trim().strip_prefix("$ ") {
            command_of(command, found);
        }
    }
    for key in ["\"command\"", "\"cmd\""] {
        for (at, _) in text.match_indices(key) {
            let value = text[at + key.len()..].trim_start().strip_prefix(':');
            let value = value.and_then(|value| value.trim_start().strip_prefix('"'));
            if let Some((value, _)) = value.and_then(|value| value.split_once('"')) {
                command_of(value, found);
            }
        }
    }
    for chunk in text.split(ends_chunk).filter(|chunk| !chunk.is_empty()) {
        match chunk.find("://") {
            Some(colon) => url(chunk, colon, found),
            None => chunk.split(ends_token).for_each(|token| word(token, found)),
        }
    }
}

fn command_of<'a>(command: &'a str, found: &mut Found<'_, 'a>) {
    let command = command.trim();
    // An escaped string is not what was typed, and a single word says little.
    if command.len() <= LONGEST && command.contains(' ') && !command.contains('\\') {
        found(IdentifierKind::Command, command);
    }
}

fn ends_chunk(c: char) -> bool {
    // Ideographs, kana and full-width punctuation stand next to Latin words without a space.
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '"' | '\'' | '`' | '<' | '>' | '\u{2018}'..='\u{201f}' | '\u{3000}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

fn ends_token(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';' | '|' | '=' | '*' | '!' | '?' | '&')
}

fn url<'a>(chunk: &'a str, colon: usize, found: &mut Found<'_, 'a>) {
    let scheme = chunk[..colon]
        .rfind(|c: char| !c.is_ascii_alphanumeric())
        .map_or(0, |before| before + chunk[before..].chars().next().map_or(1, char::len_utf8));
    let url = chunk[scheme..].trim_end_matches(['.', ',', ';', ':', ')', ']', '}', '!', '*', '\\']);
    if scheme < colon && url.len() > colon - scheme + "://".len() && url.len() <= LONGEST {
        found(IdentifierKind::Url, url);
    }
}

fn word<'a>(token: &'a str, found: &mut Found<'_, 'a>) {
    if token.len() > LONGEST {
        return;
    }
    if is_windows_path(token) {
        found(IdentifierKind::Path, token.trim_end_matches(['.', ':', '\\']));
        return;
    }
    // A backslash elsewhere is an escape of JSON.
    for token in token.split('\\') {
        let token = without_position(token.trim_matches(':').trim_end_matches(['.', '#']));
        if token.len() < 3 || is_credential(token) {
            continue;
        }
        if let Some(kind) = kind_of(token) {
            found(kind, token);
        }
    }
}

fn is_windows_path(token: &str) -> bool {
    let mut chars = token.chars();
    chars.next().is_some_and(|drive| drive.is_ascii_alphabetic())
        && chars.next() == Some(':')
        && chars.next() == Some('\\')
        && chars.next().is_some()
}

/// `src/main.rs` of `src/main.rs:12:5`.
fn without_position(token: &str) -> &str {
    let mut token = token;
    while let Some((name, digits)) = token.rsplit_once(':') {
        if name.ends_with(':') || digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            break;
        }
        token = name;
    }
    token
}

/// Well-known heads of API keys and tokens.
fn is_credential(token: &str) -> bool {
    const HEADS: [&str; 8] =
        ["sk-", "ghp_", "gho_", "github_pat_", "glpat-", "xoxb-", "AKIA", "eyJ"];
    token.len() >= 16 && HEADS.iter().any(|head| token.starts_with(head))
}

fn kind_of(token: &str) -> Option<IdentifierKind> {
    if token.contains('/') {
        return is_path(token).then_some(IdentifierKind::Path);
    }
    if has_extension(token) {
        return Some(IdentifierKind::Path);
    }
    if is_error(token) {
        return Some(IdentifierKind::Error);
    }
    if is_id(token) {
        return Some(IdentifierKind::Id);
    }
    is_symbol(token).then_some(IdentifierKind::Symbol)
}

fn is_path(token: &str) -> bool {
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| token.starts_with(root));
    let mut names = token.strip_prefix('/').unwrap_or(token).split('/');
    let ok = |name: &str| {
        name.chars().all(|c| c.is_alphanumeric() || "._-@+~$%:".contains(c)) && !name.is_empty()
    };
    let whole = token.strip_suffix('/').unwrap_or(token);
    let body = whole.strip_prefix('/').unwrap_or(whole);
    body.split('/').all(ok)
        && body.chars().any(char::is_alphabetic)
        && (rooted || body.matches('/').count() > 1 || names.next_back().is_some_and(has_extension))
}

/// A file name by its ending. A list, because `foo.bar` is more often a method than a file.
fn has_extension(name: &str) -> bool {
    const ENDINGS: [&str; 66] = [
        "bash", "bat", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css", "csv", "diff", "ex",
        "exs", "env", "gif", "go", "gz", "h", "hpp", "html", "ini", "ipynb", "jpeg", "jpg", "java",
        "js", "json", "jsonl", "jsx", "kt", "lock", "log", "lua", "md", "mjs", "patch", "pdf",
        "php", "pl", "png", "proto", "ps1", "py", "pyi", "rb", "rs", "rst", "scala", "sh", "sql",
        "svelte", "svg", "swift", "tar", "tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml",
        "yml", "zig", "zip",
    ];
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        let ok = |c: char| c.is_alphanumeric() || "._-@+".contains(c);
        stem.chars().any(char::is_alphanumeric) && stem.chars().all(ok) && ENDINGS.contains(&ending)
    })
}

fn is_error(token: &str) -> bool {
    let upper = |text: &str| text.bytes().all(|b| b.is_ascii_uppercase());
    let camel = |ending: &str| {
        token.strip_suffix(ending).is_some_and(|head| {
            head.starts_with(|c: char| c.is_ascii_uppercase())
                && head.bytes().all(|b| b.is_ascii_alphanumeric())
        })
    };
    let digits = token.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let code = (1..=3).contains(&(token.len() - digits.len()))
        && (3..=6).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit());
    code || (token.len() > 4 && token.starts_with('E') && upper(token))
        || token.starts_with("CVE-")
        || camel("Error")
        || camel("Exception")
}

/// Letters and digits mixed, as people do not write words.
fn is_id(token: &str) -> bool {
    if let Some(number) = token.strip_prefix('#') {
        return number.len() > 1 && number.bytes().all(|b| b.is_ascii_digit());
    }
    let ok = token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    let letters = token.bytes().filter(u8::is_ascii_alphabetic).count();
    ok && token.len() > 4 && token.len() <= 64 && digits > 1 && letters > 0
}

fn is_symbol(token: &str) -> bool {
    let name = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let joined = |separator: &str| token.contains(separator) && token.split(separator).all(name);
    token.bytes().any(|b| b.is_ascii_alphabetic())
        && token.len() > 4
        && (joined("::") || joined("_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use IdentifierKind::{Command, Error, Id, Path, Symbol, Url};
    use proptest::prelude::*;

    #[test]
    fn kinds_are_told_apart() {
        let table: &[(&str, &[(IdentifierKind, &str)])] = &[
            ("see https://example.org/a?b=c, then", &[(Url, "https://example.org/a?b=c")]),
            ("(src/main.rs:12:5: error)", &[(Path, "src/main.rs")]),
            (
                "open /etc/hosts and ./run ~/x",
                &[(Path, "./run"), (Path, "/etc/hosts"), (Path, "~/x")],
            ),
            ("edit Cargo.toml.", &[(Path, "Cargo.toml")]),
            (r"at C:\Users\me\x.txt", &[(Path, r"C:\Users\me\x.txt")]),
            (r#"{"path":"c1.txt"}"#, &[(Path, "c1.txt")]),
            (r#"{"command": "cargo test -p core"}"#, &[(Command, "cargo test -p core")]),
            ("$ git status", &[(Command, "git status")]),
            ("error[E0308]: ECONNREFUSED", &[(Error, "E0308"), (Error, "ECONNREFUSED")]),
            ("raised ValueError again", &[(Error, "ValueError")]),
            ("ticket TASK-77, commit 9f0cb7b375", &[(Id, "9f0cb7b375"), (Id, "TASK-77")]),
            ("user mia_li_3668 books #4711", &[(Id, "#4711"), (Id, "mia_li_3668")]),
            ("请看src/lib.rs文件", &[(Path, "src/lib.rs")]),
            ("call parse_line", &[(Symbol, "parse_line")]),
            ("and/or he/she 12/03/2024 3.14 e.g. foo.bar // x", &[]),
            ("sk-abcdefghij0123456789", &[]),
            ("plain words only, nothing here", &[]),
        ];
        for (text, expected) in table {
            let found: Vec<_> =
                identifiers([*text; 2]).iter().map(|found| (found.kind, found.text)).collect();
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn frequent_first_then_recent() {
        let found = identifiers(["a.rs b.rs", "b.rs c.rs", "d.rs"]);
        let texts: Vec<_> = found.iter().map(|found| found.text).collect();
        assert_eq!(texts, ["b.rs", "d.rs", "c.rs", "a.rs"]);
    }

    proptest! {
        #[test]
        fn every_identifier_stands_in_its_text(text in "(?s)([a-zA-Z0-9_/.:\\\\ \"#$-]|\\PC|\n){0,200}") {
            for found in identifiers([text.as_str()]) {
                prop_assert!(text.contains(found.text));
                prop_assert!(!found.text.is_empty() && found.text.len() <= LONGEST);
                prop_assert!(!found.text.contains('\n'));
            }
        }
    }
}
