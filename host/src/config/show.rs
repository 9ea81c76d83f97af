//! Configurations as files: the defaults, one to start with, and the one that is in force.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value;

use super::Config;
use super::check::quoted;
use super::diagnostic::Origin;
use super::document::{LADDER_DOC, fields, rung_fields};
use super::node::{Kind, Node, Table};
use super::reference::is_empty;
use crate::layers::{Field, LayerKind, Layers, Shape};
use crate::quantity::ByteSize;

/// The defaults as a file of one's own, with a comment over every key. No summarizer is set by
/// default, so rungs that need one are in comments.
///
/// ```
/// use brute_host::{config, layers::Layers};
///
/// let layers = Layers::built_in();
/// let text = config::defaults_toml(&layers);
/// let file = config::Source::new("brute.toml", text, config::Origin::Project);
/// let sources = config::Sources { project: Some(file), ..Default::default() };
/// assert_eq!(config::load(&sources, &layers).diagnostics, []);
/// ```
pub fn defaults_toml(layers: &Layers) -> String {
    render(layers, RungsInNeed::Commented)
}

/// What becomes of the rungs of the default ladder that need a summarizer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RungsInNeed {
    /// They are set: where there is no summarizer, they are passed over.
    Set,
    /// They stand in comments: in a file, a rung that cannot work is a mistake.
    Commented,
}

/// A file to start with. Needs nothing to be filled in.
pub fn init_toml() -> &'static str {
    INIT
}

/// A file to start with whose ladder keeps more than the default one, for little more: `docs/orderings.md` has the
/// figures.
///
/// ```
/// assert!(brute_host::config::recommended_toml().contains("layer = \"summarize\""));
/// ```
pub fn recommended_toml() -> &'static str {
    include_str!("../../../examples/ladders/recommended.toml")
}

const INIT: &str = r#"#:schema ./brute.schema.json
# Editors that know TOML check this file by that schema. To make it: `brute schema > brute.schema.json`
version = 1

# Every key and its default: `brute config --defaults`. What is left out here has its default.

[window]
# The model chooses size and counter. Without it, the model that a session names does.
# model = "gpt-4o"
# The size in tokens, where the model is not known or serves less than it could.
# size = 128_000

[trigger]
# A compaction starts when a request fills this much of the window …
compact-at = 0.7
# … and stops as soon as this much is left.
compact-to = 0.4

[keep]
# Tools whose calls and results no layer may touch.
# tools = ["todo_write"]

[truncate.tools]
# How a failing command failed stands at the end of what it printed.
shell = { keep = "tail" }

# The ladder: asked from the top, until the conversation is at its target. So the cheapest comes first.
[[ladder]]
layer = "tool-results"

[[ladder]]
layer = "sliding-window"
keep-steps = 2

# What is still too much is summarized, if somebody writes the summary: `[summarizer]`, below. Between the two rungs
# above, it keeps more: in ten long sessions 78 % of what they went on to use instead of 64 %, for 4 % more tokens
# (docs/orderings.md). `brute orderings` says what it does to yours.
# [[ladder]]
# layer = "summarize"

# The summarizer: this one needs no model; `"openai"` and `"anthropic"` ask one, `"command"` runs a program.
# [summarizer]
# backend = "extract"
"#;

/// The rungs of the default ladder, and the options that differ from those of their layers.
const LADDER: [(&str, &[(&str, &str)]); 3] =
    [("tool-results", &[]), ("sliding-window", &[("keep-steps", "2")]), ("summarize", &[])];

/// `defaults.toml`, which is read before any other file, as it has to be for what the sections and
/// layers say about themselves. The file in the tree is this text; a test compares them.
pub fn render_defaults(layers: &Layers) -> String {
    render(layers, RungsInNeed::Set)
}

