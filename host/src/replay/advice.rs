//! Which of many ladders to propose by what replays of them measured, and how sure that is.

use serde::Serialize;

use super::figures::Totals;

/// What a ladder did to one session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Measured {
    /// The sums of its replays.
    pub totals: Totals,
    /// What they cost, in the same unit for all ladders: tokens of input or dollars.
    pub cost: f64,
}

impl Measured {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { totals: self.totals.and(other.totals), cost: self.cost + other.cost }
    }
}

/// What ladders did to sessions, and what is to be weighed against what.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurements {
    /// For each ladder what it did to each session. The first ladder is the one in force, which all are held against.
    ladders: Vec<Vec<Measured>>,
    /// By so many percent a session may cost more for a point of recall.
    point: f64,
}

/// How sure an advice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sureness {
    /// Nothing measured is better than what is in force.
    NoBetter,
    /// There are fewer than [`Sureness::FEW`] sessions.
    TooFew,
    /// Better by the mean alone: it does not win on most sessions, or what would have been chosen without a session
    /// gains nothing on it, taken all together.
    MeanOnly,
    /// Better on most sessions, and on those that had no say in the choice, taken all together.
    Leaning,
    /// The same with at least [`Sureness::MANY`] sessions, four of five of which gain.
    Sure,
}

impl Sureness {
    /// Sessions below which nothing is said about others.
    pub const FEW: usize = 3;
    /// Sessions from which on an advice can be sure.
    pub const MANY: usize = 5;

    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoBetter => "nothing that was tried is better than what is in force",
            Self::TooFew => "not at all: too few sessions to say anything about others",
            Self::MeanOnly => {
                "hardly: better in the mean, but not on most sessions, or not where they had no say in the choice"
            }
            Self::Leaning => {
                "rather: better on most sessions, and where they had no say in the choice"
            }
            Self::Sure => {
                "sure: better on at least four of five sessions, and where they had no say in the choice"
            }
        }
    }
}

/// What is chosen without a session, and what it does to that one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HeldOut {
    /// The ladder.
    pub chosen: usize,
    /// What it gains on the session that was left out, in points of recall.
    pub gain: f64,
}

/// A ladder, and how sure it is that it is the better one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Advice {
    /// The ladder.
    pub chosen: usize,
    /// What it gains on each session against the one in force, in points of recall.
    pub gains: Vec<f64>,
    /// For each session what is chosen without it; none of a single session.
    pub held_out: Vec<HeldOut>,
    /// How sure that is.
    pub sureness: Sureness,
}

/// Gains that are smaller are none: figures of sums are not exact.
const NOTHING: f64 = 1e-9;

impl Advice {
    /// Sessions that gain, that come out the same, and that lose.
    pub fn tally(&self) -> [usize; 3] {
        tally(self.gains.iter().copied())
    }

    /// The same for sessions that had no say in the choice.
    pub fn held_out_tally(&self) -> [usize; 3] {
        tally(self.held_out.iter().map(|one| one.gain))
    }

    /// How many of the choices without a session are this one.
    pub fn agreeing(&self) -> usize {
        self.held_out.iter().filter(|one| one.chosen == self.chosen).count()
    }
}

fn tally(gains: impl Iterator<Item = f64>) -> [usize; 3] {
    let mut tally = [0; 3];
    for gain in gains {
        let at = if gain > NOTHING { 0 } else { 1 + usize::from(gain < -NOTHING) };
        tally[at] += 1;
    }
    tally
}

/// The mean; nothing of nothing.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (count, sum) =
        values.into_iter().fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count.max(1))
}

impl Measurements {
    /// Measurements of `ladders`, each by session, the one in force first. For a point of recall, a session may cost
    /// `point` percent more.
    ///
    /// ```
    /// use brute_host::replay::{Measured, Measurements, Recall, Share, Sureness, Totals};
    ///
    /// let measured = |kept, cost| Measured {
    ///     totals: Totals {
    ///         recall: Recall { all: Share { needed: 100, kept, reachable: 0 }, ..Recall::default() },
    ///         ..Totals::default()
    ///     },
    ///     cost,
    /// };
    /// // Ten points of recall for five percent more, in each of six sessions.
    /// let ladders = vec![vec![measured(60, 100.0); 6], vec![measured(70, 105.0); 6]];
    /// let advice = Measurements::new(ladders, 1.0).advice();
    /// assert_eq!((advice.chosen, advice.sureness), (1, Sureness::Sure));
    /// assert!((advice.gains[0] - 5.0).abs() < 1e-9);
    /// ```
    pub fn new(ladders: Vec<Vec<Measured>>, point: f64) -> Self {
        Self { ladders, point }
    }

