//! From the bytes of an input to its records.
//!
//! A log is a file of lines, most of them one JSON value, or one value that may be spread over lines.
//! What it is shows in its first records; what shows nothing by then is no log of an agent.

use std::io::{BufRead, BufReader, Read};

use super::log::{Log, Wanted};
use super::readers::{Reader, aider, reader};
use super::{Ask, Input, Kind, Options, Transcript, TranscriptError, sniff};
use crate::formats::json::{MOST_BYTES, Source};

/// So many lines may pass before one shows whose log it is.
const LINES_BEFORE_MARKS: usize = 256;

/// So many bytes may pass before.
const BYTES_BEFORE_MARKS: usize = 8 << 20;

/// Reads an input: as the log of an agent, if it is one.
///
/// # Errors
/// If the input cannot be read, or is the log of an agent and holds no conversation that can be read.
pub fn read(input: impl Read, options: &Options) -> Result<Input, TranscriptError> {
    read_asked(input, options.ask())
}

/// The same, of a log with several conversations that which the log calls `name`, whatever
/// [`Options::pick`] says.
///
/// # Errors
/// As [`read`], and if the log holds no conversation of that name.
pub fn read_named(
    input: impl Read,
    options: &Options,
    name: &str,
) -> Result<Input, TranscriptError> {
    read_asked(input, Ask { wanted: Wanted::Named(name), ..options.ask() })
}

fn read_asked(input: impl Read, ask: Ask<'_>) -> Result<Input, TranscriptError> {
    let mut lines = Lines { input: BufReader::with_capacity(1 << 16, input), number: 0 };
    let mut held = Held::default();
    while let Some(line) = lines.next()? {
        if is_aider(&line) || ask.kind == Some(Kind::Aider) {
            held.push(Item::Blank(line));
            return aider_of(held, lines, ask);
        }
        match parse(line, lines.number)? {
            Line::Blank(bytes) => held.push(Item::Blank(bytes)),
            Line::Values(source) => {
                let kind = ask.kind.or_else(|| source.roots().find_map(sniff::kind));
                held.push(Item::Values(source, lines.number));
                if let Some(kind) = kind {
                    return stream(kind, held, lines, ask);
                }
            }
            // The first line of a value that is spread over lines.
            Line::Torn { bytes, is_cut: true } if held.is_blank() => {
                held.push(Item::Blank(bytes));
                return spread(held, lines, ask);
            }
            Line::Torn { bytes, .. } => held.push(Item::Torn(bytes, lines.number)),
        }
        if held.is_enough() {
            break;
        }
    }
    held.end(lines, ask)
}

fn is_aider(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"# aider chat started at")
}

/// The lines of an input, as they are.
struct Lines<R> {
    input: BufReader<R>,
    /// The newest, from 1.
    number: usize,
}

impl<R: Read> Lines<R> {
    fn next(&mut self) -> Result<Option<Vec<u8>>, TranscriptError> {
        let mut line = Vec::new();
        self.input.read_until(b'\n', &mut line)?;
        self.number += 1;
        Ok((!line.is_empty()).then_some(line))
    }

    fn rest(&mut self, held: &mut Vec<u8>) -> Result<(), TranscriptError> {
        self.input.read_to_end(held)?;
        Ok(())
    }
}

/// What was read before it was known what it is.
#[derive(Default)]
struct Held {
    items: Vec<Item>,
    size: usize,
}

/// A line that is held.
enum Item {
    Blank(Vec<u8>),
    /// Values, and their line.
    Values(Source, usize),
    /// A line that is no value, and its number.
    Torn(Vec<u8>, usize),
}

impl Held {
    fn push(&mut self, item: Item) {
        self.size += match &item {
            Item::Blank(bytes) | Item::Torn(bytes, _) => bytes.len(),
            Item::Values(source, _) => source.text().len(),
        };
        self.items.push(item);
    }

    /// Whether nothing was read yet.
    fn is_blank(&self) -> bool {
        self.items.iter().all(|item| matches!(item, Item::Blank(_)))
    }

    fn is_enough(&self) -> bool {
        self.items.len() > LINES_BEFORE_MARKS || self.size > BYTES_BEFORE_MARKS
    }

    /// The bytes as they came.
    fn into_bytes(self) -> Vec<u8> {
        let mut all = Vec::new();
        for item in self.items {
            let bytes = match item {
                Item::Blank(bytes) | Item::Torn(bytes, _) => bytes,
                Item::Values(source, _) => source.into_text().into_bytes(),
            };
            // The only line there is need not be copied.
            match all.is_empty() {
                true => all = bytes,
                false => all.extend(bytes),
            }
        }
        all
    }

    /// What it is if no agent's marks are in it.
    fn end<R: Read>(self, mut lines: Lines<R>, ask: Ask<'_>) -> Result<Input, TranscriptError> {
        if let Some(kind) = ask.kind {
            let why = "it has no records that are JSON".to_owned();
            return Err(TranscriptError::NotThat { kind, why });
        }
        let mut bytes = self.into_bytes();
        lines.rest(&mut bytes)?;
        Ok(Input::Other(bytes))
    }
}

/// A line, read.
enum Line {
    Blank(Vec<u8>),
    Values(Source),
    /// No JSON, perhaps since its end is missing.
    Torn {
        bytes: Vec<u8>,
        is_cut: bool,
    },
}

