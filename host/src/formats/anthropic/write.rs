//! Blocks of Anthropic's format, written.

use brute_core::Part;

use crate::formats::Document;
use crate::formats::json::{Style, View, compact, quote};
use crate::formats::patch::Patches;
use crate::formats::turns::Dialect;
use crate::formats::write::{medium_named, text_block, text_block_for};

/// The blocks of Anthropic's messages.
pub(in crate::formats) struct Blocks;

impl Dialect for Blocks {
    const BLOCKS: &'static str = "content";
    const MODEL: &'static str = "assistant";
    const REFUSES_BLANKS: bool = true;

    fn text(text: &str, style: &Style) -> String {
        text_block(text, style)
    }

    fn rewritten(block: View<'_>, old: &Part, new: &Part, style: &Style) -> String {
        let mut patches = Patches::default();
        match (old, new) {
            (Part::Media(_), Part::Text(text)) => {
                return text_block_for(block, &quote(text), style);
            }
            (_, Part::Text(text)) => patches.set(block, "text", quote(text)),
            (_, Part::Reasoning(reasoning)) => {
                patches.set(block, "thinking", quote(&reasoning.text));
            }
            (Part::ToolCall(old), Part::ToolCall(call)) => {
                if old.id != call.id {
                    patches.set(block, "id", quote(&call.id));
                }
                if old.arguments != call.arguments {
                    patches.set(block, "input", input(&call.arguments));
                }
            }
            (Part::ToolResult(old), Part::ToolResult(result)) => {
                if old.call != result.call {
                    patches.set(block, "tool_use_id", quote(&result.call));
                }
                if old.text != result.text || old.media != result.media {
                    patches.set(block, "content", quote(&result.text));
                }
            }
            _ => {}
        }
        patches.apply(block.source().text(), block.span())
    }

    fn new_block(_: &Document, part: &Part, style: &Style) -> Option<String> {
        match part {
            Part::Text(text) if text.trim().is_empty() => None,
            Part::Text(text) => Some(text_block(&quote(text), style)),
            Part::Media(media) => Some(text_block(&quote(&medium_named(&media.kind)), style)),
            Part::ToolCall(call) => Some(style.object(&[
                ("type", quote("tool_use")),
                ("id", quote(&call.id)),
                ("name", quote(&call.name)),
                ("input", input(&call.arguments)),
            ])),
            Part::ToolResult(result) => {
                let mut members = vec![
                    ("type", quote("tool_result")),
                    ("tool_use_id", quote(&result.call)),
                    ("content", quote(&result.text)),
                ];
                if result.is_error {
                    members.push(("is_error", "true".to_owned()));
                }
                Some(style.object(&members))
            }
            Part::Reasoning(_) | Part::Opaque(_) => None,
        }
    }

    fn with_shown(result: View<'_>, mut shown: Vec<String>, style: &Style) -> String {
        let mut elements: Vec<String> = match result.get("content").filter(|it| !it.is_null()) {
            Some(list) if list.is_array() => list.items().map(|it| it.raw().to_owned()).collect(),
            Some(text) if text.raw() != "\"\"" => vec![text_block(text.raw(), &style.deeper())],
            _ => Vec::new(),
        };
        elements.append(&mut shown);
        let mut patches = Patches::default();
        patches.set(result, "content", style.array(&elements));
        patches.apply(result.source().text(), result.span())
    }
}

/// Arguments as the object that the provider wants; on one line, for the sake of JSON lines.
pub(in crate::formats) fn input(arguments: &str) -> String {
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok();
    match compact(arguments) {
        json if is_json && json.starts_with('{') => json,
        _ => format!("{{\"arguments\":{}}}", quote(arguments)),
    }
}
