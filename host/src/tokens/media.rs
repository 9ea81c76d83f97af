//! What images and documents count: by the provider's published rule, never by the length of
//! their base64.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use imagesize::ImageType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::models::Provider;

/// Lenient about padding and trailing bits: only the head of a file is decoded, cut anywhere.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Bytes of an image in which its size nearly always stands.
const HEAD: usize = 4 * 1024;

/// Bytes to look at when it does not: a JPEG may carry a full Exif segment, 64 KiB, before it.
const LONG_HEAD: usize = 144 * 1024;

/// A picture whose size is not known counts as a full screenshot.
const UNKNOWN: (u32, u32) = (1920, 1080);

/// Where the pixels or pages are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaSource<'a> {
    /// The file itself.
    Bytes(&'a [u8]),
    /// The file in base64, with or without `data:…;base64,` before it. Only the head is decoded.
    Base64(&'a str),
    /// Width and height in pixels, where a format states them.
    Pixels(u32, u32),
    /// An address or a file id: nothing to look at.
    Remote,
}

/// How closely the model is asked to look at an image. Only OpenAI's rules know the difference.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Detail {
    /// One small copy of the image.
    Low,
    /// Every tile.
    High,
    /// The provider chooses; counted as `high`.
    #[default]
    Auto,
}

impl Detail {
    /// Reads a request's `detail`. What is missing or unknown counts as `auto`.
    #[must_use]
    pub fn from_request(detail: Option<&str>) -> Self {
        match detail {
            Some("low") => Self::Low,
            Some("high") => Self::High,
            _ => Self::Auto,
        }
    }
}

/// A published rule from pixels to tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ImageRule {
    /// 85 tokens, and 170 for each tile of 512 × 512 pixels, after the image is scaled to fit
    /// 2048 × 2048 and its shorter side to 768. Low detail: 85. Source: OpenAI, "Images and
    /// vision", the rule of GPT-4o and GPT-4.1.
    OpenaiTiles,
    /// One token for each patch of 28 × 28 pixels, after the image is scaled to a long edge of
    /// 1568 and 1568 tokens. Source: Anthropic, "Vision", the standard tier.
    AnthropicStandard,
    /// The same with a long edge of 2576 and 4784 tokens: Claude 4.7 and later.
    AnthropicHigh,
    /// 258 tokens if both sides are at most 384 pixels; else 258 for each tile, whose side is the
    /// shorter side by 1.5, between 256 and 768. Source: Google, "Understand and count tokens",
    /// the rule of Gemini 2.
    GoogleTiles,
    /// 1120 tokens, whatever the size. Source: Google, "Media resolution", the default of
    /// Gemini 3.
    GoogleFixed,
}

impl ImageRule {
    /// Tokens of an image of this many pixels.
    ///
    /// ```
    /// use brute_host::tokens::media::{Detail, ImageRule};
    /// assert_eq!(ImageRule::OpenaiTiles.tokens(1024, 1024, Detail::High), 765);
    /// assert_eq!(ImageRule::AnthropicStandard.tokens(1920, 1080, Detail::Auto), 1560);
    /// ```
    #[must_use]
    pub fn tokens(self, width: u32, height: u32, detail: Detail) -> u32 {
        let (width, height) = (width.max(1), height.max(1));
        match self {
            Self::OpenaiTiles => openai_tiles(width, height, detail),
            Self::AnthropicStandard => anthropic_patches(width, height, 1568, 1568),
            Self::AnthropicHigh => anthropic_patches(width, height, 2576, 4784),
            Self::GoogleTiles => google_tiles(width, height),
            Self::GoogleFixed => 1120,
        }
    }
}

impl From<Provider> for ImageRule {
    /// The rule of the provider's widest used models; a model of the table may name another.
    fn from(provider: Provider) -> Self {
        match provider {
            Provider::Anthropic => Self::AnthropicStandard,
            Provider::Google => Self::GoogleTiles,
            // The other providers speak OpenAI's format and publish no rule that holds for all
            // their models.
            _ => Self::OpenaiTiles,
        }
    }
}

