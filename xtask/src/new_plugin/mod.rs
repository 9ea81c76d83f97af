//! `cargo xtask new-plugin`: a crate with a layer that builds, passes its tests and runs in a ladder as it is.
//!
//! The files come from `xtask/templates/plugin/`. Inside the workspace the crate is a member like any other; with
//! `--dir` it stands alone and finds `brute-core` by the path of this checkout, or with `--git` in a repository.

mod members;
mod name;
mod template;

use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};
use std::process::ExitCode;

use crate::metadata::Workspace;
use crate::{Result, metadata, project};
use template::Kind;

const USAGE: &str = "usage: cargo xtask new-plugin NAME [--dir DIR [--git URL]]";

/// What the verb is told.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    name: String,
    /// The folder that the crate's folder goes into, if that is not the workspace.
    dir: Option<PathBuf>,
    /// The repository that has `brute-core`, if that is not this checkout.
    git: Option<String>,
}

impl Options {
    fn read(args: &[String]) -> Result<Self> {
        let (mut name, mut dir, mut git) = (None, None, None);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--dir" => dir = Some(args.next().ok_or(USAGE)?.into()),
                "--git" => git = Some(args.next().ok_or(USAGE)?.to_owned()),
                other if name.is_none() && !other.starts_with("--") => {
                    name = Some(other.to_owned());
                }
                _ => return Err(USAGE.to_owned()),
            }
        }
        if git.is_some() && dir.is_none() {
            return Err(format!(
                "`--git` is for a crate outside of this workspace: say where by `--dir`\n{USAGE}"
            ));
        }
        Ok(Self { name: name.ok_or(USAGE)?, dir, git })
    }
}

/// Makes the crate and says what to do with it.
pub(crate) fn run(args: &[String]) -> Result {
    let options = Options::read(args)?;
    name::check(&options.name)?;
    let root = project::root();
    let workspace = metadata::workspace(&root)?;
    let made = match &options.dir {
        None => inside(&root, &workspace, &options.name)?,
        Some(dir) => outside(&root, &workspace, &options.name, dir, options.git.as_deref())?,
    };
    println!("made the layer `{}` in {}", options.name, made.display());
    println!("its README says how to test and try it; `docs/write-a-plugin.md` explains each line");
    Ok(ExitCode::SUCCESS)
}

/// Checks that no layer of ours has this name: two of a name cannot stand side by side, wherever their crates are.
fn check_free(workspace: &Workspace, name: &str) -> Result<()> {
    let package = format!("brute-{name}");
    match workspace.packages.iter().find(|taken| taken.name == package) {
        Some(taken) => {
            Err(format!("the name `{name}` is taken: `{package}` is in `{}`", taken.folder))
        }
        None => Ok(()),
    }
}

/// Makes a member of the workspace; its folder.
fn inside(root: &Path, workspace: &Workspace, name: &str) -> Result<PathBuf> {
    check_free(workspace, name)?;
    let manifest = root.join("Cargo.toml");
    let read = fs::read_to_string(&manifest)
        .map_err(|error| format!("could not read `{}`: {error}", manifest.display()))?;
    let with_member = members::with_member(&read, &format!("plugins/{name}"))?;
    let plugins = root.join("plugins");
    fs::create_dir_all(&plugins)
        .map_err(|error| format!("could not make the folder `{}`: {error}", plugins.display()))?;
    let files = template::files(name, &Kind::Inside);
    let folder = plugins.join(name);
    write(&folder, &files, || fs::write(&manifest, &with_member))?;
    Ok(folder)
}

/// Makes a crate that stands alone; its folder.
fn outside(
    root: &Path,
    workspace: &Workspace,
    name: &str,
    dir: &Path,
    git: Option<&str>,
) -> Result<PathBuf> {
    check_free(workspace, name)?;
    let failed = |error: io::Error| format!("folder `{}`: {error}", dir.display());
    let absolute = path::absolute(dir).map_err(failed)?;
    let mut above = absolute.ancestors();
    let there = above.find_map(|folder| fs::canonicalize(folder).ok()).unwrap_or_default();
    let is_in =
        |folder: &Path| fs::canonicalize(folder).is_ok_and(|folder| there.starts_with(folder));
    if is_in(root) && !is_in(&workspace.target) {
        return Err(format!(
            "`{}` is in this workspace; leave `--dir` out to make a member of it",
            dir.display()
        ));
    }
    let core = workspace.packages.iter().find(|package| package.folder == "core");
    let core = core.ok_or("there is no crate in `core/`")?;
    // The versions that the checkout is built with: nothing has to be downloaded, and nothing differs.
    let lock = root.join("Cargo.lock");
    let lock = fs::read_to_string(&lock)
        .map_err(|error| format!("could not read `{}`: {error}", lock.display()))?;
    let mut files = template::files(name, &Kind::Outside { root, core, git });
    files.push(("Cargo.lock", lock));
    fs::create_dir_all(dir).map_err(failed)?;
    let folder = fs::canonicalize(dir).map_err(failed)?.join(name);
    write(&folder, &files, || Ok(()))?;
    Ok(folder)
}

