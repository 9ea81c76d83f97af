//! Holds settings against the fields that there are: names, types, ranges.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::amount::Amount;
use super::de::Fault;
use super::diagnostic::Diagnostic;
use super::node::{Entry, Kind, Node, Table};
use super::resolve::with_key;
use super::show::toml_value;
use crate::layers::{Candidates, Field, LayerKind, Layers, Shape, nearest, one_of, schema_of};
use crate::plugins::Plugins;
use crate::quantity::{ByteSize, Span};

/// Whose keys are looked at, for messages.
#[derive(Clone, Copy)]
enum Scope<'a> {
    File,
    Section(&'a str),
    Layer(&'a str),
    /// A section whose keys depend on one of them: the section, that key, what it says.
    Variant(&'a str, &'a str, &'a str),
}

/// Looks at everything, and takes out what is wrong, so that the rest can still be understood.
pub(super) struct Checker<'a> {
    pub layers: &'a Layers,
    pub plugins: &'a Plugins,
    pub fields: &'a [Field],
    pub rung: &'a [Field],
    /// Whether rungs of layers that are not known are left out.
    pub known_only: bool,
    pub diagnostics: &'a mut Vec<Diagnostic>,
}

impl Checker<'_> {
    /// Looks at a whole document.
    pub(super) fn document(&mut self, document: &mut Node) {
        let fields = self.fields;
        let Some(table) = document.table_mut() else { return };
        let mut ladder = table.remove("ladder");
        self.table(table, &fields.iter().collect::<Vec<_>>(), Scope::File, "");
        if let Some(entry) = &mut ladder {
            match &mut entry.node.kind {
                Kind::List(rungs) => {
                    let mut index = 0..;
                    rungs.retain_mut(|rung| self.rung(rung, index.next().unwrap_or_default()));
                }
                _ => {
                    let found = entry.node.words();
                    let message = format!("expected rungs for `ladder`, found {found}");
                    let help = "begin each rung with `[[ladder]]` and name its `layer`";
                    let diagnostic = Diagnostic::error(message, "ladder").help(help);
                    self.diagnostics.push(entry.node.at_value(diagnostic));
                    return;
                }
            }
        }
        table.extend(ladder.map(|ladder| ("ladder".to_owned(), ladder)));
    }

    /// Whether the rung can be built as far as its keys say.
    fn rung(&mut self, rung: &mut Node, index: usize) -> bool {
        let path = format!("ladder[{index}]");
        if rung.table().is_none() {
            let message = format!("expected a table for a rung, found {}", rung.words());
            let help = "a rung is a table such as `{ layer = \"tool-results\" }`";
            self.diagnostics.push(rung.at_value(Diagnostic::error(message, path).help(help)));
            return false;
        }
        let fields = self.rung;
        let own: Vec<&Field> = fields.iter().collect();
        let Some(layer) = rung.get(&["layer"]) else {
            let names = self.layers.iter().map(|kind| kind.name.as_str());
            let help = format!("name one with `layer = \"…\"`: {}", one_of(names));
            let diagnostic = Diagnostic::error("a rung names no layer", path).help(help);
            self.diagnostics.push(rung.at_value(diagnostic));
            return false;
        };
        let kind = match layer.text() {
            Some(name) => match self.layers.get(name) {
                Some(kind) => kind,
                None => {
                    let (message, help) = self.plugins.no_layer(self.layers, name);
                    let key = format!("{path}.layer");
                    let diagnostic = match self.known_only {
                        true => {
                            Diagnostic::warning(format!("{message}: its rung is left out"), key)
                        }
                        false => Diagnostic::error(message, key).help(help),
                    };
                    self.diagnostics.push(layer.at_value(diagnostic));
                    self.own_keys(rung, &own, &path);
                    return false;
                }
            },
            None => {
                self.own_keys(rung, &own, &path);
                return false;
            }
        };
        let mut all = own;
        all.extend(kind.fields());
        let name = kind.name.as_str();
        if let Some(table) = rung.table_mut() {
            self.table(table, &all, Scope::Layer(name), &path);
        }
        true
    }

    /// Looks at the options of a layer by themselves.
    pub(super) fn options(&mut self, options: &mut Node, kind: &LayerKind) {
        if let Some(table) = options.table_mut() {
            self.table(
                table,
                &kind.fields().iter().collect::<Vec<_>>(),
                Scope::Layer(&kind.name),
                "",
            );
        }
    }

    /// Looks at the keys that every rung has, where nothing is known about the others.
    fn own_keys(&mut self, rung: &mut Node, own: &[&Field], path: &str) {
        if let Some(table) = rung.table_mut() {
            table.retain(|key, _| own.iter().any(|field| field.name == *key));
            self.table(table, own, Scope::Layer(""), path);
        }
    }

    fn table(&mut self, table: &mut Table, fields: &[&Field], scope: Scope<'_>, path: &str) {
        table.retain(|key, entry| {
            let path =
                if path.is_empty() { key.clone() } else { format!("{path}.{}", quoted(key)) };
            match fields.iter().find(|field| field.name == *key) {
                Some(field) => {
                    self.value(&mut entry.node, &field.shape, key, &field.summary(), &path)
                }
                None => {
                    let diagnostic = self.unknown(key, entry, fields, scope, &path);
                    self.diagnostics.push(entry.at_key(diagnostic));
                    false
                }
            }
        });
    }

    fn unknown(
        &self,
        key: &str,
        entry: &Entry,
        fields: &[&Field],
        scope: Scope<'_>,
        path: &str,
    ) -> Diagnostic {
        let is_table = entry.node.table().is_some();
        let message = match scope {
            Scope::File if is_table => format!("there is no section `[{}]`", quoted(key)),
            Scope::File => format!("there is no key `{key}` at the top of the file"),
            Scope::Section(section) => format!("`[{section}]` has no key `{key}`"),
            Scope::Layer(layer) => format!("`{layer}` has no option `{key}`"),
            Scope::Variant(section, tag, name) => {
                format!("`[{section}]` has no key `{key}` with `{tag} = \"{name}\"`")
            }
        };
        let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
        let candidates = match scope {
            Scope::File if is_table => Candidates::new("sections", sections(fields)),
            Scope::File => Candidates::new("keys and sections", names.iter().copied()),
            Scope::Section(_) | Scope::Variant(..) => {
                Candidates::new("keys", names.iter().copied())
            }
            Scope::Layer(_) => Candidates::new("options", names.iter().copied()),
        };
        let here = nearest(key, names.iter().copied());
        let is_variant = matches!(scope, Scope::Variant(..));
        let elsewhere = self.elsewhere(key).filter(|_| here.is_none() && !is_variant);
        let help = elsewhere.unwrap_or_else(|| candidates.advice(key));
        Diagnostic::error(message, path).help(help)
    }

    /// Where a key of just this name would be known.
    fn elsewhere(&self, key: &str) -> Option<String> {
        let key = crate::layers::kebab(key);
        let has = |fields: &[Field]| fields.iter().any(|field| field.name == key);
        let section = self.fields.iter().find(|section| match &section.shape {
            Shape::Table(fields) => has(fields),
            Shape::Tagged { variants, .. } => variants.iter().any(|variant| has(&variant.fields)),
            _ => false,
        });
        if let Some(section) = section {
            return Some(format!("`{key}` belongs to the section `[{}]`", section.name));
        }
        if has(self.rung) {
            return Some(format!("`{key}` belongs to a rung, below `[[ladder]]`"));
        }
        let layers: Vec<_> = self.layers.iter().filter(|kind| has(kind.fields())).collect();
        (!layers.is_empty()).then(|| {
            let names = one_of(layers.iter().map(|kind| kind.name.as_str()));
            format!("`{key}` is an option of the layer {names}, below `[[ladder]]`")
        })
    }

    /// Whether a value is what it should be, in so far as its schema says.
    fn value(&mut self, node: &mut Node, shape: &Shape, key: &str, doc: &str, path: &str) -> bool {
        let diagnostic = match (shape, &mut node.kind) {
            (
                Shape::Whole { .. } | Shape::Number { .. } | Shape::Notation(_) | Shape::Any,
                Kind::Huge(number),
            ) => beyond(key, number, shape),
            (Shape::Notation(_), _) => match misread(node, shape) {
                Some(fault) => Diagnostic::error(with_key(&fault.message, key), ""),
                None => return true,
            },
            (Shape::Any, _) | (Shape::Text, Kind::Text(_)) | (Shape::Flag, Kind::Flag(_)) => {
                return true;
            }
            (Shape::Whole { min, max }, Kind::Whole(number)) => {
                if (*min..=*max).contains(number) {
                    return true;
                }
                match *number > *max {
                    true => beyond(key, &number.to_string(), shape),
                    false => out_of_range(key, &number.to_string(), &shape.words()),
                }
            }
            (Shape::Number { min, max }, Kind::Whole(_) | Kind::Number(_)) => {
                let number = match node.kind {
                    Kind::Whole(number) => number as f64,
                    Kind::Number(number) => number,
                    _ => f64::NAN,
                };
                if (*min..=*max).contains(&number) && number.is_finite() {
                    return true;
                }
                out_of_range(key, &number.to_string(), &shape.words())
            }
            (Shape::Choice(choices), Kind::Text(text)) => {
                let mut words = choices.iter().map(|choice| choice.value.as_str());
                if words.clone().any(|word| word == text) {
                    return true;
                }
                let diagnostic = out_of_range(key, &format!("{text:?}"), &shape.words());
                match nearest(text, &mut words) {
                    Some(word) => diagnostic.help(format!("did you mean `{word}`?")),
                    None => diagnostic,
                }
            }
            (Shape::List(item), Kind::List(items)) => {
                let mut index = 0..;
                items.retain_mut(|node| {
                    let path = format!("{path}[{}]", index.next().unwrap_or(0));
                    self.value(node, item, key, doc, &path)
                });
                return true;
            }
            (Shape::Map(item), Kind::Table(table)) => {
                table.retain(|name, entry| {
                    let path = format!("{path}.{}", quoted(name));
                    self.value(&mut entry.node, item, name, doc, &path)
                });
                return true;
            }
            (Shape::Table(fields), Kind::Table(table)) => {
                self.table(table, &fields.iter().collect::<Vec<_>>(), Scope::Section(path), path);
                return true;
            }
            (Shape::Tagged { tag, variants }, Kind::Table(table)) => {
                self.tagged(table, tag, variants, path);
                return true;
            }
            _ => {
                let found = node.words();
                let message = format!("expected {} for `{key}`, found {found}", shape.words());
                let diagnostic = Diagnostic::error(message, "");
                match unquoted(node, shape) {
                    Some(value) => {
                        diagnostic.help(format!("write it without quotes: `{key} = {value}`"))
                    }
                    None => diagnostic,
                }
            }
        };
        let help = diagnostic.help.clone().unwrap_or_else(|| explained(key, doc));
        let diagnostic = Diagnostic { key: path.into(), ..diagnostic }.help(help);
        self.diagnostics.push(node.at_value(diagnostic));
        false
    }

    fn tagged(
        &mut self,
        table: &mut Table,
        tag: &str,
        variants: &[crate::layers::Variant],
        path: &str,
    ) {
        let choices = variants.iter().map(|variant| crate::layers::Choice {
            value: variant.name.clone(),
            doc: variant.doc.clone(),
        });
        let shape = Shape::Choice(choices.collect());
        let tag_field = Field {
            name: tag.into(),
            doc: String::new(),
            default: None,
            example: None,
            required: true,
            shape,
        };
        let named = table.get(tag).and_then(|entry| entry.node.text());
        let variant = variants.iter().find(|variant| named == Some(variant.name.as_str()));
        let of = |variant: &'_ crate::layers::Variant| variant.fields.clone();
        // Another source may name the variant; until then each key is fine that some variant has.
        let fields: Vec<Field> = match variant {
            Some(variant) => of(variant),
            None => variants.iter().flat_map(of).collect(),
        };
        let name = named.unwrap_or_default().to_owned();
        let scope = match variant {
            Some(_) => Scope::Variant(path, tag, &name),
            None => Scope::Section(path),
        };
        let all: Vec<&Field> = std::iter::once(&tag_field).chain(&fields).collect();
        self.table(table, &all, scope, path);
    }
}

