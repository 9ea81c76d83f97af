//! From the command line and `brute.toml` to an archive.

use std::collections::HashSet;
use std::path::Path;
use std::time::SystemTime;

use brute_host::archive::{Archive, ArchiveError, Compacted, Kept};
use brute_host::config::Config;
use brute_host::shown::{shell_word, shown};
use brute_host::system::words_of;

use crate::args::Archiving;
use crate::exit::Failure;
use crate::style::counted;
use crate::{output, session, warnings};

/// The archive that is asked for, if one is.
pub(crate) fn of(config: &Config, args: &Archiving) -> Result<Option<Archive>, Failure> {
    let archive = match &args.archive {
        Some(folder) => Some(Archive::at(folder, config.archive.clone())),
        None => Archive::new(config.archive.clone()),
    };
    match (&archive, &args.name) {
        (None, Some(_)) => Err(Failure::configuration(format!("`--session` needs {NEEDED}"))),
        _ => Ok(archive),
    }
}

/// How an archive is asked for.
pub(crate) const NEEDED: &str = "an archive: say `--archive DIR`, or set `[archive] folder`";

/// What `brute restore` needs to find the archive in `folder`, in the words of a shell.
pub(crate) fn options(folder: &Path) -> Result<String, Failure> {
    let absolute = std::path::absolute(folder).map_err(|error| {
        let (folder, error) = (shown(folder.display()), words_of(&error));
        Failure::configuration(format!("no archive at `{folder}`: {error}"))
    })?;
    Ok(format!(" --archive {}", shell_word(&absolute)))
}

/// Archives a compaction in the session `name`, or in the one that the conversation belongs to.
pub(crate) fn keep(
    archive: &Archive,
    name: Option<&str>,
    compacted: &Compacted,
) -> Result<Kept, Failure> {
    let name = name.map_or_else(|| archive.name_for(compacted), |name| Ok(name.to_owned()));
    let kept = name.and_then(|name| archive.session(&name)?.compacted(compacted));
    kept.map_err(|error| {
        let failure = failed(&error);
        let hint = "; nothing was written out, since it could not be restored";
        Failure { message: format!("{}{hint}", failure.message), ..failure }
    })
}

/// Says what was archived, and sweeps once an hour.
pub(crate) fn finish(archive: &Archive, kept: &Kept, talks: bool) {
    let name = kept.path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let swept = archive.sweep_if_due(SystemTime::now(), || HashSet::from([name.to_owned()]));
    if !talks {
        return;
    }
    if let Some(torn) = &kept.torn {
        warnings::warn(&format!(
            "`{}` ended inside a line that a killed process had not finished; it was moved to `{}`",
            kept.path.display(),
            torn.display()
        ));
    }
    if kept.bytes > 0 {
        let messages = counted(kept.messages as u64, "message");
        output::say(&format!("archived: {messages} in {}", kept.path.display()));
    }
    for error in swept.into_iter().flat_map(|swept| swept.errors).take(1) {
        warnings::warn(&error.to_string());
    }
}

/// The end of a command that the archive fails.
pub(crate) fn failed(error: &ArchiveError) -> Failure {
    match error {
        ArchiveError::Name { .. } | ArchiveError::NoHandle { .. } => Failure::configuration(error),
        _ => Failure::input(session::with_flags(&error.to_string())),
    }
}
