//! `brute repair`: a broken conversation made valid, by the least change.

use brute_host::formats::WriteOptions;
use serde_json::json;

use crate::args::{Global, Repair};
use crate::exit::{Done, Exit};
use crate::{output, session, setup};

pub(crate) fn run(global: &Global, args: &Repair) -> Done {
    let config = setup::load(global, !args.json)?;
    let mended = crate::args::Session {
        file: args.file.clone(),
        format: args.format,
        whole: false,
        pick: args.pick.clone(),
        repair: true,
    };
    let session = session::read(global, &config, &mended)?;
    let document = &session.document;
    if !args.check {
        let written = document.write(document.conversation(), &WriteOptions::default());
        match &args.output {
            Some(file) => output::file(file, &written)?,
            None => output::data(&written)?,
        }
    }
    let repairs: Vec<String> = document.repairs().iter().map(ToString::to_string).collect();
    if args.json {
        output::say_json(&json!({ "format": document.format(), "repairs": repairs }));
    } else if !global.quiet || args.check {
        session.say_repairs();
        if repairs.is_empty() {
            output::say("nothing to repair");
        }
    }
    Ok(if args.check && !repairs.is_empty() { Exit::NotFitted } else { Exit::Fitted })
}
