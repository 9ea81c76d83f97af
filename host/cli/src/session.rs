//! Reading what the command line names.

use std::io::{self, Read};
use std::path::Path;

use brute_host::config::Config;
use brute_host::formats::{Document, ReadOptions, Usage, names_in};
use brute_host::replay::{Own, OwnCompaction};
use brute_host::shown::shown;
use brute_host::system::words_of;
use brute_host::transcripts::{self, Input, Left, Transcript, TranscriptError};

use crate::args::{self, Global, Pick, Reading};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Progress;
use crate::style::counted;

/// So many problems of a log are said; `brute count` has all of them.
const MOST_PROBLEMS: usize = 10;

/// How messages call an input.
pub(crate) fn name(file: &Path) -> String {
    match is_stdin(file) {
        true => "standard input".to_owned(),
        false => shown(file.display()),
    }
}

fn is_stdin(file: &Path) -> bool {
    file.as_os_str() == "-"
}

/// An open input.
pub(crate) fn open(file: &Path) -> Result<Box<dyn Read>, Failure> {
    if is_stdin(file) {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    let opened = std::fs::File::open(file).and_then(|opened| match opened.metadata()?.is_dir() {
        true => Err(std::io::ErrorKind::IsADirectory.into()),
        false => Ok(opened),
    });
    match opened {
        Ok(opened) => Ok(Box::new(opened)),
        Err(error) => Err(cannot_read(file, &error)),
    }
}

/// The end of a command whose input cannot be read.
pub(crate) fn cannot_read(file: &Path, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot read `{}`: {}", name(file), words_of(error)))
}

/// A conversation, and what it was read from.
pub(crate) struct Session {
    pub(crate) document: Document,
    /// The agent's log that the conversation follows from, if it is one. The request is out of it.
    pub(crate) transcript: Option<Transcript>,
    /// What the document was read from, if that is wanted.
    pub(crate) original: Option<Vec<u8>>,
    /// How the document was read.
    pub(crate) options: ReadOptions,
}

/// The conversation that the command line names.
pub(crate) fn read(
    global: &Global,
    config: &Config,
    session: &args::Session,
) -> Result<Session, Failure> {
    read_with(global, config, session, false)
}

/// The same, with what the document is read from if `original` is wanted.
pub(crate) fn read_with(
    global: &Global,
    config: &Config,
    session: &args::Session,
    original: bool,
) -> Result<Session, Failure> {
    let file = &session.file;
    let progress = Progress::new(global.quiet);
    let found = match session.format {
        Some(Reading::Provider(_)) => bytes(file).map(Input::Other),
        _ => log(session, &progress),
    };
    progress.finish();
    let mut options = ReadOptions { repair: session.repair, ..ReadOptions::default() };
    let (bytes, transcript) = match found? {
        Input::Other(bytes) => {
            if let Some(pick) = &session.pick {
                options.pick = Some(place(pick, file, &bytes)?);
            }
            if let Some(Reading::Provider(format)) = session.format {
                options.format = Some(format);
            }
            (bytes, None)
        }
        Input::Transcript(mut transcript) => {
            // The request is one conversation, whatever the log holds.
            options.format = Some(transcript.format());
            (transcript.take_request().into_bytes(), Some(*transcript))
        }
    };
    let kept = original.then(|| bytes.clone());
    let document =
        config.read(bytes, &options).map_err(|error| failed(file, &error.to_string()))?;
    Ok(Session { document, transcript, original: kept, options })
}

/// What an input is, as far as it is the log of an agent.
fn log(session: &args::Session, progress: &Progress) -> Result<Input, Failure> {
    let kind = match session.format {
        Some(Reading::Log(kind)) => Some(kind),
        _ => None,
    };
    let mut options = transcripts::Options { whole: session.whole, kind, pick: None };
    let watched = Watched { input: open(&session.file)?, progress, read: 0 };
    let found = match &session.pick {
        Some(Pick::Named(name)) => transcripts::read_named(watched, &options, name),
        Some(Pick::At(place)) => {
            options.pick = Some(*place);
            transcripts::read(watched, &options)
        }
        None => transcripts::read(watched, &options),
    };
    found.map_err(|error| match error {
        TranscriptError::Io(error) => cannot_read(&session.file, &error),
        error => failed(&session.file, &error.to_string()),
    })
}

/// The place of the conversation `pick` in an input that is no agent's log.
pub(crate) fn place(pick: &Pick, file: &Path, bytes: &[u8]) -> Result<usize, Failure> {
    let name = match pick {
        Pick::At(place) => return Ok(*place),
        Pick::Named(name) => name,
    };
    let names = names_in(bytes).map_err(|error| failed(file, &error.to_string()))?;
    names.iter().position(|known| known == name).ok_or_else(|| {
        let known = names.iter().filter(|known| !known.is_empty()).take(8);
        let known: Vec<String> = known.map(|known| format!("`{known}`")).collect();
        let what = match known.is_empty() {
            true => "its conversations have no names; `--pick` takes a number, from 0".to_owned(),
            false => format!("it holds {}", known.join(", ")),
        };
        failed(file, &format!("there is no conversation `{name}`: {what}"))
    })
}

fn failed(file: &Path, error: &str) -> Failure {
    Failure::input(format!("`{}`: {}", name(file), with_flags(error)))
}

/// An input that says how far it was read.
struct Watched<'a> {
    input: Box<dyn Read>,
    progress: &'a Progress,
    read: u64,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const STEP: u64 = 8 << 20;
        let count = self.input.read(buffer)?;
        let before = self.read / STEP;
        self.read += count as u64;
        if self.read / STEP > before {
            self.progress.reading(self.read);
        }
        Ok(count)
    }
}

