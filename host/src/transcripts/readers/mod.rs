//! One reader for the records of each kind of log.

pub(super) mod aider;
mod atif;
mod brute_session;
mod claude;
mod claude_tree;
mod cline;
mod codex;
mod gemini;
mod inspect;
mod langchain;
mod opencode;
mod openhands;
mod openhands_sdk;
mod pi;

use super::Kind;
use super::log::Log;
use crate::formats::LARGEST_COUNT;
use crate::formats::json::View;

/// Reads the records of a log.
pub(super) trait Reader {
    /// Takes the value that stands in `line`, from 1.
    fn value(&mut self, value: View<'_>, line: usize, log: &mut Log<'_>);

    /// Takes the end of the log.
    fn end(&mut self, _log: &mut Log<'_>) {}
}

/// The reader of a kind of log. One of them has to know whether the log is wanted whole.
pub(super) fn reader(kind: Kind, whole: bool) -> Box<dyn Reader> {
    match kind {
        Kind::ClaudeCode => Box::new(claude::Session::default()),
        Kind::ClaudeStreamJson => Box::new(claude::Session::of_stream()),
        Kind::CodexRollout | Kind::CodexAppServer => Box::new(codex::Rollout::default()),
        Kind::Opencode => Box::new(opencode::Export::default()),
        Kind::Pi => Box::new(pi::Session::default()),
        Kind::Openhands => Box::new(openhands::Events::default()),
        Kind::OpenhandsSdk => Box::new(openhands_sdk::Events::default()),
        Kind::GeminiCli => Box::new(gemini::Session::default()),
        Kind::Cline => Box::new(cline::History),
        Kind::InspectEval => Box::new(inspect::Eval),
        Kind::Atif => Box::new(atif::Trajectory::default()),
        Kind::Langchain => Box::new(langchain::Dump),
        Kind::BruteSession => Box::new(brute_session::Session::new(whole)),
        // Lines of Markdown are no values; they are read by themselves.
        Kind::Aider => Box::new(aider::NoValues),
    }
}

/// The records in a value: the elements of an array, or the value itself. Arrays in arrays are no records:
/// no reader follows a log into any depth.
fn records(value: View<'_>) -> impl Iterator<Item = View<'_>> {
    let whole = (!value.is_array()).then_some(value);
    value.items().chain(whole)
}

/// The text of the field `key`.
fn field<'a>(value: View<'a>, key: &str) -> Option<std::borrow::Cow<'a, str>> {
    value.get(key).and_then(View::text)
}

/// The same, owned.
fn owned(value: View<'_>, key: &str) -> Option<String> {
    value.get(key).and_then(View::string)
}

/// The number in the field `key`, as far as it may be a count; 0 without one.
fn number(value: View<'_>, key: &str) -> u64 {
    value.get(key).and_then(View::u64).unwrap_or(0).min(LARGEST_COUNT)
}
