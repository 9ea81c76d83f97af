//! Images, documents and sounds, taken out of one format and put into another.

use serde_json::{Value, json};

use crate::formats::Format;
use crate::formats::json::View;

/// What is sent of a medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Medium {
    /// `image/png`, `application/pdf`; or, where nobody says, `image`.
    kind: String,
    data: Data,
    /// What a file is called.
    name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Data {
    Base64(String),
    Address(String),
}

impl Medium {
    /// The medium that an element of some content is; none, if it is none, or one that only its provider has.
    pub(super) fn of(element: View<'_>) -> Option<Self> {
        let text = |key: &str| element.get(key).and_then(View::string);
        if let Some(data) = crate::formats::gemini::data_of(element) {
            return Self::of_gemini(data);
        }
        match text("type")?.as_str() {
            "image" | "document" => Self::of_anthropic(element),
            "image_url" => {
                let image = element.get("image_url")?;
                Self::at(&image.string().or_else(|| image.get("url")?.string())?, "image")
            }
            "input_image" | "computer_screenshot" => Self::at(&text("image_url")?, "image"),
            "file" => Self::of_file(element.get("file")?),
            "input_file" => Self::of_file(element),
            "input_audio" => {
                let audio = element.get("input_audio").unwrap_or(element);
                let format = audio.get("format").and_then(View::string);
                let kind = format!("audio/{}", format.as_deref().unwrap_or("wav"));
                Some(Self { kind, data: Data::Base64(audio.get("data")?.string()?), name: None })
            }
            _ => None,
        }
    }

    /// All media among the elements of `content`, in order.
    pub(super) fn all_of(content: View<'_>) -> impl Iterator<Item = Self> {
        let alone = content.is_object().then_some(content);
        alone.into_iter().chain(content.items()).filter_map(Self::of)
    }

    fn of_gemini(data: View<'_>) -> Option<Self> {
        let kind = crate::formats::gemini::kind_of(data).unwrap_or_else(|| "image".to_owned());
        let uri = ["fileUri", "file_uri"].into_iter().find_map(|key| data.get(key));
        let data = match data.get("data") {
            Some(data) => Data::Base64(data.string()?),
            None => Data::Address(uri?.string()?),
        };
        Some(Self { kind, data, name: None })
    }

    fn of_anthropic(block: View<'_>) -> Option<Self> {
        let source = block.get("source")?;
        let is_document = block.get("type")?.is_text("document");
        let usual = if is_document { "application/pdf" } else { "image" };
        let kind = source.get("media_type").and_then(View::string);
        let data = match source.get("type")?.text()?.as_ref() {
            "base64" => Data::Base64(source.get("data")?.string()?),
            "url" => Data::Address(source.get("url")?.string()?),
            _ => return None,
        };
        let name = block.get("title").and_then(View::string);
        Some(Self { kind: kind.unwrap_or_else(|| usual.to_owned()), data, name })
    }

    fn of_file(file: View<'_>) -> Option<Self> {
        let address = file.get("file_data").or_else(|| file.get("file_url"))?.string()?;
        let mut medium = Self::at(&address, "application/pdf")?;
        medium.name = file.get("filename").and_then(View::string);
        Some(medium)
    }

    /// What stands at an address, which may be a data URL.
    fn at(address: &str, usual: &str) -> Option<Self> {
        let inline = address.strip_prefix("data:").and_then(|data| data.split_once(','));
        let (kind, data) = match inline {
            Some((head, data)) => {
                (head.split(';').next().unwrap_or(usual), Data::Base64(data.to_owned()))
            }
            None => (usual, Data::Address(address.to_owned())),
        };
        (!address.is_empty()).then(|| Self { kind: kind.to_owned(), data, name: None })
    }

    fn is(&self, kind: &str) -> bool {
        self.kind == kind || self.kind.starts_with(&format!("{kind}/"))
    }

    /// The address of it, a data URL if need be.
    fn url(&self) -> String {
        match &self.data {
            Data::Base64(data) => format!("data:{};base64,{data}", self.full_kind()),
            Data::Address(address) => address.clone(),
        }
    }

    /// The kind, in full: of an image that nobody named, the most usual one.
    fn full_kind(&self) -> &str {
        if self.kind == "image" { "image/png" } else { &self.kind }
    }

    fn file_name(&self) -> &str {
        self.name.as_deref().unwrap_or("file")
    }

    /// The element that it is in the content of a request of `format`; none, if that has none for it.
    pub(super) fn element(&self, format: Format) -> Option<Value> {
        let is_pdf = self.kind == "application/pdf";
        let data = match &self.data {
            Data::Base64(data) => Some(data),
            Data::Address(_) => None,
        };
        match format {
            Format::OpenaiChat if self.is("image") => {
                Some(json!({"type": "image_url", "image_url": {"url": self.url()}}))
            }
            Format::OpenaiChat if self.is("audio") => {
                let format = self.kind.rsplit('/').next();
                Some(
                    json!({"type": "input_audio", "input_audio": {"data": data?, "format": format}}),
                )
            }
            Format::OpenaiChat if is_pdf && data.is_some() => Some(
                json!({"type": "file", "file": {"filename": self.file_name(), "file_data": self.url()}}),
            ),
            Format::OpenaiResponses if self.is("image") => {
                Some(json!({"type": "input_image", "image_url": self.url()}))
            }
            Format::OpenaiResponses if is_pdf && data.is_some() => Some(
                json!({"type": "input_file", "filename": self.file_name(), "file_data": self.url()}),
            ),
            Format::OpenaiResponses if is_pdf => {
                Some(json!({"type": "input_file", "file_url": self.url()}))
            }
            Format::Anthropic if self.is("image") || is_pdf => {
                let source = match &self.data {
                    Data::Base64(data) => {
                        json!({"type": "base64", "media_type": self.full_kind(), "data": data})
                    }
                    Data::Address(address) => json!({"type": "url", "url": address}),
                };
                Some(json!({"type": if is_pdf { "document" } else { "image" }, "source": source}))
            }
            Format::Gemini => Some(match &self.data {
                Data::Base64(data) => {
                    json!({"inlineData": {"mimeType": self.full_kind(), "data": data}})
                }
                Data::Address(address) => {
                    json!({"fileData": {"mimeType": self.full_kind(), "fileUri": address}})
                }
            }),
            _ => None,
        }
    }
}
