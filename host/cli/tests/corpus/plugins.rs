//! Layers of plugins on a real session: the mirror plans as the strategy that ships, and each plugin keeps
//! the laws and saves what it saves.

use std::collections::BTreeMap;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;

use brute_core::testing::{TestHost, laws};
use brute_core::{Approximate, Conversation, Strategy};
use brute_host::layers::Layers;
use brute_host::plugins::load_file;
use serde_json::{Value, json};

/// Each plugin, its layer, and the options to run it with beside the folder for full texts.
const PLUGINS: [(&str, &str); 5] = [
    ("stale-reads", r#"{}"#),
    ("drop-reasoning", r#"{"signed": "drop-in-finished-turns"}"#),
    ("strip-media", r#"{}"#),
    ("shorten-arguments", r#"{}"#),
    ("clip-results", r#"{}"#),
];

/// The layers of plugins, each from its library, and what they saved so far.
pub(crate) struct Plugins {
    mirror: Box<dyn Strategy>,
    /// What it mirrors.
    built_in: Box<dyn Strategy>,
    layers: Vec<(&'static str, Box<dyn Strategy>)>,
    saved: BTreeMap<&'static str, u64>,
    tokens: u64,
}

impl Plugins {
    /// The plugins, with `spill` as the folder for full texts.
    pub(crate) fn load(spill: &Path) -> Self {
        let layers = PLUGINS.map(|(name, options)| {
            let mut options: Value = serde_json::from_str(options).unwrap();
            if name == "clip-results" {
                options["spill"] = json!(spill);
            }
            (name, layer(&name.replace('-', "_"), options))
        });
        let mirror = layer("mirror", json!({}));
        let shipped = Layers::built_in();
        let built_in = shipped.get("sliding-window").unwrap().build(json!({})).unwrap();
        Self { mirror, built_in, layers: layers.into(), saved: BTreeMap::new(), tokens: 0 }
    }

    /// Tries each on `conversation`; the laws that were broken.
    pub(crate) fn try_on(&mut self, conversation: &Conversation) -> Vec<String> {
        let size = conversation.clone().measure(&Approximate);
        let host = TestHost::new();
        let mut broken = Vec::new();
        for target in [size / 10, size / 2, size - size / 10] {
            let plan = |strategy: &dyn Strategy| host.plan(strategy, conversation, target);
            if plan(&*self.mirror) != plan(&*self.built_in) {
                broken.push(format!("the mirror plans otherwise for {target} tokens"));
            }
        }
        for (name, layer) in &self.layers {
            match laws::check_strategy(&**layer, &host, conversation, 1) {
                Ok(mut after) => {
                    *self.saved.entry(name).or_default() += size - after.measure(&Approximate);
                }
                Err(law) => broken.push(format!("{name}: {law}")),
            }
        }
        self.tokens += size;
        broken
    }

    /// What each saved where it gave all that it can, a line each.
    pub(crate) fn told(&self) -> Vec<String> {
        let share = |saved: u64| saved as f64 * 100.0 / self.tokens.max(1) as f64;
        let line = |(name, saved): (&&str, &u64)| {
            format!("plugin {name:<18} saves {:>5.1} % of {} tokens", share(*saved), self.tokens)
        };
        self.saved.iter().map(line).collect()
    }
}

fn layer(library: &str, options: Value) -> Box<dyn Strategy> {
    let test = std::env::current_exe().unwrap();
    let name = format!("{DLL_PREFIX}brute_{library}{DLL_SUFFIX}");
    let kinds = load_file(test.parent().unwrap().join(name)).unwrap();
    kinds[0].build(options).unwrap()
}
