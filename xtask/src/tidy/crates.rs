//! Rules on crates: which may depend on which, and what every manifest says.

use super::Finding;
use crate::metadata::{Dependency, Package, Table};

/// The parts of the project that arrows go between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Area {
    Core,
    Strategies,
    Plugins,
    Fixtures,
    Host,
    Cli,
    Examples,
    Xtask,
}

use Area::{Cli, Core, Examples, Fixtures, Host, Plugins, Strategies, Xtask};

impl Area {
    /// The area of a crate, by its folder.
    fn of(folder: &str) -> Option<Self> {
        let mut names = folder.split('/');
        Some(match (names.next()?, names.next()) {
            ("core", None) => Core,
            ("strategies", Some(_)) => Strategies,
            ("plugins", Some("fixtures")) => Fixtures,
            ("plugins", Some(_)) => Plugins,
            ("host", None) => Host,
            ("host", Some("cli")) => Cli,
            ("examples", _) => Examples,
            ("xtask", None) => Xtask,
            _ => return None,
        })
    }

    /// What it may depend on, of ours.
    fn may_use(self) -> &'static [Self] {
        match self {
            Core | Xtask => &[],
            Strategies | Plugins => &[Core],
            Fixtures | Host => &[Strategies, Core],
            Cli | Examples => &[Host, Core],
        }
    }

    /// Whether its tests load the libraries of plugins. A dependency has cargo build them beside the tests.
    fn loads_plugins(self) -> bool {
        matches!(self, Host | Cli | Examples)
    }

    fn name(self) -> &'static str {
        match self {
            Core => "core",
            Strategies => "strategies",
            Plugins => "plugins",
            Fixtures => "plugins/fixtures",
            Host => "host",
            Cli => "host/cli",
            Examples => "examples",
            Xtask => "xtask",
        }
    }
}

/// Dependencies go along the arrows only, those of tests too; but any test may use the test kit of core, which nothing
/// else may but the command, and the tests of what loads plugins may have them built.
pub(super) fn arrows(
    package: &Package,
    packages: &[Package],
    manifest: &str,
    findings: &mut Vec<Finding>,
) {
    let Some(area) = Area::of(&package.folder) else {
        findings.push(Finding::new(
            &package.manifest(),
            1,
            "a crate in a folder that no arrow is known for",
        ));
        return;
    };
    for dependency in &package.dependencies {
        let Some(used) = packages.iter().find(|package| package.name == dependency.name) else {
            continue;
        };
        let Some(used) = Area::of(&used.folder) else { continue };
        let mut found = |message: String| {
            let line = line_of(manifest, dependency);
            findings.push(Finding::new(&package.manifest(), line, message));
        };
        let test_kit = used == Core && dependency.features.iter().any(|name| name == "testing");
        // `brute plugins test` holds the layers of others against the laws.
        if test_kit && dependency.table != Table::Dev && area != Cli {
            found("`testing` of `brute-core` is for `[dev-dependencies]`".to_owned());
        }
        let is_plugin = matches!(used, Plugins | Fixtures);
        let for_tests =
            dependency.table == Table::Dev && (test_kit || is_plugin && area.loads_plugins());
        if !for_tests && !area.may_use().contains(&used) {
            let names: Vec<&str> = area.may_use().iter().map(|area| area.name()).collect();
            let allowed =
                if names.is_empty() { "nothing of ours".to_owned() } else { names.join(" and ") };
            found(format!(
                "`{}` must not depend on `{}`; it may depend on {allowed}",
                area.name(),
                used.name()
            ));
        }
    }
}

/// Every crate says what it is and under which license, and takes over the lints of the workspace.
pub(super) fn fields(package: &Package, manifest: &str, findings: &mut Vec<Finding>) {
    let mut found = |message: &str| findings.push(Finding::new(&package.manifest(), 1, message));
    let empty = |field: &Option<String>| field.as_ref().is_none_or(|text| text.trim().is_empty());
    if empty(&package.description) {
        found("no `description`");
    }
    if empty(&package.license) {
        found("no `license`");
    }
    let takes_over = lines_of_table(manifest, "lints").any(|(_, line)| key(line) == "workspace")
        || manifest.lines().any(|line| key(line) == "lints.workspace");
    if !takes_over {
        found("the lints of the workspace are not taken over: `[lints]` with `workspace = true`");
    }
}

/// The line of a manifest on which a dependency stands; 1 if it is written in a way that hides it.
fn line_of(manifest: &str, dependency: &Dependency) -> usize {
    let heading = dependency.table.heading();
    let in_table = lines_of_table(manifest, heading)
        .find(|(_, line)| key(line).split('.').next() == Some(&dependency.name));
    let own_table = || {
        let own = format!("[{heading}.{}]", dependency.name);
        manifest.lines().position(|line| line.trim() == own).map(|index| index + 1)
    };
    in_table.map(|(line, _)| line).or_else(own_table).unwrap_or(1)
}

