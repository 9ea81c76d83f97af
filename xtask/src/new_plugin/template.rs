//! The files of a new plugin, filled in.

use std::path::Path;

use serde_json::Value;

use crate::metadata::Package;

macro_rules! template {
    ($file:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/templates/plugin/", $file))
    };
}

/// Where the crate goes.
pub(super) enum Kind<'a> {
    /// Into the workspace.
    Inside,
    /// Anywhere else.
    Outside {
        /// The root of the workspace.
        root: &'a Path,
        /// Its crate for authors of layers.
        core: &'a Package,
        /// The repository to take that from, if not from this checkout.
        git: Option<&'a str>,
    },
}

/// The files of the crate of the layer `name`, by their path in its folder.
pub(super) fn files(name: &str, kind: &Kind<'_>) -> Vec<(&'static str, String)> {
    let mut files = vec![
        ("src/lib.rs", template!("lib.rs")),
        ("brute.toml", template!("brute.toml")),
        ("README.md", template!("README.md")),
    ];
    match kind {
        Kind::Inside => files.push(("Cargo.toml", template!("manifest-inside.toml"))),
        Kind::Outside { .. } => {
            files.push(("Cargo.toml", template!("manifest-outside.toml")));
            files.push((".gitignore", template!("gitignore")));
            files.push(("rustfmt.toml", template!("../../../rustfmt.toml")));
        }
    }
    let values = values(name, kind);
    files.into_iter().map(|(path, text)| (path, fill(text, &values))).collect()
}

/// What stands for what in the templates.
fn values(name: &str, kind: &Kind<'_>) -> Vec<(&'static str, String)> {
    let mut values = vec![("name", name.to_owned())];
    match kind {
        Kind::Inside => {
            values.push(("libraries", "../../target/plugins".to_owned()));
            values.push((
                "build",
                "cargo xtask plugins        # the library, into target/plugins".to_owned(),
            ));
        }
        Kind::Outside { root, core, git } => {
            values.push(("libraries", "target/debug".to_owned()));
            values.push((
                "build",
                "cargo build                # the library, into target/debug".to_owned(),
            ));
            values.push(("edition", core.edition.clone()));
            // The oldest that knows the edition, if nothing more is asked for.
            values.push(("rust-version", core.rust_version.clone().unwrap_or("1.85".to_owned())));
            values.push(("core", source(root, *git)));
            for dependency in ["schemars", "serde"] {
                values.push((dependency, requirement(core, dependency)));
            }
        }
    }
    values
}

/// Where a manifest finds the crate for authors. A basic string of TOML is written as one of JSON.
fn source(root: &Path, git: Option<&str>) -> String {
    match git {
        Some(url) => format!("git = {}", Value::from(url)),
        None => {
            let path = root.join("core").to_string_lossy().replace('\\', "/");
            format!("path = {}", Value::from(path))
        }
    }
}

/// The versions of a crate that go with the crate for authors.
fn requirement(core: &Package, dependency: &str) -> String {
    let found = core.dependencies.iter().find(|found| found.name == dependency);
    found.map_or("*", |found| found.requirement.trim_start_matches('^')).to_owned()
}

fn fill(text: &str, values: &[(&str, String)]) -> String {
    values
        .iter()
        .fold(text.to_owned(), |text, (key, value)| text.replace(&format!("{{{{{key}}}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{metadata, project};

    fn text(files: &[(&str, String)], path: &str) -> String {
        files.iter().find(|(found, _)| *found == path).unwrap().1.clone()
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        let root = project::root();
        let packages = metadata::workspace(&root).unwrap().packages;
        let core = packages.iter().find(|package| package.folder == "core").unwrap();
        let outside = |git| Kind::Outside { root: &root, core, git };
        for kind in [Kind::Inside, outside(None), outside(Some("https://example.org/brute"))] {
            for (path, text) in files("first-chars", &kind) {
                assert!(!text.contains("{{") && !text.contains("}}"), "{path}:\n{text}");
                let names_no_layer = [".gitignore", "rustfmt.toml"].contains(&path);
                assert!(names_no_layer || text.contains("first-chars"), "{path}:\n{text}");
            }
        }
    }

    #[test]
    fn a_manifest_finds_the_crate_for_authors() {
        let mut core = Package::bare("brute-core", "core");
        core.rust_version = Some("1.88".to_owned());
        let manifest = |root: &str, git| {
            let kind = Kind::Outside { root: Path::new(root), core: &core, git };
            text(&files("x", &kind), "Cargo.toml")
        };
        let by_path = manifest("/a \"b\"", None);
        assert!(by_path.contains(r#"brute-core = { path = "/a \"b\"/core" }"#), "{by_path}");
        assert!(by_path.contains(r#"/core", features = ["testing"] }"#), "{by_path}");
        assert!(by_path.contains("rust-version = \"1.88\""), "{by_path}");
        let by_git = manifest("/a", Some("https://example.org/brute"));
        assert!(by_git.contains(r#"{ git = "https://example.org/brute" }"#), "{by_git}");
    }

    /// The page for authors shows what they get.
    #[test]
    fn the_documentation_shows_these_files() {
        let page = project::root().join("docs/write-a-plugin.md");
        let page = std::fs::read_to_string(page).unwrap();
        let core = Package::bare("brute-core", "core");
        let outside = Kind::Outside { root: Path::new("/"), core: &core, git: None };
        let files = files("first-chars", &outside);
        let source = text(&files, "src/lib.rs");
        let (layer, tests) = source.split_at(source.find("#[cfg(test)]").unwrap());
        for shown in [layer.trim(), tests.trim(), text(&files, "brute.toml").trim()] {
            assert!(page.contains(shown), "docs/write-a-plugin.md does not show this:\n{shown}");
        }
        let blocks: Vec<&str> = page.split("```toml\n").skip(1).collect();
        assert!(!blocks.is_empty());
        for block in blocks {
            let block = block.split("```").next().unwrap();
            let is_shown = files.iter().any(|(_, text)| text.contains(block.trim()));
            assert!(
                is_shown,
                "no file of a new plugin has this, and no other test reads it:\n{block}"
            );
        }
    }
}
