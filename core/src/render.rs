//! The one rendering of messages as text, for whoever has to read them without the provider's JSON.

use std::fmt::Write as _;

use crate::{MessageView, PartView, Role, Window};

/// Appends `message` of `window` to `out`: a heading that names the role, then its parts.
pub fn render_message(window: &Window<'_>, message: &MessageView<'_>, out: &mut String) {
    let heading = match (message.role(), window.tool_of(message.index())) {
        (Role::Tool, Some(tool)) => format!("tool result of {tool}"),
        (role, _) => role.to_string(),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "[{heading}]");
    for part in message.parts() {
        render_part(&part, out);
    }
}

/// Appends one part to `out`, ending in a line break.
fn render_part(part: &PartView<'_>, out: &mut String) {
    let _ = match part {
        PartView::Text(text) => writeln!(out, "{text}"),
        PartView::Reasoning { text: "", .. } => Ok(()),
        PartView::Reasoning { text, .. } => writeln!(out, "(thinks) {text}"),
        PartView::Media { kind } => writeln!(out, "({kind})"),
        PartView::ToolCall { name, arguments, .. } => writeln!(out, "(calls {name}) {arguments}"),
        PartView::ToolResult(result) => {
            let failed = if result.is_error { "(failed) " } else { "" };
            let media =
                if result.media > 0 { format!(" ({} media)", result.media) } else { String::new() };
            writeln!(out, "{failed}{}{media}", result.text)
        }
        PartView::Opaque { kind } => writeln!(out, "({kind})"),
    };
}
