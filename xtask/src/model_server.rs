//! `cargo xtask model-server`: a small language model behind a real server on this machine, and the tests against it.
//!
//! The server is llama.cpp's own, the model SmolLM2-135M: it answers in seconds, knows little, and behaves on the wire as
//! its larger relatives do. `--larger` takes Qwen2.5-Coder-0.5B, which writes summaries that can be measured; nothing
//! but this flag ever fetches it. `xtask/model-server/` has the scripts, with the exact versions and checksums.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::server::{self, NoServer, Server, is_healthy};
use crate::{Result, metadata, project};

/// Where the verb puts the server, if nothing else is said.
const PORT: u16 = 18_390;
/// What the verb gives it to read in, in tokens: what the smaller model was trained for.
const CONTEXT: u32 = 8_192;
/// The same in the tests, so that a request outgrows it soon.
const SMALL_CONTEXT: u32 = 512;
/// And what goes through in one request.
const ROOMY_CONTEXT: u32 = 4_096;
/// How `prepare.py` ends if something cannot be had.
const NOT_HAD: i32 = 3;
/// What serves a model.
const SERVE: &str = "serve.py";

/// Which model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    /// Tells on the wire what a model tells.
    Small,
    /// Writes summaries, too.
    Larger,
}

impl Model {
    /// Its name in `prepare.py`.
    fn name(self) -> &'static str {
        match self {
            Self::Small => "smollm2-135m",
            Self::Larger => "qwen2.5-coder-0.5b",
        }
    }

    /// Where its file is. Half a gigabyte outlives a `cargo clean`, and serves all checkouts.
    fn folder(self) -> Result<PathBuf> {
        match self {
            Self::Small => folder(),
            Self::Larger => cache(std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")),
        }
    }
}

/// Where the larger model is kept, by the variables `XDG_CACHE_HOME` and `HOME`.
fn cache(cache: Option<std::ffi::OsString>, home: Option<std::ffi::OsString>) -> Result<PathBuf> {
    // What is not absolute is to be passed over, says the specification of the variable.
    let cache = cache.map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or(home.map(|home| Path::new(&home).join(".cache")));
    let cache =
        cache.ok_or("no folder for the model: neither `XDG_CACHE_HOME` nor `HOME` is set")?;
    Ok(cache.join("brute/models"))
}

/// Starts one that reads `context` tokens, and waits until it answers.
fn serve(model: Model, port: u16, context: u32) -> std::result::Result<Server, NoServer> {
    let (scripts, folder) = (scripts(), folder()?);
    let mut prepare = Command::new("python3");
    prepare.arg(scripts.join("prepare.py")).arg(&folder).arg(model.folder()?).arg(model.name());
    let prepared = prepare
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| NoServer::CannotBeHad(format!("`python3` cannot be run: {error}")))?;
    let said = String::from_utf8_lossy(&prepared.stdout).trim().to_owned();
    match prepared.status.code() {
        Some(0) => {}
        Some(NOT_HAD) => return Err(NoServer::CannotBeHad(said)),
        _ => return Err(format!("{} failed", project::shown(&prepare)).into()),
    }
    let mut serve = Command::new(folder.join("venv/bin/python"));
    serve.arg(scripts.join(SERVE)).arg(said).args([port.to_string(), context.to_string()]);
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

/// Where the server, the smaller model and the logs are.
fn folder() -> Result<PathBuf> {
    Ok(metadata::workspace(&project::root())?.target.join("model-server"))
}

/// What the command line says.
#[derive(Debug, PartialEq, Eq)]
struct Args<'a> {
    verb: &'a str,
    model: Model,
    port: u16,
    out: Option<&'a str>,
}

impl<'a> Args<'a> {
    /// Reads it; none if it says something else.
    fn read(args: &'a [String]) -> Option<Self> {
        let (verb, mut rest) = args.split_first()?;
        let mut read = Self { verb, model: Model::Small, port: PORT, out: None };
        while let Some((flag, values)) = rest.split_first() {
            rest = match (verb.as_str(), flag.as_str(), values) {
                ("start" | "measure", "--larger", _) => {
                    read.model = Model::Larger;
                    values
                }
                ("start" | "stop", "--port", [port, rest @ ..]) => {
                    read.port = port.parse().ok()?;
                    rest
                }
                ("measure", "--out", [file, rest @ ..]) => {
                    read.out = Some(file);
                    rest
                }
                _ => return None,
            };
        }
        matches!(read.verb, "start" | "stop" | "measure").then_some(read)
    }
}

/// How the verb is called.
pub(crate) const USAGE: &str =
    "(start [--larger] | stop) [--port N] | measure [--larger] [--out FILE]";