/// Tokens of one image. Takes a rule, or a provider for its usual one.
///
/// The size comes from the head of the file. If it cannot be read (an address, a format that is
/// not known, a broken file), the image counts as a screenshot of 1920 × 1080 pixels.
///
/// ```
/// use brute_host::models::Provider;
/// use brute_host::tokens::media::{Detail, MediaSource, image_tokens};
///
/// let remote = image_tokens(Provider::Openai, MediaSource::Remote, Detail::Low);
/// assert_eq!(remote, 85);
/// ```
#[must_use]
pub fn image_tokens(rule: impl Into<ImageRule>, source: MediaSource<'_>, detail: Detail) -> u32 {
    let (width, height) = pixels(source).unwrap_or(UNKNOWN);
    rule.into().tokens(width, height, detail)
}

/// Tokens of one PDF: its pages, each counted as an image plus its text.
///
/// Page by page, text counts 1,500 tokens (Anthropic, "PDF support": 1,500 to 3,000 a page,
/// besides the image); Google counts 258 for a page as a whole ("Document understanding"). Pages
/// are found by their `/Type /Page` objects. A file that packs those away counts a page for each
/// 50 kB.
#[must_use]
pub fn document_tokens(rule: impl Into<ImageRule>, source: MediaSource<'_>) -> u32 {
    const TEXT_OF_A_PAGE: u32 = 1_500;
    const BYTES_OF_A_PAGE: usize = 50_000;
    // A4 at 150 dots per inch.
    const PAGE: (u32, u32) = (1240, 1754);

    let (file, bytes) = match source {
        MediaSource::Bytes(bytes) => (Some(bytes.to_vec()), bytes.len()),
        MediaSource::Base64(text) => {
            let payload = payload(text);
            (decode_head(payload, payload.len()), payload.len() / 4 * 3)
        }
        MediaSource::Pixels(..) | MediaSource::Remote => (None, 0),
    };
    let pages = match file.as_deref().map_or(0, pages) {
        0 => bytes.div_ceil(BYTES_OF_A_PAGE).max(1),
        found => found,
    };
    let page = match rule.into() {
        ImageRule::GoogleTiles | ImageRule::GoogleFixed => 258,
        rule => rule.tokens(PAGE.0, PAGE.1, Detail::Auto) + TEXT_OF_A_PAGE,
    };
    u32::try_from(pages).unwrap_or(u32::MAX).saturating_mul(page)
}

fn openai_tiles(width: u32, height: u32, detail: Detail) -> u32 {
    const BASE: u32 = 85;
    const TILE: u32 = 170;
    if detail == Detail::Low {
        return BASE;
    }
    let (mut width, mut height) = (f64::from(width), f64::from(height));
    for (side, limit) in [(width.max(height), 2048.0), (width.min(height), 768.0)] {
        // The second limit applies to what the first left.
        let side = if limit < 2048.0 { width.min(height) } else { side };
        if side > limit {
            width *= limit / side;
            height *= limit / side;
        }
    }
    BASE + TILE * tiles(width, 512.0) * tiles(height, 512.0)
}

fn anthropic_patches(width: u32, height: u32, edge: u32, most: u32) -> u32 {
    let (long, short) = (width.max(height), width.min(height));
    let patches = |side: u32| side.div_ceil(28);
    // The largest copy that keeps the shape and both limits, pixel by pixel: the published
    // examples come out exactly, which a closed formula misses at the edges of patches.
    (1..=long.min(edge))
        .rev()
        .map(|side| {
            let other =
                (u64::from(side) * u64::from(short) + u64::from(long) / 2) / u64::from(long);
            let other = u32::try_from(other).unwrap_or(side).max(1);
            patches(side) * patches(other)
        })
        .find(|tokens| *tokens <= most)
        .unwrap_or(1)
}

fn google_tiles(width: u32, height: u32) -> u32 {
    const TILE: u32 = 258;
    if width.max(height) <= 384 {
        return TILE;
    }
    let side = (f64::from(width.min(height)) / 1.5).floor().clamp(256.0, 768.0);
    TILE.saturating_mul(
        tiles(f64::from(width), side).saturating_mul(tiles(f64::from(height), side)),
    )
}

/// How many tiles of `size` cover `side`.
fn tiles(side: f64, size: f64) -> u32 {
    // Scaling may leave a hair over a whole number of tiles. The cast saturates.
    ((side / size - 1e-9).ceil().max(1.0)) as u32
}

