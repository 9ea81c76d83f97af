//! What summaries take is what the server bills, and never more than is allowed.

use brute_host::config::{Config, Origin, Source, Sources, load};
use brute_host::formats::WriteOptions;
use brute_host::guard::{Guard, Policy};
use brute_host::ladder::{BlockerKind, Event, RungResult, SpendingLimit, Spent};
use brute_host::layers::Layers;

use super::ladder::{SUMMARY, config, descend, runtime, session};
use super::peer::{Peer, Speaks, Turn, says};

fn good(speaks: Speaks) -> Turn {
    says("200 OK", &speaks.answer(SUMMARY, "stop"))
}

/// Prices are of the server's model.
const PRICE: &str =
    "[models.small]\nwindow = 2_000\nprice = { input = 1.0, cached = 0.1, output = 10.0 }\n";

fn load_text(text: &str) -> Config {
    let file = Source::new("brute.toml", text, Origin::Project);
    let loaded = load(&Sources { project: Some(file), ..Sources::default() }, &Layers::built_in());
    loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// A summarizer at this port within a budget, with no fallback behind it but the rung below.
fn budgeted(speaks: Speaks, port: u16, budget: &str, on_error: &str, below: &str) -> Config {
    let backend = speaks.backend();
    load_text(&format!(
        "[window]\nsize = 8000\n[trigger]\ncompact-at = 301\ncompact-to = 300\n{PRICE}\
         [summarizer]\nbackend = \"{backend}\"\nbase-url = \"http://127.0.0.1:{port}\"\n\
         model = \"small\"\nretries = 0\n[summarizer.budget]\n{budget}\n\
         [[ladder]]\nlayer = \"summarize\"\non-error = \"{on_error}\"\nmax-tokens = 200\n{below}"
    ))
}

const BELOW: &str = "[[ladder]]\nlayer = \"sliding-window\"\n";

#[test]
fn what_the_server_bills_is_told() {
    for speaks in Speaks::BOTH {
        let peer = Peer::new(vec![good(speaks)]);
        let descent = descend(&budgeted(speaks, peer.port(), "", "stop", ""), &session());
        let calls = peer.requests().len();
        assert!(calls > 1);
        let spent = descent.done.rungs[0].summarizer;
        // 600 at 1, 300 at 0.1 and 40 at 10 dollars for a million.
        let each = 1_030_000;
        let all = |tokens| tokens * calls as u64;
        let expected = Spent {
            calls,
            answers: calls,
            estimated: 0,
            input: all(900),
            cached: all(300),
            output: all(40),
            cost: Some(all(each)),
            duration: spent.duration,
        };
        assert_eq!(spent, expected, "{speaks:?}");
        let told =
            descent.events.iter().find(|event| matches!(event, Event::SummarizerCalled { .. }));
        let told = serde_json::to_value(told.unwrap()).unwrap();
        for (key, value) in [
            ("input-tokens", serde_json::json!(900)),
            ("cached-tokens", serde_json::json!(300)),
            ("output-tokens", serde_json::json!(40)),
            ("estimated", serde_json::json!(false)),
            ("cost-usd", serde_json::json!(0.001_03)),
        ] {
            assert_eq!(told[key], value, "{told}");
        }
    }
}

#[test]
fn what_nobody_bills_is_counted_and_said_to_be() {
    let mut answer = Speaks::Openai.answer(SUMMARY, "stop");
    answer["usage"] = serde_json::Value::Null;
    let peer = Peer::new(vec![says("200 OK", &answer)]);
    let descent = descend(&budgeted(Speaks::Openai, peer.port(), "", "stop", ""), &session());
    let spent = descent.done.rungs[0].summarizer;
    assert_eq!((spent.estimated, spent.cost), (spent.calls, None));
    assert!(spent.input > 1_000 && spent.output > 20, "{spent:?}");
}

#[test]
fn an_answer_that_cannot_be_used_is_billed_all_the_same() {
    let cut = says("200 OK", &Speaks::Openai.answer("half", "length"));
    let (first, second) = (Peer::new(vec![cut]), Peer::new(vec![good(Speaks::Openai)]));
    let mut config = budgeted(Speaks::Openai, first.port(), "max-calls = 1", "stop", "");
    let second = budgeted(Speaks::Openai, second.port(), "", "stop", "");
    config.fallback = second.summarizer.into_iter().collect();
    let spent = descend(&config, &session()).done.rungs[0].summarizer;
    assert_eq!((spent.calls, spent.input, spent.output), (1, 1_800, 80));
}

#[test]
fn a_budget_ends_the_rung_and_leaves_what_the_round_before_left() {
    let document = session();
    for speaks in Speaks::BOTH {
        let peer = Peer::new(vec![good(speaks), says("422 No", &serde_json::json!({}))]);
        let one = descend(&config(speaks, peer.port(), "retries = 0", "stop"), &document);
        // The second call may take more than the rest, however it is counted.
        for (budget, limit) in [
            ("max-calls = 1", SpendingLimit::MaxCalls),
            ("max-tokens = 2_400", SpendingLimit::MaxTokens),
            ("session-max-calls = 1", SpendingLimit::SessionMaxCalls),
            ("session-max-tokens = 2_400", SpendingLimit::SessionMaxTokens),
        ] {
            let peer = Peer::new(vec![good(speaks)]);
            let descent = descend(&budgeted(speaks, peer.port(), budget, "stop", BELOW), &document);
            assert_eq!(peer.requests().len(), 1, "{budget}");
            assert_eq!(descent.written, one.written, "{budget}");
            let rungs = &descent.done.rungs;
            let RungResult::OutOfBudget { used_up } = rungs[0].result else {
                panic!("{budget}: {:?}", rungs[0].result)
            };
            assert_eq!((used_up.limit, rungs[0].rounds), (limit, 1), "{budget}");
            assert_eq!(rungs[1].result.name(), "not-asked", "{budget}");
            let blockers = descent.done.outcome.blockers();
            let history = blockers.iter().find(|blocker| blocker.kind == BlockerKind::History);
            assert!(history.unwrap().advice.contains("`[summarizer.budget]`"), "{blockers:?}");
            let ends: Vec<_> = descent.events.iter().filter(|event| {
                matches!(event, Event::LayerOutOfBudget { rung, .. } if rung == "summarize")
            }).collect();
            let told = serde_json::to_value(ends[0]).unwrap();
            assert_eq!((ends.len(), &told["limit"]), (1, &limit.name().into()), "{told}");
            let failed =
                descent.events.iter().any(|event| matches!(event, Event::LayerFailed { .. }));
            assert!(!failed, "it is no failure");
            // The ladder goes on where it would after a failure.
            let peer = Peer::new(vec![good(speaks)]);
            let next = descend(&budgeted(speaks, peer.port(), budget, "next", BELOW), &document);
            assert_eq!(next.done.rungs[0].result.name(), "out-of-budget", "{budget}");
            assert_eq!(next.done.rungs[1].result.name(), "applied", "{budget}");
        }
    }
}

#[test]
fn a_budget_with_room_for_nothing_asks_nobody() {
    let peer = Peer::new(vec![good(Speaks::Openai)]);
    let config = budgeted(Speaks::Openai, peer.port(), "max-tokens = 10", "stop", "");
    let descent = descend(&config, &session());
    assert_eq!((peer.requests().len(), descent.done.outcome.name()), (0, "nothing"));
    assert_eq!(descent.done.rungs[0].summarizer, Spent::default());
}

#[test]
fn a_session_has_one_budget_and_another_session_its_own() {
    let document = session();
    let peer = Peer::new(vec![good(Speaks::Openai)]);
    let config = budgeted(Speaks::Openai, peer.port(), "session-max-calls = 2", "next", BELOW);
    let guard = Guard::new(Policy::of(&config, None).unwrap());
    let (one, other) = (guard.session("one"), guard.session("other"));
    let request = document.write(document.conversation(), &WriteOptions::default()).into_owned();
    let mut calls = Vec::new();
    for session in [&one, &one, &other] {
        session.replace(document.conversation().clone()).unwrap();
        runtime().block_on(session.fit(request.clone(), None)).unwrap();
        calls.push(peer.requests().len());
    }
    assert_eq!(calls, [2, 2, 4]);
    assert_eq!((one.spent().calls(), other.spent().calls()), (2, 2));
}
