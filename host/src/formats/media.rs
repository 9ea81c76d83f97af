//! What images and documents count, by the published rules.

use brute_core::{Media, Part};

use super::json::View;
use crate::tokens::media::{Detail, ImageRule, MediaSource, document_tokens, image_tokens};

/// An image of Anthropic's format: `{"source": {"type": "base64", "media_type": …, "data": …}}`.
pub(super) fn anthropic(block: View<'_>, rule: ImageRule) -> Option<Media> {
    let is_document = block.get("type")?.is_text("document");
    if !is_document && !block.get("type")?.is_text("image") {
        return None;
    }
    let source = block.get("source");
    let named = source.and_then(|source| source.get("media_type")).and_then(View::string);
    let data = source.and_then(|source| source.get("data")).and_then(View::text);
    let bytes = data.as_deref().map_or(MediaSource::Remote, MediaSource::Base64);
    let (kind, tokens) = if is_document {
        ("application/pdf", document_tokens(rule, bytes))
    } else {
        ("image", image_tokens(rule, bytes, Detail::Auto))
    };
    let bytes = length(data.as_deref());
    Some(Media { kind: named.unwrap_or_else(|| kind.to_owned()), tokens, bytes })
}

/// An `image_url` of OpenAI's format, its address a data URL or not.
pub(super) fn openai(part: View<'_>, rule: ImageRule) -> Option<Media> {
    if !part.get("type")?.is_text("image_url") {
        return None;
    }
    let image = part.get("image_url")?;
    let detail = image.get("detail").and_then(View::text);
    let url = if image.is_string() { image.text() } else { image.get("url").and_then(View::text) };
    let url = url.unwrap_or_default();
    let data = url.strip_prefix("data:").and_then(|data| data.split_once(','));
    let source = if data.is_some() { MediaSource::Base64(&url) } else { MediaSource::Remote };
    let kind = data.and_then(|(head, _)| head.split(';').next()).filter(|kind| !kind.is_empty());
    Some(Media {
        kind: kind.unwrap_or("image").to_owned(),
        tokens: image_tokens(rule, source, Detail::from_request(detail.as_deref())),
        bytes: length(data.map(|_| &*url)),
    })
}

/// A file or a sound of OpenAI's format: counted as a document, the nearest published rule.
pub(super) fn openai_file(part: View<'_>, rule: ImageRule) -> Option<Part> {
    let kind = part.get("type").and_then(View::string)?;
    let (holder, kind) = match kind.as_str() {
        "file" => (part.get("file")?, "application/pdf"),
        "input_audio" => (part.get("input_audio")?, "audio"),
        _ => return None,
    };
    let data = holder.get("file_data").or_else(|| holder.get("data")).and_then(View::text);
    let source = data.as_deref().map_or(MediaSource::Remote, MediaSource::Base64);
    let (tokens, bytes) = (document_tokens(rule, source), length(data.as_deref()));
    Some(Part::Media(Media { kind: kind.to_owned(), tokens, bytes }))
}

/// What is sent of media itself; nothing if all that is sent is where it is.
fn length(data: Option<&str>) -> u64 {
    data.map_or(0, |data| data.len() as u64)
}
