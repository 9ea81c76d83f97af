//! What a call does with files, by its arguments.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::tools::{self, ToolUse};
use crate::{Options, path};

/// Arguments that say at which line a read begins, that say at which it ends, and how many it takes.
const FIRST: [&str; 7] = [
    "offset",
    "start",
    "start_line",
    "startLine",
    "line_start",
    "StartLine",
    "start_line_one_indexed",
];
const LAST: [&str; 6] =
    ["end", "end_line", "endLine", "line_end", "EndLine", "end_line_one_indexed_inclusive"];
const COUNT: [&str; 3] = ["limit", "num_lines", "max_lines"];
/// Arguments that say both, as a list of two numbers.
const BOTH: [&str; 4] = ["view_range", "line_range", "lineRange", "range"];

/// Arguments that say nothing about what is read: words for a person or for the model itself.
const WORDS: [&str; 10] = [
    "command",
    "description",
    "explanation",
    "reason",
    "requires_approval",
    "security_risk",
    "summary",
    "task_progress",
    "thought",
    "toolSummary",
];

/// What a call does with files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Access {
    /// The files.
    pub paths: Vec<String>,
    /// What it reads of them; nothing if it writes.
    pub read: Option<View>,
}

/// What a read asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    pub lines: Lines,
    /// The other arguments, in one order.
    pub others: String,
}

/// Lines as the tool counts them. The whole file begins at 0, whether the tool begins at 0 or at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Lines {
    pub first: u64,
    /// The last one; to the end of the file if there is none.
    pub last: Option<u64>,
}

impl Lines {
    /// Whether this is the whole file.
    pub(crate) fn is_all(self) -> bool {
        self == Self::default()
    }

    /// Whether all of `others` is in here.
    pub(crate) fn cover(self, others: Self) -> bool {
        let to_the_end = match (self.last, others.last) {
            (None, _) => true,
            (Some(last), Some(other)) => other <= last,
            (Some(_), None) => false,
        };
        self.first <= others.first && to_the_end
    }
}

impl Access {
    /// What a call of `tool` does with files, if anything.
    pub(crate) fn of(options: &Options, tool: &str, arguments: &str) -> Option<Self> {
        let does = options.tools.get(tool).copied().unwrap_or_else(|| tools::known(tool));
        if does == ToolUse::Neither {
            return None;
        }
        let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(arguments) else {
            // A patch may be the whole of the arguments, as plain text or as a text in JSON.
            let text = serde_json::from_str::<String>(arguments);
            return (does == ToolUse::Write)
                .then(|| Self::write(text.as_deref().unwrap_or(arguments)))?;
        };
        let does = match (does, arguments.get("command")) {
            (ToolUse::ByCommand, Some(Value::String(command))) => tools::of_command(command),
            (does, _) => does,
        };
        let paths = options.path_keys.iter().find_map(|key| paths_in(arguments.get(key)?));
        match (does, paths) {
            (ToolUse::Read, Some(paths)) => {
                let read = Some(View::of(&arguments, &options.path_keys));
                Some(Self { paths, read })
            }
            (ToolUse::Write, Some(paths)) => Some(Self { paths, read: None }),
            (ToolUse::Write, None) => {
                arguments.values().filter_map(Value::as_str).find_map(Self::write)
            }
            _ => None,
        }
    }

    fn write(patch: &str) -> Option<Self> {
        let paths = path::in_patch(patch);
        (!paths.is_empty()).then_some(Self { paths, read: None })
    }
}

