//! A compaction as people and programs read it.
//!
//! All sizes are of a whole request, as the window sees it: the messages, and what of each request is no
//! messages. The library counts messages; what it says is converted here, once.

use brute_host::formats::Document;
use brute_host::ladder::{
    Blocker, Compaction, NotAsked, Outcome, RungReport, RungResult, Spent, WireChange,
};
use brute_host::shown::{shown, shown_lines};
use serde::Serialize;

use crate::exit::Exit;
use crate::grid::Grid;
use crate::progress::Warning;
use crate::setup::Ran;
use crate::style::{self, BAD, DIM, GOOD, HEAD, WARN, bytes, counted, number, styled};

/// A compaction as JSON.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report<'a> {
    format: String,
    carrier: &'a str,
    model: Option<&'a str>,
    counter: &'a str,
    window: u64,
    compact_at: u64,
    target: u64,
    /// Tool schemas and framing: what is in all other sizes and is no messages.
    overhead: u64,
    before: u64,
    after: u64,
    /// Messages as they stand in the file, before and after.
    messages_before: usize,
    messages_after: usize,
    /// The request on the wire, where its bytes are limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<Bytes>,
    /// What `--repair` mended.
    repairs: Vec<String>,
    /// What the rungs warned of.
    warnings: &'a [Warning],
    duration_ms: f64,
    rungs: Vec<Rung>,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Bytes {
    most: u64,
    compact_at: u64,
    target: u64,
    #[serde(flatten)]
    change: WireChange,
}

impl Bytes {
    fn of(done: &Compaction) -> Option<Self> {
        let (room, change) = (done.budget.wire()?, done.wire?);
        let (most, compact_at, target) = (room.most(), room.compact_at(), room.compact_to());
        Some(Self { most, compact_at, target, change })
    }

