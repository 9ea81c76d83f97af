//! `brute convert`: a conversation in another provider's format.

use brute_host::shown::shown;
use serde_json::json;

use crate::args::{Convert, Global};
use crate::exit::{Done, Exit};
use crate::{output, session, setup};

pub(crate) fn run(global: &Global, args: &Convert) -> Done {
    let config = setup::load(global, !args.json)?;
    let session = session::read(global, &config, &args.session)?;
    let document = &session.document;
    if !global.quiet && !args.json {
        session.say(&args.session.file);
    }
    let rendered = document.convert(args.to);
    let mut written = rendered.json;
    if !written.ends_with('\n') && document.format() != args.to {
        written.push('\n');
    }
    match &args.output {
        Some(file) => output::file(file, written.as_bytes())?,
        None => output::data(written.as_bytes())?,
    }
    if args.json {
        let notes = rendered.notes.iter();
        let notes = notes.map(|note| json!({ "message": note.message, "what": note.what }));
        output::say_json(&json!({
            "from": document.format(),
            "to": args.to,
            "repairs": document.repairs().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "changed": notes.collect::<Vec<_>>(),
        }));
    } else if !global.quiet {
        for note in &rendered.notes {
            output::say(&format!("changed: {}", shown(note)));
        }
    }
    Ok(if rendered.notes.is_empty() { Exit::Fitted } else { Exit::NotFitted })
}
