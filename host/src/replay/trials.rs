//! Many replays of one ladder, and what they say about its orders.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::figures::{Run, Totals};
use super::orders::Commute;

/// One session in one window, under every order of a ladder.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Trial {
    /// The session.
    pub session: String,
    /// The window, in tokens.
    pub window: u64,
    /// What each order did.
    pub runs: Vec<Run>,
}

/// Trials of the same orders of the same ladder.
#[derive(Debug, Clone, Default)]
pub struct Trials {
    /// The trials, whose runs are in the order of `orders`.
    pub trials: Vec<Trial>,
    /// The orders, each as the names of the rungs, from the top.
    pub orders: Vec<Vec<String>>,
}

/// What orders of a ladder have to keep, as a file says it: `--check laws.toml`.
///
/// ```
/// let laws: brute_host::replay::OrderLaws = toml::from_str(r#"
///     [[commute]]
///     rungs = ["drop-reasoning", "strip-media"]
///
///     [[above]]
///     first = "tool-results"
///     then = "summarize"
///     never-more = "summarizer-input"
/// "#)?;
/// assert_eq!((laws.commute.len(), laws.above.len()), (1, 1));
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OrderLaws {
    /// Rungs that may change places where they stand next to each other.
    #[serde(default)]
    pub commute: Vec<Commuting>,
    /// Rungs of which one had better stand above the other.
    #[serde(default)]
    pub above: Vec<Above>,
}

/// `[[commute]]`: two rungs that do the same in either order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commuting {
    /// Their names.
    pub rungs: [String; 2],
}

/// `[[above]]`: with `first` above `then`, a figure is never worse than with the two in each other's place.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Above {
    /// The upper rung.
    pub first: String,
    /// The lower one.
    pub then: String,
    /// What may not grow.
    pub never_more: Figure,
}

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Tokens of all requests.
    Sent,
    /// Of these, tokens that the prompt cache did not have.
    Uncached,
    /// Tokens of the largest request.
    Peak,
    /// Requests that do not fit into the window.
    OverWindow,
    /// Compactions that did not meet the target.
    Misses,
    /// Needed identifiers that were gone.
    Forgotten,
    /// Requests to the summarizer.
    SummarizerCalls,
    /// Tokens of these requests.
    SummarizerInput,
    /// Tokens of the answers.
    SummarizerOutput,
}

impl Figure {
    fn of(self, totals: &Totals) -> u64 {
        match self {
            Self::Sent => totals.sent,
            Self::Uncached => totals.sent - totals.cached,
            Self::Peak => totals.peak,
            Self::OverWindow => totals.over_window,
            Self::Misses => totals.misses,
            Self::Forgotten => totals.recall.all.needed - totals.recall.all.kept,
            Self::SummarizerCalls => totals.summarizer_calls,
            Self::SummarizerInput => totals.summarizer_input,
            Self::SummarizerOutput => totals.summarizer_output,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Sent => "tokens sent",
            Self::Uncached => "tokens sent that no cache had",
            Self::Peak => "tokens of the largest request",
            Self::OverWindow => "requests over the window",
            Self::Misses => "compactions that missed the target",
            Self::Forgotten => "needed identifiers that were gone",
            Self::SummarizerCalls => "calls of the summarizer",
            Self::SummarizerInput => "tokens sent to the summarizer",
            Self::SummarizerOutput => "tokens of summaries",
        }
    }
}

/// An order law that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Broken {
    /// The law, in a sentence.
    pub law: String,
    /// The session.
    pub session: String,
    /// The window, in tokens.
    pub window: u64,
    /// The order that should have been as good as the other, or the same.
    pub order: Vec<String>,
    /// The other.
    pub other: Vec<String>,
    /// What was found.
    pub detail: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (order, other) = (self.order.join(" › "), self.other.join(" › "));
        let Self { law, session, window, detail, .. } = self;
        write!(f, "{law}: {session} in {window} tokens: {order} against {other}: {detail}")
    }
}

impl Trials {
    /// The sums over all trials, by order.
    pub fn totals(&self) -> Vec<Totals> {
        let sum = |order: usize| {
            let runs = self.trials.iter().filter_map(|trial| trial.runs.get(order));
            runs.map(Run::totals).fold(Totals::default(), Totals::and)
        };
        (0..self.orders.len()).map(sum).collect()
    }

    /// The orders that did the same in every trial, together, each group in the order that they came.
    pub fn alike(&self) -> Vec<Vec<usize>> {
        let digests = |order: usize| -> Vec<Option<&str>> {
            let runs = self.trials.iter().map(|trial| trial.runs.get(order));
            runs.map(|run| run?.digest.as_deref()).collect()
        };
        let mut groups: Vec<(Vec<Option<&str>>, Vec<usize>)> = Vec::new();
        for order in 0..self.orders.len() {
            let digests = digests(order);
            match groups.iter_mut().find(|(known, _)| *known == digests) {
                Some((_, orders)) => orders.push(order),
                None => groups.push((digests, vec![order])),
            }
        }
        groups.into_iter().map(|(_, orders)| orders).collect()
    }

    /// Of each two rungs, whether they may change places where one stands right above the other.
    pub fn commute(&self) -> Vec<Commute> {
        let rungs = self.orders.first().map_or(&[][..], Vec::as_slice);
        let pairs = rungs.iter().enumerate();
        let pairs =
            pairs.flat_map(|(at, one)| rungs[at + 1..].iter().map(move |other| [one, other]));
        pairs
            .map(|[one, other]| {
                let mut commute =
                    Commute { rungs: [one.clone(), other.clone()], pairs: 0, same: 0 };
                for (_, above, below) in self.exchanged(one, other, true) {
                    commute.pairs += 1;
                    commute.same += u64::from(above.digest == below.digest);
                }
                commute
            })
            .collect()
    }

