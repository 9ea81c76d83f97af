//! `--record` and `--replay`: a run with a model that can be repeated without one.

use std::sync::Arc;

use brute_host::shown::shown;
use brute_host::summarizers::{Recorder, RecordingError, Replay};

use crate::args;
use crate::exit::Failure;
use crate::setup::Sizing;

/// What is recorded, or repeated.
pub(crate) enum Tape {
    None,
    Records(Arc<Recorder>),
    Replays(Arc<Replay>),
}

impl Tape {
    /// The tape that the command line asks for, and `sizing` with it.
    pub(crate) fn of(args: &args::Tape, mut sizing: Sizing) -> Result<(Self, Sizing), Failure> {
        let tape = match (&args.record, &args.replay, sizing.compactor.asked()) {
            (_, Some(path), _) => {
                Self::Replays(Arc::new(Replay::open(path).map_err(|error| failed(&error))?))
            }
            (Some(path), None, Some(asked)) => {
                let recorder = Recorder::create(path, Arc::clone(asked));
                Self::Records(Arc::new(recorder.map_err(|error| failed(&error))?))
            }
            (Some(_), None, None) => {
                let message = "`--record` has nothing to record: no summarizer is configured \
                               (set `[summarizer]` in brute.toml)";
                return Err(Failure::configuration(message));
            }
            (None, None, _) => Self::None,
        };
        sizing.compactor = match &tape {
            Self::None => sizing.compactor,
            Self::Records(recorder) => sizing.compactor.summarizer(Arc::clone(recorder) as _),
            Self::Replays(replay) => sizing.compactor.summarizer(Arc::clone(replay) as _),
        };
        Ok((tape, sizing))
    }

    /// Whether the run is the one that it was to repeat. What is not is not handed out.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        match self {
            Self::Replays(replay) => replay.finish().map_err(|error| failed(&error)),
            Self::None | Self::Records(_) => Ok(()),
        }
    }

    /// Whether all of the run is recorded. What it made was paid for, and is handed out before.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        match self {
            Self::Records(recorder) => recorder.fault().map_or(Ok(()), |error| Err(failed(&error))),
            Self::None | Self::Replays(_) => Ok(()),
        }
    }
}

fn failed(error: &RecordingError) -> Failure {
    let excerpts = error.excerpts().map(|(recorded, asked)| {
        let said = |text: &str| match text {
            "" => "(nothing more)".to_owned(),
            text => shown(text),
        };
        let [recorded, asked] = [recorded, asked].map(said);
        format!("\n  recorded: {recorded}\n  this run: {asked}")
    });
    Failure::input(format!("{error}{}", excerpts.unwrap_or_default()))
}
