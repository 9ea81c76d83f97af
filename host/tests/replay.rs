//! Replays of sessions whose answer is known.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::HashSet;
use std::sync::Arc;

use brute_core::{
    Approximate, Configure, Conversation, Edit, Flow, Host, LayerError, MessageView, Part, Plan,
    Role, Strategy, TokenCounter, ToolCall, ToolResult, Window,
};
use brute_host::ladder::{Budget, Compactor, OnError, Rung, RungResult};
use brute_host::replay::{Fate, Law, Own, OwnCompaction, Recorded, Replay, Run, orders};
use brute_host::summarizers::Extract;
use brute_host::truncation::{TruncateOptions, Truncator};
use brute_sliding_window::SlidingWindow;
use brute_summarize::Summarize;
use brute_tool_results::ToolResults;

const WINDOW: u64 = 3_000;

/// A request, and steps that read one file after the other. Step `again` speaks of the file of step 0.
fn session(steps: usize, again: usize) -> Conversation {
    let mut conversation = Conversation::default();
    conversation.push(Role::System, [Part::text("be brief")]).unwrap();
    conversation.push(Role::User, [Part::text("read all of it, for HTTP-4711")]).unwrap();
    for number in 0..steps {
        let id = format!("c{number}");
        let call = ToolCall {
            id: id.clone().into(),
            name: "read".into(),
            arguments: format!("{{\"path\":\"src/part{number}.rs\"}}").into(),
        };
        let said = match number == again {
            true => "As src/hidden/first.rs says, there is more.",
            false => "Next.",
        };
        let said = [Part::text(said), Part::ToolCall(call)];
        conversation.push(Role::Assistant, said).unwrap();
        let named = if number == 0 { "see src/hidden/first.rs " } else { "" };
        let text = format!("{named}{}", "word ".repeat(250));
        let result = ToolResult {
            call: id.into(),
            text: text.into(),
            media: Box::default(),
            is_error: false,
        };
        conversation.push(Role::Tool, [Part::ToolResult(result)]).unwrap();
    }
    conversation
}

fn ladder(names: &[&str]) -> Compactor {
    let budget = Budget::new(WINDOW, 200, 2_000, 1_200).unwrap();
    let compactor = Compactor::new(Arc::new(Approximate), budget)
        .summarizer(Arc::new(Extract::new(Arc::new(Approximate))));
    names.iter().fold(compactor, |compactor, name| {
        compactor.rung(match *name {
            "tool-results" => Rung::new(*name, ToolResults::default()),
            "sliding-window" => Rung::new(*name, SlidingWindow::default()),
            "summarize" => Rung::new(*name, Summarize::build(Default::default()).unwrap()),
            _ => Rung::new(*name, AfterPlaceholders),
        })
    })
}

fn level_one() -> Truncator {
    Truncator::new(TruncateOptions { spill: None, ..TruncateOptions::default() }).unwrap()
}

async fn runs(names: &[&str], conversation: Conversation, orders: Vec<Vec<usize>>) -> Vec<Run> {
    let replay = Replay::new(ladder(names), level_one()).checked();
    replay.run(&Recorded::new(conversation), orders).await
}

#[tokio::test]
async fn what_is_needed_and_gone_is_missed() {
    let compacted =
        |run: &Run| run.compactions.iter().map(|one| one.recall.all).collect::<Vec<_>>();
    for (names, is_kept) in [(["sliding-window"], false), (["summarize"], true)] {
        let all = runs(&names, session(40, 30), vec![vec![0]]).await;
        let recalls = compacted(&all[0]);
        assert!(recalls.len() > 1, "{recalls:?}");
        // It is needed for as long as nobody said it again: that is, before step 30.
        let before: Vec<_> =
            all[0].compactions.iter().map(|one| one.message <= 2 + 2 * 30).collect();
        for (recall, is_before) in recalls.iter().zip(&before) {
            assert_eq!(recall.needed, u64::from(*is_before), "{names:?}: {recalls:?}");
            let kept = u64::from(*is_before && is_kept);
            assert_eq!(recall.kept, kept, "{names:?}: {recalls:?}");
        }
        let by_origin = all[0].compactions[0].recall;
        assert_eq!((by_origin.in_results.needed, by_origin.said_by_people.needed), (1, 0));
    }
    // What the task says is always there, and no merit of a ladder.
    let all = runs(&["sliding-window"], session(40, 1_000), vec![vec![0]]).await;
    assert!(all[0].compactions.iter().all(|one| one.recall.all.needed == 0));
}