    /// The order laws that do not hold, and where.
    pub fn check(&self, laws: &OrderLaws) -> Vec<Broken> {
        let mut broken = Vec::new();
        let mut add = |law: &str, trial: &Trial, one: &Run, other: &Run, detail: String| {
            let (order, other) = (one.order.clone(), other.order.clone());
            let (law, session, window) = (law.to_owned(), trial.session.clone(), trial.window);
            broken.push(Broken { law, session, window, order, other, detail });
        };
        for Commuting { rungs: [one, other] } in &laws.commute {
            let law = format!("`{one}` and `{other}` commute");
            for (trial, above, below) in self.exchanged(one, other, true) {
                if above.digest != below.digest {
                    let [now, then] = [above, below].map(|run| run.totals().sent);
                    let detail = format!("{now} and {then} tokens sent");
                    add(&law, trial, above, below, detail);
                }
            }
        }
        for Above { first, then, never_more } in &laws.above {
            let words = never_more.words();
            let law = format!("`{first}` above `{then}` never costs more {words}");
            for (trial, above, below) in self.exchanged(first, then, false) {
                let [with, without] = [above, below].map(|run| never_more.of(&run.totals()));
                if with > without {
                    add(&law, trial, above, below, format!("{with} against {without} {words}"));
                }
            }
        }
        broken
    }

    /// The names in `laws` that no rung has.
    pub fn unknown<'l>(&self, laws: &'l OrderLaws) -> Vec<&'l str> {
        let commuting = laws.commute.iter().flat_map(|law| &law.rungs);
        let above = laws.above.iter().flat_map(|law| [&law.first, &law.then]);
        let is_known = |name: &&String| self.orders.first().is_some_and(|all| all.contains(name));
        commuting.chain(above).filter(|name| !is_known(name)).map(String::as_str).collect()
    }

    /// Runs with `first` above `then`, right above if they have to be `neighbors`, each with the run that differs in
    /// nothing but that the two are in each other's place.
    fn exchanged<'t>(
        &'t self,
        first: &'t str,
        then: &'t str,
        neighbors: bool,
    ) -> impl Iterator<Item = (&'t Trial, &'t Run, &'t Run)> {
        let pairs: Vec<(usize, usize)> = self
            .orders
            .iter()
            .enumerate()
            .filter_map(|(order, names)| {
                let place = |name: &str| names.iter().position(|rung| rung == name);
                let (above, below) = (place(first)?, place(then)?);
                if above > below || (neighbors && above + 1 != below) {
                    return None;
                }
                let mut other = names.clone();
                other.swap(above, below);
                Some((order, self.orders.iter().position(|order| *order == other)?))
            })
            .collect();
        self.trials.iter().flat_map(move |trial| {
            let pairs = pairs.clone().into_iter();
            pairs.filter_map(move |(one, other)| {
                Some((trial, trial.runs.get(one)?, trial.runs.get(other)?))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(order: &[&str], digest: &str, sent: u64) -> Run {
        let call = super::super::Call { message: 1, size: sent, cached: 0, is_over: false };
        let order = order.iter().map(ToString::to_string).collect();
        Run { order, calls: vec![call], digest: Some(digest.into()), ..Run::default() }
    }

    fn trials() -> Trials {
        let orders = [["a", "b"], ["b", "a"]];
        let trial = |session: &str, digests: [&str; 2], sent: [u64; 2]| Trial {
            session: session.into(),
            window: 10,
            runs: (0..2).map(|at| run(&orders[at], digests[at], sent[at])).collect(),
        };
        Trials {
            trials: vec![trial("one", ["x", "x"], [5, 5]), trial("two", ["x", "y"], [6, 7])],
            orders: orders.iter().map(|order| order.map(str::to_owned).to_vec()).collect(),
        }
    }

    #[test]
    fn laws_hold_or_are_told_with_their_place() {
        let laws = |text: &str| toml::from_str::<OrderLaws>(text).unwrap();
        let above = |first: &str, then: &str| {
            laws(&format!("[[above]]\nfirst = '{first}'\nthen = '{then}'\nnever-more = 'sent'"))
        };
        assert_eq!(trials().check(&above("a", "b")), []);
        let broken = trials().check(&above("b", "a"));
        assert_eq!(broken.len(), 1);
        assert_eq!(
            broken[0].to_string(),
            "`b` above `a` never costs more tokens sent: two in 10 tokens: b › a against a › b: 7 against 6 tokens sent"
        );
        let commute = laws("[[commute]]\nrungs = ['b', 'a']");
        assert_eq!(trials().check(&commute).len(), 1);
        assert_eq!(trials().unknown(&laws("[[commute]]\nrungs = ['a', 'c']")), ["c"]);
        assert!(toml::from_str::<OrderLaws>("[[above]]\nfirst = 'a'").is_err());
    }

    #[test]
    fn orders_that_did_the_same_go_together() {
        let mut trials = trials();
        assert_eq!(trials.alike(), [[0], [1]]);
        assert_eq!((trials.commute()[0].pairs, trials.commute()[0].same), (2, 1));
        trials.trials.pop();
        assert_eq!(trials.alike(), [[0, 1]]);
        assert!(trials.commute()[0].always());
    }
}
