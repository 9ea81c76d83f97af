//! The grid of a search: what is varied beside the order of the rungs, and the values that each takes.

use brute_host::config::{Amount, Config, toml_value};
use brute_host::layers::Layers;
use serde_json::{Map, Value, json};

/// The layer whose options are varied.
const VARIED: &str = "tool-results";

/// The values of its options that are tried, and the defaults.
const OPTIONS: [(&str, [&str; 2]); 2] =
    [("keep-steps", ["1", "3"]), ("keep", ["\"nothing\"", "\"ends\""])];

/// What is varied.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    pub(super) place: Place,
    /// The values, as TOML has them, the one in force first.
    pub(super) values: Vec<String>,
}

/// Where a value stands in a `brute.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `[trigger]`.
    Trigger(&'static str),
    /// A rung, by its place in the ladder as it was given.
    Rung(usize, &'static str),
}

/// A value for each axis, by its place among those of the axis.
pub(super) type Variant = Vec<usize>;

/// All that is varied.
#[derive(Debug)]
pub(super) struct Axes {
    axes: Vec<Axis>,
    /// The ladder as it is in force.
    ladder: Vec<Map<String, Value>>,
}

impl Axis {
    /// The value in force, and those that differ from it.
    fn new(place: Place, given: String, tried: impl IntoIterator<Item = String>) -> Self {
        let mut values = vec![given];
        for value in tried {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        Self { place, values }
    }

    /// What is varied, for people: `compact-at`, `keep-steps of tool-results`.
    pub(super) fn name(&self) -> String {
        match self.place {
            Place::Trigger(key) => key.to_owned(),
            Place::Rung(_, key) => format!("{key} of {VARIED}"),
        }
    }
}

impl Axes {
    /// What is varied of `config`.
    pub(super) fn of(config: &Config, layers: &Layers, at: &[f64], to: &[f64]) -> Self {
        let trigger = &config.trigger;
        let shares = |shares: &[f64]| -> Vec<String> {
            shares.iter().map(|share| Amount::Share(*share).to_string()).collect()
        };
        let mut axes = vec![
            Axis::new(Place::Trigger("compact-at"), trigger.compact_at.to_string(), shares(at)),
            Axis::new(Place::Trigger("compact-to"), trigger.compact_to.to_string(), shares(to)),
        ];
        let ladder = config.written_ladder(layers);
        let is_varied = |rung: &&Map<String, Value>| rung.get("layer") == Some(&json!(VARIED));
        // Of two, nobody could say whose setting made the difference.
        if ladder.iter().filter(is_varied).count() == 1
            && let Some(rung) = ladder.iter().position(|rung| is_varied(&rung))
        {
            for (key, values) in OPTIONS {
                let given = ladder[rung].get(key).map_or(values[0].to_owned(), toml_value);
                let values = values.map(str::to_owned);
                axes.push(Axis::new(Place::Rung(rung, key), given, values));
            }
        }
        Self { axes, ladder }
    }

    pub(super) fn all(&self) -> &[Axis] {
        &self.axes
    }

    /// Every combination that can be: first what is in force, and of two the one that changes less of what comes first.
    pub(super) fn variants(&self) -> Vec<Variant> {
        let mut variants: Vec<Variant> = vec![Vec::new()];
        for axis in &self.axes {
            let longer = |variant: &Variant| {
                let variant = variant.clone();
                (0..axis.values.len()).map(move |value| [variant.as_slice(), &[value]].concat())
            };
            variants = variants.iter().flat_map(longer).collect();
        }
        variants.retain(|variant| self.can_be(variant));
        variants
    }

    /// Those of them that have the options of rungs as they are in force: where a search begins.
    pub(super) fn first(&self) -> Vec<Variant> {
        let is_option = |axis: &Axis| matches!(axis.place, Place::Rung(..));
        let mut variants = self.variants();
        variants.retain(|variant| {
            let values = self.axes.iter().zip(variant);
            values.into_iter().all(|(axis, value)| !is_option(axis) || *value == 0)
        });
        variants
    }

    /// Those that differ from `variant` in one value.
    pub(super) fn around(&self, variant: &Variant) -> Vec<Variant> {
        let mut variants = self.variants();
        let differences = |other: &Variant| {
            other.iter().zip(variant).filter(|(other, value)| other != value).count()
        };
        variants.retain(|other| differences(other) == 1);
        variants
    }

    /// Whether a compaction would aim below where it starts. What is in force was checked; an amount in tokens goes
    /// with shares only where the window says how much these are.
    fn can_be(&self, variant: &Variant) -> bool {
        if variant.iter().all(|value| *value == 0) {
            return true;
        }
        let [at, to] = [0, 1].map(|axis| {
            let text = self.value(axis, variant);
            text.parse::<f64>().unwrap_or(f64::NAN)
        });
        (at > 1.0) == (to > 1.0) && to < at
    }

    /// The value that a variant has on an axis, as TOML has it.
    pub(super) fn value(&self, axis: usize, variant: &Variant) -> &str {
        &self.axes[axis].values[variant[axis]]
    }

    /// The settings of a variant, as `--set` takes them.
    pub(super) fn settings(&self, variant: &Variant) -> Vec<String> {
        let mut settings = Vec::new();
        for (axis, known) in self.axes.iter().enumerate() {
            if let Place::Trigger(key) = known.place {
                settings.push(format!("trigger.{key} = {}", self.value(axis, variant)));
            }
        }
        let rungs: Vec<String> = (0..self.ladder.len())
            .map(|rung| {
                let keys = self.keys(rung, variant).into_iter();
                let keys: Vec<String> =
                    keys.map(|(key, value, _)| format!("{key} = {value}")).collect();
                format!("{{ {} }}", keys.join(", "))
            })
            .collect();
        settings.push(format!("ladder = [{}]", rungs.join(", ")));
        settings
    }

    /// The keys of a rung under a variant, each with its value as TOML has it, and the axis that it was varied along.
    pub(super) fn keys(
        &self,
        rung: usize,
        variant: &Variant,
    ) -> Vec<(String, String, Option<usize>)> {
        let mut keys: Vec<(String, String, Option<usize>)> = Vec::new();
        let written = &self.ladder[rung];
        // What it is and how it is called comes first.
        let (names, options): (Vec<_>, Vec<_>) =
            written.iter().partition(|(key, _)| ["layer", "name"].contains(&key.as_str()));
        for (key, value) in names.into_iter().chain(options) {
            keys.push((key.clone(), toml_value(value), None));
        }
        for (axis, known) in self.axes.iter().enumerate() {
            let Place::Rung(_, key) = known.place else { continue };
            if known.place != Place::Rung(rung, key) {
                continue;
            }
            let value = self.value(axis, variant).to_owned();
            match keys.iter_mut().find(|(known, ..)| known == key) {
                Some(there) => (there.1, there.2) = (value, Some(axis)),
                None => keys.push((key.to_owned(), value, Some(axis))),
            }
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_force_comes_first_and_nothing_aims_above_its_start() {
        let config = Config::default();
        let axes = Axes::of(&config, &Layers::built_in(), &[0.3, 0.7], &[0.3, 0.5]);
        let values: Vec<usize> = axes.all().iter().map(|axis| axis.values.len()).collect();
        assert_eq!(values, [2, 3, 2, 2]);
        let variants = axes.variants();
        assert_eq!(variants[0], [0, 0, 0, 0]);
        // Of the pairs, 0.3 goes with no aim at all.
        assert_eq!(variants.len(), 3 * 4);
        assert_eq!((axes.first().len(), axes.around(&variants[0]).len()), (3, 2 + 1 + 1));
        let settings = axes.settings(&variants[1]);
        assert_eq!(
            settings[..2],
            ["trigger.compact-at = 0.7", "trigger.compact-to = 0.4"].map(str::to_owned)
        );
        assert!(settings[2].starts_with(
            "ladder = [{ layer = \"tool-results\", keep-steps = 1, keep = \"ends\" }, "
        ));
    }
}