    /// The same, if they have a say.
    fn that_matter(done: &Compaction) -> Option<Self> {
        Self::of(done).filter(|bytes| bytes.change.before > bytes.target)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Rung {
    #[serde(flatten)]
    report: RungReport,
    duration_ms: f64,
    summarizer_duration_ms: f64,
}

/// What each rung did, in sizes of a whole request.
fn of_requests(ran: &Ran) -> impl Iterator<Item = RungReport> {
    let budget = ran.done.budget;
    ran.done.rungs.iter().map(move |rung| RungReport {
        before: budget.request(rung.before),
        after: budget.request(rung.after),
        ..rung.clone()
    })
}

fn milliseconds(duration: std::time::Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

impl<'a> Report<'a> {
    /// The report on a compaction whose result has `messages_after` messages in the file.
    pub(crate) fn of(document: &'a Document, ran: &'a Ran, messages_after: usize) -> Self {
        let done = &ran.done;
        let budget = done.budget;
        let rungs = of_requests(ran);
        Self {
            format: document.format().to_string(),
            carrier: document.carrier(),
            model: ran.model.as_deref(),
            counter: ran.counter.id(),
            window: budget.window(),
            compact_at: budget.compact_at(),
            target: budget.request(budget.target()),
            overhead: budget.overhead(),
            before: budget.request(done.before),
            after: budget.request(done.after),
            messages_before: document.wire_len(),
            messages_after,
            bytes: Bytes::of(done),
            repairs: document.repairs().iter().map(ToString::to_string).collect(),
            warnings: &ran.warned,
            duration_ms: milliseconds(done.duration),
            rungs: rungs
                .map(|report| Rung {
                    duration_ms: milliseconds(report.duration),
                    summarizer_duration_ms: milliseconds(report.summarizer.duration),
                    report,
                })
                .collect(),
            outcome: placed(document, done),
        }
    }
}

/// How a compaction ends the command.
pub(crate) fn exit(done: &Compaction) -> Exit {
    let summarizer_failed = (done.rungs.iter())
        .any(|rung| matches!(rung.result, RungResult::Failed { summarizer: true, .. }));
    match done.outcome.fits() {
        true => Exit::Fitted,
        false if summarizer_failed => Exit::Summarizer,
        false => Exit::NotFitted,
    }
}

/// What the conversation is and how much room there is.
pub(crate) fn heading(name: &str, document: &Document, ran: &Ran) -> String {
    let mut lines = room(name, document, ran).into_iter();
    let head = styled(HEAD, &lines.next().unwrap_or_default()) + "\n";
    head + &lines.map(|line| styled(DIM, &style::wrapped(&line, 0)) + "\n").collect::<String>()
}

/// The same, line by line.
pub(crate) fn room(name: &str, document: &Document, ran: &Ran) -> Vec<String> {
    let done = &ran.done;
    let budget = done.budget;
    let mut pieces = vec![
        format!("window {}", number(budget.window())),
        format!("compaction at {}", number(budget.compact_at())),
        format!("down to {}", number(budget.request(budget.target()))),
    ];
    if let Some(model) = &ran.model {
        pieces[0].push_str(&format!(" ({})", shown(model)));
    }
    if budget.overhead() > 0 {
        pieces.push(format!("tool schemas and framing take {}", number(budget.overhead())));
    }
    let head = format!(
        "{}: {}, {} tokens",
        name,
        counted(document.wire_len() as u64, "message"),
        number(budget.request(done.before))
    );
    let format =
        format!("{} ({}), counted by {}", document.format(), document.carrier(), ran.counter.id());
    let mut lines = vec![head, format, pieces.join(", ")];
    if let Some(Bytes { most, compact_at, target, change }) = Bytes::that_matter(done) {
        let [before, most, at, to] = [change.before, most, compact_at, target].map(bytes);
        let line = format!("{before} of {most} on the wire, compaction at {at}, down to {to}");
        lines.push(line);
    }
    lines
}

/// What each rung did, in figures.
pub(crate) fn grid(ran: &Ran) -> Grid {
    let header = ["", "rung", "result", "before", "after", "saved", "edits", "calls", "time"];
    let mut grid = Grid::new(header, 1).figures_from(3);
    for (index, rung) in of_requests(ran).enumerate() {
        let asked = !matches!(rung.result, RungResult::NotAsked { .. });
        let sized = |value: u64| if asked { number(value) } else { String::new() };
        grid.rows.push(vec![
            (index + 1).to_string(),
            shown(&rung.rung),
            result(&rung.result).to_owned(),
            sized(rung.before),
            sized(rung.after),
            sized(rung.before - rung.after),
            sized(rung.edits as u64),
            sized(rung.summarizer.calls as u64),
            if asked { style::duration(rung.duration) } else { String::new() },
        ]);
    }
    grid
}

/// What each rung did.
pub(crate) fn rungs(ran: &Ran) -> String {
    let mut text = grid(ran).text();
    for rung in ran.done.rungs.iter().filter(|rung| rung.summarizer.calls > 0) {
        let (asked, rung, spent) =
            (styled(DIM, "asked"), shown(&rung.rung), of_summarizer(&rung.summarizer));
        text.push_str(&format!("\n{asked} `{rung}`: {spent}"));
    }
    for rung in &ran.done.rungs {
        let (sign, why) = match &rung.result {
            RungResult::Failed { reason, .. } => (styled(BAD, "failed"), shown_lines(reason)),
            RungResult::OutOfBudget { used_up } => (styled(WARN, "ended"), used_up.to_string()),
            _ => continue,
        };
        text.push_str(&format!("\n{sign} `{}`: {why}", shown(&rung.rung)));
    }
    text.push('\n');
    text
}

/// What asking the summarizer took.
fn of_summarizer(spent: &Spent) -> String {
    let Spent { calls, estimated, input, cached, output, cost, duration, .. } = *spent;
    let mut words = vec![
        format!("{} of the summarizer", counted(calls as u64, "call")),
        match cached {
            0 => format!("{} tokens in", number(input)),
            _ => format!("{} tokens in ({} cached)", number(input), number(cached)),
        },
        match estimated {
            0 => format!("{} out", number(output)),
            all if all == calls => format!("{} out (estimated)", number(output)),
            some => format!("{} out ({some} of them estimated)", number(output)),
        },
    ];
    words.extend(cost.map(style::dollars));
    words.push(style::duration(duration));
    words.join(", ")
}

fn result(result: &RungResult) -> &'static str {
    match result {
        RungResult::Applied => "applied",
        RungResult::Declined => "nothing to give",
        RungResult::Failed { .. } => "failed",
        RungResult::OutOfBudget { .. } => "out of budget",
        RungResult::NotAsked { reason: NotAsked::BelowTrigger | NotAsked::TargetMet } => {
            "not needed"
        }
        RungResult::NotAsked { reason: NotAsked::When } => "not asked (`when`)",
        RungResult::NotAsked { reason: NotAsked::Stopped } => "not asked (ended above)",
        RungResult::NotAsked { reason: NotAsked::Quarantined } => "not asked (kept failing)",
    }
}

/// What came of it, and what stands in the way.
pub(crate) fn outcome(document: &Document, ran: &Ran) -> String {
    let done = &ran.done;
    let after = number(ran.done.budget.request(done.after));
    let mut saved = format!("{} saved", number(done.before - done.after));
    if let Some(Bytes { change: WireChange { before, after }, .. }) = Bytes::that_matter(done) {
        saved.push_str(&format!(
            "; {} on the wire, {} saved",
            bytes(after),
            bytes(before.saturating_sub(after))
        ));
    }
    let placed = placed(document, done);
    let (line, in_the_way) = match &placed {
        Outcome::BelowTrigger => (
            format!("{}: {after} tokens need no compaction", styled(GOOD, "below the trigger")),
            None,
        ),
        Outcome::Fitted => (format!("{}: {after} tokens, {saved}", styled(GOOD, "fitted")), None),
        Outcome::Partial { over_by, over_by_bytes, blockers } => {
            let (sign, over) = (styled(WARN, "not fitted"), over(*over_by, *over_by_bytes));
            let line = format!("{sign}: {after} tokens, {saved}, still {over}");
            (line, Some(in_the_way(blockers, *over_by == 0)))
        }
        Outcome::Nothing { over_by, over_by_bytes, blockers } => {
            let (sign, over) = (styled(BAD, "not fitted"), over(*over_by, *over_by_bytes));
            let line = format!("{sign}: no layer could give anything, {over}");
            (line, Some(in_the_way(blockers, *over_by == 0)))
        }
    };
    format!("{}\n{}", style::wrapped(&line, 0), in_the_way.unwrap_or_default())
}

/// What is too much, in either measure.
fn over(tokens: u64, on_the_wire: u64) -> String {
    match (tokens, on_the_wire) {
        (tokens, 0) => format!("{} over", number(tokens)),
        (0, on_the_wire) => format!("{} over on the wire", bytes(on_the_wire)),
        (tokens, on_the_wire) => {
            format!("{} over, and {} over on the wire", number(tokens), bytes(on_the_wire))
        }
    }
}

/// The outcome with its messages as the input counts them, on the wire and from 0: the only numbers
/// that people can look up. What the compaction wrote itself has none.
fn placed(document: &Document, done: &Compaction) -> Outcome {
    let messages = done.conversation.messages();
    let mut outcome = done.outcome.clone();
    if let Outcome::Partial { blockers, .. } | Outcome::Nothing { blockers, .. } = &mut outcome {
        for blocker in blockers {
            let known = (blocker.messages.iter()).filter_map(|&index| messages.get(index));
            blocker.messages =
                known.filter_map(|message| document.wire_index(message.id())).collect();
            // One message on the wire may be several here.
            blocker.messages.dedup();
        }
    }
    outcome
}

fn in_the_way(blockers: &[Blocker], by_bytes: bool) -> String {
    let lines = blockers.iter().map(|blocker| {
        let words = format!("{}{}: {}", blocker.kind, places(&blocker.messages), blocker.advice);
        let size = if by_bytes { bytes(blocker.bytes) } else { number(blocker.tokens) };
        format!("  {size:>9}  {}\n", style::wrapped(&words, 13))
    });
    format!("in the way:\n{}", lines.collect::<String>())
}

/// ` (message 3)`, ` (messages 3, 7 to 9 and 12 more)`.
fn places(messages: &[usize]) -> String {
    const MOST: usize = 4;
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &message in messages {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == message => *last = message,
            _ => runs.push((message, message)),
        }
    }
    let shown: Vec<String> = (runs.iter().take(MOST))
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first} to {last}"),
        })
        .collect();
    let hidden: usize = runs.iter().skip(MOST).map(|(first, last)| last - first + 1).sum();
    let more = if hidden > 0 { format!(" and {hidden} more") } else { String::new() };
    match messages.len() {
        0 => String::new(),
        1 => format!(" (message {})", shown.join("")),
        _ => format!(" (messages {}{more})", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_in_runs() {
        assert_eq!(places(&[]), "");
        assert_eq!(places(&[3]), " (message 3)");
        assert_eq!(places(&[3, 7, 8, 9]), " (messages 3, 7 to 9)");
        assert_eq!(places(&[1, 3, 5, 7, 9, 10]), " (messages 1, 3, 5, 7 and 2 more)");
    }
}
