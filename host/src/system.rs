//! What the operating system says, in words.

use std::io;

/// An error of the system in plain words, as a fragment: the same words wherever it comes from, without
/// its number and without a path, so that a person can use them and a model may read them.
///
/// ```
/// use std::io;
///
/// use brute_host::system::words_of;
///
/// let missing = io::Error::from(io::ErrorKind::NotFound);
/// assert_eq!(words_of(&missing), "no such file or folder");
/// if let Err(error) = std::fs::read("/nowhere/at/all") {
///     assert_eq!(words_of(&error), words_of(&missing));
/// }
/// ```
pub fn words_of(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".into(),
        io::ErrorKind::AlreadyExists => "something else of this name is there".into(),
        io::ErrorKind::StorageFull => "no space left on the disk".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        // A program's own error: its words are all there is.
        io::ErrorKind::Other => without_number(&error.to_string()),
        // What the kinds do not tell apart is told by the system. Only its own words have no path in them.
        kind if kind.to_string().starts_with("uncategorized") => match error.raw_os_error() {
            Some(_) => without_number(&error.to_string()),
            None => "the system refuses".into(),
        },
        kind => kind.to_string(),
    }
}

/// The words without ` (os error 5)`, as a fragment.
fn without_number(words: &str) -> String {
    let words = words.rsplit_once(" (os error ").map_or(words, |(words, _)| words);
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_has_a_number_or_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let named = || tempfile::tempfile_in(folder.path().join("missing")).unwrap_err();
        let same = fs_error(&folder.path().join("missing/x"));
        assert_eq!(words_of(&named()), words_of(&same));
        for code in 1..134 {
            let error = io::Error::from_raw_os_error(code);
            let words = words_of(&error);
            assert!(!words.is_empty() && !words.contains("os error"), "{code}: {words}");
            assert!(!words.contains("uncategorized") && !words.contains("entity"), "{words}");
            // As a temporary file's error, which has the path in its words.
            let wrapped = io::Error::new(error.kind(), format!("{error} at path /a/b"));
            if error.kind() != io::ErrorKind::Other {
                assert!(!words_of(&wrapped).contains('/'), "{}", words_of(&wrapped));
            }
        }
        assert_eq!(words_of(&io::Error::other("Unplugged")), "unplugged");
    }

    fn fs_error(path: &std::path::Path) -> io::Error {
        std::fs::File::open(path).unwrap_err()
    }
}
