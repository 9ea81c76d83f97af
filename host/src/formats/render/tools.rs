//! The schemas of tools, in another format.

use serde_json::{Map, Value, json};

use super::value_of;
use crate::formats::Format;
use crate::formats::json::View;

/// A tool that a model may call.
struct Tool {
    name: Value,
    description: Option<Value>,
    schema: Value,
}

/// Puts the functions among `tools` into `body`; what was not carried of them.
pub(super) fn convert(tools: View<'_>, to: Format, body: &mut Map<String, Value>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut found = Vec::new();
    for entry in tools.items().map(value_of) {
        let keys = ["functionDeclarations", "function_declarations"];
        match keys.into_iter().find_map(|key| entry[key].as_array()) {
            Some(declared) => found.extend(declared.iter().filter_map(read)),
            None => match read(&entry) {
                Some(tool) => found.push(tool),
                None => {
                    let kind = entry["type"].as_str().or_else(|| entry["name"].as_str());
                    let kind = kind.unwrap_or("unknown");
                    notes.push(format!("left out the tool `{kind}`, which is the provider's own"));
                }
            },
        }
    }
    if !found.is_empty() {
        let tools: Vec<Value> = found.into_iter().map(|tool| write(tool, to)).collect();
        let tools = match to {
            Format::Gemini => json!([{ "functionDeclarations": tools }]),
            _ => Value::Array(tools),
        };
        body.insert("tools".to_owned(), tools);
    }
    notes
}

fn read(entry: &Value) -> Option<Tool> {
    let holder = if entry["function"].is_object() { &entry["function"] } else { entry };
    let keys = ["input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema"];
    let schema = keys.into_iter().find_map(|key| holder.get(key)).filter(|it| it.is_object());
    let is_function = schema.is_some() || entry["type"] == "function" || entry["type"].is_null();
    let name = holder.get("name").filter(|name| name.is_string() && is_function)?.clone();
    let schema = schema.cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}}));
    let description = holder.get("description").filter(|words| words.is_string()).cloned();
    Some(Tool { name, description, schema })
}

fn write(tool: Tool, to: Format) -> Value {
    let key = match to {
        Format::Anthropic => "input_schema",
        Format::Gemini => "parametersJsonSchema",
        Format::OpenaiChat | Format::OpenaiResponses => "parameters",
    };
    let mut function = Map::new();
    if to == Format::OpenaiResponses {
        function.insert("type".to_owned(), json!("function"));
    }
    function.insert("name".to_owned(), tool.name);
    function.extend(tool.description.map(|words| ("description".to_owned(), words)));
    function.insert(key.to_owned(), tool.schema);
    match to {
        Format::OpenaiChat => json!({ "type": "function", "function": function }),
        _ => Value::Object(function),
    }
}
