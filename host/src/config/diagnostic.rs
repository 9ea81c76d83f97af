//! What is wrong with a configuration, where, and what to do about it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::shown::shown;
use crate::summarizers::is_variable;

/// Where a value came from, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The defaults that ship.
    Default,
    /// The file of the user.
    User,
    /// The nearest file, which nobody asked for: it may have come with a repository.
    Found,
    /// The file of the project, asked for by name.
    Project,
    /// A `--set` on the command line, the first being 0.
    Set(usize),
}

/// A text with settings, and what to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// How it is called in what is said of it: its path, as short as it is known, or `--set`.
    pub name: String,
    /// Where relative paths in it begin; if this is relative itself, at the current folder of the process.
    pub folder: PathBuf,
    /// What it says.
    pub text: String,
    /// Where it stands among the others.
    pub origin: Origin,
}

impl Source {
    /// A text whose relative paths begin at the folder that its name is in.
    pub fn new(name: impl Into<String>, text: impl Into<String>, origin: Origin) -> Self {
        let (name, text) = (name.into(), text.into());
        let folder = match origin {
            Origin::User | Origin::Found | Origin::Project => Path::new(&name).parent(),
            Origin::Default | Origin::Set(_) => None,
        };
        let folder = folder.map(Path::to_owned).unwrap_or_default();
        Self { name, folder, text, origin }
    }

    /// The line and the column (in characters) of a byte of the text, both from 1.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &self.text[..byte];
        let start = before.rfind('\n').map_or(0, |end| end + 1);
        (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
    }

    /// How a value at this byte is said to come from here: `brute.toml:12`.
    pub(crate) fn cite(&self, byte: usize) -> String {
        match self.origin {
            Origin::Default => "the default".into(),
            Origin::Set(_) => self.name.clone(),
            Origin::User | Origin::Found | Origin::Project => {
                format!("{}:{}", self.name, self.position(byte).0)
            }
        }
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// There is no configuration until this is put right.
    Error,
    /// It works, but hardly as it was meant.
    Warning,
}

/// A piece of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub source: Arc<Source>,
    /// Bytes of it.
    pub span: Range<usize>,
}

/// Something that is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The key at fault, from the top: `trigger.compact-at`, `ladder[1].keep-steps`. Empty if it is
    /// no key.
    pub key: String,
    /// Where it is; nowhere in particular if the file cannot be read, for example.
    pub place: Option<Place>,
}

impl Diagnostic {
    pub(crate) fn error(message: impl Into<String>, key: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            help: None,
            key: key.into(),
            place: None,
        }
    }

    pub(crate) fn warning(message: impl Into<String>, key: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message, key) }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into()).filter(|help| !help.is_empty());
        self
    }

    pub(crate) fn at(mut self, source: &Arc<Source>, span: Range<usize>) -> Self {
        self.place = Some(Place { source: Arc::clone(source), span });
        self
    }

    /// What to sort by: as one would read the sources.
    pub(crate) fn order(&self) -> Option<(Origin, usize, usize)> {
        self.place.as_ref().map(|place| (place.source.origin, place.span.start, place.span.end))
    }

    /// The diagnostic with the lines that it is about, in the manner of rustc, colored or plain.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let title = level.primary_title(shown(&self.message));
        let help = self.help.as_ref().map(|help| Level::HELP.message(shown(help)));
        let text = self.place.as_ref().map(|place| veiled(&place.source.text)).unwrap_or_default();
        let group = match &self.place {
            Some(place) => {
                let span = printable(&text, &place.span);
                let annotation = AnnotationKind::Primary.span(span);
                let snippet =
                    Snippet::source(&*text).path(shown(&place.source.name)).annotation(annotation);
                title.element(snippet)
            }
            None => Group::with_title(title),
        };
        renderer.render(&[group.elements(help)])
    }
}