/// All that an input holds.
pub(crate) fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    open(file)?.read_to_end(&mut bytes).map_err(|error| cannot_read(file, &error))?;
    Ok(bytes)
}

impl Session {
    /// What the provider counted, with how many messages of the conversation each count is about.
    pub(crate) fn reports(&self) -> Vec<(usize, Usage)> {
        let Some(transcript) = &self.transcript else { return self.document.reports() };
        let messages = self.document.conversation().messages();
        let reports = transcript.reports().iter().map(|report| {
            let count = messages.partition_point(|message| {
                self.document.wire_index(message.id()).is_none_or(|wire| wire <= report.message)
            });
            (count, report.usage)
        });
        reports.collect()
    }

    /// What the log tells of the session beside its messages, by messages of the conversation. Only a log that was
    /// read whole tells which of them its agent's compactions took.
    pub(crate) fn own(&self) -> Own {
        let messages = self.document.conversation().messages();
        let wires: Vec<Option<usize>> =
            messages.iter().map(|message| self.document.wire_index(message.id())).collect();
        let compactions = self.transcript.iter().flat_map(Transcript::compactions);
        let compactions = compactions.filter_map(|compaction| {
            let (at, took) = (compaction.at?, &compaction.took);
            let first =
                |wire: usize| wires.partition_point(|known| known.is_none_or(|known| known < wire));
            let messages_of = |wire: &usize| first(*wire)..first(wire + 1);
            Some(OwnCompaction {
                at: first(at),
                tokens_before: compaction.tokens_before,
                took: took.messages.iter().flat_map(messages_of).collect(),
                summary: match &compaction.left {
                    Left::Summary(text) => Some(text.clone()),
                    Left::Cleared(_) | Left::Nothing => None,
                },
                cleared: took.results.clone(),
                placeholder: took.placeholder.clone(),
            })
        });
        let reports = self.reports().into_iter();
        Own {
            compactions: compactions.collect(),
            reports: reports.map(|(messages, usage)| (messages, usage.total())).collect(),
        }
    }

    /// Says on standard error what was mended, and what the conversation follows from.
    pub(crate) fn say(&self, file: &Path) {
        if let Some(transcript) = &self.transcript {
            let (file, kind, format) = (name(file), transcript.kind(), transcript.format());
            output::say(&format!(
                "{file} is the log of an agent ({kind}); what is made of it is the request that would have \
                 been sent next ({format})"
            ));
            let problems = transcript.problems();
            for problem in problems.iter().take(MOST_PROBLEMS) {
                output::say(&format!("  {}", shown(problem)));
            }
            if let Some(more) = problems.len().checked_sub(MOST_PROBLEMS).filter(|more| *more > 0) {
                let more = counted(more as u64, "problem");
                output::say(&format!("  and {more} more; `brute count --json` has them all"));
            }
        }
        self.say_repairs();
    }

    /// Says on standard error what was mended in the conversation itself.
    pub(crate) fn say_repairs(&self) {
        for repair in self.document.repairs() {
            output::say(&format!("repaired: {}", shown(repair)));
        }
    }

    /// How many messages there are in what the document was written as.
    ///
    /// Only the writer knows: it may join messages that a compaction made neighbors.
    pub(crate) fn messages_in(&self, written: &[u8]) -> Result<usize, Failure> {
        // What was written may no longer look like its format.
        let options = ReadOptions { format: Some(self.document.format()), ..self.options };
        Document::read(written.to_vec(), &options).map(|written| written.wire_len()).map_err(
            |error| {
                let message = format!("brute cannot read what it wrote: {error}; please report it");
                Failure { exit: Exit::Bug, message }
            },
        )
    }
}

/// What the library says, which names its options, in the words of the command line.
pub(crate) fn with_flags(error: &str) -> String {
    let mends = "`ReadOptions::repair` makes the least change that mends this";
    let flag =
        "`--repair` makes the least change that mends this, and `brute repair --check` says which";
    let flags = [
        ("`ReadOptions::pick`", "`--pick`"),
        ("`Options::pick`", "`--pick`"),
        (mends, flag),
        ("`ReadOptions::repair`", "`--repair`"),
    ];
    flags.into_iter().fold(error.to_owned(), |words, (option, flag)| words.replace(option, flag))
}