fn out_of_range(key: &str, value: &str, expected: &str) -> Diagnostic {
    Diagnostic::error(format!("`{key}` is {value}, expected {expected}"), "")
}

/// A number beyond what a type can hold, which the words for what is expected leave out elsewhere.
fn beyond(key: &str, value: &str, shape: &Shape) -> Diagnostic {
    let expected = match shape {
        Shape::Whole { min, max } => format!("a whole number from {min} to {max}"),
        Shape::Number { min, max } if min.is_finite() && max.is_finite() => shape.words(),
        _ if value.starts_with('-') => format!("at least {}", i64::MIN),
        _ => format!("at most {}", i64::MAX),
    };
    out_of_range(key, value, &expected)
}

/// What is wrong with a value in one of the notations of this crate. Others are left to their readers.
fn misread(node: &Node, shape: &Shape) -> Option<Fault> {
    type Reader = fn(&Node) -> Option<Fault>;
    fn of<T: JsonSchema + DeserializeOwned>() -> (Shape, Reader) {
        (Shape::of(&schema_of::<T>()), |node| T::deserialize(node).err())
    }
    // Made once, and not for each value.
    static NOTATIONS: LazyLock<[(Shape, Reader); 3]> =
        LazyLock::new(|| [of::<Amount>(), of::<ByteSize>(), of::<Span>()]);
    NOTATIONS.iter().filter(|(known, _)| known == shape).find_map(|(_, read)| read(node))
}

