//! What a JSON Schema says about options, in the form that checks, references and editors need.

use serde_json::Value;

/// One key: its name, what it is for, what it may be.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key, as it is written.
    pub name: String,
    /// What it does, paragraphs separated by an empty line.
    pub doc: String,
    /// What it is if nobody says anything; `None` if it then is not set at all.
    pub default: Option<Value>,
    /// An example of a value.
    pub example: Option<Value>,
    /// Whether it has to be given.
    pub required: bool,
    /// What it may be.
    pub shape: Shape,
}

impl Field {
    /// The first sentence of its doc, on one line.
    pub fn summary(&self) -> String {
        let first = self.doc.split("\n\n").next().unwrap_or_default();
        let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
        line.find(". ").map_or(line.as_str(), |end| &line[..=end]).to_owned()
    }
}

/// One of several words.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The word.
    pub value: String,
    /// What it means.
    pub doc: String,
}

/// One of several sets of keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The value of the key that tells them apart.
    pub name: String,
    /// What it is.
    pub doc: String,
    /// Its keys, beside the one that tells them apart.
    pub fields: Vec<Field>,
}

/// What a value may be.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A number without fraction.
    Whole {
        /// The least.
        min: i64,
        /// The most.
        max: i64,
    },
    /// A number.
    Number {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// A string.
    Text,
    /// `true` or `false`.
    Flag,
    /// One of several words.
    Choice(Vec<Choice>),
    /// An array.
    List(Box<Shape>),
    /// A table with keys of the user's own.
    Map(Box<Shape>),
    /// A table with these keys.
    Table(Vec<Field>),
    /// A table whose keys depend on one of them.
    Tagged {
        /// The key that tells.
        tag: String,
        /// What it may be, and which keys go with it.
        variants: Vec<Variant>,
    },
    /// A number or a string in a notation of its own, which only its reader knows: what it is called.
    Notation(String),
    /// Anything.
    Any,
}

/// References that lead on to references are followed so far.
const DEPTH: usize = 16;

impl Shape {
    /// What this schema says. What it says in ways that are not understood is [`Shape::Any`]: the
    /// reader of the options has the last word anyway.
    pub fn of(schema: &Value) -> Self {
        Reader { root: schema }.shape(schema, DEPTH)
    }

    /// The keys, if it is a table.
    pub fn into_fields(self) -> Vec<Field> {
        match self {
            Self::Table(fields) => fields,
            _ => Vec::new(),
        }
    }

    /// What is expected, in words that follow "expected".
    pub fn words(&self) -> String {
        match self {
            Self::Whole { min, max } => bounded("a whole number", *min, *max),
            Self::Number { min, max } => match (min.is_finite(), max.is_finite()) {
                (true, true) => format!("a number from {min} to {max}"),
                (true, false) if *min == 0.0 => "a number, 0 or more".into(),
                (true, false) => format!("a number of at least {min}"),
                (false, true) => format!("a number of at most {max}"),
                (false, false) => "a number".into(),
            },
            Self::Text => "a string".into(),
            Self::Flag => "`true` or `false`".into(),
            Self::Choice(choices) => one_of(choices.iter().map(|choice| choice.value.as_str())),
            Self::List(item) => match **item {
                Self::Text => "a list of strings".into(),
                Self::Whole { .. } => "a list of whole numbers".into(),
                _ => "a list".into(),
            },
            Self::Map(_) | Self::Table(_) | Self::Tagged { .. } => "a table".into(),
            Self::Notation(words) => words.clone(),
            Self::Any => "a value".into(),
        }
    }
}

fn bounded(what: &str, min: i64, max: i64) -> String {
    match (min, max) {
        (min, max) if max < i64::from(u32::MAX) => format!("{what} from {min} to {max}"),
        (i64::MIN, _) => what.into(),
        (min, _) => format!("{what} of at least {min}"),
    }
}

/// `a`, `b` or `c`.
pub(crate) fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<_> = words.map(|word| format!("`{word}`")).collect();
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        last => last.unwrap_or_default(),
    }
}

struct Reader<'a> {
    root: &'a Value,
}