/// `cargo xtask model-server start | stop | measure`.
pub(crate) fn run(args: &[String]) -> Result {
    let args =
        Args::read(args).ok_or_else(|| format!("usage: cargo xtask model-server {USAGE}"))?;
    let pid_file = folder()?.join(format!("server-{}.pid", args.port));
    match args.verb {
        "start" => start(args.model, args.port, &pid_file)?,
        "stop" => stop(args.port, &pid_file)?,
        _ => measure(args.model, args.out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Why there is none, as one reads it.
fn words(why: NoServer) -> String {
    match why {
        NoServer::CannotBeHad(why) => format!("no model server can be had on this machine: {why}"),
        NoServer::Broken(why) => why,
    }
}

fn start(model: Model, port: u16, pid_file: &Path) -> Result<()> {
    if is_healthy(port) {
        return Err(format!("a server answers on port {port} already"));
    }
    let server = serve(model, port, CONTEXT).map_err(words)?;
    fs::write(pid_file, server.id().to_string())
        .map_err(|error| format!("`{}` cannot be written: {error}", pid_file.display()))?;
    println!("{} (`cargo xtask model-server stop` ends it)", url(&server));
    server.leave();
    Ok(())
}

fn stop(port: u16, pid_file: &Path) -> Result<()> {
    let pid = fs::read_to_string(pid_file)
        .map_err(|_| format!("no server was started for port {port}"))?;
    // The number may be another process's by now, and whoever answers on the port another server.
    match is_ours(pid.trim(), port) {
        true => project::run(Command::new("kill").arg(pid.trim()))?,
        false => eprintln!("the server for port {port} was gone already; nothing was ended"),
    }
    fs::remove_file(pid_file)
        .map_err(|error| format!("`{}` cannot be removed: {error}", pid_file.display()))
}

/// Whether this process serves a model on this port, by the command that it was started with.
fn is_ours(pid: &str, port: u16) -> bool {
    let listed = Command::new("ps").args(["-o", "args=", "-p", pid]).output();
    listed.is_ok_and(|listed| is_server(&String::from_utf8_lossy(&listed.stdout), port))
}

/// Whether this is the command of a server on this port.
fn is_server(command: &str, port: u16) -> bool {
    let script = scripts().join(SERVE);
    let behind = command.split_once(&*script.to_string_lossy()).map(|(_, behind)| behind);
    let word = behind.and_then(|behind| behind.split_whitespace().rev().nth(1));
    word == Some(port.to_string().as_str())
}

/// Records twenty compactions in a row of a session that ships, and says what they kept.
fn measure(model: Model, out: Option<&str>) -> Result<()> {
    let recording = match out {
        Some(file) => std::env::current_dir().map_err(|error| error.to_string())?.join(file),
        None => folder()?.join(format!("measured-{}.jsonl", model.name())),
    };
    if recording.exists() {
        let path = recording.display();
        return Err(format!("`{path}` is there already; remove it, or name another with `--out`"));
    }
    let test = ["test", "--package", "brute-host", "--test", "repeated"];
    project::run(project::cargo().args(test).arg("--no-run"))?;
    let server = serve(model, server::free_port()?, CONTEXT).map_err(words)?;
    let mut measure = project::cargo();
    measure.args(test).args(["--", "--ignored", "--nocapture", "a_real_model_is_recorded"]);
    measure.env("BRUTE_MODEL_SERVER", url(&server)).env("BRUTE_RECORDING", &recording);
    project::run(&mut measure)?;
    println!("recorded in `{}`", recording.display());
    Ok(())
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
        let server = match serve(Model::Small, server::free_port()?, context) {
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

    fn owned(args: &[&str]) -> Vec<String> {
        args.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_the_verb_does_not_know_is_answered_with_its_usage() {
        for args in [
            &[][..],
            &["begin"],
            &["start", "--port"],
            &["start", "--port", "x"],
            &["start", "9"],
            &["stop", "--larger"],
            &["measure", "--port", "9"],
        ] {
            assert!(run(&owned(args)).unwrap_err().starts_with("usage: "), "{args:?}");
        }
    }

    #[test]
    fn the_larger_model_is_for_who_asks_for_it() {
        let start = owned(&["start"]);
        assert_eq!(Args::read(&start).unwrap().model, Model::Small);
        let start = owned(&["start", "--port", "9", "--larger"]);
        let expected = Args { verb: "start", model: Model::Larger, port: 9, out: None };
        assert_eq!(Args::read(&start), Some(expected));
        let measure = owned(&["measure", "--out", "x.jsonl"]);
        assert_eq!(Args::read(&measure).unwrap().out, Some("x.jsonl"));
    }

    #[test]
    fn the_larger_model_is_kept_outside_the_tree() {
        let of = |text: &str| Some(std::ffi::OsString::from(text));
        for (xdg, home, expected) in [
            (of("/c"), of("/h"), Some("/c/brute/models")),
            (of("c"), of("/h"), Some("/h/.cache/brute/models")),
            (None, of("/h"), Some("/h/.cache/brute/models")),
            (None, None, None),
        ] {
            assert_eq!(cache(xdg, home).ok().as_deref(), expected.map(Path::new));
        }
    }

    #[test]
    fn no_other_process_is_taken_for_the_server() {
        let script = scripts().join(SERVE);
        let script = script.display();
        for (command, expected) in [
            (format!("/t/venv/bin/python {script} /t/m.gguf 9 512"), true),
            (format!("/t/venv/bin/python {script} /t/m.gguf 99 512"), false),
            ("/t/venv/bin/python /elsewhere/serve.py /t/m.gguf 9 512".to_owned(), false),
            ("sleep 9".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_server(&command, 9), expected, "{command}");
        }
        assert!(!is_ours(&std::process::id().to_string(), 9));
    }

    /// A number on file that is some other process's by now.
    #[test]
    fn a_process_that_is_not_the_server_is_left_alone() {
        let folder = std::env::temp_dir().join(format!("brute-stop-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let pid_file = folder.join("server.pid");
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        fs::write(&pid_file, other.id().to_string()).unwrap();
        stop(9, &pid_file).unwrap();
        let is_running = other.try_wait().unwrap().is_none();
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(is_running && !pid_file.exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_scripts_ship() {
        for name in ["prepare.py", SERVE] {
            assert!(scripts().join(name).is_file(), "{name}");
        }
    }

    #[test]
    fn the_scripts_know_the_models() {
        let prepare = fs::read_to_string(scripts().join("prepare.py")).unwrap();
        for model in [Model::Small, Model::Larger] {
            assert!(prepare.contains(&format!("\"{}\": Model(", model.name())));
        }
    }
}