fn parse(bytes: Vec<u8>, line: usize) -> Result<Line, TranscriptError> {
    if bytes.len() > MOST_BYTES {
        return Err(TranscriptError::TooLarge { line, bytes: bytes.len(), most: MOST_BYTES });
    }
    if bytes.trim_ascii_start().is_empty() {
        return Ok(Line::Blank(bytes));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Ok(Line::Torn { bytes: error.into_bytes(), is_cut: false }),
    };
    if !matches!(first_of(&text), Some(b'{' | b'[')) {
        return Ok(Line::Torn { bytes: text.into_bytes(), is_cut: false });
    }
    Ok(match Source::parse_or_back(text) {
        Ok(source) => Line::Values(source),
        Err((text, fault)) => {
            Line::Torn { bytes: text.into_bytes(), is_cut: fault.excerpt.is_empty() }
        }
    })
}

fn first_of(text: &str) -> Option<u8> {
    text.trim_start_matches('\u{feff}').trim_start().bytes().next()
}

/// Reads a log of records, those that are held and then those to come.
fn stream<R: Read>(
    kind: Kind,
    held: Held,
    mut lines: Lines<R>,
    ask: Ask<'_>,
) -> Result<Input, TranscriptError> {
    let mut feed = Feed::new(kind, ask);
    for item in held.items {
        match item {
            Item::Blank(_) => {}
            Item::Values(source, line) => feed.values(source, line),
            Item::Torn(bytes, line) => feed.torn(bytes, line),
        }
    }
    while let Some(line) = lines.next()? {
        let number = lines.number;
        match parse(line, number)? {
            Line::Blank(_) => {}
            Line::Values(source) => feed.values(source, number),
            Line::Torn { bytes, .. } => feed.torn(bytes, number),
        }
    }
    feed.end(ask)
}

/// Reads a value that is spread over lines.
fn spread<R: Read>(
    held: Held,
    mut lines: Lines<R>,
    ask: Ask<'_>,
) -> Result<Input, TranscriptError> {
    let mut bytes = held.into_bytes();
    lines.rest(&mut bytes)?;
    if bytes.len() > MOST_BYTES {
        let (bytes, most) = (bytes.len(), MOST_BYTES);
        return Err(TranscriptError::TooLarge { line: 1, bytes, most });
    }
    let other = |bytes: Vec<u8>, why: String| match ask.kind {
        Some(kind) => Err(TranscriptError::NotThat { kind, why }),
        None => Ok(Input::Other(bytes)),
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return other(error.into_bytes(), "it is not UTF-8".to_owned()),
    };
    match Source::parse_or_back(text) {
        Ok(source) => match ask.kind.or_else(|| source.roots().find_map(sniff::kind)) {
            Some(kind) => {
                let mut feed = Feed::new(kind, ask);
                feed.values(source, 1);
                feed.end(ask)
            }
            None => Ok(Input::Other(source.into_text().into_bytes())),
        },
        Err((text, fault)) => {
            let (line, expected) = (fault.position.line, fault.expected);
            other(text.into_bytes(), format!("line {line} is no JSON: {expected} should come"))
        }
    }
}

fn aider_of<R: Read>(
    held: Held,
    mut lines: Lines<R>,
    ask: Ask<'_>,
) -> Result<Input, TranscriptError> {
    let mut bytes = held.into_bytes();
    lines.rest(&mut bytes)?;
    let mut log = Log::new(ask.wanted);
    aider::read(&String::from_utf8_lossy(&bytes), &mut log);
    drop(bytes);
    Transcript::of(Kind::Aider, log, ask).map(|transcript| Input::Transcript(Box::new(transcript)))
}

/// Hands values to the reader of their kind.
struct Feed<'a> {
    kind: Kind,
    reader: Box<dyn Reader>,
    log: Log<'a>,
}

impl<'a> Feed<'a> {
    fn new(kind: Kind, ask: Ask<'a>) -> Self {
        Self { kind, reader: reader(kind, ask.whole), log: Log::new(ask.wanted) }
    }

    /// All values of a line: two may be glued together.
    fn values(&mut self, mut source: Source, line: usize) {
        if !source.lone_surrogates().is_empty() {
            let what =
                "put U+FFFD in the place of half of a surrogate pair, which no provider accepts";
            self.log.problem(line, what);
            source = source.without_lone_surrogates();
        }
        if source.roots().len() > 1 && self.log.records > 0 {
            let count = source.roots().len();
            self.log.problem(line, format!("read {count} records that are glued together"));
        }
        for root in source.roots() {
            // A value that holds many records counts as these, by its reader.
            let before = self.log.records;
            self.reader.value(root, line, &mut self.log);
            self.log.records = self.log.records.max(before + 1);
        }
    }

    /// A line that is not JSON as it is.
    fn torn(&mut self, bytes: Vec<u8>, line: usize) {
        if bytes.trim_ascii_start().starts_with(b"#") {
            self.log.skip("comment", "it is no record", line);
            return;
        }
        let mended = match String::from_utf8(bytes) {
            Ok(_) => None,
            Err(error) => {
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                Source::parse(text).ok()
            }
        };
        match mended {
            Some(source) => {
                let what = "put U+FFFD in the place of bytes that are not UTF-8";
                self.log.problem(line, what);
                self.values(source, line);
            }
            None => {
                self.log.records += 1;
                self.log.skip("line", "it is no complete JSON", line);
            }
        }
    }

    fn end(mut self, ask: Ask<'_>) -> Result<Input, TranscriptError> {
        self.log.end();
        self.reader.end(&mut self.log);
        // What it knows of the records is as large as a log of short ones.
        drop(self.reader);
        Transcript::of(self.kind, self.log, ask)
            .map(|transcript| Input::Transcript(Box::new(transcript)))
    }
}
