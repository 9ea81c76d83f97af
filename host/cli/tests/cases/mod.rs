//! The sentences of the cases, as code, by the number of the case and the words they begin with.

mod compaction;
mod configuration;
mod reports;
mod stores;
mod summaries;
mod truncation;

use brute_core::{Mark, MarkKind};
use serde_json::Value;

use crate::support::run::Run;
use crate::support::runner::Sentence;
use crate::support::wire;

/// The number of a case, the words its sentence begins with, and the sentence as code.
type Table = &'static [(&'static str, &'static str, Sentence)];

/// The code of a sentence. A case of the same number with other words is another case.
pub(crate) fn find(id: &str, words: &str) -> Option<Sentence> {
    let tables: [Table; 6] = [
        compaction::TABLE,
        configuration::TABLE,
        reports::TABLE,
        stores::TABLE,
        summaries::TABLE,
        truncation::TABLE,
    ];
    let mut all = tables.into_iter().flatten();
    all.find(|(of, start, _)| *of == id && words.starts_with(start)).map(|(_, _, check)| *check)
}

/// The texts in the output that a compaction made.
fn marked(run: &Run) -> Vec<(Mark, String)> {
    let texts = wire::texts(&run.last().body);
    texts.into_iter().filter_map(|text| Some((Mark::read(text)?, text.to_owned()))).collect()
}

/// How many texts of these kinds there are in the output.
fn count_of(run: &Run, kinds: &[MarkKind]) -> usize {
    marked(run).iter().filter(|(mark, _)| kinds.contains(&mark.kind)).count()
}

/// The content of a result in the output, as JSON.
fn result_json(list: &[Value], id: &str) -> Option<String> {
    wire::result(list, id).map(wire::json)
}

/// All words of a result in the output.
fn result_words(run: &Run, id: &str) -> String {
    let content = wire::result(run.output(), id);
    content.map(|content| wire::texts(content).join("\n")).unwrap_or_default()
}