impl<'a> Reader<'a> {
    fn shape(&self, schema: &'a Value, depth: usize) -> Shape {
        let Some(depth) = depth.checked_sub(1) else { return Shape::Any };
        if let Some(target) = schema["$ref"].as_str() {
            let found = target.strip_prefix('#').and_then(|path| self.root.pointer(path));
            return found.map_or(Shape::Any, |schema| self.shape(schema, depth));
        }
        if let [only] = list(schema, "allOf") {
            return self.shape(only, depth);
        }
        let one_of = list(schema, "oneOf").iter().chain(list(schema, "anyOf"));
        let alternatives: Vec<_> = one_of.filter(|schema| schema["type"] != "null").collect();
        match alternatives.as_slice() {
            [] => self.plain(schema, depth),
            [only] => self.shape(only, depth),
            several => self.alternatives(schema, several, depth),
        }
    }

    fn alternatives(&self, schema: &'a Value, several: &[&'a Value], depth: usize) -> Shape {
        let words: Option<Vec<_>> = several.iter().map(|schema| choices(schema)).collect();
        if let Some(words) = words {
            return Shape::Choice(words.concat());
        }
        if let Some(tag) = several.first().and_then(|schema| tag(schema)) {
            let variants: Option<Vec<_>> =
                several.iter().map(|schema| self.variant(schema, tag, depth)).collect();
            if let Some(variants) = variants {
                return Shape::Tagged { tag: tag.into(), variants };
            }
        }
        let scalar = |schema: &&Value| {
            schema["type"] == "integer" || schema["type"] == "number" || schema["type"] == "string"
        };
        if several.iter().all(scalar) {
            notation(schema, "a number or a string")
        } else {
            Shape::Any
        }
    }

    fn variant(&self, schema: &'a Value, tag: &str, depth: usize) -> Option<Variant> {
        let name = schema["properties"][tag]["const"].as_str()?.to_owned();
        let mut fields = self.fields(schema, depth);
        fields.retain(|field| field.name != tag);
        Some(Variant { name, doc: text(schema, "description"), fields })
    }

    fn plain(&self, schema: &'a Value, depth: usize) -> Shape {
        if let Some(choices) = choices(schema) {
            return Shape::Choice(choices);
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null"),
            kind => Some(kind),
        };
        match kind.and_then(Value::as_str) {
            Some("integer") => whole(schema),
            Some("number") => Shape::Number {
                min: schema["minimum"].as_f64().unwrap_or(f64::NEG_INFINITY),
                max: schema["maximum"].as_f64().unwrap_or(f64::INFINITY),
            },
            // What follows a pattern is read by someone who can say more than that it does not.
            Some("string") if schema.get("pattern").is_some() => notation(schema, "a string"),
            Some("string") => Shape::Text,
            Some("boolean") => Shape::Flag,
            Some("array") => Shape::List(Box::new(self.shape(&schema["items"], depth))),
            Some("object") if schema["properties"].is_object() => {
                Shape::Table(self.fields(schema, depth))
            }
            Some("object") if schema["additionalProperties"].is_object() => {
                Shape::Map(Box::new(self.shape(&schema["additionalProperties"], depth)))
            }
            Some("object") if schema["additionalProperties"] == false => Shape::Table(Vec::new()),
            _ => Shape::Any,
        }
    }

    fn fields(&self, schema: &'a Value, depth: usize) -> Vec<Field> {
        let required = list(schema, "required");
        let properties = schema["properties"].as_object().into_iter().flatten();
        let fields = properties.map(|(name, property)| Field {
            name: name.clone(),
            doc: text(property, "description"),
            default: property.get("default").filter(|value| !value.is_null()).cloned(),
            example: list(property, "examples").first().cloned(),
            required: required.iter().any(|key| key == name),
            shape: self.shape(property, depth),
        });
        fields.collect()
    }
}

/// A notation: called by the schema's title, if it has one.
fn notation(schema: &Value, usual: &str) -> Shape {
    Shape::Notation(schema["title"].as_str().unwrap_or(usual).to_owned())
}