/// Width and height of an image, as far as its head tells.
fn pixels(source: MediaSource<'_>) -> Option<(u32, u32)> {
    match source {
        MediaSource::Pixels(width, height) => Some((width, height)),
        MediaSource::Remote => None,
        MediaSource::Bytes(bytes) => {
            [HEAD, LONG_HEAD].into_iter().find_map(|head| size(&bytes[..bytes.len().min(head)]))
        }
        MediaSource::Base64(text) => {
            let payload = payload(text);
            [HEAD, LONG_HEAD]
                .into_iter()
                .find_map(|head| size(&decode_head(payload, head / 3 * 4)?))
        }
    }
}

fn size(head: &[u8]) -> Option<(u32, u32)> {
    // The formats that providers take. Others are not worth trusting a parser with foreign bytes.
    match imagesize::image_type(head).ok()? {
        ImageType::Png | ImageType::Jpeg | ImageType::Gif | ImageType::Webp | ImageType::Bmp => {}
        _ => return None,
    }
    let size = imagesize::blob_size(head).ok()?;
    let side = |pixels: usize| u32::try_from(pixels).ok().filter(|pixels| *pixels > 0);
    Some((side(size.width)?, side(size.height)?))
}

/// The base64 after `data:image/png;base64,`, or all of it.
fn payload(text: &str) -> &str {
    let text = text.trim_start();
    if text.starts_with("data:") {
        text.split_once(',').map_or("", |(_, payload)| payload)
    } else {
        text
    }
}

/// Decodes the first `characters` of base64, line breaks and the URL-safe alphabet allowed.
fn decode_head(payload: &str, characters: usize) -> Option<Vec<u8>> {
    let mut head: Vec<u8> = payload
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=')
        .take(characters)
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    // One character alone holds no byte.
    if head.len() % 4 == 1 {
        head.pop();
    }
    BASE64.decode(head).ok()
}

