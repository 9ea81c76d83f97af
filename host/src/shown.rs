//! Text of others on a terminal.

use std::fmt::Display;
use std::path::Path;

/// Whether a character is not printed as itself, but moves, colors or turns around what stands beside it.
pub fn is_odd(char: char) -> bool {
    let turns = matches!(
        char,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    char.is_control() || turns || matches!(char, '\u{2028}' | '\u{2029}')
}

/// A name or text of others on one line that a terminal shows as it is: each [odd](is_odd) character is
/// written out.
///
/// ```
/// use brute_host::shown::shown;
///
/// assert_eq!(shown("a\nb\u{1b}[31m\u{202e}"), r"a\nb\u{1b}[31m\u{202e}");
/// assert_eq!(shown("naïve 文.so"), "naïve 文.so");
/// ```
pub fn shown(text: impl Display) -> String {
    let text = text.to_string();
    if !text.contains(is_odd) {
        return text;
    }
    let mut safe = String::with_capacity(2 * text.len());
    for char in text.chars() {
        match is_odd(char) {
            true => safe.extend(char.escape_default()),
            false => safe.push(char),
        }
    }
    safe
}

/// As [`shown`], in lines as the text is.
pub fn shown_lines(text: &str) -> String {
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

/// A path as a shell reads it back, since people paste what they are advised. One that cannot be shown as it is
/// is spelled in ASCII.
///
/// ```
/// use std::path::Path;
///
/// use brute_host::shown::shell_word;
///
/// assert_eq!(shell_word(Path::new("/it's here.so")), r"'/it'\''s here.so'");
/// ```
pub fn shell_word(path: &Path) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-+".contains(char);
    match path.to_str() {
        Some(word) if word.chars().all(is_plain) => word.to_owned(),
        Some(word) if !word.contains(is_odd) => format!("'{}'", word.replace('\'', "'\\''")),
        _ => {
            let bytes = path.as_os_str().as_encoded_bytes().iter();
            let spelled = bytes.map(|&byte| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(byte)),
                b' '..=b'~' => char::from(byte).to_string(),
                // Three digits whatever follows, as every shell that knows these quotes reads them.
                _ => format!("\\{byte:03o}"),
            });
            format!("$'{}'", spelled.collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_word_that_a_shell_reads_back() {
        for (path, word) in [
            ("/a/b-1.so", "/a/b-1.so"),
            ("/it's here.so", r"'/it'\''s here.so'"),
            ("/naïve.so", "'/naïve.so'"),
            ("/new\nline\u{1b}[31m'\\.so", r"$'/new\012line\033[31m\'\\.so'"),
            ("/\u{202e}1.so", r"$'/\342\200\2561.so'"),
        ] {
            assert_eq!(shell_word(Path::new(path)), word);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_that_is_no_text_is_a_word_too() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff1.so"));
        assert_eq!(shell_word(path), r"$'/a\3771.so'");
    }
}
