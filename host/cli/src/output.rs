//! Where things go: data to standard output, words to standard error, files written whole or not at all.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use brute_host::shown::shown;
use brute_host::system::words_of;
use serde::Serialize;

use crate::exit::Failure;

/// Writes data to standard output. A reader that has gone away is no failure.
pub(crate) fn data(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            Err(Failure::input(format!("cannot write to standard output: {}", words_of(&error))))
        }
        Ok(()) => Ok(()),
    }
}

/// Prints text for people to standard output, in color where that is wanted.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut styled = anstream::AutoStream::auto(Vec::new());
    if io::stdout().is_terminal() {
        styled = anstream::AutoStream::new(Vec::new(), anstream::AutoStream::choice(&io::stdout()));
    }
    // Writing to memory cannot fail.
    let _ = styled.write_all(text.as_bytes());
    data(&styled.into_inner())
}

/// Prints a value as JSON to standard output.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    data(&json_line(value))
}

/// Says something on standard error.
pub(crate) fn say(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Prints a value as JSON to standard error, for a program that reads the data from standard output.
pub(crate) fn say_json(value: &impl Serialize) {
    let _ = io::stderr().lock().write_all(&json_line(value));
}

fn json_line(value: &impl Serialize) -> Vec<u8> {
    // Our own reports have string keys only, so that they always serialize.
    let mut line = serde_json::to_vec_pretty(value).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Writes a file through a temporary one beside it, so that a full disk leaves what was there.
pub(crate) fn file(asked: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: &io::Error| {
        Failure::input(format!("cannot write `{}`: {}", shown(asked.display()), words_of(error)))
    };
    // A link stays one: what it names is written.
    let named = std::fs::canonicalize(asked);
    let path = named.as_deref().unwrap_or(asked);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // A device or a pipe cannot be replaced, only written to; nor what this process has open.
    let is_device = ["/dev", "/proc"].iter().any(|folder| asked.starts_with(folder));
    if is_device || (path.exists() && !path.is_file()) {
        return std::fs::write(path, bytes).map_err(|error| failed(&error));
    }
    let mut temporary = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(&error))?;
    let permissions = match std::fs::metadata(path) {
        Ok(there) => Some(there.permissions()),
        Err(_) => usual_permissions(folder),
    };
    if let Some(permissions) = permissions {
        temporary.as_file().set_permissions(permissions).map_err(|error| failed(&error))?;
    }
    temporary.as_file_mut().write_all(bytes).map_err(|error| failed(&error))?;
    temporary.persist(path).map_err(|error| failed(&error.error))?;
    Ok(())
}

/// What a new file in `folder` may be used for, by the user's own rules; a temporary file is private.
fn usual_permissions(folder: &Path) -> Option<std::fs::Permissions> {
    let probe = tempfile::Builder::new()
        .make_in(folder, |path| std::fs::File::options().write(true).create_new(true).open(path))
        .ok()?;
    Some(probe.as_file().metadata().ok()?.permissions())
}

/// Whether progress can be shown to somebody.
pub(crate) fn is_watched(quiet: bool) -> bool {
    !quiet && io::stderr().is_terminal()
}
