//! Layers in dynamic libraries: found, checked, trusted, loaded.
//!
//! ```text
//! [plugins] path ─▶ files ─▶ whole library? manifest? ─▶ trusted? ─▶ open, compare layouts ─▶ LayerKind
//!                   └──────── without running any of its code ──┘
//! ```
//!
//! Each file ends as a [`Plugin`] with a [`Status`]: what was loaded, and of everything else, why not.
//! A library that is loaded is never unloaded.
//!
//! An embedder that names a file in its own code has trusted it:
//!
//! ```no_run
//! use brute_host::{layers::Layers, plugins};
//!
//! let mut layers = Layers::built_in();
//! for kind in plugins::load_file("target/release/libstale_reads.so")? {
//!     layers.add(kind);
//! }
//! # Ok::<(), plugins::PluginError>(())
//! ```

mod file;
#[cfg(feature = "plugins")]
mod image;
#[cfg(feature = "plugins")]
mod kinds;
#[cfg(feature = "plugins")]
mod load;
mod trust;

use std::env::consts::DLL_SUFFIX;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::layers::{LayerKind, Layers};
use crate::shown::{shell_word, shown};
use crate::system::words_of;

pub use file::{Digest, FileError, PluginFile};
#[cfg(feature = "plugins")]
pub use load::LoadError;
pub use trust::{TRUST_FILE_NAME, TRUST_VARIABLE, Trust, TrustError, Verdict};

/// How long a plugin may take where nothing else is said: to build a layer, and for all plans of one rung.
/// Long enough for the answers of a summarizer. A stranger's code gets no chance to hang the agent.
pub const TIME_LIMIT: Duration = Duration::from_secs(60);

/// A file that was looked at, and what came of it.
#[derive(Debug, Clone)]
pub struct Plugin {
    /// Where it is; canonical where that is known.
    pub path: PathBuf,
    /// Which of the listed paths led to it.
    pub listed: usize,
    /// What it is, if it is a plugin at all.
    pub file: Option<PluginFile>,
    /// Whether it was loaded, and why not.
    pub status: Status,
}

/// What came of a file.
#[derive(Debug, Clone)]
pub enum Status {
    /// Its layers are there.
    Loaded(Vec<LayerKind>),
    /// Another path holds the same bytes, and was loaded.
    Copy {
        /// That path.
        of: PathBuf,
    },
    /// Nobody has trusted it, or not as it is now.
    Untrusted(Verdict),
    /// It was loaded, but has a layer that cannot stand beside the others.
    Clashing {
        /// Why not, on one line.
        reason: String,
        /// What to do about it.
        help: String,
    },
    /// It cannot be loaded.
    Refused {
        /// Why, on one line.
        reason: String,
        /// More than one line of it, for the author of the plugin; often empty.
        report: String,
    },
}

/// A file that gave no layers.
#[derive(Debug, thiserror::Error)]
#[error("plugin `{}`: {}", shown(path.display()), shown(reason))]
pub struct PluginError {
    /// The file.
    pub path: PathBuf,
    /// Why not, on one line.
    pub reason: String,
    /// More than one line of it, for the author of the plugin; often empty.
    pub report: String,
}

/// The layers in the library at `path`. Whoever names a file in code trusts it.
///
/// # Errors
/// If it is no plugin, or none for this program.
#[cfg(feature = "plugins")]
pub fn load_file(path: impl AsRef<Path>) -> Result<Vec<LayerKind>, PluginError> {
    let path = path.as_ref();
    let failed = |reason, report| PluginError { path: path.to_owned(), reason, report };
    let file = PluginFile::read(path).map_err(|error| failed(error.to_string(), String::new()))?;
    match kinds::open(&file) {
        Status::Refused { reason, report } => Err(failed(reason, report)),
        Status::Loaded(kinds) => Ok(kinds),
        Status::Copy { .. } | Status::Untrusted(_) | Status::Clashing { .. } => Ok(Vec::new()),
    }
}

/// All plugins that were looked for.
#[derive(Debug, Clone, Default)]
pub struct Plugins {
    /// The files, in the order of the paths and by name within a folder.
    pub files: Vec<Plugin>,
    /// Paths that led nowhere, by their place in the list, and why.
    pub missing: Vec<(usize, String)>,
}

impl Plugins {
    /// Looks at the libraries that `paths` name, or that stand in the folders that they name, and loads
    /// those that `trust` covers. Nothing of the others runs.
    pub fn find(paths: &[PathBuf], trust: &Trust) -> Self {
        let mut plugins = Self::default();
        for (listed, path) in paths.iter().enumerate() {
            match libraries(path) {
                Ok(found) => found.iter().for_each(|file| plugins.look(file, listed, trust)),
                Err(error) => {
                    let path = shown(path.display());
                    plugins.missing.push((listed, format!("`{path}`: {}", words_of(&error))));
                }
            }
        }
        plugins
    }

