//! Tells code from comments and from literal text in Rust sources, as far as the checks need it.

/// A source taken apart. Both parts have the lines of the source; what belongs elsewhere is blank.
pub(super) struct Parts {
    pub(super) code: String,
    pub(super) comments: String,
}

/// What a character belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

/// Takes a source apart.
///
/// It follows the [lexical rules](https://doc.rust-lang.org/reference/tokens.html) for comments (nested ones too),
/// strings (escaped and raw) and characters, and knows a character from a lifetime. On a source that does not end
/// what it begins, the rest belongs to what was begun.
pub(super) fn take_apart(source: &str) -> Parts {
    let chars: Vec<char> = source.chars().collect();
    let mut parts = Parts { code: String::new(), comments: String::new() };
    let mut at = 0;
    while at < chars.len() {
        let (kind, end) = next(&chars, at);
        for &char in &chars[at..end] {
            let blank = if char == '\n' { '\n' } else { ' ' };
            parts.code.push(if kind == Kind::Code { char } else { blank });
            parts.comments.push(if kind == Kind::Comment { char } else { blank });
        }
        at = end;
    }
    parts
}

/// The kind of the piece that begins at `at`, and where it ends.
fn next(chars: &[char], at: usize) -> (Kind, usize) {
    let here = &chars[at..];
    match here {
        ['/', '/', ..] => (Kind::Comment, at + length_until(here, '\n')),
        ['/', '*', ..] => (Kind::Comment, at + block_comment(here)),
        ['"', ..] => (Kind::Literal, at + quoted(here, '"')),
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => (Kind::Literal, at + quoted(here, '\'')),
        [first, ..] if is_word(*first) => {
            let word = here.iter().take_while(|char| is_word(**char)).count();
            let raw = matches!(here[..word], ['r'] | ['b' | 'c', 'r']);
            match raw.then(|| raw_string(&here[word..])).flatten() {
                Some(string) => (Kind::Literal, at + word + string),
                None => (Kind::Code, at + word),
            }
        }
        _ => (Kind::Code, at + 1),
    }
}

/// Whether a character can stand in a word of code.
pub(super) fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn length_until(here: &[char], end: char) -> usize {
    here.iter().position(|char| *char == end).unwrap_or(here.len())
}

fn block_comment(here: &[char]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < here.len() {
        match here[at..] {
            ['/', '*', ..] => (at, depth) = (at + 2, depth + 1),
            ['*', '/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a literal with escapes, both its quotes included.
fn quoted(here: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < here.len() {
        match here[at] {
            '\\' => at += 2,
            char if char == quote => return at + 1,
            _ => at += 1,
        }
    }
    here.len()
}

/// The length of a raw string from its first `#` or quote on; none if it is no raw string but a raw identifier.
fn raw_string(here: &[char]) -> Option<usize> {
    let hashes = here.iter().take_while(|char| **char == '#').count();
    if here.get(hashes) != Some(&'"') {
        return None;
    }
    let is_end = |at: usize| {
        here[at] == '"' && here[at + 1..].iter().take_while(|char| **char == '#').count() >= hashes
    };
    let end = (hashes + 1..here.len()).find(|at| is_end(*at));
    Some(end.map_or(here.len(), |at| at + 1 + hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_comments_and_literals() {
        // `c` is code, `k` a comment, `t` literal text, and a blank any of them.
        for (source, kinds) in [
            ("let a = 1; // b\nc", "ccc c c cc kk k\nc"),
            ("a /* b /* c */ d */ e", "c kk k kk k kk k kk c"),
            ("a /* b\nc */ d", "c kk k\nk kk c"),
            (r#"a("b // c") d"#, r"cctt tt ttc c"),
            (r#"a("b\"c\\") d"#, r"ccttttttttc c"),
            (r##"a(r#"b " c"#) d"##, "cctttt t tttc c"),
            (r#"br"\" a"#, "ttttt c"),
            (r#"b"x" a"#, "cttt c"),
            ("r#unsafe a", "cccccccc c"),
            (r#"for"x""#, "cccttt"),
            ("'a' 'b", "ttt cc"),
            (r"'\'' b'\\' a", "tttt ctttt c"),
            (r"'\u{1F600}' a", "ttttttttttt c"),
            ("&'a str", "ccc ccc"),
            ("a::<'_>('\"') b", "cccccccctttc c"),
            ("'\u{e9}' a", "ttt c"),
            ("\"open a", "ttttt t"),
            ("/* open", "kk kkkk"),
            (r#""\"#, "tt"),
        ] {
            let parts = take_apart(source);
            let found: String = source
                .chars()
                .zip(parts.code.chars().zip(parts.comments.chars()))
                .map(|(char, (code, comment))| match char {
                    ' ' | '\n' => char,
                    _ if code == char => 'c',
                    _ if comment == char => 'k',
                    _ => 't',
                })
                .collect();
            assert_eq!(found, kinds, "{source}");
        }
    }

    #[test]
    fn lines_stay_where_they_are() {
        let source = "a\n\"b\n\nc\" /* d\n*/ e\n";
        let parts = take_apart(source);
        assert_eq!(parts.code.lines().count(), source.lines().count());
        assert_eq!(parts.comments.lines().count(), source.lines().count());
        assert!(parts.code.lines().nth(4).unwrap().contains('e'));
    }
}
