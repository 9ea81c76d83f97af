//! Full texts on disk: owner-only, named by their content, written beside and renamed.

use std::fs::{self, File, FileTimes};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use brute_core::truncation::{FullText, Spill};
use tempfile::TempPath;

use super::PIECE;
use super::own::{UNFINISHED, make_folder};
use crate::system::words_of;

/// The part of a BLAKE3 digest that names a file: 32 hexadecimal digits, 128 bits.
const DIGITS: usize = 32;
/// From so many bytes on, a second thread is worth its start (some 30 µs).
const LARGE: usize = 512 * 1024;
const EXTENSION: &str = "txt";

/// The folder for full texts.
///
/// A file is named by its content (`<the first 32 digits of its BLAKE3 digest>.txt`): the same text
/// is saved once, and no call overwrites another's. The folder is made when it is first needed,
/// for its owner alone, and so is each file, at its creation; a folder that is there already keeps
/// its permissions. Nothing that stands at a file's name, such as a link, is followed.
#[derive(Debug, Clone)]
pub struct SpillFolder {
    /// Nowhere, if full texts are not to be saved or the home folder is unknown.
    folder: Option<PathBuf>,
    shown: Option<String>,
    /// Whether who reads a notice cannot open what it would name.
    is_hidden: bool,
}

/// A full text that could not be saved. The result goes on nevertheless; its notice says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpillError {
    /// The configuration names no folder, or one below a home folder that is unknown.
    #[error("no folder for full texts is configured")]
    NoFolder,
    /// The file system refused. The words carry no path: they go into the notice.
    #[error("{0}")]
    Refused(String),
}

impl From<io::Error> for SpillError {
    fn from(error: io::Error) -> Self {
        Self::Refused(words_of(&error))
    }
}

impl SpillFolder {
    /// The folder that the configuration names: `None` for the default, `""` for nowhere. `shown` is
    /// how readers see it, if they see it elsewhere.
    pub fn new(folder: Option<&str>, shown: Option<&str>) -> Self {
        let folder = match folder {
            None => directories::ProjectDirs::from("", "", "brute")
                .map(|folders| folders.data_dir().join("tool-output")),
            Some("") => None,
            Some(folder) => located(folder),
        };
        let shown = shown.map(|shown| shown.trim_end_matches('/').to_owned());
        Self { folder, shown, is_hidden: false }
    }

    /// Says that who reads a notice can open files in these folders alone; in any, if there are none.
    /// Where full texts lie elsewhere, notices do not name their paths.
    ///
    /// A leading `~` is the home folder, a relative path begins at the current folder, and links are
    /// followed. The names of a folder that is shown under another path mean nothing here: they are
    /// compared as they are written.
    #[must_use]
    pub fn readable_in(self, folders: &[String]) -> Self {
        let mut folders = folders.iter().filter_map(|folder| located(folder)).peekable();
        let is_hidden = match (&self.shown, &self.folder) {
            _ if folders.peek().is_none() => false,
            (Some(shown), _) => located(shown).is_none_or(|shown| {
                let shown = without_dots(&shown);
                !folders.any(|folder| shown.starts_with(without_dots(&folder)))
            }),
            (None, Some(folder)) => {
                let folder = real(folder);
                !folders.any(|readable| folder.starts_with(real(&readable)))
            }
            (None, None) => false,
        };
        Self { is_hidden, ..self }
    }

    /// Whether who reads a notice can open what it names, as far as is known.
    pub fn is_readable(&self) -> bool {
        !self.is_hidden
    }

    /// Where on this machine the full text of a notice is, whatever the notice calls it.
    pub fn file(&self, full: &FullText) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(file_name_of(full)?))
    }

    /// Where the full texts go.
    pub fn path(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Opens a file to write a full text to, piece by piece.
    ///
    /// # Errors
    /// There is no folder, or it cannot be written to.
    pub(super) fn open(&self) -> Result<Spool, SpillError> {
        let folder = self.ready()?;
        let file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
        let (file, path) = file.into_parts();
        Ok(Spool { file, path, hasher: blake3::Hasher::new(), bytes: 0 })
    }

    /// Saves a full text that lies in memory, unless it is there already.
    ///
    /// # Errors
    /// There is no folder, or it cannot be written to.
    pub fn save_bytes(&self, whole: &[u8]) -> Result<PathBuf, SpillError> {
        let folder = self.ready()?;
        if whole.len() < LARGE {
            // A small text is hashed sooner than a file is opened.
            let path = folder.join(name_of(&blake3::hash(whole)));
            if reuse(&path, whole.len() as u64) {
                return Ok(path);
            }
        }
        let mut spool = self.open()?;
        for piece in whole.chunks(PIECE) {
            spool.write(piece)?;
        }
        spool.finish()
    }

    /// What the notice says of where `path` is.
    pub(super) fn shown(&self, path: &Path) -> FullText {
        match path.file_stem() {
            Some(digits) if self.is_hidden => FullText::Kept(digits.to_string_lossy().into_owned()),
            _ => FullText::Saved(self.place(path)),
        }
    }

    /// The path that readers know `path` by.
    fn place(&self, path: &Path) -> String {
        match (&self.shown, path.file_name()) {
            (Some(shown), Some(name)) => format!("{shown}/{}", name.to_string_lossy()),
            _ => path.display().to_string(),
        }
    }

    fn ready(&self) -> Result<&Path, SpillError> {
        let folder = self.folder.as_deref().ok_or(SpillError::NoFolder)?;
        make_folder(folder)?;
        Ok(folder)
    }
}

