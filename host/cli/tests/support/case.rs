//! A case file, and the runs that it asks for.

use std::path::Path;

use serde_json::{Map, Value};

use super::expand::{Variables, expand};

/// A case file.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// Its number.
    pub(crate) id: String,
    /// Its name.
    pub(crate) slug: String,
    /// What goes in, not yet expanded.
    pub(crate) input: Value,
    /// How the tool is set, not yet expanded.
    pub(crate) settings: Value,
    /// What must hold.
    pub(crate) expect: Vec<Value>,
}

/// One run that a case asks for.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    /// What goes in, expanded.
    pub(crate) input: Value,
    /// How the tool is set, expanded and without a sweep.
    pub(crate) settings: Value,
    /// The values of this run, for people: `target=600`.
    pub(crate) name: String,
}

impl Case {
    /// Reads a case file.
    ///
    /// # Errors
    /// If it is no case.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        let case: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        if !case["input"].is_object() {
            return Err("it has no `input`".into());
        }
        let (number, slug) = name.split_once('-').unwrap_or((&name, ""));
        Ok(Self {
            id: case["id"].as_str().unwrap_or(number).to_owned(),
            slug: slug.to_owned(),
            input: case["input"].clone(),
            settings: case["settings"].clone(),
            expect: case["expect"].as_array().cloned().unwrap_or_default(),
        })
    }

    /// What it wants done.
    pub(crate) fn op(&self) -> &str {
        self.input["op"].as_str().unwrap_or_default()
    }

    /// The format of its list.
    pub(crate) fn format(&self) -> Option<&str> {
        self.input["format"].as_str()
    }

    /// Whether its list breaks rules on purpose.
    pub(crate) fn is_malformed(&self) -> bool {
        self.input["malformed"].as_bool().unwrap_or(false) || self.input.get("raw_json").is_some()
    }

    /// Every run: one for each value of each sweep.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        let mut sweeps: Vec<(String, Vec<Value>)> = Vec::new();
        for sweep in [&self.input["sweep"], &self.settings["sweep"]] {
            for (name, values) in sweep.as_object().into_iter().flatten() {
                sweeps.push((name.clone(), values.as_array().cloned().unwrap_or_default()));
            }
        }
        let mut chosen: Vec<Map<String, Value>> = vec![Map::new()];
        for (name, values) in &sweeps {
            chosen = chosen
                .into_iter()
                .flat_map(|map| {
                    values.iter().map(move |value| {
                        let mut map = map.clone();
                        map.insert(name.clone(), value.clone());
                        map
                    })
                })
                .collect();
        }
        chosen.iter().map(|values| self.variant(values)).collect()
    }

    fn variant(&self, values: &Map<String, Value>) -> Variant {
        let numbers = values.iter().filter_map(|(key, value)| Some((key.clone(), value.as_u64()?)));
        let variables: Variables = numbers.collect();
        let mut settings = expand(&self.settings, &variables);
        if let Some(map) = settings.as_object_mut() {
            map.shift_remove("sweep");
            map.extend(values.clone());
        }
        let named = values.iter().map(|(key, value)| format!("{key}={value}"));
        Variant {
            input: expand(&self.input, &variables),
            settings,
            name: named.collect::<Vec<_>>().join(" "),
        }
    }
}
