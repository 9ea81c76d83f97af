//! The tests against a server of others that answers as the providers' own do, errors among them.
//!
//! It is a package of the `npm` registry, in an exact version with its checksum; none of its scripts is run when it is
//! installed. `xtask/mock-server/` has what it answers.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::server::{self, NoServer, Server};
use crate::{Result, metadata, project};

/// Runs the tests that need it. Where it cannot be had, says why.
pub(crate) fn test() -> Result<Option<String>> {
    let server = match serve() {
        Ok(server) => server,
        Err(NoServer::CannotBeHad(why)) => return Ok(Some(why)),
        Err(NoServer::Broken(why)) => return Err(why),
    };
    let mut tests = project::cargo();
    tests
        .args(["test", "--workspace", "--all-features", "--test", "servers"])
        .args(["--", "--ignored", "contract"])
        .env("BRUTE_MOCK_SERVER", server.port().to_string());
    project::run(&mut tests)?;
    Ok(None)
}

fn sources() -> PathBuf {
    project::root().join("xtask/mock-server")
}

/// Installs it, unless it is there, and starts it.
fn serve() -> std::result::Result<Server, NoServer> {
    let folder = metadata::workspace(&project::root())?.target.join("mock-server");
    let failed = |error: std::io::Error| format!("`{}`: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let read = |path: PathBuf| std::fs::read(path).unwrap_or_default();
    // Written last, so that half of an installation is never taken for one.
    let installed = folder.join("installed");
    let lock = read(sources().join("package-lock.json"));
    if read(installed.clone()) != lock {
        for name in ["package.json", "package-lock.json"] {
            std::fs::copy(sources().join(name), folder.join(name)).map_err(failed)?;
        }
        let mut install = Command::new("npm");
        install
            .args([
                "ci",
                "--ignore-scripts",
                "--omit=optional",
                "--omit=peer",
                "--no-audit",
                "--no-fund",
            ])
            .args(["--fetch-retries", "1", "--loglevel", "error"])
            .current_dir(&folder)
            .stdin(Stdio::null());
        let done = install
            .output()
            .map_err(|error| NoServer::CannotBeHad(format!("`npm` cannot be run: {error}")))?;
        if !done.status.success() {
            let words = String::from_utf8_lossy(&done.stderr);
            // Not what was fetched from where: that is this machine's business.
            let code = words.lines().find_map(|line| line.split("code ").nth(1));
            let code = code.map_or_else(|| done.status.to_string(), str::to_owned);
            return match code.as_str() {
                // What came is not what it should be.
                "EINTEGRITY" => Err(format!("the package has another checksum: {code}").into()),
                _ => Err(NoServer::CannotBeHad(format!("the package cannot be fetched: {code}"))),
            };
        }
        std::fs::write(&installed, lock).map_err(failed)?;
    }
    let port = server::free_port()?;
    let mut serve = Command::new("node");
    serve
        .arg(folder.join("node_modules/.bin/llmock"))
        .args(["-p", &port.to_string(), "--strict", "-f"])
        .arg(sources().join("fixtures.json"));
    Server::start(serve, port, &folder.join("server.log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_exact_and_has_a_checksum_and_no_address() {
        let text = |name| std::fs::read_to_string(sources().join(name)).unwrap();
        let lock = text("package-lock.json");
        assert!(lock.contains("\"integrity\": \"sha512-"));
        assert!(!lock.contains("\"resolved\""), "an address ties the tests to one registry");
        for line in text("package.json").lines().filter(|line| line.contains("aimock")) {
            let version = line.rsplit('"').nth(1).unwrap();
            assert!(version.starts_with(|char: char| char.is_ascii_digit()), "{line}");
            assert!(lock.contains(&format!("\"version\": \"{version}\"")), "{line}");
        }
    }
}
