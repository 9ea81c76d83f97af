//! The reference of all keys, from their docs.

use std::fmt::Write;

use serde_json::Value;

use super::document::{fields, rung_fields};
use super::show::toml_value;
use crate::layers::{Candidates, Field, Layers, Shape, Variant, kebab};

/// A key that there is no reference for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no key `{key}` ({help})")]
pub struct UnknownKey {
    /// The key.
    pub key: String,
    /// The nearest key, or which there are.
    pub help: String,
}

/// What is known about a key or a section: `trigger.compact-at`, `window`, `ladder.timeout`,
/// `sliding-window.keep-steps`, `sliding-window`.
///
/// ```
/// use brute_host::{config::reference, layers::Layers};
///
/// assert_eq!(
///     reference("trigger.compact-to", &Layers::built_in()).unwrap(),
///     "trigger.compact-to\n\n  \
///      The size that a compaction aims for. Below `compact-at`.\n\n  \
///      type: a fraction, a percentage or a number of tokens\n  default: 0.4\n"
/// );
/// ```
///
/// # Errors
/// If there is no such key.
pub fn reference(key: &str, layers: &Layers) -> Result<String, UnknownKey> {
    let wanted = kebab(key);
    let groups = groups(layers);
    let all: Vec<_> = groups.iter().flat_map(Group::keys).collect();
    if let Some(group) = groups.iter().find(|group| group.name == key && !key.is_empty()) {
        return Ok(group.text());
    }
    if let Some((name, field)) = all.iter().find(|(name, _)| kebab(name) == wanted) {
        return Ok(entry(name, field));
    }
    // A key alone is enough where only one has it.
    let short: Vec<_> = all
        .iter()
        .filter(|(name, _)| name.rsplit_once('.').is_some_and(|(_, last)| kebab(last) == wanted))
        .collect();
    if let [(name, field)] = short.as_slice() {
        return Ok(entry(name, field));
    }
    let help = if short.is_empty() {
        let names = groups.iter().map(|group| group.name.as_str()).filter(|name| !name.is_empty());
        let names: Vec<_> = names.chain(all.iter().map(|(name, _)| name.as_str())).collect();
        Candidates::new("keys", names).advice(key)
    } else {
        let names: Vec<_> = short.iter().map(|(name, _)| format!("`{name}`")).collect();
        format!("there are {}", names.join(", "))
    };
    Err(UnknownKey { key: key.into(), help })
}

/// The reference of all keys, as Markdown.
pub fn reference_markdown(layers: &Layers) -> String {
    let mut text = String::from(
        "# `brute.toml`\n\nEvery key, with its default. `brute config KEY` says the same in a terminal.\n",
    );
    for group in groups(layers) {
        let title = match group.kind {
            GroupKind::Top => "The top of the file".to_owned(),
            GroupKind::Section => format!("`[{}]`", group.name),
            GroupKind::Rungs => "`[[ladder]]`".to_owned(),
            GroupKind::Layer => format!("`layer = \"{}\"`", group.name),
        };
        // Writing to a string does not fail.
        let _ = write!(text, "\n## {title}\n\n{}\n", group.doc);
        for field in &group.fields {
            let _ = write!(text, "\n### `{}`\n\n{}\n\n", field.name, field.doc);
            for (name, value) in facts(field) {
                let value = match name {
                    "type" => value,
                    _ if value == "none" => value,
                    _ => format!("`{value}`"),
                };
                let _ = writeln!(text, "* {name}: {value}");
            }
        }
    }
    text
}

#[derive(PartialEq)]
enum GroupKind {
    Top,
    Section,
    Rungs,
    Layer,
}

/// Keys that stand together.
pub(super) struct Group {
    pub name: String,
    doc: String,
    kind: GroupKind,
    pub fields: Vec<Field>,
}

/// All keys that there are.
pub(super) fn groups(layers: &Layers) -> Vec<Group> {
    let mut top = Vec::new();
    let mut groups = Vec::new();
    for section in fields().to_vec() {
        let sub = nested(&section.shape, "");
        if section.name == "ladder" {
            continue;
        }
        if sub.is_empty() {
            top.push(section);
        } else {
            groups.push(Group {
                name: section.name,
                doc: section.doc,
                kind: GroupKind::Section,
                fields: sub,
            });
        }
    }
    groups.insert(
        0,
        Group {
            name: String::new(),
            doc: "Keys before the first section.".into(),
            kind: GroupKind::Top,
            fields: top,
        },
    );
    groups.push(Group {
        name: "ladder".into(),
        doc: super::document::LADDER_DOC.into(),
        kind: GroupKind::Rungs,
        fields: with_nested(rung_fields().to_vec()),
    });
    groups.extend(layers.iter().map(|kind| Group {
        name: kind.name.clone(),
        doc: format!("{} (version {}).", capitalized(&kind.summary), kind.version),
        kind: GroupKind::Layer,
        fields: with_nested(kind.fields().to_vec()),
    }));
    groups
}

