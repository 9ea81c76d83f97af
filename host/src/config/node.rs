//! Settings as they stand in their sources: values that remember where they were written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostic::{Diagnostic, Origin, Source};

/// A value, and where it is written.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub source: Arc<Source>,
    /// Bytes of the value.
    pub span: Range<usize>,
    pub kind: Kind,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Text(String),
    Whole(i64),
    /// A whole number of more than 64 bits, as it is written. No setting is one, but a message has to
    /// name it, and its range.
    Huge(String),
    Number(f64),
    Flag(bool),
    /// A date or a time. No setting is one, but a message has to name it.
    Date,
    List(Vec<Node>),
    Table(Table),
}

/// Keys and their values.
pub(super) type Table = BTreeMap<String, Entry>;

/// A value under its key.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Bytes of the key, in the source of the value.
    pub key: Range<usize>,
    pub node: Node,
}

impl Entry {
    /// A diagnostic that points at the key.
    pub(super) fn at_key(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.at(&self.node.source, self.key.clone())
    }
}

/// `key=word` with quotes, if they are what is missing.
fn unquoted(text: &str) -> Option<String> {
    let (key, value) = text.split_once('=')?;
    let value = value.trim();
    let is_word = value.starts_with(|char: char| char.is_alphabetic() || "/.~".contains(char))
        && !value.contains(['"', '\'', '\\', '\n']);
    is_word.then(|| format!("{}=\"{value}\"", key.trim()))
}

impl Node {
    /// A table without keys, written nowhere.
    pub(super) fn empty() -> Self {
        let source = Source::new(String::new(), String::new(), Origin::Default);
        Self { source: Arc::new(source), span: 0..0, kind: Kind::Table(Table::new()) }
    }

    /// Reads a source. What can be understood is returned even if the rest cannot.
    pub(super) fn parse(source: &Arc<Source>, diagnostics: &mut Vec<Diagnostic>) -> Self {
        let (document, errors) = DeTable::parse_recoverable(&source.text);
        for error in errors {
            let end = source.text.len();
            let mut diagnostic = Diagnostic::error(tidy(error.message()), "")
                .at(source, error.span().unwrap_or(end..end));
            if matches!(source.origin, Origin::Set(_)) {
                let example = match unquoted(&source.text) {
                    Some(quoted) => {
                        diagnostic.message = "a string needs quotes".to_owned();
                        quoted
                    }
                    None => "window.model=\"gpt-4o\"".to_owned(),
                };
                diagnostic = diagnostic.help(format!(
                    "write `key=value` as in the file; strings need quotes: '{example}'"
                ));
            }
            diagnostics.push(diagnostic);
        }
        let span = document.span();
        let reader = Reader { source };
        Self {
            source: Arc::clone(source),
            span,
            kind: Kind::Table(reader.table(document.get_ref())),
        }
    }

    /// Where the value came from.
    pub(super) fn origin(&self) -> Origin {
        self.source.origin
    }

    /// A diagnostic that points at the value.
    pub(super) fn at_value(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.at(&self.source, self.span.clone())
    }

    pub(super) fn table(&self) -> Option<&Table> {
        match &self.kind {
            Kind::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.kind {
            Kind::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value under these keys.
    pub(super) fn get(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.table()?.get(*key).map(|entry| &entry.node))
    }

    /// Puts `over` on top: tables merge key by key, anything else replaces.
    pub(super) fn merge(&mut self, over: Self) {
        match (&mut self.kind, over.kind) {
            (Kind::Table(base), Kind::Table(table)) if !changes_backend(base, &table) => {
                for (key, entry) in table {
                    match base.get_mut(&key) {
                        Some(known) => {
                            known.node.merge(entry.node);
                            known.key = entry.key;
                        }
                        None => {
                            base.insert(key, entry);
                        }
                    }
                }
                self.source = over.source;
                self.span = over.span;
            }
            (_, kind) => *self = Self { source: over.source, span: over.span, kind },
        }
    }

    /// The value as JSON. Infinity and dates, which JSON does not have, are null.
    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Text(text) => text.as_str().into(),
            Kind::Whole(number) => (*number).into(),
            Kind::Number(number) => (*number).into(),
            Kind::Flag(flag) => (*flag).into(),
            Kind::Huge(_) | Kind::Date => Value::Null,
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Table(table) => {
                table.iter().map(|(key, entry)| (key.clone(), entry.node.to_json())).collect()
            }
        }
    }

    /// What it is, in words that follow "found".
    pub(super) fn words(&self) -> String {
        match &self.kind {
            Kind::Text(_) => "a string".into(),
            Kind::Whole(_) => "a whole number".into(),
            Kind::Number(number) if number.is_finite() => "a number with a fraction".into(),
            Kind::Number(number) => format!("`{}`", number.to_string().to_lowercase()),
            Kind::Huge(number) => format!("`{number}`"),
            Kind::Flag(flag) => format!("`{flag}`"),
            Kind::Date => "a date or time".into(),
            Kind::List(_) => "a list".into(),
            Kind::Table(_) => "a table".into(),
        }
    }

    /// Takes out the value at exactly this place. Whether there was one.
    pub(super) fn remove_at(&mut self, source: &Arc<Source>, span: &Range<usize>) -> bool {
        let here = |node: &Self| Arc::ptr_eq(&node.source, source) && node.span == *span;
        match &mut self.kind {
            Kind::Table(table) => {
                let before = table.len();
                table.retain(|_, entry| !here(&entry.node));
                table.len() < before
                    || table.values_mut().any(|entry| entry.node.remove_at(source, span))
            }
            Kind::List(items) => {
                let before = items.len();
                items.retain(|item| !here(item));
                items.len() < before || items.iter_mut().any(|item| item.remove_at(source, span))
            }
            _ => false,
        }
    }
}

/// The options of one backend mean nothing to another, so that naming another one starts afresh.
fn changes_backend(base: &Table, over: &Table) -> bool {
    let backend = |table: &Table| table.get("backend")?.node.text().map(str::to_owned);
    matches!((backend(base), backend(over)), (Some(old), Some(new)) if old != new)
}

/// The parser's words, as a fragment.
fn tidy(message: &str) -> String {
    let message = message.trim().replace('\n', "; ");
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

struct Reader<'a> {
    source: &'a Arc<Source>,
}

impl Reader<'_> {
    fn table(&self, table: &DeTable<'_>) -> Table {
        let entries = table.iter().map(|(key, value)| {
            let entry = Entry { key: key.span(), node: self.node(value) };
            (key.get_ref().to_string(), entry)
        });
        entries.collect()
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let kind = match value.get_ref() {
            DeValue::String(text) => Kind::Text(text.to_string()),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => Kind::Whole(number),
                    Err(_) => Kind::Huge(self.source.text[value.span()].to_owned()),
                }
            }
            // What TOML takes for a number, Rust does too; one without end is out of every range.
            DeValue::Float(number) => Kind::Number(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => Kind::Flag(*flag),
            DeValue::Datetime(_) => Kind::Date,
            DeValue::Array(items) => Kind::List(items.iter().map(|item| self.node(item)).collect()),
            DeValue::Table(table) => Kind::Table(self.table(table)),
        };
        Node { source: Arc::clone(self.source), span: value.span(), kind }
    }
}
