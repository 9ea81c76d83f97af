//! From a library to the kinds of layers in it.

use brute_core::Strategy;
use brute_core::abi::{BuildFailure, Exported, StrategyManifest};

use super::load::{self, LoadError};
use super::{PluginFile, Status, TIME_LIMIT};
use crate::layers::{BuildError, LayerKind};
use crate::limit::within;

/// Runs the library's code for the first time.
pub(super) fn open(file: &PluginFile) -> Status {
    let library = match load::load(file) {
        Ok(library) => library,
        Err(error) => {
            let reason = error.to_string();
            let report = match error {
                LoadError::Mismatch { report, .. } => report,
                _ => String::new(),
            };
            return Status::Refused { reason, report };
        }
    };
    let strategies = library.strategies().zip(&file.manifest.strategies);
    let kinds = strategies.map(|(exported, said)| kind(exported, said, file));
    match kinds.collect::<Result<_, _>>() {
        Ok(kinds) => Status::Loaded(kinds),
        Err(reason) => Status::Refused { reason, report: String::new() },
    }
}

fn kind(
    exported: Exported,
    said: &StrategyManifest,
    file: &PluginFile,
) -> Result<LayerKind, String> {
    let failed = |error: String| format!("the schema of `{}`: {error}", said.name);
    let schema = within(TIME_LIMIT, move || exported.schema()).map_err(failed)?;
    let schema = schema.map_err(|failure| failed(failure.message))?;
    let schema = serde_json::from_str(&schema).map_err(|error| failed(error.to_string()))?;
    let (name, summary, version) = (&said.name, &said.summary, &said.version);
    let build = move |options: serde_json::Value| {
        let layer = exported.build(&options.to_string()).map_err(BuildError::from)?;
        Ok(Box::new(layer) as Box<dyn Strategy>)
    };
    let kind = LayerKind::new(name, summary, version, said.needs_summarizer, schema, build);
    Ok(kind.in_library(&file.path))
}

impl From<BuildFailure> for BuildError {
    fn from(failure: BuildFailure) -> Self {
        match failure.option {
            Some(option) => Self::Option { option, message: failure.message },
            None if failure.panicked => Self::Failed(failure.message),
            None => Self::Form(failure.message),
        }
    }
}
