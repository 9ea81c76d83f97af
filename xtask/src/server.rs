//! Servers that tests are run against, on this machine.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// How long one may take until it answers. It is two seconds where nothing else runs.
const LONGEST_START: Duration = Duration::from_secs(90);

/// Why there is no server.
pub(crate) enum NoServer {
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
pub(crate) struct Server {
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
    /// Starts what listens on `port`, and waits until it answers. What it says goes into the file `log_path`.
    pub(crate) fn start(
        mut serve: Command,
        port: u16,
        log_path: &Path,
    ) -> std::result::Result<Self, NoServer> {
        let failed = |error: std::io::Error| format!("no server: {error}");
        let log = File::create(log_path).map_err(failed)?;
        serve.stdin(Stdio::null()).stdout(log.try_clone().map_err(failed)?).stderr(log);
        // Ctrl-C in the terminal is not meant for a server that was left running.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut serve, 0);
        let mut server = Self { child: serve.spawn().map_err(failed)?, port };
        let begun = Instant::now();
        while !is_healthy(port) {
            let ended = server.child.try_wait().map_err(failed)?;
            if ended.is_some() || begun.elapsed() > LONGEST_START {
                let log = fs::read_to_string(log_path).unwrap_or_default();
                let last = log.lines().last().unwrap_or_default();
                return Err(
                    format!("the server does not answer: {last} ({})", log_path.display()).into()
                );
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }

    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Leaves it running.
    pub(crate) fn leave(self) {
        std::mem::forget(self);
    }
}

/// Whether a server answers there, and is ready.
pub(crate) fn is_healthy(port: u16) -> bool {
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

/// A port that nobody listens on.
pub(crate) fn free_port() -> Result<u16> {
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
}
