//! What `cargo metadata` says about the crates of the workspace, cut down to what the verbs ask.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Result, project};

/// The workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    /// Where cargo puts what it builds.
    pub(crate) target: PathBuf,
}

/// A crate of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) edition: String,
    /// The oldest compiler that builds it, if it says so.
    pub(crate) rust_version: Option<String>,
    /// Its folder, from the root, with forward slashes; empty for a crate at the root itself.
    pub(crate) folder: String,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    /// The names of its bench targets.
    pub(crate) benches: Vec<String>,
    /// Whether cargo makes a dynamic library of it that programs can load.
    pub(crate) is_library: bool,
}

impl Package {
    /// A crate with nothing to it but a name and a folder.
    #[cfg(test)]
    pub(crate) fn bare(name: &str, folder: &str) -> Self {
        Self {
            name: name.to_owned(),
            edition: "2024".to_owned(),
            rust_version: None,
            folder: folder.to_owned(),
            description: None,
            license: None,
            dependencies: Vec::new(),
            benches: Vec::new(),
            is_library: false,
        }
    }

    /// The path of its manifest, from the root.
    pub(crate) fn manifest(&self) -> String {
        if self.folder.is_empty() {
            "Cargo.toml".to_owned()
        } else {
            format!("{}/Cargo.toml", self.folder)
        }
    }
}

/// A line of a manifest's dependency tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Which versions would do.
    pub(crate) requirement: String,
    pub(crate) table: Table,
    pub(crate) features: Vec<String>,
}

/// The table of a manifest that a dependency stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Normal,
    Dev,
    Build,
}

impl Table {
    /// Its heading, without the brackets.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Normal => "dependencies",
            Self::Dev => "dev-dependencies",
            Self::Build => "build-dependencies",
        }
    }
}

/// The workspace whose root is `root`.
///
/// # Errors
///
/// Cargo could not read a manifest (it says why), or its answer is not what its format version promises.
pub(crate) fn workspace(root: &Path) -> Result<Workspace> {
    let mut command = project::cargo();
    command.current_dir(root).args(["metadata", "--no-deps", "--format-version", "1"]);
    let line = project::shown(&command);
    let output = command.output().map_err(|error| format!("could not start {line}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{line} failed:\n{}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    parse(&String::from_utf8_lossy(&output.stdout)).map_err(|error| format!("{line}: {error}"))
}

/// Reads the answer of `cargo metadata --no-deps --format-version 1`.
///
/// # Errors
///
/// It is not JSON, or a field that the format promises is missing.
pub(crate) fn parse(metadata: &str) -> Result<Workspace> {
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| error.to_string())?;
    let root = Path::new(text(&metadata, "workspace_root")?);
    let packages: Result<_> =
        list(&metadata, "packages")?.iter().map(|package| read_package(package, root)).collect();
    Ok(Workspace { packages: packages?, target: text(&metadata, "target_directory")?.into() })
}

fn read_package(package: &Value, root: &Path) -> Result<Package> {
    let manifest = Path::new(text(package, "manifest_path")?);
    let folder = manifest.parent().and_then(|folder| folder.strip_prefix(root).ok());
    let folder =
        folder.ok_or_else(|| format!("{} is outside of the workspace", manifest.display()))?;
    let dependencies: Result<Vec<_>> =
        list(package, "dependencies")?.iter().map(read_dependency).collect();
    let benches = list(package, "targets")?
        .iter()
        .filter(|target| names(&target["kind"]).any(|kind| kind == "bench"))
        .map(|target| text(target, "name").map(str::to_owned));
    let is_library = list(package, "targets")?
        .iter()
        .any(|target| names(&target["crate_types"]).any(|kind| kind == "cdylib"));
    Ok(Package {
        name: text(package, "name")?.to_owned(),
        edition: text(package, "edition")?.to_owned(),
        rust_version: package["rust_version"].as_str().map(str::to_owned),
        folder: folder.to_string_lossy().replace('\\', "/"),
        description: package["description"].as_str().map(str::to_owned),
        license: package["license"].as_str().map(str::to_owned),
        dependencies: dependencies?,
        benches: benches.collect::<Result<_>>()?,
        is_library,
    })
}

fn read_dependency(dependency: &Value) -> Result<Dependency> {
    let table = match dependency["kind"].as_str() {
        None => Table::Normal,
        Some("dev") => Table::Dev,
        Some("build") => Table::Build,
        Some(other) => return Err(format!("unknown kind of dependency `{other}`")),
    };
    let features = names(&dependency["features"]).map(str::to_owned).collect();
    let text = |field| text(dependency, field).map(str::to_owned);
    Ok(Dependency { name: text("name")?, requirement: text("req")?, table, features })
}

fn text<'a>(value: &'a Value, field: &str) -> Result<&'a str> {
    value[field].as_str().ok_or_else(|| format!("no text field `{field}`"))
}

