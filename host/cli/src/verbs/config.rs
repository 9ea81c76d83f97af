//! `brute config` and `brute schema`: what is configured, and what can be.

use brute_host::config;
use brute_host::layers::Layers;

use crate::args::{Config, Global};
use crate::exit::{Done, Exit, Failure};
use crate::{output, setup};

pub(crate) fn run(global: &Global, args: &Config) -> Done {
    let text = match &args.key {
        Some(key) => config::reference(key, &Layers::built_in()).map_err(Failure::configuration)?,
        None if args.reference => config::reference_markdown(&Layers::built_in()),
        None if args.defaults => config::defaults_toml(&Layers::built_in()),
        // What is in force is what people ask for, with or without saying so.
        None => setup::load(global, true)?.resolved_toml(&Layers::built_in()),
    };
    output::text(&text)?;
    Ok(Exit::Fitted)
}

pub(crate) fn schema() -> Done {
    output::json(&config::json_schema(&Layers::built_in()))?;
    Ok(Exit::Fitted)
}