#[tokio::test]
async fn an_archive_makes_what_went_reachable() {
    let replay =
        |is_archived| Replay::new(ladder(&["tool-results"]), level_one()).archived(is_archived);
    for is_archived in [false, true] {
        let recorded = Recorded::new(session(40, 30));
        let runs = replay(is_archived).run(&recorded, vec![vec![0]]).await;
        let first = &runs[0].compactions[0].recall.all;
        assert_eq!((first.needed, first.kept), (1, 0));
        assert_eq!(first.reachable, u64::from(is_archived));
    }
}

#[tokio::test]
async fn what_became_of_each_message_is_told_where_it_is_asked_for() {
    let names = ["tool-results", "summarize", "sliding-window"];
    let recorded = Recorded::new(session(60, 40));
    let untold = Replay::new(ladder(&names), level_one()).run(&recorded, orders(3, 0)).await;
    assert!(untold.iter().flat_map(|run| &run.compactions).all(|one| one.became.is_empty()));
    let told = Replay::new(ladder(&names), level_one()).traced();
    let mut seen = HashSet::new();
    for run in told.run(&recorded, orders(3, 0)).await {
        assert!(run.compactions.len() > 2);
        let mut before = vec![Fate::Kept; 122];
        for compaction in &run.compactions {
            let mut now = vec![Fate::Kept; 122];
            for became in &compaction.became {
                now[became.first..=became.last].fill(became.fate);
                assert!(became.last < compaction.message && became.fate != Fate::Kept);
                // Each is done by the rung that does such things.
                let by = run.order[became.rung.unwrap()].as_str();
                match became.fate {
                    Fate::Shrunk => assert_eq!(by, "tool-results"),
                    Fate::Summarized => assert_eq!(by, "summarize"),
                    Fate::Gone => assert_ne!(by, "tool-results"),
                    Fate::Kept => {}
                }
                let text = became.now.as_ref().and_then(|now| now.parts()[0].texts().next());
                let is_marked = text.is_none_or(|text| text.starts_with("[brute:"));
                assert!(is_marked, "{became:?}");
                assert!(became.fate == Fate::Gone || text.is_some(), "{became:?}");
                seen.insert(became.fate);
            }
            // The instructions, the task and the newest step stay, and what went does not come back.
            assert_eq!(now[..2], [Fate::Kept; 2]);
            assert_eq!(now[compaction.message - 1], Fate::Kept);
            for (before, now) in before.iter().zip(&now) {
                assert!(before != &Fate::Gone || now == &Fate::Gone);
                assert!(before != &Fate::Summarized || now != &Fate::Kept);
            }
            before = now;
        }
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
}

#[tokio::test]
async fn orders_together_do_what_each_does_alone() {
    let names = ["tool-results", "sliding-window", "summarize"];
    let together = runs(&names, session(60, 40), orders(3, 0)).await;
    assert_eq!(together.len(), 6);
    for (run, order) in together.iter().zip(orders(3, 0)) {
        let alone = runs(&names, session(60, 40), vec![order]).await;
        let without_time = |run: &Run| {
            let mut run = run.clone();
            run.milliseconds = 0.0;
            for rung in run.compactions.iter_mut().flat_map(|one| &mut one.rungs) {
                rung.duration = Default::default();
                rung.summarizer.duration = Default::default();
            }
            run
        };
        assert_eq!(without_time(run), without_time(&alone[0]));
        assert_eq!(run.totals().violations, 0);
        assert_eq!(run.totals().over_window, 0);
        assert_eq!(run.totals().calls, 60);
    }
    let digests: std::collections::HashSet<_> = together.iter().map(|run| &run.digest).collect();
    assert!(digests.len() > 1 && digests.len() < 6, "{digests:?}");
}

#[tokio::test]
async fn a_rung_that_ends_the_descent_ends_it_in_a_replay_too() {
    let failing = |name: &str, on_error| Rung { on_error, ..Rung::new(name, Ends::ByFailing) };
    let stopping = Rung::new("first", Ends::ByItsPlan);
    for (first, is_next_asked) in [
        (failing("first", OnError::Next), true),
        (failing("first", OnError::Stop), false),
        (stopping, false),
    ] {
        let ladder =
            ladder(&[]).rung(first).rung(Rung::new("sliding-window", SlidingWindow::default()));
        let live = ladder.compact_now(session(40, 1_000)).await;
        assert_eq!(matches!(live.rungs[1].result, RungResult::Applied), is_next_asked);
        let replay = Replay::new(ladder, level_one());
        let runs = replay.run(&Recorded::new(session(40, 1_000)), vec![vec![0, 1]]).await;
        assert_eq!(runs[0].compactions[0].gone > 0, is_next_asked);
    }
}

/// Gives nothing, and wants no rung below it to be asked.
enum Ends {
    ByFailing,
    ByItsPlan,
}

impl Strategy for Ends {
    fn plan(&self, _window: &Window<'_>, _host: &dyn Host) -> Result<Plan, LayerError> {
        match self {
            Self::ByFailing => Err(LayerError::new("not today")),
            Self::ByItsPlan => Ok(Plan { edits: Vec::new(), flow: Flow::Stop }),
        }
    }
}

#[tokio::test]
async fn a_cache_has_what_the_last_request_began_with() {
    let replay = Replay::new(ladder(&["sliding-window"]), level_one());
    let recorded = Recorded::new(session(40, 1_000));
    let whole = replay.uncompacted(&recorded).await;
    for pair in whole.calls.windows(2) {
        assert_eq!(pair[1].cached, if pair[0].size < 1_024 { 0 } else { pair[0].size });
    }
    assert!(whole.totals().over_window > 0 && whole.compactions.is_empty());
    let run = &replay.run(&recorded, vec![vec![0]]).await[0];
    let after: Vec<_> = run.compactions.iter().map(|one| one.message).collect();
    for call in run.calls.iter().skip(1).filter(|call| call.size > 1_400) {
        // Instructions and task alone are less than is cached.
        assert_eq!(call.cached == 0, after.contains(&call.message), "{call:?}");
    }
    assert!(run.totals().peak <= WINDOW - 200);
}

#[tokio::test]
async fn a_layer_that_fails_in_one_order_alone_is_found_and_the_fault_shrunk() {
    let names = ["tool-results", "after-placeholders", "sliding-window"];
    let replay = Replay::new(ladder(&names), level_one()).checked();
    let recorded = Recorded::new(session(60, 1_000));
    let runs = replay.run(&recorded, orders(3, 0)).await;
    for run in &runs {
        let place = |name: &str| run.order.iter().position(|rung| rung == name).unwrap();
        // Placeholders of the first compaction meet every order of the second.
        let first = &run.compactions[0];
        let fails = !first.violations.is_empty();
        let is_asked_with_placeholders = place("tool-results") < place("after-placeholders")
            && first.rungs.len() > place("after-placeholders");
        assert_eq!(fails, is_asked_with_placeholders, "{:?}", run.order);
    }
    let (at, run) = runs.iter().enumerate().find(|(_, run)| run.totals().violations > 0).unwrap();
    let failed = run.compactions.iter().find_map(|one| one.failing.as_ref()).unwrap();
    let order = &orders(3, 0)[at];
    let smallest = replay.shrunk(failed, order, Law::LayersDoNotFail).await;
    assert!(smallest.len() <= 6 && smallest.len() < failed.len(), "{smallest:?}");
}

/// Fails on the placeholders of another layer, as one does that was never tried below it.
struct AfterPlaceholders;

impl Strategy for AfterPlaceholders {
    fn plan(&self, window: &Window<'_>, _host: &dyn Host) -> Result<Plan, LayerError> {
        let is_placeholder = |message: MessageView<'_>| {
            message.result().is_some_and(|(_, result)| result.text.starts_with("[brute:"))
        };
        match window.all().any(is_placeholder) {
            true => Ok(Plan::of(vec![Edit::Drop { span: 0..usize::MAX }])),
            false => Ok(Plan::decline()),
        }
    }
}

