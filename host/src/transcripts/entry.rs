//! What a log says, taken out of its records: one entry for each thing that was said, asked or answered.
//!
//! Texts stay JSON strings as the log spells them, quotes included: nothing has to be decoded to be
//! written into a request again.

use crate::formats::json::{Source, View, compact, quote};
use crate::formats::{Format, Usage};

/// JSON, as it is written.
pub(super) type Json = String;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
    /// The answer to calls.
    Tool,
}

impl Speaker {
    /// Whether providers take `part` from it.
    pub(super) fn may_hold(self, part: &Part) -> bool {
        match part {
            Part::Text(_) => true,
            Part::Image(_) => self == Self::User,
            Part::Result(_) | Part::Block { kind: Block::Result(_), .. } => self == Self::Tool,
            Part::Block { kind: Block::Said, .. } => self != Self::Tool,
            Part::Block { kind: Block::Other, .. } => matches!(self, Self::User | Self::Assistant),
            Part::Block { kind: Block::Compaction, .. } => self == Self::System,
            Part::Thought { .. } | Part::Call(_) | Part::Block { .. } => self == Self::Assistant,
            Part::PassedOver { .. } => false,
        }
    }
}

/// One thing that a log holds.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) speaker: Speaker,
    pub(super) parts: Vec<Part>,
    /// Which reply of the model this is a piece of, where logs hold replies in pieces.
    pub(super) reply: Option<String>,
    /// What the provider counted for the request and its reply.
    pub(super) usage: Option<Usage>,
    /// The line of the record, from 1.
    pub(super) line: usize,
}

impl Entry {
    pub(super) fn new(speaker: Speaker, parts: Vec<Part>, line: usize) -> Self {
        Self { speaker, parts, reply: None, usage: None, line }
    }

    pub(super) fn text(speaker: Speaker, text: Json, line: usize) -> Self {
        Self::new(speaker, vec![Part::Text(text)], line)
    }

    /// The result of a call.
    pub(super) fn result(call: String, content: Vec<Part>, is_error: bool, line: usize) -> Self {
        Self::new(Speaker::Tool, vec![Part::Result(Answer { call, content, is_error })], line)
    }

    pub(super) fn of_reply(mut self, reply: Option<String>) -> Self {
        self.reply = reply;
        self
    }

    pub(super) fn with_usage(mut self, usage: Option<Usage>) -> Self {
        self.usage = usage;
        self
    }
}

/// A piece of an entry.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// A JSON string.
    Text(Json),
    /// What the model thought, a JSON string, and the signature over it, another one.
    Thought { text: Json, signature: Option<Json> },
    /// An image: its media type, and its data in base64 or its address.
    Image(Image),
    /// A call of a tool.
    Call(Call),
    /// What came of a call.
    Result(Answer),
    /// A block of a provider's format, as it is: of Anthropic's, an item of OpenAI Responses, a part of Gemini's.
    Block { raw: Json, kind: Block, of: Format },
    /// Something that no request has a place for, what the log calls it, and why. It is told, not sent.
    PassedOver { kind: String, why: &'static str },
}

/// What a block of a provider's format is, as far as it is linked with others.
#[derive(Debug, Clone)]
pub(super) enum Block {
    /// A call, and its id.
    Call(String),
    /// The result of the call of this id.
    Result(String),
    /// What the model thought.
    Thought,
    /// A whole message.
    Said,
    /// What the provider itself left of all before it.
    Compaction,
    /// Anything else.
    Other,
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: String,
    /// A JSON string.
    pub(super) name: Json,
    /// A JSON object.
    pub(super) arguments: Json,
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) call: String,
    /// Texts and images.
    pub(super) content: Vec<Part>,
    pub(super) is_error: bool,
}

/// Where an image is. All are JSON strings.
#[derive(Debug, Clone)]
pub(super) enum Image {
    Data { media_type: Json, data: Json },
    Url(Json),
}

impl Image {
    /// Whether its media type, if it tells one, is an image's.
    fn is_of_its_kind(&self) -> bool {
        match self {
            Self::Data { media_type, .. } => inner(media_type).starts_with("image/"),
            Self::Url(_) => true,
        }
    }