fn whole(schema: &Value) -> Shape {
    let (min, max) = match schema["format"].as_str() {
        Some("uint8") => (0, i64::from(u8::MAX)),
        Some("uint16") => (0, i64::from(u16::MAX)),
        Some("uint32") => (0, i64::from(u32::MAX)),
        Some("uint" | "uint64") => (0, i64::MAX),
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    Shape::Whole {
        min: schema["minimum"].as_i64().unwrap_or(min).max(min),
        max: schema["maximum"].as_i64().unwrap_or(max).min(max),
    }
}

/// The key whose constant value tells the alternatives apart.
fn tag(schema: &Value) -> Option<&str> {
    let properties = schema["properties"].as_object()?;
    let tag = properties.iter().find(|(_, property)| property["const"].is_string());
    tag.map(|(name, _)| name.as_str())
}

fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let doc = text(schema, "description");
    if let Some(word) = schema["const"].as_str() {
        return Some(vec![Choice { value: word.into(), doc }]);
    }
    let words = schema["enum"].as_array()?.iter().filter(|word| !word.is_null());
    words.map(|word| Some(Choice { value: word.as_str()?.into(), doc: String::new() })).collect()
}

fn list<'a>(schema: &'a Value, key: &str) -> &'a [Value] {
    schema[key].as_array().map_or(&[], Vec::as_slice)
}

fn text(schema: &Value, key: &str) -> String {
    schema[key].as_str().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeMap;

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Keep {
        /// The beginning.
        Head,
        /// The end.
        Tail,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "backend", rename_all = "kebab-case", deny_unknown_fields)]
    enum Backend {
        /// A program.
        Command {
            /// What to run.
            command: Vec<String>,
        },
        /// No model.
        Extract {},
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
    struct Options {
        /// Steps that stay.
        ///
        /// More about it.
        #[schemars(range(min = 1))]
        keep_steps: usize,
        /// What is kept.
        keep: Option<Keep>,
        /// A share.
        #[schemars(range(min = 0.0, max = 1.0), example = 0.5)]
        share: f64,
        /// Tools.
        except: Vec<String>,
        /// By name.
        tools: BTreeMap<String, bool>,
        /// Who.
        backend: Option<Backend>,
        /// How much.
        size: crate::quantity::ByteSize,
    }

    impl Default for Options {
        fn default() -> Self {
            Self {
                keep_steps: 2,
                keep: None,
                share: 0.25,
                except: Vec::new(),
                tools: BTreeMap::new(),
                backend: None,
                size: crate::quantity::ByteSize(1024),
            }
        }
    }

    #[test]
    fn a_schema_is_read_whole() {
        let fields = Shape::of(&crate::layers::schema_of::<Options>()).into_fields();
        let words: Vec<_> = fields
            .iter()
            .map(|field| {
                let default = field.default.as_ref().map_or("-".into(), Value::to_string);
                format!("{}: {} [{default}] {}", field.name, field.shape.words(), field.summary())
            })
            .collect();
        insta::assert_snapshot!(words.join("\n"), @r#"
        keep-steps: a whole number of at least 1 [2] Steps that stay.
        keep: `head` or `tail` [-] What is kept.
        share: a number from 0 to 1 [0.25] A share.
        except: a list of strings [[]] Tools.
        tools: a table [{}] By name.
        backend: a table [-] Who.
        size: a size in bytes (a number, or text such as `50KB`) ["1KB"] How much.
        "#);
        let backend = fields.iter().find(|field| field.name == "backend").unwrap();
        let Shape::Tagged { tag, variants } = &backend.shape else { panic!("{backend:?}") };
        assert_eq!((tag.as_str(), variants.len()), ("backend", 2));
        assert_eq!(variants[0].fields[0].name, "command");
        assert!(variants[1].fields.is_empty());
    }

    #[test]
    fn references_are_followed_but_not_forever() {
        let schema = serde_json::json!({
            "type": "object",
            "properties": { "a": { "$ref": "#/$defs/a" }, "loop": { "$ref": "#/$defs/loop" } },
            "$defs": { "a": { "type": "boolean" }, "loop": { "$ref": "#/$defs/loop" } },
        });
        let fields = Shape::of(&schema).into_fields();
        assert_eq!(fields[0].shape, Shape::Flag);
        assert_eq!(fields[1].shape, Shape::Any);
    }
}
