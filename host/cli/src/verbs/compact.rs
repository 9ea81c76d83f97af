//! `brute compact`: conversation in, conversation out.

use brute_host::archive::{Compacted, way_back};
use brute_host::formats::WriteOptions;

use crate::args::{Compact, Global};
use crate::exit::Done;
use crate::tape::Tape;
use crate::{archive, output, report, session, setup};

pub(crate) fn run(global: &Global, args: &Compact) -> Done {
    let (config, _) = setup::load_for(global, !args.json, args.tape.replay.is_some())?;
    let config = setup::over(config, &args.room);
    let archive = archive::of(&config, &args.archiving)?;
    let session = session::read_with(global, &config, &args.session, archive.is_some())?;
    let document = &session.document;
    // With `--json`, the report says it: standard error is for a program then.
    if !global.quiet && !args.json {
        session.say(&args.session.file);
        setup::say_unknown_tools(&config, document);
    }
    let focus = setup::focus(&config, args.focus.as_deref(), global.quiet || args.json);
    let mut sizing = setup::sizing(config, args.room.to, document)?.focusing(focus);
    if let Some(folder) = &args.archiving.archive {
        let options = archive::options(folder)?;
        sizing.compactor =
            sizing.compactor.retrieving(move |message| Some(way_back(message, &options)));
    }
    let (tape, sizing) = Tape::of(&args.tape, sizing)?;
    let ran = setup::run(global, sizing, document, !args.json)?;
    tape.check()?;
    let done = &ran.done;
    let options = WriteOptions { alternate_roles: args.alternate_roles };
    let written = document.write(&done.conversation, &options);
    // What is not archived is not handed out.
    let kept = match (&archive, &session.original) {
        (Some(archive), Some(original)) => {
            let compacted =
                Compacted::read(document.format(), original, &written, session.options.pick)
                    .map_err(|error| archive::failed(&error))?
                    .removed(document, &done.removed);
            Some(archive::keep(archive, args.archiving.name.as_deref(), &compacted)?)
        }
        _ => None,
    };
    match &args.output {
        Some(file) => output::file(file, &written)?,
        None => output::data(&written)?,
    }
    if args.json {
        let messages = session.messages_in(&written)?;
        output::say_json(&report::Report::of(document, &ran, messages));
    } else if !global.quiet {
        let name = session::name(&args.session.file);
        output::say(&report::heading(&name, document, &ran));
        output::say(&report::rungs(&ran));
        output::say(report::outcome(document, &ran).trim_end());
    }
    if let (Some(archive), Some(kept)) = (&archive, &kept) {
        archive::finish(archive, kept, !global.quiet && !args.json);
    }
    tape.finish()?;
    Ok(report::exit(done))
}