    /// Makes room for so many ladders and sessions, of which nothing more is known yet.
    pub fn add(&mut self, ladders: usize, sessions: usize) {
        self.ladders.resize_with(ladders.max(self.ladders.len()), Vec::new);
        for ladder in &mut self.ladders {
            ladder.resize(sessions.max(ladder.len()), Measured::default());
        }
    }

    /// Adds what one more replay of a ladder did to a session; nothing where there is no such ladder or session.
    pub fn count(&mut self, ladder: usize, session: usize, measured: Measured) {
        if let Some(sum) = self.ladders.get_mut(ladder).and_then(|one| one.get_mut(session)) {
            *sum = sum.and(measured);
        }
    }

    /// What a ladder did to all sessions together.
    pub fn all(&self, ladder: usize) -> Measured {
        let sessions = self.ladders.get(ladder).into_iter().flatten().copied();
        sessions.fold(Measured::default(), Measured::and)
    }

    /// What a ladder did to one session.
    pub fn one(&self, ladder: usize, session: usize) -> Measured {
        let measured = self.ladders.get(ladder).and_then(|sessions| sessions.get(session));
        measured.copied().unwrap_or_default()
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.ladders.first().map_or(0, Vec::len)
    }

    /// How many ladders there are.
    pub fn ladders(&self) -> usize {
        self.ladders.len()
    }

    /// What a ladder gains on a session against the one in force: points of recall, less what they cost.
    pub fn gain(&self, ladder: usize, session: usize) -> f64 {
        let (with, without) = (self.one(ladder, session), self.one(0, session));
        let recall = 100.0 * (with.totals.recall() - without.totals.recall());
        let dearer = match without.cost > 0.0 {
            true => 100.0 * (with.cost / without.cost - 1.0),
            false => 0.0,
        };
        recall - dearer / self.point
    }

    /// The mean of what a ladder gains on the sessions, each as heavy as the others.
    pub fn mean_gain(&self, ladder: usize) -> f64 {
        mean((0..self.sessions()).map(|session| self.gain(ladder, session)))
    }

    /// The ladder of `tried` with the fewest requests over the window, and of these the one that gains most on the
    /// sessions but `without`; of equals the first. The one in force is always among them.
    pub fn best(&self, without: Option<usize>, tried: impl IntoIterator<Item = usize>) -> usize {
        let sessions = || (0..self.sessions()).filter(move |session| Some(*session) != without);
        let over = |ladder| -> u64 {
            sessions().map(|session| self.one(ladder, session).totals.over_window).sum()
        };
        let gain = |ladder| mean(sessions().map(|session| self.gain(ladder, session)));
        let mut best = (0, over(0), 0.0);
        for ladder in tried {
            let (over, gain) = (over(ladder), gain(ladder));
            if over < best.1 || (over == best.1 && gain > best.2 + NOTHING) {
                best = (ladder, over, gain);
            }
        }
        best.0
    }

    /// The ladder to propose, of all that were measured.
    pub fn advice(&self) -> Advice {
        self.advice_where(|_| 0..self.ladders())
    }

