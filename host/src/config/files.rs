//! Which files there are, and what they say. The one place here that touches a disk.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Sources;
use super::diagnostic::{Origin, Source};
use crate::plugins::{TRUST_FILE_NAME, Trust};
use crate::shown::shown;
use crate::system::words_of;

/// The name of the file.
pub const FILE_NAME: &str = "brute.toml";

/// The environment variable that names the user's file, instead of `brute/brute.toml` in the folder
/// for configuration (`$XDG_CONFIG_HOME`, on Linux). Empty, there is none; else it is an absolute path, since
/// a relative one would be another file in every folder, whoever made it.
pub const USER_FILE_VARIABLE: &str = "BRUTE_CONFIG";

/// Where the files of a configuration are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The user's file; absolute, or it is not read.
    pub user: Option<PathBuf>,
    /// The project's.
    pub project: Option<PathBuf>,
    /// Whether the project's was asked for by name, and not only found.
    pub asked: bool,
    /// Where the user's word on plugins is kept: in their folder for configuration, whatever any variable
    /// says of their file, since that may name one in a repository. There may be no such file.
    pub trust: Option<PathBuf>,
}

/// All files of a configuration that cannot be read, each with why: a line each.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.each.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ReadErrors {
    /// Each of them; there is one at the least.
    pub each: Vec<ReadError>,
}

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system does not give it.
    #[error("cannot read `{}`: {}", shown(path.display()), words_of(error))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's words.
        error: io::Error,
    },
    /// It is no text.
    #[error("`{}` is not UTF-8 text: line {line} holds other bytes", shown(path.display()))]
    NotText {
        /// The file.
        path: PathBuf,
        /// The line of the first such byte, from 1.
        line: usize,
    },
    /// It is the user's, but the current folder says which.
    #[error("`{USER_FILE_VARIABLE}` names `{}`, which is no absolute path", shown(path.display()))]
    Relative {
        /// The file.
        path: PathBuf,
    },
}

impl Places {
    /// The files that hold for work in the folder `cwd`: the user's, and the nearest `brute.toml` from
    /// there upwards. `asked` is a file that the user asked for instead of the nearest.
    pub fn find(cwd: &Path, asked: Option<&Path>) -> Self {
        let folder = directories::ProjectDirs::from("", "", "brute");
        let usual = folder.map(|folder| folder.config_dir().join(FILE_NAME));
        // With a relative `HOME`, it would be a file of the folder that its user happens to be in.
        let usual = usual.filter(|file| file.is_absolute());
        Self::of(cwd, asked, env::var_os(USER_FILE_VARIABLE), usual)
    }

    fn of(
        cwd: &Path,
        asked: Option<&Path>,
        variable: Option<OsString>,
        usual: Option<PathBuf>,
    ) -> Self {
        let trust = usual.as_ref().map(|file| file.with_file_name(TRUST_FILE_NAME));
        let user = match variable {
            Some(name) if name.is_empty() => None,
            // Named, but not there or relative: reading it will say so.
            Some(name) => Some(name.into()),
            None => usual.filter(|path| path.is_file()),
        };
        let nearest = || cwd.ancestors().map(|folder| folder.join(FILE_NAME)).find(|f| f.is_file());
        let project = asked.map(|path| cwd.join(path)).or_else(nearest);
        // In the user's own folder for configuration, the nearest file is the user's.
        let project = project.filter(|path| asked.is_some() || user.as_ref() != Some(path));
        Self { user, project, asked: asked.is_some(), trust }
    }

    /// What the files say. What is said of them calls them relative to `cwd` where they are below it; paths in them
    /// begin at their folders, whatever the current folder of the process is. The user's word on plugins is missed
    /// only by who has some.
    ///
    /// # Errors
    /// Every other file that cannot be read.
    pub fn read(&self, cwd: &Path) -> Result<Sources, ReadErrors> {
        let mut errors = Vec::new();
        let mut file = |path: &Option<PathBuf>, origin| {
            let read = read(path.as_deref()?, cwd, origin);
            read.map_err(|error| errors.push(error)).ok()
        };
        let user = file(&self.user, Origin::User);
        let project = file(&self.project, if self.asked { Origin::Project } else { Origin::Found });
        if !errors.is_empty() {
            return Err(ReadErrors { each: errors });
        }
        let (trust, trust_error) = match self.trust.as_deref().map(Trust::read).transpose() {
            Ok(trust) => (trust.unwrap_or_default(), None),
            Err(error) => (Trust::default(), Some(error)),
        };
        Ok(Sources { user, project, trust, trust_error, ..Sources::default() })
    }
}