/// What a key is for, as a help.
pub(super) fn explained(key: &str, doc: &str) -> String {
    match doc.trim_end_matches('.') {
        "" => String::new(),
        doc => format!("`{key}`: {}", lower_first(doc)),
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        // Not an abbreviation.
        Some(first) if !letters.clone().next().is_some_and(char::is_uppercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

/// The number or flag that stands in quotes where there should be none.
fn unquoted(node: &Node, shape: &Shape) -> Option<String> {
    let text = node.text()?.trim();
    let fits = match shape {
        Shape::Whole { .. } => match multiple(text) {
            Some(number) => return Some(toml_value(&number.into())),
            None => text.parse::<i64>().is_ok(),
        },
        Shape::Number { .. } => text.parse::<f64>().is_ok_and(f64::is_finite),
        Shape::Flag => text == "true" || text == "false",
        _ => false,
    };
    fits.then(|| text.to_owned())
}

/// `128k` and `1.5M` as the command line reads them; TOML knows no such units.
fn multiple(text: &str) -> Option<u64> {
    let (digits, unit) = match text.to_ascii_lowercase() {
        text if text.ends_with('k') => (text, 1e3),
        text if text.ends_with('m') => (text, 1e6),
        _ => return None,
    };
    let number = digits[..digits.len() - 1].trim_end().parse::<f64>().ok()? * unit;
    (number.fract() == 0.0 && (1.0..9e15).contains(&number)).then_some(number as u64)
}

fn sections<'a>(fields: &[&'a Field]) -> impl Iterator<Item = &'a str> {
    let is_section = |shape: &Shape| {
        matches!(shape, Shape::Table(_) | Shape::Map(_) | Shape::Tagged { .. } | Shape::List(_))
    };
    let sections: Vec<_> = fields
        .iter()
        .filter(move |field| is_section(&field.shape))
        .map(|field| field.name.as_str())
        .collect();
    sections.into_iter()
}

/// A key as TOML wants it: bare where it can be.
pub(super) fn quoted(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !key.is_empty() && key.chars().all(bare) {
        key.to_owned()
    } else {
        toml::Value::String(key.to_owned()).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_become_numbers() {
        for (text, number) in [
            ("128k", Some(128_000)),
            ("128 K", Some(128_000)),
            ("1.5M", Some(1_500_000)),
            ("1.5", None),
            ("1.0001k", None),
            ("k", None),
            ("-1k", None),
            ("1e99k", None),
            ("infk", None),
            ("128kB", None),
        ] {
            assert_eq!(multiple(text), number, "{text}");
        }
    }
}
