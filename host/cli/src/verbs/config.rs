//! `brute config` and `brute schema`: what is configured, and what can be.

use brute_host::config;
use brute_host::layers::Layers;

use crate::args::{Config, Global};
use crate::exit::{Done, Exit, Failure};
use crate::{output, setup};

pub(crate) fn run(global: &Global, args: &Config) -> Done {
    let text = match &args.key {
        Some(key) => {
            config::reference(key, &setup::layers(global)?).map_err(Failure::configuration)?
        }
        None if args.reference => config::reference_markdown(&setup::layers(global)?),
        // The defaults are those of this program, whatever else is loaded.
        None if args.defaults => config::defaults_toml(&Layers::built_in()),
        // What is in force is what people ask for, with or without saying so.
        None => {
            let (config, layers) = setup::load_with_layers(global, true)?;
            config.resolved_toml(&layers)
        }
    };
    output::text(&text)?;
    Ok(Exit::Fitted)
}

pub(crate) fn schema(global: &Global) -> Done {
    output::json(&config::json_schema(&setup::layers(global)?))?;
    Ok(Exit::Fitted)
}