/// The keys below a value of this shape, each with its path from there.
fn nested(shape: &Shape, path: &str) -> Vec<Field> {
    let below = |fields: &[Field]| {
        let fields = fields.iter().map(|field| Field {
            name: if path.is_empty() {
                field.name.clone()
            } else {
                format!("{path}.{}", field.name)
            },
            ..field.clone()
        });
        with_nested(fields.collect())
    };
    match shape {
        Shape::Table(fields) => below(fields),
        Shape::Map(item) => {
            let path = if path.is_empty() { "NAME".to_owned() } else { format!("{path}.NAME") };
            nested(item, &path)
        }
        Shape::Tagged { tag, variants } => {
            let choices = variants.iter().map(|variant| crate::layers::Choice {
                value: variant.name.clone(),
                doc: variant.doc.clone(),
            });
            let described: Vec<_> = variants
                .iter()
                .map(|variant| format!("* `{}`: {}", variant.name, variant.doc.replace('\n', " ")))
                .collect();
            let mut all = vec![Field {
                name: tag.clone(),
                doc: format!("Which one.\n\n{}", described.join("\n")),
                default: None,
                example: variants.first().map(|variant| variant.name.as_str().into()),
                required: true,
                shape: Shape::Choice(choices.collect()),
            }];
            all.extend(with_their_variants(tag, variants));
            below(&all)
        }
        _ => Vec::new(),
    }
}

/// The keys of variants, each once, with the names of the variants that have it. Where a key is for something else
/// in another variant, it says that too.
fn with_their_variants(tag: &str, variants: &[Variant]) -> Vec<Field> {
    let mut told: Vec<(Field, Vec<String>)> = Vec::new();
    for variant in variants {
        for field in &variant.fields {
            let name = format!("`{tag} = \"{}\"`", variant.name);
            match told.iter_mut().find(|(known, _)| known == field) {
                Some((_, names)) => names.push(name),
                None => told.push((field.clone(), vec![name])),
            }
        }
    }
    let mut all: Vec<Field> = Vec::new();
    for (field, names) in told {
        let doc = format!("{}\n\nWith {}.", field.doc, names.join(" or "));
        match all.iter_mut().find(|known| known.name == field.name) {
            Some(known) => {
                known.doc = format!("{}\n\n{doc}", known.doc);
                if let Some(default) = field.default.filter(|it| known.default.as_ref() != Some(it))
                {
                    known.doc = format!("{} Default: `{}`.", known.doc, toml_value(&default));
                }
            }
            None => all.push(Field { doc, ..field }),
        }
    }
    all
}

/// The keys, each followed by those below it; a table whose keys are listed is not listed itself.
fn with_nested(fields: Vec<Field>) -> Vec<Field> {
    let mut all = Vec::new();
    for field in fields {
        let below = nested(&field.shape, &field.name);
        if below.is_empty() || matches!(field.shape, Shape::Map(_)) {
            all.push(field);
        }
        all.extend(below);
    }
    all
}

impl Group {
    /// The keys with their full names.
    fn keys(&self) -> impl Iterator<Item = (String, &Field)> {
        self.fields.iter().map(|field| {
            let name = match self.kind {
                GroupKind::Top => field.name.clone(),
                _ => format!("{}.{}", self.name, field.name),
            };
            (name, field)
        })
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n\n{}\n", self.name, indented(&self.doc));
        let width = self.fields.iter().map(|field| field.name.len()).max().unwrap_or(0);
        if !self.fields.is_empty() {
            text.push('\n');
        }
        for field in &self.fields {
            let default = match &field.default {
                Some(value) if !is_empty(value) => format!(" [{}]", toml_value(value)),
                _ => String::new(),
            };
            let _ = writeln!(text, "  {:width$}  {}{default}", field.name, field.summary());
        }
        text
    }
}

fn entry(key: &str, field: &Field) -> String {
    let mut text = format!("{key}\n\n{}\n\n", indented(&field.doc));
    for (name, value) in facts(field) {
        let _ = writeln!(text, "  {name}: {value}");
    }
    text
}

/// Type, default, example.
fn facts(field: &Field) -> Vec<(&'static str, String)> {
    let default = match &field.default {
        Some(value) => toml_value(value),
        None if field.required => "none; it has to be given".into(),
        None => "none".into(),
    };
    let mut facts = vec![("type", type_words(field)), ("default", default)];
    if let Some(example) = &field.example {
        let name = field.name.rsplit('.').next().unwrap_or(&field.name);
        facts.push(("example", format!("{name} = {}", toml_value(example))));
    }
    facts
}

fn type_words(field: &Field) -> String {
    field.shape.words()
}

fn indented(text: &str) -> String {
    let lines: Vec<_> = text
        .lines()
        .map(|line| if line.is_empty() { String::new() } else { format!("  {line}") })
        .collect();
    lines.join("\n")
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Whether a default says nothing: an empty table does not.
pub(super) fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty)
}
