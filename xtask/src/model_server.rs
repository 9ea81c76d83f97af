//! `cargo xtask model-server`: a small language model behind a real server on this machine, and the tests against it.
//!
//! The server is llama.cpp's own, the model SmolLM2-135M: it answers in seconds, knows little, and behaves on the wire as
//! its larger relatives do. `xtask/model-server/` has the scripts, with the exact versions.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::{Result, metadata, project};

/// Where the verb puts the server, if nothing else is said.
const PORT: u16 = 18_390;
/// What the verb gives it to read in, in tokens: what the model was trained for.
const CONTEXT: u32 = 8_192;
/// The same in the tests, so that a request outgrows it soon.
const SMALL_CONTEXT: u32 = 512;
/// How long it may take until it answers. It is two seconds where nothing else runs.
const LONGEST_START: Duration = Duration::from_secs(90);
/// How `prepare.py` ends if something cannot be had.
const NOT_HAD: i32 = 3;

/// Why there is no server.
enum NoServer {
    /// The machine lacks something, or the network does.
    CannotBeHad(String),
    /// It should be there.
    Broken(String),
}

impl From<String> for NoServer {
    fn from(error: String) -> Self {
        Self::Broken(error)
    }
}

/// A server, which ends with this value unless it is left running.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone already, it need not be ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts one that reads `context` tokens, and waits until it answers.
    fn start(port: u16, context: u32) -> std::result::Result<Self, NoServer> {
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

        let log_path = folder.join(format!("server-{port}.log"));
        let failed = |error: std::io::Error| format!("no server: {error}");
        let log = File::create(&log_path).map_err(failed)?;
        let mut serve = Command::new(folder.join("venv/bin/python"));
        serve
            .arg(scripts.join("serve.py"))
            .arg(folder.join("model.gguf"))
            .args([port.to_string(), context.to_string()])
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(failed)?)
            .stderr(log);
        // Ctrl-C in the terminal is not meant for a server that was left running.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut serve, 0);
        let mut server = Self { child: serve.spawn().map_err(failed)?, port };
        let begun = Instant::now();
        while !is_healthy(port) {
            let ended = server.child.try_wait().map_err(failed)?;
            if ended.is_some() || begun.elapsed() > LONGEST_START {
                let log = fs::read_to_string(&log_path).unwrap_or_default();
                let last = log.lines().last().unwrap_or_default();
                return Err(
                    format!("the server does not answer: {last} ({})", log_path.display()).into()
                );
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    fn url(&self) -> String {
        format!("http://{}:{}/v1", Ipv4Addr::LOCALHOST, self.port)
    }
}

/// Where the scripts are.
fn scripts() -> PathBuf {
    project::root().join("xtask/model-server")
}

/// Where the server, the model and the logs are.
fn folder() -> Result<PathBuf> {
    Ok(metadata::workspace(&project::root())?.target.join("model-server"))
}

/// Whether a server answers there, and has its model loaded.
fn is_healthy(port: u16) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream
            .write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut status = [0; 12];
        stream.read_exact(&mut status)?;
        std::io::Result::Ok(status)
    };
    ask().is_ok_and(|status| &status == b"HTTP/1.1 200")
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
    let server = Server::start(port, CONTEXT).map_err(|error| match error {
        NoServer::CannotBeHad(why) | NoServer::Broken(why) => why,
    })?;
    fs::write(pid_file, server.child.id().to_string())
        .map_err(|error| format!("`{}` cannot be written: {error}", pid_file.display()))?;
    println!("{} (`cargo xtask model-server stop` ends it)", server.url());
    std::mem::forget(server);
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
    let test = ["test", "--workspace", "--all-features", "--test", "agent"];
    project::run(project::cargo().args(test).args(["--no-run"]))?;

    let server = match Server::start(free_port()?, SMALL_CONTEXT) {
        Ok(server) => server,
        Err(NoServer::CannotBeHad(why)) => return Ok(Some(why)),
        Err(NoServer::Broken(why)) => return Err(why),
    };
    let mut tests = project::cargo();
    tests.args(test).args(["--", "--ignored", "--test-threads=1"]);
    project::run(tests.env("BRUTE_MODEL_SERVER", server.url()))?;
    Ok(None)
}

fn free_port() -> Result<u16> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|bound| bound.local_addr());
    Ok(port.map_err(|error| format!("no free port: {error}"))?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_healthy_once_it_says_so() {
        for (answer, expected) in [
            ("HTTP/1.1 200 OK\r\n\r\n", true),
            ("HTTP/1.1 503 Loading\r\n\r\n", false),
            ("", false),
        ] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 16]).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            });
            assert_eq!(is_healthy(port), expected, "{answer}");
            server.join().unwrap();
            assert!(!is_healthy(port));
        }
    }

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
