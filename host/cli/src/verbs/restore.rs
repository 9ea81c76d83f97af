//! `brute restore`: what compactions gave up, given back.

use std::fmt::Write as _;

use brute_host::archive::{Archive, is_handle};
use brute_host::formats::WireMessages;

use crate::args::{Global, Restore};
use crate::exit::{Done, Exit, Failure};
use crate::{archive, output, session, setup, warnings};

pub(crate) fn run(global: &Global, args: &Restore) -> Done {
    let config = setup::load(global, true)?;
    let Some(found) = archive::of(&config, &args.archiving)? else {
        return Err(Failure::configuration(format!("`restore` needs {}", archive::NEEDED)));
    };
    match handle(args) {
        Some(handle) => text(global, args, &found, &handle),
        None => conversation(global, args, &found),
    }
}

/// The handle that is asked for. A file that is there is a file, whatever it is called.
fn handle(args: &Restore) -> Option<String> {
    if let Some(message) = args.message.as_deref().filter(|message| is_index(message).is_none()) {
        return is_handle(message).then(|| message.to_owned());
    }
    let name = args.what.to_str().filter(|name| is_handle(name) && args.message.is_none())?;
    (!args.what.exists()).then(|| name.to_owned())
}

/// Digits alone are an index, unless they are as many as a handle has.
fn is_index(message: &str) -> Option<usize> {
    (message.len() < 12).then(|| message.parse().ok()).flatten()
}

/// One message, as text.
fn text(global: &Global, args: &Restore, archive: &Archive, handle: &str) -> Done {
    let found = archive
        .find(handle, args.archiving.name.as_deref())
        .map_err(|error| archive::failed(&error))?;
    match (&args.lines, &args.grep) {
        (None, None) => write(args, found.text.as_bytes())?,
        _ => write(args, some_lines(&found.text, args).as_bytes())?,
    }
    if let Some(next) = found.next.filter(|_| !global.quiet) {
        output::say(&format!("the next that went: {}", next.handle()));
    }
    Ok(Exit::Fitted)
}

/// The lines that are asked for; with their numbers, if they were searched for.
fn some_lines(text: &str, args: &Restore) -> String {
    let mut some = String::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let is_wanted = args.lines.as_ref().is_none_or(|lines| lines.contains(&number));
        match &args.grep {
            _ if !is_wanted => {}
            None => some.push_str(line),
            Some(words) if line.contains(words.as_str()) => {
                // Writing to a string does not fail.
                let _ = writeln!(some, "{number}:{}", line.trim_end_matches(['\n', '\r']));
            }
            Some(_) => {}
        }
    }
    some
}

/// A conversation as it was, or one of its messages.
fn conversation(global: &Global, args: &Restore, archive: &Archive) -> Done {
    if args.lines.is_some() || args.grep.is_some() {
        let message = "`--lines` and `--grep` want a handle, which placeholders name";
        return Err(Failure::configuration(message));
    }
    let bytes = session::bytes(&args.what)?;
    let name = args.archiving.name.as_deref();
    let pick = match &args.pick {
        Some(pick) => Some(session::place(pick, &args.what, &bytes)?),
        None => None,
    };
    let restored = archive.restore(&bytes, pick, name).map_err(|error| {
        let failure = archive::failed(&error);
        Failure {
            message: format!("`{}`: {}", session::name(&args.what), failure.message),
            ..failure
        }
    })?;
    match &args.message {
        None => write(args, restored.text.as_bytes())?,
        Some(message) => write(args, one(&restored.text, pick, message)?.as_bytes())?,
    }
    if !global.quiet {
        for damage in &restored.damage {
            warnings::warn(&damage.to_string());
        }
        if restored.compactions == 0 {
            output::say("no compaction of it is archived: it is given back as it came");
        }
        for flaw in &restored.flaws {
            warnings::warn(&format!("not the original byte for byte: {flaw}"));
        }
    }
    Ok(if restored.is_exact() { Exit::Fitted } else { Exit::NotFitted })
}

/// The bytes of one message of a conversation.
fn one(text: &str, pick: Option<usize>, message: &str) -> Result<String, Failure> {
    let wires = WireMessages::read(text, pick).map_err(Failure::input)?;
    let index = is_index(message).filter(|index| *index < wires.len());
    match index.or_else(|| wires.at_pointer(message)) {
        Some(index) => Ok(wires.raw(index).to_owned()),
        None => Err(Failure::input(format!(
            "there is no message `{message}`: the conversation has {}, counted from 0",
            wires.len()
        ))),
    }
}

fn write(args: &Restore, bytes: &[u8]) -> Result<(), Failure> {
    match &args.output {
        Some(file) => output::file(file, bytes),
        None => output::data(bytes),
    }
}
