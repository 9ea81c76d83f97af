//! `cargo xtask tidy`: the rules of this repository that no compiler checks.
//!
//! Every finding is printed, not only the first, as `path:line: message`.

mod crates;
mod layout;
mod lexer;
mod sources;
mod text;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use crate::{Result, VERBS, metadata, project};

/// Folders that hold data: what is in them came out of a program, or goes into one, and is kept as it is.
const DATA: &[&str] = &["examples/sessions"];

/// Runs every check.
pub(crate) fn run(args: &[String]) -> Result {
    if !args.is_empty() {
        return Err("usage: cargo xtask tidy".to_owned());
    }
    let root = project::root();
    let tree = Tree::read(&root)?;
    let verbs: Vec<&str> = VERBS.iter().map(|verb| verb.name).collect();
    let findings = check(&tree, &metadata::workspace(&root)?.packages, &verbs);
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("xtask: {} findings in {} files read", findings.len(), tree.files.len());
    Ok(ExitCode::FAILURE)
}

/// Every finding, in the order of the files.
fn check(tree: &Tree, packages: &[metadata::Package], verbs: &[&str]) -> Vec<Finding> {
    let mut findings = tree.unreadable.clone();
    layout::top_level(&tree.top_level, &mut findings);
    for package in packages {
        let manifest = tree.text(&package.manifest());
        crates::arrows(package, packages, manifest, &mut findings);
        crates::fields(package, manifest, &mut findings);
    }
    for file in &tree.files {
        text::blanks(file, &mut findings);
        if file.is("rs") {
            sources::check(file, &mut findings);
        } else {
            text::marks(file, &mut findings);
        }
        layout::verbs(file, verbs, &mut findings);
    }
    findings.sort();
    findings.dedup();
    findings
}

/// Something that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// Counted from 1.
    line: usize,
    message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// A file that people write.
struct File {
    /// From the root, with forward slashes.
    path: String,
    text: String,
}

