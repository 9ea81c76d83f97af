//! `brute plugins test`: the layers of a library, tried on made-up conversations.

use std::path::PathBuf;
use std::time::Duration;

use brute_core::testing::conformance;
use brute_host::config;
use brute_host::layers::{BuildError, LayerKind, Layers};
use brute_host::plugins;
use brute_host::quantity::{QuantityError, Span};
use clap::{Args, value_parser};

use crate::exit::{Done, Exit, Failure};
use crate::style::{BAD, GOOD, HEAD, counted, styled};
use crate::{output, setup};

#[derive(Debug, Args)]
pub(crate) struct PluginTest {
    /// The library
    pub(crate) file: PathBuf,

    /// Only this layer
    #[arg(long, value_name = "NAME")]
    pub(crate) layer: Option<String>,

    /// An option of the layer, e.g. keep-steps=1 (may be repeated)
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) option: Vec<String>,

    /// How many conversations
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u32).range(1..))]
    pub(crate) cases: u32,

    /// How long each law may take on each conversation
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = some_time)]
    pub(crate) timeout: Span,
}

fn some_time(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: QuantityError| error.to_string())?;
    (!Duration::from(span).is_zero()).then_some(span).ok_or_else(|| "it leaves no time".to_owned())
}

/// Whoever names a library here wants its code to run.
pub(super) fn run(args: &PluginTest) -> Done {
    let kinds = plugins::load_file(&args.file).map_err(|error| {
        if !error.report.is_empty() {
            output::say(&error.report);
        }
        Failure::input(error.to_string())
    })?;
    let layers = kinds.into_iter().fold(Layers::default(), Layers::with);
    let chosen: Vec<&LayerKind> = match &args.layer {
        None => layers.iter().collect(),
        Some(name) => vec![layers.get(name).ok_or_else(|| {
            let (file, help) = (args.file.display(), layers.suggest(name));
            Failure::configuration(format!("there is no layer `{name}` in `{file}`; {help}"))
        })?],
    };
    if chosen.len() > 1 && !args.option.is_empty() {
        let names: Vec<String> = chosen.iter().map(|kind| format!("`{}`", kind.name)).collect();
        return Err(Failure::configuration(format!(
            "`--option` is for one layer; say by `--layer` for which: {}",
            names.join(", ")
        )));
    }
    let mut exit = Exit::Fitted;
    for kind in chosen {
        let name = styled(HEAD, &kind.name);
        let line = match broken(kind, &layers, args)? {
            None => {
                let cases = counted(u64::from(args.cases), "conversation");
                format!("{}  {name}: {cases}\n", styled(GOOD, "ok"))
            }
            Some(law) => {
                exit = Exit::NotFitted;
                format!("{}  {name}: {law}\n", styled(BAD, "no"))
            }
        };
        output::text(&line)?;
    }
    Ok(exit)
}

/// The law that a layer breaks, from its first to its last moment.
fn broken(kind: &LayerKind, layers: &Layers, args: &PluginTest) -> Result<Option<String>, Failure> {
    let limit = Duration::from(args.timeout);
    let options = config::layer_options(kind, layers, &args.option).map_err(|diagnostics| {
        setup::show(&diagnostics);
        Failure { exit: Exit::Configuration, message: String::new() }
    })?;
    let strategy = match kind.clone().within(limit).build(options) {
        Ok(strategy) => strategy,
        Err(BuildError::Failed(why)) => return Ok(Some(format!("build: {why}"))),
        Err(error) => {
            let message = format!("`{}` does not take these options: {error}", kind.name);
            return Err(Failure::configuration(message));
        }
    };
    let kept = conformance::check_in_time(strategy, args.cases, limit);
    Ok(kept.err().map(|found| found.to_string()))
}
