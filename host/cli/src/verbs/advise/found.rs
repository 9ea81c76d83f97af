//! What a search found, as JSON gives it.

use brute_host::replay::{Measured, Sureness, unbeaten};
use serde::Serialize;

use super::proposal::Proposal;

/// A ladder that was tried, as JSON gives it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Row<'s> {
    pub(super) order: Vec<&'s str>,
    pub(super) settings: Vec<Setting>,
    pub(super) recall: f64,
    recall_by_use: f64,
    pub(super) cost: f64,
    /// In points of recall, against what is in force: the mean of the sessions.
    gain: f64,
    over_window: u64,
    pub(super) unbeaten: bool,
}

/// A setting of it.
#[derive(Serialize)]
pub(super) struct Setting {
    key: String,
    pub(super) value: String,
}

/// What a session gains, as JSON gives it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Gain<'s> {
    session: &'s str,
    gain: f64,
    in_force: Measured,
    proposed: Measured,
    /// What is chosen without this session gains so much on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_out_gain: Option<f64>,
}

/// What was found, as JSON gives it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Found<'s> {
    seed: u64,
    grid: Vec<AxisValues>,
    orders: usize,
    replays: usize,
    is_exhaustive: bool,
    point: f64,
    cost_unit: &'static str,
    sureness: Sureness,
    in_force: Row<'s>,
    proposed: Row<'s>,
    sessions: Vec<Gain<'s>>,
    /// How many of the choices without a session are this one.
    held_out_agree: usize,
    ladders: Vec<Row<'s>>,
    toml: String,
}

#[derive(Serialize)]
struct AxisValues {
    key: String,
    values: Vec<String>,
}

impl<'s> Proposal<'s> {
    fn row(&self, ladder: usize, unbeaten: bool) -> Row<'s> {
        let (search, measured) = (self.search, self.search.measured.all(ladder));
        let (variant, _) = search.parts(ladder);
        let settings = (search.axes().iter().enumerate()).map(|(axis, known)| Setting {
            key: known.name(),
            value: search.axes.value(axis, variant).to_owned(),
        });
        Row {
            order: search.names(ladder),
            settings: settings.collect(),
            recall: measured.totals.recall(),
            recall_by_use: measured.totals.recall.by_use.kept_share().unwrap_or(1.0),
            cost: measured.cost,
            gain: search.measured.mean_gain(ladder),
            over_window: measured.totals.over_window,
            unbeaten,
        }
    }

    /// All that was tried, and which of it nothing else beats.
    pub(super) fn rows(&self) -> Vec<Row<'s>> {
        let ladders = 0..self.search.measured.ladders();
        let all: Vec<Measured> = ladders.map(|ladder| self.search.measured.all(ladder)).collect();
        let best = unbeaten(&all);
        (0..all.len()).map(|ladder| self.row(ladder, best.contains(&ladder))).collect()
    }

    pub(super) fn found(&self) -> Found<'s> {
        let (search, advice) = (self.search, &self.advice);
        let mut ladders = self.rows();
        let unbeaten = |ladder: usize| ladders[ladder].unbeaten;
        let in_force = self.row(0, unbeaten(0));
        let proposed = self.row(advice.chosen, unbeaten(advice.chosen));
        ladders.sort_by(|one, other| {
            (other.unbeaten.cmp(&one.unbeaten)).then(other.gain.total_cmp(&one.gain))
        });
        let gains = search.sessions.iter().enumerate().map(|(at, session)| Gain {
            session: &session.name,
            gain: advice.gains[at],
            in_force: search.measured.one(0, at),
            proposed: search.measured.one(advice.chosen, at),
            held_out_gain: advice.held_out.get(at).map(|one| one.gain),
        });
        let axes = search.axes().iter();
        Found {
            seed: self.args.seed,
            grid: axes
                .map(|axis| AxisValues { key: axis.name(), values: axis.values.clone() })
                .collect(),
            orders: search.orders.len(),
            replays: search.replays(),
            is_exhaustive: self.args.exhaustive,
            point: self.args.point,
            cost_unit: if search.is_priced() { "dollars" } else { "tokens of input" },
            sureness: advice.sureness,
            in_force,
            proposed,
            sessions: gains.collect(),
            held_out_agree: advice.agreeing(),
            ladders,
            toml: self.toml(),
        }
    }
}
