//! Between the types of the crate and the bytes that cross the boundary: each pair of tables in one place.

use abi_stable::std_types::RString;

use super::raw::{RawCompletion, RawEdit, RawError, RawPlan};
use crate::{
    Completion, CompletionError, Edit, Flow, LayerError, LayerErrorKind, LogLevel, Mark, MarkKind,
    Plan, Role, Stop,
};

/// A closed set of values, each with its byte. A value keeps its byte for ever; new ones are appended.
trait Coded: Copy + PartialEq + Sized + 'static {
    const ALL: &'static [Self];

    fn to_byte(self) -> u8 {
        Self::ALL.iter().position(|known| *known == self).map_or(u8::MAX, |index| index as u8)
    }

    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

impl Coded for Role {
    const ALL: &'static [Self] =
        &[Self::System, Self::User, Self::Assistant, Self::Tool, Self::Other];
}

impl Coded for MarkKind {
    const ALL: &'static [Self] = &[Self::Note, Self::Summary, Self::Cleared];
}

impl Coded for Flow {
    const ALL: &'static [Self] = &[Self::Next, Self::Again, Self::Stop];
}

impl Coded for LogLevel {
    const ALL: &'static [Self] = &[Self::Debug, Self::Info, Self::Warn];
}

impl Coded for LayerErrorKind {
    const ALL: &'static [Self] = &[Self::Layer, Self::Summarizer];
}

impl Coded for Stop {
    const ALL: &'static [Self] = &[Self::End, Self::Length, Self::ToolCall];
}

pub(super) fn role_to_byte(role: Role) -> u8 {
    role.to_byte()
}

/// A role that this side does not know is none that a layer acts on.
pub(super) fn role_from_byte(byte: u8) -> Role {
    Role::from_byte(byte).unwrap_or(Role::Other)
}

/// 0 is no mark; the rest is the kind, moved up by one.
pub(super) fn mark_to_byte(mark: Option<Mark>) -> u8 {
    mark.map_or(0, |mark| mark.kind.to_byte().saturating_add(1))
}

/// A mark of a kind that this side does not know is treated as the one that is given up last.
pub(super) fn mark_from_byte(byte: u8, count: u64) -> Option<Mark> {
    let kind = MarkKind::from_byte(byte.checked_sub(1)?).unwrap_or(MarkKind::Summary);
    Some(Mark { kind, count })
}

pub(super) fn level_to_byte(level: LogLevel) -> u8 {
    level.to_byte()
}

pub(super) fn level_from_byte(byte: u8) -> LogLevel {
    LogLevel::from_byte(byte).unwrap_or(LogLevel::Info)
}

mod edit {
    pub(super) const DROP: u8 = 0;
    pub(super) const REPLACE: u8 = 1;
    pub(super) const REWRITE: u8 = 2;
    pub(super) const REMOVE: u8 = 3;
}

pub(super) fn plan_to_raw(plan: Plan) -> RawPlan {
    RawPlan { edits: plan.edits.into_iter().map(edit_to_raw).collect(), flow: plan.flow.to_byte() }
}

fn edit_to_raw(given: Edit) -> RawEdit {
    let raw = |kind, role: u8, start: usize, end: usize, text: String| RawEdit {
        text: RString::from(text),
        start: start as u64,
        end: end as u64,
        kind,
        role,
    };
    match given {
        Edit::Drop { span } => raw(edit::DROP, 0, span.start, span.end, String::new()),
        Edit::Replace { span, role, text } => {
            raw(edit::REPLACE, role.to_byte(), span.start, span.end, text)
        }
        Edit::Rewrite { message, part, text } => raw(edit::REWRITE, 0, message, part, text),
        Edit::Remove { message, part } => raw(edit::REMOVE, 0, message, part, String::new()),
    }
}

