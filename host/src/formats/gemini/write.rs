//! Parts of Gemini's format, written.

use brute_core::Part;

use super::pairing::{function_of, is_made};
use super::text_of;
use crate::formats::Document;
use crate::formats::anthropic::input;
use crate::formats::json::{Style, View, quote};
use crate::formats::patch::Patches;
use crate::formats::turns::Dialect;
use crate::formats::write::medium_named;

/// The parts of Gemini's contents.
pub(in crate::formats) struct Parts;

impl Dialect for Parts {
    const BLOCKS: &'static str = "parts";
    const MODEL: &'static str = "model";
    const REFUSES_BLANKS: bool = false;

    fn text(text: &str, style: &Style) -> String {
        style.object(&[("text", text.to_owned())])
    }

    fn rewritten(part: View<'_>, old: &Part, new: &Part, style: &Style) -> String {
        let mut patches = Patches::default();
        match (old, new) {
            (Part::Media(_), Part::Text(text)) => return Self::text(&quote(text), style),
            (_, Part::Text(text)) => patches.set(part, "text", quote(text)),
            (_, Part::Reasoning(reasoning)) => patches.set(part, "text", quote(&reasoning.text)),
            (Part::ToolCall(old), Part::ToolCall(call)) => {
                let Some(given) = inside(part, ["functionCall", "function_call"]) else {
                    return part.raw().to_owned();
                };
                set_id(given, &old.id, &call.id, &mut patches);
                if old.arguments != call.arguments {
                    patches.set(given, "args", input(&call.arguments));
                }
            }
            (Part::ToolResult(old), Part::ToolResult(result)) => {
                let Some(given) = inside(part, ["functionResponse", "function_response"]) else {
                    return part.raw().to_owned();
                };
                set_id(given, &old.call, &result.call, &mut patches);
                if old.text != result.text || old.media != result.media {
                    match given.get("response").and_then(text_of) {
                        Some(text) => patches.replace(text.span(), quote(&result.text)),
                        None => {
                            let json = response(&result.text, result.is_error, style);
                            patches.set(given, "response", json);
                        }
                    }
                    if given.get("parts").is_some() {
                        patches.remove(given, &["parts"]);
                    }
                }
            }
            _ => {}
        }
        patches.apply(part.source().text(), part.span())
    }

    fn new_block(document: &Document, part: &Part, style: &Style) -> Option<String> {
        let inner = style.deeper();
        let with_id = |mut members: Vec<(&'static str, String)>, id: &str| {
            if !is_made(id) {
                members.insert(0, ("id", quote(id)));
            }
            inner.object(&members)
        };
        Some(match part {
            Part::Text(text) => Self::text(&quote(text), style),
            Part::Media(media) => Self::text(&quote(&medium_named(&media.kind)), style),
            Part::ToolCall(call) => {
                let members = vec![("name", quote(&call.name)), ("args", input(&call.arguments))];
                style.object(&[("functionCall", with_id(members, &call.id))])
            }
            Part::ToolResult(result) => {
                let name = document.pieces.call(&result.call).map(|(call, _)| &*call.name);
                let name = name.or_else(|| function_of(&result.call)).unwrap_or(&result.call);
                let response = response(&result.text, result.is_error, &inner.deeper());
                let members = vec![("name", quote(name)), ("response", response)];
                style.object(&[("functionResponse", with_id(members, &result.call))])
            }
            Part::Reasoning(_) | Part::Opaque(_) => return None,
        })
    }

    fn with_shown(result: View<'_>, shown: Vec<String>, style: &Style) -> String {
        let mut patches = Patches::default();
        if let Some(given) = inside(result, ["functionResponse", "function_response"]) {
            let there = given.get("parts").into_iter().flat_map(View::items);
            let mut parts: Vec<String> = there.map(|part| part.raw().to_owned()).collect();
            parts.extend(shown);
            patches.set(given, "parts", style.array(&parts));
        }
        patches.apply(result.source().text(), result.span())
    }
}

/// A response that says `text`.
fn response(text: &str, is_error: bool, style: &Style) -> String {
    style.object(&[(if is_error { "error" } else { "output" }, quote(text))])
}

/// The member of a part that is of one of these names.
fn inside<'a>(part: View<'a>, names: [&str; 2]) -> Option<View<'a>> {
    names.into_iter().find_map(|name| part.get(name)).filter(|inside| inside.is_object())
}

/// Renames a call, where it has an id.
fn set_id(given: View<'_>, old: &str, new: &str, patches: &mut Patches) {
    if old != new && !is_made(new) && given.get("id").is_some_and(|id| !id.is_null()) {
        patches.set(given, "id", quote(new));
    }
}
