//! What a ladder does with rungs that behave, and with rungs that do not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use brute_core::testing::{laws, notation};
use brute_core::{
    Approximate, Conversation, Edit, Flow, Host, LayerError, MarkKind, Outline, Plan, Protection,
    Strategy, Window,
};
use brute_host::ladder::{
    Budget, Compaction, Compactor, Event, NotAsked, OnError, Outcome, Rung, RungResult, When,
};

/// A layer that is one closure.
struct Layer<F>(F);

impl<F> Strategy for Layer<F>
where
    F: Fn(&Window<'_>) -> Result<Plan, LayerError> + Send + Sync,
{
    fn plan(&self, window: &Window<'_>, _host: &dyn Host) -> Result<Plan, LayerError> {
        (self.0)(window)
    }
}

fn rung(
    name: &str,
    plan: impl Fn(&Window<'_>) -> Result<Plan, LayerError> + Send + Sync + 'static,
) -> Rung {
    Rung::new(name, Layer(plan))
}

/// Drops the oldest turn.
fn drop_oldest(window: &Window<'_>) -> Result<Plan, LayerError> {
    let oldest = window.outline().history().first();
    Ok(oldest
        .map_or_else(Plan::decline, |turn| Plan::of(vec![Edit::Drop { span: turn.span.clone() }])))
}

fn compactor(target: u64, rungs: Vec<Rung>) -> Compactor {
    let budget = Budget::new(100_000, 0, target + 1, target).unwrap();
    rungs.into_iter().fold(Compactor::new(Arc::new(Approximate), budget), Compactor::rung)
}

fn run(compactor: &Compactor, conversation: Conversation) -> Compaction {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let compaction = runtime.block_on(compactor.compact(conversation));
    runtime.shutdown_background();
    compaction
}

/// Four turns of 100 tokens and more, then the task.
fn talk() -> Conversation {
    let turn = "user askx80\nassistant answerx60\n";
    notation::conversation(&format!("system s\n{}user task", turn.repeat(4)))
}

fn results(compaction: &Compaction) -> Vec<RungResult> {
    compaction.rungs.iter().map(|report| report.result.clone()).collect()
}

#[test]
fn a_layer_that_meets_the_target_ends_the_descent() {
    let size = talk().measure(&Approximate);
    let rungs = vec![rung("first", drop_oldest), rung("second", |_| unreachable!())];
    let compaction = run(&compactor(size - 50, rungs), talk());
    assert_eq!(compaction.outcome, Outcome::Fitted);
    assert_eq!(
        results(&compaction),
        [RungResult::Applied, RungResult::NotAsked { reason: NotAsked::TargetMet }]
    );
    assert_eq!(compaction.removed.len(), 2);
}

#[test]
fn below_the_trigger_nothing_is_asked() {
    let compaction = run(&compactor(99_000, vec![rung("any", |_| unreachable!())]), talk());
    assert_eq!(compaction.outcome, Outcome::BelowTrigger);
    assert_eq!(compaction.conversation, talk());
}

#[test]
fn a_layer_that_wants_rounds_gets_them_until_it_fits() {
    let again =
        |window: &Window<'_>| drop_oldest(window).map(|plan| Plan { flow: Flow::Again, ..plan });
    let compaction = run(&compactor(250, vec![rung("rounds", again)]), talk());
    assert_eq!(compaction.outcome, Outcome::Fitted);
    assert_eq!(compaction.rungs[0].rounds, 3);
    let compaction = run(&compactor(1, vec![rung("rounds", again)]), talk());
    assert_eq!(compaction.rungs[0].rounds, 4);
    assert!(matches!(compaction.outcome, Outcome::Partial { over_by, .. } if over_by > 0));
}

#[test]
fn a_plan_may_end_the_descent() {
    let stop =
        |window: &Window<'_>| drop_oldest(window).map(|plan| Plan { flow: Flow::Stop, ..plan });
    let compaction =
        run(&compactor(1, vec![rung("stop", stop), rung("next", |_| unreachable!())]), talk());
    assert_eq!(results(&compaction)[1], RungResult::NotAsked { reason: NotAsked::Stopped });
}

#[test]
fn when_is_judged_by_what_is_left() {
    let size = talk().measure(&Approximate);
    let low = Rung { when: Some(When { above: size }), ..rung("low", |_| unreachable!()) };
    let high = Rung { when: Some(When { above: size - 1 }), ..rung("high", drop_oldest) };
    let compaction = run(&compactor(1, vec![low, high]), talk());
    assert_eq!(
        results(&compaction),
        [RungResult::NotAsked { reason: NotAsked::When }, RungResult::Applied]
    );
}

#[test]
fn a_layer_that_fails_costs_nothing_but_its_savings() {
    type Plans = fn(&Window<'_>) -> Result<Plan, LayerError>;
    let cases: [(&str, Plans, &str); 6] = [
        ("error", |_| Err(LayerError::new("out of ideas")), "out of ideas"),
        ("panic", |_| panic!("index out of bounds"), "the layer panicked: index out of bounds"),
        ("nonsense", |_| Ok(Plan::of(vec![Edit::Drop { span: 7..99 }])), "only 10"),
        ("task", |_| Ok(Plan::of(vec![Edit::Drop { span: 9..10 }])), "protected"),
        (
            "grows",
            |_| Ok(Plan::of(vec![Edit::Rewrite { message: 2, part: 0, text: "a".repeat(9_999) }])),
            "not become smaller",
        ),
        (
            "hangs",
            |_| {
                std::thread::sleep(Duration::from_millis(400));
                Ok(Plan::decline())
            },
            "time limit of 50ms",
        ),
    ];
    for (name, plan, reason) in cases {
        let limit = Duration::from_millis(if name == "hangs" { 50 } else { 60_000 });
        let bad = Rung { timeout: Some(limit), ..rung(name, plan) };
        let good = || rung("good", drop_oldest);
        let compaction = run(&compactor(1, vec![bad.clone(), good()]), talk());
        let RungResult::Failed { reason: told, summarizer: false } = &compaction.rungs[0].result
        else {
            panic!("{name}: {:?}", compaction.rungs[0].result);
        };
        assert!(told.contains(reason), "{name}: {told}");
        assert_eq!(compaction.rungs[0].after, compaction.before);
        assert_eq!(compaction.rungs[1].result, RungResult::Applied);

        let stopping = Rung { on_error: OnError::Stop, ..bad };
        let compaction = run(&compactor(1, vec![stopping, good()]), talk());
        assert_eq!(compaction.conversation, talk(), "{name}");
        assert!(matches!(compaction.outcome, Outcome::Nothing { .. }));
    }
}

#[test]
fn blockers_name_what_stands_in_the_way() {
    let compaction = run(&compactor(10, vec![rung("oldest", drop_oldest)]), talk());
    let kinds: Vec<String> =
        compaction.outcome.blockers().iter().map(|blocker| blocker.kind.to_string()).collect();
    assert_eq!(
        kinds,
        [
            "the newest steps",
            "older turns that no layer of this ladder gives up",
            "the instructions",
            "the task"
        ]
    );
}

#[test]
fn events_add_up_to_the_difference_and_carry_what_went() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let again =
        |window: &Window<'_>| drop_oldest(window).map(|plan| Plan { flow: Flow::Again, ..plan });
    let compactor =
        compactor(1, vec![rung("rounds", again), rung("none", |_| Ok(Plan::decline()))])
            .on(|_| panic!("an observer that panics hurts nobody"))
            .on(move |event| sink.lock().unwrap().push(event.clone()));
    let compaction = run(&compactor, talk());
    let told = told.lock().unwrap();
    let saved: u64 = (told.iter())
        .map(|event| match event {
            Event::LayerApplied { before, after, .. } => before - after,
            _ => 0,
        })
        .sum();
    assert_eq!(saved, compaction.before - compaction.after);
    let Some(Event::Compacted { removed, .. }) = told.last() else { panic!("{told:?}") };
    assert_eq!(removed, &compaction.removed);
    assert_eq!(removed.len(), 8);
    assert!(told.iter().any(|event| matches!(event, Event::LayerDeclined { .. })));
}

#[test]
fn dropping_the_future_gives_up_on_the_layer() {
    let slow = rung("slow", |_| {
        std::thread::sleep(Duration::from_millis(200));
        Ok(Plan::decline())
    });
    let compactor = compactor(1, vec![slow]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let given_up = runtime.block_on(async {
        tokio::time::timeout(Duration::from_millis(20), compactor.compact(talk())).await
    });
    runtime.shutdown_background();
    assert!(given_up.is_err());
}

#[test]
fn what_the_host_says_of_itself_holds() {
    let compaction = run(&compactor(1, vec![rung("oldest", drop_oldest)]), talk());
    let outline = Outline::of(talk().messages()).unwrap();
    let conversation = talk();
    let protection = Protection::of(conversation.messages(), &outline, &[]);
    laws::check_step(&conversation, &compaction.conversation, &protection).unwrap();
    assert!(
        compaction
            .added
            .iter()
            .all(|message| message.mark().map(|m| m.kind) != Some(MarkKind::Cleared))
    );
}