/// The plan that a plugin returned.
pub(super) fn plan_from_raw(raw: RawPlan) -> Result<Plan, LayerError> {
    let flow = Flow::from_byte(raw.flow)
        .ok_or_else(|| LayerError::new(format!("its plan has an unknown flow ({})", raw.flow)))?;
    let edits = raw.edits.into_iter().enumerate().map(edit_from_raw).collect::<Result<_, _>>()?;
    Ok(Plan { edits, flow })
}

fn edit_from_raw((index, raw): (usize, RawEdit)) -> Result<Edit, LayerError> {
    let unknown = |what: &str, byte: u8| {
        LayerError::new(format!("edit {index} of its plan has an unknown {what} ({byte})"))
    };
    // An index beyond the address space is beyond every conversation, and refused as such.
    let at = |index: u64| usize::try_from(index).unwrap_or(usize::MAX);
    let (start, end) = (at(raw.start), at(raw.end));
    Ok(match raw.kind {
        edit::DROP => Edit::Drop { span: start..end },
        edit::REPLACE => {
            let role = Role::from_byte(raw.role).ok_or_else(|| unknown("role", raw.role))?;
            Edit::Replace { span: start..end, role, text: raw.text.into_string() }
        }
        edit::REWRITE => Edit::Rewrite { message: start, part: end, text: raw.text.into_string() },
        edit::REMOVE => Edit::Remove { message: start, part: end },
        kind => return Err(unknown("kind", kind)),
    })
}

/// The longest message that is taken from a plugin, in characters. Enough for a path, a place and a few
/// sentences; a layer that puts what it works on into its errors would fill logs and reports.
const LONGEST_MESSAGE: usize = 1_000;

/// A message of a plugin without the line breaks that panics and parsers like to put into theirs, with
/// nothing in it that a terminal obeys, and not longer than [`LONGEST_MESSAGE`].
pub(super) fn one_line(message: &str) -> String {
    let mut line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    line.retain(|char| !char.is_control());
    if let Some((end, _)) = line.char_indices().nth(LONGEST_MESSAGE) {
        line.truncate(end);
        line.push('…');
    }
    line
}

pub(super) fn error_to_raw(error: &LayerError) -> RawError {
    RawError {
        message: error.to_string().into(),
        option: RString::new(),
        kind: error.kind().to_byte(),
    }
}

pub(super) fn error_from_raw(raw: RawError) -> LayerError {
    let message = one_line(&raw.message);
    match LayerErrorKind::from_byte(raw.kind) {
        Some(LayerErrorKind::Summarizer) => LayerError::summarizer(message),
        Some(LayerErrorKind::Layer) | None => LayerError::new(message),
    }
}

/// How a completion, or the lack of one, is told: 0 to 2 are [`Stop`], the others errors.
mod completion {
    pub(super) const NOT_CONFIGURED: u8 = 16;
    pub(super) const TOO_LONG: u8 = 17;
    pub(super) const TIMED_OUT: u8 = 18;
    pub(super) const FAILED: u8 = 19;
}

pub(super) fn completion_to_raw(answer: Result<Completion, CompletionError>) -> RawCompletion {
    let raw = |kind, number, text: String| RawCompletion { text: text.into(), number, kind };
    match answer {
        Ok(completion) => raw(completion.stop.to_byte(), 0, completion.text),
        Err(CompletionError::NotConfigured) => raw(completion::NOT_CONFIGURED, 0, String::new()),
        Err(CompletionError::TooLong { limit }) => {
            raw(completion::TOO_LONG, limit.unwrap_or(0), String::new())
        }
        Err(CompletionError::TimedOut { seconds }) => {
            raw(completion::TIMED_OUT, seconds, String::new())
        }
        Err(CompletionError::Failed { reason }) => raw(completion::FAILED, 0, reason),
    }
}