    /// The image at an address, which may hold the image itself.
    pub(super) fn at(url: View<'_>) -> Option<Self> {
        let text = url.text()?;
        let inline = text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        Some(match inline {
            Some((media_type, data)) => {
                Self::Data { media_type: quote(media_type), data: quote(data) }
            }
            None => Self::Url(url.raw().to_owned()),
        })
    }
}

impl Part {
    /// A block of `format`, without the line breaks of a file that is spread over lines.
    pub(super) fn block(block: View<'_>, kind: Block, format: Format) -> Self {
        Self::Block { raw: one_line(block.raw()), kind, of: format }
    }

    /// The call that this makes.
    pub(super) fn call(&self) -> Option<&str> {
        match self {
            Self::Call(Call { id, .. }) | Self::Block { kind: Block::Call(id), .. } => Some(id),
            _ => None,
        }
    }

    /// The call that this answers.
    pub(super) fn answers(&self) -> Option<&str> {
        match self {
            Self::Result(Answer { call, .. }) | Self::Block { kind: Block::Result(call), .. } => {
                Some(call)
            }
            _ => None,
        }
    }

    pub(super) fn is_thought(&self) -> bool {
        matches!(self, Self::Thought { .. } | Self::Block { kind: Block::Thought, .. })
    }

    /// Whether it is what the provider itself left of all before it.
    pub(super) fn is_compaction(&self) -> bool {
        matches!(self, Self::Block { kind: Block::Compaction, .. })
    }

    /// About how long it is in a request, in bytes.
    pub(super) fn len(&self) -> usize {
        const AROUND: usize = 96;
        let text = match self {
            Self::Text(text) | Self::Block { raw: text, .. } | Self::Image(Image::Url(text)) => {
                text.len()
            }
            Self::Thought { text, signature } => {
                text.len() + signature.as_ref().map_or(0, String::len)
            }
            Self::Image(Image::Data { data, .. }) => data.len(),
            Self::Call(call) => call.arguments.len(),
            Self::Result(answer) => answer.content.iter().map(Self::len).sum(),
            Self::PassedOver { .. } => 0,
        };
        AROUND + text
    }

    /// Whether only Anthropic's format has a place for it.
    pub(super) fn wants_anthropic(&self) -> bool {
        matches!(
            self,
            Self::Thought { signature: Some(_), .. } | Self::Block { of: Format::Anthropic, .. }
        )
    }
}

/// A text, unless there is nothing in it.
pub(super) fn text_part(text: Option<View<'_>>) -> Option<Part> {
    let raw = text.filter(|text| text.is_string())?.raw();
    (!is_blank(raw)).then(|| Part::Text(raw.to_owned()))
}

/// Content in the way of OpenAI and all who write like it: a string, or a list of typed parts.
pub(super) fn content_parts(content: Option<View<'_>>) -> Vec<Part> {
    let Some(content) = content else { return Vec::new() };
    if content.is_string() {
        return text_part(Some(content)).into_iter().collect();
    }
    let is_one = (!content.is_array() && !content.is_null()).then_some(content);
    content.items().chain(is_one).filter_map(element).collect()
}

/// An element of content, passed over if it is nothing that is sent. A text without a word is nothing.
fn element(element: View<'_>) -> Option<Part> {
    if element.is_string() {
        return text_part(Some(element));
    }
    let [kind, text, refusal, url, source, inline] =
        element.fields(["type", "text", "refusal", "image_url", "source", "inlineData"]);
    let kind = kind.and_then(View::text).unwrap_or_default();
    let words = if kind == "refusal" { refusal } else { text };
    let (found, why) = match &*kind {
        "text" | "input_text" | "output_text" | "refusal" if words.is_some_and(View::is_string) => {
            return text_part(words);
        }
        "" if words.is_some_and(View::is_string) => return text_part(words),
        "text" | "input_text" | "output_text" | "refusal" => (None, "it has no text"),
        "image_url" | "input_image" => {
            let url = url.map(|url| url.get("url").unwrap_or(url));
            (url.and_then(Image::at).map(Part::Image), "it has no image")
        }
        "image" => (image(element, source).map(Part::Image), "it has no image"),
        "thinking" | "reasoning" => (thought(element), "only the provider can read it"),
        "redacted_thinking" => (redacted(element), "only the provider can read it"),
        _ => {
            let shown = inline.and_then(|inline| image(element, Some(inline)));
            let shown = shown.filter(Image::is_of_its_kind);
            (shown.map(Part::Image), "no request has a place for it")
        }
    };
    Some(found.unwrap_or_else(|| Part::PassedOver { kind: name_of(element, &kind), why }))
}

