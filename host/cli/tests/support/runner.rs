//! Runs every case of a folder and says what came of each.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use brute_core::TokenCounter;
use brute_host::tokens::{CounterKind, counter};
use serde_json::Value;

use super::case::{Case, Variant};
use super::checks::judge;
use super::run::{Run, Verdict};
use super::session::{Session, format};
use super::settings::{not_understood, unknown_layer};
use super::truncator::Folders;
use super::{counting, store, truncator};

/// A sentence of a case as code.
pub(crate) type Sentence = fn(&Run, &Lab<'_>) -> Verdict;

/// Finds the code of a sentence, by the number of the case and the words.
pub(crate) type Sentences = fn(&str, &str) -> Option<Sentence>;

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All that could be checked holds. What could not be, if anything.
    Passed { notes: Vec<String> },
    /// What does not hold.
    Failed(Vec<String>),
    /// Why it was not run, or not to its end.
    Skipped(Vec<String>),
}

/// One way of running a case, and the means to run it otherwise.
pub(crate) struct Lab<'c> {
    /// The case.
    pub(crate) case: &'c Case,
    /// One of its runs.
    pub(crate) variant: Variant,
    /// How the tool counts.
    pub(crate) counter: Arc<dyn TokenCounter>,
    /// Its kind.
    pub(crate) kind: CounterKind,
    /// Whether broken input is to be mended.
    pub(crate) repair: bool,
    /// The folders that the settings name.
    pub(crate) folders: Folders,
}

impl Lab<'_> {
    /// The run as the case wants it.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub(crate) fn run(&self) -> Result<Run, String> {
        self.rerun(&self.variant.input, &self.variant.settings)
    }

    /// A run with another input or other settings.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub(crate) fn rerun(&self, input: &Value, settings: &Value) -> Result<Run, String> {
        match self.case.op() {
            "truncate" | "truncate_chain" => truncator::truncate(input, settings, &self.folders),
            "truncate_many" => {
                truncator::truncate_many(input, settings, &self.folders, &self.case.input)
            }
            // All that such a case says is in its sentences.
            "config" => Ok(Run { settings: settings.clone(), ..Run::default() }),
            "count" => Ok(counting::count(input, settings, &*self.counter)),
            "compact" if unknown_layer(settings).is_some() => {
                let name = unknown_layer(settings).unwrap_or_default();
                Err(format!("the layer `{name}` is not one of this tool"))
            }
            "compact" => Session::new(input, settings, self.kind, self.repair)
                .ok_or_else(|| "the input has no list that this tool reads".to_owned())?
                .take(input),
            "session" => store::run(input, settings, self.kind),
            other => Err(format!("op `{other}` is not supported yet")),
        }
    }

    /// A run with some settings changed.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub(crate) fn with_settings(&self, change: impl FnOnce(&mut Value)) -> Result<Run, String> {
        let mut settings = self.variant.settings.clone();
        change(&mut settings);
        self.rerun(&self.variant.input, &settings)
    }

    fn name(&self) -> String {
        let mut words = vec![self.variant.name.clone(), self.counter.id().to_owned()];
        if self.case.is_malformed() {
            words.push(if self.repair { "repair" } else { "no repair" }.into());
        }
        words.retain(|word| !word.is_empty());
        words.join(", ")
    }
}

/// Why a case cannot be run at all, if it cannot.
fn unsupported(case: &Case) -> Option<String> {
    match case.op() {
        "truncate" | "truncate_chain" | "truncate_many" | "count" | "config" | "session" => None,
        "compact" => match case.format() {
            Some(name) if format(name).is_some() => None,
            Some(name) => Some(format!("format `{name}` is not supported yet")),
            None => Some("the case names no format".into()),
        },
        // Its libraries are described and not there; what it asks for is tried with real ones.
        "host" => {
            Some("a case carries no library: see `cargo test -p brute-host --test plugins`".into())
        }
        other => Some(format!("op `{other}` is not supported yet")),
    }
}

/// The counters that a case is run under: all of its claims hold under each.
fn counters(case: &Case) -> Vec<CounterKind> {
    match case.op() {
        "session" if case.input.get("writers").is_some() => vec![CounterKind::Approximate],
        "compact" | "count" | "session" => vec![CounterKind::Approximate, CounterKind::O200k],
        _ => vec![CounterKind::Approximate],
    }
}