/// What a session's agent did at message 22: everything but the instructions and the newest step went for a summary.
fn own() -> Own {
    Own {
        compactions: vec![OwnCompaction {
            at: 22,
            tokens_before: Some(3_111),
            took: (1..20).collect(),
            summary: Some("It reads src/hidden/first.rs and what comes after it.".into()),
            ..OwnCompaction::default()
        }],
        reports: Vec::new(),
    }
}

#[tokio::test]
async fn what_its_own_agent_did_is_walked_through_as_the_log_has_it() {
    let conversation = session(40, 30);
    let tokens = |at: usize| u64::from(conversation.messages()[at].tokens(&Approximate));
    let replay = Replay::new(ladder(&[]), level_one());
    let recorded = Recorded::new(conversation.clone()).with_own(own());
    let (run, reproduced) = replay.own(&recorded);
    let nothing = replay.uncompacted(&recorded).await;

    // Until then nothing is otherwise, and then what went is gone and the summary there.
    assert_eq!(run.calls.len(), nothing.calls.len());
    let place = run.calls.iter().position(|call| call.message == 22).unwrap();
    assert_eq!(run.calls[..place], nothing.calls[..place]);
    let gone: u64 = (1..20).map(tokens).sum();
    let summary = own().compactions[0].summary.clone().unwrap();
    let came = u64::from(Approximate.count(&summary) + Approximate.per_message());
    for (with, without) in run.calls.iter().zip(&nothing.calls).skip(place) {
        assert_eq!(with.size, without.size - gone + came);
    }
    // Of the request before, the instructions alone are there again, which is too little for a cache.
    assert_eq!(run.calls[place].cached, 0);
    // Later all of the last request is, the summary too.
    for pair in run.calls[place + 4..].windows(2) {
        assert_eq!(pair[1].cached, pair[0].size);
    }

    let [compaction] = run.compactions.as_slice() else { unreachable!("{:?}", run.compactions) };
    assert_eq!((compaction.gone, compaction.new), (19, 1));
    assert_eq!(compaction.before - compaction.after, gone - came);
    assert_eq!((compaction.recall.all.needed, compaction.recall.all.kept), (1, 1));
    assert_eq!((reproduced[0].log, reproduced[0].counted), (3_111, compaction.before));
    assert_eq!(reproduced[0].anchored, None);
}

