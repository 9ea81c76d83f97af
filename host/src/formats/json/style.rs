//! How a file lays out its JSON, so that what is added looks like its neighbors.

use super::{Source, Token, View};

/// The layout of an object and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Style {
    /// On one line.
    Line {
        /// What stands behind a comma.
        comma: &'static str,
        /// What stands behind a colon.
        colon: &'static str,
    },
    /// A line for each member.
    Block {
        /// How lines end.
        newline: &'static str,
        /// What stands before the closing bracket.
        indent: String,
        /// What each level adds.
        unit: String,
    },
}

impl Style {
    /// The layout of `object`.
    pub(crate) fn of(object: View<'_>) -> Self {
        let text = object.source().text();
        let Some((first, value)) = object.members().next() else {
            return Self::Line { comma: "", colon: "" };
        };
        let (start, end) = (object.span().start, object.span().end);
        let lead = &text[start + 1..first.span().start];
        if let Some((_, inner)) = lead.rsplit_once('\n') {
            let last = object.members().last().map_or(start + 1, |(_, value)| value.span().end);
            let tail = &text[last..end - 1];
            let indent = tail.rsplit_once('\n').map_or("", |(_, indent)| indent);
            let newline = if lead.contains('\r') { "\r\n" } else { "\n" };
            let unit = inner.strip_prefix(indent).unwrap_or("  ");
            return Self::Block { newline, indent: indent.to_owned(), unit: unit.to_owned() };
        }
        let spaced = |from: usize, to: usize| if text[from..to].contains(' ') { " " } else { "" };
        let colon = spaced(first.span().end, value.span().start);
        let second = object.members().nth(1);
        let comma = second.map_or(colon, |(key, _)| spaced(value.span().end, key.span().start));
        Self::Line { comma, colon }
    }

    /// The layout of a value one level below.
    pub(crate) fn deeper(&self) -> Self {
        match self {
            Self::Block { newline, indent, unit } => {
                Self::Block { newline, indent: format!("{indent}{unit}"), unit: unit.clone() }
            }
            line => line.clone(),
        }
    }

    /// What stands between two members or elements.
    pub(crate) fn separator(&self) -> String {
        match self {
            Self::Line { comma, .. } => format!(",{comma}"),
            Self::Block { newline, indent, unit } => format!(",{newline}{indent}{unit}"),
        }
    }

    /// A member, its value already in JSON.
    pub(crate) fn member(&self, key: &str, value: &str) -> String {
        let colon = match self {
            Self::Line { colon, .. } => colon,
            Self::Block { .. } => " ",
        };
        format!("\"{key}\":{colon}{value}")
    }

    /// An object of these members, the values already in JSON.
    pub(crate) fn object(&self, members: &[(&str, String)]) -> String {
        let members: Vec<String> =
            members.iter().map(|(key, value)| self.member(key, value)).collect();
        self.bracketed('{', &members, '}')
    }

    /// An array of these elements, already in JSON.
    pub(crate) fn array(&self, elements: &[String]) -> String {
        self.bracketed('[', elements, ']')
    }

    fn bracketed(&self, open: char, inside: &[String], close: char) -> String {
        let inner = inside.join(&self.separator());
        match self {
            Self::Block { newline, indent, unit } if !inside.is_empty() => {
                format!("{open}{newline}{indent}{unit}{inner}{newline}{indent}{close}")
            }
            _ => format!("{open}{inner}{close}"),
        }
    }
}

/// JSON without the white space between its tokens; text that is no JSON comes back as it is.
pub(crate) fn compact(json: &str) -> String {
    match Source::parse(json.to_owned()) {
        Ok(source) => source.roots().map(|root| compact_with(root, |_, _| None)).collect(),
        Err(_) => json.to_owned(),
    }
}

/// The JSON of `value` without the white space between its tokens. `replace` gets every member that
/// is a string, key and value, and may say what stands for the value instead.
pub(crate) fn compact_with(
    value: View<'_>,
    replace: impl Fn(&str, View<'_>) -> Option<String>,
) -> String {
    let source = value.source();
    let mut compact = String::with_capacity(value.raw().len());
    let mut from = value.span().start;
    let mut key: Option<View<'_>> = None;
    for token in value.tokens() {
        let (view, name) = match token {
            Token::Open(_) | Token::Close => {
                key = None;
                continue;
            }
            Token::Key(view) => (view, None),
            Token::Scalar(view) => (view, key.take().filter(|_| view.is_string())),
        };
        compact.extend(source.text()[from..view.span().start].split_ascii_whitespace());
        let replaced = name.and_then(|name| replace(&name.text()?, view));
        compact.push_str(replaced.as_deref().unwrap_or(view.raw()));
        from = view.span().end;
        if let Token::Key(view) = token {
            key = Some(view);
        }
    }
    compact.extend(source.text()[from..value.span().end].split_ascii_whitespace());
    compact
}