fn render(layers: &Layers, in_need: RungsInNeed) -> String {
    let mut text = String::from(
        "# The defaults of brute, key by key, each below what it is for. What stands in a comment itself is\n\
         # not set: it shows how the key is written.\n\n",
    );
    let (sections, top): (Vec<&Field>, Vec<&Field>) =
        fields().iter().partition(|field| is_section(&field.shape));
    for field in top {
        setting(&mut text, field);
    }
    for section in sections.iter().filter(|field| field.name != "ladder") {
        table(&mut text, &section.name, section, section.default.is_some());
    }
    text.push('\n');
    comment(&mut text, LADDER_DOC);
    comment(&mut text, "\nEvery rung has these keys:\n");
    for field in rung_fields() {
        unset(&mut text, &field.name, field);
    }
    for (layer, own) in LADDER {
        let kind = layers.get(layer);
        let needs_summarizer = kind.is_some_and(|kind| kind.needs_summarizer);
        let fields = kind.map(LayerKind::fields).unwrap_or_default();
        if needs_summarizer && in_need == RungsInNeed::Commented {
            text.push('\n');
            comment(&mut text, "Part of the default ladder where a `[summarizer]` is configured.");
            let _ = writeln!(text, "#\n# [[ladder]]\n# layer = \"{layer}\"");
            for field in fields {
                unset(&mut text, &field.name, field);
            }
            continue;
        }
        let _ = writeln!(text, "\n[[ladder]]\nlayer = \"{layer}\"");
        if needs_summarizer {
            comment(&mut text, "Left out of this ladder where no summarizer is configured.");
        }
        for field in fields {
            match own.iter().find(|(key, _)| *key == field.name) {
                Some((key, value)) => {
                    comment(&mut text, &field.doc);
                    let _ = writeln!(text, "{key} = {value}");
                }
                None => setting(&mut text, field),
            }
        }
    }
    text
}

fn is_section(shape: &Shape) -> bool {
    match shape {
        Shape::Table(_) | Shape::Map(_) | Shape::Tagged { .. } => true,
        Shape::List(item) => matches!(**item, Shape::Table(_) | Shape::Tagged { .. }),
        _ => false,
    }
}

fn comment(text: &mut String, doc: &str) {
    for line in doc.lines() {
        let _ = writeln!(text, "{}", format!("# {line}").trim_end());
    }
}

/// A key with its doc: set to its default, or, without one, in a comment.
fn setting(text: &mut String, field: &Field) {
    comment(text, &field.doc);
    match &field.default {
        Some(value) if !is_empty(value) => {
            let _ = writeln!(text, "{} = {}", field.name, toml_value(value));
        }
        _ => {
            let _ = writeln!(text, "# {} = {}", field.name, sample(field));
        }
    }
}

/// A section, or one below it; in comments where nothing of it is set by default.
fn table(text: &mut String, path: &str, section: &Field, is_set: bool) {
    let (fields, subtables): (Vec<&Field>, Vec<&Field>) = match &section.shape {
        Shape::Table(fields) => fields.iter().partition(|field| !is_section(&field.shape)),
        _ => (Vec::new(), Vec::new()),
    };
    text.push('\n');
    comment(text, &section.doc);
    match &section.shape {
        Shape::Table(_) if is_set => {
            let _ = writeln!(text, "[{path}]");
            for field in fields {
                setting(text, field);
            }
        }
        Shape::List(_) => {
            let _ = writeln!(text, "# [[{path}]]\n# …");
        }
        Shape::Map(item) => {
            let _ = writeln!(text, "# [{path}.NAME]");
            let Shape::Table(fields) = &**item else { return };
            for field in fields {
                unset(text, &field.name, field);
            }
        }
        Shape::Tagged { tag, variants } => {
            for variant in variants {
                comment(text, &format!("\n{}", variant.doc));
                let _ = writeln!(text, "# [{path}]\n# {tag} = \"{}\"", variant.name);
                for field in &variant.fields {
                    unset(text, &field.name, field);
                }
            }
        }
        _ => {
            let _ = writeln!(text, "# [{path}]");
            for field in fields {
                unset(text, &field.name, field);
            }
        }
    }
    for field in subtables {
        table(text, &format!("{path}.{}", field.name), field, is_set);
    }
}

/// A key of what is not set: in a comment, like all around it.
fn unset(text: &mut String, name: &str, field: &Field) {
    if let Shape::Table(below) = &field.shape {
        for field in below {
            unset(text, &format!("{name}.{}", field.name), field);
        }
        return;
    }
    comment(text, &format!("\n{}", field.doc));
    let _ = writeln!(text, "# {name} = {}", sample(field));
}