    /// The same where a session decides which ladders are tried at all: `tried` says which were where that one is left
    /// out. What is believed is then not what it gave rise to itself.
    pub fn advice_where<T: IntoIterator<Item = usize>>(
        &self,
        tried: impl Fn(usize) -> T,
    ) -> Advice {
        let (sessions, chosen) = (self.sessions(), self.best(None, 0..self.ladders()));
        let gains: Vec<f64> = (0..sessions).map(|session| self.gain(chosen, session)).collect();
        let held_out: Vec<HeldOut> = (0..sessions)
            .filter(|_| sessions > 1)
            .map(|session| {
                let chosen = self.best(Some(session), tried(session));
                HeldOut { chosen, gain: self.gain(chosen, session) }
            })
            .collect();
        let [better, ..] = tally(gains.iter().copied());
        let holds = mean(held_out.iter().map(|one| one.gain)) > NOTHING;
        let sureness = match () {
            () if chosen == 0 => Sureness::NoBetter,
            () if sessions < Sureness::FEW => Sureness::TooFew,
            () if !holds || 2 * better <= sessions => Sureness::MeanOnly,
            () if sessions >= Sureness::MANY && 5 * better >= 4 * sessions => Sureness::Sure,
            () => Sureness::Leaning,
        };
        Advice { chosen, gains, held_out, sureness }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::recall::{Recall, Share};

    /// A ladder by its recall of 100 needed names and its cost in each session.
    fn ladder(sessions: &[(u64, f64)]) -> Vec<Measured> {
        let measured = |(kept, cost): &(u64, f64)| {
            let all = Share { needed: 100, kept: *kept, reachable: 0 };
            let recall = Recall { all, ..Recall::default() };
            Measured { totals: Totals { recall, ..Totals::default() }, cost: *cost }
        };
        sessions.iter().map(measured).collect()
    }

    fn advice(ladders: &[&[(u64, f64)]]) -> Advice {
        Measurements::new(ladders.iter().map(|one| ladder(one)).collect(), 1.0).advice()
    }

    #[test]
    fn how_sure_it_is_hangs_on_sessions_and_not_on_the_mean() {
        let base = [(50, 100.0); 6];
        type Case<'c> = (&'c [(u64, f64)], Sureness, [usize; 3]);
        let table: [Case<'_>; 6] = [
            (&[(60, 100.0); 6], Sureness::Sure, [6, 0, 0]),
            (&[(60, 115.0); 6], Sureness::NoBetter, [0, 6, 0]),
            // One session gains much, and without it nothing would have been chosen.
            (
                &[(99, 100.0), (49, 100.0), (49, 100.0), (49, 100.0), (49, 100.0), (49, 100.0)],
                Sureness::MeanOnly,
                [1, 0, 5],
            ),
            (
                &[(60, 100.0), (60, 100.0), (60, 100.0), (60, 100.0), (50, 100.0), (49, 100.0)],
                Sureness::Leaning,
                [4, 1, 1],
            ),
            (
                &[(60, 100.0), (60, 100.0), (60, 100.0), (60, 100.0), (60, 100.0), (49, 100.0)],
                Sureness::Sure,
                [5, 0, 1],
            ),
            (&[(60, 100.0), (60, 100.0)], Sureness::TooFew, [2, 0, 0]),
        ];
        for (other, sureness, tally) in table {
            let advice = advice(&[&base[..other.len()], other]);
            assert_eq!((advice.sureness, advice.tally()), (sureness, tally), "{other:?}");
        }
        // A single session leaves nothing to choose by.
        assert_eq!(advice(&[&base[..1], &[(60, 100.0)]]).held_out, []);
    }

    #[test]
    fn what_is_chosen_without_a_session_is_held_against_it() {
        // The first session wants one ladder, both others want the other one.
        let one = [(90, 100.0), (40, 100.0), (40, 100.0)];
        let other = [(30, 100.0), (60, 100.0), (60, 100.0)];
        let advice = advice(&[&[(50, 100.0); 3], &one, &other]);
        assert_eq!(advice.chosen, 1);
        let chosen: Vec<usize> = advice.held_out.iter().map(|one| one.chosen).collect();
        assert_eq!(chosen, [2, 1, 1]);
        assert_eq!((advice.agreeing(), advice.held_out_tally()), (2, [0, 0, 3]));
        assert_eq!(advice.sureness, Sureness::MeanOnly);
    }

    #[test]
    fn a_request_over_the_window_counts_before_all_else_and_equals_keep_what_is_there() {
        let mut over = ladder(&[(99, 50.0); 3]);
        over[1].totals.over_window = 1;
        let same = ladder(&[(50, 100.0); 3]);
        let advice = Measurements::new(vec![same.clone(), over, same], 1.0).advice();
        assert_eq!((advice.chosen, advice.sureness), (0, Sureness::NoBetter));
    }

    #[test]
    fn what_a_point_may_cost_decides() {
        let ladders = || vec![ladder(&[(50, 100.0); 3]), ladder(&[(60, 115.0); 3])];
        for (point, chosen) in [(1.0, 0), (2.0, 1)] {
            assert_eq!(Measurements::new(ladders(), point).advice().chosen, chosen);
        }
    }
}