    #[cfg(not(feature = "plugins"))]
    fn look(&mut self, path: &Path, listed: usize, _: &Trust) {
        let status = Status::Refused { reason: NO_PLUGINS.to_owned(), report: String::new() };
        self.files.push(Plugin { path: path.to_owned(), listed, file: None, status });
    }

    #[cfg(feature = "plugins")]
    fn look(&mut self, path: &Path, listed: usize, trust: &Trust) {
        let (path, file, status) = match PluginFile::read(path) {
            Err(error) => {
                let refused = Status::Refused { reason: error.to_string(), report: String::new() };
                (path.to_owned(), None, refused)
            }
            // The same file by two paths is one plugin.
            Ok(file) if self.files.iter().any(|known| known.path == file.path) => return,
            Ok(file) => {
                let status = match (self.loaded_copy(&file), trust.of(&file)) {
                    (_, verdict @ (Verdict::Unknown | Verdict::Changed)) => {
                        Status::Untrusted(verdict)
                    }
                    (Some(of), Verdict::Trusted) => Status::Copy { of },
                    (None, Verdict::Trusted) => kinds::open(&file),
                };
                (file.path.clone(), Some(file), status)
            }
        };
        self.files.push(Plugin { path, listed, file, status });
    }

    #[cfg(feature = "plugins")]
    fn loaded_copy(&self, file: &PluginFile) -> Option<PathBuf> {
        let same = |plugin: &&Plugin| {
            matches!(plugin.status, Status::Loaded(_))
                && plugin.file.as_ref().is_some_and(|known| known.digest == file.digest)
        };
        self.files.iter().find(same).map(|plugin| plugin.path.clone())
    }

    /// The layers of all plugins that were loaded.
    pub fn kinds(&self) -> impl Iterator<Item = (&Plugin, &LayerKind)> {
        self.files.iter().flat_map(|plugin| {
            let kinds = match &plugin.status {
                Status::Loaded(kinds) => kinds.as_slice(),
                _ => &[],
            };
            kinds.iter().map(move |kind| (plugin, kind))
        })
    }

    /// What is wrong where none of `layers` has this name, and what to do.
    pub fn no_layer(&self, layers: &Layers, name: &str) -> (String, String) {
        let Some(plugin) = self.without(name) else {
            return (format!("there is no layer `{name}`"), layers.suggest(name));
        };
        let (file, why) = (shown(plugin.path.display()), plugin.why_not().unwrap_or_default());
        let message = format!("the layer `{name}` is in `{file}`, which was not loaded: {why}");
        (message, plugin.help().unwrap_or_default())
    }

    /// The plugin that says it has a strategy of this name, but was not loaded.
    fn without(&self, strategy: &str) -> Option<&Plugin> {
        self.files.iter().find(|plugin| {
            let named = plugin.file.iter().flat_map(|file| &file.manifest.strategies);
            !matches!(plugin.status, Status::Loaded(_) | Status::Copy { .. })
                && named.into_iter().any(|known| known.name == strategy)
        })
    }
}

impl Plugin {
    /// Why it was not loaded, on one line; nothing if it was.
    pub fn why_not(&self) -> Option<String> {
        let why = match &self.status {
            Status::Loaded(_) => return None,
            Status::Copy { of } => format!("it is a copy of `{}`", of.display()),
            Status::Untrusted(Verdict::Changed) => "it has changed since it was trusted".to_owned(),
            Status::Untrusted(_) => "it is not trusted".to_owned(),
            Status::Refused { reason, .. } | Status::Clashing { reason, .. } => reason.clone(),
        };
        Some(shown(why))
    }

    /// What to do about that, if it is in the user's hands.
    pub fn help(&self) -> Option<String> {
        match &self.status {
            Status::Untrusted(_) => {
                let path = shell_word(&self.path);
                Some(format!(
                    "a plugin runs with your rights; if you trust it, say `brute plugins trust {path}`"
                ))
            }
            Status::Clashing { help, .. } => Some(help.clone()),
            Status::Loaded(_) | Status::Copy { .. } | Status::Refused { .. } => None,
        }
    }
}

/// The libraries at `path`: the file itself, or all in the folder, by name. What only looks like one is told of,
/// since somebody meant it to be found.
fn libraries(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        let is_library =
            path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(DLL_SUFFIX));
        if is_library {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Why a build that loads no plugins refuses every library.
#[cfg(not(feature = "plugins"))]
const NO_PLUGINS: &str = "this build of brute loads no plugins: build it with the feature `plugins`, which is on by default";