impl File {
    /// Whether its name ends in this extension.
    fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// The files that people write, and the names at the root.
struct Tree {
    files: Vec<File>,
    /// The folders at the root, but for those that cargo marked as its own.
    top_level: Vec<String>,
    unreadable: Vec<Finding>,
}

impl Tree {
    /// Reads a tree from disk.
    ///
    /// # Errors
    ///
    /// A folder or a file could not be read at all; a file that is not UTF-8 is a finding.
    fn read(root: &Path) -> Result<Self> {
        let mut tree = Self { files: Vec::new(), top_level: Vec::new(), unreadable: Vec::new() };
        tree.read_folder(root, "")?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    fn read_folder(&mut self, root: &Path, folder: &str) -> Result<()> {
        let failed = |path: &str, error| format!("could not read `{path}`: {error}");
        for entry in fs::read_dir(root.join(folder)).map_err(|error| failed(folder, error))? {
            let entry = entry.map_err(|error| failed(folder, error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let kind = entry.file_type().map_err(|error| failed(&path, error))?;
            if kind.is_dir() {
                // A folder that holds a build is marked so; `target` may also be a link, or empty.
                if entry.path().join("CACHEDIR.TAG").exists() {
                    continue;
                }
                if folder.is_empty() {
                    self.top_level.push(name.clone());
                }
                let skipped = path == "target" || name == ".git" || DATA.contains(&path.as_str());
                if !skipped {
                    self.read_folder(root, &path)?;
                }
            } else if kind.is_file() && is_written_by_people(&path) {
                let bytes = fs::read(entry.path()).map_err(|error| failed(&path, error))?;
                match String::from_utf8(bytes) {
                    Ok(text) => self.files.push(File { path, text }),
                    Err(error) => {
                        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
                        let line = 1 + good.iter().filter(|byte| **byte == b'\n').count();
                        self.unreadable.push(Finding::new(&path, line, "not UTF-8"));
                    }
                }
            }
        }
        Ok(())
    }

    /// The text of a file, empty if there is none.
    fn text(&self, path: &str) -> &str {
        self.files.iter().find(|file| file.path == path).map_or("", |file| &file.text)
    }
}

/// Sources, manifests, documents and scripts; not recorded output, sessions or test data.
fn is_written_by_people(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    path.starts_with(".ci/")
        || matches!(extension, Some("rs" | "toml" | "md" | "sh" | "yml" | "yaml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lays out a small workspace and says what `tidy` finds in it.
    fn findings(files: &[(&str, &[u8])]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = Tree::read(root.path()).unwrap();
        let packages = metadata::workspace(root.path()).unwrap().packages;
        check(&tree, &packages, &["ci"]).iter().map(ToString::to_string).collect()
    }

    const WORKSPACE: (&str, &[u8]) = (
        "Cargo.toml",
        b"[workspace]\nresolver = \"3\"\nmembers = [\"core\", \"host\"]\n[workspace.lints.rust]\n",
    );
    const CORE: (&str, &[u8]) = (
        "core/Cargo.toml",
        b"[package]\nname = \"brute-core\"\ndescription = \"d\"\nlicense = \"MIT\"\n\n[lints]\nworkspace = true\n",
    );
    const HOST: (&str, &[u8]) = (
        "host/Cargo.toml",
        b"[package]\nname = \"brute-host\"\ndescription = \"d\"\nlicense = \"MIT\"\n\n[dependencies]\n\
          brute-core = { path = \"../core\" }\n\n[lints]\nworkspace = true\n",
    );
    const LIB: &[u8] = b"//! A crate.\n";

    #[test]
    fn a_tidy_tree_has_no_findings() {
        let found = findings(&[
            WORKSPACE,
            CORE,
            HOST,
            ("core/src/lib.rs", LIB),
            ("host/src/lib.rs", LIB),
            ("README.md", b"Run `cargo xtask ci`.\n"),
            (".ci/run", b"cargo xtask ci\n"),
            // None of these is for people to keep tidy.
            ("target/debug/build/out.rs", b"unsafe \n"),
            ("other-target/CACHEDIR.TAG", b""),
            ("other-target/out.rs", b"unsafe \n"),
            ("examples/sessions/session.rs", b"fn main() {} \n"),
            ("host/tests/data/result.txt", b"as it came \n\xff"),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn every_check_reports_at_once_and_in_order() {
        let found = findings(&[
            WORKSPACE,
            (
                "core/Cargo.toml",
                b"[package]\nname = \"brute-core\"\nlicense = \"MIT\"\n\n[dependencies]\n\
                  brute-host = { path = \"../host\" }\n",
            ),
            (
                "host/Cargo.toml",
                b"[package]\nname = \"brute-host\"\ndescription = \"d\"\nlicense = \"MIT\"\n\n[lints]\nworkspace = true\n",
            ),
            ("core/src/lib.rs", b"fn f() { unsafe {} } \n"),
            ("host/src/lib.rs", LIB),
            ("host/src/bytes.rs", b"//! Bytes.\n// \xff\n"),
            ("misc/README.md", b"Run `cargo xtask deploy`."),
        ]);
        let expected = [
            "core/Cargo.toml:1: no `description`",
            "core/Cargo.toml:1: the lints of the workspace are not taken over: `[lints]` with `workspace = true`",
            "core/Cargo.toml:6: `core` must not depend on `host`; it may depend on nothing of ours",
            "core/src/lib.rs:1: `unsafe` belongs in core/src/abi/ and host/src/plugins/ only",
            "core/src/lib.rs:1: blanks at the end of the line",
            "core/src/lib.rs:1: no `//!` documentation at the top of the file",
            "host/src/bytes.rs:2: not UTF-8",
            "misc:1: a folder that nobody expects at the root",
            "misc/README.md:1: no line feed at the end of the file",
            "misc/README.md:1: no verb `deploy` of `cargo xtask`",
        ];
        assert_eq!(found, expected);
    }
}