pub(super) fn completion_from_raw(raw: RawCompletion) -> Result<Completion, CompletionError> {
    let text = raw.text.into_string();
    if let Some(stop) = Stop::from_byte(raw.kind) {
        return Ok(Completion::new(text, stop));
    }
    Err(match raw.kind {
        completion::NOT_CONFIGURED => CompletionError::NotConfigured,
        completion::TOO_LONG => {
            CompletionError::TooLong { limit: (raw.number > 0).then_some(raw.number) }
        }
        completion::TIMED_OUT => CompletionError::TimedOut { seconds: raw.number },
        completion::FAILED => CompletionError::Failed { reason: text },
        kind => CompletionError::Failed {
            reason: format!("the host answered in a way ({kind}) that is not known"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edit_and_flow_comes_back() {
        let edits = vec![
            Edit::Drop { span: 1..4 },
            Edit::Replace { span: 0..usize::MAX, role: Role::Assistant, text: "ü".into() },
            Edit::Rewrite { message: 7, part: 2, text: String::new() },
            Edit::Remove { message: usize::MAX, part: 1 },
        ];
        for flow in [Flow::Next, Flow::Again, Flow::Stop] {
            let plan = Plan { edits: edits.clone(), flow };
            assert_eq!(plan_from_raw(plan_to_raw(plan.clone())), Ok(plan));
        }
    }

    #[test]
    fn what_is_not_known_is_an_error_that_names_it() {
        let plan = || {
            plan_to_raw(Plan::of(vec![Edit::Replace {
                span: 0..1,
                role: Role::User,
                text: "x".into(),
            }]))
        };
        let said = |raw| plan_from_raw(raw).unwrap_err().to_string();
        let mut raw = plan();
        raw.flow = 9;
        assert_eq!(said(raw), "its plan has an unknown flow (9)");
        let mut raw = plan();
        raw.edits[0].kind = 200;
        assert_eq!(said(raw), "edit 0 of its plan has an unknown kind (200)");
        let mut raw = plan();
        raw.edits[0].role = 77;
        assert_eq!(said(raw), "edit 0 of its plan has an unknown role (77)");
    }

    #[test]
    fn a_message_is_on_one_line_and_bounded() {
        assert_eq!(one_line(" a\n  b\t\u{1b}[31mc "), "a b [31mc");
        for long in ["ü".repeat(5_000), "word ".repeat(5_000), "é ".repeat(LONGEST_MESSAGE)] {
            let line = one_line(&long);
            assert!(line.ends_with('…') && line.chars().count() <= LONGEST_MESSAGE + 1, "{line}");
        }
        assert_eq!(one_line(&"x".repeat(LONGEST_MESSAGE)), "x".repeat(LONGEST_MESSAGE));
    }

    #[test]
    fn every_completion_comes_back() {
        let ok = |stop| Ok(Completion::new("done", stop));
        for answer in [
            ok(Stop::End),
            ok(Stop::Length),
            ok(Stop::ToolCall),
            Err(CompletionError::NotConfigured),
            Err(CompletionError::TooLong { limit: None }),
            Err(CompletionError::TooLong { limit: Some(9) }),
            Err(CompletionError::TimedOut { seconds: 3 }),
            Err(CompletionError::Failed { reason: "no".into() }),
        ] {
            assert_eq!(completion_from_raw(completion_to_raw(answer.clone())), answer);
        }
    }

    #[test]
    fn roles_and_marks_of_the_future_are_taken_with_care() {
        assert_eq!(role_from_byte(250), Role::Other);
        assert_eq!(mark_from_byte(0, 5), None);
        assert_eq!(mark_from_byte(99, 5), Some(Mark { kind: MarkKind::Summary, count: 5 }));
        for kind in [MarkKind::Note, MarkKind::Summary, MarkKind::Cleared] {
            let mark = Some(Mark { kind, count: 3 });
            assert_eq!(mark_from_byte(mark_to_byte(mark), 3), mark);
        }
        let error = LayerError::summarizer("it slept");
        assert_eq!(error_from_raw(error_to_raw(&error)), error);
    }
}