/// The lines below the heading of a table, each with its number.
fn lines_of_table<'a>(
    manifest: &'a str,
    heading: &str,
) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
    let heading = format!("[{heading}]");
    let numbered = manifest.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    numbered
        .skip_while(move |(_, line)| *line != heading)
        .skip(1)
        .take_while(|(_, line)| !line.starts_with('['))
}

/// What stands before the equals sign of a line.
fn key(line: &str) -> &str {
    line.split('=').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &str, dependencies: &[(&str, Table, &[&str])]) -> Package {
        let dependency = |(name, table, features): &(&str, Table, &[&str])| Dependency {
            name: format!("brute-{name}"),
            requirement: "*".to_owned(),
            table: *table,
            features: features.iter().map(ToString::to_string).collect(),
        };
        let name = format!("brute-{}", folder.rsplit('/').next().unwrap());
        Package {
            description: Some("What it is".to_owned()),
            license: Some("MIT".to_owned()),
            dependencies: dependencies.iter().map(dependency).collect(),
            ..Package::bare(&name, folder)
        }
    }

    fn arrows_of(package: &Package, manifest: &str) -> Vec<String> {
        let folders = [
            "core",
            "strategies/window",
            "plugins/stale",
            "plugins/fixtures/faulty",
            "host",
            "host/cli",
            "examples",
            "xtask",
        ];
        let all: Vec<Package> =
            folders.iter().map(|folder| super::tests::package(folder, &[])).collect();
        let mut findings = Vec::new();
        arrows(package, &all, manifest, &mut findings);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn arrows_are_those_of_the_design() {
        let names = ["core", "window", "stale", "faulty", "host", "cli", "examples", "xtask"];
        for (folder, allowed, in_tests) in [
            ("core", &[][..], &[][..]),
            ("strategies/other", &["core"], &[]),
            ("plugins/other", &["core"], &[]),
            ("plugins/fixtures/other", &["core", "window"], &[]),
            ("host", &["core", "window"], &["stale", "faulty"]),
            ("host/cli", &["core", "host"], &["stale", "faulty"]),
            ("examples", &["core", "host"], &["stale", "faulty"]),
            ("xtask", &[], &[]),
        ] {
            for name in names {
                for table in [Table::Normal, Table::Dev, Table::Build] {
                    let found = arrows_of(&package(folder, &[(name, table, &[])]), "");
                    let in_tests = table == Table::Dev && in_tests.contains(&name);
                    assert_eq!(
                        found.is_empty(),
                        allowed.contains(&name) || in_tests,
                        "{folder} -> {name}, {table:?}: {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_test_kit_is_for_tests_anywhere_and_for_the_command() {
        for folder in ["core", "strategies/other", "plugins/other", "host", "host/cli", "xtask"] {
            let with = |table| package(folder, &[("core", table, &["testing"])]);
            assert_eq!(arrows_of(&with(Table::Dev), ""), [""; 0], "{folder}");
            let found = arrows_of(&with(Table::Normal), "");
            assert_eq!(found.is_empty(), folder == "host/cli", "{folder}: {found:?}");
        }
    }

    #[test]
    fn crates_of_others_are_free_and_unknown_folders_are_not() {
        assert_eq!(
            arrows_of(&package("core", &[("force-of-others", Table::Normal, &[])]), ""),
            [""; 0]
        );
        assert_eq!(
            arrows_of(&package("tools/extra", &[]), ""),
            ["tools/extra/Cargo.toml:1: a crate in a folder that no arrow is known for"]
        );
    }

    #[test]
    fn a_finding_names_the_line() {
        let host = package("strategies/window", &[("host", Table::Dev, &[])]);
        for (manifest, line) in [
            ("[dependencies]\nbrute-host = 1\n[dev-dependencies]\nbrute-host = 1\n", 4),
            ("[dev-dependencies]\nbrute-host-extra = 1\n\nbrute-host.workspace = true\n", 4),
            ("\n[dev-dependencies.brute-host]\nworkspace = true\n", 2),
            ("dev-dependencies = { brute-host = \"1\" }\n", 1),
        ] {
            let found = arrows_of(&host, manifest);
            let start = format!("strategies/window/Cargo.toml:{line}: ");
            assert!(found.len() == 1 && found[0].starts_with(&start), "{manifest:?}: {found:?}");
        }
    }

    #[test]
    fn every_field_is_asked_for() {
        let count = |package: &Package, manifest: &str| {
            let mut findings = Vec::new();
            fields(package, manifest, &mut findings);
            findings.len()
        };
        let whole = package("core", &[]);
        assert_eq!(count(&whole, "[lints]\nworkspace = true\n"), 0);
        assert_eq!(count(&whole, "[package]\n\n[lints]\n\nworkspace=true"), 0);
        assert_eq!(count(&whole, "lints.workspace = true\n"), 0);
        assert_eq!(count(&whole, "[lints]\n[dependencies]\nworkspace = true\n"), 1);
        assert_eq!(count(&whole, "[lints.rust]\nworkspace = true\n"), 1);
        let bare = Package { description: Some(" ".to_owned()), license: None, ..whole };
        assert_eq!(count(&bare, ""), 3);
    }
}