/// Page objects of a PDF: `/Type /Page`, not `/Pages`.
fn pages(file: &[u8]) -> usize {
    memchr::memmem::find_iter(file, b"/Type")
        .filter(|at| {
            let rest = file[at + b"/Type".len()..].trim_ascii_start();
            rest.strip_prefix(b"/Page")
                .is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphabetic))
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        file.extend(width.to_be_bytes());
        file.extend(height.to_be_bytes());
        file.extend([8, 6, 0, 0, 0]);
        file.resize(20_000, 0xaa);
        file
    }

    /// A JPEG whose frame header stands behind `padding` bytes of Exif.
    fn jpeg(width: u16, height: u16, padding: usize) -> Vec<u8> {
        let mut file = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0".to_vec();
        if padding > 0 {
            file.extend(b"\xff\xe1");
            file.extend(u16::try_from(padding + 2).unwrap().to_be_bytes());
            file.resize(file.len() + padding, 0);
        }
        file.extend(b"\xff\xc0\0\x11\x08");
        file.extend(height.to_be_bytes());
        file.extend(width.to_be_bytes());
        file.extend([3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
        file
    }

    fn base64(bytes: &[u8]) -> String {
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    #[test]
    fn published_examples() {
        let table = [
            (ImageRule::OpenaiTiles, 1024, 1024, 765),
            (ImageRule::OpenaiTiles, 2048, 4096, 1105),
            (ImageRule::OpenaiTiles, 512, 512, 255),
            (ImageRule::OpenaiTiles, 1, 1, 255),
            (ImageRule::AnthropicStandard, 200, 200, 64),
            (ImageRule::AnthropicStandard, 1920, 1080, 1560),
            (ImageRule::AnthropicHigh, 1920, 1080, 2691),
            (ImageRule::AnthropicHigh, 3840, 2160, 4784),
            (ImageRule::AnthropicHigh, 4032, 3024, 4740),
            (ImageRule::AnthropicHigh, 3024, 4032, 4740),
            (ImageRule::GoogleTiles, 384, 384, 258),
            (ImageRule::GoogleTiles, 960, 540, 6 * 258),
            (ImageRule::GoogleFixed, 960, 540, 1120),
        ];
        for (rule, width, height, tokens) in table {
            assert_eq!(
                rule.tokens(width, height, Detail::High),
                tokens,
                "{rule:?} {width}x{height}"
            );
        }
        assert_eq!(ImageRule::OpenaiTiles.tokens(4096, 4096, Detail::Low), 85);
    }

    #[test]
    fn the_size_is_read_from_bytes_base64_and_data_urls() {
        let file = png(1024, 1024);
        let text = base64(&file);
        let url = format!("data:image/png;base64,{text}");
        let broken_lines = text
            .as_bytes()
            .chunks(76)
            .map(|line| std::str::from_utf8(line).unwrap())
            .collect::<Vec<_>>()
            .join("\r\n");
        let url_safe = text.replace('+', "-").replace('/', "_");
        for source in [
            MediaSource::Bytes(&file),
            MediaSource::Base64(&text),
            MediaSource::Base64(&url),
            MediaSource::Base64(&broken_lines),
            MediaSource::Base64(&url_safe),
            MediaSource::Pixels(1024, 1024),
        ] {
            assert_eq!(image_tokens(Provider::Openai, source, Detail::Auto), 765);
        }
    }

    #[test]
    fn a_size_behind_a_long_exif_segment_is_found() {
        for padding in [0, 100, 5_000, 60_000] {
            let file = jpeg(640, 480, padding);
            assert_eq!(pixels(MediaSource::Bytes(&file)), Some((640, 480)), "{padding}");
            assert_eq!(pixels(MediaSource::Base64(&base64(&file))), Some((640, 480)), "{padding}");
        }
    }

    #[test]
    fn what_cannot_be_read_counts_as_a_screenshot() {
        let screenshot = ImageRule::OpenaiTiles.tokens(1920, 1080, Detail::Auto);
        assert_eq!(screenshot, 1105);
        let long = "A".repeat(5_000_000);
        for source in [
            MediaSource::Remote,
            MediaSource::Bytes(b""),
            MediaSource::Bytes(&png(0, 0)),
            MediaSource::Bytes(b"\x89PNG\r\n\x1a\n"),
            MediaSource::Base64(""),
            MediaSource::Base64("data:image/png"),
            MediaSource::Base64("not base64 at all \u{1f642}"),
            MediaSource::Base64(&long),
        ] {
            assert_eq!(image_tokens(Provider::Openai, source, Detail::Auto), screenshot);
        }
    }

    #[test]
    fn documents_count_by_the_page() {
        let pdf =
            b"%PDF-1.4\n<</Type /Pages /Count 2>> <</Type/Page>> <</Type\n/Page /Parent 1 0 R>>";
        let page = 1_500 + ImageRule::AnthropicStandard.tokens(1240, 1754, Detail::Auto);
        assert_eq!(document_tokens(Provider::Anthropic, MediaSource::Bytes(pdf)), 2 * page);
        assert_eq!(
            document_tokens(Provider::Anthropic, MediaSource::Base64(&base64(pdf))),
            2 * page
        );
        assert_eq!(document_tokens(Provider::Google, MediaSource::Bytes(pdf)), 516);
        assert_eq!(document_tokens(Provider::Google, MediaSource::Remote), 258);
        let packed = vec![0_u8; 120_000];
        assert_eq!(document_tokens(Provider::Google, MediaSource::Bytes(&packed)), 3 * 258);
    }

    #[test]
    fn detail_reads_leniently() {
        assert_eq!(Detail::from_request(Some("low")), Detail::Low);
        assert_eq!(Detail::from_request(Some("high")), Detail::High);
        assert_eq!(Detail::from_request(Some("original")), Detail::Auto);
        assert_eq!(Detail::from_request(None), Detail::Auto);
    }

    proptest! {
        #[test]
        fn any_bytes_behind_any_magic_are_survived(
            magic in prop::sample::select(vec![&b""[..], b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ", b"BM", b"RIFF\0\0\0\0WEBPVP8X", b"RIFF\0\0\0\0WEBPVP8L"]),
            rest in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let file = [magic, &rest].concat();
            for rule in [ImageRule::OpenaiTiles, ImageRule::AnthropicHigh, ImageRule::GoogleTiles] {
                let tokens = image_tokens(rule, MediaSource::Bytes(&file), Detail::Auto);
                prop_assert!(tokens > 0);
                prop_assert_eq!(tokens, image_tokens(rule, MediaSource::Base64(&base64(&file)), Detail::Auto));
            }
        }

        #[test]
        fn any_size_has_a_count(width in any::<u32>(), height in any::<u32>()) {
            prop_assert!(ImageRule::OpenaiTiles.tokens(width, height, Detail::High) <= 85 + 170 * 8);
            prop_assert!(ImageRule::AnthropicStandard.tokens(width, height, Detail::High) <= 1568);
            prop_assert!(ImageRule::AnthropicHigh.tokens(width, height, Detail::High) <= 4784);
            prop_assert!(ImageRule::GoogleTiles.tokens(width, height, Detail::High) >= 258);
        }
    }
}