/// The paths in an argument: one, or a list of them.
fn paths_in(argument: &Value) -> Option<Vec<String>> {
    let paths: Vec<String> = match argument {
        Value::String(path) => vec![path::normal(path)],
        Value::Array(paths) => {
            paths.iter().map(|path| path.as_str().map(path::normal)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    (!paths.is_empty() && paths.iter().all(|path| !path.is_empty())).then_some(paths)
}

impl View {
    fn of(arguments: &Map<String, Value>, path_keys: &[String]) -> Self {
        let mut lines = Lines::default();
        let mut count = None;
        let mut others = BTreeMap::new();
        for (key, value) in arguments {
            let is_in = |keys: &[&str]| keys.contains(&key.as_str());
            if value.is_null() || path_keys.contains(key) || is_in(&WORDS) {
                continue;
            }
            match (number(value), pair(value)) {
                (Some(first), _) if is_in(&FIRST) => lines.first = first,
                (Some(last), _) if is_in(&LAST) => lines.last = Some(last),
                (Some(most), _) if is_in(&COUNT) => count = Some(most),
                (_, Some((first, last))) if is_in(&BOTH) => lines = Lines { first, last },
                _ => {
                    others.insert(key, value);
                }
            }
        }
        if let (Some(count), None) = (count, lines.last) {
            lines.last = Some(lines.first.saturating_add(count).saturating_sub(1));
        }
        let others = if others.is_empty() {
            String::new()
        } else {
            serde_json::to_string(&others).unwrap_or_default()
        };
        Self { lines, others }
    }
}

/// A number of lines, which some models write as text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// The first line and the last; -1 is the end of the file.
fn pair(value: &Value) -> Option<(u64, Option<u64>)> {
    match value.as_array()?.as_slice() {
        [first, last] if last.as_i64() == Some(-1) => Some((number(first)?, None)),
        [first, last] => Some((number(first)?, Some(number(last)?))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(tool: &str, arguments: &str) -> Option<Access> {
        Access::of(&Options::default(), tool, arguments)
    }

    #[test]
    fn reads_say_what_they_read() {
        for (arguments, first, last, others) in [
            (r#"{"path":"./a"}"#, 0, None, ""),
            (r#"{"file_path":"a","offset":null,"description":"why"}"#, 0, None, ""),
            (r#"{"filePath":"a","offset":10,"limit":5}"#, 10, Some(14), ""),
            (r#"{"limit":"5","path":"a"}"#, 0, Some(4), ""),
            (r#"{"path":"a","start_line":3,"end_line":9}"#, 3, Some(9), ""),
            (r#"{"path":"a","view_range":[3,-1]}"#, 3, None, ""),
            (r#"{"path":"a","line_range":[3,4]}"#, 3, Some(4), ""),
            (r#"{"path":"a","view_range":"3-4"}"#, 0, None, r#"{"view_range":"3-4"}"#),
            (r#"{"path":"a","z":1,"pages":"2"}"#, 0, None, r#"{"pages":"2","z":1}"#),
        ] {
            let view = View { lines: Lines { first, last }, others: others.into() };
            let expected = Access { paths: vec!["a".into()], read: Some(view) };
            assert_eq!(access("read", arguments), Some(expected), "{arguments}");
        }
    }

    #[test]
    fn writes_say_where_they_write() {
        for (tool, arguments, expected) in [
            ("edit", r#"{"file_path":"a","new_string":"x"}"#, &["a"][..]),
            ("str_replace_editor", r#"{"command":"create","path":"a"}"#, &["a"]),
            ("apply_patch", r#"{"input":"*** Add File: a\n*** Delete File: b"}"#, &["a", "b"]),
            ("apply_patch", "*** Update File: a\n+x", &["a"]),
            ("apply_patch", r#""*** Update File: a\n+x""#, &["a"]),
        ] {
            let access = access(tool, arguments).unwrap();
            assert_eq!(access.paths, expected, "{tool} {arguments}");
            assert_eq!(access.read, None);
        }
    }

    #[test]
    fn other_calls_do_nothing_with_files() {
        for (tool, arguments) in [
            ("bash", r#"{"command":"cat a"}"#),
            ("read", "{}"),
            ("read", r#"{"path":""}"#),
            ("read", r#"{"path":7}"#),
            ("read", r#"{"path":["a",7]}"#),
            ("read", r#"["a"]"#),
            ("read", "a"),
            ("apply_patch", "not a patch"),
            ("str_replace_editor", r#"{"path":"a"}"#),
            ("str_replace_editor", r#"{"command":"list","path":"a"}"#),
        ] {
            assert_eq!(access(tool, arguments), None, "{tool} {arguments}");
        }
    }

    #[test]
    fn what_the_options_say_goes_first() {
        let tools = BTreeMap::from([
            ("look".to_owned(), ToolUse::Read),
            ("read".to_owned(), ToolUse::Neither),
        ]);
        let options = Options { tools, path_keys: vec!["where".into()], ..Options::default() };
        let read = Access::of(&options, "look", r#"{"where":["a","./b"]}"#).unwrap();
        assert_eq!(read.paths, ["a", "b"]);
        assert!(read.read.is_some());
        assert_eq!(Access::of(&options, "read", r#"{"where":"a"}"#), None);
    }

    #[test]
    fn lines_cover_lines() {
        let lines = |first, last| Lines { first, last };
        for (one, other, expected) in [
            (lines(0, None), lines(5, Some(9)), true),
            (lines(0, None), lines(0, None), true),
            (lines(5, Some(9)), lines(5, Some(9)), true),
            (lines(5, Some(9)), lines(6, Some(8)), true),
            (lines(5, Some(9)), lines(4, Some(8)), false),
            (lines(5, Some(9)), lines(6, Some(10)), false),
            (lines(5, Some(9)), lines(6, None), false),
            (lines(5, None), lines(0, None), false),
        ] {
            assert_eq!(one.cover(other), expected, "{one:?} {other:?}");
        }
    }
}
