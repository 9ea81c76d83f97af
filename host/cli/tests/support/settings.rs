//! What the settings of a case mean in this tool: a `brute.toml`.

use std::fmt::Write as _;

use brute_host::config::{Config, Loaded, Origin, Room, RoomError, Source, Sources, load};
use brute_host::layers::Layers;
use brute_host::tokens::CounterKind;
use serde_json::Value;

use super::wire::items;

/// The default ladder of the cases, which is that of the tool.
const LADDER: [&str; 3] = ["tool_results", "sliding_window", "summarize"];

/// The settings that are understood. Some only say what a case takes for granted.
const UNDERSTOOD: [&str; 26] = [
    "below_target",
    "counter",
    "keep_age_s",
    "keep_files",
    "keep_steps",
    "ladder",
    "lock",
    "max_bytes",
    "max_line_chars",
    "max_lines",
    "models",
    "never_prune_tools",
    "overflow_dir",
    "readable_dirs",
    "redact_hook",
    "reserve_output",
    "skip_size_check",
    "strict_alternation",
    "summariser",
    "summarizer",
    "sweep",
    "target",
    "trigger",
    "umask",
    "usage_reported",
    "window",
];

/// The settings of a case that this tool does not have.
pub(crate) fn not_understood(settings: &Value) -> Vec<String> {
    let keys = settings.as_object().into_iter().flatten().map(|(key, _)| key);
    keys.filter(|key| !UNDERSTOOD.contains(&key.as_str())).cloned().collect()
}

/// `settings` with the tools of the calls that more answers are to come for: an agent that knows that keeps
/// these tools.
pub(crate) fn with_open_calls(settings: &Value, input: &Value, list: &[Value]) -> Value {
    let mut settings = settings.clone();
    let open: Vec<&str> = ["pending", "still_open"]
        .into_iter()
        .flat_map(|key| items(&input[key]))
        .filter_map(Value::as_str)
        .collect();
    let is_open = |item: &&Value| item["call_id"].as_str().is_some_and(|id| open.contains(&id));
    let names: Vec<Value> = list
        .iter()
        .filter(is_open)
        .map(|item| item["name"].clone())
        .filter(Value::is_string)
        .collect();
    if !names.is_empty() {
        let known = items(&settings["never_prune_tools"]).to_vec();
        settings["never_prune_tools"] = Value::Array([known, names].concat());
    }
    settings
}

/// A layer in the ladder of a case that this tool does not have.
pub(crate) fn unknown_layer(settings: &Value) -> Option<String> {
    let layers = Layers::built_in();
    let names = items(&settings["ladder"]).iter().filter_map(Value::as_str);
    names.map(|name| name.replace('_', "-")).find(|name| layers.get(name).is_none())
}

/// Why there is no configuration, or no room in it: the status that this is, and the tool's words.
pub(crate) type Refusal = (&'static str, String);

/// The room that the settings give, for `model` or for none in particular.
///
/// # Errors
/// What the tool refuses.
pub(crate) fn room(
    settings: &Value,
    counter: CounterKind,
    model: Option<&str>,
) -> Result<(Config, Room), Refusal> {
    let config = config(&toml(settings, counter, model), settings.get("summariser").is_some())
        .map_err(|words| {
            let unknown = words.contains("no window is known");
            (if unknown { "error:window_unknown" } else { "error:invalid_config" }, words)
        })?;
    match config.room(None) {
        Ok(room) => Ok((config, room)),
        Err(error @ (RoomError::NoWindow | RoomError::UnknownModel { .. })) => {
            Err(("error:window_unknown", error.to_string()))
        }
        Err(error) => Err(("error:invalid_config", error.to_string())),
    }
}

/// The configuration in a text.
///
/// # Errors
/// What is wrong with it, in the tool's words.
pub(crate) fn config(text: &str, own_summarizer: bool) -> Result<Config, String> {
    let loaded = loaded(text, own_summarizer);
    let words: Vec<String> = loaded.diagnostics.iter().map(ToString::to_string).collect();
    loaded.config.ok_or_else(|| words.join("\n"))
}

/// What the tool says about a text that is a configuration or is none, each with its place.
pub(crate) fn warnings(text: &str) -> Vec<String> {
    let Loaded { config, mut diagnostics, .. } = loaded(text, false);
    diagnostics.extend(config.as_ref().and_then(Config::out_of_reach));
    diagnostics.iter().map(ToString::to_string).collect()
}

fn loaded(text: &str, own_summarizer: bool) -> Loaded {
    let file = Source::new("brute.toml", text, Origin::Project);
    let sources = Sources { project: Some(file), own_summarizer, ..Sources::default() };
    load(&sources, &Layers::built_in())
}

/// The settings as a `brute.toml`.
fn toml(settings: &Value, counter: CounterKind, model: Option<&str>) -> String {
    let mut text = format!("version = 1\n[window]\ncounter = \"{counter}\"\n");
    // Writing to a string cannot fail.
    let mut put = |key: &str, value: Option<u64>| {
        if let Some(value) = value {
            let _ = writeln!(text, "{key} = {value}");
        }
    };
    // A model's own figures hold while it is used.
    let own = model.map_or(settings, |name| &settings["models"][name]);
    let (trigger, target) = (own["trigger"].as_u64(), own["target"].as_u64());
    let compact_at = trigger.or(target.map(|target| target + 1));
    // A target at the trigger is one below it here, where the target must be the smaller one.
    let compact_to = target.map(|target| target.min(compact_at.unwrap_or(0).saturating_sub(1)));
    let reserve = settings["reserve_output"].as_u64();
    if model.is_none() {
        put("size", settings["window"].as_u64());
    }
    // A stated trigger is the size of a whole request, with nothing to come off it.
    put("reserve", reserve.or(compact_at.map(|_| 0)));
    if let Some(name) = model {
        let _ = writeln!(text, "model = \"{name}\"");
    }
    if let (Some(compact_at), Some(compact_to)) = (compact_at, compact_to) {
        let _ = writeln!(text, "[trigger]\ncompact-at = {compact_at}\ncompact-to = {compact_to}");
    }
    let kept: Vec<&str> =
        items(&settings["never_prune_tools"]).iter().filter_map(Value::as_str).collect();
    let _ = writeln!(text, "[keep]\ntools = {kept:?}");
    for (name, model) in settings["models"].as_object().into_iter().flatten() {
        let _ = writeln!(text, "[models.\"{name}\"]\nwindow = {}", model["window"]);
    }
    text + &ladder(settings)
}

fn ladder(settings: &Value) -> String {
    let named: Vec<&str> = items(&settings["ladder"]).iter().filter_map(Value::as_str).collect();
    let ladder = match named.as_slice() {
        // Without a summarizer the default ladder ends above it.
        [] if settings.get("summariser").is_none() => &LADDER[..2],
        [] => &LADDER[..],
        named => named,
    };
    let mut text = String::new();
    for name in ladder {
        let name = name.replace('_', "-");
        let _ = writeln!(text, "[[ladder]]\nlayer = \"{name}\"");
        if let Some(steps) = settings["keep_steps"].as_u64() {
            // Layers keep one at least: the model has not acted on it yet.
            let _ = writeln!(text, "keep-steps = {}", steps.max(1));
        }
    }
    text
}