/// A value to show: the default, else an example, else one of the right type.
fn sample(field: &Field) -> String {
    if let Some(value) = field.default.as_ref().or(field.example.as_ref()) {
        return toml_value(value);
    }
    match &field.shape {
        Shape::Whole { min, .. } => min.max(&1).to_string(),
        Shape::Number { .. } => "1.0".into(),
        Shape::Flag => "true".into(),
        Shape::Choice(choices) => {
            choices.first().map_or_else(|| "\"\"".into(), |choice| format!("{:?}", choice.value))
        }
        Shape::List(item) if **item == Shape::Text => "[\"…\"]".into(),
        Shape::List(_) => "[]".into(),
        Shape::Map(_) | Shape::Table(_) | Shape::Tagged { .. } => "{}".into(),
        Shape::Text | Shape::Notation(_) | Shape::Any => "\"…\"".into(),
    }
}

/// A value in the notation of TOML.
///
/// ```
/// use brute_host::config::toml_value;
/// assert_eq!(toml_value(&serde_json::json!({"keep": "ends", "steps": [1, 20_000]})), r#"{ keep = "ends", steps = [1, 20_000] }"#);
/// ```
pub fn toml_value(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => match number.as_u64() {
            Some(number) => grouped(number),
            None => number.to_string(),
        },
        Value::String(text) => toml::Value::String(text.clone()).to_string(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(toml_value).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) if map.is_empty() => "{}".into(),
        Value::Object(map) => {
            let pairs: Vec<_> = map
                .iter()
                .map(|(key, value)| format!("{} = {}", quoted(key), toml_value(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
    }
}

/// `128_000`: numbers of five digits and more in groups.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let head = digits.len() % 3;
    let mut groups: Vec<&str> = Vec::new();
    if head > 0 {
        groups.push(&digits[..head]);
    }
    let mut rest = &digits[head..];
    while !rest.is_empty() {
        let (group, more) = rest.split_at(3);
        groups.push(group);
        rest = more;
    }
    groups.join("_")
}

impl Config {
    /// The rungs in force, from the top, each with its layer and the keys that are not as by default.
    ///
    /// ```
    /// use brute_host::config::Config;
    /// use brute_host::layers::Layers;
    ///
    /// let ladder = Config::default().written_ladder(&Layers::built_in());
    /// assert_eq!((ladder[0].len(), &ladder[1]["layer"]), (1, &"sliding-window".into()));
    /// ```
    pub fn written_ladder(&self, layers: &Layers) -> Vec<serde_json::Map<String, Value>> {
        let written = |(layer, node): (&str, &Node)| {
            let fields = layers.get(layer).map(LayerKind::fields).unwrap_or_default();
            let mut keys = node.to_json().as_object()?.clone();
            keys.retain(|key, value| {
                let field = fields.iter().find(|field| field.name == *key);
                field.is_none_or(|field| field.default.as_ref() != Some(value))
            });
            Some(keys)
        };
        self.rungs_in_force().filter_map(written).collect()
    }

    /// The rungs in force as they are written, each with its layer.
    fn rungs_in_force(&self) -> impl Iterator<Item = (&str, &Node)> {
        let rungs = match self.tree.get(&["ladder"]).map(|ladder| &ladder.kind) {
            Some(Kind::List(rungs)) => rungs.as_slice(),
            _ => &[],
        };
        rungs.iter().filter_map(|node| {
            let layer = node.get(&["layer"]).and_then(Node::text)?;
            let name = node.get(&["name"]).and_then(Node::text).unwrap_or(layer);
            self.ladder.iter().any(|rung| rung.name == name).then_some((layer, node))
        })
    }

    /// What is in force, as a file that gives the same configuration, each value with where it comes
    /// from: `# default`, `# brute.toml:12`, `# --set`.
    pub fn resolved_toml(&self, layers: &Layers) -> String {
        let mut writer = Writer { text: String::new() };
        let Some(tree) = self.tree.table() else { return String::new() };
        let order = fields();
        let top = order.iter().filter(|field| !is_section(&field.shape));
        for field in top {
            if let Some(entry) = tree.get(&field.name) {
                writer.line(&field.name, &entry.node);
            }
        }
        if let Some(ladder) = self.tree.get(&["ladder"]).filter(|_| self.ladder.is_empty()) {
            let _ = writeln!(writer.text, "ladder = []{}", cited(ladder));
        }
        for field in order.iter().filter(|field| is_section(&field.shape) && field.name != "ladder")
        {
            match tree.get(&field.name).map(|entry| &entry.node.kind) {
                _ if field.name == "window" => self.resolved_window(&mut writer, tree),
                Some(Kind::Table(table)) => writer.table(&field.name, table, &field.shape),
                Some(Kind::List(items)) => {
                    for table in items.iter().filter_map(Node::table) {
                        let _ = writeln!(writer.text, "\n[[{}]]", field.name);
                        table.iter().for_each(|(key, entry)| writer.line(key, &entry.node));
                    }
                }
                _ => {}
            }
        }
        self.resolved_ladder(&mut writer, layers);
        writer.text
    }

    /// The window, with what the model stands for.
    fn resolved_window(&self, writer: &mut Writer, tree: &Table) {
        let Some(Kind::Table(table)) = tree.get("window").map(|entry| &entry.node.kind) else {
            return;
        };
        let shape = fields().iter().find(|field| field.name == "window");
        let shape = shape.map_or(Shape::Any, |field| field.shape.clone());
        writer.table("window", table, &shape);
        let Some(model) = self.window.model.as_deref().and_then(|name| self.models.find(name))
        else {
            return;
        };
        let source = format!("what is known about {}", model.name);
        if self.window.size.is_none() {
            writer.text_line("size", &grouped(u64::from(model.window)), &source);
        }
        if self.window.counter.is_none() {
            writer.text_line("counter", &format!("\"{}\"", model.counter), &source);
        }
        if let (None, Some(most)) = (self.window.max_bytes, self.max_bytes(None)) {
            writer.text_line("max-bytes", &format!("\"{}\"", ByteSize(most)), &source);
        }
    }

    fn resolved_ladder(&self, writer: &mut Writer, layers: &Layers) {
        for (layer, node) in self.rungs_in_force() {
            let mut all = rung_fields().to_vec();
            all.extend(layers.get(layer).into_iter().flat_map(|kind| kind.fields().to_vec()));
            writer.text.push_str("\n[[ladder]]\n");
            let Some(table) = node.table() else { continue };
            for field in &all {
                match (table.get(&field.name), &field.default) {
                    (Some(entry), _) => writer.line(&field.name, &entry.node),
                    (None, Some(value)) if !is_empty(value) => {
                        writer.text_line(&field.name, &toml_value(value), "default");
                    }
                    _ => {}
                }
            }
        }
    }
}

struct Writer {
    text: String,
}

impl Writer {
    fn text_line(&mut self, key: &str, value: &str, source: &str) {
        let _ = writeln!(self.text, "{} = {value}  # {source}", quoted(key));
    }

    fn line(&mut self, key: &str, node: &Node) {
        let value = toml_value(&node.to_json());
        let _ = writeln!(self.text, "{} = {value}{}", quoted(key), cited(node));
    }

    /// A table, first its values, then the tables in it, in the order of the fields.
    fn table(&mut self, path: &str, table: &Table, shape: &Shape) {
        if table.is_empty() {
            return;
        }
        let empty = Vec::new();
        let fields: &Vec<Field> = match shape {
            Shape::Table(fields) => fields,
            _ => &empty,
        };
        let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        let other: BTreeSet<&str> =
            table.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
        let entries: Vec<_> = known
            .into_iter()
            .chain(other)
            .filter_map(|key| table.get(key).map(|entry| (key, &entry.node)))
            .collect();
        if entries.iter().any(|(_, node)| node.table().is_none()) {
            let _ = writeln!(self.text, "\n[{path}]");
        }
        for (key, node) in entries.iter().filter(|(_, node)| node.table().is_none()) {
            self.line(key, node);
        }
        for (key, node) in &entries {
            let Kind::Table(inner) = &node.kind else { continue };
            let below = match shape {
                Shape::Map(item) => (**item).clone(),
                _ => fields
                    .iter()
                    .find(|field| field.name == *key)
                    .map_or(Shape::Any, |field| field.shape.clone()),
            };
            self.table(&format!("{path}.{}", quoted(key)), inner, &below);
        }
    }
}

fn cited(node: &Node) -> String {
    match node.origin() {
        Origin::Default => "  # default".into(),
        _ => format!("  # {}", node.source.cite(node.span.start)),
    }
}
