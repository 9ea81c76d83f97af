//! `brute compact`: conversation in, conversation out.

use brute_host::formats::WriteOptions;

use crate::args::{Compact, Global};
use crate::exit::Done;
use crate::{output, report, session, setup};

pub(crate) fn run(global: &Global, args: &Compact) -> Done {
    let config = setup::over(setup::load(global, !args.json)?, &args.room);
    let document = session::read(&config, &args.session)?;
    // With `--json`, the report says it: standard error is for a program then.
    if !global.quiet && !args.json {
        session::say_repairs(&document);
        setup::say_unknown_tools(&config, &document);
    }
    let sizing = setup::sizing(&config, args.room.to, &document)?;
    let (done, warned) = setup::run(global, &sizing, &document, !args.json)?;
    let options = WriteOptions { alternate_roles: args.alternate_roles };
    let written = document.write(&done.conversation, &options);
    match &args.output {
        Some(file) => output::file(file, &written)?,
        None => output::data(&written)?,
    }
    if args.json {
        let messages = session::messages_in(&written, &document, &args.session)?;
        output::say_json(&report::Report::of(&document, &sizing, &done, &warned, messages));
    } else if !global.quiet {
        let name = session::name(&args.session.file);
        output::say(&report::heading(&name, &document, &sizing, &done));
        output::say(&report::rungs(&sizing, &done));
        output::say(report::outcome(&document, &sizing, &done).trim_end());
    }
    Ok(report::exit(&done))
}