fn list<'a>(value: &'a Value, field: &str) -> Result<&'a [Value]> {
    value[field].as_array().map(Vec::as_slice).ok_or_else(|| format!("no list `{field}`"))
}

fn names(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = r#"{"workspace_root":"/w","target_directory":"/w/target","packages":[
        {"name":"brute-cli","edition":"2024","rust_version":"1.88","manifest_path":"/w/host/cli/Cargo.toml",
         "description":"The verbs","license":null,
         "dependencies":[{"name":"brute-host","req":"^0.1.0","kind":null,"features":[]},
                         {"name":"brute-core","req":"*","kind":"dev","features":["testing"]}],
         "targets":[{"name":"brute","kind":["bin"],"crate_types":["bin"]},
                    {"name":"start","kind":["bench"],"crate_types":["bin"]}]}]}"#;

    #[test]
    fn an_answer_is_read() {
        let Workspace { packages, target } = parse(ANSWER).unwrap();
        let dependency = |name: &str, requirement: &str, table, features: &[&str]| Dependency {
            name: name.to_owned(),
            requirement: requirement.to_owned(),
            table,
            features: features.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(
            packages,
            [Package {
                rust_version: Some("1.88".to_owned()),
                description: Some("The verbs".to_owned()),
                dependencies: vec![
                    dependency("brute-host", "^0.1.0", Table::Normal, &[]),
                    dependency("brute-core", "*", Table::Dev, &["testing"]),
                ],
                benches: vec!["start".to_owned()],
                ..Package::bare("brute-cli", "host/cli")
            }]
        );
        assert_eq!(target, Path::new("/w/target"));
        assert_eq!(packages[0].manifest(), "host/cli/Cargo.toml");
    }

    #[test]
    fn a_library_that_programs_load_is_told() {
        for (types, expected) in
            [("[\"rlib\"]", false), ("[\"cdylib\",\"rlib\"]", true), ("[\"dylib\"]", false)]
        {
            let answer = ANSWER.replacen(
                "[\"bin\"],\"crate_types\":[\"bin\"]",
                &format!("[\"lib\"],\"crate_types\":{types}"),
                1,
            );
            assert_eq!(parse(&answer).unwrap().packages[0].is_library, expected, "{types}");
        }
    }

    #[test]
    fn a_broken_answer_is_an_error() {
        for (from, to) in [
            ("\"workspace_root\"", "\"root\""),
            ("\"packages\"", "\"crates\""),
            ("\"target_directory\"", "\"target\""),
            ("\"edition\"", "\"year\""),
            ("\"req\"", "\"version\""),
            ("/w/host", "/elsewhere/host"),
            ("\"dev\"", "\"odd\""),
            ("]}]}", "]}"),
        ] {
            assert!(ANSWER.contains(from), "{from}");
            assert!(parse(&ANSWER.replace(from, to)).is_err(), "{from} -> {to}");
        }
    }

    #[test]
    fn this_workspace_is_read() {
        let packages = workspace(&project::root()).unwrap().packages;
        assert!(
            packages.iter().any(|package| package.name == "xtask" && package.folder == "xtask")
        );
    }
}