/// What to call an element: its kind, or what it begins with where it has none.
fn name_of(element: View<'_>, kind: &str) -> String {
    let first = || element.members().next().and_then(|(key, _)| key.string());
    let named = if kind.is_empty() { first() } else { Some(kind.to_owned()) };
    named.unwrap_or_else(|| "part".to_owned())
}

/// What the model thought, in the words of Anthropic, Inspect and LangChain.
pub(super) fn thought(element: View<'_>) -> Option<Part> {
    let [thinking, reasoning, signature] = element.fields(["thinking", "reasoning", "signature"]);
    let text = thinking.or(reasoning).filter(|text| text.is_string())?.raw().to_owned();
    let signature =
        signature.filter(|signature| signature.is_string() && !is_blank(signature.raw()));
    Some(Part::Thought { text, signature: signature.map(|signature| signature.raw().to_owned()) })
}

/// A thought that Anthropic alone can read, as it is.
pub(super) fn redacted(block: View<'_>) -> Option<Part> {
    block.get("data").filter(|data| data.is_string())?;
    Some(Part::block(block, Block::Thought, Format::Anthropic))
}

/// An image in a block: with a `source` as Anthropic has it, with `data` and `mimeType` as MCP and
/// pi have it, with `image_urls` as OpenHands has it, or with an address.
fn image(block: View<'_>, source: Option<View<'_>>) -> Option<Image> {
    let holder = source.unwrap_or(block);
    let raw = |key: &str| holder.get(key).filter(|value| value.is_string());
    if let (Some(data), Some(kind)) =
        (raw("data"), raw("media_type").or_else(|| raw("mimeType")).or_else(|| raw("mime_type")))
    {
        return Some(Image::Data {
            media_type: kind.raw().to_owned(),
            data: data.raw().to_owned(),
        });
    }
    raw("url").or_else(|| raw("image")).and_then(Image::at)
}

/// The arguments of a call as a JSON object, whatever the log made of them. Text that is no object is
/// what `input` is then.
pub(super) fn arguments(given: Option<View<'_>>) -> Json {
    let Some(given) = given.filter(|given| !given.is_null()) else { return "{}".to_owned() };
    if given.is_object() {
        return one_line(given.raw());
    }
    if let Some(text) = given.text() {
        if text.trim().is_empty() {
            return "{}".to_owned();
        }
        let parsed = Source::parse(text.clone().into_owned());
        let is_object = parsed.is_ok_and(|parsed| {
            let mut roots = parsed.roots();
            roots.len() == 1 && roots.next().is_some_and(View::is_object)
        });
        if is_object {
            return text.into_owned();
        }
    }
    format!("{{\"input\":{}}}", one_line(given.raw()))
}

/// JSON without line breaks, so that what a file spreads over lines is no larger for that.
pub(super) fn one_line(raw: &str) -> Json {
    if memchr::memchr(b'\n', raw.as_bytes()).is_some() { compact(raw) } else { raw.to_owned() }
}

/// Whether a JSON string holds nothing but white space, however that is spelled. Looks no further than the first word.
pub(super) fn is_blank(raw: &str) -> bool {
    let mut rest = inner(raw).chars();
    while let Some(char) = rest.next() {
        let char = match char {
            '\\' => match rest.next() {
                Some('n' | 'r' | 't' | 'f') => ' ',
                Some('u') => {
                    let (digits, behind) = rest.as_str().split_at_checked(4).unwrap_or_default();
                    rest = behind.chars();
                    // Half of a pair is of a character that is no white space.
                    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).unwrap_or('\\')
                }
                _ => return false,
            },
            char => char,
        };
        if !char.is_whitespace() {
            return false;
        }
    }
    true
}

/// What stands between the quotes of a JSON string.
pub(super) fn inner(raw: &str) -> &str {
    raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default()
}

/// JSON strings as one, with blank lines between them.
pub(super) fn joined<'a>(texts: impl IntoIterator<Item = &'a Json>) -> Json {
    let mut whole = String::from("\"");
    for text in texts {
        if whole.len() > 1 {
            whole.push_str("\\n\\n");
        }
        whole.push_str(inner(text));
    }
    whole.push('"');
    whole
}
