//! What the provider counted, beside what is counted here.

use std::sync::Arc;

use brute_core::{Message, Role};
use brute_host::ladder::Gauge;
use brute_host::tokens::CounterKind;
use serde::Serialize;

use crate::session::Session;
use crate::setup::Sizing;
use crate::style::{DIM, counted, number, styled, wrapped};

/// What the provider reported last, and what follows from that for the size of the next request.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Reported {
    /// The provider's count of a request and its reply.
    reported: u64,
    /// What is counted here for the same.
    counted: u64,
    /// How many reports there were.
    reports: u32,
    /// Tokens of the provider for each token that the counter itself finds, as assumed before any report.
    prior: f64,
    /// The same by what was reported.
    ratio: f64,
    /// The next request by all of that; none if the report is about another conversation.
    estimate: Option<u64>,
}

impl Reported {
    /// What `said` says, or else the input, of what the provider counted; nothing if neither does.
    pub(crate) fn of(session: &Session, sizing: &Sizing, said: Option<u64>) -> Option<Self> {
        let (budget, counter) = (sizing.compactor.budget(), &**sizing.compactor.counter());
        let messages = session.document.conversation().messages();
        let size = |of: &[Arc<Message>]| of.iter().map(|one| u64::from(one.tokens(counter))).sum();
        let mut gauge = Gauge::default();
        match said {
            Some(tokens) => {
                let reply = messages.iter().rposition(|one| one.role() == Role::Assistant);
                let sent = reply.map_or(messages, |reply| &messages[..=reply]);
                let counted = budget.request(size(sent));
                if !gauge.observe(tokens, size(sent)) && tokens > counted {
                    let (prior, ratio) = (sizing.ratio, sizing.ratio);
                    let reported = tokens;
                    return Some(Self {
                        reported,
                        counted,
                        reports: 1,
                        prior,
                        ratio,
                        estimate: None,
                    });
                }
            }
            None => {
                let (mut known, mut tokens) = (0, 0);
                for (count, usage) in session.reports() {
                    tokens += size(messages.get(known..count).unwrap_or_default());
                    known = known.max(count);
                    gauge.observe(usage.total(), tokens);
                }
            }
        }
        let anchor = gauge.anchor()?;
        let counted = budget.request(anchor.counted_then());
        let estimate = budget.anchored(anchor).request(size(messages));
        let is_of_this = anchor.reported() as f64 <= Gauge::MOST_RATIO * counted as f64;
        Some(Self {
            reported: anchor.reported(),
            counted,
            reports: anchor.reports(),
            prior: sizing.ratio,
            ratio: sizing.ratio * anchor.ratio(),
            estimate: is_of_this.then_some(estimate),
        })
    }

    /// The same for people, counted by `counter`.
    pub(crate) fn text(&self, counter: CounterKind) -> String {
        let Self { reports, prior, ratio, .. } = *self;
        let mut lines = vec![format!(
            "the provider counted {} for the last request and its reply, where {} are counted here",
            number(self.reported),
            number(self.counted)
        )];
        match self.estimate {
            None => lines.push(
                "that is more than any tokenizer makes of it: something was taken out since, and \
                 the figure says nothing about what is left"
                    .to_owned(),
            ),
            Some(estimate) => {
                lines.push(match reports {
                    1 => format!(
                        "ratio: 1 token of {counter} is taken for {ratio:.2} of the provider's; one \
                         report tells little of that, and {prior:.2} was assumed before"
                    ),
                    _ => format!(
                        "ratio: 1 token of {counter} is {ratio:.2} of the provider's, learned from \
                         {}; {prior:.2} was assumed before",
                        counted(u64::from(reports), "report")
                    ),
                });
                lines.push(format!(
                    "estimate of the next request: {}; a guarded session goes by that, this run by \
                     its own count",
                    number(estimate)
                ));
            }
        }
        lines.iter().map(|line| styled(DIM, &wrapped(line, 0)) + "\n").collect()
    }
}
