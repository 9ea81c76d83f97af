//! How large a request is by its provider's own count, which is the measure that decisions are made by.

use serde::Serialize;

use crate::formats::LARGEST_COUNT;

/// One point where both counts of a request are known, and how they go on from there.
///
/// The size of a request is `reported + ratio · (messages now − messages at the report)`: one formula for what was
/// appended since and for what a compaction took. What was reported covers the system prompt, the tool schemas, the
/// provider's template and the reply's own message, none of which has to be guessed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Anchor {
    /// The request and its reply, by the provider's count.
    reported: u64,
    /// The messages of that request and its reply, by the counter.
    counted: u64,
    /// Tokens of the provider for each token of the counter.
    ratio: f64,
    /// Reports that the ratio was learned from.
    reports: u32,
}

impl Anchor {
    /// The request and its reply, by the provider's count.
    pub fn reported(&self) -> u64 {
        self.reported
    }

    /// What the counter finds in the messages of that request and in its reply.
    pub fn counted_then(&self) -> u64 {
        self.counted
    }

    /// How many reports the ratio was learned from. One alone tells little about it: what it is above the count may
    /// as well stand around the messages.
    pub fn reports(&self) -> u32 {
        self.reports
    }

    /// The size of a request whose messages are `counted` tokens by the counter.
    pub fn request(&self, counted: u64) -> u64 {
        let grown = counted as f64 - self.counted as f64;
        // The cast saturates: a request is never smaller than nothing.
        (self.reported as f64 + self.ratio * grown).round() as u64
    }

    /// The fewest tokens by the counter that messages have whose request is `size` tokens or more.
    pub fn counted(&self, size: u64) -> u64 {
        // Half a token less is rounded up to it.
        let grown = (size as f64 - 0.5 - self.reported as f64) / self.ratio;
        (self.counted as f64 + grown).ceil() as u64
    }

    /// Tokens of the provider for each token of the counter: 1 before anything is learned, since a counter that was
    /// chosen for a model is scaled to what is known of it.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }
}

/// Learns from what a provider reports how its tokens relate to those of the counter.
///
/// ```
/// use brute_host::ladder::Gauge;
///
/// let mut gauge = Gauge::default();
/// assert_eq!(gauge.anchor(), None);
/// // A request of 800 counted tokens was 1,200 with everything that surrounds it, and grew as counted.
/// gauge.observe(1_200, 800);
/// gauge.observe(11_200, 10_800);
/// assert_eq!(gauge.anchor().map(|anchor| anchor.request(12_000)), Some(12_400));
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Gauge {
    /// The newest report that is believed.
    newest: Option<(u64, u64)>,
    /// The newest report, believed or not.
    seen: Option<(u64, u64)>,
    reports: u32,
    /// By how much the requests differed from each other, in tokens of the provider and of the counter, the newer
    /// the more.
    reported: f64,
    counted: f64,
}

impl Gauge {
    /// What older reports still weigh when a new one comes. Of 0.8 to 0.99, tried on 800 calls against the published
    /// ratios of Claude's vocabulary to o200k, this one was right after compactions more than the others: 9 % off at
    /// the worst. Before the other calls all of them are 2 % off in the worst hundredth.
    const KEPT: f64 = 0.95;

    /// Tokens for which the two counts are believed to agree before anything is known. A counter that was chosen for
    /// a model is scaled to it already; four times as many made the first sizes worse.
    const PRIOR: f64 = 1_000.0;

    /// From so many tokens more or less on, a report tells something about the ratio. What grew while the messages
    /// did not, a tool that was added for instance, is part of the anchor and of nothing else.
    const TELLING: u64 = 32;

    /// No tokenizer of a provider is further from the counter than this, so that one odd report cannot make every
    /// later size absurd.
    const RATIOS: (f64, f64) = (Self::LEAST_RATIO, Self::MOST_RATIO);

    /// The fewest tokens of a provider for one of the counter that are believed.
    pub(crate) const LEAST_RATIO: f64 = 0.5;

    /// The most tokens of a provider for one of the counter that are believed.
    pub const MOST_RATIO: f64 = 3.0;

    /// The first report may be so many tokens more than its messages account for: what an agent sends around them that
    /// nobody here sees may be nearly all of the largest windows that there are.
    const MOST_AROUND: f64 = 1_000_000.0;

    /// From one report to the next, so much may be added around the messages at once: a few tools.
    const MOST_ADDED: f64 = 8_192.0;

    /// Takes in that the provider counted `reported` tokens, cached ones and the reply included, where the messages
    /// of the request and the reply are `counted` tokens by the counter. Whether that is believed.
    ///
    /// A report of less than any tokenizer makes of that changes nothing: some servers count what they did not have in
    /// a cache, or nothing at all. Nor does one of more than the messages and what may surround them, as of a server that
    /// reports the sum over a session: a history would be given up for it. If the next one has no more beyond its messages,
    /// it stands around them, and both are believed.
    pub fn observe(&mut self, reported: u64, counted: u64) -> bool {
        let is_too_little = (reported as f64) < Self::LEAST_RATIO * counted as f64;
        if reported == 0 || reported >= LARGEST_COUNT || is_too_little {
            return false;
        }
        let before = self.seen.replace((reported, counted));
        let (reported_before, counted_before) = before.unwrap_or_default();
        let grown = reported as f64 - reported_before as f64;
        let changed = counted.abs_diff(counted_before);
        let around = if before.is_some() { Self::MOST_ADDED } else { Self::MOST_AROUND };
        let most = Self::MOST_RATIO * changed as f64 + around;
        if grown > most {
            return false;
        }
        // What follows a report that was no size tells nothing about the ratio.
        if before.is_some() && changed >= Self::TELLING && grown >= -most {
            // What a compaction took tells as much as what was appended.
            let sign = if counted < counted_before { -1.0 } else { 1.0 };
            self.reported = Self::KEPT * self.reported + sign * grown;
            self.counted = Self::KEPT * self.counted + changed as f64;
        }
        self.newest = Some((reported, counted));
        self.reports = self.reports.saturating_add(1);
        true
    }