/// Writes the files into a folder that is not there yet, and then does what is left; all of it or nothing.
fn write(
    folder: &Path,
    files: &[(&str, String)],
    last: impl FnOnce() -> io::Result<()>,
) -> Result<()> {
    let shown = folder.display();
    fs::create_dir(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => format!("`{shown}` is there already; take another name"),
        _ => format!("could not make the folder `{shown}`: {error}"),
    })?;
    let write_all = || {
        fs::create_dir(folder.join("src"))?;
        for (path, text) in files {
            fs::write(folder.join(path), text)?;
        }
        last()
    };
    write_all().map_err(|error| {
        // What went wrong is the news; a rest that stays behind is told by the next run.
        drop(fs::remove_dir_all(folder));
        format!("could not write the files of `{shown}`: {error}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Package;

    fn options(args: &[&str]) -> Result<Options> {
        Options::read(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_read() {
        let plain = Options { name: "x".to_owned(), dir: None, git: None };
        assert_eq!(options(&["x"]), Ok(plain));
        let all = Options {
            name: "x".to_owned(),
            dir: Some("d".into()),
            git: Some("https://example.org/brute".to_owned()),
        };
        assert_eq!(options(&["--dir", "d", "x", "--git", "https://example.org/brute"]), Ok(all));
        for args in [
            &[][..],
            &["x", "y"],
            &["x", "--dir"],
            &["--fast", "x"],
            &["x", "--git", "u"],
            &["--dir", "d"],
        ] {
            assert!(options(args).unwrap_err().contains("usage: "), "{args:?}");
        }
    }

    /// A workspace with room for plugins.
    fn workspace(root: &Path) -> Workspace {
        fs::create_dir(root.join("plugins")).unwrap();
        fs::write(root.join("Cargo.toml"), "[workspace]\nmembers = [\n    \"core\",\n]\n").unwrap();
        fs::write(root.join("Cargo.lock"), "version = 4\n").unwrap();
        let taken = Package::bare("brute-tool-results", "strategies/tool-results");
        let packages = vec![Package::bare("brute-core", "core"), taken];
        Workspace { packages, target: root.join("target") }
    }

    #[test]
    fn a_member_is_made_once_and_listed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let workspace = workspace(root);
        let made = inside(root, &workspace, "first").unwrap();
        assert_eq!(made, root.join("plugins/first"));
        for file in ["Cargo.toml", "README.md", "brute.toml", "src/lib.rs"] {
            assert!(made.join(file).is_file(), "{file}");
        }
        let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        assert!(manifest.contains("    \"core\",\n    \"plugins/first\",\n]"), "{manifest}");

        let error = inside(root, &workspace, "first").unwrap_err();
        assert!(error.contains("plugins/first` is there already"), "{error}");
    }

    #[test]
    fn no_crate_gets_the_name_of_a_layer_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        let root = project::root();
        let workspace = metadata::workspace(&root).unwrap();
        let is_layer =
            |folder: &str| folder.starts_with("strategies/") || folder.starts_with("plugins/");
        let layers: Vec<_> =
            workspace.packages.iter().filter(|package| is_layer(&package.folder)).collect();
        assert!(layers.len() > 5, "{layers:?}");
        for package in layers {
            let name = package.name.strip_prefix("brute-").unwrap();
            for made in [
                inside(&root, &workspace, name),
                outside(&root, &workspace, name, &elsewhere, None),
            ] {
                let error = made.unwrap_err();
                assert!(error.contains("is taken") && error.contains(&package.folder), "{error}");
            }
        }
        assert!(!elsewhere.exists());
    }

    #[test]
    fn what_cannot_be_finished_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        let files = [("src/lib.rs", String::new())];
        let failing = || Err(io::Error::other("the disk is full"));
        let error = write(&made, &files, failing).unwrap_err();
        assert!(error.contains("the disk is full") && !made.exists(), "{error}");
        let error = write(&folder.path().join("no/such"), &files, || Ok(())).unwrap_err();
        assert!(error.contains("no/such"), "{error}");
    }

    #[test]
    fn a_crate_that_stands_alone_is_not_put_into_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let (root, elsewhere) = (folder.path().join("checkout"), folder.path().join("elsewhere"));
        fs::create_dir(&root).unwrap();
        let workspace = workspace(&root);
        fs::create_dir(root.join("target")).unwrap();
        for dir in ["plugins", "plugins/more", "new/er"] {
            let error = outside(&root, &workspace, "first", &root.join(dir), None).unwrap_err();
            assert!(error.contains("leave `--dir` out"), "{dir}: {error}");
        }
        assert!(!root.join("new").exists());
        let made = outside(&root, &workspace, "first", &elsewhere, None).unwrap();
        assert!(made.ends_with("elsewhere/first") && made.join("Cargo.lock").is_file());
        let error = outside(&root, &workspace, "first", &elsewhere, None).unwrap_err();
        assert!(error.contains("is there already"), "{error}");
        outside(&root, &workspace, "first", &root.join("target/tmp"), None).unwrap();
    }
}