#[test]
fn what_became_of_messages_under_its_own_agent_is_traced() {
    let compaction = |at, took: std::ops::Range<usize>, summary: Option<&str>| OwnCompaction {
        at,
        took: took.collect(),
        summary: summary.map(str::to_owned),
        ..OwnCompaction::default()
    };
    // It clears two results, drops a stretch with one of them without a word, summarizes the next, and then more of it.
    let cleared = OwnCompaction {
        at: 8,
        cleared: ["c0", "c2"].map(str::to_owned).to_vec(),
        placeholder: "cleared".to_owned(),
        ..OwnCompaction::default()
    };
    let own = Own {
        compactions: vec![
            cleared,
            compaction(12, 2..4, None),
            compaction(16, 4..8, Some("two files")),
            compaction(20, 8..12, Some("four files")),
        ],
        reports: Vec::new(),
    };
    let recorded = Recorded::new(session(12, 30)).with_own(own);
    let told = |replay: Replay| {
        let compactions = replay.own(&recorded).0.compactions.into_iter();
        let told = compactions.map(|one| {
            let became = one.became.into_iter().map(|became| {
                assert_eq!(became.rung, None);
                let now = became.now.map_or("nothing".to_owned(), |now| match &now.parts()[0] {
                    Part::ToolResult(result) => result.text.to_string(),
                    part => part.texts().collect(),
                });
                format!("{}-{} {:?}: {now}", became.first, became.last, became.fate)
            });
            became.collect::<Vec<_>>()
        });
        told.collect::<Vec<_>>()
    };
    let replay = || Replay::new(ladder(&[]), level_one());
    assert_eq!(told(replay()), vec![Vec::<String>::new(); 4]);
    assert_eq!(
        told(replay().traced()),
        [
            vec!["3-3 Shrunk: cleared", "7-7 Shrunk: cleared"],
            vec!["2-3 Gone: nothing", "7-7 Shrunk: cleared"],
            vec!["2-3 Gone: nothing", "4-7 Summarized: two files"],
            // The summary before went with what it stood before.
            vec!["2-3 Gone: nothing", "4-11 Summarized: four files"],
        ]
    );
}

#[tokio::test]
async fn sizes_go_by_what_was_reported_where_something_was() {
    // The provider sees 700 tokens that no counter does, and counts like it beyond that.
    let conversation = session(40, 30);
    let mut counted = 0;
    let mut reports = Vec::new();
    for (at, message) in conversation.messages().iter().enumerate() {
        counted += u64::from(message.tokens(&Approximate));
        if message.role() == Role::Assistant && at < 22 {
            reports.push((at + 1, counted + 700));
        }
    }
    let recorded = Recorded::new(conversation).with_own(Own { reports, ..own() });
    let replay =
        |is_anchored| Replay::new(ladder(&["tool-results"]), level_one()).anchored(is_anchored);
    let sizes = |run: &Run| run.calls.iter().map(|call| call.size).collect::<Vec<_>>();
    let (own, reproduced) = replay(true).own(&recorded);
    let (as_counted, _) = replay(false).own(&recorded);
    // The first call has nothing to go by. Both agree on what the compaction took.
    let (own, as_counted) = (sizes(&own), sizes(&as_counted));
    assert_eq!(own[0], as_counted[0]);
    for (anchored, counted) in own.iter().zip(&as_counted).skip(1) {
        assert_eq!(*anchored, counted + 700);
    }
    assert_eq!(reproduced[0].anchored, Some(reproduced[0].counted + 700));

    // A ladder starts that much earlier.
    let first = |runs: &[Run]| runs[0].compactions[0].message;
    let anchored = replay(true).run(&recorded, vec![vec![0]]).await;
    let counted = replay(false).run(&recorded, vec![vec![0]]).await;
    assert!(first(&anchored) < first(&counted));
    assert!(anchored[0].compactions.iter().all(|one| one.before >= 2_000));
    assert_eq!(anchored[0].totals().violations, 0);
}
