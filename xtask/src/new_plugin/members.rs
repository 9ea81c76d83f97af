//! The list of members in the manifest of the workspace.

use crate::Result;

/// The manifest with `member` in its list of members, beside its neighbors in the same folder.
///
/// # Errors
///
/// There is no list that has a line for each member.
pub(super) fn with_member(manifest: &str, member: &str) -> Result<String> {
    let mut lines: Vec<&str> = manifest.split('\n').collect();
    let start = lines.iter().position(|line| line.trim_end() == "members = [");
    let end = start.and_then(|start| {
        lines[start..].iter().position(|line| line.trim() == "]").map(|length| start + length)
    });
    let (Some(start), Some(end)) = (start, end) else {
        return Err(format!(
            "the root `Cargo.toml` has no list `members` with a line for each; add `{member}` to it by hand, \
             once this is mended"
        ));
    };
    let entry = |line: &str| line.trim().trim_end_matches(',').trim_matches('"').to_owned();
    let folder = member.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_neighbor = |line: &str| entry(line).rsplit_once('/').is_some_and(|(of, _)| of == folder);
    let listed = start + 1..end;
    if listed
        .clone()
        .any(|line| entry(lines[line]) == member || entry(lines[line]) == format!("{folder}/*"))
    {
        return Ok(manifest.to_owned());
    }
    let neighbors: Vec<usize> = listed.filter(|line| is_neighbor(lines[*line])).collect();
    let behind = neighbors.iter().rev().find(|line| entry(lines[**line]).as_str() < member);
    let at = behind.map(|line| line + 1).or(neighbors.first().copied()).unwrap_or(end);
    let line = format!("    \"{member}\",");
    lines.insert(at, &line);
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project;

    fn manifest(members: &[&str]) -> String {
        let lines: Vec<String> =
            members.iter().map(|member| format!("    \"{member}\",\n")).collect();
        format!(
            "[workspace]\nresolver = \"3\"\nmembers = [\n{}]\n# x\nexclude = [\n]\n",
            lines.concat()
        )
    }

    #[test]
    fn a_member_goes_beside_its_neighbors() {
        for (before, after) in [
            (&[][..], &["plugins/c"][..]),
            (
                &["core", "plugins/fixtures/*", "host"],
                &["core", "plugins/fixtures/*", "host", "plugins/c"],
            ),
            (&["plugins/b", "plugins/d", "host"], &["plugins/b", "plugins/c", "plugins/d", "host"]),
            (&["core", "plugins/d", "host"], &["core", "plugins/c", "plugins/d", "host"]),
            (&["plugins/a", "plugins/b", "host"], &["plugins/a", "plugins/b", "plugins/c", "host"]),
            (&["plugins/c"], &["plugins/c"]),
            (&["plugins/*", "host"], &["plugins/*", "host"]),
        ] {
            assert_eq!(
                with_member(&manifest(before), "plugins/c"),
                Ok(manifest(after)),
                "{before:?}"
            );
        }
    }

    #[test]
    fn a_list_that_is_not_understood_is_left() {
        for manifest in ["", "members = [\"core\"]\n", "members = [\n    \"core\",\n"] {
            let error = with_member(manifest, "plugins/c").unwrap_err();
            assert!(error.contains("`plugins/c`"), "{error}");
        }
    }

    #[test]
    fn the_list_of_this_workspace_is_understood() {
        let manifest = std::fs::read_to_string(project::root().join("Cargo.toml")).unwrap();
        let changed = with_member(&manifest, "plugins/a-name-of-no-plugin").unwrap();
        assert_eq!(changed.replacen("    \"plugins/a-name-of-no-plugin\",\n", "", 1), manifest);
    }
}
