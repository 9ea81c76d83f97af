//! What the settings of a case mean in this tool.

use std::sync::Arc;

use brute_host::ladder::Rung;
use brute_host::layers::Layers;
use brute_host::models::{ModelEntry, ModelTable};
use serde_json::{Value, json};

use super::wire::items;

/// The default ladder of the cases, which is that of the tool.
const LADDER: [&str; 3] = ["tool_results", "sliding_window", "summarize"];

/// Room in tokens.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// The window.
    pub window: u64,
    /// The size that starts a compaction.
    pub compact_at: u64,
    /// The size that one aims for.
    pub compact_to: u64,
}

/// The room that the settings give.
///
/// # Errors
/// The status that the tool reports, and its words behind a blank.
pub fn room(settings: &Value) -> Result<Room, String> {
    let Some(window) = settings["window"].as_u64() else {
        return Err("error:window_unknown the window is not known: say how large it is".into());
    };
    room_in(window, settings)
}

fn room_in(window: u64, settings: &Value) -> Result<Room, String> {
    let (trigger, target) = (settings["trigger"].as_u64(), settings["target"].as_u64());
    // The defaults of `compact-at` and `compact-to`.
    let share = |tenths: u64| (window * tenths / 10).max(1);
    let compact_at = match (trigger, target) {
        (Some(trigger), _) => trigger,
        (None, Some(target)) => target + 1,
        (None, None) => share(7),
    };
    // A target at the trigger is one below it here, where the target must be the smaller one.
    let compact_to = match target {
        Some(target) if Some(target) == trigger => target.saturating_sub(1),
        Some(target) => target,
        None => share(4).min(compact_at.saturating_sub(1)),
    };
    Ok(Room { window, compact_at, compact_to })
}

/// The room of a model, by the models that the settings add to the table that ships.
///
/// # Errors
/// As [`room`].
pub fn room_of_model(settings: &Value, name: &str) -> Result<Room, String> {
    let own = settings["models"].as_object().into_iter().flatten();
    let entries = own.map(|(name, model)| {
        let window = model["window"].as_u64().and_then(|window| u32::try_from(window).ok());
        (name.clone(), ModelEntry { window, ..ModelEntry::default() })
    });
    let table = ModelTable::shipped().with_overrides(entries).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        format!("error:invalid_config {}", errors.join("; "))
    })?;
    match table.find(name) {
        Some(model) => room_in(u64::from(model.window), &settings["models"][name]),
        None => Err(format!("error:window_unknown no model is called `{name}`")),
    }
}

/// The rungs that the settings name.
///
/// # Errors
/// The tool's words, if it refuses the options.
pub fn rungs(settings: &Value) -> Result<Vec<Rung>, String> {
    let layers = Layers::built_in();
    let named: Vec<&str> = items(&settings["ladder"]).iter().filter_map(Value::as_str).collect();
    let has_summarizer = settings.get("summariser").is_some();
    let ladder = match named.as_slice() {
        // Without a summarizer the default ladder ends above it.
        [] if has_summarizer => &LADDER[..],
        [] => &LADDER[..2],
        named => named,
    };
    let keep_steps = settings["keep_steps"].as_u64();
    let mut rungs = Vec::new();
    for name in ladder {
        let name = name.replace('_', "-");
        let kind = layers.get(&name).ok_or_else(|| format!("no layer is called `{name}`"))?;
        let mut options = json!({});
        if let Some(steps) = keep_steps {
            // Free layers keep one at least: the model has not acted on it yet.
            let least = u64::from(name != "summarize");
            options["keep-steps"] = steps.max(least).into();
        }
        let strategy = kind.build(options).map_err(|error| error.to_string())?;
        rungs.push(rung(&name, strategy));
    }
    Ok(rungs)
}

fn rung(name: &str, strategy: Arc<dyn brute_core::Strategy>) -> Rung {
    Rung {
        name: name.into(),
        strategy,
        when: None,
        on_error: Default::default(),
        timeout: None,
    }
}
