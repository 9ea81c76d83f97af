//! `brute man`: manual pages, one for brute, one for each verb and each verb of a verb.

use brute_host::system::words_of;
use clap::{Command, CommandFactory};
use clap_mangen::Man as Page;

use crate::args::{Cli, Global, Man};
use crate::exit::{Done, Exit, Failure};
use crate::output;

pub(crate) fn run(global: &Global, args: &Man) -> Done {
    let mut brute = Cli::command().disable_help_subcommand(true);
    // Gives the verbs their full names, and the options that every verb takes.
    brute.build();
    let Some(folder) = &args.out else {
        let page = match &args.verb {
            None => brute,
            Some(name) => verb(&brute, name)?,
        };
        output::data(&rendered(&Page::new(page)))?;
        return Ok(Exit::Fitted);
    };
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::input(format!(
            "cannot make the folder `{}`: {}",
            folder.display(),
            words_of(&error)
        ))
    })?;
    let mut commands = vec![&brute];
    let mut at = 0;
    while let Some(command) = commands.get(at) {
        commands.extend(command.get_subcommands());
        at += 1;
    }
    let pages: Vec<Page> = commands.into_iter().map(|command| Page::new(command.clone())).collect();
    for page in &pages {
        output::file(&folder.join(page.get_filename()), &rendered(page))?;
    }
    if !global.quiet {
        output::say(&format!("wrote {} manual pages to {}", pages.len(), folder.display()));
    }
    Ok(Exit::Fitted)
}

fn verb(brute: &Command, name: &str) -> Result<Command, Failure> {
    brute.find_subcommand(name).cloned().ok_or_else(|| {
        let names: Vec<_> =
            brute.get_subcommands().map(|verb| format!("`{}`", verb.get_name())).collect();
        Failure::configuration(format!("there is no verb `{name}`; there are {}", names.join(", ")))
    })
}

fn rendered(page: &Page) -> Vec<u8> {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = page.render(&mut text);
    text
}