fn read(path: &Path, cwd: &Path, origin: Origin) -> Result<Source, ReadError> {
    if origin == Origin::User && path.is_relative() {
        return Err(ReadError::Relative { path: path.into() });
    }
    let bytes = fs::read(path).map_err(|error| ReadError::Io { path: path.into(), error })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        ReadError::NotText { path: path.into(), line }
    })?;
    let below = path.strip_prefix(cwd).unwrap_or(path);
    let mut source = Source::new(below.display().to_string(), text, origin);
    // A short path serves as long as it is the same one for the process.
    let is_current = || env::current_dir().is_ok_and(|current| current == cwd);
    let path = if is_current() { below } else { path };
    source.folder = path.parent().map(Path::to_owned).unwrap_or_default();
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::load;
    use crate::layers::Layers;

    #[test]
    fn the_nearest_file_upwards_is_the_projects() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b");
        fs::create_dir_all(&deep).unwrap();
        let user = root.path().join("user.toml");
        fs::write(&user, "version = 1\n").unwrap();
        let file = root.path().join("a/brute.toml");
        fs::write(&file, "[window]\nsize = 5000\n").unwrap();

        let places = Places::of(&deep, None, None, Some(user.clone()));
        assert_eq!(
            places,
            Places {
                user: Some(user.clone()),
                project: Some(file.clone()),
                asked: false,
                trust: Some(root.path().join("trusted-plugins.toml")),
            }
        );
        let sources = places.read(&root.path().join("a")).unwrap();
        assert_eq!(sources.project.unwrap().name, "brute.toml");
        assert_eq!(sources.user.unwrap().name, user.display().to_string());

        let asked = Places::of(&deep, Some(Path::new("x.toml")), Some("".into()), Some(user));
        let project = Some(deep.join("x.toml"));
        assert_eq!((asked.user, asked.project, asked.asked), (None, project, true));

        // A repository that names its own file as the user's brings no trust along.
        let named = Some(deep.join("brute.toml").into_os_string());
        let places = Places::of(&deep, None, named, Some(root.path().join("home/brute.toml")));
        assert_eq!(places.trust, Some(root.path().join("home/trusted-plugins.toml")));

        let own = Places::of(&deep, None, None, Some(file.clone()));
        assert_eq!((own.user, own.project), (Some(file), None));
    }

    /// Another program's folder is not where the process happens to be.
    #[test]
    fn paths_begin_at_the_folder_of_the_file_whoever_reads_it() {
        let root = tempfile::tempdir().unwrap();
        let (own, project) = (root.path().join("own"), root.path().join("project"));
        let text = |name: &str| {
            format!(
                "[truncate]\nspill = \"{name}/full\"\nreadable = [\"{name}\"]\n[archive]\nfolder = \"{name}\"\n\
                 [plugins]\npath = [\"{name}/plugins\"]\n"
            )
        };
        for folder in [&own, &project] {
            fs::create_dir_all(folder.join("deep")).unwrap();
            fs::write(folder.join(FILE_NAME), text("here")).unwrap();
            fs::create_dir_all(folder.join("here/plugins")).unwrap();
            fs::write(folder.join("here/plugins/libx.so"), "").unwrap();
            fs::write(folder.join("here/plugins/x.dll"), "").unwrap();
            fs::write(folder.join("here/plugins/libx.dylib"), "").unwrap();
        }
        let files = |user: Option<&Path>, project: Option<&Path>| Places {
            user: user.map(|folder| folder.join(FILE_NAME)),
            project: project.map(|folder| folder.join(FILE_NAME)),
            ..Places::default()
        };
        for (places, cwd, expected) in [
            (files(None, Some(&project)), project.clone(), &project),
            (files(None, Some(&project)), project.join("deep"), &project),
            (files(None, Some(&project)), root.path().to_owned(), &project),
            (files(Some(&own), None), project.clone(), &own),
            (files(Some(&own), None), own.clone(), &own),
            (files(Some(&own), Some(&project)), own.clone(), &project),
        ] {
            let loaded = load(&places.read(&cwd).unwrap(), &Layers::built_in());
            let config = loaded.config.unwrap();
            let here = expected.join("here");
            let shown = here.display().to_string();
            assert_eq!(config.truncate.spill, Some(here.join("full").display().to_string()));
            assert_eq!(config.truncate.spill_folder().path(), Some(&*here.join("full")));
            assert_eq!(config.truncate.readable, std::slice::from_ref(&shown));
            assert_eq!(config.archive.folder, Some(shown));
            assert!(loaded.plugins.missing.is_empty() && !loaded.plugins.files.is_empty());
            for plugin in &loaded.plugins.files {
                assert!(plugin.path.starts_with(here.join("plugins")), "{:?}", plugin.path);
            }
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("binary.toml"), b"# fine\na = \"\xff\"\n").unwrap();
        let places = Places::of(
            root.path(),
            Some(Path::new("binary.toml")),
            Some(root.path().join("missing.toml").into()),
            None,
        );
        let all =
            || -> Result<Sources, Box<dyn std::error::Error>> { Ok(places.read(root.path())?) };
        let all = all().unwrap_err().to_string();
        let errors: Vec<_> = all.lines().collect();
        assert_eq!(errors.len(), 2, "{all}");
        assert!(errors[0].starts_with("cannot read `") && errors[0].contains("missing.toml`: "));
        assert!(errors[1].ends_with("binary.toml` is not UTF-8 text: line 2 holds other bytes"));
    }

    #[test]
    fn a_relative_path_is_no_file_of_the_users() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("own.toml"), "version = 1\n").unwrap();
        for name in ["own.toml", "./own.toml", "../own.toml", ".", "new\nline\u{1b}"] {
            let errors = Places::of(root.path(), None, Some(name.into()), None).read(root.path());
            let error = errors.unwrap_err().to_string();
            let expected = format!("`BRUTE_CONFIG` names `{}`, which is no", shown(name));
            assert!(error.starts_with(&expected), "{error}");
        }
    }
}