impl Spill for SpillFolder {
    fn save(&self, whole: &[u8]) -> FullText {
        match self.save_bytes(whole) {
            Ok(path) => self.shown(&path),
            Err(error) => FullText::NotSaved(error.to_string()),
        }
    }

    fn holds(&self, place: &str) -> bool {
        let Some(folder) = &self.folder else { return false };
        let path = match place.rsplit_once(std::path::is_separator) {
            Some((_, name)) => Some(folder.join(name))
                .filter(|path| is_own_name(name) && self.place(path) == place),
            None => self.file(&FullText::Kept(place.into())),
        };
        path.is_some_and(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file()))
    }
}

/// A full text that is being written.
#[derive(Debug)]
pub(super) struct Spool {
    file: File,
    path: TempPath,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Spool {
    pub(super) fn write(&mut self, piece: &[u8]) -> Result<(), SpillError> {
        self.bytes += piece.len() as u64;
        let Self { file, hasher, .. } = self;
        if piece.len() < LARGE {
            hasher.update(piece);
            return Ok(file.write_all(piece)?);
        }
        // Hashing takes about as long as writing, so a large piece is hashed meanwhile.
        let (is_hashed, written) = std::thread::scope(|scope| {
            let hashing =
                std::thread::Builder::new().name("brute-hash".into()).spawn_scoped(scope, || {
                    hasher.update(piece);
                });
            (hashing.is_ok(), file.write_all(piece))
        });
        if !is_hashed {
            self.hasher.update(piece);
        }
        Ok(written?)
    }

    /// Gives the file its name.
    pub(super) fn finish(self) -> Result<PathBuf, SpillError> {
        let path = self.path.with_file_name(name_of(&self.hasher.finalize()));
        if !reuse(&path, self.bytes) {
            self.path.persist(&path).map_err(|error| error.error)?;
        }
        Ok(path)
    }
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

fn name_of(digest: &blake3::Hash) -> String {
    let hex = digest.to_hex();
    format!("{}.{EXTENSION}", hex.get(..DIGITS).unwrap_or(&hex))
}

/// The name of the file with a full text.
pub(super) fn file_name_of(full: &FullText) -> Option<String> {
    let name = match full {
        FullText::Saved(place) => place.rsplit(std::path::is_separator).next()?.to_owned(),
        FullText::Kept(digits) => format!("{digits}.{EXTENSION}"),
        FullText::NotSaved(_) => return None,
    };
    is_own_name(&name).then_some(name)
}

/// Whether a file of this name can only be a full text of ours.
pub(super) fn is_own_name(name: &str) -> bool {
    name.strip_suffix(EXTENSION).and_then(|stem| stem.strip_suffix('.')).is_some_and(|stem| {
        stem.len() == DIGITS && stem.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Whether a file of this name is one that was never finished.
pub(super) fn is_unfinished_name(name: &str) -> bool {
    name.starts_with(UNFINISHED)
}

/// The folder of a setting, from the root.
pub(crate) fn located(folder: &str) -> Option<PathBuf> {
    expand(folder).and_then(|folder| std::path::absolute(folder).ok())
}

/// The path without links, as far as there is something at it.
fn real(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|known| Some((known.canonicalize().ok()?, known)));
    match known {
        Some((real, known)) => without_dots(&real.join(path.strip_prefix(known).unwrap_or(path))),
        None => without_dots(path),
    }
}

/// The path without `.` and `..`.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            _ => plain.push(component),
        }
    }
    plain
}

/// Replaces a leading `~` by the home folder.
pub(crate) fn expand(folder: &str) -> Option<PathBuf> {
    let Some(rest) = folder.strip_prefix('~') else { return Some(folder.into()) };
    if rest.is_empty() || rest.starts_with(std::path::is_separator) {
        let home = directories::BaseDirs::new()?.home_dir().to_path_buf();
        Some(home.join(rest.trim_start_matches(std::path::is_separator)))
    } else {
        // `~name` is another user's home to a shell, and an ordinary name to everybody else.
        Some(folder.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &Path) -> SpillFolder {
        SpillFolder::new(path.to_str(), None)
    }

    #[test]
    fn a_tilde_is_the_home_folder() {
        let home = directories::BaseDirs::new().unwrap().home_dir().to_path_buf();
        for (text, expected) in
            [("~", home.clone()), ("~/a/b", home.join("a/b")), ("/x", "/x".into())]
        {
            assert_eq!(SpillFolder::new(Some(text), None).path(), Some(expected.as_path()));
        }
        assert_eq!(SpillFolder::new(Some(""), None).path(), None);
        assert!(SpillFolder::new(None, None).path().unwrap().ends_with("brute/tool-output"));
    }

    #[test]
    fn one_text_is_one_file() {
        let root = tempfile::tempdir().unwrap();
        let spill = folder(&root.path().join("deep/er"));
        let path = spill.save_bytes(b"text").unwrap();
        assert_eq!(spill.save_bytes(b"text").unwrap(), path);
        let mut spool = spill.open().unwrap();
        spool.write(b"te").unwrap();
        spool.write(b"xt").unwrap();
        assert_eq!(spool.finish().unwrap(), path);
        assert_ne!(spill.save_bytes(b"other").unwrap(), path);
        assert_eq!(fs::read(&path).unwrap(), b"text");
        assert_eq!(fs::read_dir(spill.path().unwrap()).unwrap().count(), 2);
        // The digest is the one that `b3sum` prints.
        let hex = blake3::hash(b"text").to_hex();
        assert_eq!(path.file_stem().unwrap().to_str(), hex.get(..32));
    }

    #[cfg(unix)]
    #[test]
    fn files_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let spill = folder(&root.path().join("spill"));
        let path = spill.save_bytes(b"secret").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(spill.path().unwrap()), 0o700);

        // A link at the name is replaced, not followed.
        let target = root.path().join("target");
        fs::write(&target, b"secret").unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(!spill.holds(path.to_str().unwrap()));
        spill.save_bytes(b"secret").unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
    }

