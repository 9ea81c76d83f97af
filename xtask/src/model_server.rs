//! `cargo xtask model-server`: a small language model behind a real server on this machine, and the tests against it.
//!
//! The server is llama.cpp's own, the model SmolLM2-135M: it answers in seconds, knows little, and behaves on the wire as
//! its larger relatives do. `xtask/model-server/` has the scripts, with the exact versions.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::server::{self, NoServer, Server, is_healthy};
use crate::{Result, metadata, project};

/// Where the verb puts the server, if nothing else is said.
const PORT: u16 = 18_390;
/// What the verb gives it to read in, in tokens: what the model was trained for.
const CONTEXT: u32 = 8_192;
/// The same in the tests, so that a request outgrows it soon.
const SMALL_CONTEXT: u32 = 512;
/// And what goes through in one request.
const ROOMY_CONTEXT: u32 = 4_096;
/// How `prepare.py` ends if something cannot be had.
const NOT_HAD: i32 = 3;

/// Starts one that reads `context` tokens, and waits until it answers.
fn serve(port: u16, context: u32) -> std::result::Result<Server, NoServer> {
    let (scripts, folder) = (scripts(), folder()?);
    let mut prepare = Command::new("python3");
    prepare.arg(scripts.join("prepare.py")).arg(&folder).stderr(Stdio::inherit());
    let prepared = prepare
        .output()
        .map_err(|error| NoServer::CannotBeHad(format!("`python3` cannot be run: {error}")))?;
    match prepared.status.code() {
        Some(0) => {}
        Some(NOT_HAD) => {
            let why = String::from_utf8_lossy(&prepared.stdout).trim().to_owned();
            return Err(NoServer::CannotBeHad(why));
        }
        _ => return Err(format!("{} failed", project::shown(&prepare)).into()),
    }
    let mut serve = Command::new(folder.join("venv/bin/python"));
    serve
        .arg(scripts.join("serve.py"))
        .arg(folder.join("model.gguf"))
        .args([port.to_string(), context.to_string()]);
    Server::start(serve, port, &folder.join(format!("server-{port}.log")))
}

/// Where the interface of a server begins.
fn url(server: &Server) -> String {
    format!("http://{}:{}/v1", Ipv4Addr::LOCALHOST, server.port())
}

/// Where the scripts are.
fn scripts() -> PathBuf {
    project::root().join("xtask/model-server")
}

/// Where the server, the model and the logs are.
fn folder() -> Result<PathBuf> {
    Ok(metadata::workspace(&project::root())?.target.join("model-server"))
}

/// `cargo xtask model-server start | stop`.
pub(crate) fn run(args: &[String]) -> Result {
    let usage = || "usage: cargo xtask model-server (start | stop) [--port N]".to_owned();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (verb, port) = match args[..] {
        [verb] => (verb, PORT),
        [verb, "--port", port] => (verb, port.parse().map_err(|_| usage())?),
        _ => return Err(usage()),
    };
    let pid_file = folder()?.join(format!("server-{port}.pid"));
    match verb {
        "start" => start(port, &pid_file)?,
        "stop" => stop(port, &pid_file)?,
        _ => return Err(usage()),
    }
    Ok(ExitCode::SUCCESS)
}

fn start(port: u16, pid_file: &Path) -> Result<()> {
    if is_healthy(port) {
        return Err(format!("a server answers on port {port} already"));
    }
    let server = serve(port, CONTEXT).map_err(|error| match error {
        NoServer::CannotBeHad(why) | NoServer::Broken(why) => why,
    })?;
    fs::write(pid_file, server.id().to_string())
        .map_err(|error| format!("`{}` cannot be written: {error}", pid_file.display()))?;
    println!("{} (`cargo xtask model-server stop` ends it)", url(&server));
    server.leave();
    Ok(())
}

fn stop(port: u16, pid_file: &Path) -> Result<()> {
    let pid = fs::read_to_string(pid_file)
        .map_err(|_| format!("no server was started for port {port}"))?;
    // The number may be another process's by now; one that answers there is it.
    if is_healthy(port) {
        project::run(Command::new("kill").arg(pid))?;
    }
    fs::remove_file(pid_file)
        .map_err(|error| format!("`{}` cannot be removed: {error}", pid_file.display()))
}

/// Runs the tests that need a server. Where none can be had, says why.
pub(crate) fn test() -> Result<Option<String>> {
    // Built before the server runs: its threads and the compiler's would only take turns. With all features, as the
    // tests of the whole workspace are, which then find all of it built.
    let build = ["build", "--workspace", "--all-features", "--example", "agent"];
    project::run(project::cargo().args(build))?;
    let of = ["--test", "agent", "--test", "servers", "--test", "model"];
    let test = [&["test", "--workspace", "--all-features"], &of[..]].concat();
    project::run(project::cargo().args(&test).args(["--no-run"]))?;

    let mut tests = project::cargo();
    tests.args(&test).args(["--", "--ignored", "--test-threads=1", "model"]);
    let mut servers = Vec::new();
    for (variable, context) in
        [("BRUTE_MODEL_SERVER", SMALL_CONTEXT), ("BRUTE_ROOMY_MODEL_SERVER", ROOMY_CONTEXT)]
    {
        let server = match serve(server::free_port()?, context) {
            Ok(server) => server,
            Err(NoServer::CannotBeHad(why)) => return Ok(Some(why)),
            Err(NoServer::Broken(why)) => return Err(why),
        };
        tests.env(variable, url(&server));
        servers.push(server);
    }
    project::run(&mut tests)?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_verb_does_not_know_is_answered_with_its_usage() {
        for args in [&[][..], &["begin"], &["start", "--port", "x"], &["start", "9"]] {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            assert!(run(&args).unwrap_err().starts_with("usage: "), "{args:?}");
        }
    }

    #[test]
    fn the_scripts_ship() {
        for name in ["prepare.py", "serve.py"] {
            assert!(scripts().join(name).is_file(), "{name}");
        }
    }
}
