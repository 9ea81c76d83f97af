//! Where full texts go: the folder and the file names of tool-result truncation, so that its retention
//! knows the files.

use std::fs::{self, DirBuilder, File, FileTimes};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use brute_core::truncation::FullText;

/// The part of a BLAKE3 digest that names a file: 32 hexadecimal digits, 128 bits.
const DIGITS: usize = 32;
const EXTENSION: &str = ".txt";
/// Begins the name of a file that is being written. What is left behind is swept by it.
const UNFINISHED: &str = ".spill-";

/// The folder for full texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder {
    /// Nowhere, if full texts are not to be saved or the home folder is unknown.
    path: Option<PathBuf>,
}

impl Folder {
    /// The folder that the options name: `None` for the default, `""` for nowhere.
    pub(crate) fn new(spill: Option<&str>) -> Self {
        let path = match spill {
            None => data_folder().map(|folder| folder.join("tool-output")),
            Some("") => None,
            Some(folder) => expand(folder).and_then(|folder| std::path::absolute(folder).ok()),
        };
        Self { path }
    }

    /// The path that `text` is to be saved at, or why there is none.
    pub(crate) fn place_of(&self, text: &str) -> Result<String, String> {
        let path = self.file_of(text)?;
        path.to_str().map(str::to_owned).ok_or_else(|| "the folder's path is no text".to_owned())
    }

    /// Saves `text` at its place, unless it is there already, or says why not. The words carry no path:
    /// they go into the notice.
    pub(crate) fn save(&self, text: &str) -> Result<(), String> {
        let path = self.file_of(text)?;
        write(&path, text.as_bytes()).map_err(|error| error.kind().to_string())
    }

    /// Whether the full text that a notice names is in this folder, under whatever path its reader sees it.
    pub(crate) fn holds(&self, full: &FullText) -> bool {
        let name = match full {
            FullText::Saved(place) => match place.rsplit(['/', std::path::MAIN_SEPARATOR]).next() {
                Some(name) => name.to_owned(),
                None => return false,
            },
            FullText::Kept(digits) => format!("{digits}{EXTENSION}"),
            FullText::NotSaved(_) => return false,
        };
        let path = self.path.as_ref().filter(|_| is_own_name(&name)).map(|path| path.join(name));
        path.is_some_and(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file()))
    }

    fn file_of(&self, text: &str) -> Result<PathBuf, String> {
        let folder = self.path.as_ref().ok_or("no folder for full texts is configured")?;
        let hex = blake3::hash(text.as_bytes()).to_hex();
        Ok(folder.join(format!("{}{EXTENSION}", &hex.as_str()[..DIGITS])))
    }
}

/// Writes a file beside `path` and renames it: nobody ever sees half of it, and nothing that stands at
/// the name, such as a link, is followed. The folder, if it is made, and the file are for their owner
/// alone.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    if reuse(path, bytes.len() as u64) {
        return Ok(());
    }
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Whether the same text is there already; if it is, it counts as used now.
fn reuse(path: &Path, bytes: u64) -> bool {
    let is_there =
        fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == bytes);
    if is_there && let Ok(file) = File::options().append(true).open(path) {
        // Where the time cannot be set, the text merely counts as older than it is.
        let _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
    }
    is_there
}

fn is_own_name(name: &str) -> bool {
    name.strip_suffix(EXTENSION).is_some_and(|stem| {
        stem.len() == DIGITS && stem.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// brute's folder for data, by the custom of the system.
fn data_folder() -> Option<PathBuf> {
    let absolute = |variable: &str| {
        std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    if cfg!(windows) {
        Some(absolute("APPDATA")?.join("brute").join("data"))
    } else if cfg!(target_os = "macos") {
        Some(std::env::home_dir()?.join("Library/Application Support/brute"))
    } else {
        let data = absolute("XDG_DATA_HOME")
            .or_else(|| Some(std::env::home_dir()?.join(".local/share")))?;
        Some(data.join("brute"))
    }
}

/// Replaces a leading `~` by the home folder.
fn expand(folder: &str) -> Option<PathBuf> {
    let Some(rest) = folder.strip_prefix('~') else { return Some(folder.into()) };
    if rest.is_empty() || rest.starts_with(std::path::is_separator) {
        Some(std::env::home_dir()?.join(rest.trim_start_matches(std::path::is_separator)))
    } else {
        // `~name` is another user's home to a shell, and an ordinary name to everybody else.
        Some(folder.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_one_of_truncation() {
        let home = std::env::home_dir().unwrap();
        for (text, expected) in
            [("~", home.clone()), ("~/a/b", home.join("a/b")), ("/x", "/x".into())]
        {
            assert_eq!(Folder::new(Some(text)).path, Some(expected));
        }
        assert_eq!(Folder::new(Some("")).path, None);
        assert!(Folder::new(Some("a")).path.unwrap().is_absolute());
        assert!(Folder::new(None).path.unwrap().ends_with("tool-output"));
    }

    #[test]
    fn one_text_is_one_file_named_by_its_digest() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path().join("deep/er").to_str());
        let place = folder.place_of("text").unwrap();
        let full = FullText::Saved(place.clone());
        assert!(!folder.holds(&full));
        folder.save("text").unwrap();
        folder.save("text").unwrap();
        folder.save("other").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"text");
        assert_eq!(fs::read_dir(root.path().join("deep/er")).unwrap().count(), 2);
        let digits = blake3::hash(b"text").to_hex()[..32].to_owned();
        assert!(place.ends_with(&format!("/{digits}.txt")), "{place}");
        for held in [full, FullText::Saved(format!("/mnt/{digits}.txt")), FullText::Kept(digits)] {
            assert!(folder.holds(&held), "{held:?}");
        }
        fs::write(root.path().join("deep/er/notes.txt"), b"text").unwrap();
        for foreign in ["notes.txt", "/etc/passwd", "", "00000000000000000000000000000000.txt"] {
            assert!(!folder.holds(&FullText::Saved(foreign.into())), "{foreign}");
        }
        assert!(!folder.holds(&FullText::NotSaved("disk full".into())));
    }

    #[cfg(unix)]
    #[test]
    fn files_are_for_their_owner_alone_and_links_are_not_followed() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::new(root.path().join("spill").to_str());
        folder.save("secret").unwrap();
        let place = folder.place_of("secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(Path::new(&place)), 0o600);
        assert_eq!(mode(&root.path().join("spill")), 0o700);

        let target = root.path().join("target");
        fs::write(&target, b"secret").unwrap();
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink(&target, &place).unwrap();
        assert!(!folder.holds(&FullText::Saved(place.clone())));
        folder.save("secret").unwrap();
        assert!(fs::symlink_metadata(&place).unwrap().is_file());
    }

    #[test]
    fn a_refusal_names_no_path() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, b"").unwrap();
        for (path, reason) in [
            (file.join("x").to_str().unwrap(), "not a directory"),
            ("", "no folder for full texts is configured"),
        ] {
            assert_eq!(Folder::new(Some(path)).save("text").unwrap_err(), reason);
        }
    }
}
