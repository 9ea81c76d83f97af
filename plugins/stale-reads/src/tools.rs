//! What tools do with files, by their names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a tool does with the file whose path it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolUse {
    /// It shows the file, or a part of it.
    Read,
    /// It changes the file, wholly or in part.
    Write,
    /// It has an argument `command`: with `view` it reads, with `create`, `str_replace`, `insert` and
    /// `undo_edit` it writes.
    ByCommand,
    /// Neither, whatever its name says.
    Neither,
}

/// Tools of usual agents that read, as [`plain`] writes them.
const READ: [&str; 14] = [
    "cat",
    "fsread",
    "getfilecontents",
    "notebookread",
    "open",
    "openfile",
    "read",
    "readfile",
    "readfilecontent",
    "readmultiplefiles",
    "readnotebook",
    "readtextfile",
    "view",
    "viewfile",
];

/// Tools of usual agents that write, likewise.
const WRITE: [&str; 33] = [
    "appendfile",
    "appendtofile",
    "applydiff",
    "applypatch",
    "create",
    "createfile",
    "createorupdatefile",
    "deletefile",
    "edit",
    "editfile",
    "editnotebook",
    "fswrite",
    "insert",
    "insertcontent",
    "insertedit",
    "inserteditintofile",
    "multiedit",
    "multireplacefilecontent",
    "notebookedit",
    "overwrite",
    "patch",
    "replace",
    "replacefilecontent",
    "replaceinfile",
    "replacestringinfile",
    "searchandreplace",
    "searchreplace",
    "strreplace",
    "updatefile",
    "write",
    "writefile",
    "writetextfile",
    "writetofile",
];

/// Tools that read or write by an argument `command`.
const BY_COMMAND: [&str; 5] = [
    "fileeditor",
    "strreplacebasededittool",
    "strreplacebasedtool",
    "strreplaceeditor",
    "texteditor",
];

/// What the tool of a usual agent does.
pub(crate) fn known(tool: &str) -> ToolUse {
    let tool = plain(tool);
    let is_in = |tools: &[&str]| tools.contains(&tool.as_str());
    if is_in(&READ) {
        ToolUse::Read
    } else if is_in(&WRITE) {
        ToolUse::Write
    } else if is_in(&BY_COMMAND) {
        ToolUse::ByCommand
    } else {
        ToolUse::Neither
    }
}

/// What the command of a tool that reads and writes does.
pub(crate) fn of_command(command: &str) -> ToolUse {
    match command {
        "view" => ToolUse::Read,
        "create" | "str_replace" | "insert" | "undo_edit" => ToolUse::Write,
        _ => ToolUse::Neither,
    }
}

/// The name without the server that offers the tool, in small letters alone: `mcp__files__Read_File`,
/// `functions.readFile` and `read-file` are `readfile`.
fn plain(tool: &str) -> String {
    let name = tool.rsplit(['.', '/', ':']).next().unwrap_or(tool);
    let name = name.rsplit("__").next().unwrap_or(name);
    let letters = name.chars().filter(|char| !matches!(char, '_' | '-' | ' '));
    letters.map(|char| char.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_usual_agents_are_known() {
        for (tools, expected) in [
            (
                &["read", "Read", "read_file", "readFile", "cat", "view", "open_file"][..],
                ToolUse::Read,
            ),
            (&["mcp__filesystem__read_text_file", "functions.read-file"], ToolUse::Read),
            (&["Write", "edit", "MultiEdit", "str_replace", "apply_patch"], ToolUse::Write),
            (&["replace_string_in_file", "write_to_file", "NotebookEdit"], ToolUse::Write),
            (&["str_replace_editor", "str_replace_based_edit_tool"], ToolUse::ByCommand),
            (&["bash", "grep", "", "__", "reader", "todo_write"], ToolUse::Neither),
        ] {
            for tool in tools {
                assert_eq!(known(tool), expected, "{tool}");
            }
        }
    }
}