    /// The newest report, and how sizes go on from there; none before the first.
    pub fn anchor(&self) -> Option<Anchor> {
        let (reported, counted) = self.newest?;
        let (least, most) = Self::RATIOS;
        let ratio = (self.reported + Self::PRIOR) / (self.counted + Self::PRIOR);
        // What surrounds the messages is not less than nothing, so that all of it together is no larger a share.
        let whole = if counted > 0 { reported as f64 / counted as f64 } else { most };
        let ratio = ratio.min(whole).clamp(least, most);
        Some(Anchor { reported, counted, ratio, reports: self.reports })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_report_of_less_than_there_can_be_says_nothing() {
        let mut gauge = Gauge::default();
        gauge.observe(1_000, 900);
        let before = gauge.anchor();
        // What one cache did not have, of a hundred times as much.
        gauge.observe(40, 90_000);
        assert_eq!(gauge.anchor(), before);
    }

    #[test]
    fn a_sum_over_a_session_is_no_size() {
        let mut gauge = Gauge::default();
        let (mut counted, mut sum) = (20_000, 0);
        for _ in 0..200 {
            counted += 500;
            sum += counted + 3_000;
            gauge.observe(sum, counted);
            let size = gauge.anchor().map(|anchor| anchor.request(counted));
            assert!(size.is_some_and(|size| size < 3 * counted), "{size:?} for {counted}");
        }
    }

    #[test]
    fn one_report_of_more_than_there_can_be_is_forgotten() {
        for odd in [9_000_000, u64::MAX] {
            let mut gauge = Gauge::default();
            assert!(!gauge.observe(odd, 24_000));
            assert_eq!(gauge.anchor(), None);
            assert!(gauge.observe(25_000, 24_000) && gauge.observe(25_600, 24_500));
            let before = gauge.anchor();
            assert!(!gauge.observe(odd, 25_000));
            assert_eq!(gauge.anchor(), before);
            assert!(!gauge.observe(odd, 25_200) || odd < LARGEST_COUNT);
            assert!(gauge.observe(26_600, 25_500));
        }
    }

    #[test]
    fn what_stays_is_believed_from_the_second_time_on() {
        let mut gauge = Gauge::default();
        assert!(gauge.observe(25_000, 24_000));
        // Forty tools more.
        assert!(!gauge.observe(65_000, 24_100));
        assert!(gauge.observe(65_600, 24_700));
        let size = gauge.anchor().map(|anchor| anchor.request(24_800));
        assert_eq!(size, Some(65_700));
    }

    #[test]
    fn a_report_of_nothing_says_nothing() {
        let mut gauge = Gauge::default();
        gauge.observe(0, 500);
        assert_eq!(gauge.anchor(), None);
        gauge.observe(900, 500);
        gauge.observe(0, 5_000);
        assert_eq!(gauge.anchor().map(|anchor| anchor.request(500)), Some(900));
    }

    #[test]
    fn one_report_of_less_than_was_counted_says_that_the_counter_finds_too_much() {
        let mut gauge = Gauge::default();
        gauge.observe(2_700, 3_000);
        assert_eq!(
            gauge.anchor().map(|anchor| (anchor.request(4_000), anchor.request(0))),
            Some((3_600, 0))
        );
    }

    #[test]
    fn a_tool_that_was_added_says_nothing_about_the_ratio() {
        let mut gauge = Gauge::default();
        gauge.observe(2_000, 1_000);
        gauge.observe(7_000, 1_010);
        assert_eq!(
            gauge.anchor().map(|anchor| (anchor.ratio(), anchor.request(1_110))),
            Some((1.0, 7_100))
        );
    }

    #[test]
    fn the_ratio_follows_what_is_reported_and_no_odd_report_runs_away_with_it() {
        let mut gauge = Gauge::default();
        let mut ratios = Vec::new();
        for call in 0..20 {
            gauge.observe(2_000 + call * 1_600, 1_000 + call * 1_000);
            ratios.extend(gauge.anchor().map(|anchor| anchor.ratio()));
        }
        assert_eq!(ratios[0], 1.0);
        assert!(ratios.is_sorted() && ratios[19] > 1.45 && ratios[19] < 1.6, "{ratios:?}");
        for (reported, counted) in [(9_000_000, 21_000), (1, 22_000)] {
            gauge.observe(reported, counted);
            let ratio = gauge.anchor().unwrap().ratio();
            assert!((0.5..=3.0).contains(&ratio), "{ratio}");
        }
    }

    proptest! {
        #[test]
        fn both_ways_agree(
            reported in 1..5_000_000u64,
            counted in 0..5_000_000u64,
            ratio in 0.5..3.0,
            size in 1..6_000_000u64,
        ) {
            let anchor = Anchor { reported, counted, ratio, reports: 1 };
            let least = anchor.counted(size);
            prop_assert!(anchor.request(least) >= size);
            prop_assert!(least == 0 || anchor.request(least - 1) < size);
        }

        #[test]
        fn no_figure_is_too_large(reported: u64, counted: u64, more: u64, size: u64) {
            let mut gauge = Gauge::default();
            gauge.observe(reported, counted);
            gauge.observe(more, counted / 2);
            let Some(anchor) = gauge.anchor() else { return Ok(()) };
            prop_assert!(anchor.request(size) <= anchor.request(size.saturating_add(more)));
            prop_assert!(anchor.counted(size) <= anchor.counted(size.saturating_add(more)));
        }
    }
}