/// The text with stars over what may be a key, byte for byte: whoever wrote one into a file, against all advice,
/// need not have it shown and logged as well. That is what follows a name such as `api-key` and is no name of a
/// variable, and an address with more in it than a server.
fn veiled(text: &str) -> Cow<'_, str> {
    let secret = |line: &str| {
        let lower = line.to_ascii_lowercase();
        let names = ["api-key", "api_key", "apikey"];
        if let Some(name) = names.iter().filter_map(|name| lower.find(name)).min() {
            let value = name + line[name..].find('=')? + 1;
            let inner = line[value..].trim_start().strip_prefix(['"', '\'']);
            let inner = inner.and_then(|inner| inner.split(['"', '\'']).next());
            return (!inner.is_some_and(is_variable)).then_some(value);
        }
        let address = lower.find("://")? + 3;
        line[address..].contains(['@', '?']).then_some(address)
    };
    if text.lines().all(|line| secret(line).is_none()) {
        return Cow::Borrowed(text);
    }
    let lines = text.split_inclusive('\n').map(|line| {
        let Some(from) = secret(line) else { return line.to_owned() };
        let star = |char: char| match char {
            '\n' | '\r' => char.to_string(),
            char => "*".repeat(char.len_utf8()),
        };
        line[..from].chars().map(String::from).chain(line[from..].chars().map(star)).collect()
    });
    Cow::Owned(lines.collect())
}

/// The span, inside the text and on its characters.
fn printable(text: &str, span: &Range<usize>) -> Range<usize> {
    let floor = |mut byte: usize| {
        byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        byte
    };
    let start = floor(span.start);
    start..floor(span.end).max(start)
}

/// On one line: `brute.toml:7:1: error: … (did you mean …?)`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            let (line, column) = place.source.position(place.span.start);
            write!(f, "{}:{line}:{column}: ", shown(&place.source.name))?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{severity}: {}", shown(&self.message))?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({})", shown(help)))
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = self.place.as_ref();
        let position = place.map(|place| place.source.position(place.span.start));
        let mut fields = serializer.serialize_struct("Diagnostic", 7)?;
        fields.serialize_field("severity", &self.severity)?;
        fields.serialize_field("message", &self.message)?;
        fields.serialize_field("help", &self.help)?;
        fields.serialize_field("key", &self.key)?;
        fields.serialize_field("file", &place.map(|place| &place.source.name))?;
        fields.serialize_field("line", &position.map(|(line, _)| line))?;
        fields.serialize_field("column", &position.map(|(_, column)| column))?;
        fields.end()
    }
}

/// All of them, one after the other, with a line between them.
pub fn render(diagnostics: &[Diagnostic], color: bool) -> String {
    let texts: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.render(color)).collect();
    texts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let source = Source::new("x", "a = 1\nü = 2\n", Origin::User);
        for (byte, position) in [(0, (1, 1)), (5, (1, 6)), (6, (2, 1)), (8, (2, 2)), (99, (3, 1))] {
            assert_eq!(source.position(byte), position, "{byte}");
        }
    }

    #[test]
    fn what_may_be_a_key_is_not_shown() {
        for (line, shown) in [
            (
                "api-key-env = \"OPENAI_API_KEY\" # a name",
                "api-key-env = \"OPENAI_API_KEY\" # a name",
            ),
            ("api-key = \"sk-ü\"\r\nmodel = \"x\"", "api-key =********\r\nmodel = \"x\""),
            ("x = [{ API_KEY='sk', y = 1 }]", "x = [{ API_KEY=**************"),
            ("api-key-env = sk", "api-key-env =***"),
            ("base-url = \"http://a:b@c\"", "base-url = \"http://******"),
            ("base-url = \"http://c/v1\"", "base-url = \"http://c/v1\""),
            ("# api-key", "# api-key"),
        ] {
            assert_eq!(veiled(line), shown);
        }
    }

    #[test]
    fn without_a_place_only_the_words_are_said() {
        let diagnostic = Diagnostic::error("cannot read `x`", "").help("see whether it exists");
        assert_eq!(diagnostic.to_string(), "error: cannot read `x` (see whether it exists)");
        insta::assert_snapshot!(diagnostic.render(false), @"
        error: cannot read `x`
         |
         = help: see whether it exists
        ");
    }

    #[test]
    fn programs_get_line_and_column() {
        let source = Arc::new(Source::new("brute.toml", "a\nbc\n", Origin::Project));
        let diagnostic = Diagnostic::warning("odd", "b").at(&source, 3..4);
        let json = serde_json::to_value(&diagnostic).unwrap();
        assert_eq!((&json["line"], &json["column"]), (&2.into(), &2.into()));
        assert_eq!(diagnostic.to_string(), "brute.toml:2:2: warning: odd");
    }
}
