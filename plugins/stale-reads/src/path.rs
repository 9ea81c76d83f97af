//! Which file a path names, as far as its letters tell.

/// The path without what does not matter: `./`, `a/..`, doubled and turned slashes, a scheme `file://`.
///
/// Whether two paths lead to one file by way of a link or of a working folder is nothing that a
/// conversation says.
pub(crate) fn normal(path: &str) -> String {
    let path = path.trim().replace('\\', "/");
    let path = path.strip_prefix("file://").unwrap_or(&path);
    let root = if path.starts_with('/') { "/" } else { "" };
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            // Above the root there is nothing.
            ".." if !root.is_empty() => {}
            _ => names.push(name),
        }
    }
    format!("{root}{}", names.join("/"))
}

/// The files that a patch is about: headers of the form `*** Update File: PATH`, or else of a unified
/// diff.
pub(crate) fn in_patch(patch: &str) -> Vec<String> {
    const HEADERS: [&str; 4] =
        ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    let headed = |headers: &[&str]| -> Vec<String> {
        let named = patch.lines().filter_map(|line| {
            headers.iter().find_map(|header| line.trim_start().strip_prefix(header))
        });
        named.filter_map(diff_path).map(normal).collect()
    };
    let paths = headed(&HEADERS);
    if paths.is_empty() { headed(&["+++ ", "--- "]) } else { paths }
}

/// The path in a header, without the prefix and the time that a diff gives it.
fn diff_path(header: &str) -> Option<&str> {
    let path = header.split('\t').next().unwrap_or(header).trim();
    let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
    (!path.is_empty() && path != "/dev/null").then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_path() {
        for (path, expected) in [
            ("src/a.rs", "src/a.rs"),
            ("./src//a.rs", "src/a.rs"),
            ("src/x/../a.rs", "src/a.rs"),
            ("src\\a.rs", "src/a.rs"),
            (" src/a.rs/ ", "src/a.rs"),
            ("/w/./a.rs", "/w/a.rs"),
            ("/../a.rs", "/a.rs"),
            ("../a.rs", "../a.rs"),
            ("../../a.rs", "../../a.rs"),
            ("x/../../a.rs", "../a.rs"),
            ("file:///w/a.rs", "/w/a.rs"),
            ("C:\\w\\a.rs", "C:/w/a.rs"),
            ("", ""),
        ] {
            assert_eq!(normal(path), expected, "{path}");
        }
        assert_ne!(normal("/a.rs"), normal("a.rs"));
    }

    #[test]
    fn a_patch_names_its_files() {
        let patch = "*** Begin Patch\n*** Update File: ./src/a.rs\n*** Move to: src/b.rs\n@@\n--- x\n*** End Patch";
        assert_eq!(in_patch(patch), ["src/a.rs", "src/b.rs"]);
        let diff = "--- a/src/a.rs\t2020\n+++ b/src/a.rs\t2021\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b/new.rs\n";
        assert_eq!(in_patch(diff), ["src/a.rs", "src/a.rs", "new.rs"]);
        assert!(in_patch("nothing of the kind").is_empty());
    }
}