/// Runs a case in all its variants.
pub(crate) fn run(case: &Case, sentences: Sentences) -> Outcome {
    if let Some(why) = unsupported(case) {
        return Outcome::Skipped(vec![why]);
    }
    let (mut failures, mut skips, mut unknown) = (Vec::new(), Vec::new(), 0);
    let repairs: &[bool] = if case.is_malformed() { &[true, false] } else { &[false] };
    for variant in case.variants() {
        for kind in counters(case) {
            for repair in repairs {
                let lab = Lab {
                    case,
                    variant: variant.clone(),
                    counter: counter(kind),
                    kind,
                    repair: *repair,
                    folders: Folders::new(),
                };
                let (found, not_known) = checked(&lab, sentences);
                unknown = unknown.max(not_known);
                for verdict in found {
                    match verdict {
                        Verdict::Fail(why) => failures.push(format!("[{}] {why}", lab.name())),
                        Verdict::Skip(why) if !skips.contains(&why) => skips.push(why),
                        _ => {}
                    }
                }
            }
        }
    }
    let foreign = not_understood(&case.settings);
    let mut notes = Vec::new();
    if !foreign.is_empty() {
        notes.push(format!("settings that this tool does not have: {}", foreign.join(", ")));
    }
    if unknown > 0 {
        notes.push(format!("{unknown} sentence checks not known"));
    }
    if !failures.is_empty() && foreign.is_empty() {
        Outcome::Failed(failures)
    } else if !failures.is_empty() {
        // A run without a setting that the case counts on is not the run that it wants.
        notes.extend(failures.into_iter().next());
        Outcome::Skipped(notes)
    } else if !skips.is_empty() {
        Outcome::Skipped(skips)
    } else if unknown == case.expect.len() {
        Outcome::Skipped(vec!["none of its checks is known".into()])
    } else {
        Outcome::Passed { notes }
    }
}

/// The verdicts on one variant, and how many sentences are not known.
fn checked(lab: &Lab<'_>, sentences: Sentences) -> (Vec<Verdict>, usize) {
    let caught = catch_unwind(AssertUnwindSafe(|| lab.run()));
    let run = match caught {
        Ok(Ok(run)) => run,
        Ok(Err(why)) => return (vec![Verdict::Skip(why)], 0),
        Err(payload) => {
            return (vec![Verdict::Fail(format!("it panicked: {}", words(&*payload)))], 0);
        }
    };
    let sentence = |words: &str| match sentences(&lab.case.id, words) {
        Some(check) => match check(&run, lab) {
            Verdict::Fail(why) => Verdict::Fail(format!("\"{words}\": {why}")),
            other => other,
        },
        None => Verdict::UnknownSentence,
    };
    let verdicts: Vec<Verdict> = lab
        .case
        .expect
        .iter()
        .map(|entry| {
            catch_unwind(AssertUnwindSafe(|| judge(entry, &run, &sentence))).unwrap_or_else(
                |payload| Verdict::Fail(format!("{entry}: panicked: {}", words(&*payload))),
            )
        })
        .collect();
    let unknown = verdicts.iter().filter(|verdict| **verdict == Verdict::UnknownSentence).count();
    (verdicts, unknown)
}

fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a word").to_owned()
}

/// Runs all cases in `folder`, in the order of their names. `only` picks by the start of the name.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn run_folder(
    folder: &Path,
    only: Option<&str>,
    sentences: Sentences,
) -> std::io::Result<Vec<(String, Outcome)>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let wanted = only.is_none_or(|only| only.split(',').any(|only| name.starts_with(only)));
        if path.extension().is_some_and(|ending| ending == "json") && wanted {
            paths.push(path);
        }
    }
    paths.sort();
    let one = |path: &Path| match Case::read(path) {
        Ok(case) => (format!("{} {}", case.id, case.slug), run(&case, sentences)),
        Err(why) => (
            path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            Outcome::Skipped(vec![format!("no case: {why}")]),
        ),
    };
    Ok(paths.iter().map(|path| one(path)).collect())
}
