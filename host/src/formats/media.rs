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
    Some(Media { kind: named.unwrap_or_else(|| kind.to_owned()).into(), tokens, bytes })
}

/// An `image_url` of OpenAI's format, its address a data URL or not.
pub(super) fn openai(part: View<'_>, rule: ImageRule) -> Option<Media> {
    if !part.get("type")?.is_text("image_url") {
        return None;
    }
    let image = part.get("image_url")?;
    let detail = image.get("detail").and_then(View::text);
    let url = if image.is_string() { image.text() } else { image.get("url").and_then(View::text) };
    Some(image_at(&url.unwrap_or_default(), detail.as_deref(), rule))
}

/// An image at an address, which may be a data URL.
fn image_at(url: &str, detail: Option<&str>, rule: ImageRule) -> Media {
    let is_data = url.starts_with("data:") && url.contains(',');
    let source = if is_data { MediaSource::Base64(url) } else { MediaSource::Remote };
    Media {
        kind: kind_of_url(url).unwrap_or("image").into(),
        tokens: image_tokens(rule, source, Detail::from_request(detail)),
        bytes: length(is_data.then_some(url)),
    }
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
    Some(Part::Media(Media { kind: kind.into(), tokens, bytes }))
}

/// Data of Gemini's format, in the request (`inlineData`) or elsewhere (`fileData`). What is no image counts as
/// a document, the nearest published rule.
pub(super) fn gemini(part: View<'_>, rule: ImageRule) -> Option<Media> {
    let holder = super::gemini::data_of(part)?;
    let kind = super::gemini::kind_of(holder);
    let data = holder.get("data").and_then(View::text);
    let source = data.as_deref().map_or(MediaSource::Remote, MediaSource::Base64);
    let is_image = kind.as_deref().is_none_or(|kind| kind.starts_with("image"));
    let tokens = match is_image {
        true => image_tokens(rule, source, Detail::Auto),
        false => document_tokens(rule, source),
    };
    let kind = kind.unwrap_or_else(|| "image".to_owned());
    Some(Media { kind: kind.into(), tokens, bytes: length(data.as_deref()) })
}

/// An image, a file or a sound of OpenAI's Responses format: `{"type": "input_image", "image_url": …}`.
pub(super) fn responses(part: View<'_>, rule: ImageRule) -> Option<Media> {
    let kind = part.get("type").and_then(View::text)?;
    let text = |key: &str| part.get(key).and_then(View::text);
    match &*kind {
        "input_image" | "computer_screenshot" => {
            let detail = text("detail");
            let url = text("image_url").unwrap_or_default();
            Some(image_at(&url, detail.as_deref(), rule))
        }
        "input_file" => {
            let data = text("file_data");
            let payload = data.as_deref();
            let source = payload.map_or(MediaSource::Remote, MediaSource::Base64);
            let kind = payload.and_then(kind_of_url).unwrap_or("application/pdf").to_owned();
            Some(Media {
                kind: kind.into(),
                tokens: document_tokens(rule, source),
                bytes: length(payload),
            })
        }
        "input_audio" => {
            let data = part.get("input_audio").unwrap_or(part).get("data").and_then(View::text);
            let source = data.as_deref().map_or(MediaSource::Remote, MediaSource::Base64);
            let (tokens, bytes) = (document_tokens(rule, source), length(data.as_deref()));
            Some(Media { kind: "audio".into(), tokens, bytes })
        }
        _ => None,
    }
}

/// The kind of data that a data URL says.
fn kind_of_url(url: &str) -> Option<&str> {
    let (head, _) = url.strip_prefix("data:")?.split_once(',')?;
    head.split(';').next().filter(|kind| !kind.is_empty())
}

/// What is sent of media itself; nothing if all that is sent is where it is.
fn length(data: Option<&str>) -> u64 {
    data.map_or(0, |data| data.len() as u64)
}
