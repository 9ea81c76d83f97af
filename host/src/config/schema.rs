//! The JSON Schema of `brute.toml`, for editors.

use serde_json::{Value, json};

use super::document::{Document, LADDER_DOC, RungOptions};
use crate::layers::{LayerKind, Layers, schema_of};

/// The JSON Schema (draft 2020-12) of a file that may name these layers. A rung has one form for each
/// layer, so that an editor offers the options of the one that is named.
pub fn json_schema(layers: &Layers) -> Value {
    let mut schema = schema_of::<Document>();
    let rung = schema_of::<RungOptions>();
    let forms: Vec<_> = layers.iter().map(|kind| form(&rung, kind)).collect();
    let names: Vec<_> = layers.iter().map(|kind| kind.name.as_str()).collect();
    let ladder = json!({
        "description": LADDER_DOC,
        "type": "array",
        "items": {
            "type": "object",
            "required": ["layer"],
            "properties": { "layer": { "enum": names } },
            "oneOf": forms,
        },
    });
    schema["properties"]["ladder"] = ladder;
    let mut whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "brute.toml",
    });
    if let (Some(whole), Value::Object(schema)) = (whole.as_object_mut(), schema) {
        whole.extend(schema.into_iter().filter(|(key, _)| key != "title"));
    }
    whole
}

/// A rung with this layer: the keys of every rung, and its options.
fn form(rung: &Value, kind: &LayerKind) -> Value {
    let mut properties = rung["properties"].as_object().cloned().unwrap_or_default();
    let options = kind.schema["properties"].as_object().cloned().unwrap_or_default();
    properties.extend(options);
    properties.insert("layer".into(), json!({ "const": kind.name, "description": kind.summary }));
    let mut form = json!({
        "title": kind.name,
        "description": kind.summary,
        "type": "object",
        "properties": properties,
        "required": ["layer"],
        "additionalProperties": false,
    });
    // What the options refer to is looked up from the form.
    if let Some(definitions) = kind.schema.get("$defs") {
        form["$id"] = format!("layer:{}", kind.name).into();
        form["$defs"] = definitions.clone();
    }
    form
}