    #[test]
    fn only_its_own_files_are_held() {
        let root = tempfile::tempdir().unwrap();
        let spill = folder(root.path());
        let path = spill.save_bytes(b"text").unwrap();
        assert!(spill.holds(path.to_str().unwrap()));
        fs::write(root.path().join("notes.txt"), b"text").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let copy = elsewhere.path().join(path.file_name().unwrap());
        fs::copy(&path, &copy).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        for place in [
            root.path().join("notes.txt").to_str().unwrap(),
            copy.to_str().unwrap(),
            name,
            "/etc/passwd",
            "",
            &format!("{}/../{name}", root.path().display()),
        ] {
            assert!(!spill.holds(place), "{place}");
        }
        let shown = SpillFolder::new(root.path().to_str(), Some("/mnt/out/"));
        assert_eq!(shown.shown(&path), FullText::Saved(format!("/mnt/out/{name}")));
        assert!(shown.holds(&format!("/mnt/out/{name}")) && !shown.holds(path.to_str().unwrap()));
    }

    #[test]
    fn what_cannot_be_read_is_not_named() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name).display().to_string();
        fs::create_dir_all(root.path().join("work/deep")).unwrap();
        let mut cases = vec![
            // The folder for full texts, what readers see instead, what they can read, and whether.
            ("work/out", None, vec![at("work")], true),
            ("work", None, vec![at("work")], true),
            ("out", None, vec![at("work")], false),
            ("worker", None, vec![at("work")], false),
            ("out", None, vec![at("work"), at("out")], true),
            ("out", None, vec![], true),
            ("work/missing/../../out", None, vec![at("work")], false),
            ("work/deep/../out", None, vec![at("work/../work/.")], true),
            ("out", Some("/mnt/out"), vec!["/mnt".to_owned()], true),
            ("work/out", Some("/mnt/out"), vec![at("work")], false),
            ("work/out", Some("/mnt/../out"), vec!["/mnt".to_owned()], false),
            ("work/out", None, vec!["~/nowhere".to_owned(), "here".to_owned()], false),
        ];
        #[cfg(unix)]
        {
            use std::os::unix::fs::symlink;
            symlink(root.path().join("work"), root.path().join("link")).unwrap();
            symlink(root.path(), root.path().join("work/up")).unwrap();
            cases.push(("link/out", None, vec![at("work")], true));
            cases.push(("work/out", None, vec![at("link")], true));
            cases.push(("work/up/out", None, vec![at("work")], false));
        }
        for (place, shown, readable, expected) in cases {
            let spill = SpillFolder::new(Some(&at(place)), shown).readable_in(&readable);
            assert_eq!(spill.is_readable(), expected, "{place} {shown:?} {readable:?}");
            let path = spill.save_bytes(b"text").unwrap();
            let full = spill.shown(&path);
            let said = match &full {
                FullText::Saved(place) | FullText::Kept(place) => place,
                FullText::NotSaved(reason) => panic!("{reason}"),
            };
            assert_eq!(matches!(full, FullText::Saved(_)), expected);
            assert!(expected || !said.contains(['/', '.']), "{said}");
            assert!(spill.holds(said));
            assert_eq!(spill.file(&full), Some(path.clone()));
            fs::remove_file(path).unwrap();
            assert!(!spill.holds(said));
        }
        // Who knows no home folder and saves nothing has nothing to hide.
        assert!(SpillFolder::new(Some(""), None).readable_in(&[at("work")]).is_readable());
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
            let error = SpillFolder::new(Some(path), None).save_bytes(b"text").unwrap_err();
            assert_eq!(error.to_string(), reason);
        }
        let error = folder(&file).save_bytes(b"text").unwrap_err().to_string();
        assert!(!error.is_empty() && !error.contains('/'), "{error}");
    }
}
